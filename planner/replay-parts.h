/* SPDX-License-Identifier: BSD-3-Clause */
/* replay-parts.h -- what the parts of replay share */
#ifndef SPW_PLANNER_REPLAY_PARTS_H
#define SPW_PLANNER_REPLAY_PARTS_H

#include "planner/replay.h"

/* Bytes that an object can take. */
size_t spw_replay_bound(void);

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
