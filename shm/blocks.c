/* SPDX-License-Identifier: BSD-3-Clause */
/* blocks.c -- the index of blocks and the one way to change a block */

/*
 * A hash over number / 16 picks a group of neighbouring buckets, so that
 * sixteen blocks in a row share a cache line of heads. The place of the file's
 * record moves it on: the first blocks of files that were opened in turn lie in
 * a row as well, and who writes many small ones does not wait for lines from
 * all over the table. Cost does not depend on the size of the file nor on how
 * sparse it is; an array per file would need a second scheme for sparse ones.
 * Chains change under the bucket's lock by one store; walkers compare the
 * lock's version.
 */
#include "shm/blocks.h"

#include "shm/failpoint.h"
#include "shm/files.h"
#include "shm/lane.h"
#include "shm/used.h"

enum { TRIES = 8 };

static uint32_t
bucket_of(const struct spw_map *map, const struct spw_key *key)
{
	uint64_t h = (key->number >> 4) * 0x9e3779b97f4a7c15ull;

	h ^= h >> 29;
	h *= 0xbf58476d1ce4e5b9ull;
	/* 17, prime to the size of the table: the sixteen of one file and
	 * room, and those of so many files that they go round meet others. */
	return ((uint32_t)(h >> 32) + 17 * key->file +
		(uint32_t)(key->number & 15)) & map->bucket_mask;
}

static uint32_t
walk(const struct spw_map *map, uint32_t bucket, const struct spw_key *key)
{
	uint32_t link = atomic_load_explicit(&map->buckets[bucket],
					     memory_order_acquire);

	/* Bounded: a damaged chain may be a ring. */
	for (uint32_t n = map->counts[SPW_POOL_BLOCKS];
	     n && link - 1 < map->counts[SPW_POOL_BLOCKS]; n--) {
		const struct spw_block *b = &map->blocks[link - 1];

		if (spw_block_is(b, key))
			return link - 1;
		link = atomic_load_explicit(&b->next, memory_order_acquire);
	}
	return SPW_NONE;
}

static struct spw_lock *
lock_of(const struct spw_map *map, uint32_t bucket)
{
	return &map->bucket_locks[bucket / 16];
}

void
spw_block_call_up(const struct spw_map *map, const struct spw_key *key)
{
	uint32_t bucket = bucket_of(map, key);

	spw_call_up(&map->buckets[bucket]);
	spw_call_up(lock_of(map, bucket));
}

uint32_t
spw_block_glance(const struct spw_map *map, const struct spw_key *key)
{
	uint32_t bucket = bucket_of(map, key);

	return spw_seg_has_bucket(map, bucket) ? walk(map, bucket, key)
					       : SPW_NONE;
}

uint32_t
spw_block_find(struct spw_me *me, const struct spw_key *key)
{
	uint32_t bucket = bucket_of(me->map, key);
	struct spw_lock *lock = lock_of(me->map, bucket);
	uint32_t idx;

	if (SPW_UNLIKELY(!spw_seg_has_bucket(me->map, bucket)))
		return SPW_NONE;
	for (int i = 0; i < TRIES; i++) {
		uint64_t before = spw_lock_word(lock);

		idx = walk(me->map, bucket, key);
		if (idx != SPW_NONE)
			return idx;
		atomic_thread_fence(memory_order_acquire);
		if (!(uint32_t)before && spw_lock_word(lock) == before)
			return SPW_NONE;
	}
	spw_guard_enter();
	idx = SPW_HELD;
	if (spw_lock_soon(me, SPW_LOCK_BUCKET, lock)) {
		idx = walk(me->map, bucket, key);
		spw_unlock(lock);
	}
	spw_guard_leave();
	return idx;
}

uint32_t
spw_block_lock_soon(struct spw_me *me, uint32_t idx,
		    const struct spw_key *key)
{
	struct spw_block *b = &me->map->blocks[idx];

	if (!spw_lock_soon(me, SPW_LOCK_BLOCK, &b->lock))
		return SPW_HELD;
	if (spw_block_is(b, key))
		return idx;
	spw_unlock(&b->lock);
	return SPW_NONE;
}

bool
spw_block_lock_index(struct spw_me *me, uint32_t idx,
		     const struct spw_key *key)
{
	return spw_block_lock_soon(me, idx, key) == idx;
}

