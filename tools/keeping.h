/* SPDX-License-Identifier: BSD-3-Clause */
/* keeping.h -- what a job leaves in the tiers, and what it does not */
#ifndef SPW_TOOLS_KEEPING_H
#define SPW_TOOLS_KEEPING_H

#include "shm/seg.h"

struct spw_keeping {
	uint32_t files;			/* that are stubs now */
	uint64_t bytes;			/* their sizes */
};

void spw_keeping_count(const struct spw_map *map, struct spw_keeping *ret);

/* Says on standard error which files are not kept, and why. */
void spw_keeping_report(const struct spw_map *map, bool color,
			unsigned verbose);

#endif
