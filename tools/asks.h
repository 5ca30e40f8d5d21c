/* SPDX-License-Identifier: BSD-3-Clause */
/* asks.h -- asking the drainer for everything that is not home now */
#ifndef SPW_TOOLS_ASKS_H
#define SPW_TOOLS_ASKS_H

#include "shm/seg.h"

/*
 * What was written before the asking is home when all asks are answered;
 * programs may go on writing meanwhile. No lane is needed.
 */
struct spw_ask {
	uint32_t file, gen, ticket, fails;
};

struct spw_asks {
	struct spw_ask *ask;
	uint32_t n;
};

/* Asks for every file that is not settled, all: also for those that would be
 * kept in the tiers; -ENOMEM. Ends with spw_asks_free. */
int spw_asks_make(struct spw_map *map, bool all, struct spw_asks *ret_asks);
void spw_asks_free(struct spw_asks *asks);

/* Asks not answered yet. Answered ones are dropped; when one of them failed,
 * ret_err becomes its positive errno. */
uint32_t spw_asks_open(struct spw_map *map, struct spw_asks *asks,
		       int *ret_err);

#endif
