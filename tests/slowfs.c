/* SPDX-License-Identifier: BSD-3-Clause */
/* slowfs.c -- a directory seen through a slow and, on request, faulty mount
 *
 *	slowfs [key=value]... BACKING MOUNTPOINT
 *
 * Stays in the foreground; SIGTERM unmounts.  The keys are described in
 * slowfs-knobs.h.  A node is one inode of the backing tree, found again by
 * (device, inode): hard links and renames behave as on any file system.
 */

#define FUSE_USE_VERSION 35

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fuse_lowlevel.h>
#include <limits.h>
#include <linux/limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "tests/slowfs-knobs.h"

#define NBUCKETS 1024

struct node {
	struct node *next;
	int fd;				/* O_PATH */
	dev_t dev;
	ino_t ino;
	uint64_t lookups;		/* how often the kernel holds it */
};

static struct node root = { .fd = -1 };
static struct node *buckets[NBUCKETS];
static pthread_mutex_t nodes_lock = PTHREAD_MUTEX_INITIALIZER;

static struct node *
node_of(fuse_ino_t ino)
{
	return ino == FUSE_ROOT_ID ? &root : (struct node *)(uintptr_t)ino;
}

static int
fd_of(fuse_ino_t ino)
{
	return node_of(ino)->fd;
}

/* A name for what an O_PATH descriptor stands for. */
struct procname {
	char s[40];
};

static struct procname
procname(int fd)
{
	struct procname p;

	snprintf(p.s, sizeof(p.s), "/proc/self/fd/%d", fd);
	return p;
}

static struct node **
bucket_of(ino_t ino)
{
	return &buckets[ino % NBUCKETS];
}

/* Takes fd.  Returns the node for what it refers to, held once more. */
static struct node *
hold_node(int fd, const struct stat *st)
{
	struct node *n;

	pthread_mutex_lock(&nodes_lock);
	for (n = *bucket_of(st->st_ino); n; n = n->next)
		if (n->ino == st->st_ino && n->dev == st->st_dev)
			break;
	if (n) {
		close(fd);
	} else {
		n = calloc(1, sizeof(*n));
		if (!n)
			abort();
		n->fd = fd;
		n->ino = st->st_ino;
		n->dev = st->st_dev;
		n->next = *bucket_of(st->st_ino);
		*bucket_of(st->st_ino) = n;
	}
	n->lookups++;
	pthread_mutex_unlock(&nodes_lock);
	return n;
}

static void
drop_node(struct node *n, uint64_t count)
{
	struct node **p;

	if (n == &root)
		return;
	pthread_mutex_lock(&nodes_lock);
	n->lookups -= count;
	if (!n->lookups) {
		for (p = bucket_of(n->ino); *p != n; p = &(*p)->next)
			;
		*p = n->next;
		close(n->fd);
		free(n);
	}
	pthread_mutex_unlock(&nodes_lock);
}

static int
find_entry(fuse_ino_t parent, const char *name, struct fuse_entry_param *ret_e)
{
	struct fuse_entry_param e = { .attr_timeout = 1, .entry_timeout = 1 };
	int fd;

	fd = openat(fd_of(parent), name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (fstatat(fd, "", &e.attr, AT_EMPTY_PATH) < 0) {
		close(fd);
		return -EIO;
	}
	e.ino = (uintptr_t)hold_node(fd, &e.attr);
	*ret_e = e;
	return 0;
}

static void
reply_entry(fuse_req_t req, fuse_ino_t parent, const char *name)
{
	struct fuse_entry_param e;
	int r;

	r = find_entry(parent, name, &e);
	if (r < 0)
		fuse_reply_err(req, -r);
	else if (fuse_reply_entry(req, &e) < 0)
		drop_node(node_of(e.ino), 1);
}

static void
reply_result(fuse_req_t req, int r)
{
	fuse_reply_err(req, r < 0 ? errno : 0);
}

/* Ask the kernel for what we rely on: atomic O_TRUNC, requests of 1 MiB. */
static void
op_init(void *data, struct fuse_conn_info *conn)
{
	(void)data;
	conn->want |= conn->capable & FUSE_CAP_ATOMIC_O_TRUNC;
	conn->max_write = 1 << 20;
}

static void
op_lookup(fuse_req_t req, fuse_ino_t parent, const char *name)
{
	reply_entry(req, parent, name);
}

static void
op_forget(fuse_req_t req, fuse_ino_t ino, uint64_t count)
{
	drop_node(node_of(ino), count);
	fuse_reply_none(req);
}

static void
op_forget_multi(fuse_req_t req, size_t count, struct fuse_forget_data *f)
{
	size_t i;

	for (i = 0; i < count; i++)
		drop_node(node_of(f[i].ino), f[i].nlookup);
	fuse_reply_none(req);
}

static void
op_getattr(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	struct stat st;

	(void)fi;
	if (fstatat(fd_of(ino), "", &st, AT_EMPTY_PATH) < 0)
		fuse_reply_err(req, errno);
	else
		fuse_reply_attr(req, &st, 1);
}

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

static void
op_setattr(fuse_req_t req, fuse_ino_t ino, struct stat *st, int what,
	   struct fuse_file_info *fi)
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
	if (r < 0)
		fuse_reply_err(req, errno);
	else
		op_getattr(req, ino, fi);
}

