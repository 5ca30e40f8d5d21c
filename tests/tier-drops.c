/* SPDX-License-Identifier: BSD-3-Clause */
/* tier-drops.c -- a drop is on disk after what was put before it, not sooner */

#include <stdlib.h>
#include <unistd.h>

#include "tests/guarded.h"
#include "tests/tier-kit.h"

enum { CAPACITY = 200 << 20, RAW = 1 << 20, REST_US = 600000 };

static struct spw_tier *t;
static char *place;
static void *buf;

static uint64_t
put(uint64_t seq)
{
	return kit_put(t, buf, kit_make(buf, seq, RAW));
}

/* Notes of drops do not outlive the machine: as one finds it that was not
 * synced since, but whose disk has all that it was told to write. */
static unsigned
count_after_reboot(void)
{
	struct spw_tier_setup setup = {
		.place = place, .owner = "drops", .look_only = true,
	};
	struct spw_tier *look;
	struct kit_count c;

	CHECK(system("find \"$PLACE\" -name nvme.drops -delete") == 0);
	CHECK(t->ops->open(&setup, &look) == 0);
	c = kit_count(look);
	CHECK(look->ops->close(look, false) == 0);
	return c.whole;
}

static void
begin(void)
{
	CHECK(setenv("PLACE", place, 1) == 0);
	CHECK(kit_open("nvme", place, "drops", CAPACITY, &t) == 0);
}

/* What is put in place of an object is not synced, and the object dropped. */
static void
test_rest(void)
{
	uint64_t old;

	begin();
	old = put(1);
	CHECK(t->ops->sync(t) == 0);
	(void)put(2);
	CHECK(t->ops->drop(t, old) == 0);
	usleep(REST_US);
	t->ops->rest(t);
	(void)kit_count(t);		/* what rest began is over */
	CHECK(count_after_reboot() == 2);
	CHECK(t->ops->sync(t) == 0);
	CHECK(count_after_reboot() == 1);
	CHECK(t->ops->close(t, true) == 0);
}

/* The same where the object's file is full by then. */
static void
test_full(void)
{
	uint64_t old, seq = 2;

	begin();
	old = put(1);
	while (put(seq) >> 32 == old >> 32)
		CHECK(seq++ < CAPACITY / RAW);
	CHECK(t->ops->drop(t, old) == 0);
	(void)kit_count(t);
	CHECK(count_after_reboot() == seq);
	CHECK(t->ops->sync(t) == 0);
	CHECK(count_after_reboot() == seq - 1);
	CHECK(t->ops->close(t, true) == 0);
}

int
main(void)
{
	buf = kit_buffer();
	kit_run("nvme", "at rest", test_rest, &place);
	kit_run("nvme", "in a full file", test_full, &place);
	return 0;
}
