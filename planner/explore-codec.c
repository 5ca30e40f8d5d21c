/* SPDX-License-Identifier: BSD-3-Clause */
/* explore-codec.c -- trials of codecs that could win */

#include "planner/explore-parts.h"
#include "shm/util.h"

#define SPEED_SLACK 2.0		/* codecs are at most so much faster */
#define LEAST_HASTE 0.25	/* of their speeds, or it is not believed */
#define LEFT 0.35		/* that a slower one stores, of the best */

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

/* Could it be better than the best so far, were it as quick as can be and left
 * no more than a part of what that stores?
 */
static bool
could_win(struct spw_explorer *e, const struct spw_explored *x, unsigned way)
{
	const struct spw_costs *costs =
		spw_predict_costs(e->predictor, x->stream);
	unsigned best = 0;
	double cost = spw_explore_plan(e, x, &best);
	double busy = e->chooser->weights.compress;
	double moved = cost - busy * costs->pack[best];
	double pack = 1e-6 / (e->ways->speed[way] * SPEED_SLACK *
			      haste_of(e, costs));

	if (e->chooser->overlap)
		moved = 0;		/* packing takes no time of its own */
	return busy * pack + LEFT * moved < cost;
}

/* The quickest way not yet looked at, with one of these filters; 0: none. */
static unsigned
next_way(const struct spw_explorer *e, uint64_t fit, uint64_t filters,
	 uint64_t done)
{
	unsigned best = 0;

	for (unsigned i = 1; i < e->ways->n; i++)
		if (fit >> i & 1 && !(done >> i & 1) &&
		    filters >> e->ways->at[i].filter & 1 &&
		    (!best || e->ways->speed[i] > e->ways->speed[best]))
			best = i;
	return best;
}

static uint64_t
known_ways(struct spw_explorer *e, const struct spw_explored *x)
{
	const struct spw_costs *costs =
		spw_predict_costs(e->predictor, x->stream);
	uint64_t known = 0;

	for (unsigned i = 0; i < e->ways->n; i++)
		if (spw_explore_is_known(costs, i))
			known |= UINT64_C(1) << i;
	return known;
}

/* Ways of a codec that was too slow for the sample, had it left nothing, and
 * has slower levels; 0: it was not.
 */
static uint64_t
no_quicker(struct spw_explorer *e, const struct spw_explored *x, unsigned way)
{
	const struct spw_costs *costs =
		spw_predict_costs(e->predictor, x->stream);
	double least = spw_explore_hope(costs, way) * e->took[way];
	uint64_t hopeless = 0;
	unsigned best;

	if (e->chooser->weights.compress * least <
	    spw_explore_plan(e, x, &best))
		return 0;
	for (unsigned i = 1; i < e->ways->n; i++)
		if (e->ways->at[i].codec == e->ways->at[way].codec &&
		    e->ways->speed[i] <= e->ways->speed[way])
			hopeless |= UINT64_C(1) << i;
	return hopeless;
}

uint64_t
spw_explore_done(struct spw_explorer *e, const struct spw_explored *x,
		 bool usual, unsigned probe)
{
	uint64_t done = spw_ways_of(e->ways, &(struct spw_codec_choice){
		.id = e->ways->at[probe].codec,
		.level = (int8_t)e->ways->at[probe].level,
	});

	if (usual)
		return known_ways(e, x);
	for (unsigned i = 1; i < e->ways->n; i++)
		if (spw_explore_is_tried(e, x, i))
			done |= UINT64_C(1) << i;
	return done;
}

bool
spw_explore_codecs(struct spw_explorer *e, const struct spw_explored *x,
		   uint64_t fit, uint64_t filters, uint64_t done)
{
	const uint64_t before = done;
	unsigned way;

	while ((way = next_way(e, fit, filters, done)) &&
	       could_win(e, x, way) &&
	       spw_explore_affords(e, x, SPW_EXPLORE_CODECS)) {
		spw_explore_try(e, x, way);
		done |= UINT64_C(1) << way | no_quicker(e, x, way);
	}
	return done != before;
}
