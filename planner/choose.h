/* SPDX-License-Identifier: BSD-3-Clause */
/* choose.h -- the tier and the packing for every piece of a task */

/* A task of n bytes goes to tiers in pieces.  With k bytes on tier l under
 * choice c, of which the fraction f is stored, a piece costs, in seconds,
 *
 *	wc * k * pack(c) + wd * k * unpack(c)
 *	+ (wc + wr) * (k * f / write_bw(l) + queue(l) / write_bw(l))
 *	+ wd * k * f / read_bw(l) + (wc + wr) * k * f * price(l) + latency(l)
 *
 * under the weights wc, wr, wd for compression time, ratio and decompression
 * time.  This is the cost of HCompress (eq. 4) with one change: the time to
 * move the stored bytes counts in full.  There it is cut only by wr of what
 * packing saves, so that with wr = 0 packing could never pay.  Where packing
 * and writing overlap, the larger of the two counts for wc, and SPW_SHADED of
 * packing: it takes processors that others could use, so of two that store the
 * same the quicker one is better.  The price is what others will have to pay
 * who find no room because of a byte kept here.
 *
 * A plan is the cheapest set of pieces such that
 *
 *	1. each tier gets at most one piece,
 *	2. each piece but the last is a multiple of SPW_QUANTUM,
 *	3. the pieces make up the task,
 *	4. a choice that stores no less than it was given is not taken,
 *	5. what a piece stores fits into the free space of its tier.
 *
 * Choice 0, raw, is always among the choices; home is a tier that takes
 * nothing else.  choose.c says why the plan is the best there is.
 *
 * A chooser belongs to one thread.
 */

#ifndef SPW_PLANNER_CHOOSE_H
#define SPW_PLANNER_CHOOSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "planner/choice.h"
#include "shm/weights.h"
#include "shm/util.h"

#define SPW_CHOOSE_TIERS 17		/* those one can name, and home */
#define SPW_SHADED 0.25
#define SPW_CHOICES_ALL UINT64_MAX
#define SPW_CHOICES_RAW UINT64_C(1)

struct spw_tier_state {
	bool available;
	uint64_t free;			/* bytes; UINT64_MAX: no limit */
	uint64_t choices;		/* bit i: choice i may be used here */
	double write_bw, read_bw;	/* bytes a second, above 0 */
	double latency;			/* seconds a piece */
	double queue;			/* bytes that are written before it */
	double price;			/* seconds a stored byte, see above */
};

struct spw_piece {
	uint64_t quanta;
	uint8_t tier, choice;
};

struct spw_plan {
	double cost;			/* seconds, weighted */
	uint8_t n;			/* pieces, in the order of the bytes */
	bool confined;			/* with more room it were cheaper */
	bool proven;			/* nothing is cheaper */
	struct spw_piece piece[SPW_CHOOSE_TIERS];
};

struct spw_chooser;

struct spw_chooser *spw_choose_new(void);	/* NULL: no memory */
void spw_choose_free(struct spw_chooser *ch);	/* takes NULL */

/* Checked weights, see weights.h; at first they are balanced.  overlap:
 * packing goes on while earlier pieces are written.
 */
void spw_choose_weigh(struct spw_chooser *ch, const struct spw_weights *w,
		      bool overlap);

/* How the tiers are now, fastest first.  -EINVAL for numbers that no tier
 * can have; nothing is changed then.
 */
int spw_choose_tiers(struct spw_chooser *ch, const struct spw_tier_state *at,
		     size_t n);

/* Bytes taken from a tier's free space, and given back. */
void spw_choose_take(struct spw_chooser *ch, unsigned tier, uint64_t bytes);
void spw_choose_give(struct spw_chooser *ch, unsigned tier, uint64_t bytes);

#define SPW_CHOOSE_MOST (UINT64_C(1) << 50)

/* Works a plan out.  -ENOSPC: the tiers that are available cannot take the
 * task; -EINVAL: it has no bytes, or more than this.  *ret is untouched
 * then.
 */
int spw_choose_solve(struct spw_chooser *ch, const struct spw_costs *costs,
		     uint64_t bytes, struct spw_plan *ret);

/* What a piece is expected to take, unweighted, in seconds. */
struct spw_expected {
	double pack, write, read, unpack;
	uint64_t stored;		/* bytes */
};
void spw_choose_expect(const struct spw_chooser *ch,
		       const struct spw_costs *costs,
		       const struct spw_piece *piece,
		       struct spw_expected *ret);

/* The pieces of the plan that spw_choose_solve would give, from memory if
 * they are there; *ret_n says how many.  NULL where solve fails.  They hold
 * until the next call.
 *
 * A plan of one piece is kept under the costs, the quanta and the generation.
 * The generation changes with everything that could make another plan better:
 * weights, speeds, queues, availability, and more room if some plan of the
 * generation was confined.  Less room makes no other plan better; it changes
 * the generation when a plan kept would no longer fit.  A plan of several
 * pieces fills tiers, so it serves once and is not kept.
 */
static inline const struct spw_piece *
spw_choose(struct spw_chooser *ch, const struct spw_costs *costs,
	   uint64_t bytes, unsigned *ret_n);

/* The rest is for spw_choose, which is a few nanoseconds. */

#define SPW_CHOOSE_SLOTS 4096		/* a power of two */
#define SPW_CHOOSE_PROBES 4

struct spw_choose_slot {
	uint64_t key;			/* generation and version; 0: empty */
	struct spw_piece piece;		/* with the quanta of the task */
	uint64_t pad;
};

struct spw_chooser {
	uint64_t generation;		/* times 2^40, and never 0 */
	uint64_t free[SPW_CHOOSE_TIERS];
	uint64_t most[SPW_CHOOSE_TIERS];	/* that a plan kept stores */
	struct spw_tier_state tier[SPW_CHOOSE_TIERS];
	unsigned n;
	bool confined;			/* some plan of this generation was */
	bool overlap;
	struct spw_weights weights;
	struct spw_plan plan;		/* the last that was worked out */
	struct spw_search *search;
	struct spw_choose_slot slot[SPW_CHOOSE_SLOTS + SPW_CHOOSE_PROBES];
};

const struct spw_piece *spw_choose_slow(struct spw_chooser *ch,
					const struct spw_costs *costs,
					uint64_t bytes,
					struct spw_choose_slot *from,
					unsigned *ret_n);

static inline uint64_t
spw_choose_quanta(uint64_t bytes)
{
	return (bytes + SPW_QUANTUM - 1) / SPW_QUANTUM;
}

static inline const struct spw_piece *
spw_choose(struct spw_chooser *ch, const struct spw_costs *costs,
	   uint64_t bytes, unsigned *ret_n)
{
	uint64_t quanta = spw_choose_quanta(bytes);
	uint64_t key = ch->generation | costs->version;
	uint64_t mix = ((key << 14) + quanta) * UINT64_C(0x9e3779b97f4a7c15);
	struct spw_choose_slot *slot =
		&ch->slot[mix >> 40 & (SPW_CHOOSE_SLOTS - 1)];

	*ret_n = 1;
	if (SPW_LIKELY(slot->key == key && slot->piece.quanta == quanta))
		return &slot->piece;
	slot++;
	if (slot->key == key && slot->piece.quanta == quanta)
		return &slot->piece;
	return spw_choose_slow(ch, costs, bytes, slot - 1, ret_n);
}

#endif
