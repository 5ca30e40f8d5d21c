/* SPDX-License-Identifier: BSD-3-Clause */
/* explore-final.c -- trials on blocks, of the best and of who is next */

#include "planner/explore-parts.h"
#include "shm/util.h"

#define CHANCE 1.15		/* times the cost of the best */
#define RAW_CHANCE 1.35		/* the same, if that is raw */
#define TURN 1.05		/* the same, where a turn tells it */
#define ONCE 0.3		/* times what packing its only block took */
#define LATER 1.3		/* of the time for trials, with these */
#define RAW_LATER 2.0		/* the same, if raw is the best */
#define FINALISTS 6u		/* tested on a block, at most */
#define UNLIKE_RAW 0.8		/* times what is hoped for, beside raw */

/* Packing a sample takes longer, byte by byte, than packing a block.  So ways
 * of which no block was seen are taken to be faster; and those of which one
 * was, to take `once` the time, since it may have been held up, which the next
 * ones make unlikely.
 */
static void
hope_for(struct spw_explorer *e, const struct spw_explored *x, double once,
	 struct spw_costs *costs)
{
	*costs = *spw_predict_costs(e->predictor, x->stream);
	for (unsigned i = 1; i < costs->n; i++) {
		double n = spw_predict_evidence(e->predictor, x->stream, i);

		if (spw_explore_is_known(costs, i))
			costs->pack[i] *= n < 1 ? spw_explore_hope(costs, i)
						: pow(once, 1 / (n * n));
	}
}

/* Who wins then is put to the test, until the winner is one who was.  Raw needs
 * no test, so it is not to win by what tests of others might show.
 */
static unsigned
find_finalist(struct spw_explorer *e, const struct spw_explored *x)
{
	struct spw_costs costs;
	struct spw_plan plan;

	hope_for(e, x, 1, &costs);
	if (spw_choose_solve(e->chooser, &costs, x->n, &plan) < 0)
		return 0;
	if (plan.piece[0].choice)
		return plan.piece[0].choice;
	for (unsigned i = 1; i < costs.n; i++)
		if (spw_predict_evidence(e->predictor, x->stream, i) < 1)
			costs.pack[i] *= UNLIKE_RAW;
	if (spw_choose_solve(e->chooser, &costs, x->n, &plan) < 0)
		return 0;
	return plan.piece[0].choice;
}

void
spw_explore_finalists(struct spw_explorer *e, const struct spw_explored *x)
{
	struct spw_observed seen;
	uint64_t tested = 1;

	for (unsigned i = 0; i < FINALISTS; i++) {
		unsigned way = find_finalist(e, x);

		if (tested >> way & 1 || !spw_explore_affords(e, x, 1))
			return;
		if (!spw_explore_run_block(e, x, way, &seen))
			return;
		spw_explore_tell(e, x, way, &seen);
		tested |= UINT64_C(1) << way;
	}
}

/* Ways that are out of the question: the winner, and those of its codec or of
 * its filter, if that is asked for.
 */
enum unlike { UNLIKE_ITSELF, UNLIKE_FILTER, UNLIKE_CODEC, UNLIKES };

static uint64_t
ways_like(const struct spw_explorer *e, unsigned winner, enum unlike unlike)
{
	const struct spw_choice *at = e->ways->at, *w = &at[winner];
	uint64_t like = UINT64_C(1) << winner;

	for (unsigned i = 1; i < e->ways->n && winner; i++)
		if ((unlike == UNLIKE_FILTER && at[i].filter == w->filter) ||
		    (unlike == UNLIKE_CODEC && at[i].codec == w->codec))
			like |= UINT64_C(1) << i;
	return like;
}

/* The best of the others; 0: none has a chance. */
static unsigned
find_second(struct spw_explorer *e, const struct spw_explored *x, uint64_t but,
	    double chance, double once)
{
	struct spw_costs costs;
	struct spw_plan plan;
	unsigned way;
	double best = spw_explore_plan(e, x, &way) * (double)x->n;

	hope_for(e, x, once, &costs);
	for (unsigned i = 1; i < costs.n; i++)
		if (but >> i & 1)
			costs.pack[i] = (double)INFINITY;
	if (but & 1)
		costs.pack[0] = 1;	/* second a byte */
	if (spw_choose_solve(e->chooser, &costs, x->n, &plan) < 0 ||
	    spw_explore_alone(e->chooser, &plan) >= chance * best)
		return 0;
	return plan.piece[0].choice;
}

/* What is expected of the winner, by what a trial of it shows now. */
struct rate {
	double time, stored;
};

static bool
rate_winner(struct spw_explorer *e, const struct spw_explored *x,
	    unsigned winner, struct rate *ret)
{
	const struct spw_costs *costs =
		spw_predict_costs(e->predictor, x->stream);
	struct spw_observed seen;

	*ret = (struct rate){ 1, 1 };
	if (!winner)
		return true;
	if (!spw_explore_run_block(e, x, winner, &seen))
		return false;
	ret->time = costs->pack[winner] * (double)seen.bytes / seen.pack;
	ret->stored = costs->stored[winner] / SPW_QUANTUM *
		      (double)seen.bytes / (double)seen.stored;
	return true;
}

/* A trial is not quite as real blocks are, nor is this block as those before.
 * So another way is held against the winner under the same conditions.
 */
static void
try_beside(struct spw_explorer *e, const struct spw_explored *x, unsigned way,
	   const struct rate *rate)
{
	struct spw_observed seen;
	double stored;

	if (!spw_explore_run_block(e, x, way, &seen))
		return;
	stored = SPW_MIN(rate->stored * (double)seen.stored,
			 (double)seen.bytes);
	if (seen.stored < seen.bytes)
		seen.stored = (uint64_t)SPW_MAX(stored, 1);
	seen.pack *= rate->time;
	seen.unpack *= rate->time;
	spw_explore_tell(e, x, way, &seen);
}

/* Where raw is the best, nothing shows that others take less time by now. */
bool
spw_explore_is_close(struct spw_explorer *e, const struct spw_explored *x,
		     unsigned winner)
{
	return find_second(e, x, UINT64_C(1) << winner | SPW_CHOICES_RAW,
			   winner ? TURN : RAW_CHANCE, ONCE);
}

bool
spw_explore_block(struct spw_explorer *e, const struct spw_explored *x,
		  unsigned way)
{
	struct spw_observed seen;

	e->in_block = 0;
	if (!spw_explore_affords(e, x, LATER) ||
	    !spw_explore_run_block(e, x, way, &seen))
		return false;
	spw_explore_tell(e, x, way, &seen);
	return true;
}

/* Who would win without the winner, be it raw, gets another chance. */
void
spw_explore_seconds(struct spw_explorer *e, const struct spw_explored *x)
{
	uint64_t tried = 0;
	double chance = CHANCE, later = LATER;
	unsigned winner = 0;
	struct rate rate;

	e->in_block = 0;
	(void)spw_explore_plan(e, x, &winner);
	if (!winner) {
		chance = RAW_CHANCE;
		later = RAW_LATER;
	}
	for (enum unlike u = 0; u < (winner ? UNLIKES : 1); u++) {
		unsigned way = find_second(e, x, ways_like(e, winner, u) |
						 tried, chance, 1);

		if (!way ||
		    !spw_explore_affords(e, x, later) ||
		    (!tried && !rate_winner(e, x, winner, &rate)))
			continue;
		try_beside(e, x, way, &rate);
		tried |= UINT64_C(1) << way;
	}
}
