/* SPDX-License-Identifier: BSD-3-Clause */
/* handover.h -- leaving a segment to somebody else, or removing it */
#ifndef SPW_TOOLS_HANDOVER_H
#define SPW_TOOLS_HANDOVER_H

#include "shm/seg.h"
#include "tools/child.h"

enum spw_handover {
	SPW_REMOVED,			/* all home: the segment is gone */
	SPW_TAKEN_OVER,			/* another run, or an agent, goes on */
	SPW_AGENT_STARTED,		/* ours, just now */
	SPW_LEFT_ALONE			/* nobody could be found */
};

/*
 * After our own drainer has stopped: removes the segment if it is empty and
 * deserted, else sees to it that someone drains it.
 */
enum spw_handover spw_hand_over(struct spw_map *map,
				const struct spw_child *c, pid_t *ret_agent);

/*
 * While our drainer is still in the middle of something: an agent takes over
 * as soon as this process has ended, which must be soon.
 */
enum spw_handover spw_hand_over_at_exit(struct spw_map *map,
					const struct spw_child *c,
					pid_t *ret_agent);

#endif
