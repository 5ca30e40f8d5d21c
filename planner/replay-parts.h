/* SPDX-License-Identifier: BSD-3-Clause */
/* replay-parts.h -- what the parts of replay share */
#ifndef SPW_PLANNER_REPLAY_PARTS_H
#define SPW_PLANNER_REPLAY_PARTS_H

#include "planner/replay.h"

/* Bytes that an object can take. */
size_t spw_replay_bound(void);

/* Makes r->stored and r->move; those that a tier has are its own. */
int spw_replay_buffers(struct spw_replay *r);

/* Opens the next tier; lists and closes one. -ETIMEDOUT: it does not
 * answer. */
int spw_replay_open_tier(struct spw_replay *r,
			 const struct spw_replay_place *p,
			 const struct spw_tier_setup *setup);
int spw_replay_list_tier(struct spw_replay *r, uint32_t tier,
			 int (*seen)(void *arg,
				     const struct spw_tier_found *f),
			 void *arg);
int spw_replay_close_tier(struct spw_replay *r, uint32_t tier, bool discard);

/* To or from r->stored; a put has its place afterwards. */
int spw_replay_move(struct spw_replay *r, uint32_t tier,
		    struct spw_transfer *what);

/* The owner of these shares is at work now, if anybody asks later. */
void spw_replay_stamp(struct spw_replay *r);

/* The file's home, opened; negative errno. */
int spw_replay_find(struct spw_replay *r, const struct spw_replay_file *f);

/* What home says of them: those that it has count no more. */
void spw_replay_heed(struct spw_replay *r, struct spw_replay_file *f, int fd);

/* Applies all objects of a file, sets its size and time, and syncs it. */
int spw_replay_apply(struct spw_replay *r, uint32_t file, int fd,
		     const struct spw_replay_step *step);

/* Lets go of all objects of a file that is home, durably. */
int spw_replay_drop_file(struct spw_replay *r, uint32_t file);

#endif
