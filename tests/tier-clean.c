/* SPDX-License-Identifier: BSD-3-Clause */
/* tier-clean.c -- a cleaned tier has room again, and lost nothing */

#include <errno.h>
#include <string.h>

#include "shm/util.h"
#include "tests/guarded.h"
#include "tests/tier-kit.h"

enum { OBJECTS = 16384, ROUNDS = 4 };

static const struct size {
	uint64_t capacity, raw;
} sizes[] = {
	{ 32 << 20, 90000 },
	{ 16 << 20, 4096 },		/* they come to lie closer together */
};

static const struct spw_tier_ops *ops;
static const struct size *size;
static struct spw_tier *t;
static void *buf;
static uint64_t places[OBJECTS];	/* by seq; 0: not there */
static uint64_t next_seq = 1, chance = 3;
static unsigned moves;

static size_t
raw_of(uint64_t seq)
{
	return size->raw + seq % 7 * size->raw / 90;
}

static unsigned
fill_up(void)
{
	struct spw_transfer x = { .buf = buf };
	unsigned n = 0;
	int r;

	for (;; n++) {
		CHECK(next_seq < OBJECTS);
		x.len = kit_make(buf, next_seq, raw_of(next_seq));
		r = ops->submit(t, &x);
		if (r < 0)
			break;
		CHECK(ops->reap(t, true) == &x && x.err == 0);
		places[next_seq++] = x.place;
	}
	CHECK(r == -ENOSPC);
	return n;
}

static void
drop_some(void)
{
	uint64_t seq;

	for (seq = 1; seq < next_seq; seq++)
		if (places[seq] && draw(&chance) % 3) {
			CHECK(ops->drop(t, places[seq]) == 0);
			places[seq] = 0;
		}
	CHECK(ops->sync(t) == 0);
}

static void
note_move(void *arg, uint64_t from, uint64_t to)
{
	uint64_t seq;

	CHECK(arg == &moves);
	moves++;
	for (seq = 1; seq < next_seq; seq++)
		if (places[seq] == from) {
			places[seq] = to;
			return;
		}
	CHECK(!"an object that is there was moved");
}

static int
is_there(void *arg, const struct spw_tier_found *f)
{
	unsigned *n = arg;

	CHECK(f->err == 0 && f->object->seq < next_seq);
	CHECK(places[f->object->seq] == f->place);
	++*n;
	return 0;
}

static void
check_all(void)
{
	unsigned n = 0, there = 0;
	uint64_t seq;

	for (seq = 1; seq < next_seq; seq++) {
		size_t len = kit_make(buf, seq, raw_of(seq));

		if (!places[seq])
			continue;
		there++;
		kit_get(t, places[seq], buf, len);
		kit_check(buf, len, seq, raw_of(seq));
	}
	CHECK(ops->list(t, is_there, &n) == 0);
	CHECK(n == there);
}

/* Objects of which few fit into a file leave room at its end, which is not
 * gained by moving all of them.
 */
static void
test_nothing_dead(void)
{
	struct spw_transfer x = { .buf = buf };

	do
		x.len = kit_make(buf, 1, KIT_MOST);
	while (ops->submit(t, &x) == 0 && ops->reap(t, true) == &x && !x.err);
	CHECK(ops->clean(t, size->capacity, note_move, NULL) == 0);
}

static void
open_share(const char *place)
{
	CHECK(kit_open("nvme", place, "cleaned", size->capacity, &t) == 0);
}

static void
test_size(const char *place)
{
	struct spw_tier_space before, after;
	unsigned round, n;

	memset(places, 0, sizeof(places));
	next_seq = 1;
	moves = 0;
	open_share(place);
	CHECK(ops->clean(t, size->capacity, note_move, &moves) == 0);
	CHECK(fill_up() > size->capacity / (size->raw + 10000) / 2);
	for (round = 0; round < ROUNDS; round++) {
		int64_t gained;

		drop_some();
		ops->space(t, &before);
		gained = ops->clean(t, size->capacity, note_move, &moves);
		ops->space(t, &after);
		CHECK(gained > (int64_t)size->capacity / 8 &&
		      after.live == before.live);
		CHECK(after.used < before.used &&
		      before.used - after.used >= size->capacity / 8);
		check_all();
		n = fill_up();
		CHECK(n * size->raw > size->capacity / 4);
		if (round % 2) {
			CHECK(ops->close(t, false) == 0);
			open_share(place);
		}
		check_all();
	}
	CHECK(moves > ROUNDS);
	CHECK(ops->close(t, true) == 0);
}

int
main(void)
{
	char *place = kit_directory("."), *real = realpath(place, NULL);

	ops = spw_tier_by_kind("nvme");
	CHECK(ops && ops->clean && real);
	buf = kit_buffer();
	for (size = sizes; size < sizes + ARRAY_LEN(sizes); size++)
		test_size(real);
	size = sizes;
	open_share(real);
	test_nothing_dead();
	CHECK(ops->close(t, true) == 0);
	kit_remove(place);
	free(real);
	return 0;
}
