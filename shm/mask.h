/* SPDX-License-Identifier: BSD-3-Clause */
/* mask.h -- which bytes of a block are meant, one bit each */

/*
 * Four ranges are enough for most blocks. One that is written in more pieces
 * has a mask, a slot of its own: its ranges then only say from where to where,
 * and of these bytes those count whose bit is set. The mask goes with the
 * moving ranges if there are any, else with the dirty ones.
 */
#ifndef SPW_SHM_MASK_H
#define SPW_SHM_MASK_H

#include "shm/seg.h"

enum { SPW_MASK_WORDS = SPW_BLOCK_SIZE / 64 };

struct spw_mask {
	uint64_t word[SPW_MASK_WORDS];
};
static_assert(sizeof(struct spw_mask) <= SPW_BLOCK_SIZE, "lies in a slot");

/* The mask in a slot; NULL: there is none. */
static inline struct spw_mask *
spw_mask_at(const struct spw_map *map, uint32_t slot)
{
	return slot < map->counts[SPW_POOL_SLOTS]
	       ? (struct spw_mask *)(void *)spw_slot(map, slot) : NULL;
}

static inline void
spw_mask_set(struct spw_mask *m, uint32_t from, uint32_t to)
{
	for (; from < to && from % 64; from++)
		m->word[from / 64] |= 1ull << from % 64;
	for (; from + 64 <= to; from += 64)
		m->word[from / 64] = UINT64_MAX;
	for (; from < to; from++)
		m->word[from / 64] |= 1ull << from % 64;
}

/* Drops what is at and after `at`. */
void spw_mask_cut(struct spw_mask *m, uint32_t at);

void spw_mask_add(struct spw_mask *m, const struct spw_ranges *set, uint8_t n);

/* The next piece from *from on, which is where it begins then; false: there
 * is none. */
bool spw_mask_next(const struct spw_mask *m, uint32_t *from, uint32_t *ret_to);

uint32_t spw_mask_count(const struct spw_mask *m);

/* What is on its way home, what is dirty, and both together: what is not
 * home. */
void spw_mask_moving(const struct spw_map *map,
		     const struct spw_block_state *s, struct spw_mask *ret);
void spw_mask_dirty(const struct spw_map *map,
		    const struct spw_block_state *s, struct spw_mask *ret);
void spw_mask_unhomed(const struct spw_map *map,
		      const struct spw_block_state *s, struct spw_mask *ret);

#endif
