/* SPDX-License-Identifier: BSD-3-Clause */
/* fetch.c -- blocks from below for those who read or change them */
#include <errno.h>

#include "planner/away.h"
#include "planner/chunks.h"
#include "planner/losses.h"
#include "planner/store.h"
#include "shm/failpoint.h"
#include "shm/files.h"
#include "shm/gate.h"
#include "shm/used.h"
#include "shm/util.h"

static struct spw_drainer *serving;

struct row {				/* blocks of an object, on their way */
	struct spw_drainer *d;
	struct spw_key key;		/* of the next one */
	uint32_t held;
	uint64_t number;		/* of the object */
	uint32_t came;
	int err;
};

/* The block is below, in the object that was read: it was not rewritten and
 * sent down again since, while room was made. */
static bool
is_still_there(const struct row *row)
{
	const struct spw_store *s = row->d->store;
	const struct spw_key *key = &row->key;
	uint32_t bit = key->number % SPW_CHUNK_BLOCKS;
	uint32_t chunk = spw_below_chunk(row->d->map, key->file, key->file_gen,
					 key->number / SPW_CHUNK_BLOCKS);

	return chunk != SPW_NONE &&
	       spw_chunk_has(&row->d->map->chunks[chunk], bit) &&
	       spw_store_of(row->d, chunk, bit) == row->held &&
	       s->held[row->held].number == row->number;
}

/* n bytes, and zeros behind them. */
static void
fill_slot(uint8_t *slot, const uint8_t *from, uint64_t n)
{
	if (n == SPW_BLOCK_SIZE) {
		memcpy(slot, from, SPW_BLOCK_SIZE);
		return;
	}
	memcpy(slot, from, n);
	memset(slot + n, 0, SPW_BLOCK_SIZE - n);
}

/* Puts a copy into memory, unless the block is there or below no more. False:
 * it cannot be told now. */
static bool
install(const struct row *row, const uint8_t *from, uint64_t n)
{
	struct spw_drainer *d = row->d;
	struct spw_lane *lane = d->me.lane;
	struct spw_change change = { .scratch = SPW_NONE };
	struct spw_block *b;
	uint32_t idx;

	spw_guard_enter();
	idx = spw_block_lock(&d->me, &row->key);
	if (idx >= SPW_HELD) {
		spw_guard_leave();
		return idx == SPW_NONE;
	}
	b = &d->map->blocks[idx];
	change.after = b->state;
	if (spw_block_is_dirty(b)) {
		spw_below_clear(d->map, &row->key);	/* its writer died
							 * over it */
	} else if (!b->state.npresent && is_still_there(row)) {
		change.after.slot = lane->slots[--lane->nslots];
		fill_slot(spw_slot(d->map, change.after.slot), from, n);
		change.after.npresent = 1;
		change.after.present.r[0] =
			(struct spw_range){ 0, SPW_BLOCK_SIZE };
		SPW_FAILPOINT("fetch-install");
		spw_block_commit(&d->me, idx, &change);
		atomic_store(&b->used, SPW_USED_NOT | SPW_USED_LATELY);
	}
	spw_unlock(&b->lock);
	spw_guard_leave();
	SPW_FAILPOINT("fetch-installed");
	return true;
}

/* At least one slot and one block at hand. */
static bool
has_room(struct spw_drainer *d)
{
	const struct spw_lane *lane = d->me.lane;

	return (lane->nslots || spw_lane_stock_slots(&d->me, 1)) &&
	       (lane->nblocks || spw_lane_stock_blocks(&d->me, 1));
}

static bool
make_room(struct spw_drainer *d)
{
	if (!has_room(d))
		(void)spw_evict(d, SPW_EVICT_IDLE);
	if (!has_room(d))
		(void)spw_evict(d, SPW_EVICT_USED);
	if (has_room(d))
		return true;
	/* More than is needed now: who reads on goes on wanting. */
	(void)spw_spill(d, SPW_MAX(d->map->counts[SPW_POOL_SLOTS] / 8,
				   (uint32_t)SPW_CHUNK_BLOCKS));
	while (spw_store_await(d) && !has_room(d))
		(void)spw_evict(d, SPW_EVICT_USED);
	if (!has_room(d))
		(void)spw_evict(d, SPW_EVICT_ALL);
	return has_room(d);
}

static bool
is_in_memory(struct spw_drainer *d, const struct spw_key *key)
{
	uint32_t idx = spw_block_find(&d->me, key);

	return idx < SPW_HELD &&
	       spw_glance8(&d->map->blocks[idx].state.npresent);
}

/* Whole blocks, but for the file's last; objects of what is below are made of
 * such. */
