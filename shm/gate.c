/* SPDX-License-Identifier: BSD-3-Clause */
/* gate.c -- what is done to a file behind its closed gate */
#include "shm/gate.h"

#include <errno.h>

#include "shm/below.h"
#include "shm/blocks.h"
#include "shm/failpoint.h"
#include "shm/glance.h"
#include "shm/mask.h"
#include "shm/ranges.h"

enum { POLL_US = 50, LOOK_MS = 100 };

int (*spw_gate_need_drainer)(struct spw_map *map);
int (*spw_gate_drain_here)(struct spw_map *map);

/* For those who wait for the drainer, and so hold nothing that it needs. */
static int
see_to_it(struct spw_map *map)
{
	int r = spw_gate_need_drainer ? spw_gate_need_drainer(map) : 0;

	return r < 0 && spw_gate_drain_here ? spw_gate_drain_here(map) : r;
}

/* False: there is one who lives, and we have no time to wait for him. */
static bool
wait_for_insiders(struct spw_me *me, uint32_t file)
{
	struct spw_map *map = me->map;

	atomic_thread_fence(memory_order_seq_cst);
	for (uint32_t i = 0; i < spw_lane_count(map); i++) {
		struct spw_lane *lane = &map->lanes[i];
		int spins = 0;

		while (atomic_load(&lane->inside) == file + 1 &&
		       atomic_load(&lane->state) == SPW_LANE_USED) {
			if (++spins < 100) {
				spw_pause();
			} else if (!spw_lane_adopt_if_dead(me, i)) {
				if (me->patience)
					return false;
				spw_sys_sleep_us(POLL_US);
			}
		}
	}
	return true;
}

void
spw_gate_close(struct spw_me *me, uint32_t file)
{
	spw_guard_enter();
	spw_lock(me, SPW_LOCK_GATE, &me->map->files[file].gate);
	(void)wait_for_insiders(me, file);
}

bool
spw_gate_try_close(struct spw_me *me, uint32_t file)
{
	spw_guard_enter();
	if (!spw_lock_try(me, SPW_LOCK_GATE, &me->map->files[file].gate)) {
		spw_guard_leave();
		return false;
	}
	if (wait_for_insiders(me, file))
		return true;
	spw_gate_open(me, file);
	return false;
}

void
spw_gate_open(struct spw_me *me, uint32_t file)
{
	spw_unlock(&me->map->files[file].gate);
	spw_guard_leave();
}

void
spw_gate_hold(struct spw_me *me, uint32_t file)
{
	struct spw_file *f = &me->map->files[file];

	atomic_store(&f->hold, me->lane_no + 1);
	while (atomic_load(&f->inflight)) {
		(void)see_to_it(me->map);
		spw_sys_sleep_us(POLL_US);
	}
}

void
spw_gate_unhold(struct spw_me *me, uint32_t file)
{
	atomic_store(&me->map->files[file].hold, 0);
}

void
spw_gate_wake_slow(struct spw_map *map)
{
	uint32_t asleep = SPW_DRAINER_ASLEEP;
	struct spw_seg *seg = map->seg;

	if (atomic_compare_exchange_strong(&seg->wake, &asleep,
					   SPW_DRAINER_DELAYED))
		spw_sys_futex_wake(&seg->wake, 1);
	else if (asleep == SPW_DRAINER_NONE && spw_gate_need_drainer)
		(void)spw_gate_need_drainer(map);
}

void
spw_gate_hurry(struct spw_map *map)
{
	if (atomic_load(&map->seg->wake) != SPW_DRAINER_NONE)
		spw_gate_rouse(map);
	else if (spw_gate_need_drainer)
		(void)spw_gate_need_drainer(map);
}

void
spw_gate_rouse(void *arg)
{
	struct spw_map *map = arg;
	struct spw_seg *seg = map->seg;
	uint32_t state = atomic_load(&seg->wake);

	while (state != SPW_DRAINER_AWAKE && state != SPW_DRAINER_NONE)
		if (atomic_compare_exchange_weak(&seg->wake, &state,
						 SPW_DRAINER_AWAKE)) {
			spw_sys_futex_wake(&seg->wake, 1);
			break;
		}
}

