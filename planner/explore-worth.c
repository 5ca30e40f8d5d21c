/* SPDX-License-Identifier: BSD-3-Clause */
/* explore-worth.c -- what trials are worth, and what they may take */

#include "planner/explore-parts.h"
#include "shm/util.h"

#define HOPE 0.6		/* times what packing a sample took */
#define LITTLE_HOPE 0.3		/* then most of it is getting ready */
#define SPEED_SLACK 2.0		/* codecs are at most so much faster */
#define LEAST_HASTE 0.25	/* of their speeds, or it is not believed */
#define EXPECTED (64e6 * 1.048576)	/* bytes of a stream, or more */
#define SHARE 0.006		/* of the time these take, for trials */

double
spw_explore_alone(const struct spw_chooser *ch, const struct spw_plan *plan)
{
	const struct spw_weights *w = &ch->weights;
	double cost = plan->cost;

	for (unsigned i = 0; i < plan->n; i++) {
		const struct spw_tier_state *t = &ch->tier[plan->piece[i].tier];

		cost -= (w->compress + w->ratio) * t->queue / t->write_bw;
	}
	return cost;
}

double
spw_explore_plan(struct spw_explorer *e, const struct spw_explored *x,
		 unsigned *ret_way)
{
	const struct spw_costs *costs =
		spw_predict_costs(e->predictor, x->stream);
	struct spw_plan plan;

	if (spw_choose_solve(e->chooser, costs, x->n, &plan) < 0)
		return 0;
	*ret_way = plan.piece[0].choice;
	return spw_explore_alone(e->chooser, &plan) / (double)x->n;
}

bool
spw_explore_affords(struct spw_explorer *e, const struct spw_explored *x,
		    double part)
{
	double bytes = SPW_MAX(e->account->bytes, EXPECTED);
	unsigned way;
	double time = bytes * spw_explore_plan(e, x, &way);

	if (e->account->spent <= part * SHARE * time)
		return true;
	e->cut = true;
	return false;
}

bool
spw_explore_is_tried(struct spw_explorer *e, const struct spw_explored *x,
		     unsigned way)
{
	return spw_predict_evidence(e->predictor, x->stream, way) > 0;
}

double
spw_explore_hope(const struct spw_costs *costs, unsigned way)
{
	return costs->stored[way] < SPW_EXPLORE_LITTLE ? LITTLE_HOPE : HOPE;
}

/* Times the usual speed of codecs at which the sample was packed, by the one
 * that did best; the more it shrinks, the more is believed.
 */
static double
haste_of(const struct spw_explorer *e, const struct spw_costs *costs)
{
	double haste = LEAST_HASTE, least = SPW_QUANTUM;

	for (unsigned i = 1; i < e->ways->n; i++)
		if (e->took[i] > 0) {
			haste = SPW_MAX(haste, 1e-6 / (e->took[i] *
						       e->ways->speed[i]));
			least = SPW_MIN(least, costs->stored[i]);
		}
	return SPW_MIN(haste, SPW_QUANTUM / least);
}

double
spw_explore_least(const struct spw_explorer *e, const struct spw_costs *costs,
		  unsigned way)
{
	return 1e-6 / (e->ways->speed[way] * SPEED_SLACK *
		       haste_of(e, costs));
}
