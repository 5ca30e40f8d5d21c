/* SPDX-License-Identifier: BSD-3-Clause */
/* explore-parts.h -- what the files of the explorer share, for them alone */

#ifndef SPW_PLANNER_EXPLORE_PARTS_H
#define SPW_PLANNER_EXPLORE_PARTS_H

#include "planner/explore.h"
#include "planner/trial.h"

#include <math.h>

#define SPW_EXPLORE_STREAMS 512u	/* a power of two */
#define SPW_EXPLORE_PIECES 4u		/* of data, in a sample and a block */
#define SPW_EXPLORE_PIECE ((size_t)SPW_QUANTUM)
#define SPW_EXPLORE_LONG (8 * SPW_EXPLORE_PIECE)	/* of what shrinks to
							 * little */
#define SPW_EXPLORE_LITTLE (SPW_QUANTUM / 16.0)	/* bytes of a quantum */
#define SPW_EXPLORE_SAVES 0.97		/* of a byte is stored, at most, or it
					 * is not worth it */
#define SPW_EXPLORE_PROBE 600u	/* MB/s, of the codec that filters are behind */

#define SPW_EXPLORE_CODECS 0.6	/* of the time for trials, before a block is
				 * tried */

struct spw_explore_seen {
	struct spw_stream key;
	uint32_t asked, next;
	double cost;			/* of the best, as ways were ruled out */
	bool cut;			/* more would have been tried, had there
					 * been time */
};

/* What a stream, of whatever traits, has cost. */
struct spw_explore_account {
	uint64_t id;
	double bytes, spent;		/* seconds in trials, weighted */
};

/* The filters that were good for data of a stream, and the way that is best,
 * with what it costs: seconds a byte, weighted.  And the class that was
 * explored last, with what a sample of it told.
 */
struct spw_explore_kin {
	uint64_t id, alike;		/* the traits, in part */
	uint64_t traits;		/* all of them */
	unsigned sampled;		/* the way; 0: there is none */
	double left;			/* of the bytes it got */
	uint64_t filters;		/* 0: none was */
	unsigned best;
	double cost;			/* 0: there is no best yet */
};

struct spw_explorer {
	const struct spw_ways *ways;
	uint64_t present;		/* ways */
	struct spw_predictor *predictor;
	struct spw_chooser *chooser;
	struct spw_trial trial;
	uint8_t sample[SPW_EXPLORE_PIECES * SPW_EXPLORE_PIECE];
	uint8_t block[SPW_EXPLORE_PIECES * SPW_EXPLORE_LONG];
	size_t sampled, in_block;	/* bytes of them in use */
	double took[SPW_CHOICES_MAX];	/* seconds a byte of it; 0: not tried */
	double left[SPW_CHOICES_MAX];	/* of a byte */
	bool cut;			/* trials were left out */
	struct spw_explore_account *account;	/* of the stream at hand */
	struct spw_explore_account accounts[SPW_EXPLORE_STREAMS];
	struct spw_explore_kin kin[SPW_EXPLORE_STREAMS];
	struct spw_explore_seen seen[SPW_EXPLORE_STREAMS];
};

static inline unsigned
spw_explore_slot(uint64_t key)
{
	return key * UINT64_C(0x9e3779b97f4a7c15) >> 40 &
	       (SPW_EXPLORE_STREAMS - 1);
}

static inline bool
spw_explore_is_known(const struct spw_costs *costs, unsigned way)
{
	return costs->pack[way] < (double)INFINITY;
}

/* explore-run.c: a sample is taken, then tried as often as is wanted; so is a
 * block, once in_block is 0.  False: the way cannot be had here.
 */
void spw_explore_sample(struct spw_explorer *e, const struct spw_explored *x);
bool spw_explore_run_sample(struct spw_explorer *e,
			    const struct spw_explored *x, unsigned way,
			    struct spw_observed *ret);
void spw_explore_run_again(struct spw_explorer *e,
			   const struct spw_explored *x, unsigned way,
			   struct spw_observed *at);
bool spw_explore_run_block(struct spw_explorer *e,
			   const struct spw_explored *x, unsigned way,
			   struct spw_observed *ret);

/* The predictor learns what a trial showed; or a sample is tried, and that. */
void spw_explore_tell(struct spw_explorer *e, const struct spw_explored *x,
		      unsigned way, const struct spw_observed *seen);
void spw_explore_try(struct spw_explorer *e, const struct spw_explored *x,
		     unsigned way);

/* explore-worth.c: what a plan costs beside the time that its tiers have
 * others to serve; and seconds a byte of the best plan so far, and the way of
 * its first piece; 0: there is none.
 */
double spw_explore_alone(const struct spw_chooser *ch,
			 const struct spw_plan *plan);
double spw_explore_plan(struct spw_explorer *e, const struct spw_explored *x,
			unsigned *ret_way);

/* May trials go on?  They get a share of the time that the stream takes as far
 * as is known, of which `part` may be spent by now.
 */
bool spw_explore_affords(struct spw_explorer *e, const struct spw_explored *x,
			 double part);

/* Was it tried on this stream, or used? */
bool spw_explore_is_tried(struct spw_explorer *e, const struct spw_explored *x,
			  unsigned way);

/* Times what packing a sample took, a byte, that packing a block may take. */
double spw_explore_hope(const struct spw_costs *costs, unsigned way);

/* Seconds a byte if a way is as quick as can be, by what others took. */
double spw_explore_least(const struct spw_explorer *e,
			 const struct spw_costs *costs, unsigned way);

/* explore-filter.c: the quickest codec and level, of those that fit, that is
 * no quicker than this; if there is none, any; 0: there is none at all.
 */
unsigned spw_explore_probe(const struct spw_explorer *e, uint64_t fit,
			   unsigned most);

/* What is known of data of the stream that is much like this. */
struct spw_explore_kin *spw_explore_kin(struct spw_explorer *e,
					const struct spw_explored *x);

/* The filters worth going on with, a bit each, and the probe that found them.
 * A usual stream has nothing tried for it.
 */
uint64_t spw_explore_filters(struct spw_explorer *e,
			     const struct spw_explored *x, uint64_t fit,
			     bool usual, unsigned *ret_probe);

/* explore-codec.c: what needs no trial.  Where the stream is as usual for its
 * class, that is all that is known; else what was tried on itself.
 */
uint64_t spw_explore_done(struct spw_explorer *e, const struct spw_explored *x,
			  bool usual, unsigned probe);

/* Codecs behind these filters, but for those.  True: there was one. */
bool spw_explore_codecs(struct spw_explorer *e, const struct spw_explored *x,
			uint64_t fit, uint64_t filters, uint64_t done);

/* explore-final.c: blocks for the best, and later for who would be next. */
void spw_explore_finalists(struct spw_explorer *e,
			   const struct spw_explored *x);
void spw_explore_seconds(struct spw_explorer *e, const struct spw_explored *x);

/* One that was good for data like this; false: there is no time for it. */
bool spw_explore_block(struct spw_explorer *e, const struct spw_explored *x,
		       unsigned way);

/* Has another that packs a chance?  What raw takes is known. */
bool spw_explore_is_close(struct spw_explorer *e, const struct spw_explored *x,
			  unsigned winner);

#endif
