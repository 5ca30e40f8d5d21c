/* SPDX-License-Identifier: BSD-3-Clause */
/* raw.h -- the few system calls of the configuration, past every wrapper */

#ifndef SPW_SHM_RAW_H
#define SPW_SHM_RAW_H

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

/*
 * The preloaded object wraps open, read and their like.  Reading a setting
 * must neither pass through those wrappers nor depend on them being set up,
 * so these go to the kernel.  Each returns a negative errno on failure and
 * leaves errno alone.
 */
static inline long
spw_raw_end(long r, int saved)
{
	if (r < 0) {
		r = -errno;
		errno = saved;
	}
	return r;
}

#define SPW_RAW(...) spw_raw_end(syscall(__VA_ARGS__), saved)

static inline int
spw_raw_open(const char *path, int flags, mode_t mode)
{
	int saved = errno;

	return SPW_RAW(SYS_openat, AT_FDCWD, path, flags | O_CLOEXEC, mode);
}

static inline void
spw_raw_close(int fd)
{
	int saved = errno;

	(void)SPW_RAW(SYS_close, fd);	/* nothing was written through it */
}

static inline ssize_t
spw_raw_read(int fd, void *buf, size_t n)
{
	int saved = errno;

	return SPW_RAW(SYS_read, fd, buf, n);
}

static inline ssize_t
spw_raw_write(int fd, const void *buf, size_t n)
{
	int saved = errno;

	return SPW_RAW(SYS_write, fd, buf, n);
}

static inline int
spw_raw_fstat(int fd, struct stat *ret_st)
{
	int saved = errno;

	return SPW_RAW(SYS_fstat, fd, ret_st);
}

static inline int
spw_raw_stat(const char *path, struct stat *ret_st)
{
	int saved = errno;

	return SPW_RAW(SYS_newfstatat, AT_FDCWD, path, ret_st, 0);
}

static inline int
spw_raw_statfs(const char *path, struct statfs *ret_fs)
{
	int saved = errno;

	return SPW_RAW(SYS_statfs, path, ret_fs);
}

static inline int
spw_raw_unlink(const char *path)
{
	int saved = errno;

	return SPW_RAW(SYS_unlinkat, AT_FDCWD, path, 0);
}

/* Length of the link's text, not terminated. */
static inline ssize_t
spw_raw_readlink(const char *path, char *ret_buf, size_t cap)
{
	int saved = errno;

	return SPW_RAW(SYS_readlinkat, AT_FDCWD, path, ret_buf, cap);
}

/* Length of the working directory's name with its NUL. */
static inline ssize_t
spw_raw_getcwd(char *ret_buf, size_t cap)
{
	int saved = errno;

	return SPW_RAW(SYS_getcwd, ret_buf, cap);
}

#endif
