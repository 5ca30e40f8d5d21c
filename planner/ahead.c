/* SPDX-License-Identifier: BSD-3-Clause */
/* ahead.c -- objects read from tiers before their readers ask for them */

/*
 * One object after the other is as slow as a tier's latency. Of a reader that
 * goes on from where it was the next objects are read together, into buffers
 * of the drainer's own: memory of the segment is taken when they are asked
 * for. What is read belongs to an object by its number, which is never given
 * twice; an object does not change, so it does not matter whether it was
 * moved since.
 */
#include <errno.h>
#include <stdlib.h>

#include "planner/chunks.h"
#include "planner/held.h"
#include "shm/util.h"

enum {
	STALE_MS = 3000,		/* its reader went elsewhere */
	CHUNKS = 2 * SPW_AHEADS,	/* looked at for the next objects */
	TURNS = 3,			/* that it may ask without getting on */
	PROBE_MS = 1000,		/* between tries of one that fails */
};

struct spw_ahead *
spw_ahead_find(struct spw_drainer *d, uint32_t held, uint64_t at, uint64_t len)
{
	const struct spw_held *h = &d->store->held[held];
	struct spw_level *l = &d->store->level[h->tier];

	for (int i = 0; i < SPW_AHEADS; i++) {
		struct spw_ahead *a = &l->ahead[i];

		if (a->number == h->number && a->x.at <= at &&
		    at + len <= a->x.at + a->x.len)
			return a;
	}
	return NULL;
}

const uint8_t *
spw_ahead_take(struct spw_ahead *a, uint64_t at, uint64_t len)
{
	/* All of it was used: the buffer serves until the next call. */
	if (at + len == a->x.at + a->x.len)
		a->number = 0;
	a->used = spw_now_ms();
	return (const uint8_t *)a->x.buf + (at - a->x.at);
}

void
spw_ahead_over(struct spw_level *l, struct spw_ahead *a)
{
	l->flying--;
	a->flying = false;
	a->used = spw_now_ms();
	spw_level_was_read(l, a->x.err);
	if (a->x.err)			/* who wants it reads and tells */
		a->number = 0;
}

static struct spw_ahead *
find_free(struct spw_level *l)
{
	int64_t stale = spw_now_ms() - STALE_MS;

	for (int i = 0; i < SPW_AHEADS; i++) {
		struct spw_ahead *a = &l->ahead[i];

		if (!a->flying && (!a->number || a->used < stale))
			return a;
	}
	return NULL;
}

/* What its reader has passed: some blocks of it were in memory, and nobody
 * asked for those. The reader itself may be a chunk behind what it asks for. */
static void
let_go(struct spw_level *l, uint32_t lane, const struct spw_key *key)
{
	for (int i = 0; i < SPW_AHEADS; i++) {
		struct spw_ahead *a = &l->ahead[i];

		if (!a->flying && a->lane == lane &&
		    a->end.file == key->file &&
		    a->end.file_gen == key->file_gen &&
		    a->end.number + SPW_CHUNK_BLOCKS <= key->number)
			a->number = 0;
	}
}

/* False: there is no place for more. */
static bool
call(struct spw_drainer *d, uint32_t held, const struct spw_object_part *part,
     uint32_t lane, struct spw_key end)
{
	struct spw_store *s = d->store;
	struct spw_level *l = &s->level[s->held[held].tier];
	uint64_t skip = part->at % SPW_TIER_ALIGN;
	struct spw_ahead *a;

	if (l->deaf || l->cleaning || part->len > s->bound ||
	    spw_ahead_find(d, held, part->at, part->len))
		return true;
	a = find_free(l);
	if (a && !a->x.buf)
		a->x.buf = aligned_alloc(SPW_TIER_ALIGN,
					 SPW_TIER_ALIGN + s->bound);
	if (!a || !a->x.buf)
		return false;
	a->number = s->held[held].number;
	a->flying = true;
	a->lane = lane;
	a->end = end;
	a->x = (struct spw_transfer){
		.up = true, .place = s->held[held].place,
		.at = part->at - skip, .len = skip + part->len,
		.buf = a->x.buf, .user = a,
	};
	l->flying++;
	spw_apart_move(l->tier, &a->x, true);
	return true;
}

/* The row of one object that begins with the block; returns its length, or 0:
 * it is not below, or in memory. */
