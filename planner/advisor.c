/* SPDX-License-Identifier: BSD-3-Clause */
/* advisor.c -- asks the parts of the planner one after the other */

#include "planner/advisor.h"
#include "planner/explore.h"
#include "planner/ways.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { NOTES = 2 };

struct spw_advisor {
	struct spw_ways ways;
	struct spw_predictor *predictor;
	struct spw_chooser *chooser;
	struct spw_monitor *monitor;
	struct spw_explorer *explorer;
	char *seed;
	bool owed;			/* it was damaged */
	bool overlap;
	struct spw_plan plan;		/* one that is not kept */
	struct spw_seed_note note[NOTES];
};

/* A module that was never built is no news; one that does not load is. */
static void
note_missing(struct spw_seed_note *note, const struct spw_codec_slot *slot)
{
	size_t used = strlen(note->text);

	if (slot->codec || slot->error == -ENOENT)
		return;
	(void)snprintf(note->text + used, sizeof(note->text) - used,
		       used ? ", codec %s too" :
		       "codec %s cannot be used and is left out: %.150s",
		       slot->name, slot->finding.text);
}

static uint64_t
fit(const void *ways, uint64_t key)
{
	struct spw_traits traits;

	memcpy(&traits, &key, sizeof(traits));
	return spw_ways_fit(ways, &traits);
}

/* The ways whose codecs are there, a bit each. */
static uint64_t
drop_missing(struct spw_advisor *a)
{
	uint64_t present = 0;

	for (unsigned i = 0; i < a->ways.n; i++)
		if (spw_codec_by_id(a->ways.at[i].codec))
			present |= UINT64_C(1) << i;
		else
			spw_predict_remove(a->predictor, i);
	return present;
}

static int
build(struct spw_advisor *a, const struct spw_advisor_setup *setup)
{
	spw_ways_fill(&a->ways, setup->pins, setup->n_pins);
	a->predictor = spw_predict_new(a->ways.at, a->ways.n);
	a->chooser = spw_choose_new();
	a->monitor = spw_monitor_new();
	if (setup->seed)
		a->seed = strdup(setup->seed);
	if (!a->predictor || !a->chooser || !a->monitor ||
	    (setup->seed && !a->seed))
		return -ENOMEM;
	spw_predict_suit(a->predictor, fit, &a->ways);
	a->overlap = setup->overlap;
	spw_advisor_weigh(a, &setup->weights);
	return spw_explore_new(&a->ways, drop_missing(a), a->predictor,
			       a->chooser, &a->explorer);
}

/* Once, as other threads may use those that are there. */
static pthread_once_t codecs_once = PTHREAD_ONCE_INIT;

static void
load_codecs(void)
{
	(void)spw_codec_load(NULL);
}

int
spw_advisor_new(const struct spw_advisor_setup *setup,
		struct spw_advisor **ret_advisor)
{
	struct spw_advisor *a = calloc(1, sizeof(*a));
	const struct spw_codec_slot *slot;
	int r;

	if (!a)
		return -ENOMEM;
	(void)pthread_once(&codecs_once, load_codecs);
	for (size_t i = 0; (slot = spw_codec_slot(i)); i++)
		note_missing(&a->note[1], slot);
	r = build(a, setup);
	if (r < 0) {
		spw_advisor_free(a);
		return r;
	}
	if (a->seed)
		a->owed = spw_seed_load(a->predictor, a->seed, &a->note[0]) ==
			  -EBADMSG;
	*ret_advisor = a;
	return 0;
}

void
spw_advisor_free(struct spw_advisor *a)
{
	if (!a)
		return;
	spw_explore_free(a->explorer);
	spw_monitor_free(a->monitor);
	spw_choose_free(a->chooser);
	spw_predict_free(a->predictor);
	free(a->seed);
	free(a);
}

const char *
spw_advisor_note(const struct spw_advisor *a, unsigned i)
{
	for (unsigned k = 0; k < NOTES; k++)
		if (a->note[k].text[0] && !i--)
			return a->note[k].text;
	return NULL;
}

int
spw_advisor_save(struct spw_advisor *a, struct spw_seed_note *ret_note)
{
	ret_note->text[0] = '\0';
	return a->seed ? spw_seed_save(a->predictor, a->seed, ret_note) : 0;
}

bool
spw_advisor_is_owed(const struct spw_advisor *a)
{
	return a->owed;
}

int
spw_advisor_collect(struct spw_advisor *a, struct spw_seed *into)
{
	return spw_seed_collect(a->predictor, into);
}

