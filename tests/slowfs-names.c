/* SPDX-License-Identifier: BSD-3-Clause */
/* slowfs-names.c -- names and directories of a slow mount */

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "tests/slowfs-record.h"
#include "tests/slowfs.h"

void
op_readlink(fuse_req_t req, fuse_ino_t ino)
{
	char buf[PATH_MAX + 1];
	ssize_t n;

	n = readlinkat(fd_of(ino), "", buf, PATH_MAX);
	if (n < 0) {
		fuse_reply_err(req, errno);
		return;
	}
	buf[n] = 0;
	fuse_reply_readlink(req, buf);
}

/* May a name change?  If so, a recording waits for the change; if not, the
 * request has been answered. */
static bool
begin_change(fuse_req_t req, fuse_ino_t parent, const char *name)
{
	int r = gate(REQUEST_CHANGE, parent, name);

	if (r < 0)
		fuse_reply_err(req, -r);
	else
		record_begin();
	return r == 0;
}

/* A system call was to make a name, of a new inode or of one that is. */
static void
end_making(fuse_req_t req, int r, fuse_ino_t parent, const char *name,
	   const char *to, bool is_new)
{
	struct fuse_entry_param e;

	r = r < 0 ? -errno : 0;
	if (r == 0 && is_new)
		record_made(fd_of(parent), name, to);
	else if (r == 0)
		record_linked(fd_of(parent), name);
	record_end();
	if (r == 0)
		r = nodes_find(parent, name, &e);
	if (r < 0)
		fuse_reply_err(req, -r);
	else if (fuse_reply_entry(req, &e) < 0)
		nodes_drop(e.ino, 1);
}

void
op_mknod(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode,
	 dev_t rdev)
{
	if (begin_change(req, parent, name))
		end_making(req, mknodat(fd_of(parent), name, mode, rdev),
			   parent, name, NULL, true);
}

void
op_mkdir(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode)
{
	if (begin_change(req, parent, name))
		end_making(req, mkdirat(fd_of(parent), name, mode), parent,
			   name, NULL, true);
}

void
op_symlink(fuse_req_t req, const char *to, fuse_ino_t parent, const char *name)
{
	if (begin_change(req, parent, name))
		end_making(req, symlinkat(to, fd_of(parent), name), parent,
			   name, to, true);
}

void
op_link(fuse_req_t req, fuse_ino_t ino, fuse_ino_t parent, const char *name)
{
	struct procname from = procname(fd_of(ino));

	if (begin_change(req, parent, name))
		end_making(req, linkat(AT_FDCWD, from.s, fd_of(parent), name,
				       AT_SYMLINK_FOLLOW), parent, name, NULL,
			   false);
}

static void
remove_name(fuse_req_t req, fuse_ino_t parent, const char *name, int flags)
{
	uint64_t node;
	int r;

	if (!begin_change(req, parent, name))
		return;
	node = record_look(fd_of(parent), name);
	r = unlinkat(fd_of(parent), name, flags) < 0 ? -errno : 0;
	if (r == 0)
		record_removed(fd_of(parent), name, node);
	record_end();
	fuse_reply_err(req, -r);
}

void
op_unlink(fuse_req_t req, fuse_ino_t parent, const char *name)
{
	remove_name(req, parent, name, 0);
}

void
op_rmdir(fuse_req_t req, fuse_ino_t parent, const char *name)
{
	remove_name(req, parent, name, AT_REMOVEDIR);
}

void
op_rename(fuse_req_t req, fuse_ino_t from, const char *old, fuse_ino_t to,
	  const char *new, unsigned int flags)
{
	int fd = fd_of(from), fd2 = fd_of(to);
	uint64_t node, other;
	int r;

	r = gate(REQUEST_CHANGE, from, old);
	if (r < 0) {
		fuse_reply_err(req, -r);
		return;
	}
	if (!begin_change(req, to, new))
		return;
	node = record_look(fd, old);
	other = record_look(fd2, new);
	r = renameat2(fd, old, fd2, new, flags) < 0 ? -errno : 0;
	if (r == 0)
		record_renamed(fd, old, node, fd2, new, other, flags);
	record_end();
	fuse_reply_err(req, -r);
}

void
op_opendir(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	DIR *dir = NULL;
	int fd, r;

	r = gate(REQUEST_FIND, ino, NULL);
	if (r < 0) {
		fuse_reply_err(req, -r);
		return;
	}
	fd = openat(fd_of(ino), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd >= 0)
		dir = fdopendir(fd);
	if (!dir) {
		fuse_reply_err(req, errno);
		if (fd >= 0)
			close(fd);
		return;
	}
	fi->fh = (uint64_t)(uintptr_t)dir;
	if (fuse_reply_open(req, fi) < 0)
		closedir(dir);
}

static bool
is_hidden(fuse_ino_t ino, const char *name)
{
	char path[PATH_MAX];

	if (!faults_need_path())
		return false;
	nodes_path(ino, name, path, sizeof(path));
	return faults_hide(path);
}

void
op_readdir(fuse_req_t req, fuse_ino_t ino, size_t size, off_t off,
	   struct fuse_file_info *fi)
{
	DIR *dir = (DIR *)(uintptr_t)fi->fh;
	struct dirent *d;
	size_t used = 0, n;
	char *buf;

	buf = malloc(size);
	if (!buf) {
		fuse_reply_err(req, ENOMEM);
		return;
	}
	seekdir(dir, off);		/* 0 rereads the directory */
	if (!off)
		rewinddir(dir);
	while ((d = readdir(dir))) {
		struct stat st = { .st_ino = d->d_ino,
				   .st_mode = (mode_t)d->d_type << 12 };

		if (is_hidden(ino, d->d_name))
			continue;
		n = fuse_add_direntry(req, buf + used, size - used, d->d_name,
				      &st, telldir(dir));
		if (n > size - used)
			break;
		used += n;
	}
	fuse_reply_buf(req, buf, used);
	free(buf);
}

void
op_releasedir(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	(void)ino;
	reply_result(req, closedir((DIR *)(uintptr_t)fi->fh));
}

void
op_fsyncdir(fuse_req_t req, fuse_ino_t ino, int datasync,
	    struct fuse_file_info *fi)
{
	int64_t since = faults_clock();
	int r;

	(void)datasync;
	r = gate(REQUEST_SYNC, ino, NULL);
	if (r == 0)
		r = sync_node(dirfd((DIR *)(uintptr_t)fi->fh), false);
	faults_take_time(since, 0);
	fuse_reply_err(req, -r);
}
