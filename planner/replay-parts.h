/* SPDX-License-Identifier: BSD-3-Clause */
/* replay-parts.h -- what the parts of replay share */
#ifndef SPW_PLANNER_REPLAY_PARTS_H
#define SPW_PLANNER_REPLAY_PARTS_H

#include "planner/replay.h"

/* Bytes that an object can take. */
size_t spw_replay_bound(void);

/* The owner of these shares is at work now, if anybody asks later. */
void spw_replay_stamp(struct spw_replay *r);

#endif
