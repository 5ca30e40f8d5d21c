/* SPDX-License-Identifier: BSD-3-Clause */
/* below.h -- blocks that left memory for a tier: knowing and getting them */
#ifndef SPW_SHM_BELOW_H
#define SPW_SHM_BELOW_H

#include "shm/blocks.h"
#include "shm/util.h"

/* The protocol is told in layout.h. */

/* Whether anything of the file may be below: one load. */
static inline bool
spw_below_any(const struct spw_file *f)
{
	return SPW_UNLIKELY(atomic_load_explicit(&f->nchunks,
						 memory_order_acquire));
}

/* The head of a chunk's chain. */
uint32_t spw_below_bucket(const struct spw_map *map, uint32_t file,
			  uint32_t file_gen, uint64_t number);

/* The chunk's index, or SPW_NONE. It stays while the caller is inside the
 * file, behind its closed gate, or the drainer. */
uint32_t spw_below_chunk(struct spw_map *map, uint32_t file,
			 uint32_t file_gen, uint64_t number);

bool spw_below_has(struct spw_map *map, const struct spw_key *key);

/*
 * What is not in memory is home, unless it is below. No block was found; that
 * counts only if none was spilled since: one that was below, was written and
 * went below again would look like neither. spills: as it was before. Of a
 * file that has something below.
 */
bool spw_below_is_home(struct spw_me *me, const struct spw_key *key,
		       uint32_t spills);

/* Inside the file, or behind its gate. */
void spw_below_clear(struct spw_map *map, const struct spw_key *key);

/* Clears every bit of the file from block `first` on; behind its gate, with
 * the drainer held, or by the drainer. */
void spw_below_cut(struct spw_map *map, uint32_t file, uint64_t first);

/* Asks for copies of what is below in `count` blocks and waits for the first
 * of them: 0, come and look; or a negative errno, -EIO when it is lost. */
int spw_below_fetch(struct spw_me *me, const struct spw_key *first,
		    uint32_t count);

/* The same ahead of need: does not wait, and is no promise. */
void spw_below_hint(struct spw_me *me, const struct spw_key *first,
		    uint32_t count);

/* Set by the drainer, who cannot ask himself. */
extern const struct spw_me *spw_below_self;
extern int (*spw_below_serve)(const struct spw_key *first, uint32_t count);

#endif
