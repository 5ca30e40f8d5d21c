/* SPDX-License-Identifier: BSD-3-Clause */
/* levels.h -- the tiers of a segment, as its drainer last saw them */
#ifndef SPW_TOOLS_LEVELS_H
#define SPW_TOOLS_LEVELS_H

#include "planner/drain.h"
#include "shm/seg.h"
#include "shm/tierspec.h"
#include "tools/json.h"

struct spw_level_seen {
	const char *kind, *place;
	enum spw_level_state state;
	int err;			/* positive */
	bool durable;
	uint32_t objects;
	uint64_t capacity, used;
	char caution[SPW_SEG_CAUTION];	/* or empty */
};

struct spw_levels {			/* some 24 KiB */
	struct spw_tierlist list;
	struct spw_level_seen level[SPW_SEG_LEVELS];
	unsigned n;
};

/* Those below memory, fastest first. */
void spw_levels_see(const struct spw_map *map, struct spw_levels *ret);

void spw_levels_show(const struct spw_levels *l);
void spw_levels_put(const struct spw_levels *l, struct spw_json *j);

/* Warns of tiers that cannot be used, and of what to know of the others;
 * waits a moment for a drainer to look at them. Returns how many warnings
 * there were; quiet: says none. */
unsigned spw_levels_warn(const struct spw_map *map, bool color, bool quiet);

/* Why a segment is not all home: a file's error, a tier that is not well, or
 * err. */
enum { SPW_LEVELS_WHY = 512 };
const char *spw_levels_why(const struct spw_map *map,
			   const struct spw_drain_left *left, int err,
			   char why[SPW_LEVELS_WHY]);

#endif
