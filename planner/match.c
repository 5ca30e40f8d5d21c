/* SPDX-License-Identifier: BSD-3-Clause */
/* match.c -- shares a task among tiers that are short of room */

/* Take a cheapest plan and look at two of its pieces of which neither fills
 * its tier: moving quanta from the dearer slope to the cheaper one costs
 * nothing, until one is gone or the cheaper one fills its tier.  So there is
 * a cheapest plan in which all pieces fill their tiers, except the one with
 * the greatest slope, which takes the rest.
 *
 * With the candidates (tier, choice) in the order of slope, the recursion is
 * that of HCompress (eq. 1 and 2): a candidate takes all that is left if it
 * can; or it is filled, and the rest is matched with the candidates after it;
 * or it is left out.  A branch ends where it cannot beat the best plan so
 * far.  What the rest costs at least is bounded in two ways: by the next
 * slope, which is the least to come; and, for any price z of a quantum, by
 *
 *	z * rest + sum over unused tiers of min(0, fixed + (slope - z) * room)
 *
 * where z is the slope of the candidate that is cheapest for the whole task.
 * Many tiers of about the same cost make more steps.  Then a branch is also
 * held against what all tiers left could take at best, and a sub-problem
 * (candidate, rest, tiers used) that was met before at no greater cost is not
 * matched again.
 *
 * A choice that stores no less than another one of the same tier with no
 * greater slope is no candidate: the other can take its place.
 */

#include "planner/match.h"

#include <assert.h>
#include <errno.h>
#include <math.h>

#define EASY 64		/* steps; then it is worth to look ahead */
#define STEPS_MAX 100000	/* some milliseconds; then the best so far */

/* Whole quanta that fit.  The quotient is below 2^38 and off an integer by
 * at least 1/4096, if at all, so rounding it does not reach the next one.
 */
static double
room_of(const struct spw_search *s, double free, unsigned choice)
{
	double room = free / s->stored[choice];

	return room >= s->quanta ? s->quanta : (double)(int64_t)room;
}

/* Candidates of one tier, from `from` on, have falling bytes stored in the
 * order of slope.  Add one unless it stores no less than one before it, and
 * drop those after it that store no less.
 */
static void
add_choice(struct spw_search *s, unsigned from, unsigned choice, double slope)
{
	unsigned i = s->n, end;

	while (i > from && s->at[i - 1].slope > slope)
		i--;
	if (i > from &&
	    s->stored[s->at[i - 1].choice] <= s->stored[choice])
		return;
	for (end = i; end < s->n; end++)
		if (s->stored[s->at[end].choice] < s->stored[choice])
			break;
	if (end == i) {				/* make room for one */
		for (unsigned k = s->n++; k > i; k--)
			s->at[k] = s->at[k - 1];
	} else if (end > i + 1) {		/* close the gap */
		for (unsigned k = end; k < s->n; k++)
			s->at[i + 1 + k - end] = s->at[k];
		s->n -= end - i - 1;
	}
	s->at[i].slope = slope;
	s->at[i].choice = (uint8_t)choice;
}

/* Into the order of slope of all tiers; what holds nothing goes. */
static void
merge_tier(struct spw_search *s, unsigned tier, unsigned from)
{
	double free = (double)s->ch->free[tier];
	unsigned end = s->n;

	s->n = from;
	for (unsigned i = from; i < end; i++) {
		struct spw_candidate c = s->at[i];
		unsigned k = s->n;

		c.tier = (uint8_t)tier;
		c.fixed = s->line[tier].fixed;
		c.room = room_of(s, free, c.choice);
		if (c.room < 1)
			continue;
		for (; k && s->at[k - 1].slope > c.slope; k--)
			s->at[k] = s->at[k - 1];
		s->at[k] = c;
		s->n++;
		if (c.room == s->quanta)
			break;		/* those after it only cost more */
	}
}

static void
add_tier(struct spw_search *s, unsigned tier)
{
	const struct spw_line *line = &s->line[tier];
	uint64_t may = s->ch->tier[tier].choices;
	unsigned from = s->n, n = s->costs->n;

	if (line->least == SPW_MATCH_NEVER)
		return;
	if (spw_match_fits(s, tier, line->choice))	/* none is better */
		add_choice(s, from, line->choice, line->least);
	else
		for (unsigned c = 0; c < n; c++)
			if (may >> c & 1 && line->slope[c] < SPW_MATCH_NEVER)
				add_choice(s, from, c, line->slope[c]);
	merge_tier(s, tier, from);
}

static void
add_candidates(struct spw_search *s)
{
	double ahead = INFINITY;

	s->n = 0;
	for (unsigned t = 0; t < s->ch->n; t++)
		if (spw_match_takes(s, t))
			add_tier(s, t);
	for (unsigned i = s->n; i--; ) {
		ahead = SPW_MIN(ahead, s->at[i].fixed);
		s->at[i].ahead = ahead;
	}
}

static void
take_rest(struct spw_search *s, unsigned i, unsigned depth, double cost)
{
	if (cost >= s->best)
		return;
	s->best = cost;
	s->path[depth] = (uint16_t)i;
	s->depth = depth + 1;
	for (unsigned k = 0; k <= depth; k++)
		s->best_path[k] = s->path[k];
}

