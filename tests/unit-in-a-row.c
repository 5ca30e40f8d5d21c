/* SPDX-License-Identifier: BSD-3-Clause */
/* unit-in-a-row.c -- blocks written one after the other lie so in memory */

/*
 * A reader goes through them in that order, and the processor fetches ahead in
 * ascending order only: from the last to the first it takes twice the time.
 */
#include "tests/counted.h"
#include "tests/one-lane.h"

enum { BLOCKS = 256 };

/* The slot of a block that is made now, as a write makes it. */
static uint32_t
new_slot(void)
{
	if (me.lane->nslots < 2 && spw_lane_stock_slots(&me, 2) < 2)
		return SPW_NONE;
	return me.lane->slots[--me.lane->nslots];
}

int
main(void)
{
	uint32_t last, ascending = 0;

	lane_begin();
	spw_guard_enter();
	last = new_slot();
	for (int i = 1; i < BLOCKS; i++) {
		uint32_t slot = new_slot();

		ascending += slot == last + 1;
		last = slot;
	}
	spw_guard_leave();
	printf("%u of %d behind the one before\n", ascending, BLOCKS - 1);
	CHECK(ascending > BLOCKS * 9 / 10);
	lane_end();
	return failures != 0;
}
