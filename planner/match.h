/* SPDX-License-Identifier: BSD-3-Clause */
/* match.h -- the search for a plan where tiers are short of room */

#ifndef SPW_PLANNER_MATCH_H
#define SPW_PLANNER_MATCH_H

#include "planner/choose.h"

/* What a tier charges: fixed a piece, and for each byte stored. */
struct spw_line {
	double fixed;
	double moved;
	double written;			/* in wc's share, where it overlaps */
	double slope[SPW_CHOICES_MAX];	/* seconds a quantum, by choice */
	double least;			/* of these */
	unsigned choice;		/* with that slope */
};

/* No choice that may be taken costs so many seconds a quantum. */
#define SPW_MATCH_NEVER 1e200

/* A tier under a choice.  Quanta are whole numbers below 2^38 here, which
 * doubles hold exactly.
 */
struct spw_candidate {
	double slope;			/* seconds a quantum */
	double fixed;
	double room;			/* at most the quanta of the task */
	double ahead;			/* least fixed cost from here on */
	double spread;			/* slope, and fixed over its room */
	uint32_t later;			/* tiers of candidates from here on */
	uint8_t tier, choice;
};

/* Sub-problems remembered by a search that turns out to be long. */
#define SPW_MATCHED 4096

struct spw_matched {
	unsigned from;
	uint32_t used;
	double rest;			/* 0: empty */
	double cost;			/* least at which it was met */
};

/* One task: filled by choose.c, searched by match.c. */
struct spw_search {
	const struct spw_chooser *ch;
	double quanta;
	const struct spw_costs *costs;
	double least;			/* bytes stored of a quantum */
	double work[SPW_CHOICES_MAX];	/* weighted, seconds a quantum */
	double pack[SPW_CHOICES_MAX];	/* wc's share, where it overlaps */
	double stored[SPW_CHOICES_MAX];	/* bytes of a quantum */
	struct spw_line line[SPW_CHOOSE_TIERS];

	unsigned n;
	struct spw_candidate at[SPW_CHOOSE_TIERS * SPW_CHOICES_MAX];
	double price;			/* asked for a quantum, see match.c */
	double term[SPW_CHOOSE_TIERS];	/* what tiers gain under it */
	double best;
	unsigned steps;
	unsigned depth;			/* of the best plan; 0: none yet */
	uint16_t path[SPW_CHOOSE_TIERS], best_path[SPW_CHOOSE_TIERS];

	bool is_hard;			/* the rest is in use */
	double roomiest[SPW_CHOOSE_TIERS];
	uint16_t by_spread[SPW_CHOOSE_TIERS * SPW_CHOICES_MAX];
	struct spw_matched matched[SPW_MATCHED];
};

/* Is it there, with room for at least one quantum? */
static inline bool
spw_match_takes(const struct spw_search *s, unsigned tier)
{
	return s->ch->tier[tier].available &&
	       (double)s->ch->free[tier] >= s->least;
}

static inline bool
spw_match_fits(const struct spw_search *s, unsigned tier, unsigned choice)
{
	return s->quanta * s->stored[choice] <= (double)s->ch->free[tier];
}

/* The cheapest plan; -ENOSPC: there is none. */
int spw_match(struct spw_search *s, struct spw_plan *ret);

#endif