static void
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

static void
made_entry(fuse_req_t req, int r, fuse_ino_t parent, const char *name)
{
	if (r < 0)
		fuse_reply_err(req, errno);
	else
		reply_entry(req, parent, name);
}

static void
op_mknod(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode,
	 dev_t rdev)
{
	made_entry(req, mknodat(fd_of(parent), name, mode, rdev), parent, name);
}

static void
op_mkdir(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode)
{
	made_entry(req, mkdirat(fd_of(parent), name, mode), parent, name);
}

static void
op_symlink(fuse_req_t req, const char *to, fuse_ino_t parent, const char *name)
{
	made_entry(req, symlinkat(to, fd_of(parent), name), parent, name);
}

static void
op_link(fuse_req_t req, fuse_ino_t ino, fuse_ino_t parent, const char *name)
{
	struct procname from = procname(fd_of(ino));

	made_entry(req, linkat(AT_FDCWD, from.s, fd_of(parent), name,
			       AT_SYMLINK_FOLLOW), parent, name);
}

static void
op_unlink(fuse_req_t req, fuse_ino_t parent, const char *name)
{
	reply_result(req, unlinkat(fd_of(parent), name, 0));
}

static void
op_rmdir(fuse_req_t req, fuse_ino_t parent, const char *name)
{
	reply_result(req, unlinkat(fd_of(parent), name, AT_REMOVEDIR));
}

static void
op_rename(fuse_req_t req, fuse_ino_t from, const char *old, fuse_ino_t to,
	  const char *new, unsigned int flags)
{
	reply_result(req, renameat2(fd_of(from), old, fd_of(to), new, flags));
}

/* The kernel has done O_APPEND and O_DIRECT already: our offsets are exact
 * and our buffers are not aligned. */
static int
open_flags(int flags)
{
	flags &= ~(O_APPEND | O_DIRECT | O_NOFOLLOW | O_CREAT | O_EXCL);
	return flags | O_CLOEXEC;
}

static void
op_open(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	struct procname name = procname(fd_of(ino));
	int fd;

	fd = open(name.s, open_flags(fi->flags));
	if (fd < 0) {
		fuse_reply_err(req, errno);
		return;
	}
	fi->fh = (uint64_t)fd;
	if (fuse_reply_open(req, fi) < 0)
		close(fd);
}

static void
op_create(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode,
	  struct fuse_file_info *fi)
{
	struct fuse_entry_param e;
	int fd, r;

	fd = openat(fd_of(parent), name, open_flags(fi->flags) | O_CREAT |
		    (fi->flags & O_EXCL) | O_NOFOLLOW, mode);
	if (fd < 0) {
		fuse_reply_err(req, errno);
		return;
	}
	r = find_entry(parent, name, &e);
	if (r < 0) {
		close(fd);
		fuse_reply_err(req, -r);
		return;
	}
	fi->fh = (uint64_t)fd;
	if (fuse_reply_create(req, &e, fi) < 0) {
		drop_node(node_of(e.ino), 1);
		close(fd);
	}
}

