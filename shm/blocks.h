/* SPDX-License-Identifier: BSD-3-Clause */
/* blocks.h -- (file, number) -> block: find, add, change, remove */
#ifndef SPW_SHM_BLOCKS_H
#define SPW_SHM_BLOCKS_H

#include "shm/glance.h"
#include "shm/lock.h"

#define SPW_HELD	(SPW_NONE - 1)	/* no index: see lock.h, patience */

struct spw_key {
	uint32_t file, file_gen;
	uint64_t number;
};

/* Without the block's lock these are what it was at some moment; a state may
 * be part of one and part of the next. */
static inline bool
spw_block_is(const struct spw_block *b, const struct spw_key *key)
{
	return spw_glance32(&b->file) == key->file &&
	       spw_glance64(&b->number) == key->number &&
	       spw_glance32(&b->file_gen) == key->file_gen;
}

static inline struct spw_key
spw_block_key(const struct spw_block *b)
{
	return (struct spw_key){
		spw_glance32(&b->file), spw_glance32(&b->file_gen),
		spw_glance64(&b->number),
	};
}

static inline bool
spw_block_is_dirty(const struct spw_block *b)
{
	return spw_glance8(&b->state.ndirty) || spw_glance8(&b->state.nmoving);
}

static inline struct spw_block_state
spw_block_look(const struct spw_block *b)
{
	struct spw_block_state s;

	spw_glance_copy(&s, &b->state, sizeof(s));
	return s;
}

/* Has the processor fetch what finding or adding the block takes. */
void spw_block_call_up(const struct spw_map *map, const struct spw_key *key);

/* Sees to it that adding the block, which will get that descriptor, takes
 * neither a call of the kernel nor a fault. */
void spw_block_make_ready(struct spw_map *map, const struct spw_key *key,
			  uint32_t spare);

static inline void
spw_block_call_up_spare(const struct spw_map *map, uint32_t idx)
{
	const struct spw_block *b = &map->blocks[idx];

	spw_call_up(b);
	spw_call_up((const char *)b + 64);
}

/* The block's index, or SPW_NONE. Takes no lock in the common case: the
 * caller checks the key again, under the block's lock or by its version.
 * SPW_HELD, like below, for those with patience only: somebody holds what it
 * takes to know. */
uint32_t spw_block_find(struct spw_me *me, const struct spw_key *key);

/* The same at a glance: what is just being moved may be missed. */
uint32_t spw_block_glance(const struct spw_map *map,
			  const struct spw_key *key);

/* Finds or adds the block and returns it locked. Needs a spare block in the
 * lane to add; SPW_NONE when it is missing and there is none, or no memory for
 * the index. Inside only. */
uint32_t spw_block_lock(struct spw_me *me, const struct spw_key *key);

/* Like spw_block_lock, for a block that should exist; SPW_NONE if not. */
uint32_t spw_block_lock_found(struct spw_me *me, const struct spw_key *key);

/* Locks block number idx if it still has that key. */
bool spw_block_lock_index(struct spw_me *me, uint32_t idx,
			  const struct spw_key *key);

/* The same for those with patience: its index, SPW_NONE or SPW_HELD. */
uint32_t spw_block_lock_soon(struct spw_me *me, uint32_t idx,
			     const struct spw_key *key);

/* A change to a locked block: fill in after (a copy of the state), then
 * commit. With a scratch slot the bytes [from, to) are copied from there into
 * after.slot. The slot that after no longer names is kept as a spare, unless
 * the drainer is writing it. */
struct spw_change {
	struct spw_block_state after;
	uint32_t scratch;		/* or SPW_NONE */
	uint16_t from, to;
	uint64_t end;			/* the file reaches there; 0: as is */
};

void spw_block_commit(struct spw_me *me, uint32_t idx,
		      const struct spw_change *change);

/* Whether a state can be: slots that exist, ranges in order. What a damaged
 * segment says otherwise is neither followed nor sent home. */
bool spw_block_is_sound(const struct spw_map *map,
			const struct spw_block_state *s);

/* Applies what a dead lane had published in its redo record. */
void spw_block_redo(struct spw_me *me, struct spw_lane *dead);

/* Takes a locked block out of the index and frees it and its slot. The lock
 * is released. What was dirty is gone: for discards and clean blocks. False,
 * for those with patience only: it is as it was, and still locked. */
bool spw_block_remove(struct spw_me *me, uint32_t idx);

/* Completes the removal that a dead lane had begun; false: not now. */
bool spw_block_finish_removal(struct spw_me *me, struct spw_lane *dead,
			      uint32_t dead_no);

/* Whether the index leads to this very block: its index, SPW_NONE or
 * SPW_HELD. */
uint32_t spw_block_linked(struct spw_me *me, uint32_t idx);

static inline void
spw_block_mark(struct spw_map *map, uint32_t idx)	/* into the dirty map */
{
	_Atomic uint64_t *word = &map->dirty[idx / 64];
	uint64_t bit = 1ull << idx % 64;

	if (!(atomic_load_explicit(word, memory_order_seq_cst) & bit))
		atomic_fetch_or_explicit(word, bit, memory_order_seq_cst);
}

#endif
