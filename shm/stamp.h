/* SPDX-License-Identifier: BSD-3-Clause */
/* stamp.h -- times for what is written, in order with those of the kernel */
#ifndef SPW_SHM_STAMP_H
#define SPW_SHM_STAMP_H

#include "shm/seg.h"

/*
 * The kernel stamps files with a coarse clock. Since Linux 6.13, one whose
 * times somebody has looked at meanwhile gets the exact time instead, so that
 * the change can be seen, and no stamp after that is older. Programs compare
 * times of files, so ours keep to it: none is older than one that we saw, and
 * one that was looked at is followed by a later one, which we have the kernel
 * make, so that it knows of it.
 */

int64_t spw_stamp_slow(struct spw_map *map, struct spw_file *f, int64_t now);

/* For a write to f that happens now. */
static inline int64_t
spw_stamp(struct spw_map *map, struct spw_file *f)
{
	int64_t now = spw_file_time();

	if (SPW_UNLIKELY(atomic_load_explicit(&f->flags,
					      memory_order_relaxed) &
			 SPW_FILE_SEEN) ||
	    SPW_UNLIKELY(atomic_load_explicit(&map->seg->latest,
					      memory_order_relaxed) > now))
		return spw_stamp_slow(map, f, now);
	return now;
}

/* The write leaves its time, unless another has left a later one. */
void spw_stamp_put_slow(struct spw_file *f, int64_t stamp);

static inline void
spw_stamp_put(struct spw_file *f, int64_t stamp)
{
	if (SPW_UNLIKELY(atomic_load_explicit(&f->wtime,
					      memory_order_relaxed) != stamp))
		spw_stamp_put_slow(f, stamp);
}

/* The kernel gave some file this ctime; its mtime may be anything. */
void spw_stamp_saw(struct spw_map *map, int64_t ctime);

/* The program looks at the times of f. */
void spw_stamp_looked(struct spw_file *f);

#endif
