/* SPDX-License-Identifier: BSD-3-Clause */
/* profile-codecs.c -- measures every way to pack on every kind of data */
#include "tools/profile.h"

#include <errno.h>
#include <stdlib.h>

enum { ROUNDS = 5 };

static struct spw_object_pack
pack_of(const struct spw_profile_costs *c, const struct spw_profile_set *set,
	const struct spw_profile_cost *cost)
{
	return spw_ways_pack(&c->ways.at[cost->way],
			     &set->at[cost->data].traits);
}

static double
least(double a, double b)
{
	return a > 0 && (a < b || b <= 0) ? a : b;
}

static void
measure(struct spw_trial *t, const struct spw_profile_set *set,
	const struct spw_profile_costs *c, struct spw_profile_cost *cost)
{
	const struct spw_profile_data *d = &set->at[cost->data];
	struct spw_object_pack pack = pack_of(c, set, cost);
	struct spw_observed seen;

	if (spw_trial(t, &pack, d->bytes, d->n, true, &seen) < 0)
		return;
	seen.pack = least(seen.pack, cost->best.pack);
	seen.unpack = least(seen.unpack, cost->best.unpack);
	cost->best = seen;
}

/* All pairs of data and way that make sense. */
static int
list(const struct spw_profile_set *set, struct spw_profile_costs *c)
{
	spw_ways_fill(&c->ways, NULL, 0);
	c->at = calloc((size_t)set->n * c->ways.n, sizeof(*c->at));
	if (!c->at)
		return -ENOMEM;
	for (unsigned i = 0; i < set->n; i++) {
		uint64_t fit = spw_ways_fit(&c->ways, &set->at[i].traits);

		for (unsigned w = 1; w < c->ways.n; w++)
			if (fit >> w & 1 &&
			    spw_codec_by_id(c->ways.at[w].codec))
				c->at[c->n++] = (struct spw_profile_cost){
					.data = i, .way = w,
				};
	}
	return 0;
}

static void
doing(const struct spw_profile_set *set, const struct spw_profile_costs *c,
      const struct spw_profile_cost *cost, char *ret, size_t cap)
{
	const struct spw_codec *codec =
		spw_codec_by_id(c->ways.at[cost->way].codec);

	snprintf(ret, cap, "%s %d, %s", codec->name,
		 c->ways.at[cost->way].level, set->at[cost->data].name);
}

/* Slow ways are measured once: a longer time has less noise. */
static bool
is_due(const struct spw_profile_costs *c, const struct spw_profile_cost *cost,
       int round)
{
	return !round || c->ways.speed[cost->way] >= 50;
}

int
spw_profile_codecs(struct spw_profile_time *t,
		   const struct spw_profile_set *set,
		   struct spw_profile_costs *ret)
{
	struct spw_trial trial;
	char text[128];
	bool go_on = true;

	if (list(set, ret) < 0 || spw_trial_init(&trial) < 0)
		return -ENOMEM;
	for (int round = 0; round < ROUNDS && go_on; round++)
		for (unsigned i = 0; i < ret->n && go_on; i++) {
			struct spw_profile_cost *cost = &ret->at[i];

			if (!is_due(ret, cost, round))
				continue;
			doing(set, ret, cost, text, sizeof(text));
			go_on = spw_profile_go_on(t, text);
			measure(&trial, set, ret, cost);
			go_on |= !round && spw_show_clock() < t->at_last &&
				 !spw_profile_is_stopped();
		}
	spw_trial_clear(&trial);
	return 0;
}

int
spw_profile_learn(const struct spw_profile_set *set,
		  const struct spw_profile_costs *costs,
		  struct spw_predictor **ret_predictor)
{
	struct spw_predictor *p =
		spw_predict_new(costs->ways.at, costs->ways.n);

	if (!p)
		return -ENOMEM;
	for (unsigned i = 0; i < costs->n; i++) {
		const struct spw_profile_cost *c = &costs->at[i];
		const struct spw_stream s = {
			c->data, spw_traits_key(&set->at[c->data].traits),
		};

		spw_predict_learn(p, &s, c->way, &c->best);
	}
	*ret_predictor = p;
	return 0;
}
