/* SPDX-License-Identifier: BSD-3-Clause */
/* slowfs-tree.c -- what is there when a recording begins */

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "tests/slowfs-record.h"
#include "tests/slowfs-tree.h"

#define PIECE (1 << 20)

static void
give_up(const char *name)
{
	fprintf(stderr, "slowfs: recording: %s: %s\n", name, strerror(errno));
	exit(1);
}

/* Holes stay holes. */
static void
record_bytes(int fd, off_t size, const char *name)
{
	off_t off = 0, end;
	char *buf;
	ssize_t n;

	buf = malloc(PIECE);
	if (!buf)
		give_up(name);
	while ((off = lseek(fd, off, SEEK_DATA)) >= 0) {
		end = lseek(fd, off, SEEK_HOLE);
		for (; off < end; off += n) {
			n = end - off < PIECE ? end - off : PIECE;
			n = pread(fd, buf, (size_t)n, off);
			if (n <= 0)
				give_up(name);
			record_wrote(fd, buf, (size_t)n, off, false);
		}
	}
	free(buf);
	record_truncated(fd, size);
}

static void
record_xattrs(int fd)
{
	char names[65536], value[65536];
	ssize_t n, m;
	char *name;

	n = flistxattr(fd, names, sizeof(names));
	for (name = names; name < names + n; name += strlen(name) + 1) {
		m = fgetxattr(fd, name, value, sizeof(value));
		if (m >= 0)
			record_xattr(fd, name, value, (size_t)m, false);
	}
}

static void
record_inside(int dir, const char *name, const struct stat *st)
{
	int fd;

	fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		give_up(name);
	if (S_ISDIR(st->st_mode))
		tree_record(fd);
	else
		record_bytes(fd, st->st_size, name);
	record_xattrs(fd);
	record_attributes(fd);
	record_synced(fd, false);
	close(fd);
}

static void
record_entry(int dir, const char *name)
{
	char to[PATH_MAX];
	struct stat st;
	ssize_t n;

	if (record_look(dir, name)) {	/* by another name already */
		record_linked(dir, name);
		return;
	}
	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		give_up(name);
	n = S_ISLNK(st.st_mode) ? readlinkat(dir, name, to, PATH_MAX - 1) : 0;
	to[n > 0 ? n : 0] = 0;
	record_made(dir, name, n > 0 ? to : NULL);
	if (S_ISDIR(st.st_mode) || S_ISREG(st.st_mode))
		record_inside(dir, name, &st);
}

void
tree_record(int fd)
{
	struct dirent *d;
	DIR *dir = NULL;

	fd = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd >= 0)
		dir = fdopendir(fd);
	if (!dir)
		give_up("directory");
	while ((d = readdir(dir)))
		if (strcmp(d->d_name, ".") && strcmp(d->d_name, ".."))
			record_entry(fd, d->d_name);
	closedir(dir);
}
