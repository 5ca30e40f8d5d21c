/* SPDX-License-Identifier: BSD-3-Clause */
/* mask.c -- reading masks: pieces, counts, and what a block's state means */
#include "shm/mask.h"

#include <string.h>

#include "shm/ranges.h"

void
spw_mask_cut(struct spw_mask *m, uint32_t at)
{
	for (; at < SPW_BLOCK_SIZE && at % 64; at++)
		m->word[at / 64] &= ~(1ull << at % 64);
	for (; at < SPW_BLOCK_SIZE; at += 64)
		m->word[at / 64] = 0;
}

void
spw_mask_add(struct spw_mask *m, const struct spw_ranges *set, uint8_t n)
{
	for (uint8_t i = 0; i < SPW_MIN(n, SPW_RANGES); i++)
		if (set->r[i].to <= SPW_BLOCK_SIZE)
			spw_mask_set(m, set->r[i].from, set->r[i].to);
}

/* Leaves what both have. */
static void
keep(struct spw_mask *m, const struct spw_mask *other)
{
	for (int i = 0; i < SPW_MASK_WORDS; i++)
		m->word[i] &= other->word[i];
}

/* The next bit at or after `at` that is set, if flip is 0, or not. */
static uint32_t
find(const struct spw_mask *m, uint32_t at, uint64_t flip)
{
	for (; at < SPW_BLOCK_SIZE; at = (at / 64 + 1) * 64) {
		uint64_t bits = (m->word[at / 64] ^ flip) >> at % 64;

		if (bits)
			return at + (uint32_t)__builtin_ctzll(bits);
	}
	return SPW_BLOCK_SIZE;
}

bool
spw_mask_next(const struct spw_mask *m, uint32_t *from, uint32_t *ret_to)
{
	*from = find(m, *from, 0);
	*ret_to = find(m, *from, UINT64_MAX);
	return *from < SPW_BLOCK_SIZE;
}

uint32_t
spw_mask_count(const struct spw_mask *m)
{
	uint32_t n = 0;

	for (int i = 0; i < SPW_MASK_WORDS; i++)
		n += (uint32_t)__builtin_popcountll(m->word[i]);
	return n;
}

static void
read_set(const struct spw_map *map, uint32_t slot,
	 const struct spw_ranges *set, uint8_t n, struct spw_mask *ret)
{
	const struct spw_mask *mask = spw_mask_at(map, slot);

	memset(ret, 0, sizeof(*ret));
	spw_mask_add(ret, set, n);
	if (mask)
		keep(ret, mask);
}

void
spw_mask_moving(const struct spw_map *map, const struct spw_block_state *s,
		struct spw_mask *ret)
{
	read_set(map, s->mask, &s->moving, s->nmoving, ret);
}

void
spw_mask_dirty(const struct spw_map *map, const struct spw_block_state *s,
	       struct spw_mask *ret)
{
	read_set(map, s->nmoving ? SPW_NONE : s->mask, &s->dirty, s->ndirty,
		 ret);
}

void
spw_mask_unhomed(const struct spw_map *map, const struct spw_block_state *s,
		 struct spw_mask *ret)
{
	if (!s->nmoving) {
		spw_mask_dirty(map, s, ret);
		return;
	}
	spw_mask_moving(map, s, ret);
	spw_mask_add(ret, &s->dirty, s->ndirty);
}
