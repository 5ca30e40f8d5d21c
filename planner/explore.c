/* SPDX-License-Identifier: BSD-3-Clause */
/* explore.c -- trials on samples and blocks, when they are due */

#include "planner/explore.h"
#include "planner/trial.h"
#include "shm/util.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#define STREAMS 512u		/* a power of two */
#define PIECES 4u		/* of data, in a sample and in a block */
#define PIECE ((size_t)SPW_QUANTUM)
#define PART (4 * PIECE)
#define LONG_PART (8 * PIECE)	/* of data that shrinks to little */
#define AGAIN_FIRST 4u		/* blocks until the next trials */
#define AGAIN_GROWS 3u
#define AGAIN_MOST 4096u
#define PROBE_SPEED 600u	/* MB/s, of the codec that filters are behind */
#define CODER_SPEED 400u	/* of one that codes bytes by how many there are */
#define SPEED_SLACK 2.0		/* codecs are at most so much faster */
#define LEAST_HASTE 0.25	/* of their speeds, or it is not believed */
#define DEARER 1.5		/* times: then more ways may be worth it */
#define NO_GAIN 0.97		/* fraction stored that is not worth it */
#define LEFT 0.35		/* that a slower one stores, of the best */
#define USUAL 0.1		/* ln, that streams of a class are apart */
#define HOPE 0.7		/* times what packing a sample took */
#define LITTLE (SPW_QUANTUM / 16.0)	/* bytes of a quantum */
#define LITTLE_HOPE 0.3		/* then most of it is getting ready */
#define CHANCE 1.3		/* times the cost of the best */
#define FINALISTS 6u		/* tested on a block, at most */

struct seen {
	struct spw_stream key;
	uint32_t asked, next;
	uint32_t turn;
	double cost;			/* of the best, as ways were ruled out */
};

