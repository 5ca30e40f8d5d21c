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
	if (spw_front_outside)		/* a tier has one of its own */
		return;
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
	__typeof__(io_submit) *real = REAL_OF_CALLER(io_submit);
	int r = spw_rings_submit(n, list);

	return r < 0 ? r : real ? real(ctx, n, list) : -ENOSYS;
}

/* liburing makes its system calls itself, but sets its rings up here. */
SPW_WRAP int
io_uring_queue_init_params(unsigned entries, struct io_uring *ring,
			   struct io_uring_params *p)
{
	__typeof__(io_uring_queue_init_params) *real =
		REAL_OF_CALLER(io_uring_queue_init_params);

	spw_rings_begin();
	return real ? real(entries, ring, p) : -ENOSYS;
}

SPW_WRAP int
io_uring_queue_init(unsigned entries, struct io_uring *ring, unsigned flags)
{
	__typeof__(io_uring_queue_init) *real =
		REAL_OF_CALLER(io_uring_queue_init);

	spw_rings_begin();
	return real ? real(entries, ring, flags) : -ENOSYS;
}

SPW_WRAP int
io_uring_queue_init_mem(unsigned entries, struct io_uring *ring,
			struct io_uring_params *p, void *buf, size_t n)
{
	__typeof__(io_uring_queue_init_mem) *real =
		REAL_OF_CALLER(io_uring_queue_init_mem);

	spw_rings_begin();
	return real ? real(entries, ring, p, buf, n) : -ENOSYS;
}

/* A ring that another process made. */
SPW_WRAP int
io_uring_queue_mmap(int fd, struct io_uring_params *p, struct io_uring *ring)
{
	__typeof__(io_uring_queue_mmap) *real =
		REAL_OF_CALLER(io_uring_queue_mmap);

	spw_rings_begin();
	return real ? real(fd, p, ring) : -ENOSYS;
}

SPW_WRAP int
io_uring_setup(unsigned entries, struct io_uring_params *p)
{
	__typeof__(io_uring_setup) *real =
		REAL_OF_CALLER(io_uring_setup);

	spw_rings_begin();
	return real ? real(entries, p) : -ENOSYS;
}