int
spw_gate_settle(struct spw_me *me, uint32_t file)
{
	return spw_file_is_unsettled(&me->map->files[file])
	       ? spw_gate_ask(me, file) : 0;
}

int
spw_gate_hand_over(struct spw_me *me, uint32_t file)
{
	struct spw_file *f = &me->map->files[file];
	int r = spw_gate_settle(me, file);

	/* A sync that was served meanwhile has made copies of what was on its
	 * way: they go as well. */
	for (int i = 0; r == 0 && i < 2 &&
	     atomic_load(&f->flags) & SPW_FILE_COPIED; i++)
		r = spw_gate_ask(me, file);
	return r;
}

/* A question to the drainer about a file: a bit says which, tickets count who
 * waits. */
struct question {
	_Atomic uint64_t *bits;
	_Atomic uint32_t *asked, *done;
	_Atomic uint32_t *answers;	/* futex: changes after done */
	uint32_t wake_bits;		/* to be woken for */
	struct spw_spin *spin;		/* NULL: the answer takes long */
};

static void
put_question(struct spw_map *map, uint32_t file, const struct question *q)
{
	atomic_fetch_or(&q->bits[file / 64], 1ull << file % 64);
	atomic_fetch_add(&map->seg->asks, 1);
	spw_gate_hurry(map);
}

/* Who does not have the file open may find its record given to another: then it
 * was answered, for the record went when all was home. */
static int
ask(struct spw_map *map, uint32_t file, const struct question *q)
{
	const struct spw_file *f = &map->files[file];
	uint32_t gen = spw_glance32(&f->gen);
	uint32_t ticket = atomic_fetch_add(q->asked, 1) + 1;
	int64_t looked = spw_now_ms();

	put_question(map, file, q);
	if (atomic_load(&map->seg->wake) == SPW_DRAINER_NONE)
		(void)see_to_it(map);
	if (q->spin)
		(void)spw_spin(q->spin, q->done, ticket);
	for (;;) {
		uint32_t answers = atomic_load(q->answers);
		int r;

		if ((int32_t)(atomic_load(q->done) - ticket) >= 0 ||
		    spw_glance32(&f->gen) != gen)
			return 0;
		spw_sys_futex_wait_for(q->answers, answers, q->wake_bits,
				       spw_now_ms() + LOOK_MS);
		if (spw_now_ms() - looked < LOOK_MS)
			continue;
		looked = spw_now_ms();
		r = see_to_it(map);
		if (r < 0)
			return r;
		/* A drainer that died may have taken the bit along. */
		put_question(map, file, q);
	}
}

int
spw_gate_ask(struct spw_me *me, uint32_t file)
{
	struct spw_map *map = me->map;
	struct spw_file *f = &map->files[file];
	const struct question q = { map->asks, &f->asked, &f->done, &f->done,
				    UINT32_MAX, NULL };
	uint32_t fails = atomic_load(&f->fails);
	int r = ask(map, file, &q);

	if (r < 0)
		return r;
	return atomic_load(&f->fails) == fails ? 0 : -atomic_load(&f->err);
}

static uint32_t
sync_bit(uint32_t file)
{
	return 1u << file % 32;
}

int
spw_gate_sync(struct spw_me *me, uint32_t file)
{
	struct spw_map *map = me->map;
	struct spw_file *f = &map->files[file];
	const struct question q = { map->syncs, &f->sync_asked,
				    &f->sync_done, &map->seg->synced,
				    sync_bit(file), &me->spin };
	int r;

	if (!atomic_load(&map->seg->durable) || atomic_load(&f->bypass))
		return -ENOTSUP;
	r = ask(map, file, &q);
	return r < 0 ? r : atomic_load(&f->sync_err);
}

