/* SPDX-License-Identifier: BSD-3-Clause */
/* beside.c -- numbers noted for files in a file beside them */

/*
 * For file systems that have no extended attributes. In the directory of the
 * file there is one for each share then, .spillway-home.SHARE, with a line for
 * each file
 *
 *	INODE NUMBER
 *
 * It is replaced as a whole, and goes with its last line.
 */
#include "planner/beside.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "shm/failpoint.h"
#include "shm/sys.h"
#include "shm/util.h"

struct notes {
	int dir;
	uint64_t ino;
	char name[NAME_MAX + 1];
	char new[NAME_MAX + 1];		/* the same while it is written */
	char *text;			/* NULL: there is no such file */
};

/* The directory that the file is in now. */
static int
open_dir(int fd)
{
	char path[PATH_MAX], link[64], *slash;
	long n;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = spw_syscall(SYS_readlinkat, AT_FDCWD, (long)link, (long)path,
			sizeof(path) - 1, 0, 0);
	if (n < 0)
		return (int)n;
	path[n] = '\0';
	slash = strrchr(path, '/');
	if (path[0] != '/' || !slash)
		return -ENOENT;
	slash[slash == path] = '\0';
	return spw_sys_openat(AT_FDCWD, path, O_RDONLY | O_DIRECTORY |
			      O_CLOEXEC, 0);
}

/* Others may write in that directory: what they put there does not count. */
static bool
is_ours(const struct stat *st, const struct stat *home)
{
	return S_ISREG(st->st_mode) &&
	       (st->st_uid == spw_sys_geteuid() || st->st_uid == home->st_uid);
}

static int
read_all(int fd, const struct stat *home, char **ret_text)
{
	struct stat st;
	int64_t n = spw_sys_fstat(fd, &st);
	char *text;

	if (n < 0 || !is_ours(&st, home))
		return n < 0 ? (int)n : -EPERM;
	text = malloc((size_t)st.st_size + 1);
	if (!text)
		return -ENOMEM;
	n = spw_sys_pread(fd, text, (uint64_t)st.st_size, 0);
	if (n < 0) {
		free(text);
		return (int)n;
	}
	text[n] = '\0';
	*ret_text = text;
	return 0;
}

static void
end(struct notes *n)
{
	free(n->text);
	spw_sys_close(n->dir);
}

static bool
set_names(struct notes *n, const char *share)
{
	snprintf(n->name, sizeof(n->name), ".spillway-home.%s", share);
	return snprintf(n->new, sizeof(n->new), ".spillway-home.%s.new",
			share) < (int)sizeof(n->new);
}

static int
begin(int fd, const char *share, struct notes *ret)
{
	struct stat st;
	int file, r = spw_sys_fstat(fd, &st);

	if (r < 0)
		return r;
	*ret = (struct notes){ .ino = st.st_ino };
	if (!set_names(ret, share))
		return -ENAMETOOLONG;
	ret->dir = open_dir(fd);
	if (ret->dir < 0)
		return ret->dir;
	file = spw_sys_openat(ret->dir, ret->name, O_RDONLY | O_NOFOLLOW |
			      O_NONBLOCK | O_CLOEXEC, 0);
	r = file < 0 ? file : read_all(file, &st, &ret->text);
	if (file >= 0)
		spw_sys_close(file);
	if (r == 0 || r == -ENOENT)
		return 0;
	end(ret);
	return r;
}

/* Its line in the text, and what is after it; NULL: none. */
static char *
find_line(const struct notes *n, char **ret_next)
{
	for (char *line = n->text; line && *line; line = *ret_next) {
		*ret_next = line + strcspn(line, "\n");
		*ret_next += **ret_next == '\n';
		if (strtoull(line, NULL, 10) == n->ino)
			return line;
	}
	return NULL;
}

static int
sync_fd(int fd)
{
	return (int)spw_syscall(SYS_fsync, fd, 0, 0, 0, 0, 0);
}

static int
remove_name(const struct notes *n, const char *name)
{
	int r = (int)spw_syscall(SYS_unlinkat, n->dir, (long)name, 0, 0, 0, 0);

	return r == -ENOENT ? 0 : r;
}

/* Under another name, and durable. */
static int
write_new(const struct notes *n, const char *text)
{
	int fd = spw_sys_openat(n->dir, n->new, O_WRONLY | O_CREAT | O_EXCL |
				O_CLOEXEC, 0600);
	int64_t r;

	if (fd < 0)
		return fd;
	r = spw_sys_pwrite(fd, text, strlen(text), 0);
	if (r >= 0)
		r = (uint64_t)r == strlen(text) ? sync_fd(fd) : -EIO;
	spw_sys_close(fd);
	return (int)r;
}

/* What somebody who was killed left under the other name goes first. */
static int
replace(const struct notes *n, const char *text)
{
	int r = remove_name(n, n->new);

	if (r == 0 && !*text)
		r = remove_name(n, n->name);
	else if (r == 0)
		r = write_new(n, text);
	if (r == 0 && *text) {
		SPW_FAILPOINT("beside-written");
		r = (int)spw_syscall(SYS_renameat, n->dir, (long)n->new,
				     n->dir, (long)n->name, 0, 0);
	}
	if (r < 0) {
		(void)remove_name(n, n->new);
		return r;
	}
	return sync_fd(n->dir);
}

int
spw_beside_set(int fd, const char *share, uint64_t number)
{
	struct notes n;
	char *next, *line, *text;
	size_t size;
	int r = begin(fd, share, &n);

	if (r < 0)
		return r;
	line = find_line(&n, &next);
	if (line)
		memmove(line, next, strlen(next) + 1);
	size = (n.text ? strlen(n.text) : 0) + 48;
	text = malloc(size);
	if (text) {
		snprintf(text, size, "%s", n.text ? n.text : "");
		if (number)
			snprintf(text + strlen(text), 48, "%llu %llu\n",
				 (unsigned long long)n.ino,
				 (unsigned long long)number);
	}
	r = !text ? -ENOMEM : line || number ? replace(&n, text) : 0;
	free(text);
	end(&n);
	return r;
}

uint64_t
spw_beside_get(int fd, const char *share)
{
	struct notes n;
	uint64_t number = 0;
	char *next, *line;

	if (begin(fd, share, &n) < 0)
		return 0;
	line = find_line(&n, &next);
	if (line)
		number = strtoull(line + strcspn(line, " "), NULL, 10);
	end(&n);
	return number;
}
