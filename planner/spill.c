/* SPDX-License-Identifier: BSD-3-Clause */
/* spill.c -- dirty blocks down to a tier, when memory runs short */

/*
 * Only blocks that are dirty as a whole go down: of others some bytes are
 * known to home alone, and perhaps to another node. What was written while a
 * block was on its way makes it dirty again; then the copy below counts for
 * nothing.
 *
 * What packs best goes first: it makes the most room for what the tiers have to
 * write. The rest may get home before its turn comes.
 *
 * Nobody waits for them: as many as the tiers take are on their way, and each
 * makes room when it arrives, while the next ones are packed. Until then their
 * blocks are neither dirty nor below, but their files are not settled, and who
 * asked for one is not answered.
 */
#include <stdlib.h>

#include "planner/advice.h"
#include "planner/chunks.h"
#include "shm/failpoint.h"
#include "shm/files.h"
#include "shm/pool.h"
#include "shm/util.h"

enum {
	LOOK = SPW_CHUNK_BLOCKS,	/* candidates sorted at once */
	WINDOW = 256,			/* words of the dirty map they are
					 * chosen from: 64 MiB */
	CLASSES = 10,			/* of how much of them is stored */
};

static void
arrive(struct spw_drainer *d, struct spw_down *down)
{
	struct spw_key key = { down->file, down->file_gen, 0 };
	uint32_t held = down->err ? 0 : spw_store_keep(d, down);
	bool all = true;

	SPW_FAILPOINT("spill-stored");
	for (uint32_t i = 0; i < down->nblocks; i++) {
		key.number = down->number[i];
		all &= spw_block_arrive(d, down->block[i], &key,
					held ? 0 : -1, held);
	}
	if (!all)			/* a pass may have missed it */
		spw_postpone(d, down->file);
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
		(void)spw_block_arrive(d, down->block[i], &key, -1, 0);
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

/* Dirty, and not on its way home. */
static bool
rests(const struct spw_block *b)
{
	return spw_glance8(&b->state.ndirty) &&
	       !spw_glance8(&b->state.nmoving);
}

/* A dirty block of the file, which need not be among the candidates: they
 * are in the order of memory, and writers may come in any. */
static bool
find_dirty(struct spw_drainer *d, struct spw_candidate *c)
{
	c->idx = spw_block_find(&d->me, &c->key);
	return c->idx < SPW_HELD && rests(&d->map->blocks[c->idx]);
}

/* None but the last of a file may be shorter. */
static bool
is_full(const struct spw_block *b)
{
	struct spw_block_state s = spw_block_look(b);

	return s.ndirty == 1 && s.dirty.r[0].from == 0 &&
	       s.dirty.r[0].to == SPW_BLOCK_SIZE;
}

static struct spw_candidate
row_start(struct spw_drainer *d, struct spw_candidate c)
{
	struct spw_candidate first = c;

	while (c.key.number-- % SPW_CHUNK_BLOCKS && find_dirty(d, &c) &&
	       is_full(&d->map->blocks[c.idx]))
		first = c;
	return first;
}

/* The row that c is in, of one chunk; returns how many candidates were looked
 * at. *ret_full: no tier takes more now. */
static uint32_t
send_row(struct spw_drainer *d, const struct spw_candidate *c, uint32_t n,
	 uint32_t *ret_went, bool *ret_full)
{
	struct spw_candidate at = row_start(d, *c);
	uint64_t chunk = c->key.number / SPW_CHUNK_BLOCKS, length = 0;
	struct spw_block_state state;
	struct spw_down *down;
	uint32_t i = 0, went;

	spw_sync_age(d, c->key.file);
	down = spw_store_begin(d, false);
	*ret_full = !down;
	if (!down)
		return 0;
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

/* Those of a word of the dirty map; the first max of them. */
static uint32_t
look_at_word(struct spw_drainer *d, uint32_t w, struct spw_candidate *list,
	     uint32_t max)
{
	struct spw_map *map = d->map;
	uint64_t bits = atomic_load(&map->dirty[w]);
	uint32_t n = 0;

	for (; bits && n < max; bits &= bits - 1) {
		uint32_t idx = w * 64 + (uint32_t)__builtin_ctzll(bits);
		struct spw_candidate c = {
			spw_block_key(&map->blocks[idx]), idx,
		};

		if (c.key.file < map->counts[SPW_POOL_FILES] &&
		    rests(&map->blocks[idx]))
			list[n++] = c;
	}
	return n;
}

/* The last is of those that hardly can go. */
static unsigned
class_of(struct spw_drainer *d, const struct spw_candidate *c, double burden)
{
	return is_full(&d->map->blocks[c->idx])
	       ? (unsigned)(SPW_MIN(burden, 1) * (CLASSES - 2)) : CLASSES - 1;
}

static bool
is_near(const struct spw_candidate *a, const struct spw_candidate *b)
{
	return a->key.file == b->key.file &&
	       a->key.number / SPW_CHUNK_BLOCKS ==
	       b->key.number / SPW_CHUNK_BLOCKS;
}

/* Of the candidates of a word those of the best class so far, or of a better
 * one, which is the best from then on; as many as there is room for. Each is
 * asked: memory that was used before has blocks of all files side by side. */
static uint32_t
take_best(struct spw_drainer *d, uint32_t w, unsigned least, unsigned *best,
	  struct spw_candidate *list, uint32_t n)
{
	struct spw_candidate in[64];
	uint32_t seen = look_at_word(d, w, in, 64);
	double burden = 0;

	for (uint32_t i = 0; i < seen; i++) {
		unsigned its;

		if (!i || !is_near(&in[i], &in[i - 1]))
			burden = spw_advice_burden(d, in[i].key.file,
						   in[i].key.number <<
						   SPW_BLOCK_SHIFT);
		its = class_of(d, &in[i], burden);
		if (its < least || its > *best)
			continue;
		if (its < *best)
			n = 0;
		*best = its;
		if (n < LOOK)
			list[n++] = in[i];
	}
	return n;
}

/* Dirty blocks from where the last look ended, of the first class from *class
 * on. */
static uint32_t
look(struct spw_drainer *d, struct spw_candidate *list, unsigned *class)
{
	uint32_t words = spw_pool_words(d->map, SPW_POOL_BLOCKS), n = 0;
	uint32_t from = d->spill_hand;
	unsigned best = CLASSES;

	for (uint32_t i = 1; i <= words && (i <= WINDOW || !n) &&
	     (best > *class || n < LOOK); i++) {
		uint32_t w = (from + i) % words, before = n;
		unsigned was = best;

		n = take_best(d, w, *class, &best, list, n);
		if (n != before || best != was)
			d->spill_hand = w;
	}
	*class = best;
	qsort(list, n, sizeof(*list), spw_compare);
	return n;
}

void
spw_spill_unsettle(struct spw_drainer *d)
{
	const struct spw_store *s = d->store;

	for (uint32_t i = 0; s && i < s->ndown; i++)
		if (s->down[i].busy && !s->down[i].late && s->down[i].nblocks)
			spw_file_flag(&d->map->files[s->down[i].file],
				      SPW_FILE_UNSETTLED);
}

uint32_t
spw_spill(struct spw_drainer *d, uint32_t want)
{
	struct spw_candidate list[LOOK];
	uint32_t went = 0, n, before;
	unsigned class = 0;
	bool full = false;

	if (!d->store || !d->store->nlevels || spw_store_is_laden(d))
		return 0;
	do {
		before = went;
		n = look(d, list, &class);
		for (uint32_t i = 0; i < n && !full && went < want;)
			i += send_row(d, &list[i], n - i, &went, &full);
		class += went == before;	/* none of it can go now */
	} while (n && went < want && !full);
	return went;
}
