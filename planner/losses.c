/* SPDX-License-Identifier: BSD-3-Clause */
/* losses.c -- the segment's list of what cannot be read from tiers */

/*
 * For those who tell the user: what failed stays below, so a loss counts for
 * as long as bits of it are set. Where there are more losses than places the
 * nearest one of the same file is widened; that says no more than is true at
 * the end, when all else is home.
 */
#include "planner/losses.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "planner/away.h"
#include "planner/chunks.h"
#include "planner/store.h"

static void
describe(struct spw_drainer *d, uint32_t held, char where[SPW_LOSS_WHERE])
{
	const struct spw_held *h = &d->store->held[held];
	const struct spw_apart *a = held ? d->store->level[h->tier].tier
					 : NULL;
	char place[PATH_MAX + 64];

	if ((!held || !h->o) && spw_away_describe(d, place, sizeof(place))) {
		snprintf(where, SPW_LOSS_WHERE, "%.*s", SPW_LOSS_WHERE - 1,
			 place);
		return;
	}
	if (!held || !h->o) {
		snprintf(where, SPW_LOSS_WHERE, "no tier has it any more");
		return;
	}
	spw_apart_where(a, h->place, place, sizeof(place));
	/* The end of a long name says more than its beginning. */
	snprintf(where, SPW_LOSS_WHERE, "tier %s, %s+%llu",
		 spw_apart_kind(a),
		 place + strlen(place) - SPW_MIN(strlen(place),
						 SPW_LOSS_WHERE - 48u),
		 (unsigned long long)h->o->stored);
}

static uint64_t
distance(const struct spw_loss *l, uint64_t from, uint64_t to)
{
	return from > l->to ? from - l->to : l->from > to ? l->from - to : 0;
}

/* It overlaps, or goes on in the same object. */
static bool
is_same(const struct spw_loss *l, uint64_t from, uint64_t to,
	const char *where)
{
	return (l->from < to && from < l->to) ||
	       ((l->from == to || from == l->to) && !strcmp(l->where, where));
}

/* The same, one that is free or made good, or the nearest. */
static struct spw_loss *
choose(struct spw_map *map, uint32_t file, uint64_t from, uint64_t to,
       const char *where)
{
	struct spw_loss *l = map->seg->losses, *best = NULL;
	struct spw_lost lost;

	for (uint32_t i = 0; i < SPW_SEG_LOSSES; i++)
		if (atomic_load(&l[i].err) && l[i].file == file &&
		    l[i].file_gen == map->files[file].gen &&
		    is_same(&l[i], from, to, where))
			return &l[i];
	for (uint32_t i = 0; i < SPW_SEG_LOSSES; i++)
		if (!spw_loss_look(map, i, &lost)) {
			atomic_store(&l[i].err, 0);
			return &l[i];
		}
	for (uint32_t i = 0; i < SPW_SEG_LOSSES; i++)
		if (l[i].file == file && (!best || distance(&l[i], from, to) <
					  distance(best, from, to)))
			best = &l[i];
	return best;
}

/* Nothing is to be told twice: what a wider one covers now goes. */
static void
absorb(struct spw_map *map, struct spw_loss *wide)
{
	for (uint32_t i = 0; i < SPW_SEG_LOSSES; i++) {
		struct spw_loss *l = &map->seg->losses[i];

		if (l == wide || !atomic_load(&l->err) ||
		    l->file != wide->file || l->file_gen != wide->file_gen ||
		    l->from >= wide->to || wide->from >= l->to)
			continue;
		wide->from = SPW_MIN(wide->from, l->from);
		wide->to = SPW_MAX(wide->to, l->to);
		atomic_store(&l->err, 0);
	}
}

void
spw_loss_note(struct spw_drainer *d, uint32_t file, uint64_t from,
	      uint64_t to, uint32_t held, int err)
{
	char where[SPW_LOSS_WHERE];
	struct spw_loss *l;

	describe(d, held, where);
	l = choose(d->map, file, from, to, where);
	if (!l)
		return;
	if (atomic_load(&l->err)) {
		l->from = SPW_MIN(l->from, from);
		l->to = SPW_MAX(l->to, to);
		absorb(d->map, l);
		return;
	}
	l->file = file;
	l->file_gen = d->map->files[file].gen;
	l->from = from;
	l->to = to;
	memcpy(l->where, where, sizeof(where));
	atomic_store(&l->err, err == -EBADMSG ? EBADMSG : -err);
}

/* The blocks of a chunk that are lost and still below. */
static void
count_chunk(const struct spw_map *map, const struct spw_chunk *c,
	    const struct spw_loss *l, struct spw_lost *lost)
{
	uint64_t size = atomic_load(&map->files[l->file].size);
	uint64_t number = spw_glance64(&c->number);

	for (uint32_t bit = 0; bit < SPW_CHUNK_BLOCKS; bit++) {
		uint64_t at = (number * SPW_CHUNK_BLOCKS + bit) <<
			      SPW_BLOCK_SHIFT;
		uint64_t end = SPW_MIN(at + SPW_BLOCK_SIZE, size);

		if (!spw_chunk_has(c, bit) || at >= SPW_MIN(l->to, size) ||
		    end <= l->from)
			continue;
		lost->from = SPW_MIN(lost->from, at);
		lost->to = SPW_MAX(lost->to, end);
		lost->bytes += end - at;
	}
}

/* Not by the links: they may be those that a dead drainer left. */
static void
count(const struct spw_map *map, const struct spw_loss *l,
      struct spw_lost *ret)
{
	*ret = (struct spw_lost){ .from = UINT64_MAX };
	for (uint32_t i = 0; i < spw_chunks_ready(map); i++)
		if (spw_chunk_file(map, i) == l->file)
			count_chunk(map, &map->chunks[i], l, ret);
}

bool
spw_loss_look(const struct spw_map *map, uint32_t number,
	      struct spw_lost *ret_lost)
{
	const struct spw_loss *l = &map->seg->losses[number];
	int err = atomic_load(&l->err);
	const struct spw_file *f;
	struct spw_loss seen;		/* the drainer may widen it */

	spw_glance_copy(&seen, l, sizeof(seen));
	if (!err || seen.file >= map->counts[SPW_POOL_FILES])
		return false;
	f = &map->files[seen.file];
	if (spw_glance32(&f->gen) != seen.file_gen ||
	    atomic_load(&f->flags) & SPW_FILE_UNLINKED)
		return false;
	count(map, &seen, ret_lost);
	ret_lost->err = err;
	ret_lost->path = f->path;
	ret_lost->where = l->where;
	return ret_lost->bytes;
}

uint64_t
spw_loss_bytes(const struct spw_map *map)
{
	struct spw_lost lost;
	uint64_t bytes = 0;

	for (uint32_t i = 0; i < SPW_SEG_LOSSES; i++)
		if (spw_loss_look(map, i, &lost))
			bytes += lost.bytes;
	return bytes;
}