uint32_t
spw_block_lock_found(struct spw_me *me, const struct spw_key *key)
{
	for (;;) {
		uint32_t idx = spw_block_find(me, key);

		if (idx < SPW_HELD)
			idx = spw_block_lock_soon(me, idx, key);
		else
			return idx;
		if (idx != SPW_NONE)
			return idx;
	}
}

/* Links a fresh block, which is locked by us: its index. SPW_NONE when somebody
 * was faster; or SPW_HELD. */
static uint32_t
link_block(struct spw_me *me, uint32_t idx, const struct spw_key *key)
{
	struct spw_map *map = me->map;
	uint32_t bucket = bucket_of(map, key);
	struct spw_lock *lock = lock_of(map, bucket);
	struct spw_block *b = &map->blocks[idx];
	bool fresh;

	if (!spw_lock_soon(me, SPW_LOCK_BUCKET, lock))
		return SPW_HELD;
	fresh = walk(map, bucket, key) == SPW_NONE;
	if (fresh) {
		b->file = key->file;
		b->file_gen = key->file_gen;
		b->number = key->number;
		atomic_store_explicit(&b->next,
				      atomic_load(&map->buckets[bucket]),
				      memory_order_relaxed);
		atomic_fetch_add(&map->files[key->file].nblocks, 1);
		SPW_FAILPOINT("block-link");
		atomic_store_explicit(&map->buckets[bucket], idx + 1,
				      memory_order_release);
		SPW_FAILPOINT("block-linked");
		spw_pool_use(map, SPW_POOL_BLOCKS, idx, 0);
	}
	spw_unlock(lock);
	return fresh ? idx : SPW_NONE;
}

/* Small pieces follow one another into a block: most are for the one before.
 * Its owner word says whether the index leads there; the key may be left over
 * from one who died before he linked it. */
static bool
lock_last(struct spw_me *me, const struct spw_key *key)
{
	struct spw_map *map = me->map;
	struct spw_block *b = &map->blocks[me->last];

	if (!spw_block_is(b, key) || !spw_block_lock_index(me, me->last, key))
		return false;
	if (atomic_load_explicit(&map->owners[SPW_POOL_BLOCKS][me->last],
				 memory_order_relaxed) == SPW_IN_USE)
		return true;
	spw_unlock(&b->lock);
	return false;
}

static bool
has_bucket(struct spw_map *map, const struct spw_key *key)
{
	uint32_t bucket = bucket_of(map, key);

	return SPW_LIKELY(spw_seg_has_bucket(map, bucket)) ||
	       spw_seg_index(map, bucket) == 0;
}

/* Has the kernel map it now. */
static void
touch(const volatile void *p)
{
	(void)spw_glance8((const uint8_t *)(uintptr_t)p);
}

void
spw_block_make_ready(struct spw_map *map, const struct spw_key *key,
		     uint32_t spare)
{
	uint32_t bucket = bucket_of(map, key);

	if (!has_bucket(map, key))
		return;			/* who adds it will be told */
	touch(&map->buckets[bucket]);
	touch(lock_of(map, bucket));
	touch(&map->blocks[spare]);
}

uint32_t
spw_block_lock(struct spw_me *me, const struct spw_key *key)
{
	struct spw_lane *lane = me->lane;

	if (lock_last(me, key))
		return me->last;
	for (;;) {
		uint32_t idx = spw_block_lock_found(me, key), linked;
		struct spw_block *b;

		if (idx == SPW_HELD)
			return idx;
		if (idx != SPW_NONE) {
			me->last = idx;
			return idx;
		}
		if (!lane->nblocks || !has_bucket(me->map, key))
			return SPW_NONE;
		idx = lane->blocks[lane->nblocks - 1];
		b = &me->map->blocks[idx];
		spw_lock(me, SPW_LOCK_BLOCK, &b->lock);
		b->state = (struct spw_block_state){
			.slot = SPW_NONE, .moving_slot = SPW_NONE,
			.mask = SPW_NONE,
		};
		atomic_store_explicit(&b->used, SPW_USED_NOT,
				      memory_order_relaxed);
		linked = link_block(me, idx, key);
		if (linked == idx) {
			lane->nblocks--;
			me->last = idx;
			return idx;
		}
		spw_unlock(&b->lock);
		if (linked == SPW_HELD)
			return linked;
	}
}

static void
use_slot(struct spw_map *map, uint32_t slot, uint32_t idx)
{
	if (slot < map->counts[SPW_POOL_SLOTS])
		spw_pool_use(map, SPW_POOL_SLOTS, slot, idx);
}

