/* SPDX-License-Identifier: BSD-3-Clause */
/* away.h -- tiers that cannot be had now, and are tried until they can */
#ifndef SPW_PLANNER_AWAY_H
#define SPW_PLANNER_AWAY_H

#include "planner/store.h"

struct spw_away;			/* the drainer's, for its life */

/* Reads the segment's list of tiers; does nothing when it was called before. */
int spw_away_begin(struct spw_drainer *d);
void spw_away_end(struct spw_drainer *d);

const struct spw_tierlist *spw_away_list(const struct spw_drainer *d);
struct spw_bell *spw_away_bell(const struct spw_drainer *d);
void spw_away_setup(const struct spw_drainer *d, uint32_t number,
		    struct spw_tier_setup *ret_setup,
		    const struct spw_tier_ops **ret_ops);

/* How long a tier may give no sign of life while it is opened, and while it is
 * listed, ms: longer, if it was so slow before. */
int64_t spw_away_patience(const struct spw_drainer *d, uint32_t number);

enum spw_away_step { SPW_AWAY_OPENS, SPW_AWAY_LISTS, SPW_AWAY_CLOSES };

/* The store does without it from now on, for err. a: what it was in the middle
 * of when it stopped to answer; NULL: nothing. */
void spw_away_note(struct spw_drainer *d, uint32_t number, int err,
		   struct spw_apart *a, enum spw_away_step step);
bool spw_away_is(const struct spw_drainer *d, uint32_t number);

/* The store has it, but some of it could not be read, for err. */
void spw_away_doubt(struct spw_drainer *d, uint32_t number, int err);

/* Tries them. */
void spw_away_look(struct spw_drainer *d);

/* One is well: nothing new is to be begun with the store, and who is at work
 * with it is to come to an end. */
bool spw_away_hushes(const struct spw_drainer *d);

/* Tries them; with one that is well the store is opened anew. Not while
 * anybody works with it. */
void spw_away_tend(struct spw_drainer *d);

/* A block is below, and no tier is known to have it: -EINPROGRESS if one may
 * that does not answer, else -EIO. */
int spw_away_missing(const struct spw_drainer *d);

/* Which that may be, for messages; false: all tiers are there. */
bool spw_away_describe(const struct spw_drainer *d, char *buf, size_t size);

#endif
