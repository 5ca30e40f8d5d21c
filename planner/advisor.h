/* SPDX-License-Identifier: BSD-3-Clause */
/* advisor.h -- where a run of bytes should go, packed how, and what came */

/* The planner's one face for whoever moves bytes:
 *
 *	ask	what is this, where should it go, packed how?
 *	learn	this is what packing it took, and gave
 *	monitor	this is what a tier took, and holds
 *
 * Behind it the analyzer says what the bytes are (analyze.h), the predictor
 * what each way to pack them will cost (predict.h), trials what is not known
 * yet (explore.h), the monitor how the tiers are (monitor.h), and the chooser
 * what is cheapest (choose.h).
 *
 * An advisor belongs to one thread.  Times are of CLOCK_MONOTONIC.
 */

#ifndef SPW_PLANNER_ADVISOR_H
#define SPW_PLANNER_ADVISOR_H

#include "planner/analyze.h"
#include "planner/choose.h"
#include "planner/monitor.h"
#include "planner/predict.h"
#include "planner/seed.h"
#include "shm/weights.h"
#include "tiers/codec.h"
#include "tiers/object.h"

struct spw_advisor;

struct spw_advisor_setup {
	const char *seed;		/* a path; NULL: none */
	struct spw_weights weights;	/* checked, see weights.h */
	bool overlap;			/* as in choose.h */

	/* What tiers are pinned to, with levels filled in. */
	const struct spw_codec_choice *pins;
	unsigned n_pins;
};

/* Loads the codecs, the first time in a process, and the seed.  A seed that cannot
 * be used and codecs that are not to be had are no failures, see notes.  0 or
 * -ENOMEM.
 */
int spw_advisor_new(const struct spw_advisor_setup *setup,
		    struct spw_advisor **ret_advisor);
void spw_advisor_free(struct spw_advisor *a);		/* takes NULL */

/* What the user should be told about the start, a line each without its end;
 * NULL past the last.
 */
const char *spw_advisor_note(const struct spw_advisor *a, unsigned i);

/* Adds what was learned to the seed, if there is one.  As spw_seed_save. */
int spw_advisor_save(struct spw_advisor *a, struct spw_seed_note *ret_note);

/* The seed was damaged: it is to be saved even if nothing is learned. */
bool spw_advisor_is_owed(const struct spw_advisor *a);

/* Takes over what was learned, for who saves it.  As spw_seed_collect. */
int spw_advisor_collect(struct spw_advisor *a, struct spw_seed *into);

/* The ways to pack that a tier with this pin takes, for the `choices` of a
 * tier; NULL: it has none, and takes all; { SPW_CODEC_NONE }: raw only, as
 * home does.  plain: without filters.
 */
uint64_t spw_advisor_choices(const struct spw_advisor *a,
			     const struct spw_codec_choice *pin, bool plain);

/* The next tier, fastest first; home comes last.  As spw_monitor_add. */
int spw_advisor_add(struct spw_advisor *a, const struct spw_monitored *tier);

/* To be told of what is queued, done, held and released. */
struct spw_monitor *spw_advisor_monitor(struct spw_advisor *a);

/* Other weights, from the next question on. */
void spw_advisor_weigh(struct spw_advisor *a, const struct spw_weights *w);

struct spw_advised {			/* one piece */
	uint64_t bytes;			/* all but the last: whole quanta */
	uint8_t tier;			/* in the order of spw_advisor_add */
	uint8_t choice;
	struct spw_object_pack pack;	/* nblocks 0 */
	struct spw_expected expected;
};

struct spw_advice {
	struct spw_stream stream;
	struct spw_traits traits;
	bool tried;			/* trials were made for it */
	unsigned n;
	struct spw_advised piece[SPW_CHOOSE_TIERS];	/* in their order */
};

#define SPW_ADVISOR_TIERS UINT64_MAX	/* all of them */

/* n bytes that lie at `offset` of the stream with this number: a file, a
 * dataset, or a region of one.  label: what is known of them, or NULL, as in
 * analyze.h.  tiers: bit i, tier i may be used now.  -ENOSPC: these cannot
 * take it; -EINVAL: n is 0; *ret holds nothing of use then.
 */
int spw_advisor_ask(struct spw_advisor *a, uint64_t stream, const void *data,
		    size_t n, uint64_t offset, const struct spw_traits *label,
		    uint64_t tiers, struct spw_advice *ret);

/* What packing a piece, or a part of it, as advised took and gave; reading it
 * back as well, where that was measured.
 */
void spw_advisor_learn(struct spw_advisor *a, const struct spw_advice *advice,
		       unsigned piece, const struct spw_observed *seen);

/* The same for who has kept no more than this. */
void spw_advisor_learn_of(struct spw_advisor *a,
			  const struct spw_stream *stream, unsigned choice,
			  const struct spw_observed *seen);

#endif
