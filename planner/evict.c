/* SPDX-License-Identifier: BSD-3-Clause */
/* evict.c -- giving memory back: clean blocks by second chance, idle files */
#include "planner/chunks.h"
#include "planner/store.h"
#include "shm/files.h"
#include "shm/gate.h"
#include "shm/util.h"

enum {
	IDLE_MS = 2000,
	ROOM = 2,			/* slots a piece needs */
	AGES = 3,
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

/*
 * The lowest bit of used says that the block was used since the hand passed;
 * the others count, up to AGES, how often the hand found it so, and down when
 * it did not. What is read once goes before what is read again and again.
 */
static bool
has_aged(struct spw_block *b)
{
	uint8_t used = atomic_load(&b->used), ages = used >> 1;

	if (used & 1)
		ages = (uint8_t)SPW_MIN(ages + 1, AGES);
	else if (ages)
		ages--;
	else
		return true;
	atomic_store(&b->used, (uint8_t)(ages << 1));
	return false;
}

/* Removes the block if it is clean and its time has come. */
static bool
evict_one(struct spw_drainer *d, uint32_t idx, bool (*may)(struct spw_block *))
{
	struct spw_block *b = &d->map->blocks[idx];
	struct spw_key key = spw_block_key(b);
	bool gone = false;

	if (key.file >= d->map->counts[SPW_POOL_FILES] ||
	    !(atomic_load(&d->map->owners[SPW_POOL_BLOCKS][idx]) &
	      SPW_IN_USE))
		return false;
	if (spw_block_is_dirty(b) || !may(b) ||
	    atomic_load(&d->map->files[key.file].flags) & SPW_FILE_PINNED)
		return false;
	spw_guard_enter();
	if (spw_block_lock_index(&d->me, idx, &key)) {
		if (spw_block_is_dirty(b)) {
			spw_unlock(&b->lock);
		} else {
			spw_block_remove(&d->me, idx);
			gone = true;
		}
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

bool
spw_evict(struct spw_drainer *d, bool hard)
{
	struct spw_map *map = d->map;
	uint32_t ready = spw_seg_ready(map, SPW_POOL_SLOTS);
	uint32_t nblocks = spw_seg_ready(map, SPW_POOL_BLOCKS);
	uint32_t free_now = SPW_MIN(spw_pool_free(map, SPW_POOL_SLOTS),
				    spw_pool_free(map, SPW_POOL_BLOCKS));
	uint32_t freed = 0;
	uint32_t rounds = hard ? AGES + 2 : 1;

	/* What was used goes only as far as it must. */
	for (uint32_t i = 0; i < rounds * nblocks &&
	     free_now + freed < (i < nblocks ? ready / 4 : ready / 8); i++) {
		d->clock_hand = d->clock_hand + 1 < nblocks
				? d->clock_hand + 1 : 0;
		freed += evict_one(d, d->clock_hand, has_aged);
	}
	/* Who waits is not called for what he cannot use. */
	if (free_now + freed < ROOM)
		return false;
	call_writers(map);
	return true;
}

/* Not found in use by the hand more than once: what was just written. */
static bool
is_cold(struct spw_block *b)
{
	return atomic_load(&b->used) >> 1 == 0;
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
	     atomic_load(&f->flags) & SPW_FILE_UNLINKED)) {
		spw_gate_drop(&d->me, file, 0);
		if (!(atomic_load(&f->flags) & SPW_FILE_UNLINKED))
			(void)spw_sync_release(d, file, UINT64_MAX);
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
		struct spw_home *h = &d->homes[i];
		bool unlinked = atomic_load(&f->flags) & SPW_FILE_UNLINKED;

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
		if (!h->idle_since)
			h->idle_since = now;
		/* With nothing cached there is no reason to keep it open, and
		 * one not to: a program just linked waits to be executed. */
		if (unlinked || hurry || !atomic_load(&f->nblocks) ||
		    now - h->idle_since > IDLE_MS)
			forget(d, i);
	}
}
