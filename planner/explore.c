/* SPDX-License-Identifier: BSD-3-Clause */
/* explore.c -- trials on samples and blocks, when they are due */

#include "planner/explore.h"
#include "planner/trial.h"
#include "shm/util.h"
#include "tiers/filter.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#define STREAMS 512u		/* a power of two */
#define PIECES 4u		/* of data, in a sample and in a block */
#define PIECE ((size_t)SPW_QUANTUM)
#define PART (5 * PIECE)	/* more than 64 KiB, as blocks of objects are:
				 * codecs have other tables for less */
#define LONG_PART (8 * PIECE)	/* of data that shrinks to little */
#define AGAIN_FIRST 4u		/* blocks until the next trials */
#define AGAIN_GROWS 3u
#define AGAIN_MOST 4096u
#define PROBE_SPEED 600u	/* MB/s, of the codec that filters are behind */
#define PATTERN_SPEED 500u	/* of one that stores least of a pattern */
#define CODER_SPEED 400u	/* of one that codes bytes by how many there are */
#define SPEED_SLACK 2.0		/* codecs are at most so much faster */
#define LEAST_HASTE 0.25	/* of their speeds, or it is not believed */
#define DEARER 1.5		/* times: then more ways may be worth it */
#define NO_GAIN 0.97		/* fraction stored that is not worth it */
#define FILTERS 8u		/* and their numbers are below */
#define SAVES 0.99		/* of what is stored without */
#define LEFT 0.35		/* that a slower one stores, of the best */
#define USUAL 0.1		/* ln, that streams of a class are apart */
#define HOPE 0.6		/* times what packing a sample took */
#define LITTLE (SPW_QUANTUM / 16.0)	/* bytes of a quantum */
#define LITTLE_HOPE 0.3		/* then most of it is getting ready */
#define CHANCE 1.15		/* times the cost of the best */
#define FINALISTS 6u		/* tested on a block, at most */
#define EXPECTED (64e6 * 1.048576)	/* bytes of a stream, or more */
#define SHARE 0.008		/* of the time these take, for trials */
#define SPARE_SHARE 0.2		/* of that, for what will hardly be good; */
#define CODECS_SHARE 0.6	/* before a block is tried; */
#define LATER_SHARE 1.3		/* and with what is tried later */

struct seen {
	struct spw_stream key;
	uint32_t asked, next;
	double cost;			/* of the best, as ways were ruled out */
	bool cut;			/* more would have been tried, had there
					 * been time */
};

/* What a stream, of whatever traits, has cost. */
struct account {
	uint64_t id;
	double bytes, spent;		/* seconds in trials, weighted */
};

/* The filters that were good for data of a stream. */
struct kin {
	uint64_t id, alike;		/* the traits, in part */
	uint64_t filters;		/* 0: none was */
};

struct spw_explorer {
	const struct spw_ways *ways;
	uint64_t present;		/* ways */
	struct spw_predictor *predictor;
	struct spw_chooser *chooser;
	struct spw_trial trial;
	uint8_t sample[PIECES * PIECE], block[PIECES * LONG_PART];
	size_t sampled, in_block;	/* bytes of them in use */
	double took[SPW_CHOICES_MAX];	/* seconds a byte of it; 0: not tried */
	bool cut;			/* trials were left out */
	struct account *account;	/* of the stream at hand */
	struct account accounts[STREAMS];
	struct kin kin[STREAMS];
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
	memset(e->block, 0xa5, sizeof(e->block));	/* now, not in a trial */
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

struct piece {				/* to be tried */
	const uint8_t *data;
	size_t n;
	bool is_sample;
};

/* False: it cannot be had here. */
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
	e->account->spent += e->chooser->weights.compress *
			     (ret->pack + ret->unpack);
	ret->is_sample = piece->is_sample;
	return true;
}

static void
tell(struct spw_explorer *e, const struct spw_explored *x, unsigned way,
     const struct spw_observed *seen)
{
	if (seen->is_sample)
		e->took[way] = seen->pack / (double)seen->bytes;
	spw_predict_learn(e->predictor, x->stream, way, seen);
}

