/* SPDX-License-Identifier: BSD-3-Clause */
/* shares.h -- the shares that segments have, or had, in the tiers */
#ifndef SPW_TOOLS_SHARES_H
#define SPW_TOOLS_SHARES_H

#include "planner/replay.h"
#include "shm/layout.h"
#include "tools/args.h"

struct spw_share_owner {
	char name[256];			/* JOB.TIME */
	char job[256];
	uint64_t made;			/* the TIME: ns */
	bool has_segment;		/* whose drainer looks after it */
};

struct spw_shares {
	struct spw_tierlist tiers;
	struct spw_replay_place place[SPW_TIERS_MAX];
	unsigned nplaces;
	struct spw_share_owner *owner;	/* the oldest first */
	size_t n;
	bool unreachable;		/* a place could not be looked at */
};

/* All of this user in the tiers of the settings. Negative: go on; else the
 * exit status, with the reason said. Free with spw_shares_free. */
int spw_shares_find(const struct spw_args *args, char **envp,
		    struct spw_shares *ret);
void spw_shares_free(struct spw_shares *s);

bool spw_shares_have_job(const struct spw_shares *s, const char *job);

/* Whether a command was asked for this one: named, or nothing is. */
bool spw_shares_is_meant(const struct spw_share_owner *o,
			 const struct spw_args *args);

#endif
