/* SPDX-License-Identifier: BSD-3-Clause */
/* evict.c -- giving memory back: clean blocks that were used least, idle files */

/*
 * A hand goes round over all blocks. What is clean and was not used since it
 * came by last goes; so what was used once stays for a round.
 *
 * What was used again (shm/used.h) is protected: it stays, whatever passes
 * through memory beside it. That wears off a step at a time, for each time that
 * it was used again,
 *
 *	slowly	when several times the memory was evicted and it was not used
 *	sooner	when more than half of the memory is protected: what is used
 *		now, again and again, drives out what was used then
 *	at once	when there is no other way to get room
 *
 * Dirty blocks do not go: they have to be sent home or down first, and are
 * clean then. A writer waits for that before it gets what is protected.
 */
#include "planner/chunks.h"
#include "planner/notes.h"
#include "planner/store.h"
#include "shm/files.h"
#include "shm/gate.h"
#include "shm/used.h"
#include "shm/util.h"

enum {
	IDLE_MS = 2000,
	ROOM = 2,			/* slots a piece needs */
	TURNS = 4,			/* before it wears off by a step */
};

bool
spw_is_short_of_room(struct spw_drainer *d)
{
	const struct spw_map *map = d->map;

	if (atomic_load(&map->seg->want_room))
		return true;
	return spw_seg_ready(map, SPW_POOL_SLOTS) ==
	       map->counts[SPW_POOL_SLOTS] &&
	       spw_pool_free(map, SPW_POOL_SLOTS) <
	       map->counts[SPW_POOL_SLOTS] / 8;
}

/* Whether it goes now; if not, what the hand leaves behind. */
static bool
has_aged(struct spw_drainer *d, struct spw_block *b)
{
	uint8_t used = atomic_load(&b->used);
	bool again = spw_used_again(used);

	d->protected += again;
	if (used & SPW_USED_LATELY)
		used -= SPW_USED_LATELY;
	else if (!again)
		return true;
	else if (d->crowded || d->relentless ||
		 (uint8_t)(d->turn - b->turn) >= TURNS)
		used -= SPW_USED_AGAIN;
	else
		return false;
	b->turn = d->turn;
	atomic_store(&b->used, used);
	return false;
}

static void
count_evicted(struct spw_drainer *d)
{
	if (++d->evicted >= d->map->counts[SPW_POOL_SLOTS]) {
		d->evicted = 0;
		d->turn++;
	}
}

/* Removes the block if it is clean and its time has come. */
static bool
evict_one(struct spw_drainer *d, uint32_t idx,
	  bool (*may)(struct spw_drainer *d, struct spw_block *b))
{
	struct spw_block *b = &d->map->blocks[idx];
	struct spw_key key = spw_block_key(b);
	bool gone = false;

	if (key.file >= d->map->counts[SPW_POOL_FILES] ||
	    !(atomic_load(&d->map->owners[SPW_POOL_BLOCKS][idx]) &
	      SPW_IN_USE))
		return false;
	if (spw_block_is_dirty(b) || !may(d, b) ||
	    atomic_load(&d->map->files[key.file].flags) & SPW_FILE_PINNED)
		return false;
	spw_guard_enter();
	if (spw_block_lock_index(&d->me, idx, &key)) {
		gone = !spw_block_is_dirty(b) &&
		       spw_block_remove(&d->me, idx);
		if (gone)
			count_evicted(d);
		else
			spw_unlock(&b->lock);
	}
	spw_guard_leave();
	return gone;
}

static void
call_writers(struct spw_map *map)
{
	atomic_store(&map->seg->want_room, 0);
	atomic_fetch_add(&map->seg->room, 1);
	spw_sys_futex_wake(&map->seg->room, INT32_MAX);
}

static void
come_round(struct spw_drainer *d)
{
	d->clock_hand = 0;
	d->crowded = d->protected > d->map->counts[SPW_POOL_SLOTS] / 2;
	d->protected = 0;
}

static uint32_t
go_on(struct spw_drainer *d, uint32_t nblocks)
{
	if (++d->clock_hand >= nblocks)
		come_round(d);
	return evict_one(d, d->clock_hand, has_aged);
}

bool
spw_evict(struct spw_drainer *d, enum spw_evict what)
{
	/* How much is to be free in the end, as 1 / so many. */
	static const uint32_t shares[2 + SPW_USED_MOST] = { 4, 8, 64, 64, 64 };
	static const uint32_t rounds[] = {
		[SPW_EVICT_IDLE] = 1, [SPW_EVICT_USED] = 2,
		[SPW_EVICT_ALL] = 2 + SPW_USED_MOST,
	};
	struct spw_map *map = d->map;
	uint32_t ready = spw_seg_ready(map, SPW_POOL_SLOTS);
	uint32_t nblocks = spw_seg_ready(map, SPW_POOL_BLOCKS);
	uint32_t free_now = SPW_MIN(spw_pool_free(map, SPW_POOL_SLOTS),
				    spw_pool_free(map, SPW_POOL_BLOCKS));
	uint32_t freed = 0;

	for (uint32_t round = 0; round < rounds[what]; round++) {
		d->relentless = round > 1;
		for (uint32_t i = 0; i < nblocks && free_now + freed <
		     SPW_MAX(ready / shares[round], ROOM); i++)
			freed += go_on(d, nblocks);
	}
	d->relentless = false;
	/* Who waits is not called for what he cannot use. */
	if (free_now + freed < ROOM)
		return false;
	call_writers(map);
	return true;
}

