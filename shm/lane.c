/* SPDX-License-Identifier: BSD-3-Clause */
/* lane.c -- claiming lanes, giving them back, and inheriting from the dead */
#include "shm/lane.h"

#include <errno.h>

#include "shm/blocks.h"
#include "shm/failpoint.h"
#include "shm/files.h"
#include "shm/lock.h"

uint32_t
spw_lane_count(const struct spw_map *map)
{
	uint32_t ready = atomic_load(&map->seg->pools[SPW_POOL_LANES].ready);

	return SPW_MIN(ready, map->counts[SPW_POOL_LANES]);
}

bool
spw_lane_is_dead(struct spw_map *map, uint32_t lane_no)
{
	struct spw_lane *lane;
	int r;

	if (lane_no >= spw_lane_count(map))
		return false;
	lane = &map->lanes[lane_no];
	if (atomic_load(&lane->state) != SPW_LANE_USED)
		return false;
	r = pthread_mutex_trylock(&lane->beacon);
	if (r == EBUSY)
		return false;
	/* Unlocked without being marked consistent it would be unusable for
	 * ever; marked, the next look would find it merely free. The state
	 * word still says USED, and a free beacon on a used lane is a death
	 * as well: its thread died between state and beacon. */
	if (r == EOWNERDEAD)
		pthread_mutex_consistent(&lane->beacon);
	if (r == 0 || r == EOWNERDEAD)
		pthread_mutex_unlock(&lane->beacon);
	return r != ENOTRECOVERABLE;
}

static void
fold_counters(struct spw_me *me, struct spw_lane *lane)
{
	struct spw_seg *seg = me->map->seg;
	uint64_t *sum = (uint64_t *)&seg->gone;
	uint64_t *add = (uint64_t *)&lane->count;

	spw_lock(me, SPW_LOCK_GONE, &seg->gone_lock);
	for (size_t i = 0; i < sizeof(seg->gone) / sizeof(*sum); i++) {
		sum[i] += add[i];
		add[i] = 0;
	}
	spw_unlock(&seg->gone_lock);
}

/* The slot that the last change let go of may not have reached a pool. */
static void
mend_old_slot(struct spw_me *me, struct spw_lane *dead)
{
	struct spw_map *map = me->map;
	uint32_t slot = dead->redo.old_slot;
	uint32_t owner, idx;

	if (slot >= map->counts[SPW_POOL_SLOTS])
		return;
	owner = atomic_load(&map->owners[SPW_POOL_SLOTS][slot]);
	idx = owner & ~SPW_IN_USE;
	if (!(owner & SPW_IN_USE) || idx >= map->counts[SPW_POOL_BLOCKS])
		return;
	if (map->blocks[idx].state.slot != slot &&
	    map->blocks[idx].state.moving_slot != slot)
		spw_pool_give(me, SPW_POOL_SLOTS, slot);
	dead->redo.old_slot = SPW_NONE;
}

/* Items the dead lane owned and had already published are in use. */
static void
keep_linked(struct spw_me *me, uint32_t dead_no)
{
	struct spw_map *map = me->map;
	uint32_t n = SPW_MIN(atomic_load(&map->seg->pools[SPW_POOL_BLOCKS]
					 .ready),
			     map->counts[SPW_POOL_BLOCKS]);

	for (uint32_t i = 0; i < n; i++)
		if (atomic_load_explicit(&map->owners[SPW_POOL_BLOCKS][i],
					 memory_order_relaxed) ==
		    SPW_OWNER(dead_no) && spw_block_is_linked(me, i))
			spw_pool_use(map, SPW_POOL_BLOCKS, i, 0);
	spw_files_keep_linked(me, dead_no);
}

static void
release_held(struct spw_me *me, struct spw_lane *dead, uint32_t dead_no)
{
	uint64_t limit = me->map->seg->fixed.size - sizeof(struct spw_lock);

	for (int i = SPW_LOCK_CLASSES - 1; i >= 0; i--) {
		uint64_t at = atomic_load(&dead->held[i]);
		struct spw_lock *lock = (void *)(me->map->base + at);

		if (at == 0 || at > limit || at % 8)
			continue;
		if (spw_lock_owner(lock) == dead_no + 1)
			spw_unlock(lock);
	}
}

/* The caller holds the beacon. Every step may be repeated by a successor. */
static void
adopt(struct spw_me *me, uint32_t dead_no)
{
	struct spw_map *map = me->map;
	struct spw_lane *dead = &map->lanes[dead_no];

	if (atomic_load(&dead->redo.block))
		spw_block_redo(me, dead);
	SPW_FAILPOINT("adopt-redone");
	if (atomic_load(&dead->removing))
		spw_block_finish_removal(me, dead, dead_no);
	release_held(me, dead, dead_no);
	SPW_FAILPOINT("adopt-released");
	mend_old_slot(me, dead);
	keep_linked(me, dead_no);
	spw_pool_mend(me, dead, dead_no);
	fold_counters(me, dead);
	dead->nslots = dead->nblocks = 0;
	atomic_store(&dead->inside, 0);
	SPW_FAILPOINT("adopt-freed");
	atomic_store(&dead->state, SPW_LANE_FREE);
	atomic_fetch_add(&map->seg->sweep, 1);
}