static void
apply(struct spw_me *me, struct spw_redo *redo)
{
	uint32_t idx = atomic_load(&redo->block) - 1;
	struct spw_block *b = &me->map->blocks[idx];

	if (redo->scratch != SPW_NONE)
		memcpy(spw_slot(me->map, redo->after.slot) + redo->from,
		       spw_slot(me->map, redo->scratch) + redo->from,
		       redo->to - redo->from);
	SPW_FAILPOINT("block-copied");
	b->state = redo->after;
	SPW_FAILPOINT("block-applied");
	use_slot(me->map, redo->after.slot, idx);
	use_slot(me->map, redo->after.mask, idx);
	if (redo->end && b->file < me->map->counts[SPW_POOL_FILES])
		spw_file_grow(&me->map->files[b->file], redo->end);
}

/* A change lets go of one slot at most, beside the mask: a writer's of the slot
 * it replaces, the drainer's of the one it has written. */
static uint32_t
slot_let_go(const struct spw_block_state *was,
	    const struct spw_block_state *is)
{
	if (was->slot != is->slot && was->slot != is->moving_slot)
		return was->slot;
	if (was->moving_slot != is->slot &&
	    was->moving_slot != is->moving_slot)
		return was->moving_slot;
	return SPW_NONE;
}

static void
spare_slot(struct spw_me *me, uint32_t slot)
{
	if (slot < me->map->counts[SPW_POOL_SLOTS])
		spw_lane_spare_slot(me, slot);
}

void
spw_block_commit(struct spw_me *me, uint32_t idx,
		 const struct spw_change *change)
{
	struct spw_block *b = &me->map->blocks[idx];
	struct spw_redo *redo = &me->lane->redo;
	uint32_t old = slot_let_go(&b->state, &change->after);
	uint32_t old_mask = b->state.mask == change->after.mask ? SPW_NONE
			    : b->state.mask;

	redo->after = change->after;
	redo->old_slot = old;
	redo->old_mask = old_mask;
	redo->scratch = change->scratch;
	redo->from = change->from;
	redo->to = change->to;
	redo->end = change->end;
	if (change->after.ndirty)
		spw_block_mark(me->map, idx);
	SPW_FAILPOINT("block-redo");
	atomic_store_explicit(&redo->block, idx + 1, memory_order_release);
	SPW_FAILPOINT("block-published");
	apply(me, redo);
	atomic_store_explicit(&redo->block, 0, memory_order_release);
	spare_slot(me, old);
	spare_slot(me, old_mask);
	SPW_FAILPOINT("block-spared");
}

static bool
are_ranges_sound(const struct spw_ranges *set, uint8_t n)
{
	uint32_t at = 0;

	if (n > SPW_RANGES)
		return false;
	for (uint8_t i = 0; i < n; i++) {
		if (set->r[i].from < at || set->r[i].from >= set->r[i].to ||
		    set->r[i].to > SPW_BLOCK_SIZE)
			return false;
		at = set->r[i].to;
	}
	return true;
}

bool
spw_block_is_sound(const struct spw_map *map, const struct spw_block_state *s)
{
	uint32_t nslots = map->counts[SPW_POOL_SLOTS];

	return (s->slot < nslots ||
		(s->slot == SPW_NONE && !s->ndirty && !s->npresent)) &&
	       (s->moving_slot < nslots ||
		(s->moving_slot == SPW_NONE && !s->nmoving)) &&
	       (s->mask < nslots || s->mask == SPW_NONE) &&
	       are_ranges_sound(&s->dirty, s->ndirty) &&
	       are_ranges_sound(&s->present, s->npresent) &&
	       are_ranges_sound(&s->moving, s->nmoving);
}

/* The record comes from a process that died, perhaps of its own mistakes. */
static bool
is_sound(const struct spw_map *map, const struct spw_redo *redo)
{
	uint32_t nslots = map->counts[SPW_POOL_SLOTS];

	return atomic_load(&redo->block) - 1 < map->counts[SPW_POOL_BLOCKS] &&
	       spw_block_is_sound(map, &redo->after) &&
	       (redo->scratch == SPW_NONE ||
		(redo->scratch < nslots && redo->after.slot < nslots &&
		 redo->from <= redo->to && redo->to <= SPW_BLOCK_SIZE));
}

void
spw_block_redo(struct spw_me *me, struct spw_lane *dead)
{
	if (is_sound(me->map, &dead->redo)) {
		apply(me, &dead->redo);
		spw_block_mark(me->map, atomic_load(&dead->redo.block) - 1);
	}
	atomic_store_explicit(&dead->redo.block, 0, memory_order_release);
}