static bool
take(void *arg, uint64_t at, const uint8_t *bytes, uint64_t n)
{
	struct row *row = arg;
	uint64_t size;

	if (at != row->key.number << SPW_BLOCK_SHIFT)
		row->err = -EBADMSG;
	for (; n && !row->err; bytes += size, n -= size) {
		size = SPW_MIN(n, SPW_BLOCK_SIZE);
		if (!make_room(row->d)) {
			row->err = -ENOBUFS;
			break;
		}
		if (!install(row, bytes, size)) {
			row->err = -EINPROGRESS;
			break;
		}
		row->key.number++;
		row->came++;
		row->d->came_up++;
	}
	return !row->err;
}

/* As many of *n blocks of the object as can be read: those before what is
 * damaged, which is told and never returned. */
static int
bring_up(struct spw_drainer *d, uint32_t chunk, struct spw_key key,
	 uint32_t *n)
{
	uint64_t at = key.number << SPW_BLOCK_SHIFT;
	uint64_t end = at + (uint64_t)*n * SPW_BLOCK_SIZE;
	uint32_t held = spw_store_of(d, chunk, key.number % SPW_CHUNK_BLOCKS);
	struct row row = {
		.d = d, .key = key, .held = held,
		.number = d->store->held[held].number,
	};
	struct spw_span bad = { at, end };
	int r = held ? spw_store_read(d, held, at, end,
				      (struct spw_taker){ take, &row }, &bad)
		     : spw_away_missing(d);

	if (r == 0)
		r = row.err;
	if (row.came) {
		*n = row.came;
		return 0;
	}
	if (r == 0 || r == -EINPROGRESS || r == -ENOBUFS)
		return r;
	if (r != -ENOMEM)
		spw_loss_note(d, key.file, bad.from, bad.to, held, r);
	return -EIO;
}

/* Up to count blocks; err is what became of the first. */
static int
fetch(struct spw_drainer *d, struct spw_key key, uint32_t count)
{
	int err = 0;
	bool first = true;

	while (count) {
		uint32_t chunk = spw_below_chunk(d->map, key.file,
						 key.file_gen, key.number /
						 SPW_CHUNK_BLOCKS);
		uint32_t n = 1;

		if (chunk != SPW_NONE &&
		    spw_chunk_has(&d->map->chunks[chunk],
				  key.number % SPW_CHUNK_BLOCKS) &&
		    !is_in_memory(d, &key)) {
			int r;

			n = spw_store_row(d, chunk, key.number %
					  SPW_CHUNK_BLOCKS, count);
			r = bring_up(d, chunk, key, &n);
			if (first)
				err = r;
			if (r < 0)
				break;
		}
		first = false;
		key.number += n;
		count -= n;
	}
	return err == -ENOBUFS ? 0 : err;	/* it will ask again */
}

static int
serve_self(const struct spw_key *first, uint32_t count)
{
	return serving->store ? fetch(serving, *first, count) : -EIO;
}

/* Not so far ahead that it is gone again before it is read: what is dirty does
 * not make room. */
static uint32_t
count_at_once(const struct spw_drainer *d)
{
	uint32_t slots = d->map->counts[SPW_POOL_SLOTS];
	uint32_t dirty = (uint32_t)SPW_MIN(spw_count_dirty(d->map), slots);

	return SPW_MAX((slots - dirty) / 32, SPW_CHUNK_BLOCKS / 2);
}

static void
serve_lane(struct spw_drainer *d, uint32_t lane)
{
	struct spw_want *want = &d->map->lanes[lane].want;
	uint32_t ticket = atomic_load(&want->asked), count;
	struct spw_key key;
	int err = 0;

	if (ticket == atomic_load(&want->done))
		return;			/* the rest is its owner's to change */
	key = (struct spw_key){ want->file, want->file_gen, want->first };
	count = SPW_MIN(want->count, count_at_once(d));
	if (key.file < d->map->counts[SPW_POOL_FILES] &&
	    d->map->files[key.file].gen == key.file_gen) {
		if (d->store)
			spw_ahead_follow(d, lane, key, count);
		err = d->store ? fetch(d, key, count) : -EIO;
	}
	if (err == -EINPROGRESS)
		return;			/* it asks again before long */
	SPW_FAILPOINT("fetch-answer");
	atomic_store(&want->err, err);
	atomic_store(&want->done, ticket);
	spw_sys_futex_wake(&want->done, INT32_MAX);
}

void
spw_fetch_serve(struct spw_drainer *d)
{
	uint32_t wants = atomic_load(&d->map->seg->wants);

	if (wants == d->wants_seen)
		return;
	d->wants_seen = wants;
	for (uint32_t i = 0; i < spw_lane_count(d->map); i++)
		serve_lane(d, i);
}

void
spw_fetch_begin(struct spw_drainer *d)
{
	serving = d;
	d->wants_seen = atomic_load(&d->map->seg->wants) - 1;
	spw_below_serve = serve_self;
	spw_below_self = &d->me;
}

void
spw_fetch_end(void)
{
	spw_below_self = NULL;
	serving = NULL;
}