/* The price of a quantum, and what each tier gains under it. */
static void
set_price(struct spw_search *s)
{
	for (unsigned i = 0; i < s->n; i++)
		if (s->at[i].room == s->quanta)
			take_rest(s, i, 0, s->at[i].fixed +
				  s->quanta * s->at[i].slope);
	s->price = s->depth ? s->at[s->best_path[0]].slope : 0;
	for (unsigned t = 0; t < s->ch->n; t++)
		s->term[t] = 0;
	for (unsigned i = 0; i < s->n; i++) {
		const struct spw_candidate *c = &s->at[i];
		double term = c->fixed + (c->slope - s->price) * c->room;

		s->term[c->tier] = SPW_MIN(s->term[c->tier], term);
	}
}

/* Candidates in the order of spread, the room of tiers, an empty memory. */
static void
go_hard(struct spw_search *s)
{
	uint32_t later = 0;

	s->is_hard = true;
	memset(s->matched, 0, sizeof(s->matched));
	memset(s->roomiest, 0, sizeof(s->roomiest));
	for (unsigned i = s->n; i--; ) {
		later |= 1u << s->at[i].tier;
		s->at[i].later = later;
	}
	for (unsigned i = 0; i < s->n; i++) {
		struct spw_candidate *c = &s->at[i];
		unsigned k = i;

		c->spread = c->slope + c->fixed / c->room;
		for (; k && s->at[s->by_spread[k - 1]].spread > c->spread; k--)
			s->by_spread[k] = s->by_spread[k - 1];
		s->by_spread[k] = (uint16_t)i;
		s->roomiest[c->tier] = SPW_MAX(s->roomiest[c->tier], c->room);
	}
}

/* The least that the rest can cost: k quanta under a candidate cost no less
 * than k times its spread, and a tier takes no more than its largest room.
 */
static double
look_ahead(const struct spw_search *s, unsigned from, double rest,
	   uint32_t used)
{
	double cost = 0;

	for (unsigned k = 0; k < s->n && rest > 0; k++) {
		const struct spw_candidate *c = &s->at[s->by_spread[k]];
		double take = SPW_MIN(rest, s->roomiest[c->tier]);

		if (s->by_spread[k] < from || used >> c->tier & 1)
			continue;
		used |= 1u << c->tier;
		cost += take * c->spread;
		rest -= take;
	}
	return rest > 0 ? INFINITY : cost;
}

/* The same rest was matched with the same candidates, at no greater cost. */
static bool
was_matched(struct spw_search *s, unsigned from, double rest, uint32_t used,
	    double cost)
{
	uint64_t mix = (uint64_t)rest * 31 + from * 1021;
	struct spw_matched *m;

	used &= s->at[from].later;
	m = &s->matched[(mix + used * 8191) % SPW_MATCHED];
	if (m->rest == rest && m->from == from && m->used == used &&
	    m->cost <= cost)
		return true;
	*m = (struct spw_matched){ from, used, rest, cost };
	return false;
}

static bool
is_hopeless(struct spw_search *s, unsigned from, double rest, uint32_t used,
	    double cost)
{
	if (!s->is_hard)
		go_hard(s);
	return cost + look_ahead(s, from, rest, used) >= s->best ||
	       was_matched(s, from, rest, used, cost);
}

/* Match the rest with the candidates from i on, at what it cost so far.
 * gain: the terms of the unused tiers.
 */
static void
match(struct spw_search *s, unsigned i, double rest, uint32_t used,
      double cost, double gain, unsigned depth)
{
	double least = cost + s->price * rest + gain;

	for (; i < s->n && least < s->best && s->steps < STEPS_MAX; i++) {
		const struct spw_candidate *c = &s->at[i];
		double all = cost + rest * c->slope;

		if (all + c->ahead >= s->best)
			return;
		if (used >> c->tier & 1)
			continue;
		if (s->steps++ >= EASY && is_hopeless(s, i, rest, used, cost))
			return;
		if (c->room >= rest) {
			take_rest(s, i, depth, all + c->fixed);
			continue;
		}
		s->path[depth] = (uint16_t)i;
		match(s, i + 1, rest - c->room, used | 1u << c->tier,
		      cost + c->fixed + c->room * c->slope,
		      gain - s->term[c->tier], depth + 1);
	}
}

static void
write_plan(const struct spw_search *s, struct spw_plan *ret)
{
	uint64_t rest = (uint64_t)s->quanta;

	ret->cost = s->best;
	ret->n = (uint8_t)s->depth;
	ret->confined = true;
	ret->proven = s->steps < STEPS_MAX;
	for (unsigned i = 0; i < s->depth; i++) {
		const struct spw_candidate *c = &s->at[s->best_path[i]];
		uint64_t take = i + 1 < s->depth ? (uint64_t)c->room : rest;

		ret->piece[i] = (struct spw_piece){ take, c->tier, c->choice };
		rest -= take;
	}
}

int
spw_match(struct spw_search *s, struct spw_plan *ret)
{
	double gain = 0;

	s->steps = 0;
	s->is_hard = false;
	s->depth = 0;
	s->best = INFINITY;
	add_candidates(s);
	set_price(s);
	for (unsigned t = 0; t < s->ch->n; t++)
		gain += s->term[t];
	match(s, 0, s->quanta, 0, 0, gain, 0);
	if (!s->depth)
		return -ENOSPC;
	write_plan(s, ret);
	return 0;
}