static uint32_t
find_row(struct spw_drainer *d, const struct spw_key *key,
	 uint32_t *ret_held, struct spw_object_part *ret_part)
{
	uint32_t bit = key->number % SPW_CHUNK_BLOCKS, n, held;
	uint32_t chunk = spw_below_chunk(d->map, key->file, key->file_gen,
					 key->number / SPW_CHUNK_BLOCKS);
	uint64_t at = key->number << SPW_BLOCK_SHIFT;
	const struct spw_object *o;

	held = chunk == SPW_NONE ? 0 : spw_store_of(d, chunk, bit);
	if (!held || !spw_chunk_has(&d->map->chunks[chunk], bit) ||
	    spw_block_find(&d->me, key) != SPW_NONE)
		return 0;
	n = spw_store_row(d, chunk, bit, SPW_CHUNK_BLOCKS);
	o = d->store->held[held].o;
	spw_object_part(o, at - o->offset,
			at - o->offset + (uint64_t)n * SPW_BLOCK_SIZE,
			ret_part);
	*ret_held = held;
	return ret_part->len ? n : 0;
}

/* A reader asks for what comes next before it asks for what it needs now: it
 * goes on if it got further a moment ago. */
static bool
goes_on(struct spw_reader *r, const struct spw_key *key, uint32_t count)
{
	uint64_t to = key->number + count;
	bool near = r->file == key->file && r->file_gen == key->file_gen &&
		    key->number <= r->to + SPW_CHUNK_BLOCKS &&
		    to + CHUNKS * SPW_CHUNK_BLOCKS > r->to;

	if (!near)
		*r = (struct spw_reader){ key->file, key->file_gen, to, 0 };
	else if (to > r->to)
		*r = (struct spw_reader){ key->file, key->file_gen, to, TURNS };
	else if (r->turns)
		r->turns--;
	return r->turns;
}

void
spw_ahead_follow(struct spw_drainer *d, uint32_t lane, struct spw_key key,
		 uint32_t count)
{
	struct spw_store *s = d->store;
	uint64_t end = key.number + CHUNKS * SPW_CHUNK_BLOCKS;
	bool room = goes_on(&s->readers[lane], &key, count);

	for (uint32_t i = 0; i < s->nlevels; i++)
		let_go(&s->level[i], lane, &key);
	for (int n = 0; room && n < SPW_AHEADS && key.number < end;) {
		struct spw_object_part part;
		uint32_t held, row = find_row(d, &key, &held, &part);

		key.number += row ? row
			      : SPW_CHUNK_BLOCKS -
				key.number % SPW_CHUNK_BLOCKS;
		if (row) {
			room = call(d, held, &part, lane, key);
			n++;
		}
	}
	for (uint32_t i = 0; i < s->nlevels; i++)
		if (s->level[i].flying)
			spw_apart_go(s->level[i].tier);
}

/* The next object of the tier, or 0: it has none. */
static uint32_t
next_of(const struct spw_store *s, uint32_t level)
{
	uint32_t from = s->level[level].tried;

	for (uint32_t i = 1; i <= s->nheld; i++) {
		uint32_t no = (from + i) % s->nheld;

		if (no && s->held[no].o && s->held[no].tier == level)
			return no;
	}
	return 0;
}

/* The head of one after the other, until one can be read. */
static void
probe(struct spw_drainer *d, uint32_t level)
{
	struct spw_level *l = &d->store->level[level];
	struct spw_key nobody = { SPW_NONE, 0, 0 };
	struct spw_object_part head = { 0 };
	uint32_t no = next_of(d->store, level);

	l->read_at = spw_now_ms();
	l->tried = no;
	if (!no) {			/* what is not known cannot be tried */
		l->read_err = l->unread ? l->read_err : 0;
		return;
	}
	head.len = SPW_MIN(d->store->held[no].o->stored, SPW_TIER_ALIGN);
	(void)call(d, no, &head, SPW_NONE, nobody);
	spw_apart_go(l->tier);
}

void
spw_ahead_probe(struct spw_drainer *d)
{
	struct spw_store *s = d->store;

	for (uint32_t i = 0; s && i < s->nlevels; i++) {
		const struct spw_level *l = &s->level[i];

		if (l->read_err && !l->flying &&
		    spw_now_ms() - l->read_at >= PROBE_MS)
			probe(d, i);
	}
}

void
spw_level_was_read(struct spw_level *l, int err)
{
	/* Damage, or want of memory, says nothing of others. */
	if (err == -EBADMSG || err == -ENOMEM || err == -ECANCELED)
		return;
	l->read_err = err;
	l->read_at = spw_now_ms();
}

void
spw_ahead_free(struct spw_level *l)
{
	for (int i = 0; i < SPW_AHEADS; i++)
		free(l->ahead[i].x.buf);
}
