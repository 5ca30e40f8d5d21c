/* SPDX-License-Identifier: BSD-3-Clause */
/* explore-run.c -- samples and blocks of data, packed for a trial */

#include "planner/explore-parts.h"
#include "shm/util.h"

#include <string.h>

#define PART (5 * SPW_EXPLORE_PIECE)	/* more than 64 KiB, as blocks of
					 * objects are: codecs have other
					 * tables for less */

#define FIRST_HOPE 0.2		/* times what a first run of a sample took */
#define FIRST_BLOCK_HOPE 0.33	/* the same, of a block */
#define BLOCK_HOPE 0.8			/* and of later ones */
#define BLOCK_LIMIT 1.25		/* times what a block should take */
#define ODD 2.0				/* times what it takes behind others */
#define HELD_UP 3.0		/* times: more is not a trial's doing */

/* Pieces from the middle of each part of the data, of whole records: what a
 * file starts with is seldom like the rest of it.
 */
static size_t
gather(const struct spw_explored *x, size_t piece, uint8_t *to)
{
	size_t unit = SPW_MAX(x->traits->stride, 8);
	size_t step = x->n / SPW_EXPLORE_PIECES, len = SPW_MIN(piece, step);

	len -= len % unit;
	for (unsigned i = 0; i < SPW_EXPLORE_PIECES; i++) {
		size_t at = i * step + (step - len) / 2;

		memcpy(to + i * len, x->data + at - at % unit, len);
	}
	return SPW_EXPLORE_PIECES * len;
}

void
spw_explore_sample(struct spw_explorer *e, const struct spw_explored *x)
{
	e->sampled = gather(x, SPW_EXPLORE_PIECE, e->sample);
	e->in_block = 0;
	memset(e->took, 0, sizeof(e->took));
}

struct piece {
	const uint8_t *data;
	size_t n;
	bool is_sample;
};

static bool
run(struct spw_explorer *e, const struct spw_explored *x, unsigned way,
    const struct piece *piece, struct spw_observed *ret)
{
	struct spw_object_pack pack =
		spw_ways_pack(&e->ways->at[way], x->traits);
	bool unpacks = e->chooser->weights.decompress > 0;

	if (spw_trial(&e->trial, &pack, piece->data, piece->n, unpacks,
		      ret) < 0)
		return false;
	ret->is_sample = piece->is_sample;
	return true;
}

static void
spend(struct spw_explorer *e, const struct spw_observed *seen)
{
	e->account->spent += e->chooser->weights.compress *
			     (seen->pack + seen->unpack);
}

void
spw_explore_tell(struct spw_explorer *e, const struct spw_explored *x,
		 unsigned way, const struct spw_observed *seen)
{
	if (seen->is_sample) {
		e->took[way] = seen->pack / (double)seen->bytes;
		e->left[way] = (double)seen->stored / (double)seen->bytes;
	}
	spw_predict_learn(e->predictor, x->stream, way, seen);
}

/* What a sample says, in place of what is known of its way. */
static void
suppose(const struct spw_observed *seen, unsigned way, struct spw_costs *costs)
{
	const double bytes = (double)seen->bytes;

	costs->pack[way] = seen->pack / bytes;
	costs->unpack[way] = seen->unpack / bytes;
	costs->stored[way] = ceil(SPW_QUANTUM * (double)seen->stored / bytes);
}

static bool
would_win(struct spw_explorer *e, const struct spw_explored *x, unsigned way,
	  const struct spw_costs *costs)
{
	struct spw_plan plan;

	return !spw_choose_solve(e->chooser, costs, x->n, &plan) &&
	       plan.piece[0].choice == way;
}

/* The shortest time that a codec took for the sample behind some filter. */
static double
least_behind_others(const struct spw_explorer *e, unsigned way)
{
	const struct spw_choice *at = e->ways->at, *w = &at[way];
	double least = (double)INFINITY;

	for (unsigned i = 1; i < e->ways->n; i++)
		if (e->took[i] > 0 && at[i].codec == w->codec &&
		    at[i].level == w->level)
			least = SPW_MIN(least, e->took[i]);
	return least;
}

