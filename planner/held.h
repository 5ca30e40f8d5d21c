/* SPDX-License-Identifier: BSD-3-Clause */
/* held.h -- the store's book of objects, for the store itself */
#ifndef SPW_PLANNER_HELD_H
#define SPW_PLANNER_HELD_H

#include "planner/store.h"

/* Lists the tiers and finds for every block that is below its object. What
 * no block and no promise needs is dropped. If it fails: ret_level is the one
 * that could not be listed, and nothing was dropped. */
int spw_held_find(struct spw_drainer *d, uint32_t *ret_level);

/* A head without its path, in memory of its own; for free(). */
struct spw_object *spw_held_copy(const struct spw_object *o);

bool spw_held_any(const struct spw_drainer *d, uint32_t level);

/* A tier moved an object. */
struct spw_held_mover {
	struct spw_drainer *d;
	uint32_t level;
};
void spw_held_move(struct spw_held_mover *m, uint64_t from, uint64_t to);

/* Objects that were kept for their cuts, when what they cut is gone. */
void spw_store_lapse_cuts(struct spw_drainer *d, uint32_t file);

/* A mark that was found; -ENOMEM. */
int spw_marks_note(struct spw_drainer *d, const struct spw_marked *m);
/* What marks speak of is home: nobody counts on it. */
void spw_marks_heed(struct spw_drainer *d);
/* All drops so far are durable: marks with nothing left to say go. */
void spw_marks_retire(struct spw_drainer *d);

/* await.c: stored bytes of an object, until the next call; and room in a tier.
 * -EINPROGRESS: the tier does not answer now. */
int spw_await_read(struct spw_drainer *d, uint32_t held, uint64_t at,
		   uint64_t len, const uint8_t **ret_bytes);
void spw_await_clean(struct spw_drainer *d, uint32_t level, uint64_t bytes);
/* The tier would have an object at once. */
bool spw_await_is_free(const struct spw_level *l);
/* What was packed is sent, now or when its tier has a place. */
void spw_await_place(struct spw_drainer *d, struct spw_down *down);

/* ahead.c: stored bytes that were called for, there or on their way; NULL: they
 * were not. Take them when they are there, until the next call. */
struct spw_ahead *spw_ahead_find(struct spw_drainer *d, uint32_t held,
				 uint64_t at, uint64_t len);
const uint8_t *spw_ahead_take(struct spw_ahead *a, uint64_t at, uint64_t len);
void spw_ahead_over(struct spw_level *l, struct spw_ahead *a);
void spw_ahead_free(struct spw_level *l);

/* Something was read from the tier, or could not be, for err. */
void spw_level_was_read(struct spw_level *l, int err);

/* store.c: what was packed is the tier's from now on. */
void spw_store_send(struct spw_drainer *d, struct spw_down *down);

#endif
