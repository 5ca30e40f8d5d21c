/* SPDX-License-Identifier: BSD-3-Clause */
/* explore-filter.c -- trials of filters, behind a quick codec */

#include "planner/explore-parts.h"
#include "tiers/filter.h"

#define CODER_SPEED 400u	/* MB/s, of one that codes bytes by how many
				 * there are */
#define SPARE 0.2		/* of the time, for what will hardly be good */
#define SAVES 0.99		/* of what is stored without */
#define NO_MORE 1.002		/* the same, where it takes less time */

/* What filters do to data depends on little of what its class is told by. */
static uint64_t
alike_of(const struct spw_traits *t)
{
	return 1 | (uint64_t)t->kind << 8 | (uint64_t)t->width << 16 |
	       (uint64_t)t->stride << 24 | (uint64_t)t->is_big << 32;
}

struct spw_explore_kin *
spw_explore_kin(struct spw_explorer *e, const struct spw_explored *x)
{
	uint64_t id = x->stream->id, alike = alike_of(x->traits);
	struct spw_explore_kin *at =
		&e->kin[spw_explore_slot(id + alike * 31)];

	if (at->id != id || at->alike != alike)
		*at = (struct spw_explore_kin){ .id = id, .alike = alike };
	return at;
}

/* The filter that does a part of what this one does. */
static unsigned
part_of(unsigned filter)
{
	switch (filter) {
	case SPW_FILTER_DELTA_SHUFFLE:
	case SPW_FILTER_XOR_SHUFFLE:
		return SPW_FILTER_SHUFFLE;
	case SPW_FILTER_DELTA_BITSHUFFLE:
		return SPW_FILTER_BITSHUFFLE;
	default:
		return SPW_FILTER_NONE;
	}
}

unsigned
spw_explore_probe(const struct spw_explorer *e, uint64_t fit, unsigned most)
{
	unsigned best = 0;

	for (unsigned i = 1; i < e->ways->n; i++) {
		unsigned speed = e->ways->speed[i];

		if (fit >> i & 1 && !e->ways->at[i].filter &&
		    (!best || (speed <= most &&
			       (e->ways->speed[best] > most ||
				speed > e->ways->speed[best]))))
			best = i;
	}
	return best;
}

static bool
is_same_codec(const struct spw_choice *a, const struct spw_choice *b)
{
	return a->codec == b->codec && a->level == b->level;
}

static bool
is_probe(const struct spw_explorer *e, unsigned way, unsigned probe,
	 uint64_t fit)
{
	return fit >> way & 1 &&
	       is_same_codec(&e->ways->at[way], &e->ways->at[probe]);
}

/* What the probe made of the sample behind each filter. */
struct tried {
	double stored, pack;
};

/* A part of a filter usually takes less time, but what is harder to pack is run
 * over.
 */
static bool
is_better(const struct tried *a, const struct tried *part)
{
	return a->stored < SAVES * part->stored ||
	       (a->stored < NO_MORE * part->stored && a->pack < part->pack);
}

/* One that is no better than a part of it is forgotten. */
static void
try_filter(struct spw_explorer *e, const struct spw_explored *x, unsigned way,
	   struct tried tried[SPW_FILTERS])
{
	unsigned filter = e->ways->at[way].filter % SPW_FILTERS;
	struct tried *at = &tried[filter];
	struct spw_observed seen;

	if (!spw_explore_run_sample(e, x, way, &seen))
		return;
	*at = (struct tried){ (double)seen.stored, seen.pack };
	if (!filter || is_better(at, &tried[part_of(filter)]))
		spw_explore_tell(e, x, way, &seen);
}

/* Where much the same data of the stream was explored before, the filters that
 * were good there come first, and others if there is time to spare.
 */
static void
try_filters(struct spw_explorer *e, const struct spw_explored *x, uint64_t fit,
	    unsigned probe)
{
	uint64_t good = spw_explore_kin(e, x)->filters;
	struct tried tried[SPW_FILTERS];
	double part = SPW_EXPLORE_CODECS;

	for (unsigned f = 0; f < SPW_FILTERS; f++)
		tried[f] = (struct tried){ (double)e->sampled, 0 };
	for (unsigned others = !good; others < 2; others++) {
		if (good && others)
			part = SPARE;
		for (unsigned i = 1; i < e->ways->n; i++)
			if (is_probe(e, i, probe, fit) &&
			    (good >> e->ways->at[i].filter & 1) != others &&
			    !spw_explore_is_tried(e, x, i) &&
			    spw_explore_affords(e, x, part))
				try_filter(e, x, i, tried);
	}
}

/* The filter behind which the probe stores least; -1: none saves anything. */
static int
best_filter(struct spw_explorer *e, const struct spw_explored *x, uint64_t fit,
	    unsigned probe)
{
	const struct spw_costs *costs =
		spw_predict_costs(e->predictor, x->stream);
	double least = SPW_QUANTUM * SPW_EXPLORE_SAVES;
	int best = -1;

	for (unsigned i = 1; i < e->ways->n; i++)
		if (is_probe(e, i, probe, fit) &&
		    spw_explore_is_known(costs, i) &&
		    costs->stored[i] < least) {
			least = costs->stored[i];
			best = e->ways->at[i].filter;
		}
	return best;
}

/* The one behind which the probe costs least, of all others; as above. */
static int
cheapest_filter(struct spw_explorer *e, const struct spw_explored *x,
		uint64_t fit, unsigned probe, int but)
{
	struct spw_costs costs = *spw_predict_costs(e->predictor, x->stream);
	struct spw_plan plan;

	for (unsigned i = 1; i < e->ways->n; i++)
		if (!is_probe(e, i, probe, fit) ||
		    e->ways->at[i].filter == but ||
		    costs.stored[i] >= SPW_QUANTUM * SPW_EXPLORE_SAVES)
			costs.pack[i] = (double)INFINITY;
	costs.pack[0] = 1;		/* second a byte */
	if (spw_choose_solve(e->chooser, &costs, x->n, &plan) < 0 ||
	    !plan.piece[0].choice)
		return -1;
	return e->ways->at[plan.piece[0].choice].filter;
}

/* A bit each; 0: nothing saves anything. */
static uint64_t
best_filters(struct spw_explorer *e, const struct spw_explored *x,
	     uint64_t fit, unsigned probe)
{
	int best = best_filter(e, x, fit, probe), next;

	if (best < 0)
		return 0;
	next = cheapest_filter(e, x, fit, probe, best);
	return UINT64_C(1) << best | (next < 0 ? 0 : UINT64_C(1) << next);
}

/* What the quick codec cannot shorten, since nothing in it repeats, a slower
 * one may.
 */
static uint64_t
probe_filters(struct spw_explorer *e, const struct spw_explored *x,
	      uint64_t fit, bool usual, unsigned *ret_probe)
{
	uint64_t filters;

	if (!usual)
		try_filters(e, x, fit, *ret_probe);
	filters = best_filters(e, x, fit, *ret_probe);
	if (filters)
		return filters;
	*ret_probe = spw_explore_probe(e, fit, CODER_SPEED);
	if (!usual)
		try_filters(e, x, fit, *ret_probe);
	return best_filters(e, x, fit, *ret_probe);
}

uint64_t
spw_explore_filters(struct spw_explorer *e, const struct spw_explored *x,
		    uint64_t fit, bool usual, unsigned *ret_probe)
{
	uint64_t filters = probe_filters(e, x, fit, usual, ret_probe);

	spw_explore_kin(e, x)->filters = filters;
	return filters;
}