static void
try(struct spw_explorer *e, const struct spw_explored *x, unsigned way,
    const struct piece *piece)
{
	struct spw_observed seen;

	if (run(e, x, way, piece, &seen))
		tell(e, x, way, &seen);
}

static bool
is_known(const struct spw_costs *costs, unsigned way)
{
	return costs->pack[way] < (double)INFINITY;
}

static void
try_sample(struct spw_explorer *e, const struct spw_explored *x, unsigned way)
{
	struct piece sample = { e->sample, e->sampled, true };

	try(e, x, way, &sample);
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

/* May trials go on?  They get a share of the time that the stream takes as far
 * as is known, of which `part` may be spent by now.
 */
static bool
can_afford(struct spw_explorer *e, const struct spw_explored *x, double part)
{
	double bytes = SPW_MAX(e->account->bytes, EXPECTED);
	unsigned way;

	if (e->account->spent <= part * SHARE * bytes * plan_now(e, x, &way))
		return true;
	e->cut = true;
	return false;
}

/* What filters do to data depends on little of what its class is told by. */
static uint64_t
alike_of(const struct spw_traits *t)
{
	return 1 | (uint64_t)t->kind << 8 | (uint64_t)t->width << 16 |
	       (uint64_t)t->stride << 24 | (uint64_t)t->is_big << 32;
}

static struct kin *
find_kin(struct spw_explorer *e, const struct spw_explored *x)
{
	uint64_t id = x->stream->id, alike = alike_of(x->traits);
	uint64_t mix = (id + alike * 31) * UINT64_C(0x9e3779b97f4a7c15);
	struct kin *at = &e->kin[mix >> 40 & (STREAMS - 1)];

	if (at->id != id || at->alike != alike)
		*at = (struct kin){ id, alike, 0 };
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

/* Was it tried on this stream, or used? */
static bool
is_tried(struct spw_explorer *e, const struct spw_explored *x, unsigned way)
{
	return spw_predict_evidence(e->predictor, x->stream, way) > 0;
}

/* One that stores no less than a part of it does, which takes less time, is
 * forgotten.
 */
static void
try_filter(struct spw_explorer *e, const struct spw_explored *x, unsigned way,
	   double stored[FILTERS])
{
	const struct piece sample = { e->sample, e->sampled, true };
	unsigned filter = e->ways->at[way].filter % FILTERS;
	struct spw_observed seen;

	if (!run(e, x, way, &sample, &seen))
		return;
	stored[filter] = (double)seen.stored;
	if (!filter || stored[filter] < SAVES * stored[part_of(filter)])
		tell(e, x, way, &seen);
}

/* Where much the same data of the stream was explored before, the filters that
 * were good there come first, and others if there is time to spare.
 */
static void
try_filters(struct spw_explorer *e, const struct spw_explored *x, uint64_t fit,
	    unsigned probe)
{
	uint64_t good = find_kin(e, x)->filters;
	double stored[FILTERS];

	for (unsigned f = 0; f < FILTERS; f++)
		stored[f] = (double)e->sampled;
	for (unsigned others = !good; others < 2; others++)
		for (unsigned i = 1; i < e->ways->n; i++)
			if (is_probe(e, i, probe, fit) &&
			    (good >> e->ways->at[i].filter & 1) != others &&
			    !is_tried(e, x, i) &&
			    can_afford(e, x, good && others ? SPARE_SHARE :
							      CODECS_SHARE))
				try_filter(e, x, i, stored);
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
	       could_win(e, x, way) && can_afford(e, x, CODECS_SHARE)) {
		try_sample(e, x, way);
		done |= UINT64_C(1) << way | no_quicker(e, x, way);
	}
	return done != before;
}

/* What shrinks to little is packed quickly, and a longer block costs little. */
static bool
run_block(struct spw_explorer *e, const struct spw_explored *x, unsigned way,
	  struct spw_observed *ret)
{
	const struct spw_costs *costs =
		spw_predict_costs(e->predictor, x->stream);
	size_t part = costs->stored[way] < LITTLE ? LONG_PART : PART;

	if (!e->in_block)
		e->in_block = gather(x, part, e->block);
	return run(e, x, way, &(struct piece){ e->block, e->in_block, false },
		   ret);
}

/* Packing a sample takes longer, byte by byte, than packing a block.  So ways
 * of which no block was seen are taken to be faster.
 */
static void
hope_for(struct spw_explorer *e, const struct spw_explored *x,
	 struct spw_costs *costs)
{
	*costs = *spw_predict_costs(e->predictor, x->stream);
	for (unsigned i = 1; i < costs->n; i++)
		if (is_known(costs, i) &&
		    spw_predict_evidence(e->predictor, x->stream, i) < 1)
			costs->pack[i] *= hope_of(costs, i);
}

/* Who wins then is put to the test, until the winner is one who was. */
static unsigned
find_finalist(struct spw_explorer *e, const struct spw_explored *x)
{
	struct spw_costs costs;
	struct spw_plan plan;

	hope_for(e, x, &costs);
	if (spw_choose_solve(e->chooser, &costs, x->n, &plan) < 0)
		return 0;
	return plan.piece[0].choice;
}

static void
try_finalists(struct spw_explorer *e, const struct spw_explored *x)
{
	struct spw_observed seen;
	uint64_t tested = 1;

	for (unsigned i = 0; i < FINALISTS; i++) {
		unsigned way = find_finalist(e, x);

		if (tested >> way & 1 || !can_afford(e, x, 1) ||
		    !run_block(e, x, way, &seen))
			return;
		tell(e, x, way, &seen);
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
find_second(struct spw_explorer *e, const struct spw_explored *x, uint64_t but)
{
	struct spw_costs costs;
	struct spw_plan plan;
	unsigned way;
	double best = plan_now(e, x, &way) * (double)x->n;

	hope_for(e, x, &costs);
	for (unsigned i = 1; i < costs.n; i++)
		if (but >> i & 1)
			costs.pack[i] = (double)INFINITY;
	if (but & 1)
		costs.pack[0] = 1;	/* second a byte */
	if (spw_choose_solve(e->chooser, &costs, x->n, &plan) < 0 ||
	    cost_alone(e->chooser, &plan) >= CHANCE * best)
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
	if (!run_block(e, x, winner, &seen))
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

	if (!run_block(e, x, way, &seen))
		return;
	stored = SPW_MIN(rate->stored * (double)seen.stored,
			 (double)seen.bytes);
	if (seen.stored < seen.bytes)
		seen.stored = (uint64_t)SPW_MAX(stored, 1);
	seen.pack *= rate->time;
	seen.unpack *= rate->time;
	tell(e, x, way, &seen);
}

/* Who would win without the winner, be it raw, gets another chance. */
static void
try_seconds(struct spw_explorer *e, const struct spw_explored *x)
{
	uint64_t tried = 0;
	unsigned winner = 0;
	struct rate rate;

	e->in_block = 0;
	(void)plan_now(e, x, &winner);
	for (enum unlike u = 0; u < UNLIKES; u++) {
		unsigned way = find_second(e, x, ways_like(e, winner, u));

		if (!way || tried >> way & 1 ||
		    !can_afford(e, x, LATER_SHARE) ||
		    (!tried && !rate_winner(e, x, winner, &rate)))
			continue;
		try_beside(e, x, way, &rate);
		tried |= UINT64_C(1) << way;
	}
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

static struct account *
find_account(struct spw_explorer *e, uint64_t id)
{
	uint64_t mix = id * UINT64_C(0x9e3779b97f4a7c15);
	struct account *at = &e->accounts[mix >> 40 & (STREAMS - 1)];

	if (at->id != id)
		*at = (struct account){ .id = id };
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

/* Of what is the same all over, any part tells all, no filter helps, and codecs
 * are as quick as memory is read: two of them are enough, and until blocks show
 * otherwise they are taken to be as quick as the quicker one.
 */
static bool
try_pattern(struct spw_explorer *e, const struct spw_explored *x, uint64_t fit)
{
	const unsigned way[2] = { find_probe(e, fit, PROBE_SPEED),
				  find_probe(e, fit, PATTERN_SPEED) };
	struct piece piece = { x->data, SPW_MIN(x->n, SPW_TRIAL_MAX), false };
	struct spw_observed seen[2];
	double least;

	if (is_known(spw_predict_costs(e->predictor, x->stream), way[1]) ||
	    !run(e, x, way[0], &piece, &seen[0]) ||
	    !run(e, x, way[1], &piece, &seen[1]))
		return false;
	least = SPW_MIN(seen[0].pack, seen[1].pack);
	for (int i = 0; i < 2; i++) {
		seen[i].pack = least;
		tell(e, x, way[i], &seen[i]);
	}
	return true;
}

static bool
is_pattern(const struct spw_traits *t)
{
	return t->kind == SPW_DATA_ZERO || t->kind == SPW_DATA_REPEATED;
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

/* What needs no trial: where the stream is as usual for its class, all that is
 * known; else what was tried on itself.
 */
static uint64_t
ways_done(struct spw_explorer *e, const struct spw_explored *x, bool usual,
	  unsigned probe)
{
	uint64_t done = spw_ways_of(e->ways, &(struct spw_codec_choice){
		e->ways->at[probe].codec, (int8_t)e->ways->at[probe].level, 0
	});

	if (usual)
		return known_ways(e, x);
	for (unsigned i = 1; i < e->ways->n; i++)
		if (is_tried(e, x, i))
			done |= UINT64_C(1) << i;
	return done;
}

/* All that is worth it, or, where that was cut short, the rest of it; and
 * where other weights or tiers make them worth it, ways that nobody tried.
 */
static bool
explore(struct spw_explorer *e, const struct spw_explored *x,
	const struct seen *s)
{
	uint64_t fit = spw_ways_fit(e->ways, x->traits) & x->may & e->present;
	unsigned probe = find_probe(e, fit, PROBE_SPEED);
	bool is_new = !s->next, usual, tried;
	uint64_t filters;

	if (!probe)
		return false;
	if (is_new && is_pattern(x->traits))
		return try_pattern(e, x, fit);
	take_sample(e, x);
	usual = is_new ? is_usual(e, x, probe) : !s->cut;
	filters = probe_filters(e, x, fit, usual, &probe);
	find_kin(e, x)->filters = filters;
	tried = try_codecs(e, x, fit, filters,
			   ways_done(e, x, usual, probe)) || !usual;
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
	memset(e->accounts, 0, sizeof(e->accounts));
}

static bool
explore_all(struct spw_explorer *e, const struct spw_explored *x,
	    struct seen *s)
{
	bool tried;
	unsigned way;

	e->cut = false;
	tried = explore(e, x, s);
	s->cut = e->cut;
	s->cost = plan_now(e, x, &way);
	s->next = SPW_MAX(s->next, AGAIN_FIRST);
	return tried;
}

bool
spw_explore(struct spw_explorer *e, const struct spw_explored *x)
{
	struct seen *s = find_seen(e, x->stream);

	e->account = find_account(e, x->stream->id);
	e->account->bytes += (double)x->n;
	if (x->n < PIECES * 1024)
		return false;
	if (!s->next || is_dearer(e, x, s))
		return explore_all(e, x, s);
	if (++s->asked < s->next)
		return false;
	s->asked = 0;
	s->next = SPW_MIN(AGAIN_GROWS * s->next, AGAIN_MOST);
	if (s->cut)
		return explore_all(e, x, s);
	if (is_pattern(x->traits))
		return false;		/* there is nothing to find */
	try_seconds(e, x);
	return true;
}
