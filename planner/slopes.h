/* SPDX-License-Identifier: BSD-3-Clause */
/* slopes.h -- what each choice costs a quantum, several choices at a time */

#ifndef SPW_PLANNER_SLOPES_H
#define SPW_PLANNER_SLOPES_H

#include "planner/match.h"

/* What a second of packing and of unpacking weighs, a quantum. */
struct spw_slopes_weights {
	double busy;			/* packing, */
	double now;			/* of it what writing cannot hide */
	double later;			/* unpacking */
};

/* Fills in work, pack and stored of s for all choices of its costs, and for
 * some past the last, which are never taken.  Returns the least bytes that are
 * stored of a quantum.
 */
double spw_slopes_weigh(struct spw_search *s,
			const struct spw_slopes_weights *w);

/* The slopes of all choices on a tier; returns the least. */
double spw_slopes_draw(const struct spw_search *s, struct spw_line *line);

#endif
