/* SPDX-License-Identifier: BSD-3-Clause */
/* explore-codec.c -- trials of codecs that could win */

#include "planner/explore-parts.h"
#include "shm/util.h"

#define HELD_UP 1.3			/* times what a slower level took */
#define LEFT 0.35		/* that a slower one stores, of the best */

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
	double pack = spw_explore_least(e, costs, way);

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
no_quicker(struct spw_explorer *e, const struct spw_explored *x, unsigned way,
	   const struct spw_observed *seen)
{
	const struct spw_costs *costs =
		spw_predict_costs(e->predictor, x->stream);
	double least = spw_explore_hope(costs, way) * seen->pack /
		       (double)seen->bytes;
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

/* Is there one among them that could win? */
static bool
has_hope(struct spw_explorer *e, const struct spw_explored *x, uint64_t ways)
{
	for (unsigned i = 1; i < e->ways->n; i++)
		if (ways >> i & 1 && could_win(e, x, i))
			return true;
	return false;
}

/* One that would rule others out is tried again: it may have been held up. */
static bool
run_codec(struct spw_explorer *e, const struct spw_explored *x, unsigned way,
	  uint64_t left, struct spw_observed *ret)
{
	if (!spw_explore_run_sample(e, x, way, ret))
		return false;
	if (has_hope(e, x, no_quicker(e, x, way, ret) & left))
		spw_explore_run_again(e, x, way, ret);
	return true;
}

/* A quicker level that took longer was. */
static void
try_quicker(struct spw_explorer *e, const struct spw_explored *x, unsigned way)
{
	const struct spw_choice *at = e->ways->at;

	for (unsigned i = 1; i < e->ways->n; i++)
		if (at[i].codec == at[way].codec &&
		    at[i].filter == at[way].filter &&
		    e->ways->speed[i] > e->ways->speed[way] &&
		    e->took[i] > HELD_UP * e->took[way] &&
		    e->left[i] < SPW_EXPLORE_SAVES)
			spw_explore_try(e, x, i);
}

/* The ways that it rules out, a bit each, itself among them. */
static uint64_t
try_codec(struct spw_explorer *e, const struct spw_explored *x, unsigned way,
	  uint64_t left)
{
	const uint64_t own = UINT64_C(1) << way;
	struct spw_observed seen;

	if (!run_codec(e, x, way, left & ~own, &seen))
		return own;
	spw_explore_tell(e, x, way, &seen);
	try_quicker(e, x, way);
	return own | no_quicker(e, x, way, &seen);
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
	       spw_explore_affords(e, x, SPW_EXPLORE_CODECS))
		done |= try_codec(e, x, way, fit & ~done);
	return done != before;
}
