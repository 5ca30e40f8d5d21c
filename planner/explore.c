/* SPDX-License-Identifier: BSD-3-Clause */
/* explore.c -- trials on samples and blocks, when they are due */

#include "planner/explore.h"
#include "planner/trial.h"
#include "shm/util.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#define STREAMS 512u		/* a power of two */
#define PIECE ((size_t)SPW_QUANTUM)
#define PIECES 4u
#define AGAIN_FIRST 32u		/* blocks until the next trials */
#define AGAIN_MOST 4096u
#define PROBE_SPEED 600u	/* MB/s, of the codec that filters are behind */
#define SPEED_SLACK 2.0		/* codecs are at most so much faster */
#define NO_GAIN 0.97		/* fraction stored that is not worth it */
#define CLOSE 1.1		/* times what the best filter stores */
#define USUAL 0.1		/* ln, that streams of a class are apart */
#define FINALISTS 6u		/* tested on a block, at most */

struct seen {
	struct spw_stream key;
	uint32_t asked, next;
};

struct spw_explorer {
	const struct spw_ways *ways;
	uint64_t present;
	struct spw_predictor *predictor;
	struct spw_chooser *chooser;
	struct spw_trial trial;
	uint8_t sample[PIECES * PIECE];
	size_t sampled;			/* bytes of it in use */
	struct seen seen[STREAMS];
};

int
spw_explore_new(const struct spw_ways *ways, uint64_t present,
		struct spw_predictor *predictor, struct spw_chooser *chooser,
		struct spw_explorer **ret_explorer)
{
	struct spw_explorer *e = calloc(1, sizeof(*e));

	if (!e || spw_trial_init(&e->trial) < 0) {
		free(e);
		return -ENOMEM;
	}
	e->ways = ways;
	e->present = present;
	e->predictor = predictor;
	e->chooser = chooser;
	*ret_explorer = e;
	return 0;
}

void
spw_explore_free(struct spw_explorer *e)
{
	if (!e)
		return;
	spw_trial_clear(&e->trial);
	free(e);
}

/* Pieces spread over the data, each of whole records. */
static void
take_sample(struct spw_explorer *e, const struct spw_explored *x)
{
	size_t unit = SPW_MAX(x->traits->stride, 8);
	size_t step = x->n / PIECES, len = SPW_MIN(PIECE, step);

	len -= len % unit;
	e->sampled = 0;
	for (unsigned i = 0; i < PIECES && len; i++) {
		size_t at = i * step;

		memcpy(e->sample + e->sampled, x->data + at - at % unit, len);
		e->sampled += len;
	}
}

static void
try(struct spw_explorer *e, const struct spw_explored *x, unsigned way,
    const uint8_t *data, size_t n, bool is_sample)
{
	struct spw_object_pack pack =
		spw_ways_pack(&e->ways->at[way], x->traits);
	struct spw_observed seen;

	if (spw_trial(&e->trial, &pack, data, n, &seen) < 0)
		return;
	seen.is_sample = is_sample;
	spw_predict_learn(e->predictor, x->stream, way, &seen);
}

static bool
is_known(const struct spw_costs *costs, unsigned way)
{
	return costs->pack[way] < (double)INFINITY;
}

static void
try_sample(struct spw_explorer *e, const struct spw_explored *x, unsigned way)
{
	try(e, x, way, e->sample, e->sampled, true);
}

