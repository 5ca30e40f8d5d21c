/* SPDX-License-Identifier: BSD-3-Clause */
/* reserve.h -- room in a file of our own, whatever the program may write */
#ifndef SPW_SHM_RESERVE_H
#define SPW_SHM_RESERVE_H

#include <errno.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "shm/sys.h"

/* The kernel would send SIGXFSZ, and end a program that did nothing wrong. It
 * looks at the limit only where the file grows. */
static inline bool
spw_reserve_may(int fd, uint64_t end)
{
	struct rlimit limit;
	struct stat st;

	return (spw_sys_fstat(fd, &st) == 0 && end <= (uint64_t)st.st_size) ||
	       spw_syscall(SYS_prlimit64, 0, RLIMIT_FSIZE, 0, (long)&limit, 0,
			   0) < 0 || end <= limit.rlim_cur;
}

/* A signal ends the call, and what it had got is given back. */
static inline int
spw_reserve(int fd, uint64_t off, uint64_t n)
{
	enum { TRIES = 100 };
	int r = -EINTR;

	if (!spw_reserve_may(fd, off + n))
		return -EFBIG;
	for (int i = 0; i < TRIES && r == -EINTR; i++)
		r = spw_sys_fallocate(fd, 0, off, n);
	return r;
}

static inline int
spw_reserve_size(int fd, uint64_t size)
{
	return spw_reserve_may(fd, size) ? spw_sys_ftruncate(fd, size) : -EFBIG;
}

#endif