static void
op_read(fuse_req_t req, fuse_ino_t ino, size_t size, off_t off,
	struct fuse_file_info *fi)
{
	char *buf;
	ssize_t n;

	(void)ino;
	buf = malloc(size ? size : 1);
	if (!buf) {
		fuse_reply_err(req, ENOMEM);
		return;
	}
	n = pread((int)fi->fh, buf, size, off);
	if (n < 0) {
		fuse_reply_err(req, errno);
	} else {
		knobs_take_time((size_t)n);
		fuse_reply_buf(req, buf, (size_t)n);
	}
	free(buf);
}

static void
op_write(fuse_req_t req, fuse_ino_t ino, const char *buf, size_t size,
	 off_t off, struct fuse_file_info *fi)
{
	int64_t n;
	ssize_t r;

	(void)ino;
	n = knobs_admit_write((int64_t)size);
	knobs_take_time(n > 0 ? (size_t)n : 0);
	if (n < 0) {
		fuse_reply_err(req, (int)-n);
		return;
	}
	r = pwrite((int)fi->fh, buf, (size_t)n, off);
	if (r < 0)
		fuse_reply_err(req, errno);
	else
		fuse_reply_write(req, (size_t)r);
}

static void
op_release(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	(void)ino;
	reply_result(req, close((int)fi->fh));
}

static void
op_fsync(fuse_req_t req, fuse_ino_t ino, int datasync,
	 struct fuse_file_info *fi)
{
	int fd = (int)fi->fh;

	(void)ino;
	knobs_take_time(0);
	if (knobs_fsync_fails())
		fuse_reply_err(req, EIO);
	else
		reply_result(req, datasync ? fdatasync(fd) : fsync(fd));
}

static void
op_fallocate(fuse_req_t req, fuse_ino_t ino, int mode, off_t off, off_t len,
	     struct fuse_file_info *fi)
{
	(void)ino;
	reply_result(req, fallocate((int)fi->fh, mode, off, len));
}

static void
op_lseek(fuse_req_t req, fuse_ino_t ino, off_t off, int whence,
	 struct fuse_file_info *fi)
{
	off_t r;

	(void)ino;
	r = lseek((int)fi->fh, off, whence);
	if (r < 0)
		fuse_reply_err(req, errno);
	else
		fuse_reply_lseek(req, r);
}

static void
op_opendir(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	DIR *dir;
	int fd;

	fd = openat(fd_of(ino), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0) {
		fuse_reply_err(req, errno);
		return;
	}
	dir = fdopendir(fd);
	if (!dir) {
		fuse_reply_err(req, ENOMEM);
		close(fd);
		return;
	}
	fi->fh = (uint64_t)(uintptr_t)dir;
	if (fuse_reply_open(req, fi) < 0)
		closedir(dir);
}

static void
op_readdir(fuse_req_t req, fuse_ino_t ino, size_t size, off_t off,
	   struct fuse_file_info *fi)
{
	DIR *dir = (DIR *)(uintptr_t)fi->fh;
	struct dirent *d;
	size_t used = 0, n;
	char *buf;

	(void)ino;
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

		n = fuse_add_direntry(req, buf + used, size - used, d->d_name,
				      &st, telldir(dir));
		if (n > size - used)
			break;
		used += n;
	}
	fuse_reply_buf(req, buf, used);
	free(buf);
}

static void
op_releasedir(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	(void)ino;
	reply_result(req, closedir((DIR *)(uintptr_t)fi->fh));
}

static void
op_fsyncdir(fuse_req_t req, fuse_ino_t ino, int datasync,
	    struct fuse_file_info *fi)
{
	(void)ino;
	(void)datasync;
	knobs_take_time(0);
	reply_result(req, fsync(dirfd((DIR *)(uintptr_t)fi->fh)));
}

static void
op_statfs(fuse_req_t req, fuse_ino_t ino)
{
	struct statvfs st;

	if (fstatvfs(fd_of(ino), &st) < 0)
		fuse_reply_err(req, errno);
	else
		fuse_reply_statfs(req, &st);
}

