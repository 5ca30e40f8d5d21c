/* SPDX-License-Identifier: BSD-3-Clause */
/* agent.h -- seeing to it that somebody drains */
#ifndef SPW_INTERPOSE_AGENT_H
#define SPW_INTERPOSE_AGENT_H

#include "shm/seg.h"

/* Cheap while a drainer lives; starts one otherwise. 0, or a negative errno
 * when none can be had. */
int spw_agent_need(struct spw_map *map);

/* None could be had when one was last needed; and not a moment ago only. */
extern _Atomic bool spw_agent_is_missing;
bool spw_agent_has_failed(void);

/* Brings home what is dirty, in this thread, which waits for it: where none
 * can be had. */
int spw_agent_drain_here(struct spw_map *map);

/* Whether what a drainer of our own needs is there. */
bool spw_agent_is_possible(void);

/* Runs `spillway stage out' for a path and waits for it. 0: it ended well. */
int spw_agent_stage_out(const char *path);

/* In a forked child: the parent's drain thread is not here. */
void spw_agent_forked(void);

/* This process can no longer have a drain thread: it ends it. */
void spw_agent_withdrawn(void);

/* Before this process, or its image, ends: what it leaves behind has a
 * drainer, or is home. */
void spw_agent_finish(void);

/* At the end of a process that nobody drains for: removes the segment if it is
 * the last one there and everything can be brought home: true. */
bool spw_agent_end_job(void);

/* Before another image, which may never look at the segment, takes the place
 * of ours: as at the end. Where it inherits managed files it is one of those
 * that use it. And if there was none. */
void spw_agent_exec_begins(bool hands_over);
void spw_agent_exec_failed(void);

/* True when this value of LD_PRELOAD loads us. */
bool spw_agent_is_named_in(const char *preload);

/* Appends what else it names. */
struct spw_text;
void spw_agent_unname(const char *preload, struct spw_text *t);

#endif
