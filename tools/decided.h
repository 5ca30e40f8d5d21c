/* SPDX-License-Identifier: BSD-3-Clause */
/* decided.h -- decisions of the drainer, for people and as JSON */
#ifndef SPW_TOOLS_DECIDED_H
#define SPW_TOOLS_DECIDED_H

#include "shm/decisions.h"
#include "shm/tierspec.h"
#include "tools/json.h"

/* "chosen, full"; buf is returned. */
#define SPW_DECIDED_WHY 80
const char *spw_decided_why(unsigned why, char buf[SPW_DECIDED_WHY]);

/* What was expected and what came of it, as members of an open object. */
void spw_decided_put_costs(struct spw_json *j, const struct spw_decision *d);

/* The log of a segment, from a number on; returns the number of the next. */
uint64_t spw_decided_print(const struct spw_map *map,
			   const struct spw_tierlist *tiers, uint64_t from);
void spw_decided_put(struct spw_json *j, const struct spw_map *map,
		     const struct spw_tierlist *tiers);

#endif
