/* SPDX-License-Identifier: BSD-3-Clause */
/* slowfs-data.c -- the bytes, sizes and attributes of files in a slow mount */

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/falloc.h>
#include <stdlib.h>
#include <sys/uio.h>
#include <unistd.h>

#include "tests/slowfs-record.h"
#include "tests/slowfs.h"

bool direct_io;

static int
set_times(int fd, const struct stat *st, int what)
{
	struct timespec ts[2] = { { .tv_nsec = UTIME_OMIT },
				  { .tv_nsec = UTIME_OMIT } };

	if (what & FUSE_SET_ATTR_ATIME)
		ts[0] = st->st_atim;
	if (what & FUSE_SET_ATTR_ATIME_NOW)
		ts[0].tv_nsec = UTIME_NOW;
	if (what & FUSE_SET_ATTR_MTIME)
		ts[1] = st->st_mtim;
	if (what & FUSE_SET_ATTR_MTIME_NOW)
		ts[1].tv_nsec = UTIME_NOW;
	return utimensat(fd, "", ts, AT_EMPTY_PATH);
}

static int
set_attributes(fuse_ino_t ino, const struct stat *st, int what,
	       const struct fuse_file_info *fi)
{
	struct procname name = procname(fd_of(ino));
	int r = 0;

	if (what & FUSE_SET_ATTR_MODE)
		r = chmod(name.s, st->st_mode);
	if (r == 0 && what & (FUSE_SET_ATTR_UID | FUSE_SET_ATTR_GID))
		r = fchownat(fd_of(ino), "",
			     what & FUSE_SET_ATTR_UID ? st->st_uid : (uid_t)-1,
			     what & FUSE_SET_ATTR_GID ? st->st_gid : (gid_t)-1,
			     AT_EMPTY_PATH | AT_SYMLINK_NOFOLLOW);
	if (r == 0 && what & FUSE_SET_ATTR_SIZE)
		r = fi ? ftruncate((int)fi->fh, st->st_size) :
			 truncate(name.s, st->st_size);
	if (r == 0 && what & (FUSE_SET_ATTR_ATIME | FUSE_SET_ATTR_MTIME))
		r = set_times(fd_of(ino), st, what);
	return r < 0 ? -errno : 0;
}

void
op_setattr(fuse_req_t req, fuse_ino_t ino, struct stat *st, int what,
	   struct fuse_file_info *fi)
{
	int r;

	if (control_is(ino)) {
		control_getattr(req);
		return;
	}
	r = gate(REQUEST_CHANGE, ino, NULL);
	record_begin();
	if (r == 0)
		r = set_attributes(ino, st, what, fi);
	if (r == 0 && what & FUSE_SET_ATTR_SIZE)
		record_truncated(fd_of(ino), st->st_size);
	if (r == 0 && what & ~FUSE_SET_ATTR_SIZE)
		record_attributes(fd_of(ino));
	record_end();
	if (r < 0)
		fuse_reply_err(req, -r);
	else
		op_getattr(req, ino, fi);
}

/* The kernel has done O_APPEND and O_DIRECT already: our offsets are exact
 * and our buffers are not aligned.  What is to be synchronous, each write
 * says. */
static int
open_flags(int flags)
{
	flags &= ~(O_APPEND | O_DIRECT | O_NOFOLLOW | O_CREAT | O_EXCL |
		   O_SYNC | O_DSYNC);
	return flags | O_CLOEXEC;
}

void
op_open(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	struct procname name = procname(fd_of(ino));
	int fd, r;

	if (control_is(ino)) {
		control_open(req, fi);
		return;
	}
	r = gate(fi->flags & O_TRUNC ? REQUEST_CHANGE : REQUEST_FIND, ino,
		 NULL);
	if (r < 0) {
		fuse_reply_err(req, -r);
		return;
	}
	record_begin();
	fd = open(name.s, open_flags(fi->flags));
	r = fd < 0 ? -errno : 0;
	if (r == 0 && fi->flags & O_TRUNC)
		record_truncated(fd, 0);
	record_end();
	if (r < 0) {
		fuse_reply_err(req, -r);
		return;
	}
	fi->fh = (uint64_t)fd;
	fi->direct_io = direct_io;
	if (fuse_reply_open(req, fi) < 0)
		close(fd);
}

/* A file, made now or there already: a descriptor or a negative errno. */
static int
make_file(int dir, const char *name, int flags, mode_t mode)
{
	int fd;

	fd = openat(dir, name, open_flags(flags) | O_CREAT | O_EXCL |
		    O_NOFOLLOW, mode);
	if (fd >= 0) {
		record_made(dir, name, NULL);
		return fd;
	}
	if (errno != EEXIST || flags & O_EXCL)
		return -errno;
	fd = openat(dir, name, open_flags(flags) | O_NOFOLLOW);
	if (fd < 0)
		return -errno;
	if (flags & O_TRUNC)
		record_truncated(fd, 0);
	return fd;
}

void
op_create(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode,
	  struct fuse_file_info *fi)
{
	struct fuse_entry_param e;
	int fd = -1, r;

	r = gate(REQUEST_CHANGE, parent, name);
	if (r < 0)
		goto fail;
	record_begin();
	fd = make_file(fd_of(parent), name, fi->flags, mode);
	record_end();
	r = fd < 0 ? fd : nodes_find(parent, name, &e);
	if (r < 0)
		goto fail;
	fi->fh = (uint64_t)fd;
	fi->direct_io = direct_io;
	if (fuse_reply_create(req, &e, fi) < 0) {
		nodes_drop(e.ino, 1);
		close(fd);
	}
	return;
fail:
	if (fd >= 0)
		close(fd);
	fuse_reply_err(req, -r);
}

