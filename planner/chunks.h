/* SPDX-License-Identifier: BSD-3-Clause */
/* chunks.h -- the drainer's hand on the chunks: it alone links them */
#ifndef SPW_PLANNER_CHUNKS_H
#define SPW_PLANNER_CHUNKS_H

#include "planner/drainer.h"
#include "shm/below.h"

/* Finds or makes the chunk; SPW_NONE: there is none to be had. */
uint32_t spw_chunk_get(struct spw_drainer *d, uint32_t file, uint64_t number);

/* Takes the file's chunks away, all bits of which count no more; behind its
 * gate. */
void spw_chunks_drop(struct spw_drainer *d, uint32_t file);

/* Takes away chunks without a bit, where nobody is inside the file. */
void spw_chunks_recycle(struct spw_drainer *d);

/* After a predecessor died: links every chunk in use anew. -ENOMEM. */
int spw_chunks_relink(struct spw_drainer *d);

uint32_t spw_chunks_ready(const struct spw_map *map);
bool spw_chunks_are_short(const struct spw_map *map);

/* The chunk counts: in use, and of a file that is there. */
bool spw_chunk_is_used(const struct spw_map *map, uint32_t chunk);

/* The file that it is of, or SPW_NONE. Others than the drainer use the index
 * that they were told: the chunk may be another's when they look again. */
uint32_t spw_chunk_file(const struct spw_map *map, uint32_t chunk);

bool spw_chunk_is_empty(const struct spw_chunk *c);

static inline bool
spw_chunk_has(const struct spw_chunk *c, uint32_t bit)
{
	return atomic_load(&c->below[bit / 64]) >> bit % 64 & 1;
}

#endif
