/* SPDX-License-Identifier: BSD-3-Clause */
/* fill.h -- bytes of home brought into memory before somebody reads them */
#ifndef SPW_SHM_FILL_H
#define SPW_SHM_FILL_H

#include "shm/cache.h"

/*
 * Blocks of the file from `first` on, `count` of them: what is home is copied
 * into memory, what is below is asked for. Returns how many were gone through:
 * fewer when memory has no more room to spare; or a negative errno, -EBUSY
 * when the kernel serves the file. Memory that writers may need soon is left
 * to them.
 */
int64_t spw_fill(struct spw_me *me, const struct spw_target *t,
		 uint64_t first, uint64_t count);

/* The file's blocks stay for so long after it was closed, if nobody needs the
 * room, and so does the segment. */
void spw_fill_hold(struct spw_map *map, uint32_t file, int64_t ms);

#endif
