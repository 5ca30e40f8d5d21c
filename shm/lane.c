/* SPDX-License-Identifier: BSD-3-Clause */
/* lane.c -- claiming lanes, giving them back, and inheriting from the dead */
#include "shm/lane.h"

#include <errno.h>

#include "shm/blocks.h"
#include "shm/failpoint.h"
#include "shm/files.h"
#include "shm/lock.h"
#include "shm/stamp.h"
#include "shm/used.h"

uint32_t
spw_lane_count(const struct spw_map *map)
{
	return spw_seg_ready(map, SPW_POOL_LANES);
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
fold_counters(struct spw_map *map, struct spw_lane *lane)
{
	_Atomic uint64_t *sum = (_Atomic uint64_t *)&map->seg->gone;
	uint64_t *add = (uint64_t *)&lane->count;

	spw_used_carry(map, spw_glance64(&map->seg->gone.bytes_written),
		       lane->count.bytes_written);
	for (size_t i = 0; i < sizeof(lane->count) / sizeof(*add); i++) {
		atomic_fetch_add(&sum[i], add[i]);
		add[i] = 0;
	}
}

/* The slot that a change let go of may not have reached a pool. Only if the
 * dead lane still has the block locked: once it is open, the same slot may
 * serve others and be let go of by them. */
static void
mend_old_slot(struct spw_me *me, uint32_t *old, uint32_t dead_no)
{
	struct spw_map *map = me->map;
	uint32_t slot = *old;
	uint32_t owner, idx;

	if (slot >= map->counts[SPW_POOL_SLOTS])
		return;
	owner = atomic_load(&map->owners[SPW_POOL_SLOTS][slot]);
	idx = owner & ~SPW_IN_USE;
	if (!(owner & SPW_IN_USE) || idx >= map->counts[SPW_POOL_BLOCKS] ||
	    spw_lock_owner(&map->blocks[idx].lock) != dead_no + 1)
		return;
	if (map->blocks[idx].state.slot != slot &&
	    map->blocks[idx].state.moving_slot != slot &&
	    map->blocks[idx].state.mask != slot)
		spw_pool_give(me, SPW_POOL_SLOTS, slot);
	*old = SPW_NONE;
}

/* Items the dead lane owned and had already published are in use. False: for
 * one of them that cannot be told now. */
static bool
keep_linked(struct spw_me *me, uint32_t dead_no)
{
	struct spw_map *map = me->map;
	uint32_t n = spw_seg_ready(map, SPW_POOL_BLOCKS);

	for (uint32_t i = 0; i < n; i++) {
		uint32_t linked;

		if (atomic_load_explicit(&map->owners[SPW_POOL_BLOCKS][i],
					 memory_order_relaxed) !=
		    SPW_OWNER(dead_no))
			continue;
		linked = spw_block_linked(me, i);
		if (linked == SPW_HELD)
			return false;
		if (linked == i)
			spw_pool_use(map, SPW_POOL_BLOCKS, i, 0);
	}
	spw_files_keep_linked(me, dead_no);
	return true;
}

/* The lock a lane noted, if there can be one of that class there. */
static struct spw_lock *
lock_at(const struct spw_map *map, int class, uint64_t at)
{
	const struct {
		const void *first;
		uint64_t stride, count;
	} place[SPW_LOCK_CLASSES] = {
		[SPW_LOCK_GATE] = { &map->files->gate, sizeof(*map->files),
				    map->counts[SPW_POOL_FILES] },
		[SPW_LOCK_APPEND] = { &map->files->append,
				      sizeof(*map->files),
				      map->counts[SPW_POOL_FILES] },
		[SPW_LOCK_FBUCKET] = { map->fbucket_locks,
				       sizeof(struct spw_lock),
				       (map->fbucket_mask + 1) / 16 },
		[SPW_LOCK_BLOCK] = { &map->blocks->lock, sizeof(*map->blocks),
				     map->counts[SPW_POOL_BLOCKS] },
		[SPW_LOCK_BUCKET] = { map->bucket_locks,
				      sizeof(struct spw_lock),
				      (map->bucket_mask + 1) / 16 },
		[SPW_LOCK_OFD] = { &map->ofds->lock, sizeof(*map->ofds),
				   map->counts[SPW_POOL_OFDS] },
	};
	uint64_t first = (uint64_t)((const char *)place[class].first -
				    map->base);

	if (at < first || (at - first) % place[class].stride ||
	    (at - first) / place[class].stride >= place[class].count)
		return NULL;
	return (struct spw_lock *)(map->base + at);
}

/* The lock of this class that the dead lane holds, or NULL. */
static struct spw_lock *
held_lock(struct spw_map *map, struct spw_lane *dead, uint32_t dead_no,
	  int class)
{
	struct spw_lock *lock = lock_at(map, class,
					atomic_load(&dead->held[class]));

	return lock && spw_lock_owner(lock) == dead_no + 1 ? lock : NULL;
}

bool
spw_lane_holds(struct spw_map *map, uint32_t lane_no)
{
	struct spw_lane *lane = &map->lanes[lane_no];

	if (atomic_load(&lane->state) != SPW_LANE_USED)
		return false;
	for (int i = 0; i < SPW_LOCK_CLASSES; i++)
		if (held_lock(map, lane, lane_no, i))
			return true;
	return atomic_load(&lane->inside);
}

static void
release_held(struct spw_me *me, struct spw_lane *dead, uint32_t dead_no,
	     enum spw_lock_class from, enum spw_lock_class to)
{
	for (enum spw_lock_class i = from; i <= to; i++) {
		struct spw_lock *lock = held_lock(me->map, dead, dead_no, i);

		if (lock)
			spw_unlock(lock);
	}
}

/* What it published is in the file now, whose size the redo record has seen
 * to: times and flags follow. */
static void
finish_write(struct spw_map *map, struct spw_lane *dead)
{
	uint32_t file = atomic_load(&dead->inside) - 1;
	struct spw_file *f = &map->files[file];

	if (file >= map->counts[SPW_POOL_FILES] || atomic_load(&f->bypass))
		return;
	spw_stamp_put(f, spw_stamp(map, f));
	spw_file_flag(f, SPW_FILE_UNSETTLED | SPW_FILE_DIRTIED |
		      SPW_FILE_TIMES);
}

int (*spw_lane_finish_cut)(struct spw_me *me, uint32_t file);

/*
 * The gate opens only when the truncation behind it is over: a write that
 * came in before would be cut off with the rest. That takes the drainer, and
 * the drainer only where it holds no locks (at_rest).
 */
static bool
open_gate(struct spw_me *me, struct spw_lane *dead, uint32_t dead_no,
	  bool at_rest)
{
	struct spw_lock *gate = held_lock(me->map, dead, dead_no,
					  SPW_LOCK_GATE);
	struct spw_file *f = (struct spw_file *)gate;
	uint32_t hold = dead_no + 1;

	if (!gate)
		return true;
	if (atomic_load(&f->cut)) {
		if (!at_rest || !spw_lane_finish_cut ||
		    spw_lane_finish_cut(me, (uint32_t)(f - me->map->files)) < 0)
			return false;
		atomic_store(&f->cut, 0);
	}
	SPW_FAILPOINT("adopt-cut");
	atomic_compare_exchange_strong(&f->hold, &hold, 0);
	spw_unlock(gate);
	return true;
}

/* The caller holds the beacon. Every step may be repeated by a successor.
 * False: the lane's gate has to wait for the drainer, or the drainer for
 * somebody who lives. */
static bool
settle_estate(struct spw_me *me, uint32_t dead_no, bool at_rest)
{
	struct spw_map *map = me->map;
	struct spw_lane *dead = &map->lanes[dead_no];

	/* Chains are whole at any time, and what follows walks them. */
	release_held(me, dead, dead_no, SPW_LOCK_BUCKET, SPW_LOCK_BUCKET);
	if (atomic_load(&dead->redo.block))
		spw_block_redo(me, dead);
	SPW_FAILPOINT("adopt-redone");
	mend_old_slot(me, &dead->redo.old_slot, dead_no);
	mend_old_slot(me, &dead->redo.old_mask, dead_no);
	if (!keep_linked(me, dead_no) ||
	    (atomic_load(&dead->removing) &&
	     !spw_block_finish_removal(me, dead, dead_no)))
		return false;
	finish_write(map, dead);
	release_held(me, dead, dead_no, SPW_LOCK_APPEND,
		     SPW_LOCK_CLASSES - 1);
	SPW_FAILPOINT("adopt-released");
	if (!open_gate(me, dead, dead_no, at_rest))
		return false;
	spw_pool_mend(me, dead, dead_no);
	fold_counters(map, dead);
	dead->nslots = dead->nblocks = 0;
	atomic_store(&dead->inside, 0);
	SPW_FAILPOINT("adopt-freed");
	atomic_store(&dead->state, SPW_LANE_FREE);
	atomic_fetch_add(&map->seg->sweep, 1);
	return true;
}

static bool
adopt(struct spw_me *me, uint32_t dead_no, bool at_rest)
{
	struct spw_estate estate = { dead_no, me->estates };
	bool adopted;

	me->estates = &estate;
	adopted = settle_estate(me, dead_no, at_rest);
	me->estates = estate.next;
	return adopted;
}

static bool
adopt_if_dead(struct spw_me *me, uint32_t lane_no, bool at_rest)
{
	struct spw_lane *lane;
	bool adopted = true;
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
		adopted = adopt(me, lane_no, at_rest);
	if (r == EOWNERDEAD)
		pthread_mutex_consistent(&lane->beacon);
	pthread_mutex_unlock(&lane->beacon);
	return adopted;
}

bool
spw_lane_adopt_if_dead(struct spw_me *me, uint32_t lane_no)
{
	return adopt_if_dead(me, lane_no, false);
}

uint32_t
spw_lane_adopt_all(struct spw_me *me)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < spw_lane_count(me->map); i++)
		n += adopt_if_dead(me, i, true);
	return n;
}

