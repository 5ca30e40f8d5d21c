/* SPDX-License-Identifier: BSD-3-Clause */
/* profile.h -- the parts of spillway profile: data, codecs, tiers */
#ifndef SPW_TOOLS_PROFILE_H
#define SPW_TOOLS_PROFILE_H

#include "planner/seed.h"
#include "planner/trial.h"
#include "planner/ways.h"
#include "shm/conf.h"
#include "tools/show.h"

/* Time and patience, shared by all parts. */
struct spw_profile_time {
	double until;			/* spw_show_clock: end of a part */
	double began, seconds;		/* of all of it */
	double at_last;			/* when even the first round ends */
	struct spw_progress progress;
};

/* False: the part's time is over, or the user has had enough. */
bool spw_profile_go_on(struct spw_profile_time *t, const char *doing);
bool spw_profile_is_stopped(void);

/* Data. */

#define SPW_PROFILE_PIECE SPW_TRIAL_MAX
#define SPW_PROFILE_PIECES 4u		/* of a user's file */

struct spw_profile_data {
	char name[64];
	uint8_t *bytes;
	size_t n;
	struct spw_traits traits;
};

struct spw_profile_set {
	unsigned n, room;
	struct spw_profile_data *at;
};

/* Data of every kind that is common, made here; 0 or -ENOMEM. */
int spw_profile_generate(struct spw_profile_set *set);

/* Pieces of a file, or a negative errno. */
int spw_profile_read(struct spw_profile_set *set, const char *path);
void spw_profile_forget(struct spw_profile_set *set);

/* Codecs. */

struct spw_profile_cost {
	unsigned data, way;
	struct spw_observed best;	/* the shortest times */
};

struct spw_profile_costs {
	struct spw_ways ways;
	unsigned n;
	struct spw_profile_cost *at;
};

/* Every way that suits, on all data: once if at all possible, then again
 * while there is time.  0 or -ENOMEM.
 */
int spw_profile_codecs(struct spw_profile_time *t,
		       const struct spw_profile_set *set,
		       struct spw_profile_costs *ret);

/* Into the predictor, for the seed. */
int spw_profile_learn(const struct spw_profile_set *set,
		      const struct spw_profile_costs *costs,
		      struct spw_predictor **ret_predictor);

/* Tiers. */

struct spw_profile_tier {
	struct spw_seed_tier is;
	const struct spw_tierspec *spec;	/* NULL: home */
	uint64_t capacity;
	int err;			/* it was not measured, and why */
};

struct spw_profile_tiers {
	unsigned n;
	struct spw_profile_tier at[SPW_SEED_TIERS];
};

/* All of the list, and last the home below a directory.  What is written is
 * removed again.  One that stalls is -ETIMEDOUT after some seconds.
 */
void spw_profile_tiers(struct spw_profile_time *t,
		       const struct spw_tierlist *list, const char *home,
		       struct spw_profile_tiers *ret);
const char *spw_profile_error(int err);

/* Does a tier of the list answer who checks it?  Looks for some seconds, and
 * does not say what is wrong with it.
 */
bool spw_profile_answers(const struct spw_config *cfg,
			 const struct spw_tierlist *list, unsigned i);

#endif
