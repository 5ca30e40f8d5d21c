/* SPDX-License-Identifier: BSD-3-Clause */
/* hidefs.c -- a mount that renames a file which is open when it is removed */

/*
 * usage: hidefs BACK MOUNTPOINT
 *
 * As NFS does, and FUSE by itself: until the last descriptor is closed it stays
 * in its directory as .fuse_hidden*, and the directory is not empty.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fuse.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

static int back;

static const char *
under(const char *path)
{
	return path[1] ? path + 1 : ".";
}

static int
result(long r)
{
	return r < 0 ? -errno : (int)r;
}

static int
op_getattr(const char *path, struct stat *st, struct fuse_file_info *fi)
{
	return result(fi ? fstat((int)fi->fh, st)
		      : fstatat(back, under(path), st, AT_SYMLINK_NOFOLLOW));
}

static int
op_readdir(const char *path, void *buf, fuse_fill_dir_t fill, off_t off,
	   struct fuse_file_info *fi, enum fuse_readdir_flags flags)
{
	int fd = openat(back, under(path), O_RDONLY | O_DIRECTORY);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *e;

	(void)off, (void)fi, (void)flags;
	if (!dir)
		return -errno;
	while ((e = readdir(dir)))
		fill(buf, e->d_name, NULL, 0, 0);
	closedir(dir);
	return 0;
}

static int
keep(int fd, struct fuse_file_info *fi)
{
	fi->fh = (uint64_t)fd;
	return fd < 0 ? -errno : 0;
}

static int
op_open(const char *path, struct fuse_file_info *fi)
{
	return keep(openat(back, under(path), fi->flags & ~O_NOFOLLOW), fi);
}

static int
op_create(const char *path, mode_t mode, struct fuse_file_info *fi)
{
	return keep(openat(back, under(path), fi->flags | O_CREAT, mode), fi);
}

static int
op_release(const char *path, struct fuse_file_info *fi)
{
	(void)path;
	return result(close((int)fi->fh));
}

static int
op_read(const char *path, char *buf, size_t n, off_t off,
	struct fuse_file_info *fi)
{
	(void)path;
	return result(pread((int)fi->fh, buf, n, off));
}

static int
op_write(const char *path, const char *buf, size_t n, off_t off,
	 struct fuse_file_info *fi)
{
	(void)path;
	return result(pwrite((int)fi->fh, buf, n, off));
}

static int
op_mkdir(const char *path, mode_t mode)
{
	return result(mkdirat(back, under(path), mode));
}

static int
op_unlink(const char *path)
{
	return result(unlinkat(back, under(path), 0));
}

static int
op_rmdir(const char *path)
{
	return result(unlinkat(back, under(path), AT_REMOVEDIR));
}

static int
op_rename(const char *from, const char *to, unsigned flags)
{
	return result(renameat2(back, under(from), back, under(to), flags));
}

static int
op_truncate(const char *path, off_t size, struct fuse_file_info *fi)
{
	int fd, r;

	if (fi)
		return result(ftruncate((int)fi->fh, size));
	fd = openat(back, under(path), O_WRONLY);
	if (fd < 0)
		return -errno;
	r = result(ftruncate(fd, size));
	close(fd);
	return r;
}

static int
op_utimens(const char *path, const struct timespec ts[2],
	   struct fuse_file_info *fi)
{
	return result(fi ? futimens((int)fi->fh, ts)
		      : utimensat(back, under(path), ts, 0));
}

static const struct fuse_operations ops = {
	.getattr = op_getattr, .readdir = op_readdir, .open = op_open,
	.create = op_create, .release = op_release, .read = op_read,
	.write = op_write, .mkdir = op_mkdir, .unlink = op_unlink,
	.rmdir = op_rmdir, .rename = op_rename, .truncate = op_truncate,
	.utimens = op_utimens,
};

int
main(int argc, char **argv)
{
	char *args[] = { argv[0], argv[2], (char *)"-f", NULL };

	if (argc != 3 || (back = open(argv[1], O_PATH | O_DIRECTORY)) < 0) {
		fprintf(stderr, "usage: hidefs BACK MOUNTPOINT\n");
		return 2;
	}
	return fuse_main(3, args, &ops, NULL);
}
