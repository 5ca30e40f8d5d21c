/* SPDX-License-Identifier: BSD-3-Clause */
/* replays.h -- recovering from the tiers: what is said and done */
#ifndef SPW_TOOLS_REPLAYS_H
#define SPW_TOOLS_REPLAYS_H

#include "tools/json.h"
#include "tools/shares.h"

struct spw_outcome {			/* of one share */
	uint64_t bytes;			/* brought home */
	uint32_t files, kept;
	uint64_t left;
	size_t damaged;
	int err;			/* of the tiers */
};

struct spw_replays {			/* shares without a segment */
	struct spw_replay **list;	/* the oldest first */
	struct spw_outcome *outcome;	/* of each */
	size_t n;
	struct spw_replay **beside;	/* older than some of them, of jobs
					 * that were not asked for */
	size_t nbeside;
	size_t needed;			/* of them, not just kept */
	const struct spw_args *args;
	bool force;
};

/* Opens what nobody else has. The worst exit status so far is returned. */
int spw_replays_open(const struct spw_shares *shares,
		     const struct spw_args *args, bool force,
		     struct spw_replays *ret);

/* Whether there is more in it than what is kept on purpose. */
bool spw_replays_is_needed(const struct spw_replay *r);

/* What there is, for people. */
void spw_replays_show(const struct spw_replays *all);

/* Brings it home. */
void spw_replays_bring(struct spw_replays *all);

/* Tells how it went, if it was agreed to, and closes all. Into the JSON array
 * j, if there is one. Returns the exit status. */
int spw_replays_conclude(struct spw_replays *all, bool agreed,
			 struct spw_json *j);

/* Names a damaged object with its file and range. */
void spw_replays_blame(const struct spw_args *args, const struct spw_replay *r,
		       const struct spw_replay_object *o);
void spw_replays_put_object(struct spw_json *j, const struct spw_replay *r,
			    const struct spw_replay_object *o);

/* What the name of an owner begins with. */
const char *spw_replays_job(const struct spw_replay *r, char buf[256]);

#endif
