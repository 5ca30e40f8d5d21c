/* SPDX-License-Identifier: BSD-3-Clause */
/* advice.h -- the store asks the planner, and tells it what came of it */
#ifndef SPW_PLANNER_ADVICE_H
#define SPW_PLANNER_ADVICE_H

#include "planner/advisor.h"
#include "planner/store.h"

/*
 * Where there is no advisor, for want of memory, or while it saves, objects go
 * to the first tier that takes them, packed as that is pinned, or raw.
 */

/* After the tiers are open, which it knows by their numbers in the store; home
 * comes behind them. */
void spw_advice_open(struct spw_drainer *d, const struct spw_tierlist *list);

/* Saves what was learned, if that takes no time worth speaking of. */
void spw_advice_close(struct spw_drainer *d);

/* What is worth to be told about the start; NULL past the last. */
const char *spw_advice_note(const struct spw_drainer *d, unsigned i);

/* Where the raw bytes of an object should go; tiers: those that may be used, a
 * bit each. Home is among them while it answers and may help. False: no advice. */
bool spw_advice_ask(struct spw_drainer *d, const struct spw_down *down,
		    const void *raw, uint64_t tiers, struct spw_advice *ret);

/* The first piece that goes to a tier; n: all of it goes home. */
unsigned spw_advice_first(const struct spw_drainer *d,
			  const struct spw_advice *advice);

/* The object goes as this piece says, to a tier if it says so. */
void spw_advice_take(struct spw_drainer *d, const struct spw_advice *advice,
		     unsigned piece, struct spw_down *down);

/* A worker has packed it. */
void spw_advice_packed(struct spw_drainer *d, const struct spw_down *down);

/* It is given up before its tier had it; it was given to its tier; it is over,
 * err says how. */
void spw_advice_leave(struct spw_drainer *d, struct spw_down *down);
void spw_advice_sent(struct spw_drainer *d, struct spw_down *down);
void spw_advice_over(struct spw_drainer *d, struct spw_down *down);

/* How much of a byte there is stored in a tier, as was seen; 0: it is not
 * known. */
double spw_advice_burden(const struct spw_drainer *d, uint32_t file,
			 uint64_t offset);

/* Bytes came up from a tier, or went home, since began (spw_now_ns). */
void spw_advice_read(struct spw_drainer *d, uint32_t level, uint64_t bytes,
		     int64_t began, int err);
void spw_advice_home(struct spw_drainer *d, uint64_t bytes, int64_t began,
		     int err);

/* Now and then: follows the weights, saves. */
void spw_advice_tend(struct spw_drainer *d);

#endif