void
op_read(fuse_req_t req, fuse_ino_t ino, size_t size, off_t off,
	struct fuse_file_info *fi)
{
	int64_t since = faults_clock();
	char *buf;
	ssize_t n;

	if (control_is(ino)) {
		control_read(req, size, off);
		return;
	}
	buf = malloc(size ? size : 1);
	if (!buf) {
		fuse_reply_err(req, ENOMEM);
		return;
	}
	n = gate(REQUEST_READ, ino, NULL);
	if (n == 0) {
		n = pread((int)fi->fh, buf, size, off);
		if (n < 0)
			n = -errno;
	}
	faults_take_time(since, n > 0 ? (size_t)n : 0);
	if (n < 0)
		fuse_reply_err(req, (int)-n);
	else
		fuse_reply_buf(req, buf, (size_t)n);
	free(buf);
}

/* How many of the bytes may go to the file, or a negative errno. */
static int64_t
admit_write(fuse_ino_t ino, size_t size)
{
	char path[PATH_MAX] = "";
	int r;

	r = gate(REQUEST_WRITE, ino, NULL);
	if (r < 0)
		return r;
	if (faults_need_path())
		nodes_path(ino, NULL, path, sizeof(path));
	return faults_admit_bytes((int64_t)size, path);
}

/* In a recording, what is durable is a matter of the recording. */
static int64_t
put_bytes(const char *buf, size_t size, off_t off,
	  const struct fuse_file_info *fi)
{
	struct iovec iov = { .iov_base = (char *)buf, .iov_len = size };
	bool durable = fi->flags & O_DSYNC;
	ssize_t r;

	record_begin();
	r = pwritev2((int)fi->fh, &iov, 1, off,
		     durable && !record_is_on() ? RWF_DSYNC : 0);
	if (r < 0)
		r = -errno;
	else if (r > 0)
		record_wrote((int)fi->fh, buf, (size_t)r, off, durable);
	record_end();
	return r;
}

int
sync_node(int fd, bool data_only)
{
	int r = 0;

	record_begin();
	if (record_is_on())
		record_synced(fd, data_only);
	else
		r = data_only ? fdatasync(fd) : fsync(fd);
	record_end();
	return r < 0 ? -errno : 0;
}

static void
write_bytes(fuse_req_t req, fuse_ino_t ino, const char *buf, size_t size,
	    off_t off, const struct fuse_file_info *fi, int64_t since)
{
	int64_t n;

	n = admit_write(ino, size);
	if (n > 0)
		n = put_bytes(buf, (size_t)n, off, fi);
	faults_take_time(since, n > 0 ? (size_t)n : 0);
	if (n < 0)
		fuse_reply_err(req, (int)-n);
	else
		fuse_reply_write(req, (size_t)n);
}

/* The bytes of a large request are still in a pipe: fetching them is part of
 * the time that the request may take. */
void
op_write_buf(fuse_req_t req, fuse_ino_t ino, struct fuse_bufvec *from,
	     off_t off, struct fuse_file_info *fi)
{
	size_t size = fuse_buf_size(from);
	struct fuse_bufvec to = FUSE_BUFVEC_INIT(size);
	int64_t since = faults_clock();
	ssize_t n;

	to.buf[0].mem = malloc(size + 1);
	n = to.buf[0].mem ? fuse_buf_copy(&to, from, 0) : -ENOMEM;
	if (n != (ssize_t)size)
		fuse_reply_err(req, n < 0 ? (int)-n : EIO);
	else if (control_is(ino))
		control_write(req, to.buf[0].mem, size);
	else
		write_bytes(req, ino, to.buf[0].mem, size, off, fi, since);
	free(to.buf[0].mem);
}

void
op_release(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	if (control_is(ino))
		fuse_reply_err(req, 0);
	else
		reply_result(req, close((int)fi->fh));
}

void
op_fsync(fuse_req_t req, fuse_ino_t ino, int datasync,
	 struct fuse_file_info *fi)
{
	int64_t since = faults_clock();
	int r;

	if (control_is(ino)) {
		fuse_reply_err(req, 0);
		return;
	}
	r = gate(REQUEST_SYNC, ino, NULL);
	if (r == 0)
		r = sync_node((int)fi->fh, datasync);
	faults_take_time(since, 0);
	fuse_reply_err(req, -r);
}

static int
admit_space(fuse_ino_t ino, int mode, off_t len)
{
	char path[PATH_MAX] = "";
	int r;

	r = gate(REQUEST_WRITE, ino, NULL);
	if (r < 0 || mode & FALLOC_FL_PUNCH_HOLE)
		return r;
	if (faults_need_path())
		nodes_path(ino, NULL, path, sizeof(path));
	return faults_admit_space(len, path);
}

void
op_fallocate(fuse_req_t req, fuse_ino_t ino, int mode, off_t off, off_t len,
	     struct fuse_file_info *fi)
{
	int r;

	r = control_is(ino) ? -EINVAL : admit_space(ino, mode, len);
	record_begin();
	if (r == 0 && fallocate((int)fi->fh, mode, off, len) < 0)
		r = -errno;
	if (r == 0)
		record_allocated((int)fi->fh, mode, off, len);
	record_end();
	fuse_reply_err(req, -r);
}

void
op_lseek(fuse_req_t req, fuse_ino_t ino, off_t off, int whence,
	 struct fuse_file_info *fi)
{
	off_t r;

	r = control_is(ino) ? 0 : lseek((int)fi->fh, off, whence);
	if (r < 0)
		fuse_reply_err(req, errno);
	else
		fuse_reply_lseek(req, r);
}