void
spw_lane_adopt_inside(struct spw_me *me)
{
	for (uint32_t i = 0; i < spw_lane_count(me->map); i++)
		if (atomic_load(&me->map->lanes[i].inside))
			(void)adopt_if_dead(me, i, true);
}

/* Nothing that is left over from a predecessor counts. */
static void
sit_down(struct spw_map *map, uint32_t no, uint32_t proc,
	 struct spw_me *ret_me)
{
	struct spw_lane *lane = &map->lanes[no];

	atomic_store(&lane->proc, proc);
	lane->nslots = lane->nblocks = 0;
	atomic_store(&lane->holds, 0);
	lane->redo.old_slot = lane->redo.old_mask = SPW_NONE;
	atomic_store(&lane->want.done, atomic_load(&lane->want.asked));
	*ret_me = (struct spw_me){ .map = map, .lane = lane, .lane_no = no };
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
 * this, serves whoever locks its beacon; it counts as used meanwhile, so that
 * it is adopted in its turn. Nobody waits for it: who has it may be stopped. */
static uint32_t
adopt_through_lane_0(struct spw_map *map)
{
	struct spw_lane *lane = &map->lanes[0];
	struct spw_me me;
	uint32_t n;
	int r = pthread_mutex_trylock(&lane->beacon);

	if (r != 0 && r != EOWNERDEAD)
		return 0;
	sit_down(map, 0, SPW_NONE, &me);
	if (atomic_load(&lane->state) == SPW_LANE_USED)
		(void)adopt(&me, 0, false);	/* it has no gate */
	if (r == EOWNERDEAD)
		pthread_mutex_consistent(&lane->beacon);
	atomic_store(&lane->state, SPW_LANE_USED);
	n = spw_lane_adopt_all(&me);
	atomic_store(&lane->state, SPW_LANE_FREE);
	pthread_mutex_unlock(&lane->beacon);
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
	fold_counters(me->map, lane);
	atomic_store(&lane->state, SPW_LANE_FREE);
	pthread_mutex_unlock(&lane->beacon);
	me->lane = NULL;
}

void
spw_lane_counters(struct spw_map *map, struct spw_counters *ret_sum)
{
	uint64_t *sum = (uint64_t *)ret_sum;

	spw_glance_copy(ret_sum, &map->seg->gone, sizeof(*ret_sum));
	for (uint32_t i = 0; i < spw_lane_count(map); i++) {
		const uint64_t *add = (uint64_t *)&map->lanes[i].count;

		for (size_t k = 0; k < sizeof(*ret_sum) / sizeof(*sum); k++)
			sum[k] += spw_glance64(&add[k]);
	}
}

/* Idle threads keep their spares and nobody can take them away, so what a
 * thread takes beyond its need gets less with every one of them. */
static uint32_t
fair_share(const struct spw_map *map, enum spw_pool_id pool)
{
	return SPW_MIN(map->counts[pool] / (8 * (spw_lane_count(map) + 1)),
		       (uint32_t)SPW_SPARES);
}

/* Spares go from the end of their list. What is written in a row shall lie in
 * ascending order: the processor sees that coming when it is read, and not the
 * other way round. */
static void
turn_round(uint32_t *items, uint32_t n)
{
	for (uint32_t i = 0; i < n / 2; i++) {
		uint32_t item = items[i];

		items[i] = items[n - 1 - i];
		items[n - 1 - i] = item;
	}
}

static uint32_t
stock(struct spw_me *me, enum spw_pool_id pool, uint32_t want, uint32_t *list,
      uint32_t *n)
{
	uint32_t up_to = SPW_MAX(want, fair_share(me->map, pool));

	while (*n < want) {
		uint32_t got = spw_pool_take(me, pool, up_to - *n, list + *n);

		if (!got)
			break;
		/* One by one takes less than all 64 where few are ours. */
		if (pool == SPW_POOL_SLOTS && got >= 32)
			spw_seg_meet_slots(me->map, list[*n]);
		turn_round(list + *n, got);
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
