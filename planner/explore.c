/* SPDX-License-Identifier: BSD-3-Clause */
/* explore.c -- trials on samples and blocks, when they are due */

#include "planner/explore-parts.h"
#include "shm/util.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define AGAIN_FIRST 4u		/* blocks until the next trials */
#define AGAIN_PATTERN 1u
#define AGAIN_GROWS 3u
#define AGAIN_MOST 4096u
#define PATTERN_SPEED 500u	/* MB/s, of who stores least of a pattern */
#define PATTERN_HOPE 40e9	/* bytes a second, of one */
#define PATTERN_LEFT { 250, 2500 }	/* bytes that leave one, the codec for
					 * filters and that one */
#define DEARER 1.5		/* times: then more ways may be worth it */
#define CHEAPER 0.97		/* times, of like data */
#define USUAL 0.1		/* ln, that streams of a class are apart */
#define SAME 0.05		/* the same, of classes of a stream */

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

static struct spw_explore_seen *
find_seen(struct spw_explorer *e, const struct spw_stream *s)
{
	struct spw_explore_seen *at =
		&e->seen[spw_explore_slot(s->id + s->traits * 31)];

	if (at->key.id != s->id || at->key.traits != s->traits || !at->next)
		*at = (struct spw_explore_seen){ .key = *s };
	return at;
}

static struct spw_explore_account *
find_account(struct spw_explorer *e, uint64_t id)
{
	struct spw_explore_account *at = &e->accounts[spw_explore_slot(id)];

	if (at->id != id)
		*at = (struct spw_explore_account){ .id = id };
	return at;
}

/* A sample of what would be chosen shows whether a stream is as usual. */
static bool
is_usual(struct spw_explorer *e, const struct spw_explored *x, unsigned probe)
{
	unsigned way = 0;

	if (!spw_explore_is_known(spw_predict_costs(e->predictor, x->stream),
				  probe))
		return false;
	(void)spw_explore_plan(e, x, &way);
	spw_explore_try(e, x, way ? way : probe);
	return fabs(spw_predict_drift(e->predictor, x->stream)) < USUAL;
}

/* Of what is the same all over, no filter helps, and codecs are as quick as
 * memory is read: two of them are enough, and any trial is long beside packing
 * a block.  So both are taken to be quicker than they are until they got a
 * block each.
 */
static void
guess_pattern(struct spw_explorer *e, const struct spw_explored *x,
	      uint64_t fit)
{
	const unsigned way[2] = { spw_explore_probe(e, fit, SPW_EXPLORE_PROBE),
				  spw_explore_probe(e, fit, PATTERN_SPEED) };
	static const unsigned left[2] = PATTERN_LEFT;

	if (spw_explore_is_known(spw_predict_costs(e->predictor, x->stream),
				 way[1]))
		return;			/* by other streams */
	for (int i = 0; i < 2; i++)
		spw_predict_guess(e->predictor, x->stream, way[i],
				  &(struct spw_observed){
			.bytes = x->n, .stored = x->n / left[i],
			.pack = (double)x->n / PATTERN_HOPE,
		});
}

static bool
is_pattern(const struct spw_traits *t)
{
	return t->kind == SPW_DATA_ZERO || t->kind == SPW_DATA_REPEATED;
}

static uint64_t
fitting(const struct spw_explorer *e, const struct spw_explored *x)
{
	return spw_ways_fit(e->ways, x->traits) & x->may & e->present;
}

/* What is best for much the same data of the stream comes first: it will
 * hardly be bad, and there may be no time for more.
 */
static void
try_kin(struct spw_explorer *e, const struct spw_explored *x, uint64_t fit)
{
	unsigned best = spw_explore_kin(e, x)->best;

	if (best && fit >> best & 1 && !spw_explore_is_tried(e, x, best))
		spw_explore_try(e, x, best);
}

/* And what turns out to be better there later on is tried here as well. */
static bool
follow_kin(struct spw_explorer *e, const struct spw_explored *x, unsigned way,
	   double cost)
{
	struct spw_explore_kin *kin = spw_explore_kin(e, x);

	if (!(cost > 0))
		return false;		/* all tiers are full */
	if (way == kin->best || !(kin->cost > 0) || cost < kin->cost) {
		kin->best = way;
		kin->cost = cost;
		return false;
	}
	return kin->best && kin->cost < CHEAPER * cost &&
	       fitting(e, x) >> kin->best & 1 &&
	       !spw_explore_is_tried(e, x, kin->best) &&
	       spw_explore_block(e, x, kin->best);
}

/* Is it like data of the stream that has another class, by a sample packed as
 * one of that was?  Then what is known of that holds, and nothing is tried.
 */
