/* SPDX-License-Identifier: BSD-3-Clause */
/* choose.c -- the cheapest plan for a task, and the plans kept */

/* The cost of a piece is a line over its quanta: fixed(l) + slope(l, c) * k.
 *
 * Where there is room, one piece is enough: sharing q quanta among pieces i
 * costs at least the mean of what each of them alone would cost, weighted by
 * k_i, so the cheapest of those alone is no dearer.  On each tier it takes
 * the choice of the least slope.  If the cheapest of all fits, that is the
 * plan; else match.c searches.
 */

#include "planner/choose.h"
#include "planner/match.h"
#include "planner/slopes.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#define SOUGHT SPW_CHOICES_MAX		/* no choice: it was not looked for */

struct spw_chooser *
spw_choose_new(void)
{
	size_t size = spw_round_up(sizeof(struct spw_chooser), 64);
	struct spw_chooser *ch = aligned_alloc(64, size);
	const struct spw_weights balanced = { 1.0 / 3, 1.0 / 3, 1.0 / 3 };

	if (!ch)
		return NULL;
	memset(ch, 0, size);
	ch->search = calloc(1, sizeof(*ch->search));
	if (!ch->search) {
		free(ch);
		return NULL;
	}
	spw_choose_weigh(ch, &balanced, false);
	return ch;
}

void
spw_choose_free(struct spw_chooser *ch)
{
	if (!ch)
		return;
	free(ch->search);
	free(ch);
}

/* All plans kept are void.  Slots hold 24 bits of the generation, so they
 * are wiped when these come round.
 */
static void
renew(struct spw_chooser *ch)
{
	ch->generation += UINT64_C(1) << 40;
	ch->confined = false;
	memset(ch->most, 0, sizeof(ch->most));
	if (ch->generation)
		return;
	memset(ch->slot, 0, sizeof(ch->slot));
	ch->generation = UINT64_C(1) << 40;
}

void
spw_choose_weigh(struct spw_chooser *ch, const struct spw_weights *w,
		 bool overlap)
{
	ch->weights = *w;
	ch->overlap = overlap;
	renew(ch);
}

static bool
is_sound(const struct spw_tier_state *t)
{
	return t->write_bw > 0 && isfinite(t->write_bw) && t->read_bw > 0 &&
	       isfinite(t->read_bw) && t->latency >= 0 &&
	       isfinite(t->latency) && t->queue >= 0 && isfinite(t->queue) &&
	       t->price >= 0 && isfinite(t->price);
}

static bool
costs_the_same(const struct spw_tier_state *a, const struct spw_tier_state *b)
{
	return a->available == b->available && a->choices == b->choices &&
	       a->write_bw == b->write_bw && a->read_bw == b->read_bw &&
	       a->latency == b->latency && a->queue == b->queue &&
	       a->price == b->price;
}

int
spw_choose_tiers(struct spw_chooser *ch, const struct spw_tier_state *at,
		 size_t n)
{
	bool changed = n != ch->n;

	if (n > SPW_CHOOSE_TIERS)
		return -EINVAL;
	for (size_t i = 0; i < n; i++)
		if (!is_sound(&at[i]))
			return -EINVAL;
	for (size_t i = 0; i < n; i++) {
		changed = changed || !costs_the_same(&ch->tier[i], &at[i]) ||
			  at[i].free < ch->most[i] ||
			  (ch->confined && at[i].free > ch->free[i]);
		ch->tier[i] = at[i];
		ch->free[i] = at[i].free;
	}
	ch->n = (unsigned)n;
	if (changed)
		renew(ch);
	return 0;
}

void
spw_choose_take(struct spw_chooser *ch, unsigned tier, uint64_t bytes)
{
	if (ch->free[tier] == UINT64_MAX)
		return;
	ch->free[tier] -= SPW_MIN(bytes, ch->free[tier]);
	if (ch->free[tier] < ch->most[tier])
		renew(ch);
}

void
spw_choose_give(struct spw_chooser *ch, unsigned tier, uint64_t bytes)
{
	if (ch->free[tier] == UINT64_MAX)
		return;
	ch->free[tier] += SPW_MIN(bytes, UINT64_MAX - 1 - ch->free[tier]);
	if (ch->confined)
		renew(ch);
}

/* What a choice costs wherever its bytes go. */
static void
weigh_choices(struct spw_search *s)
{
	const struct spw_costs *costs = s->costs;
	double busy = s->ch->weights.compress * SPW_QUANTUM;
	const struct spw_slopes_weights w = {
		.busy = busy, .now = s->ch->overlap ? SPW_SHADED * busy : busy,
		.later = s->ch->weights.decompress * SPW_QUANTUM,
	};

	s->least = spw_slopes_weigh(s, &w);
	s->work[0] = w.now * costs->pack[0] + w.later * costs->unpack[0];
	s->pack[0] = busy * costs->pack[0];
	s->stored[0] = SPW_QUANTUM;
}

static double
draw_raw(const struct spw_search *s, const struct spw_line *line)
{
	double slope = s->work[0] + SPW_QUANTUM * line->moved;
	double written = SPW_QUANTUM * line->written;

	return s->ch->overlap ? slope + SPW_MAX(s->pack[0], written) : slope;
}

/* The least slope of the choices that a tier may take. */
static void
find_least(const struct spw_search *s, uint64_t may, struct spw_line *line)
{
	line->choice = 0;
	if (may == SPW_CHOICES_RAW) {		/* home */
		line->least = line->slope[0] = draw_raw(s, line);
		return;
	}
	line->least = spw_slopes_draw(s, line);
	if (may == SPW_CHOICES_ALL) {
		line->choice = SOUGHT;
		return;
	}
	line->least = SPW_MATCH_NEVER;
	for (unsigned c = 0; c < s->costs->n; c++)
		if (may >> c & 1 && line->slope[c] < line->least) {
			line->least = line->slope[c];
			line->choice = c;
		}
}