uint32_t
spw_gate_synced(struct spw_map *map, uint32_t file, uint32_t ticket, int err)
{
	struct spw_file *f = &map->files[file];

	atomic_store(&f->sync_err, err);
	atomic_store(&f->sync_done, ticket);
	return sync_bit(file);
}

void
spw_gate_tell_synced(struct spw_map *map, uint32_t bits)
{
	if (!bits)
		return;
	atomic_fetch_add(&map->seg->synced, 1);
	spw_sys_futex_wake_for(&map->seg->synced, bits);
}

static bool
drop_one(struct spw_me *me, const struct spw_key *key)
{
	uint32_t idx = spw_block_lock_found(me, key);

	if (idx >= SPW_HELD)
		return idx == SPW_NONE;
	if (spw_block_remove(me, idx))
		return true;
	spw_unlock(&me->map->blocks[idx].lock);
	return false;
}

bool
spw_gate_drop(struct spw_me *me, uint32_t file, uint64_t first)
{
	struct spw_map *map = me->map;
	struct spw_file *f = &map->files[file];
	uint64_t end = (atomic_load(&f->size) + SPW_BLOCK_SIZE - 1) >>
		       SPW_BLOCK_SHIFT;
	uint32_t ready = spw_seg_ready(map, SPW_POOL_BLOCKS);
	struct spw_key key = { file, f->gen, 0 };

	spw_below_cut(map, file, first);
	/* A short tail is looked up number by number. Blocks past the end,
	 * left by a writer that died before it set the size, need the scan. */
	for (key.number = first; end > first && end - first < 256 &&
	     key.number < end && atomic_load(&f->nblocks); key.number++)
		if (!drop_one(me, &key))
			return false;
	for (uint32_t i = 0; i < ready && atomic_load(&f->nblocks); i++) {
		struct spw_key seen = spw_block_key(&map->blocks[i]);

		if (seen.file == file && seen.file_gen == key.file_gen &&
		    seen.number >= first &&
		    atomic_load(&map->owners[SPW_POOL_BLOCKS][i]) &
		    SPW_IN_USE && !drop_one(me, &seen))
			return false;
	}
	return true;
}

/* A block that is below and will be cut in two comes up, and counts from then
 * on. The drainer serves this also while it is held. */
static int
raise_block(struct spw_me *me, const struct spw_key *key, uint32_t at)
{
	struct spw_block *b;
	int r = 0;

	while (r == 0 && spw_below_has(me->map, key)) {
		uint32_t idx = spw_block_lock_found(me, key);
		struct spw_change change = { .scratch = SPW_NONE };

		if (idx == SPW_HELD)
			return -EAGAIN;
		if (idx == SPW_NONE) {
			r = spw_below_fetch(me, key, 1);
			continue;
		}
		b = &me->map->blocks[idx];
		change.after = b->state;
		if (b->state.npresent) {
			change.after.safe = SPW_UNSAFE;
			change.after.ndirty = 1;
			change.after.dirty.r[0] =
				(struct spw_range){ 0, (uint16_t)at };
			spw_block_commit(me, idx, &change);
			SPW_FAILPOINT("cut-raised");
			spw_file_flag(&me->map->files[key->file],
				      SPW_FILE_UNSETTLED);
			spw_below_clear(me->map, key);
		}
		spw_unlock(&b->lock);
		if (!change.after.npresent)
			r = spw_below_fetch(me, key, 1);
	}
	return r;
}

static bool
cut_block(struct spw_me *me, const struct spw_key *key, uint32_t at)
{
	uint32_t idx = spw_block_lock_found(me, key);
	struct spw_change change = { .scratch = SPW_NONE };
	struct spw_mask *mask;
	struct spw_block *b;

	if (idx >= SPW_HELD)
		return idx == SPW_NONE;
	b = &me->map->blocks[idx];
	change.after = b->state;
	spw_ranges_cut(&change.after.dirty, &change.after.ndirty, at);
	spw_ranges_cut(&change.after.present, &change.after.npresent, at);
	spw_ranges_cut(&change.after.moving, &change.after.nmoving, at);
	mask = spw_mask_at(me->map, b->state.mask);
	if (mask)
		spw_mask_cut(mask, at);
	if (!change.after.ndirty && !change.after.nmoving)
		change.after.mask = SPW_NONE;
	spw_block_commit(me, idx, &change);
	spw_unlock(&b->lock);
	return true;
}

