/* SPDX-License-Identifier: BSD-3-Clause */
/* ring-double.c -- liburing's ways to set a ring up, as far as we see them */

/*
 * Each does what liburing does: system calls of its own, which no wrapper
 * sees. Instead of a ring it hands back what a ring would have found: how
 * many bytes the kernel knows of in the file "data".
 */
#include <fcntl.h>
#include <stddef.h>

#include "shm/sys.h"

#define EXPORT __attribute__((visibility("default")))

struct io_uring;
struct io_uring_params;

int io_uring_queue_init(unsigned entries, struct io_uring *ring,
			unsigned flags);
int io_uring_queue_init_mem(unsigned entries, struct io_uring *ring,
			    struct io_uring_params *p, void *buf, size_t n);
int io_uring_queue_init_params(unsigned entries, struct io_uring *ring,
			       struct io_uring_params *p);
int io_uring_queue_mmap(int fd, struct io_uring_params *p,
			struct io_uring *ring);
int io_uring_setup(unsigned entries, struct io_uring_params *p);

static int
look(void)
{
	struct stat st;

	return spw_sys_fstatat(AT_FDCWD, "data", &st, 0) < 0
	       ? -1 : (int)st.st_size;
}

EXPORT int
io_uring_queue_init(unsigned entries, struct io_uring *ring, unsigned flags)
{
	(void)entries, (void)ring, (void)flags;
	return look();
}

EXPORT int
io_uring_queue_init_mem(unsigned entries, struct io_uring *ring,
			struct io_uring_params *p, void *buf, size_t n)
{
	(void)entries, (void)ring, (void)p, (void)buf, (void)n;
	return look();
}

EXPORT int
io_uring_queue_init_params(unsigned entries, struct io_uring *ring,
			   struct io_uring_params *p)
{
	(void)entries, (void)ring, (void)p;
	return look();
}

EXPORT int
io_uring_queue_mmap(int fd, struct io_uring_params *p, struct io_uring *ring)
{
	(void)fd, (void)p, (void)ring;
	return look();
}

EXPORT int
io_uring_setup(unsigned entries, struct io_uring_params *p)
{
	(void)entries, (void)p;
	return look();
}
