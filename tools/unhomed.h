/* SPDX-License-Identifier: BSD-3-Clause */
/* unhomed.h -- the files of a segment that are not home, and their bytes */
#ifndef SPW_TOOLS_UNHOMED_H
#define SPW_TOOLS_UNHOMED_H

#include "shm/seg.h"

struct spw_unhomed {
	uint64_t bytes;
	int err;			/* positive errno of the last attempt */
	char path[SPW_FILE_PATH];
};

/* A snapshot, by path; free() the list. */
int spw_unhomed_list(const struct spw_map *map, struct spw_unhomed **ret_list,
		     size_t *ret_n);

#endif