bool
spw_gate_cut(struct spw_me *me, uint32_t file, uint64_t size)
{
	struct spw_file *f = &me->map->files[file];
	uint32_t rest = size & (SPW_BLOCK_SIZE - 1);
	struct spw_key key = { file, f->gen, size >> SPW_BLOCK_SHIFT };

	int r = rest && spw_below_any(f) ? raise_block(me, &key, rest) : 0;

	if (me->patience && (r == -EAGAIN || r == -EINPROGRESS))
		return false;		/* other errors: it is lost */
	if (rest && !cut_block(me, &key, rest))
		return false;
	SPW_FAILPOINT("cut-block");
	if (!spw_gate_drop(me, file, key.number + (rest != 0)))
		return false;
	SPW_FAILPOINT("cut-dropped");
	spw_file_note_low(f, size);
	atomic_store(&f->size, size);
	return true;
}

/* The block that the new end lies in, before anything is cut: if it is lost,
 * the file stays as long as it is. */
static int
raise_end(struct spw_me *me, uint32_t file, uint64_t size)
{
	const struct spw_file *f = &me->map->files[file];
	uint32_t rest = size & (SPW_BLOCK_SIZE - 1);
	uint64_t end = atomic_load(&f->size);
	struct spw_key key = { file, f->gen, size >> SPW_BLOCK_SHIFT };

	if (!rest || size >= end || !spw_below_any(f))
		return 0;
	end -= key.number << SPW_BLOCK_SHIFT;
	return raise_block(me, &key, (uint32_t)SPW_MIN(end, SPW_BLOCK_SIZE));
}

int
spw_gate_resize(struct spw_me *me, uint32_t file, uint64_t size,
		int (*truncate)(void *arg), void *arg)
{
	struct spw_file *f = &me->map->files[file];
	int r;

	spw_guard_enter();
	/* An append that has found the end writes there first: at the old end
	 * of a file that was cut it would leave a hole before it. */
	spw_lock(me, SPW_LOCK_APPEND, &f->append);
	spw_gate_close(me, file);
	spw_gate_hold(me, file);
	SPW_FAILPOINT("cut-held");
	r = raise_end(me, file, size);
	if (r == 0) {
		atomic_store(&f->cut, size + 1);
		SPW_FAILPOINT("cut-noted");
		r = truncate(arg);
		SPW_FAILPOINT("cut-home");
		if (r == 0)
			(void)spw_gate_cut(me, file, size);
		atomic_store(&f->cut, 0);
	}
	SPW_FAILPOINT("cut-done");
	spw_gate_unhold(me, file);
	spw_gate_open(me, file);
	spw_unlock(&f->append);
	spw_guard_leave();
	return r;
}

void
spw_gate_appends(struct spw_me *me, uint32_t file)
{
	struct spw_file *f = &me->map->files[file];

	if (atomic_load(&f->flags) & SPW_FILE_APPENDED)
		return;
	spw_file_flag(f, SPW_FILE_APPENDED);
	/* Those who are inside have looked at the flag before it was set. */
	spw_gate_close(me, file);
	spw_gate_open(me, file);
}

bool
spw_gate_wait_room(struct spw_me *me, int ms)
{
	struct spw_seg *seg = me->map->seg;
	uint32_t room = atomic_load(&seg->room);

	me->lane->count.waits++;
	atomic_store(&seg->want_room, 1);
	spw_gate_hurry(me->map);
	spw_sys_futex_wait(&seg->room, room, ms);
	return atomic_load(&seg->room) != room;
}
