/* SPDX-License-Identifier: BSD-3-Clause */
/* explore-filter.c -- trials of filters, behind a quick codec */

#include "planner/explore-parts.h"
#include "tiers/filter.h"

#define CODER_SPEED 400u	/* MB/s, of one that codes bytes by how many
				 * there are */
#define SPARE 0.2		/* of the time, for what will hardly be good */
#define NO_GAIN 0.97		/* fraction stored that is not worth it */
#define SAVES 0.99		/* of what is stored without */

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

/* One that stores no less than a part of it does, which takes less time, is
 * forgotten.
 */
static void
try_filter(struct spw_explorer *e, const struct spw_explored *x, unsigned way,
	   double stored[SPW_FILTERS])
{
	unsigned filter = e->ways->at[way].filter % SPW_FILTERS;
	struct spw_observed seen;

	if (!spw_explore_run_sample(e, x, way, &seen))
		return;
	stored[filter] = (double)seen.stored;
	if (!filter || stored[filter] < SAVES * stored[part_of(filter)])
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
	double stored[SPW_FILTERS], part = SPW_EXPLORE_CODECS;

	for (unsigned f = 0; f < SPW_FILTERS; f++)
		stored[f] = (double)e->sampled;
	for (unsigned others = !good; others < 2; others++) {
		if (good && others)
			part = SPARE;
		for (unsigned i = 1; i < e->ways->n; i++)
			if (is_probe(e, i, probe, fit) &&
			    (good >> e->ways->at[i].filter & 1) != others &&
			    !spw_explore_is_tried(e, x, i) &&
			    spw_explore_affords(e, x, part))
				try_filter(e, x, i, stored);
	}
}

/* The filter behind which the probe stores least, of those not in `but`; -1:
 * none saves anything.
 */
static int
best_filter(struct spw_explorer *e, const struct spw_explored *x, uint64_t fit,
	    unsigned probe, uint64_t but)
{
	const struct spw_costs *costs =
		spw_predict_costs(e->predictor, x->stream);
	double least = SPW_QUANTUM * NO_GAIN;
	int best = -1;

	for (unsigned i = 1; i < e->ways->n; i++)
		if (is_probe(e, i, probe, fit) &&
		    spw_explore_is_known(costs, i) &&
		    !(but >> e->ways->at[i].filter & 1) &&
		    costs->stored[i] < least) {
			least = costs->stored[i];
			best = e->ways->at[i].filter;
		}
	return best;
}

/* The best two, a bit each; 0: nothing saves anything. */
static uint64_t
best_filters(struct spw_explorer *e, const struct spw_explored *x,
	     uint64_t fit, unsigned probe)
{
	uint64_t good = 0;

	for (int n = 0; n < 2; n++) {
		int filter = best_filter(e, x, fit, probe, good);

		if (filter >= 0)
			good |= UINT64_C(1) << filter;
	}
	return good;
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
