/* SPDX-License-Identifier: BSD-3-Clause */
/* cache.h -- reading and writing a managed file: the hot path */
#ifndef SPW_SHM_CACHE_H
#define SPW_SHM_CACHE_H

#include <sys/uio.h>

#include "shm/files.h"

/* One call's file: fd is the caller's own descriptor, for what has to be
 * read from home. */
struct spw_target {
	uint32_t file;
	int fd;
	bool readable;			/* fd may be read */
	bool end_locked;		/* the caller holds file.append */
};

struct spw_source {			/* bytes to be written */
	const uint8_t *at;		/* what comes first, */
	uint64_t left;			/* how much of that there is, */
	const struct iovec *next;	/* and what comes after it */
};

static inline void
spw_source_turn(struct spw_source *src)
{
	src->at = src->next->iov_base;
	src->left = src->next->iov_len;
	src->next++;
}

static inline void
spw_source_skip(struct spw_source *src, uint64_t n)
{
	while (n > src->left) {
		n -= src->left;
		spw_source_turn(src);
	}
	src->at += n;
	src->left -= n;
}

/*
 * Writes n bytes into the segment; src moves on. Returns n, fewer when room ran
 * out on the way, or a negative errno: -ENOBUFS, no room and nothing was
 * written; -ENOMEM, the same, and there will be none;
 * -EAGAIN, it moves the end of a file that others append to, and file.append
 * is not held. When it returns n the bytes survive the death of any process,
 * and every process of the job reads them. What falls into one block comes
 * there at once, from however many places.
 */
int64_t spw_cache_write(struct spw_me *me, const struct spw_target *t,
			struct spw_source *src, uint64_t n, uint64_t off);

/*
 * Reads what the file holds at off: from the segment where it has the bytes,
 * else from home through fd. Returns the count, 0 at the end of the file, or
 * a negative errno from home.
 */
int64_t spw_cache_read(struct spw_me *me, const struct spw_target *t,
		       void *buf, uint64_t n, uint64_t off);

/* The kernel's half: not even to be named, nothing read from it or not. */
static inline bool
spw_cache_is_alien(const void *buf, uint64_t n)
{
	uint64_t at = (uintptr_t)buf;

	return at + n < at || at + n > 1ull << 56;
}

/* No process has memory there: the first page, and the kernel's half. */
static inline bool
spw_cache_bad_pointer(const void *buf, uint64_t n)
{
	return n && ((uintptr_t)buf < 4096 || spw_cache_is_alien(buf, n));
}

#endif