bool
spw_lane_adopt_if_dead(struct spw_me *me, uint32_t lane_no)
{
	struct spw_lane *lane;
	int r;

	if (lane_no >= spw_lane_count(me->map) || lane_no == me->lane_no)
		return false;
	lane = &me->map->lanes[lane_no];
	if (atomic_load(&lane->state) != SPW_LANE_USED)
		return false;
	r = pthread_mutex_trylock(&lane->beacon);
	if (r != 0 && r != EOWNERDEAD)
		return false;
	if (atomic_load(&lane->state) == SPW_LANE_USED)
		adopt(me, lane_no);
	if (r == EOWNERDEAD)
		pthread_mutex_consistent(&lane->beacon);
	pthread_mutex_unlock(&lane->beacon);
	return true;
}

uint32_t
spw_lane_adopt_all(struct spw_me *me)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < spw_lane_count(me->map); i++)
		n += spw_lane_adopt_if_dead(me, i);
	return n;
}

static void
sit_down(struct spw_map *map, uint32_t no, uint32_t proc,
	 struct spw_me *ret_me)
{
	*ret_me = (struct spw_me){ map, &map->lanes[no], no };
	ret_me->lane->proc = proc;
	ret_me->lane->redo.old_slot = SPW_NONE;
}

static bool
claim_free(struct spw_map *map, uint32_t no, uint32_t proc,
	   struct spw_me *ret_me)
{
	struct spw_lane *lane = &map->lanes[no];
	int r;

	if (atomic_load(&lane->state) != SPW_LANE_FREE)
		return false;
	r = pthread_mutex_trylock(&lane->beacon);
	if (r == EOWNERDEAD)
		pthread_mutex_consistent(&lane->beacon);
	else if (r != 0)
		return false;
	if (atomic_load(&lane->state) != SPW_LANE_FREE) {
		pthread_mutex_unlock(&lane->beacon);
		return false;
	}
	atomic_store(&lane->state, SPW_LANE_USED);
	sit_down(map, no, proc, ret_me);
	return true;
}

/* Adopting needs a lane. With all others taken, lane 0, which is kept for
 * this, serves whoever locks its beacon. */
static uint32_t
adopt_through_lane_0(struct spw_map *map)
{
	struct spw_me me;
	uint32_t n;
	int r = pthread_mutex_lock(&map->lanes[0].beacon);

	if (r != 0 && r != EOWNERDEAD)
		return 0;
	sit_down(map, 0, SPW_NONE, &me);
	if (r == EOWNERDEAD) {
		release_held(&me, me.lane, 0);
		spw_pool_mend(&me, me.lane, 0);
		pthread_mutex_consistent(&map->lanes[0].beacon);
	}
	n = spw_lane_adopt_all(&me);
	pthread_mutex_unlock(&map->lanes[0].beacon);
	return n;
}

int
spw_lane_claim(struct spw_map *map, uint32_t proc, struct spw_me *ret_me)
{
	do {
		for (uint32_t i = 1; i < spw_lane_count(map); i++)
			if (claim_free(map, i, proc, ret_me))
				return 0;
	} while (adopt_through_lane_0(map) > 0 ||
		 spw_seg_grow(map, SPW_POOL_LANES) == 0);
	return -EAGAIN;
}

void
spw_lane_release(struct spw_me *me)
{
	struct spw_lane *lane = me->lane;

	while (lane->nslots)
		spw_pool_give(me, SPW_POOL_SLOTS,
			      lane->slots[--lane->nslots]);
	while (lane->nblocks)
		spw_pool_give(me, SPW_POOL_BLOCKS,
			      lane->blocks[--lane->nblocks]);
	fold_counters(me, lane);
	atomic_store(&lane->state, SPW_LANE_FREE);
	pthread_mutex_unlock(&lane->beacon);
	me->lane = NULL;
}

void
spw_lane_counters(struct spw_map *map, struct spw_counters *ret_sum)
{
	uint64_t *sum = (uint64_t *)ret_sum;

	*ret_sum = map->seg->gone;
	for (uint32_t i = 0; i < spw_lane_count(map); i++) {
		const uint64_t *add = (uint64_t *)&map->lanes[i].count;

		for (size_t k = 0; k < sizeof(*ret_sum) / sizeof(*sum); k++)
			sum[k] += add[k];
	}
}

static uint32_t
stock(struct spw_me *me, enum spw_pool_id pool, uint32_t want, uint32_t *list,
      uint32_t *n)
{
	while (*n < want) {
		uint32_t got = spw_pool_take(me, pool, SPW_SPARES - *n,
					     list + *n);

		if (!got)
			break;
		if (pool == SPW_POOL_SLOTS)
			spw_seg_meet_slots(me->map, list[*n]);
		*n += got;
	}
	return *n;
}

uint32_t
spw_lane_stock_slots(struct spw_me *me, uint32_t want)
{
	return stock(me, SPW_POOL_SLOTS, want, me->lane->slots,
		     &me->lane->nslots);
}

uint32_t
spw_lane_stock_blocks(struct spw_me *me, uint32_t want)
{
	return stock(me, SPW_POOL_BLOCKS, want, me->lane->blocks,
		     &me->lane->nblocks);
}
