/* SPDX-License-Identifier: BSD-3-Clause */
/* spill.c -- dirty blocks down to a tier, when memory runs short */

/*
 * Only blocks that are dirty as a whole go down: of others some bytes are
 * known to home alone, and perhaps to another node. What was written while a
 * block was on its way makes it dirty again; then the copy below counts for
 * nothing.
 */
#include <stdlib.h>

#include "planner/chunks.h"
#include "planner/store.h"
#include "shm/failpoint.h"
#include "shm/util.h"

enum { LOOK = 4 * SPW_CHUNK_BLOCKS };	/* candidates sorted at once */

static void
arrive(struct spw_drainer *d, struct spw_down *down)
{
	struct spw_key key = { down->file, down->file_gen, 0 };
	uint32_t held = down->err ? 0 : spw_store_keep(d, down);

	SPW_FAILPOINT("spill-stored");
	for (uint32_t i = 0; i < down->nblocks; i++) {
		key.number = down->number[i];
		spw_block_arrive(d, down->block[i], &key,
				 held ? 0 : -1, held);
	}
	if (!held)
		return;
	spw_store_lapse(d, held);	/* if nothing was left of it */
	spw_evict_spilled(d, down->block, down->nblocks);
}

/* Blocks from the one numbered `first` in it on are dirty again. */
static void
come_back(struct spw_drainer *d, struct spw_down *down, uint32_t first)
{
	struct spw_key key = { down->file, down->file_gen, 0 };

	for (uint32_t i = first; i < down->nblocks; i++) {
		key.number = down->number[i];
		spw_block_arrive(d, down->block[i], &key, -1, 0);
	}
	down->nblocks = first;
}

static void
copy_blocks(struct spw_drainer *d, const struct spw_down *down, uint8_t *to)
{
	uint64_t left = down->o.length;

	for (uint32_t i = 0; i < down->nblocks; i++) {
		uint64_t n = SPW_MIN(left, SPW_BLOCK_SIZE);

		memcpy(to, spw_slot(d->map, down->slot[i]), n);
		to += n;
		left -= n;
	}
}

/* Sends what departed, or as much of it as one tier is to have: the rest finds
 * its own when it departs again. Returns how many blocks went; 0: no tier takes
 * them. */
static uint32_t
send(struct spw_drainer *d, struct spw_down *down, uint64_t length)
{
	uint64_t goes = 0;
	uint32_t nblocks;
	uint8_t *raw;

	down->over = arrive;
	down->o.offset = down->number[0] << SPW_BLOCK_SHIFT;
	down->o.length = length;
	down->o.flags = SPW_OBJECT_WHOLE;
	raw = spw_store_raw(d, down, d->keeps);
	if (raw) {
		copy_blocks(d, down, raw);
		goes = spw_store_plan(d, down, d->keeps);
	}
	SPW_FAILPOINT("spill-copied");
	nblocks = (uint32_t)((goes + SPW_BLOCK_SIZE - 1) >> SPW_BLOCK_SHIFT);
	come_back(d, down, nblocks);
	if (goes && spw_store_put(d, down) == 0)
		return nblocks;
	come_back(d, down, 0);
	spw_store_cancel(d, down);
	return 0;
}

/* A dirty block of the file, which need not be among the candidates: they
 * are in the order of memory, and writers may come in any. */
static bool
find_dirty(struct spw_drainer *d, struct spw_candidate *c)
{
	c->idx = spw_block_find(&d->me, &c->key);
	return c->idx != SPW_NONE &&
	       d->map->blocks[c->idx].state.ndirty &&
	       !d->map->blocks[c->idx].state.nmoving;
}

/* None but the last of a file may be shorter. */
static bool
is_full(const struct spw_block_state *s)
{
	return s->ndirty == 1 && s->dirty.r[0].from == 0 &&
	       s->dirty.r[0].to == SPW_BLOCK_SIZE;
}

static struct spw_candidate
row_start(struct spw_drainer *d, struct spw_candidate c)
{
	struct spw_candidate first = c;

	while (c.key.number-- % SPW_CHUNK_BLOCKS && find_dirty(d, &c) &&
	       is_full(&d->map->blocks[c.idx].state))
		first = c;
	return first;
}

/* The row that c is in, of one chunk; returns how many candidates were looked
 * at. */
static uint32_t
send_row(struct spw_drainer *d, const struct spw_candidate *c, uint32_t n,
	 uint32_t *ret_went, bool *ret_full)
{
	struct spw_down *down = spw_store_begin(d);
	struct spw_candidate at = row_start(d, *c);
	uint64_t chunk = c->key.number / SPW_CHUNK_BLOCKS, length = 0;
	struct spw_block_state state;
	uint32_t i = 0, went;

	down->file = c->key.file;
	down->file_gen = c->key.file_gen;
	while (at.key.number / SPW_CHUNK_BLOCKS == chunk &&
	       length == (uint64_t)down->nblocks * SPW_BLOCK_SIZE &&
	       find_dirty(d, &at) && spw_block_depart(d, &at, true, &state)) {
		down->block[down->nblocks] = at.idx;
		down->slot[down->nblocks] = state.moving_slot;
		down->number[down->nblocks++] = at.key.number++;
		length += state.moving.r[0].to;
	}
	while (i < n && c[i].key.file == c->key.file &&
	       c[i].key.number < at.key.number)
		i++;
	i = SPW_MAX(i, 1u);
	if (!down->nblocks) {
		spw_store_cancel(d, down);
		return 1;
	}
	went = send(d, down, length);
	*ret_went += went;
	*ret_full = !went;
	return i;
}

/* Dirty blocks from where the last look ended. */
static uint32_t
look(struct spw_drainer *d, struct spw_candidate *list, uint32_t max)
{
	struct spw_map *map = d->map;
	uint32_t words = map->counts[SPW_POOL_BLOCKS] / 64, n = 0;

	for (uint32_t i = 0; i < words && n + 64 <= max; i++) {
		uint32_t w = d->spill_hand = (d->spill_hand + 1) % words;
		uint64_t bits = atomic_load(&map->dirty[w]);

		for (; bits; bits &= bits - 1) {
			uint32_t idx = w * 64 +
				       (uint32_t)__builtin_ctzll(bits);
			const struct spw_block *b = &map->blocks[idx];

			if (b->file < map->counts[SPW_POOL_FILES] &&
			    !b->state.nmoving && b->state.ndirty)
				list[n++] = (struct spw_candidate){
					{ b->file, b->file_gen, b->number },
					idx,
				};
		}
	}
	qsort(list, n, sizeof(*list), spw_compare);
	return n;
}

uint32_t
spw_spill(struct spw_drainer *d, uint32_t want)
{
	struct spw_candidate list[LOOK];
	uint32_t went = 0, n, before;
	bool full = false;

	if (!d->store || !d->store->nlevels)
		return 0;
	do {
		before = went;
		n = look(d, list, LOOK);
		for (uint32_t i = 0; i < n && !full && went < want;)
			i += send_row(d, &list[i], n - i, &went, &full);
	} while (went > before && went < want && !full);
	spw_store_reap(d, true);
	return went;
}
