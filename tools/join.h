/* SPDX-License-Identifier: BSD-3-Clause */
/* join.h -- the segment that a run works in: made, or joined */
#ifndef SPW_TOOLS_JOIN_H
#define SPW_TOOLS_JOIN_H

#include "shm/conf.h"
#include "shm/seg.h"

struct spw_joined {
	struct spw_map map;
	uint32_t proc;			/* our record: keeps it from removal */
};

/*
 * Makes the segment of cfg->job with its tiers, or joins it if the job
 * lives. One that a dead job left is never touched: the next name is taken
 * then, and cfg->job changes. 0, or a negative errno with the reason in ret_diag:
 * an error where what the user asked for is at fault, else a warning.
 */
int spw_join(struct spw_config *cfg, const struct spw_tierlist *tiers,
	     struct spw_joined *ret_joined, struct spw_diag *ret_diag);

/* Says on standard error which segments of dead jobs lie about. */
void spw_join_report_dead(const struct spw_config *cfg, bool color);

#endif
