/* SPDX-License-Identifier: BSD-3-Clause */
/* lost.h -- telling what cannot be read from the tiers of a segment */
#ifndef SPW_TOOLS_LOST_H
#define SPW_TOOLS_LOST_H

#include "shm/seg.h"
#include "tools/json.h"

/* A line for each loss that is not in *told yet, and notes it there. Returns
 * how many there are now. */
uint32_t spw_lost_tell(const struct spw_map *map, bool color,
		       uint32_t *told);

/* The same as an array "lost". */
void spw_lost_put(struct spw_json *j, const struct spw_map *map);

#endif
