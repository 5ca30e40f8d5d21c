/* SPDX-License-Identifier: BSD-3-Clause */
/* explore-run.c -- samples and blocks of data, packed for a trial */

#include "planner/explore-parts.h"
#include "shm/util.h"

#include <string.h>

#define PART (5 * SPW_EXPLORE_PIECE)	/* more than 64 KiB, as blocks of
					 * objects are: codecs have other
					 * tables for less */

#define SAMPLE_LIMIT 1.4		/* times what it should take */
#define BLOCK_LIMIT 1.25

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

/* How many times as quick one codec usually is, or the other. */
static double
apart(const struct spw_explorer *e, unsigned one, unsigned other)
{
	double ratio = (double)e->ways->speed[one] / e->ways->speed[other];

	return SPW_MAX(ratio, 1 / ratio);
}

/* Seconds a byte that a sample should not take longer than, by those before it:
 * the same codec behind other filters, and the one of the next speed behind
 * this, a slower one as much longer as it usually takes.  Infinite: there is
 * none.
 */
static double
slowest_like(const struct spw_explorer *e, unsigned way)
{
	const struct spw_choice *at = e->ways->at, *w = &at[way];
	const uint16_t *speed = e->ways->speed;
	double slowest = 0;
	unsigned next = 0;

	for (unsigned i = 1; i < e->ways->n; i++) {
		if (!(e->took[i] > 0))
			continue;
		if (at[i].codec == w->codec && at[i].level == w->level)
			slowest = SPW_MAX(slowest, e->took[i]);
		if (at[i].filter == w->filter &&
		    (!next || apart(e, i, way) < apart(e, next, way)))
			next = i;
	}
	if (next && speed[next] > speed[way])
		slowest = SPW_MAX(slowest, e->took[next] * apart(e, next, way));
	else if (next)
		slowest = SPW_MAX(slowest, e->took[next]);
	return slowest > 0 ? slowest : (double)INFINITY;
}

/* Was it held up by something else?  A block takes less time, byte by byte,
 * than a sample did, and as much as blocks did before.
 */
static bool
is_slow(struct spw_explorer *e, const struct spw_explored *x, unsigned way,
	const struct spw_observed *seen)
{
	const struct spw_costs *costs =
		spw_predict_costs(e->predictor, x->stream);
	double limit = costs->pack[way];

	if (seen->is_sample)
		limit = SAMPLE_LIMIT * slowest_like(e, way);
	else if (spw_predict_evidence(e->predictor, x->stream, way) >= 1)
		limit *= BLOCK_LIMIT;
	return seen->pack > limit * (double)seen->bytes;
}

struct piece {
	const uint8_t *data;
	size_t n;
	bool is_sample;
};

static bool
run_once(struct spw_explorer *e, const struct spw_explored *x, unsigned way,
	 const struct piece *piece, struct spw_observed *ret)
{
	struct spw_object_pack pack =
		spw_ways_pack(&e->ways->at[way], x->traits);
	bool unpacks = e->chooser->weights.decompress > 0;

	if (spw_trial(&e->trial, &pack, piece->data, piece->n, unpacks,
		      ret) < 0)
		return false;
	e->account->spent += e->chooser->weights.compress *
			     (ret->pack + ret->unpack);
	ret->is_sample = piece->is_sample;
	return true;
}

/* One trial decides much, so that one which took too long is made again. */
static bool
run(struct spw_explorer *e, const struct spw_explored *x, unsigned way,
    const struct piece *piece, struct spw_observed *ret)
{
	struct spw_observed again;

	if (!run_once(e, x, way, piece, ret))
		return false;
	if (is_slow(e, x, way, ret) && run_once(e, x, way, piece, &again) &&
	    again.pack < ret->pack)
		*ret = again;
	return true;
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

bool
spw_explore_run_sample(struct spw_explorer *e, const struct spw_explored *x,
		       unsigned way, struct spw_observed *ret)
{
	struct piece sample = { e->sample, e->sampled, true };

	return run(e, x, way, &sample, ret);
}

void
spw_explore_try(struct spw_explorer *e, const struct spw_explored *x,
		unsigned way)
{
	struct spw_observed seen;

	if (spw_explore_run_sample(e, x, way, &seen))
		spw_explore_tell(e, x, way, &seen);
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
	return run(e, x, way, &block, ret);
}
