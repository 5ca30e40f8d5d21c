/* SPDX-License-Identifier: BSD-3-Clause */
/* pool.c -- free bitmaps: one atomic takes or gives, a killed taker leaks none */

/*
 * An item is free when its owner word is 0; a set bit says where to look.
 * Taking clears the bit, then changes the owner word from 0 by compare and
 * swap: a bit too many costs one failed attempt. A bit too few would lose the
 * item, so a lane notes in `grab` which word of which pool it touches, and
 * the adopter of a dead lane sets the bits of that word again wherever there
 * is no owner.
 */
#include "shm/pool.h"

#include "shm/failpoint.h"
#include "shm/lane.h"
#include "shm/lock.h"

#define GRAB(pool, word)	((uint32_t)(pool) << 28 | ((word) + 1))
#define GRAB_POOL(grab)		((grab) >> 28)
#define GRAB_WORD(grab)		(((grab) & 0x0fffffff) - 1)

static uint64_t
lowest(uint64_t bits, uint32_t n)
{
	uint64_t mask = 0;

	for (; n && bits; n--) {
		mask |= bits & -bits;
		bits &= bits - 1;
	}
	return mask;
}

static uint32_t
take_from_word(struct spw_me *me, enum spw_pool_id pool, uint32_t word,
	       uint32_t n, uint32_t *ret_items)
{
	struct spw_map *map = me->map;
	_Atomic uint64_t *bits = &map->bits[pool][word];
	uint64_t want = lowest(atomic_load(bits), n);
	uint32_t got = 0;

	if (!want)
		return 0;
	atomic_store(&me->lane->grab, GRAB(pool, word));
	want &= atomic_fetch_and(bits, ~want);
	SPW_FAILPOINT("pool-taken");
	for (; want; want &= want - 1) {
		uint32_t item = word * 64 + (uint32_t)__builtin_ctzll(want);
		uint32_t nobody = SPW_FREE;

		if (atomic_compare_exchange_strong(&map->owners[pool][item],
						   &nobody,
						   SPW_OWNER(me->lane_no)))
			ret_items[got++] = item;
	}
	atomic_store_explicit(&me->lane->grab, 0, memory_order_release);
	return got;
}

static uint32_t
take_ready(struct spw_me *me, enum spw_pool_id pool, uint32_t n,
	   uint32_t *ret_items)
{
	struct spw_pool *p = &me->map->seg->pools[pool];
	uint32_t words = spw_pool_words(me->map, pool);
	uint32_t start = atomic_load(&p->hint);

	if (start >= words)
		start = 0;
	for (uint32_t i = 0; i < words; i++) {
		uint32_t word = start + i < words ? start + i
						  : start + i - words;
		uint32_t got = take_from_word(me, pool, word, n, ret_items);

		if (got) {
			atomic_store(&p->hint, word);
			return got;
		}
	}
	return 0;
}

uint32_t
spw_pool_take(struct spw_me *me, enum spw_pool_id pool, uint32_t n,
	      uint32_t *ret_items)
{
	uint32_t got;

	do
		got = take_ready(me, pool, n, ret_items);
	while (!got && spw_seg_grow(me->map, pool) == 0);
	return got;
}

void
spw_pool_give(struct spw_me *me, enum spw_pool_id pool, uint32_t item)
{
	struct spw_pool *p = &me->map->seg->pools[pool];
	uint32_t word = item / 64;

	atomic_store(&me->lane->grab, GRAB(pool, word));
	atomic_store(&me->map->owners[pool][item], SPW_FREE);
	SPW_FAILPOINT("pool-given");
	atomic_fetch_or(&me->map->bits[pool][word], 1ull << item % 64);
	atomic_store_explicit(&me->lane->grab, 0, memory_order_release);
	if (word < atomic_load_explicit(&p->hint, memory_order_relaxed))
		atomic_store_explicit(&p->hint, word, memory_order_relaxed);
}

uint32_t
spw_pool_free(const struct spw_map *map, enum spw_pool_id pool)
{
	uint32_t n = 0;

	for (uint32_t w = 0; w < spw_pool_words(map, pool); w++)
		n += (uint32_t)__builtin_popcountll(
			atomic_load_explicit(&map->bits[pool][w],
					     memory_order_relaxed));
	return n;
}

void
spw_pool_mend(struct spw_me *me, struct spw_lane *dead, uint32_t dead_no)
{
	uint32_t grab = atomic_load(&dead->grab);
	uint32_t pool = GRAB_POOL(grab), word = GRAB_WORD(grab);
	struct spw_map *map = me->map;

	if (grab && pool < SPW_POOL_COUNT &&
	    word < spw_pool_words(map, pool)) {
		uint32_t end = SPW_MIN(word * 64 + 64,
				       spw_seg_ready(map, pool));

		for (uint32_t i = word * 64; i < end; i++)
			if (!atomic_load(&map->owners[pool][i]))
				atomic_fetch_or(&map->bits[pool][word],
						1ull << i % 64);
	}
	atomic_store(&dead->grab, 0);
	for (pool = SPW_POOL_FILES; pool < SPW_POOL_COUNT; pool++) {
		uint32_t ready = atomic_load(&map->seg->pools[pool].ready);

		ready = SPW_MIN(ready, map->counts[pool]);
		for (uint32_t i = 0; i < ready; i++)
			if (atomic_load_explicit(&map->owners[pool][i],
						 memory_order_relaxed) ==
			    SPW_OWNER(dead_no))
				spw_pool_give(me, pool, i);
	}
}
