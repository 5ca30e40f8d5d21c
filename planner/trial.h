/* SPDX-License-Identifier: BSD-3-Clause */
/* trial.h -- a way to pack, tried out on bytes */

#ifndef SPW_PLANNER_TRIAL_H
#define SPW_PLANNER_TRIAL_H

#include "planner/predict.h"
#include "tiers/object.h"

#define SPW_TRIAL_MAX ((size_t)SPW_OBJECT_BLOCK)

/* Room for a piece filtered, packed and unpacked.  For one thread, whose
 * codec contexts it uses.
 */
struct spw_trial {
	uint8_t *filtered, *packed, *back;
	double clock;			/* seconds to look at it */
};

int spw_trial_init(struct spw_trial *t);	/* 0 or -ENOMEM */
void spw_trial_clear(struct spw_trial *t);	/* takes a cleared one */

/* Pack n bytes, at most SPW_TRIAL_MAX, and unpack them or not.  Times are of
 * the thread, not of the clock on the wall, and without what it takes to look
 * at the clock.  What does not get smaller is stored whole.  A codec and level
 * that have not run on this thread with so many bytes run twice: the first
 * time there is memory to be had and code to be loaded.
 * -ENOTSUP: no such codec or filter here; -EBADMSG: other bytes came back;
 * -ENOMEM.  *ret is untouched then.
 */
int spw_trial(struct spw_trial *t, const struct spw_object_pack *pack,
	      const void *data, size_t n, bool unpacks,
	      struct spw_observed *ret);

/* Seconds that this thread has worked. */
double spw_trial_clock(void);

#endif