static void
op_setxattr(fuse_req_t req, fuse_ino_t ino, const char *name,
	    const char *value, size_t size, int flags)
{
	struct procname p = procname(fd_of(ino));

	reply_result(req, setxattr(p.s, name, value, size, flags));
}

static void
op_removexattr(fuse_req_t req, fuse_ino_t ino, const char *name)
{
	struct procname p = procname(fd_of(ino));

	reply_result(req, removexattr(p.s, name));
}

/* Size 0 asks how much room the value needs. */
static void
reply_xattr(fuse_req_t req, ssize_t n, const char *buf, size_t size)
{
	if (n < 0)
		fuse_reply_err(req, errno);
	else if (!size)
		fuse_reply_xattr(req, (size_t)n);
	else
		fuse_reply_buf(req, buf, (size_t)n);
}

static void
op_getxattr(fuse_req_t req, fuse_ino_t ino, const char *name, size_t size)
{
	struct procname p = procname(fd_of(ino));
	char buf[XATTR_SIZE_MAX];

	if (size > sizeof(buf))
		size = sizeof(buf);
	reply_xattr(req, getxattr(p.s, name, size ? buf : NULL, size), buf,
		    size);
}

static void
op_listxattr(fuse_req_t req, fuse_ino_t ino, size_t size)
{
	struct procname p = procname(fd_of(ino));
	char buf[XATTR_LIST_MAX];

	if (size > sizeof(buf))
		size = sizeof(buf);
	reply_xattr(req, listxattr(p.s, size ? buf : NULL, size), buf, size);
}

static const struct fuse_lowlevel_ops ops = {
	.init = op_init,
	.lookup = op_lookup,
	.forget = op_forget,
	.forget_multi = op_forget_multi,
	.getattr = op_getattr,
	.setattr = op_setattr,
	.readlink = op_readlink,
	.mknod = op_mknod,
	.mkdir = op_mkdir,
	.symlink = op_symlink,
	.link = op_link,
	.unlink = op_unlink,
	.rmdir = op_rmdir,
	.rename = op_rename,
	.open = op_open,
	.create = op_create,
	.read = op_read,
	.write = op_write,
	.release = op_release,
	.fsync = op_fsync,
	.fallocate = op_fallocate,
	.lseek = op_lseek,
	.opendir = op_opendir,
	.readdir = op_readdir,
	.releasedir = op_releasedir,
	.fsyncdir = op_fsyncdir,
	.statfs = op_statfs,
	.setxattr = op_setxattr,
	.removexattr = op_removexattr,
	.getxattr = op_getxattr,
	.listxattr = op_listxattr,
};

static int
serve(const char *mountpoint)
{
	char *argv[] = { "slowfs", "-o", "fsname=slowfs,default_permissions" };
	struct fuse_args args = FUSE_ARGS_INIT(3, argv);
	struct fuse_loop_config config = { .max_idle_threads = 16 };
	struct fuse_session *se;
	int r = 1;

	se = fuse_session_new(&args, &ops, sizeof(ops), NULL);
	if (!se)
		goto free_args;
	if (fuse_set_signal_handlers(se) < 0)
		goto destroy;
	if (fuse_session_mount(se, mountpoint) < 0)
		goto unhandle;
	r = fuse_session_loop_mt(se, &config);
	fuse_session_unmount(se);
	r = r < 0;			/* ended by a signal is a good end */
unhandle:
	fuse_remove_signal_handlers(se);
destroy:
	fuse_session_destroy(se);
free_args:
	fuse_opt_free_args(&args);
	return r;
}

int
main(int argc, char **argv)
{
	for (; argc > 3; argc--, argv++) {
		if (knobs_set(argv[1]) < 0) {
			fprintf(stderr, "slowfs: cannot read %s\n", argv[1]);
			return 2;
		}
	}
	if (argc != 3) {
		fprintf(stderr, "usage: slowfs [key=value]... "
			"BACKING MOUNTPOINT\n");
		return 2;
	}
	umask(0);
	root.fd = open(argv[1], O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (root.fd < 0) {
		perror(argv[1]);
		return 1;
	}
	return serve(argv[2]);
}
