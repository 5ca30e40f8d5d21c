/* SPDX-License-Identifier: BSD-3-Clause */
/* pool.h -- taking and giving back items of the segment's tables */
#ifndef SPW_SHM_POOL_H
#define SPW_SHM_POOL_H

#include "shm/seg.h"

/* Takes up to n items, neighbours where possible, and returns how many.
 * They belong to the lane until spw_pool_use. 0: the pool is empty and could
 * not grow. */
uint32_t spw_pool_take(struct spw_me *me, enum spw_pool_id pool, uint32_t n,
		       uint32_t *ret_items);

void spw_pool_give(struct spw_me *me, enum spw_pool_id pool, uint32_t item);

/* Marks an item as published; with, for slots, the block it serves. */
static inline void
spw_pool_use(struct spw_map *map, enum spw_pool_id pool, uint32_t item,
	     uint32_t what)
{
	atomic_store_explicit(&map->owners[pool][item], SPW_IN_USE | what,
			      memory_order_release);
}

/* Words of a bitmap over the pool in which a bit can be set: memory may be
 * large, and most of it not in use yet. */
static inline uint32_t
spw_pool_words(const struct spw_map *map, enum spw_pool_id pool)
{
	return (spw_seg_ready(map, pool) + 63) / 64;
}

/* Items free now; a moment later it may be otherwise. */
uint32_t spw_pool_free(const struct spw_map *map, enum spw_pool_id pool);

/* Frees what a dead lane left half taken; see spw_lane_adopt. */
void spw_pool_mend(struct spw_me *me, struct spw_lane *dead,
		   uint32_t dead_no);

#endif
