/* SPDX-License-Identifier: BSD-3-Clause */
/* spillway.h -- what a program may ask Spillway, if it knows of it */

/*
 * Programs need none of this: it is for those who want to know more. The
 * functions lie in libspillway.so. Link with it (pkg-config --libs spillway)
 * or, to run with and without, leave it out: the declarations are weak, so a
 * function's address is NULL when Spillway is not preloaded.
 *
 *	if (spillway_flush)
 *		spillway_flush(fd);
 */
#ifndef SPILLWAY_H
#define SPILLWAY_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define SPILLWAY_API __attribute__((weak, visibility("default")))

struct spillway_info {
	uint32_t size;			/* of this struct; set by the caller */
	uint32_t managed;		/* 1: Spillway knows the file */
	uint32_t cached;		/* 1: it serves it from memory now */
	uint32_t pinned;
	uint64_t bytes_cached;		/* in memory */
	uint64_t bytes_dirty;		/* of these, not home yet */
	char bypass[32];		/* why the kernel serves it, or "" */
};

/* Returns when everything written to fd's file before the call is home; with
 * -1, everything of all files of the job. 0, or -1 with errno of the
 * write-back. Not a promise against power loss: fsync gives that. */
SPILLWAY_API int spillway_flush(int fd);

/* What Spillway knows about fd. 0, or -1 with EBADF, or EINVAL for a size
 * that is not known. */
SPILLWAY_API int spillway_query(int fd, struct spillway_info *ret_info);

/* Keeps what is cached of fd's file in memory (pin 1), or lets it go as need
 * be (0), as long as the job has the file open. 0, or -1 with EBADF when the
 * file is not managed. */
SPILLWAY_API int spillway_pin(int fd, int pin);

#ifdef __cplusplus
}
#endif

#endif