/* The first run of a codec on a sample may take long because caches have to
 * learn its code and tables, and any because something else came in between.
 * Does that decide?  It does if a way is not the best by what it took, and
 * would be if it were as quick as can be; and if it decides which filter is
 * worth going on with.
 */
static bool
is_misleading(struct spw_explorer *e, const struct spw_explored *x,
	      unsigned way, const struct spw_observed *seen)
{
	struct spw_costs costs = *spw_predict_costs(e->predictor, x->stream);
	double took = seen->pack / (double)seen->bytes;
	double others = least_behind_others(e, way);

	suppose(seen, way, &costs);
	if (others < (double)INFINITY)
		return costs.stored[way] < SPW_EXPLORE_SAVES * SPW_QUANTUM &&
		       took > ODD * others;
	costs.pack[way] = took * spw_explore_hope(&costs, way);
	if (would_win(e, x, way, &costs))
		return false;
	costs.pack[way] = SPW_MIN(FIRST_HOPE * took,
				  spw_explore_least(e, &costs, way));
	return would_win(e, x, way, &costs);
}

/* What the first run lost to others was not spent on trials. */
static void
run_again(struct spw_explorer *e, const struct spw_explored *x, unsigned way,
	  const struct piece *piece, struct spw_observed *at)
{
	struct spw_observed again;

	if (!run(e, x, way, piece, &again))
		return;
	spend(e, &again);
	if (at->pack > HELD_UP * again.pack)
		e->account->spent -= e->chooser->weights.compress *
				     (at->pack - HELD_UP * again.pack);
	if (again.pack < at->pack)
		*at = again;
}

void
spw_explore_run_again(struct spw_explorer *e, const struct spw_explored *x,
		      unsigned way, struct spw_observed *at)
{
	struct piece sample = { e->sample, e->sampled, true };

	run_again(e, x, way, &sample, at);
}

bool
spw_explore_run_sample(struct spw_explorer *e, const struct spw_explored *x,
		       unsigned way, struct spw_observed *ret)
{
	struct piece sample = { e->sample, e->sampled, true };

	if (!run(e, x, way, &sample, ret))
		return false;
	spend(e, ret);
	if (is_misleading(e, x, way, ret))
		spw_explore_run_again(e, x, way, ret);
	return true;
}

void
spw_explore_try(struct spw_explorer *e, const struct spw_explored *x,
		unsigned way)
{
	struct spw_observed seen;

	if (spw_explore_run_sample(e, x, way, &seen))
		spw_explore_tell(e, x, way, &seen);
}

/* A block takes less time, byte by byte, than a sample did, and as much as
 * blocks did before.
 */
static bool
is_slow(struct spw_explorer *e, const struct spw_explored *x, unsigned way,
	const struct spw_observed *seen)
{
	struct spw_costs costs = *spw_predict_costs(e->predictor, x->stream);
	double limit = costs.pack[way], hope = FIRST_BLOCK_HOPE;

	if (spw_predict_evidence(e->predictor, x->stream, way) >= 1) {
		limit *= BLOCK_LIMIT;
		hope = BLOCK_HOPE;
	}
	if (seen->pack > limit * (double)seen->bytes)
		return true;
	suppose(seen, way, &costs);
	if (would_win(e, x, way, &costs))
		return false;
	costs.pack[way] *= hope;
	return would_win(e, x, way, &costs);
}

/* What shrinks to little is packed quickly, and a longer block costs little. */
bool
spw_explore_run_block(struct spw_explorer *e, const struct spw_explored *x,
		      unsigned way, struct spw_observed *ret)
{
	const struct spw_costs *costs =
		spw_predict_costs(e->predictor, x->stream);
	bool is_little = costs->stored[way] < SPW_EXPLORE_LITTLE;
	struct piece block = { .data = e->block };

	if (!e->in_block)
		e->in_block = gather(x, is_little ? SPW_EXPLORE_LONG : PART,
				     e->block);
	block.n = e->in_block;
	if (!run(e, x, way, &block, ret))
		return false;
	spend(e, ret);
	if (is_slow(e, x, way, ret))
		run_again(e, x, way, &block, ret);
	return true;
}