static bool
unlink_block(struct spw_me *me, uint32_t idx)
{
	struct spw_map *map = me->map;
	struct spw_block *b = &map->blocks[idx];
	struct spw_key key = { b->file, b->file_gen, b->number };
	uint32_t bucket = bucket_of(map, &key);
	struct spw_lock *lock = lock_of(map, bucket);
	_Atomic uint32_t *at = &map->buckets[bucket];
	uint32_t n = map->counts[SPW_POOL_BLOCKS];

	if (!spw_lock_soon(me, SPW_LOCK_BUCKET, lock))
		return false;
	for (; n && atomic_load(at) - 1 < map->counts[SPW_POOL_BLOCKS]; n--) {
		if (atomic_load(at) == idx + 1) {
			atomic_store_explicit(at, atomic_load(&b->next),
					      memory_order_release);
			SPW_FAILPOINT("block-unchained");
			if (b->file < map->counts[SPW_POOL_FILES])
				atomic_fetch_sub(&map->files[b->file].nblocks,
						 1);
			break;
		}
		at = &map->blocks[atomic_load(at) - 1].next;
	}
	spw_unlock(lock);
	return true;
}

static void
give_slot(struct spw_me *me, uint32_t idx, uint32_t slot)
{
	struct spw_map *map = me->map;

	if (slot < map->counts[SPW_POOL_SLOTS] &&
	    atomic_load(&map->owners[SPW_POOL_SLOTS][slot]) ==
	    (SPW_IN_USE | idx))
		spw_pool_give(me, SPW_POOL_SLOTS, slot);
}

/* Everything but the lock and the pool; can be repeated. What a dead drainer
 * was writing goes as well. False: not now, nothing was done. */
static bool
take_out(struct spw_me *me, uint32_t idx)
{
	struct spw_block *b = &me->map->blocks[idx];

	if (b->file != SPW_NONE && !unlink_block(me, idx))
		return false;
	SPW_FAILPOINT("block-unlinked");
	b->file = SPW_NONE;
	b->state.ndirty = b->state.npresent = b->state.nmoving = 0;
	give_slot(me, idx, b->state.slot);
	give_slot(me, idx, b->state.moving_slot);
	give_slot(me, idx, b->state.mask);
	b->state.slot = b->state.moving_slot = b->state.mask = SPW_NONE;
	return true;
}

bool
spw_block_remove(struct spw_me *me, uint32_t idx)
{
	struct spw_lane *lane = me->lane;

	atomic_store_explicit(&lane->removing, idx + 1, memory_order_release);
	SPW_FAILPOINT("block-removing");
	if (!take_out(me, idx)) {
		atomic_store(&lane->removing, 0);
		return false;
	}
	SPW_FAILPOINT("block-removed");
	/* Given back before it is opened: while it is locked by us, whoever
	 * finishes this for us knows that nobody has it in use again. */
	spw_pool_give(me, SPW_POOL_BLOCKS, idx);
	SPW_FAILPOINT("block-given");
	spw_unlock(&me->map->blocks[idx].lock);
	atomic_store_explicit(&lane->removing, 0, memory_order_release);
	return true;
}

bool
spw_block_finish_removal(struct spw_me *me, struct spw_lane *dead,
			 uint32_t dead_no)
{
	uint32_t idx = atomic_load(&dead->removing) - 1;
	struct spw_block *b = &me->map->blocks[idx];

	if (idx >= me->map->counts[SPW_POOL_BLOCKS])
		return true;
	/* Else it was given back already, and may serve somebody by now. */
	if (spw_lock_owner(&b->lock) == dead_no + 1) {
		if (!take_out(me, idx))
			return false;
		if (atomic_load(&me->map->owners[SPW_POOL_BLOCKS][idx]) ==
		    SPW_IN_USE)
			spw_pool_give(me, SPW_POOL_BLOCKS, idx);
		spw_unlock(&b->lock);
	}
	atomic_store(&dead->removing, 0);
	return true;
}

uint32_t
spw_block_linked(struct spw_me *me, uint32_t idx)
{
	const struct spw_block *b = &me->map->blocks[idx];
	struct spw_key key = { b->file, b->file_gen, b->number };
	uint32_t found = b->file == SPW_NONE ? SPW_NONE
			 : spw_block_find(me, &key);

	return found == idx || found == SPW_HELD ? found : SPW_NONE;
}