uint64_t
spw_advisor_choices(const struct spw_advisor *a,
		    const struct spw_codec_choice *pin, bool plain)
{
	uint64_t may = SPW_CHOICES_ALL;

	if (pin)
		may = pin->id == SPW_CODEC_NONE ? SPW_CHOICES_RAW
						: spw_ways_of(&a->ways, pin);
	return plain ? may & spw_ways_plain(&a->ways) : may;
}

int
spw_advisor_add(struct spw_advisor *a, const struct spw_monitored *tier)
{
	return spw_monitor_add(a->monitor, tier);
}

struct spw_monitor *
spw_advisor_monitor(struct spw_advisor *a)
{
	return a->monitor;
}

void
spw_advisor_weigh(struct spw_advisor *a, const struct spw_weights *w)
{
	spw_choose_weigh(a->chooser, w, a->overlap);
	if (a->explorer)
		spw_explore_renew(a->explorer);
}

static int64_t
now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return spw_nanoseconds(&ts);
}

/* The chooser knows the tiers as they are now.  All choices that one of them
 * takes.
 */
static uint64_t
look_at_tiers(struct spw_advisor *a, uint64_t tiers)
{
	struct spw_tier_state state[SPW_CHOOSE_TIERS];
	const struct spw_tier_state *shown;
	uint64_t may = 0;
	size_t n;

	shown = spw_monitor_state(a->monitor, now(), &n);
	for (size_t i = 0; i < n; i++) {
		state[i] = shown[i];
		state[i].available = shown[i].available && tiers >> i & 1;
		if (state[i].available)
			may |= state[i].choices;
	}
	(void)spw_choose_tiers(a->chooser, state, n);
	return may;
}

static void
write_advice(const struct spw_advisor *a, const struct spw_costs *costs,
	     const struct spw_piece *piece, uint64_t bytes,
	     struct spw_advice *ret)
{
	for (unsigned i = 0; i < ret->n; i++) {
		struct spw_advised *p = &ret->piece[i];

		p->bytes = SPW_MIN(piece[i].quanta * SPW_QUANTUM, bytes);
		bytes -= p->bytes;
		p->tier = piece[i].tier;
		p->choice = piece[i].choice;
		p->pack = spw_ways_pack(&a->ways.at[p->choice], &ret->traits);
		spw_choose_expect(a->chooser, costs, &piece[i], &p->expected);
	}
}

/* The best plan that takes none of these ways, nor raw if there is another. */
static const struct spw_piece *
choose_without(struct spw_advisor *a, const struct spw_costs *costs,
	       uint64_t ways, size_t n, unsigned *ret_n)
{
	struct spw_costs others = *costs;

	for (unsigned i = 1; i < others.n; i++)
		if (ways >> i & 1)
			others.pack[i] = (double)INFINITY;
	others.pack[0] = 1;		/* second a byte */
	if (spw_choose_solve(a->chooser, &others, n, &a->plan) < 0)
		return NULL;
	*ret_n = a->plan.n;
	return a->plan.piece;
}

int
spw_advisor_ask(struct spw_advisor *a, uint64_t stream, const void *data,
		size_t n, uint64_t offset, const struct spw_traits *label,
		uint64_t tiers, struct spw_advice *ret)
{
	struct spw_explored x = { .data = data, .n = n };
	const struct spw_costs *costs;
	const struct spw_piece *piece;
	uint64_t rests = 0;

	if (!n)
		return -EINVAL;
	spw_analyze(data, n, offset, label, &ret->traits);
	ret->stream = (struct spw_stream){
		stream, spw_traits_key(&ret->traits),
	};
	x.stream = &ret->stream;
	x.traits = &ret->traits;
	x.may = look_at_tiers(a, tiers);
	ret->tried = x.may != SPW_CHOICES_RAW &&
		     spw_explore(a->explorer, &x, &rests);
	costs = spw_predict_costs(a->predictor, &ret->stream);
	piece = rests ? choose_without(a, costs, rests, n, &ret->n) : NULL;
	if (!piece)
		piece = spw_choose(a->chooser, costs, n, &ret->n);
	if (!piece)
		return -ENOSPC;
	write_advice(a, costs, piece, n, ret);
	return 0;
}

void
spw_advisor_learn_of(struct spw_advisor *a, const struct spw_stream *stream,
		     unsigned choice, const struct spw_observed *seen)
{
	spw_predict_learn(a->predictor, stream, choice, seen);
}

void
spw_advisor_learn(struct spw_advisor *a, const struct spw_advice *advice,
		  unsigned piece, const struct spw_observed *seen)
{
	spw_advisor_learn_of(a, &advice->stream, advice->piece[piece].choice,
			     seen);
}
