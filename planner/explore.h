/* SPDX-License-Identifier: BSD-3-Clause */
/* explore.h -- which ways to try on data of which little is known */

/* Trials cost time that is better spent on packing, so
 *
 *	every filter that suits the data is tried once, behind a quick codec,
 *	on samples; if that saves nothing, behind one that codes bytes by
 *	how many there are; nothing else is tried if that does not either;
 *	other codecs are tried behind the filter that leaves least and the
 *	one that is cheapest beside it, quick ones first, as long as one
 *	could win if it stored nothing at all;
 *	the best is tried on a whole block, until the best is one that was;
 *	of what is the same all over two codecs get a block each, and
 *	nothing is tried;
 *	and all of it takes no more than a hundredth or so of the time that
 *	64 MiB of the stream are expected to take.
 *
 * One trial decides much, and the first run of a codec on a sample may take
 * several times what it should: caches do not know its code and tables, or
 * something else came in between.  So it is made again where it decides: if the
 * way is not the best by what it took, and would be at a part of that; if it
 * rules out slower levels of the codec; if it took longer than such a level.
 *
 * This happens when the first data of a class comes along; what there was no
 * time for, later.  Where a stream is of several classes that differ in little,
 * what is known of one holds for the next, if a sample shrinks as much; else
 * what was good for the one is tried first for the other.  What turns out to
 * be better for one later on is tried for the others.  Other streams of the
 * class start from what was learned, if a sample of them is as usual there.
 * Later on, the second best, if it has a chance, is tried on a block beside
 * the best after 4 blocks of a stream, after 12 more, 36 more, ...; of what is
 * the same all over it gets the block itself.  Where raw is the
 * best, nothing else shows what others take by now, so they are tried on less
 * of a chance.  Where a plan costs half as much again as when ways were ruled
 * out, since tiers are slower than they seemed, those that could win now are
 * tried.
 *
 * An explorer belongs to one thread.
 */

#ifndef SPW_PLANNER_EXPLORE_H
#define SPW_PLANNER_EXPLORE_H

#include "planner/analyze.h"
#include "planner/choose.h"
#include "planner/predict.h"
#include "planner/ways.h"

struct spw_explorer;

/* ways, predictor and chooser are the advisor's and outlive it.  present:
 * the ways whose codecs are there.
 */
int spw_explore_new(const struct spw_ways *ways, uint64_t present,
		    struct spw_predictor *predictor,
		    struct spw_chooser *chooser,
		    struct spw_explorer **ret_explorer);
void spw_explore_free(struct spw_explorer *e);		/* takes NULL */

struct spw_explored {			/* data that is to be placed */
	const struct spw_stream *stream;
	const struct spw_traits *traits;
	const uint8_t *data;
	size_t n;
	uint64_t may;			/* ways that some tier would take */
};

/* The weights are others: what was not worth a trial may be now. */
void spw_explore_renew(struct spw_explorer *e);

/* Tries what is due; the predictor learns from it.  True: it did.  *ret_rest:
 * ways, a bit each, if this data is better left to the next one, to see what
 * that takes now; 0: it is not.
 */
bool spw_explore(struct spw_explorer *e, const struct spw_explored *x,
		 uint64_t *ret_rest);

#endif