/* The choice with the least slope, which most lines are never asked for. */
static unsigned
choice_of(struct spw_line *line)
{
	if (line->choice != SOUGHT)
		return line->choice;
	line->choice = 0;
	while (line->slope[line->choice] != line->least)
		line->choice++;
	return line->choice;
}

static int
match(struct spw_search *s, struct spw_plan *ret)
{
	for (unsigned t = 0; t < s->ch->n; t++)
		if (spw_match_takes(s, t))
			(void)choice_of(&s->line[t]);
	return spw_match(s, ret);
}

/* What a tier charges.  Its least slope is NEVER if it may take no choice. */
static void
draw_line(const struct spw_search *s, const struct spw_tier_state *t,
	  struct spw_line *line)
{
	const struct spw_weights *w = &s->ch->weights;
	double put = 1 / t->write_bw;

	line->written = w->compress * put;
	line->moved = w->decompress / t->read_bw + w->ratio * put +
		      (w->compress + w->ratio) * t->price +
		      (s->ch->overlap ? 0 : line->written);
	line->fixed = t->latency + (w->compress + w->ratio) * t->queue * put;
	find_least(s, t->choices, line);
}

/* The tier that is cheapest for the whole task, were there room; -1: none.
 * One without room for a quantum is left out, so the plan is confined.
 */
static int
cheapest_tier(struct spw_search *s, struct spw_plan *ret)
{
	int best = -1;

	ret->cost = SPW_MATCH_NEVER;
	ret->confined = false;
	for (unsigned t = 0; t < s->ch->n; t++) {
		struct spw_line *line = &s->line[t];
		double cost;

		if (!spw_match_takes(s, t)) {
			ret->confined |= s->ch->tier[t].available;
			continue;
		}
		draw_line(s, &s->ch->tier[t], line);
		cost = line->fixed + s->quanta * line->least;
		if (cost < ret->cost) {
			ret->cost = cost;
			best = (int)t;
		}
	}
	return best;
}

int
spw_choose_solve(struct spw_chooser *ch, const struct spw_costs *costs,
		 uint64_t bytes, struct spw_plan *ret)
{
	struct spw_search *s = ch->search;
	struct spw_plan plan;
	int t, r = 0;

	if (!bytes || bytes > SPW_CHOOSE_MOST)
		return -EINVAL;
	s->ch = ch;
	s->costs = costs;
	s->quanta = (double)spw_choose_quanta(bytes);
	weigh_choices(s);
	t = cheapest_tier(s, &plan);
	if (t < 0)
		return -ENOSPC;
	if (spw_match_fits(s, (unsigned)t, choice_of(&s->line[t]))) {
		ret->cost = plan.cost;
		ret->n = 1;
		ret->confined = plan.confined;
		ret->proven = true;
		ret->piece[0] = (struct spw_piece){
			(uint64_t)s->quanta, (uint8_t)t,
			(uint8_t)s->line[t].choice
		};
	} else {
		r = match(s, ret);
	}
	ch->confined |= r < 0 || ret->confined;
	return r;
}

static uint64_t
stored_of(const struct spw_costs *costs, const struct spw_piece *p)
{
	return p->quanta * (uint64_t)(p->choice ? costs->stored[p->choice]
						: SPW_QUANTUM);
}

void
spw_choose_expect(const struct spw_chooser *ch, const struct spw_costs *costs,
		  const struct spw_piece *piece, struct spw_expected *ret)
{
	const struct spw_tier_state *t = &ch->tier[piece->tier];
	double bytes = (double)piece->quanta * SPW_QUANTUM;

	ret->stored = stored_of(costs, piece);
	ret->pack = bytes * costs->pack[piece->choice];
	ret->unpack = bytes * costs->unpack[piece->choice];
	ret->write = t->latency +
		     ((double)ret->stored + t->queue) / t->write_bw;
	ret->read = t->latency + (double)ret->stored / t->read_bw;
}

/* Where the next plan goes: to a place that is out of date, or to any. */
static struct spw_choose_slot *
place_near(struct spw_choose_slot *from, const struct spw_chooser *ch,
	   uint64_t quanta)
{
	for (unsigned i = 0; i < SPW_CHOOSE_PROBES; i++)
		if (from[i].key >> 40 != ch->generation >> 40)
			return &from[i];
	return &from[quanta % SPW_CHOOSE_PROBES];
}

const struct spw_piece *
spw_choose_slow(struct spw_chooser *ch, const struct spw_costs *costs,
		uint64_t bytes, struct spw_choose_slot *from, unsigned *ret_n)
{
	uint64_t key = ch->generation | costs->version;
	uint64_t quanta = spw_choose_quanta(bytes), need;
	const struct spw_piece *piece = ch->plan.piece;
	struct spw_choose_slot *slot;

	for (unsigned i = 2; i < SPW_CHOOSE_PROBES; i++)
		if (from[i].key == key && from[i].piece.quanta == quanta)
			return &from[i].piece;
	if (spw_choose_solve(ch, costs, bytes, &ch->plan) < 0)
		return NULL;
	*ret_n = ch->plan.n;
	if (ch->plan.n > 1)
		return piece;
	slot = place_near(from, ch, quanta);
	slot->key = key;
	slot->piece = *piece;
	need = stored_of(costs, piece);
	ch->most[piece->tier] = SPW_MAX(ch->most[piece->tier], need);
	return &slot->piece;
}