static bool
is_as_kin(struct spw_explorer *e, const struct spw_explored *x, uint64_t fit,
	  struct spw_explore_seen *s)
{
	const struct spw_explore_kin *kin = spw_explore_kin(e, x);
	const struct spw_stream other = { x->stream->id, kin->traits };
	struct spw_observed seen;
	double left;

	if (!kin->sampled || kin->traits == x->stream->traits ||
	    !(fit >> kin->sampled & 1) ||
	    !(spw_predict_evidence(e->predictor, &other, kin->sampled) > 0) ||
	    !spw_explore_run_sample(e, x, kin->sampled, &seen))
		return false;
	left = (double)seen.stored / (double)seen.bytes;
	if (fabs(log(left / kin->left)) > SAME) {
		spw_explore_tell(e, x, kin->sampled, &seen);
		return false;
	}
	spw_predict_inherit(e->predictor, x->stream, &other);
	s->next = find_seen(e, &other)->next;
	return true;
}

/* What later classes of the stream are held against: the best way, if it was
 * tried on this sample, or the one that left least.
 */
static void
note_kin(struct spw_explorer *e, const struct spw_explored *x)
{
	struct spw_explore_kin *kin = spw_explore_kin(e, x);
	unsigned best = 0, least = 0;

	(void)spw_explore_plan(e, x, &best);
	for (unsigned i = 1; i < e->ways->n; i++)
		if (e->took[i] > 0 && (!least || e->left[i] < e->left[least]))
			least = i;
	if (!least)
		return;			/* nothing was tried */
	kin->traits = x->stream->traits;
	kin->sampled = e->took[best] > 0 ? best : least;
	kin->left = e->left[kin->sampled];
}

/* All that is worth it, or, where that was cut short, the rest of it; and
 * where other weights or tiers make them worth it, ways that nobody tried.
 */
static bool
explore(struct spw_explorer *e, const struct spw_explored *x,
	struct spw_explore_seen *s)
{
	uint64_t fit = fitting(e, x);
	unsigned probe = spw_explore_probe(e, fit, SPW_EXPLORE_PROBE);
	bool is_new = !s->next, usual, tried;
	uint64_t filters;

	if (!probe)
		return false;
	if (is_pattern(x->traits)) {
		if (is_new)
			guess_pattern(e, x, fit);
		return false;
	}
	spw_explore_sample(e, x);
	if (is_new && is_as_kin(e, x, fit, s))
		return true;
	usual = is_new ? is_usual(e, x, probe) : !s->cut;
	if (!usual)
		try_kin(e, x, fit);
	filters = spw_explore_filters(e, x, fit, usual, &probe);
	tried = spw_explore_codecs(e, x, fit, filters,
			   spw_explore_done(e, x, usual, probe)) || !usual;
	if (tried)
		spw_explore_finalists(e, x);
	note_kin(e, x);
	return tried;
}

void
spw_explore_renew(struct spw_explorer *e)
{
	memset(e->seen, 0, sizeof(e->seen));
	memset(e->accounts, 0, sizeof(e->accounts));
	for (unsigned i = 0; i < SPW_EXPLORE_STREAMS; i++)
		e->kin[i].cost = 0;
}

static bool
explore_all(struct spw_explorer *e, const struct spw_explored *x,
	    struct spw_explore_seen *s)
{
	bool tried;
	unsigned way;

	e->cut = false;
	tried = explore(e, x, s);
	s->cut = e->cut;
	s->cost = spw_explore_plan(e, x, &way);
	s->next = SPW_MAX(s->next, is_pattern(x->traits) ? AGAIN_PATTERN
							 : AGAIN_FIRST);
	return tried;
}

bool
spw_explore(struct spw_explorer *e, const struct spw_explored *x,
	    uint64_t *ret_rest)
{
	struct spw_explore_seen *s = find_seen(e, x->stream);
	unsigned best = 0;
	double cost;

	*ret_rest = 0;
	e->account = find_account(e, x->stream->id);
	e->account->bytes += (double)x->n;
	if (x->n < SPW_EXPLORE_PIECES * 1024)
		return false;
	cost = spw_explore_plan(e, x, &best);
	if (!s->next || cost > DEARER * s->cost)
		return explore_all(e, x, s);
	if (follow_kin(e, x, best, cost))
		return true;
	if (++s->asked < s->next)
		return false;
	s->asked = 0;
	s->next = SPW_MIN(AGAIN_GROWS * s->next, AGAIN_MOST);
	if (s->cut)
		return explore_all(e, x, s);
	if (is_pattern(x->traits)) {
		if (spw_explore_is_close(e, x, best))
			*ret_rest = SPW_CHOICES_RAW | UINT64_C(1) << best;
		return false;
	}
	spw_explore_seconds(e, x);
	return true;
}
