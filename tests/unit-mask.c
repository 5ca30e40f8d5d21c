/* SPDX-License-Identifier: BSD-3-Clause */
/* unit-mask.c -- masks against an array with a byte for each bit */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shm/mask.h"

enum { ROUNDS = 20000, STEPS = 12 };

static bool truth[SPW_BLOCK_SIZE];
static struct spw_mask mask;

static uint32_t
pick(uint32_t below)
{
	static uint64_t state = 88172645463325252ull;

	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (uint32_t)(state >> 16) % below;
}

static void
step(void)
{
	uint32_t from = pick(SPW_BLOCK_SIZE + 1);
	uint32_t to = from + pick(SPW_BLOCK_SIZE - from + 1);

	if (pick(8)) {
		to = from + (pick(3) ? (to - from) % 200 : to - from);
		spw_mask_set(&mask, from, to);
		memset(truth + from, true, to - from);
	} else {
		spw_mask_cut(&mask, from);
		memset(truth + from, false, SPW_BLOCK_SIZE - from);
	}
}

/* Every piece is as long as it can be, and there are no others. */
static bool
is_right(void)
{
	bool seen[SPW_BLOCK_SIZE] = { false };
	uint32_t from = 0, to, bytes = 0;

	for (; spw_mask_next(&mask, &from, &to); from = to) {
		if (from >= to || to > SPW_BLOCK_SIZE ||
		    (to < SPW_BLOCK_SIZE && truth[to]))
			return false;
		memset(seen + from, true, to - from);
		bytes += to - from;
	}
	return bytes == spw_mask_count(&mask) &&
	       memcmp(seen, truth, sizeof(truth)) == 0;
}

int
main(void)
{
	for (int i = 0; i < ROUNDS; i++) {
		if (i % STEPS == 0) {
			memset(&mask, 0, sizeof(mask));
			memset(truth, false, sizeof(truth));
		}
		step();
		if (!is_right()) {
			printf("wrong after %d steps\n", i);
			return EXIT_FAILURE;
		}
	}
	return EXIT_SUCCESS;
}
