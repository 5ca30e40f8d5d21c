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

#include "shm/sys.h"
#include "shm/util.h"

enum { NAME = NAME_MAX - 4 };		/* room for what is added to it */

struct notes {
	int dir;
	uint64_t ino;
	char name[NAME_MAX];
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

static int
read_all(int fd, char **ret_text)
{
	struct stat st;
	int64_t n = spw_sys_fstat(fd, &st);
	char *text = n < 0 ? NULL : malloc((size_t)st.st_size + 1);

	if (!text)
		return n < 0 ? (int)n : -ENOMEM;
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

static int
begin(int fd, const char *share, struct notes *ret)
{
	struct stat st;
	int file, r = spw_sys_fstat(fd, &st);

	*ret = (struct notes){ .dir = r < 0 ? r : open_dir(fd),
			       .ino = st.st_ino };
	if (ret->dir < 0)
		return ret->dir;
	snprintf(ret->name, NAME, ".spillway-home.%s", share);
	file = spw_sys_openat(ret->dir, ret->name, O_RDONLY | O_NOFOLLOW |
			      O_CLOEXEC, 0);
	r = file < 0 ? file : read_all(file, &ret->text);
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

/* Under another name, and durable. */
static int
write_new(const struct notes *n, const char *name, const char *text)
{
	int fd = spw_sys_openat(n->dir, name, O_WRONLY | O_CREAT | O_TRUNC |
				O_NOFOLLOW | O_CLOEXEC, 0600);
	int64_t r = fd;

	if (fd < 0)
		return fd;
	r = spw_sys_pwrite(fd, text, strlen(text), 0);
	if (r >= 0)
		r = (uint64_t)r == strlen(text) ? sync_fd(fd) : -EIO;
	spw_sys_close(fd);
	return (int)r;
}

static int
replace(const struct notes *n, const char *text)
{
	char name[NAME_MAX + 8];
	int r;

	snprintf(name, sizeof(name), "%s.new", n->name);
	if (*text) {
		r = write_new(n, name, text);
		if (r == 0)
			r = (int)spw_syscall(SYS_renameat, n->dir, (long)name,
					     n->dir, (long)n->name, 0, 0);
	} else {
		r = (int)spw_syscall(SYS_unlinkat, n->dir, (long)n->name, 0, 0,
				     0, 0);
		r = r == -ENOENT ? 0 : r;
	}
	return r == 0 ? sync_fd(n->dir) : r;
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
