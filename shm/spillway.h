/* SPDX-License-Identifier: BSD-3-Clause */
/* spillway.h -- what a program may ask Spillway, if it knows of it */

/*
 * Programs need none of this: it is for those who want to know more. The
 * functions about files lie in libspillway.so. Link with it (pkg-config
 * --libs spillway) or, to run with and without, leave it out: the declarations
 * are weak, so a function's address is NULL when Spillway is not preloaded.
 *
 *	if (spillway_flush)
 *		spillway_flush(fd);
 *
 * The functions that pack bytes in memory lie in libspillway-engine.so
 * (pkg-config --libs spillway-engine), which wraps nothing and needs no
 * preload.
 */
#ifndef SPILLWAY_H
#define SPILLWAY_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

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

/* Brings n bytes of fd's file, from offset on, into the memory of the job,
 * where all of its programs read them. They stay for `seconds` when the file is
 * closed and the program has ended, unless the room is needed. Returns how
 * many are there, fewer than asked for at the end of the file or when memory
 * has no more room to spare; or -1 with EBADF: the file is not managed,
 * EBUSY: the kernel serves it, EINVAL, or the error of a read. */
SPILLWAY_API ssize_t spillway_stage(int fd, off_t offset, size_t n,
				    unsigned seconds);

/* What packing is for on the way to the tiers of this job, from now on and for
 * all of its programs: "async", "archive", "read-after-write", "balanced", or
 * three shares, see spillway_weigh. 0, or -1 with EINVAL, or ENOENT where the
 * job has no segment and none can be made. */
SPILLWAY_API int spillway_weigh_job(const char *weights);

#define SPILLWAY_ENGINE __attribute__((visibility("default")))

/* Bytes that spillway_compress needs at most for n; 0: n is too many. */
SPILLWAY_ENGINE size_t spillway_compress_bound(size_t n);

/* Packs the n bytes at src, piece by piece, each with the codec and the
 * prefilter that suit it and the weights best. Returns the bytes used of cap;
 * or -1 with ENOSPC: cap is not enough, EINVAL: n is too many, ENOMEM. The
 * result tells all about itself. Threads may call it at the same time; each
 * learns for itself what its data needs, and what all learned is added to the
 * seed when the process ends. */
SPILLWAY_ENGINE ssize_t spillway_compress(void *dst, size_t cap,
					  const void *src, size_t n);

/* What a program knows of its bytes; what it does not know is 0. */
struct spillway_data {
	uint32_t size;			/* of this struct; set by the caller */
	uint32_t kind;			/* one of those below */
	uint32_t width;			/* bytes of a number: 1, 2, 4 or 8 */
	uint32_t record;		/* bytes of a record of several */
	uint32_t big_endian;		/* 1: the numbers are */
	uint32_t reserved;
	uint64_t stream;		/* bytes of one number are taken to be
					 * alike: a variable, a dataset */
};

enum {
	SPILLWAY_DATA_UNKNOWN,		/* have a look */
	SPILLWAY_DATA_BYTES,
	SPILLWAY_DATA_TEXT,
	SPILLWAY_DATA_PACKED,		/* compressed already, or noise */
	SPILLWAY_DATA_INTEGER,
	SPILLWAY_DATA_FLOAT
};

/* spillway_compress for bytes of which something is known: that counts more
 * than what they look like. data may be NULL. -1 with EINVAL also for data that
 * makes no sense. */
SPILLWAY_ENGINE ssize_t
spillway_compress_as(void *dst, size_t cap, const void *src, size_t n,
		     const struct spillway_data *data);

/* Unpacks what spillway_compress made. Returns the bytes written to dst, never
 * more than cap; or -1 with EBADMSG: damaged, not all there, followed by
 * more, or not ours; ENOSPC: cap is not enough; ENOTSUP: packed with a codec
 * that is not to be had here; ENOMEM. dst may hold anything then. */
SPILLWAY_ENGINE ssize_t spillway_decompress(void *dst, size_t cap,
					    const void *src, size_t n);

/* The bytes that unpacking would yield, which is what somebody wrote there: do
 * not give it to malloc unseen. -1 with EBADMSG as above. */
SPILLWAY_ENGINE ssize_t spillway_decompressed_size(const void *src, size_t n);

/* What packing is for, from the next call on, in all threads of the process:
 * "async", "archive", "read-after-write", "balanced", or shares for packing
 * time, space and unpacking time that add up to 1, such as "0.3,0.4,0.3".
 * At first it is the setting `weights`. 0, or -1 with EINVAL. */
SPILLWAY_ENGINE int spillway_weigh(const char *weights);

#ifdef __cplusplus
}
#endif

#endif
