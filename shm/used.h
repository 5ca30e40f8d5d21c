/* SPDX-License-Identifier: BSD-3-Clause */
/* used.h -- what those who use a block note for the drainer, which evicts */

/*
 * Some things are used once and some again and again: those are to stay when
 * much passes through memory. A block counts as used again if something like a
 * thirtieth of the memory was read and written since it was used first; what
 * comes sooner belongs to the same use, such as the pieces of a block that are
 * written one after the other.
 *
 * This distance is measured in ticks: a thread that has moved so many bytes
 * raises seg.tick by one. Blocks note the tick of the last use that counted.
 * All of it is advice: a note that is lost does no harm.
 */
#ifndef SPW_SHM_USED_H
#define SPW_SHM_USED_H

#include "shm/seg.h"

enum {
	SPW_USED_LATELY = 1,		/* since the drainer's last look */
	SPW_USED_AGAIN = 2,		/* so often, up to SPW_USED_MOST */
	SPW_USED_MOST = 3,
	SPW_USED_NOT = 128,		/* it was only put there as yet */
	SPW_TICKS_APART = 2,		/* one could be over any moment */
};

static inline uint8_t
spw_used_again(uint8_t used)
{
	return used / SPW_USED_AGAIN % (SPW_USED_MOST + 1);
}

static inline void
spw_used_note(const struct spw_map *map, struct spw_block *b)
{
	uint8_t used = atomic_load_explicit(&b->used, memory_order_relaxed);
	uint32_t now = atomic_load_explicit(&map->seg->tick,
					    memory_order_relaxed);
	bool again = now - atomic_load_explicit(&b->tick, memory_order_relaxed)
		     >= SPW_TICKS_APART;

	if (SPW_LIKELY(!again && (used & SPW_USED_LATELY) &&
		       !(used & SPW_USED_NOT)))
		return;
	if (used & SPW_USED_NOT)
		used &= (uint8_t)~SPW_USED_NOT;
	else if (again && spw_used_again(used) < SPW_USED_MOST)
		used += SPW_USED_AGAIN;
	else if (!again)
		now = atomic_load_explicit(&b->tick, memory_order_relaxed);
	atomic_store_explicit(&b->tick, now, memory_order_relaxed);
	atomic_store_explicit(&b->used, used | SPW_USED_LATELY,
			      memory_order_relaxed);
}

/* A thread has moved so many bytes, before and now. */
static inline void
spw_used_moved(const struct spw_map *map, uint64_t before, uint64_t now)
{
	uint64_t ticks = (now >> map->tick_shift) -
			 (before >> map->tick_shift);

	if (SPW_UNLIKELY(ticks))
		atomic_fetch_add_explicit(&map->seg->tick, (uint32_t)ticks,
					  memory_order_relaxed);
}

/* A thread has ended: what it moved after its last tick may be one with what
 * others left so. */
static inline void
spw_used_carry(const struct spw_map *map, uint64_t gone, uint64_t moved)
{
	uint64_t rest = (1ull << map->tick_shift) - 1;

	spw_used_moved(map, gone & rest, (gone & rest) + (moved & rest));
}

#endif