/* The codec and level that all filters are tried with; 0: there is none. */
static unsigned
find_probe(const struct spw_explorer *e, uint64_t fit)
{
	unsigned best = 0;

	for (unsigned i = 1; i < e->ways->n; i++) {
		unsigned speed = e->ways->speed[i];

		if (fit >> i & 1 && !e->ways->at[i].filter &&
		    (!best || (speed <= PROBE_SPEED &&
			       (e->ways->speed[best] > PROBE_SPEED ||
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

static void
try_filters(struct spw_explorer *e, const struct spw_explored *x, uint64_t fit,
	    unsigned probe)
{
	for (unsigned i = 1; i < e->ways->n; i++)
		if (is_probe(e, i, probe, fit))
			try_sample(e, x, i);
}

/* The filters behind which the probe does best, a bit each; 0: nothing saves
 * anything.
 */
static uint64_t
best_filters(struct spw_explorer *e, const struct spw_explored *x,
	     uint64_t fit, unsigned probe)
{
	const struct spw_costs *costs =
		spw_predict_costs(e->predictor, x->stream);
	double least = SPW_QUANTUM * NO_GAIN;
	uint64_t good = 0;

	for (unsigned i = 1; i < e->ways->n; i++)
		if (is_probe(e, i, probe, fit) && is_known(costs, i))
			least = SPW_MIN(least, costs->stored[i]);
	if (least >= SPW_QUANTUM * NO_GAIN)
		return 0;
	for (unsigned i = 1; i < e->ways->n; i++)
		if (is_probe(e, i, probe, fit) && is_known(costs, i) &&
		    costs->stored[i] <= CLOSE * least)
			good |= UINT64_C(1) << e->ways->at[i].filter;
	return good;
}

/* Seconds a byte of the best plan so far, and the way of its first piece;
 * 0: there is none.
 */
static double
plan_now(struct spw_explorer *e, const struct spw_explored *x,
	 unsigned *ret_way)
{
	const struct spw_costs *costs =
		spw_predict_costs(e->predictor, x->stream);
	struct spw_plan plan;

	if (spw_choose_solve(e->chooser, costs, x->n, &plan) < 0)
		return 0;
	*ret_way = plan.piece[0].choice;
	return plan.cost / (double)x->n;
}

static bool
could_win(const struct spw_explorer *e, unsigned way, double best)
{
	double pack = 1e-6 / (e->ways->speed[way] * SPEED_SLACK);

	return e->chooser->weights.compress * pack < best;
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
		if (is_known(costs, i))
			known |= UINT64_C(1) << i;
	return known;
}

/* done: ways that need no trial.  True: there was one. */
static bool
try_codecs(struct spw_explorer *e, const struct spw_explored *x, uint64_t fit,
	   uint64_t filters, uint64_t done)
{
	const uint64_t before = done;
	unsigned way, best;

	while ((way = next_way(e, fit, filters, done)) &&
	       could_win(e, way, plan_now(e, x, &best))) {
		try_sample(e, x, way);
		done |= UINT64_C(1) << way;
	}
	return done != before;
}

static void
try_block(struct spw_explorer *e, const struct spw_explored *x, unsigned way)
{
	size_t n = SPW_MIN(x->n, SPW_TRIAL_MAX);
	size_t at = (x->n - n) / 2 / PIECE * PIECE;

	try(e, x, way, x->data + at, n, false);
}

/* Small samples flatter some and wrong others: who wins is put to the test,
 * until the winner is one who was.
 */
static void
try_finalists(struct spw_explorer *e, const struct spw_explored *x)
{
	uint64_t tested = 1;
	unsigned way = 0;

	for (unsigned i = 0; i < FINALISTS; i++) {
		(void)plan_now(e, x, &way);
		if (tested >> way & 1)
			return;
		try_block(e, x, way);
		tested |= UINT64_C(1) << way;
	}
}

/* Who would win without the winner gets another chance. */
static void
try_second(struct spw_explorer *e, const struct spw_explored *x)
{
	struct spw_costs costs =
		*spw_predict_costs(e->predictor, x->stream);
	struct spw_plan plan;
	unsigned way = 0;

	(void)plan_now(e, x, &way);
	costs.pack[way] = (double)INFINITY;
	if (way && !spw_choose_solve(e->chooser, &costs, x->n, &plan) &&
	    plan.piece[0].choice)
		try_block(e, x, plan.piece[0].choice);
}

static struct seen *
find_seen(struct spw_explorer *e, const struct spw_stream *s)
{
	uint64_t mix = (s->id + s->traits * 31) * UINT64_C(0x9e3779b97f4a7c15);
	struct seen *at = &e->seen[mix >> 40 & (STREAMS - 1)];

	if (at->key.id != s->id || at->key.traits != s->traits || !at->next)
		*at = (struct seen){ .key = *s };
	return at;
}

/* A sample of what would be chosen shows whether a stream is as usual. */
static bool
is_usual(struct spw_explorer *e, const struct spw_explored *x, unsigned probe)
{
	unsigned way = 0;

	if (!is_known(spw_predict_costs(e->predictor, x->stream), probe))
		return false;
	(void)plan_now(e, x, &way);
	try_sample(e, x, way ? way : probe);
	return fabs(spw_predict_drift(e->predictor, x->stream)) < USUAL;
}

/* Ways of the probe's codec are tried anew where the stream is not as usual,
 * others too; where it is, only those that nobody tried so far, as when other
 * weights make them worth it.
 */
static bool
explore_new(struct spw_explorer *e, const struct spw_explored *x)
{
	uint64_t fit = spw_ways_fit(e->ways, x->traits) & x->may & e->present;
	unsigned probe = find_probe(e, fit);
	uint64_t filters, done;
	bool usual, tried;

	if (!probe)
		return false;
	take_sample(e, x);
	usual = is_usual(e, x, probe);
	if (!usual)
		try_filters(e, x, fit, probe);
	filters = best_filters(e, x, fit, probe);
	done = usual ? known_ways(e, x)
		     : spw_ways_of(e->ways, &(struct spw_codec_choice){
			     e->ways->at[probe].codec,
			     (int8_t)e->ways->at[probe].level, 0 });
	tried = try_codecs(e, x, fit, filters, done);
	if (tried || !usual)
		try_finalists(e, x);
	return tried || !usual;
}

void
spw_explore_renew(struct spw_explorer *e)
{
	memset(e->seen, 0, sizeof(e->seen));
}

bool
spw_explore(struct spw_explorer *e, const struct spw_explored *x)
{
	struct seen *s = find_seen(e, x->stream);

	if (x->n < PIECES * 1024)
		return false;
	if (!s->next) {
		s->next = AGAIN_FIRST;
		return explore_new(e, x);
	}
	if (++s->asked < s->next)
		return false;
	s->asked = 0;
	s->next = SPW_MIN(2 * s->next, AGAIN_MOST);
	try_second(e, x);
	return true;
}
