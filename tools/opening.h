/* SPDX-License-Identifier: BSD-3-Clause */
/* opening.h -- shares opened by a command, which says when that takes long */
#ifndef SPW_TOOLS_OPENING_H
#define SPW_TOOLS_OPENING_H

#include "planner/replay.h"

/* As spw_replay_open; quiet: nothing is said. */
int spw_opening(const struct spw_replay_place *places, unsigned n,
		const char *owner, bool look_only, bool quiet,
		struct spw_replay **ret);

#endif
