/* SPDX-License-Identifier: BSD-3-Clause */
/* tier-faults.c -- a tier on a disk that is full, broken or slow of mind */

/*
 * tier-faults KIND DIR CONTROL: DIR is a slow mount, and what is written to
 * CONTROL makes it fail. Each fault is told to the one whose put or sync it
 * was, and costs nothing that was there before.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "tests/guarded.h"
#include "tests/tier-kit.h"

enum { RAW = 40000, KEPT = 3, CAPACITY = 2 << 20 };

static struct spw_tier *t;
static const char *kind, *place, *control;
static void *buf;
static size_t len;
static uint64_t kept[KEPT];

static void
set_fault(const char *text)
{
	int fd = open(control, O_WRONLY | O_TRUNC);

	CHECK(fd >= 0);
	CHECK(!*text || write(fd, text, strlen(text)) == (ssize_t)strlen(text));
	CHECK(!close(fd));
}

static int
try_put(uint64_t seq, uint64_t *ret_place)
{
	struct spw_transfer x = { .buf = buf };
	int r;

	x.len = kit_make(buf, seq, RAW);
	r = t->ops->submit(t, &x);
	if (r < 0)
		return r;
	CHECK(t->ops->reap(t, true) == &x);
	*ret_place = x.place;
	return x.err;
}

static void
check_kept(unsigned more)
{
	struct kit_count c = kit_count(t);
	struct spw_tier_space space;
	size_t i;

	CHECK(c.whole == KEPT + more && c.bad == 0);
	for (i = 0; i < KEPT; i++) {
		kit_get(t, kept[i], buf, len);
		kit_check(buf, len, i, RAW);
	}
	t->ops->space(t, &space);
	CHECK(space.live >= (KEPT + more) * len && space.live <= space.used &&
	      space.used <= CAPACITY);
}

static void
reopen(void)
{
	CHECK(!t->ops->close(t, false));
	CHECK(!kit_open(kind, place, "faulty", CAPACITY, &t));
}

static void
test_put_fails(const char *fault, int error)
{
	uint64_t at;

	set_fault(fault);
	CHECK(try_put(10, &at) == error);
	check_kept(0);
	set_fault("");
	CHECK(!try_put(11, &at));
	check_kept(1);
	CHECK(!t->ops->drop(t, at));
	CHECK(!t->ops->sync(t));
	reopen();
	check_kept(0);
}

/* Who comes after us, should we be killed now, finds no damage where the disk
 * took a part and neither the rest nor a word about it. */
static void
test_put_is_cut_short(int most)
{
	struct spw_tier_setup setup = {
		.place = place, .owner = "faulty", .look_only = true,
	};
	struct spw_tier *look;
	struct kit_count c;
	char fault[64];
	uint64_t at;

	(void)snprintf(fault, sizeof(fault), "edquot-after=%d\n", most);
	set_fault(fault);
	CHECK(try_put(15, &at) < 0);
	set_fault("");
	CHECK(!t->ops->open(&setup, &look));
	c = kit_count(look);
	CHECK(c.whole == KEPT && c.bad == 0);
	CHECK(!look->ops->close(look, false));
	reopen();
	check_kept(0);
	CHECK(!t->ops->sync(t));
}

static void
test_short_writes(void)
{
	uint64_t at;

	set_fault("short=3000\n");
	CHECK(!try_put(12, &at));
	CHECK(!t->ops->sync(t));
	set_fault("");
	kit_get(t, at, buf, len);
	kit_check(buf, len, 12, RAW);
	check_kept(1);
	CHECK(!t->ops->drop(t, at));
	CHECK(!t->ops->sync(t));
}

/* The kernel tells it once. We do until nothing depends on it. */
static void
test_sync_fails(void)
{
	uint64_t at, after;

	CHECK(!try_put(13, &at));
	set_fault("eio-fsync=*\n");
	CHECK(t->ops->sync(t) == -EIO);
	set_fault("");
	CHECK(t->ops->sync(t) == -EIO);
	check_kept(1);
	CHECK(!t->ops->drop(t, at));
	if (!strcmp(kind, "pmem"))	/* one file: nothing in it is well */
		return;
	CHECK(!t->ops->sync(t));
	CHECK(!try_put(14, &after));
	CHECK(!t->ops->sync(t));
	CHECK(!t->ops->drop(t, after));
	check_kept(0);
}

int
main(int argc, char **argv)
{
	size_t i;

	CHECK(argc == 4);
	kind = argv[1];
	place = argv[2];
	control = argv[3];
	buf = kit_buffer();
	len = kit_make(buf, 0, RAW);
	CHECK(!kit_open(kind, place, "faulty", CAPACITY, &t));
	for (i = 0; i < KEPT; i++)
		CHECK(!try_put(i, &kept[i]));
	CHECK(!t->ops->sync(t));
	test_put_fails("enospc-after=0\n", -ENOSPC);
	test_put_fails("eio-after=0\n", -EIO);
	if (strcmp(kind, "nvme")) {	/* O_DIRECT: FUSE makes it EIO */
		test_put_fails("enospc-after=10000\n", -ENOSPC);
		test_short_writes();
	}
	test_put_is_cut_short(0);
	test_put_is_cut_short(5000);
	test_put_is_cut_short(12 << 10);
	test_put_is_cut_short(36 << 10);
	test_sync_fails();
	reopen();
	check_kept(0);
	CHECK(!t->ops->close(t, true));
	free(buf);
	return 0;
}
