/* SPDX-License-Identifier: BSD-3-Clause */
/* keep.h -- files whose bytes stay in the tiers when the job is over */
#ifndef SPW_PLANNER_KEEP_H
#define SPW_PLANNER_KEEP_H

#include "planner/drainer.h"

/* Whether the file's bytes are not to go home by themselves. */
bool spw_keep_holds(struct spw_drainer *d, uint32_t file);

/* Somebody needs them home after all. */
void spw_keep_lose(struct spw_drainer *d, uint32_t file, enum spw_keep why);

/* Looks at all files that are not home, and makes their names durable. */
void spw_keep_judge(struct spw_drainer *d);

/* The predecessor died over making a stub: its file is a plain one again. */
void spw_keep_take_over(struct spw_drainer *d, uint32_t file);

#endif
