/* SPDX-License-Identifier: BSD-3-Clause */
/* rings.c -- io_uring and libaio in the program's own hands */
#include <errno.h>
#include <linux/aio_abi.h>

#include "interpose/leave.h"
#include "interpose/real.h"
#include "interpose/rings.h"

void
spw_rings_begin(void)
{
	atomic_store(&spw_front.rings, true);
	for (int fd = 0; atomic_load(&spw_front.attached) &&
	     fd < SPW_FD_MAX; fd++)
		if (spw_fdtab_has(fd))
			(void)spw_leave(fd, SPW_BYPASS_IO_URING);
}

int
spw_rings_submit(long n, void *iocbs)
{
	struct iocb **list = iocbs;

	/* The kernel ends at the first bad address, too. */
	for (long i = 0; i < n; i++) {
		int r;

		if (spw_cache_bad_pointer(&list[i], sizeof(*list)) ||
		    spw_cache_bad_pointer(list[i], sizeof(**list)))
			break;
		r = spw_leave((int)list[i]->aio_fildes, SPW_BYPASS_AIO);
		if (r < 0)
			return r;
	}
	return 0;
}

/* libaio's entry: a negative errno is its way to fail. */
SPW_WRAP int
io_submit(void *ctx, long n, struct iocb **list)
{
	int r = spw_rings_submit(n, list);

	return r < 0 ? r : REAL(io_submit)(ctx, n, list);
}

/* liburing makes its system calls itself, but sets its rings up here. */
SPW_WRAP int
io_uring_queue_init_params(unsigned entries, struct io_uring *ring,
			   struct io_uring_params *p)
{
	spw_rings_begin();
	return REAL(io_uring_queue_init_params)(entries, ring, p);
}

SPW_WRAP int
io_uring_queue_init(unsigned entries, struct io_uring *ring, unsigned flags)
{
	spw_rings_begin();
	return REAL(io_uring_queue_init)(entries, ring, flags);
}

SPW_WRAP int
io_uring_queue_init_mem(unsigned entries, struct io_uring *ring,
			struct io_uring_params *p, void *buf, size_t n)
{
	spw_rings_begin();
	return REAL(io_uring_queue_init_mem)(entries, ring, p, buf, n);
}

/* A ring that another process made. */
SPW_WRAP int
io_uring_queue_mmap(int fd, struct io_uring_params *p, struct io_uring *ring)
{
	spw_rings_begin();
	return REAL(io_uring_queue_mmap)(fd, p, ring);
}

SPW_WRAP int
io_uring_setup(unsigned entries, struct io_uring_params *p)
{
	spw_rings_begin();
	return REAL(io_uring_setup)(entries, p);
}