static bool
is_cold(struct spw_drainer *d, struct spw_block *b)
{
	(void)d;
	return !spw_used_again(atomic_load(&b->used));
}

void
spw_evict_spilled(struct spw_drainer *d, const uint32_t *block, uint32_t n)
{
	uint32_t freed = 0;

	if (!spw_is_short_of_room(d))
		return;
	for (uint32_t i = 0; i < n; i++)
		freed += evict_one(d, block[i], is_cold);
	if (freed >= ROOM)
		call_writers(d->map);
}

/* Its last name is gone, but may be back after a loss of power, and then what
 * fsync promised has to be there. Not so once the directory was synced. */
static bool
is_unlinked_loosely(struct spw_drainer *d, uint32_t file)
{
	return atomic_load(&d->map->files[file].flags) & SPW_FILE_UNLINKED &&
	       spw_store_has_promised(d, file, UINT64_MAX) &&
	       spw_home_sync_names(d, file) < 0;
}

/* Behind the gate, so that no writer of a late opener is in there. */
static void
drop_blocks(struct spw_drainer *d, uint32_t file)
{
	struct spw_file *f = &d->map->files[file];

	if (is_unlinked_loosely(d, file) || !spw_gate_try_close(&d->me, file))
		return;
	if (!atomic_load(&f->opens) &&
	    (!spw_file_is_unsettled(f) ||
	     atomic_load(&f->flags) & SPW_FILE_UNLINKED) &&
	    spw_gate_drop(&d->me, file, 0)) {
		if (!(atomic_load(&f->flags) & SPW_FILE_UNLINKED))
			(void)spw_sync_release(d, file, UINT64_MAX);
		else if (d->store)
			spw_notes_tend(d, file, UINT64_MAX);
		spw_store_release(d, file, UINT64_MAX);
		spw_chunks_drop(d, file);
		atomic_fetch_and(&f->flags, ~(uint32_t)SPW_FILE_UNSETTLED);
		/* Nothing is left to count; a killed remover may have left
		 * the count too high. */
		atomic_store(&f->nblocks, 0);
	}
	spw_gate_open(&d->me, file);
}

static void
forget(struct spw_drainer *d, uint32_t file)
{
	struct spw_file *f = &d->map->files[file];

	drop_blocks(d, file);
	if (!atomic_load(&f->opens) && spw_file_reap(&d->me, file))
		spw_home_close(d, file);
}

/* Its ctime at home is that of its coming there, and who has seen another is
 * not to see that: without its record nobody could tell. */
static bool
is_remembered(const struct spw_file *f)
{
	uint32_t told = SPW_FILE_TIMES | SPW_FILE_SEEN;

	return (atomic_load(&f->flags) & (told | SPW_FILE_UNLINKED)) == told &&
	       !atomic_load(&f->bypass);
}

/* All but that. */
static void
let_go(struct spw_drainer *d, uint32_t file)
{
	struct spw_file *f = &d->map->files[file];

	drop_blocks(d, file);
	if (!atomic_load(&f->opens) && !spw_file_is_unsettled(f))
		spw_home_close(d, file);
}

static bool
is_let_go(const struct spw_drainer *d, uint32_t file)
{
	const struct spw_file *f = &d->map->files[file];

	return !atomic_load(&f->nblocks) && !atomic_load(&f->nchunks) &&
	       !(atomic_load(&f->flags) & SPW_FILE_COPIED) &&
	       d->homes[file].fd < 0;
}

void
spw_forget_files(struct spw_drainer *d)
{
	struct spw_map *map = d->map;
	uint32_t count = map->counts[SPW_POOL_FILES];
	uint32_t ready = spw_seg_ready(map, SPW_POOL_FILES);
	bool hurry = spw_pool_free(map, SPW_POOL_FILES) + (count - ready) <
		     count / 2 || d->nopen > d->open_limit / 2;
	int64_t now = spw_now_ms();

	for (uint32_t i = 0; i < ready; i++) {
		struct spw_file *f = &map->files[i];
		bool unlinked = atomic_load(&f->flags) & SPW_FILE_UNLINKED;
		bool remembered = !hurry && is_remembered(f);
		struct spw_home *h = &d->homes[i];

		if (!(atomic_load(&map->owners[SPW_POOL_FILES][i]) &
		      SPW_IN_USE) || atomic_load(&f->opens) ||
		    atomic_load(&f->inflight) ||
		    (spw_file_is_unsettled(f) && !unlinked)) {
			h->idle_since = 0;
			continue;
		}
		/* Nobody was told of an error: the next to open it will be. */
		if (!unlinked && !hurry && atomic_load(&f->err_seq) !=
		    atomic_load(&f->err_seen))
			continue;
		if (!unlinked && !hurry &&
		    atomic_load(&f->flags) & SPW_FILE_STAGED &&
		    now < atomic_load(&map->seg->staged_until))
			continue;
		if (remembered && is_let_go(d, i))
			continue;
		if (!h->idle_since)
			h->idle_since = now;
		/* With nothing cached there is no reason to keep it open, and
		 * one not to: a program just linked waits to be executed. */
		if (unlinked || hurry || !atomic_load(&f->nblocks) ||
		    now - h->idle_since > IDLE_MS)
			(remembered ? let_go : forget)(d, i);
	}
}