struct spw_explorer {
	const struct spw_ways *ways;
	uint64_t present, warm[2];	/* ways; that ran on block, sample */
	struct spw_predictor *predictor;
	struct spw_chooser *chooser;
	struct spw_trial trial;
	uint8_t sample[PIECES * PIECE], block[PIECES * LONG_PART];
	size_t sampled, in_block;	/* bytes of them in use */
	double took[SPW_CHOICES_MAX];	/* seconds a byte of it; 0: not tried */
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

/* Pieces from the middle of each part of the data, of whole records: what a
 * file starts with is seldom like the rest of it.
 */
static size_t
gather(const struct spw_explored *x, size_t piece, uint8_t *to)
{
	size_t unit = SPW_MAX(x->traits->stride, 8);
	size_t step = x->n / PIECES, len = SPW_MIN(piece, step);

	len -= len % unit;
	for (unsigned i = 0; i < PIECES; i++) {
		size_t at = i * step + (step - len) / 2;

		memcpy(to + i * len, x->data + at - at % unit, len);
	}
	return PIECES * len;
}

static void
take_sample(struct spw_explorer *e, const struct spw_explored *x)
{
	e->sampled = gather(x, PIECE, e->sample);
	e->in_block = 0;
	memset(e->took, 0, sizeof(e->took));
}

static void
try(struct spw_explorer *e, const struct spw_explored *x, unsigned way,
    const uint8_t *data, size_t n, bool is_sample)
{
	struct spw_object_pack pack =
		spw_ways_pack(&e->ways->at[way], x->traits);
	bool unpacks = e->chooser->weights.decompress > 0;
	struct spw_observed seen;

	/* the first time there is memory to be had and code to be loaded, and
	 * more memory for a block */
	if (!(e->warm[is_sample] >> way & 1) &&
	    spw_trial(&e->trial, &pack, data, n, unpacks, &seen) < 0)
		return;
	e->warm[is_sample] |= UINT64_C(1) << way;
	if (spw_trial(&e->trial, &pack, data, n, unpacks, &seen) < 0)
		return;
	if (is_sample)
		e->took[way] = seen.pack / (double)n;
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

/* The quickest codec and level that is no quicker than this; if there is none,
 * any; 0: there is none at all.
 */
static unsigned
find_probe(const struct spw_explorer *e, uint64_t fit, unsigned most)
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

static void
try_filters(struct spw_explorer *e, const struct spw_explored *x, uint64_t fit,
	    unsigned probe)
{
	for (unsigned i = 1; i < e->ways->n; i++)
		if (is_probe(e, i, probe, fit))
			try_sample(e, x, i);
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
		if (is_probe(e, i, probe, fit) && is_known(costs, i) &&
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

/* What a plan costs beside the time that its tiers have others to serve. */
static double
cost_alone(const struct spw_chooser *ch, const struct spw_plan *plan)
{
	const struct spw_weights *w = &ch->weights;
	double cost = plan->cost;

	for (unsigned i = 0; i < plan->n; i++) {
		const struct spw_tier_state *t = &ch->tier[plan->piece[i].tier];

		cost -= (w->compress + w->ratio) * t->queue / t->write_bw;
	}
	return cost;
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
	return cost_alone(e->chooser, &plan) / (double)x->n;
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

/* Could it be better than the best so far, were it as quick as can be and left
 * no more than a part of what that stores?
 */
static bool
could_win(struct spw_explorer *e, const struct spw_explored *x, unsigned way)
{
	const struct spw_costs *costs =
		spw_predict_costs(e->predictor, x->stream);
	unsigned best = 0;
	double cost = plan_now(e, x, &best);
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
		if (is_known(costs, i))
			known |= UINT64_C(1) << i;
	return known;
}

/* Times what packing a sample took, a byte, that packing a block may take. */
static double
hope_of(const struct spw_costs *costs, unsigned way)
{
	return costs->stored[way] < LITTLE ? LITTLE_HOPE : HOPE;
}

/* Ways of a codec that was too slow for the sample, had it left nothing, and
 * has slower levels; 0: it was not.
 */
static uint64_t
no_quicker(struct spw_explorer *e, const struct spw_explored *x, unsigned way)
{
	const struct spw_costs *costs =
		spw_predict_costs(e->predictor, x->stream);
	double least = hope_of(costs, way) * e->took[way];
	uint64_t hopeless = 0;
	unsigned best;

	if (e->chooser->weights.compress * least < plan_now(e, x, &best))
		return 0;
	for (unsigned i = 1; i < e->ways->n; i++)
		if (e->ways->at[i].codec == e->ways->at[way].codec &&
		    e->ways->speed[i] <= e->ways->speed[way])
			hopeless |= UINT64_C(1) << i;
	return hopeless;
}

/* done: ways that need no trial.  True: there was one. */
static bool
try_codecs(struct spw_explorer *e, const struct spw_explored *x, uint64_t fit,
	   uint64_t filters, uint64_t done)
{
	const uint64_t before = done;
	unsigned way;

	while ((way = next_way(e, fit, filters, done)) &&
	       could_win(e, x, way)) {
		try_sample(e, x, way);
		done |= UINT64_C(1) << way | no_quicker(e, x, way);
	}
	return done != before;
}

/* What shrinks to little is packed quickly, and a longer block costs little. */
static void
try_block(struct spw_explorer *e, const struct spw_explored *x, unsigned way)
{
	const struct spw_costs *costs =
		spw_predict_costs(e->predictor, x->stream);
	size_t part = costs->stored[way] < LITTLE ? LONG_PART : PART;

	if (!e->in_block)
		e->in_block = gather(x, part, e->block);
	try(e, x, way, e->block, e->in_block, false);
}

/* Packing a sample takes longer, byte by byte, than packing a block.  So ways
 * of which only a sample was seen are taken to be faster, and who wins is put
 * to the test, until the winner is one who was.
 */
static unsigned
find_finalist(struct spw_explorer *e, const struct spw_explored *x,
	      uint64_t tested)
{
	struct spw_costs costs =
		*spw_predict_costs(e->predictor, x->stream);
	struct spw_plan plan;

	for (unsigned i = 1; i < costs.n; i++)
		if (!(tested >> i & 1))
			costs.pack[i] *= hope_of(&costs, i);
	if (spw_choose_solve(e->chooser, &costs, x->n, &plan) < 0)
		return 0;
	return plan.piece[0].choice;
}

static void
try_finalists(struct spw_explorer *e, const struct spw_explored *x)
{
	uint64_t tested = 1;

	for (unsigned i = 0; i < FINALISTS; i++) {
		unsigned way = find_finalist(e, x, tested);

		if (tested >> way & 1)
			return;
		try_block(e, x, way);
		tested |= UINT64_C(1) << way;
	}
}

/* Who would win without the winner, be it raw, gets another chance; every
 * other time, without all that have its filter.
 */
static void
try_second(struct spw_explorer *e, const struct spw_explored *x, bool filters)
{
	struct spw_costs costs =
		*spw_predict_costs(e->predictor, x->stream);
	struct spw_plan plan;
	unsigned way = 0;
	double best = plan_now(e, x, &way) * (double)x->n;

	for (unsigned i = 1; i < costs.n; i++)
		if (i == way || (way && filters && e->ways->at[i].filter ==
						   e->ways->at[way].filter))
			costs.pack[i] = (double)INFINITY;
	if (!way)
		costs.pack[0] = 1;	/* second a byte */
	if (!spw_choose_solve(e->chooser, &costs, x->n, &plan) &&
	    plan.piece[0].choice &&
	    cost_alone(e->chooser, &plan) < CHANCE * best)
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

/* The filters worth going on with, and the probe that found them.  What the
 * quick one cannot shorten, since nothing in it repeats, a slower one may.
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
	*ret_probe = find_probe(e, fit, CODER_SPEED);
	if (!usual)
		try_filters(e, x, fit, *ret_probe);
	return best_filters(e, x, fit, *ret_probe);
}

/* Ways of the probe's codec are tried anew where the stream is not as usual,
 * others too; where it is, only those that nobody tried so far, as when other
 * weights make them worth it.
 */
static bool
explore(struct spw_explorer *e, const struct spw_explored *x, bool is_new)
{
	uint64_t fit = spw_ways_fit(e->ways, x->traits) & x->may & e->present;
	unsigned probe = find_probe(e, fit, PROBE_SPEED);
	uint64_t filters, done;
	bool usual, tried;

	if (!probe)
		return false;
	take_sample(e, x);
	usual = !is_new || is_usual(e, x, probe);
	filters = probe_filters(e, x, fit, usual, &probe);
	done = usual ? known_ways(e, x)
		     : spw_ways_of(e->ways, &(struct spw_codec_choice){
			     e->ways->at[probe].codec,
			     (int8_t)e->ways->at[probe].level, 0 });
	tried = try_codecs(e, x, fit, filters, done) || !usual;
	if (tried)
		try_finalists(e, x);
	return tried;
}

/* Tiers turned out to be slower: what could not win then may now. */
static bool
is_dearer(struct spw_explorer *e, const struct spw_explored *x,
	  const struct seen *s)
{
	unsigned way;

	return plan_now(e, x, &way) > DEARER * s->cost;
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
	bool is_new = !s->next, tried;
	unsigned way;

	if (x->n < PIECES * 1024)
		return false;
	if (is_new || is_dearer(e, x, s)) {
		tried = explore(e, x, is_new);
		s->cost = plan_now(e, x, &way);
		s->next = SPW_MAX(s->next, AGAIN_FIRST);
		return tried;
	}
	if (++s->asked < s->next)
		return false;
	s->asked = 0;
	s->next = SPW_MIN(AGAIN_GROWS * s->next, AGAIN_MOST);
	e->in_block = 0;
	try_second(e, x, s->turn++ % 2 == 0);
	return true;
}
