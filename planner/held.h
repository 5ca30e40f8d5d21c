/* SPDX-License-Identifier: BSD-3-Clause */
/* held.h -- the store's book of objects, for the store itself */
#ifndef SPW_PLANNER_HELD_H
#define SPW_PLANNER_HELD_H

#include "planner/store.h"

/* Lists the tiers and finds for every block that is below its object. What
 * no block and no promise needs is dropped. */
int spw_held_find(struct spw_drainer *d);

/* A head without its path, in memory of its own; for free(). */
struct spw_object *spw_held_copy(const struct spw_object *o);

bool spw_held_any(const struct spw_drainer *d, uint32_t level);

/* A tier moved an object. */
struct spw_held_mover {
	struct spw_drainer *d;
	uint32_t level;
};
void spw_held_move(struct spw_held_mover *m, uint64_t from, uint64_t to);
void spw_held_clean(struct spw_drainer *d, uint32_t level, uint64_t bytes,
		    void (*moved)(void *arg, uint64_t from, uint64_t to));

/* Reads the stored bytes of a part, waiting for them. */
int spw_held_read(struct spw_drainer *d, uint32_t held,
		  const struct spw_object_part *part, void *buf);

/* Waits for one transfer to end. */
void spw_held_reap_one(struct spw_drainer *d);

#endif
