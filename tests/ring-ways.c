/* SPDX-License-Identifier: BSD-3-Clause */
/* ring-ways.c -- calls what liburing exports: from the program, and from a
 * library that it loads for itself */
#include "tests/ring-ways.h"

#include <stddef.h>
#include <string.h>

struct io_uring;
struct io_uring_params;

#define WEAK __attribute__((weak))	/* another library has them */

WEAK int io_uring_queue_init(unsigned entries, struct io_uring *ring,
			     unsigned flags);
WEAK int io_uring_queue_init_mem(unsigned entries, struct io_uring *ring,
				 struct io_uring_params *p, void *buf,
				 size_t n);
WEAK int io_uring_queue_init_params(unsigned entries, struct io_uring *ring,
				    struct io_uring_params *p);
WEAK int io_uring_queue_mmap(int fd, struct io_uring_params *p,
			     struct io_uring *ring);
WEAK int io_uring_setup(unsigned entries, struct io_uring_params *p);

int
ring_set_up(const char *how)
{
	if (!strcmp(how, "init"))
		return io_uring_queue_init(4, NULL, 0);
	if (!strcmp(how, "mem"))
		return io_uring_queue_init_mem(4, NULL, NULL, NULL, 0);
	if (!strcmp(how, "params"))
		return io_uring_queue_init_params(4, NULL, NULL);
	if (!strcmp(how, "mmap"))
		return io_uring_queue_mmap(3, NULL, NULL);
	return io_uring_setup(4, NULL);
}
