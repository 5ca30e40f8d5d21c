/* SPDX-License-Identifier: BSD-3-Clause */
/* missing.h -- bytes that a segment has in tiers, and no tier has */
#ifndef SPW_TOOLS_MISSING_H
#define SPW_TOOLS_MISSING_H

#include "tools/json.h"
#include "tools/segments.h"

/*
 * Looks for the object of every block that is below. A line for each stretch
 * of a file that is in none; into the array "missing" of j, if there is one.
 * Returns how many there are. Nobody is disturbed: of a living segment it is
 * looked at twice, since things move.
 */
uint64_t spw_missing_tell(struct spw_segment *s, bool color,
			  struct spw_json *j);

#endif
