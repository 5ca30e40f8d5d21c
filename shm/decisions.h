/* SPDX-License-Identifier: BSD-3-Clause */
/* decisions.h -- the log of what the drainer decided, a ring in the segment */
#ifndef SPW_SHM_DECISIONS_H
#define SPW_SHM_DECISIONS_H

#include <stdbool.h>

#include "shm/seg.h"

/* Adds one; stamp and path come from here. The drainer only. */
void spw_decision_note(struct spw_map *map, const struct spw_decision *d,
		       const char *path);

/* How many there were so far, and the first that may still be there. */
uint64_t spw_decision_count(const struct spw_map *map);
uint64_t spw_decision_first(const struct spw_map *map);

/* A copy of one, by its number from 0. False: it is not there any more, or
 * its writer died over it. Any process at any time; the fields are as they
 * were found, but the path ends. */
bool spw_decision_get(const struct spw_map *map, uint64_t number,
		      struct spw_decision *ret);

/* The name of a bit of enum spw_why. */
const char *spw_why_name(unsigned bit);

#endif
