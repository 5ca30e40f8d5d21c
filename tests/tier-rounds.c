/* SPDX-License-Identifier: BSD-3-Clause */
/* tier-rounds.c -- small objects that are synced together lie close together */

/*
 * The file of the log is looked at as disks and crashes leave it: with a round
 * cut short or with holes in it at any multiple of 512 bytes, with any of its
 * objects dropped, and with any of them damaged.
 */
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>

#include "shm/util.h"
#include "tests/guarded.h"
#include "tests/tier-kit.h"

enum {
	RANKS = 8, SMALL = 4096,
	LOG = 256 << 10,		/* bytes of a file that we look at */
	CAPACITY = 4 << 20,
	SECTOR = 512, BLOCK = 4096,
	SEQS = 3 * RANKS + 1,		/* three rounds */
};

static const uint32_t raws[RANKS] = {
	4096, 4096, 100, 9000, 4096, 1000, 4096, 3850,
};

static char *place;
static struct spw_tier *t;
static uint64_t places[SEQS];
static size_t lens[SEQS];
static bool whole[SEQS];		/* as listed, */
static unsigned wholes, told;
static uint64_t told_place;		/* the last one */
static uint8_t image[LOG];
static void *buf;

static uint32_t
raw_of(uint64_t seq)
{
	return raws[seq % RANKS];
}

static void
log_path(char ret_path[PATH_MAX], const char *name)
{
	CHECK(snprintf(ret_path, PATH_MAX, "%s/spillway-%u/rounds/%s", place,
		       (unsigned)geteuid(), name) < PATH_MAX);
}

static void
open_share(void)
{
	struct spw_tier_setup setup = {
		.place = place,
		.owner = "rounds",
		.capacity = CAPACITY,
		.io = "buffered",
		.create = true,
	};

	CHECK(spw_tier_by_kind("nvme")->open(&setup, &t) == 0);
}

static void
close_share(bool discard)
{
	CHECK(t->ops->close(t, discard) == 0);
}

/* As if that many ranks had asked for fsync at once. */
static void
put_round(uint64_t first, bool sync)
{
	struct spw_transfer x[RANKS] = { { 0 } };

	for (unsigned i = 0; i < RANKS; i++) {
		uint64_t seq = first + i;

		x[i].buf = kit_buffer();
		lens[seq] = x[i].len = kit_make(x[i].buf, seq, raw_of(seq));
		CHECK(t->ops->submit(t, &x[i]) == 0);
		places[seq] = x[i].place;
	}
	if (sync)
		CHECK(t->ops->sync(t) == 0);
	for (unsigned i = 0; i < RANKS; i++)
		CHECK(t->ops->reap(t, true));
	for (unsigned i = 0; i < RANKS; i++) {
		CHECK(x[i].err == 0);
		free(x[i].buf);
	}
}

/* Where the round begins that begins with it. */
static uint64_t
offset_of(uint64_t seq)
{
	return places[seq] & UINT32_MAX;
}

static void
test_bytes(void)
{
	struct spw_transfer x[2 * RANKS] = { { 0 } };
	uint64_t taken;

	open_share();
	for (unsigned i = 0; i < 2 * RANKS; i++) {
		if (i == RANKS)
			CHECK(t->ops->sync(t) == 0);
		x[i].buf = kit_buffer();
		x[i].len = kit_make(x[i].buf, i + 1, SMALL);
		CHECK(t->ops->submit(t, &x[i]) == 0);
	}
	CHECK(t->ops->sync(t) == 0);
	taken = x[RANKS].place - x[0].place;
	printf("%llu bytes of the log for %d times %d bytes\n",
	       (unsigned long long)taken, RANKS, SMALL);
	CHECK(taken < RANKS * (SMALL + SMALL / 4) + BLOCK);
	for (unsigned i = 0; i < 2 * RANKS; i++)
		CHECK(t->ops->reap(t, true));
	for (unsigned i = 0; i < 2 * RANKS; i++) {
		CHECK(x[i].err == 0);
		kit_get(t, x[i].place, buf, x[i].len);
		kit_check(buf, x[i].len, i + 1, SMALL);
	}
	for (unsigned i = 0; i < 2 * RANKS; i++)
		free(x[i].buf);
	close_share(true);
}

static void
read_image(void)
{
	char path[PATH_MAX];
	int fd;

	log_path(path, "nvme-00000000.log");
	fd = open(path, O_RDONLY);
	CHECK(fd >= 0 && read(fd, image, LOG) == LOG && close(fd) == 0);
}

/* Notes of drops do not outlive the machine. */
static void
write_image(const uint8_t *bytes)
{
	char path[PATH_MAX];
	int fd;

	log_path(path, "nvme.drops");
	(void)unlink(path);
	log_path(path, "nvme-00000000.log");
	fd = open(path, O_WRONLY);
	CHECK(fd >= 0 && write(fd, bytes, LOG) == LOG && close(fd) == 0);
}

/* Called by list, which is not to be asked for more meanwhile. */
static int
note(void *arg, const struct spw_tier_found *f)
{
	(void)arg;
	if (f->err) {
		told++;
		told_place = f->place;
		return 0;
	}
	CHECK(f->object->seq < SEQS && !whole[f->object->seq]);
	CHECK(f->place == places[f->object->seq] &&
	      f->len == lens[f->object->seq]);
	whole[f->object->seq] = true;
	wholes++;
	return 0;
}

static void
look(void)
{
	memset(whole, 0, sizeof(whole));
	wholes = told = 0;
	CHECK(t->ops->list(t, note, NULL) == 0);
}

static void
check_read(void)
{
	for (uint64_t seq = 1; seq < SEQS; seq++)
		if (whole[seq]) {
			kit_get(t, places[seq], buf, lens[seq]);
			kit_check(buf, lens[seq], seq, raw_of(seq));
		}
}

/* Every byte that is there is one of it. */
static bool
is_in(const uint8_t *bytes, uint64_t seq)
{
	return !memcmp(bytes + offset_of(seq), image + offset_of(seq),
		       lens[seq]);
}

/* What the first round has is whole, and of the second what is there. The
 * next who has the share goes on with it. */
static void
check_torn(const uint8_t *bytes)
{
	unsigned there = RANKS;

	write_image(bytes);
	open_share();
	look();
	for (uint64_t seq = 1; seq <= 2 * RANKS; seq++)
		CHECK(whole[seq] == (seq <= RANKS || is_in(bytes, seq)));
	for (uint64_t seq = RANKS + 1; seq <= 2 * RANKS; seq++)
		there += whole[seq];
	CHECK(wholes == there);
	check_read();
	put_round(2 * RANKS + 1, true);
	look();
	CHECK(wholes == there + RANKS);
	check_read();
	close_share(false);
	open_share();
	look();
	CHECK(wholes == there + RANKS);
	check_read();
	for (uint64_t seq = 2 * RANKS + 1; seq < SEQS; seq++)
		CHECK(t->ops->drop(t, places[seq]) == 0);
	close_share(false);
}

/* As a process leaves it that dies after the second round was written. */
static void
make_two_rounds(bool sync)
{
	open_share();
	put_round(1, true);
	put_round(RANKS + 1, sync);
	read_image();
}

static uint64_t
end_of_round(uint64_t last)
{
	return spw_round_up(offset_of(last) + lens[last], BLOCK);
}

static void
test_torn(void)
{
	static uint8_t torn[LOG];
	uint64_t from, to, at;

	make_two_rounds(false);
	from = offset_of(RANKS + 1);
	to = end_of_round(2 * RANKS);
	CHECK(from % BLOCK == 0 && to < LOG);
	close_share(false);
	for (at = from; at <= to; at += SECTOR) {
		memcpy(torn, image, LOG);	/* it ends there */
		memset(torn + at, 0, to - at);
		check_torn(torn);
		memcpy(torn, image, LOG);	/* it begins there */
		memset(torn + from, 0, at - from);
		check_torn(torn);
		memcpy(torn, image, LOG);	/* a hole */
		memset(torn + at, 0, at < to ? SECTOR : 0);
		check_torn(torn);
	}
	open_share();
	close_share(true);
}

static void
check_left(unsigned left)
{
	look();
	CHECK(wholes == left && !told);
}

static void
check_left_to_the_next(unsigned left)
{
	close_share(false);
	open_share();
	check_left(left);
	close_share(true);
}

/* Of the second round. */
static void
drop_set(unsigned set)
{
	for (unsigned i = 0; i < RANKS; i++)
		if (set >> i & 1)
			CHECK(!t->ops->drop(t, places[RANKS + 1 + i]));
}

/* Every choice of objects of a round. */
static void
test_dropped(void)
{
	unsigned set;

	for (set = 0; set < 1u << RANKS; set++) {
		unsigned left = 3 * RANKS - (unsigned)__builtin_popcount(set);

		make_two_rounds(set % 2);
		drop_set(set);
		if (set % 3 == 0)
			CHECK(t->ops->sync(t) == 0);
		check_left(left - RANKS);
		put_round(2 * RANKS + 1, set % 3 == 1);
		check_left(left);
		check_read();
		check_left_to_the_next(left);
	}
}

/* By who comes after one that died before the round was synced. */
static void
test_dropped_later(void)
{
	unsigned set;

	for (set = 0; set < 1u << RANKS; set += 1 + set / 8) {
		unsigned left = 2 * RANKS - (unsigned)__builtin_popcount(set);

		make_two_rounds(false);
		close_share(false);
		write_image(image);
		open_share();
		drop_set(set);
		check_left(left);
		check_left_to_the_next(left);
	}
}

/* As list tells of it, it can be dropped, and then nothing is told. */
static void
drop_told(void)
{
	unsigned left = wholes;

	while (told) {
		unsigned was = told;

		CHECK(t->ops->drop(t, told_place) == 0);
		look();
		CHECK(told < was && wholes == left);
	}
}

/* An object that was synced is never missing without a word, whichever of its
 * neighbours are dropped. */
static void
check_damaged(unsigned victim, unsigned dropped)
{
	static uint8_t bad[LOG];
	uint64_t at = offset_of(RANKS + 1 + victim);

	memcpy(bad, image, LOG);
	memset(bad + at, 0, SECTOR);
	write_image(bad);
	open_share();
	look();
	CHECK(!whole[RANKS + 1 + victim] && told == 1);
	CHECK(wholes == 2 * RANKS - 1 -
	      (unsigned)__builtin_popcount(dropped));
	check_read();
	drop_told();
	close_share(false);
}

static void
test_damaged(void)
{
	unsigned set, victim;

	for (set = 0; set < 1u << RANKS; set += 1 + set / 16) {
		make_two_rounds(true);
		drop_set(set);
		CHECK(t->ops->sync(t) == 0);
		close_share(false);
		read_image();
		for (victim = 0; victim < RANKS; victim++)
			if (!(set >> victim & 1))
				check_damaged(victim, set);
		write_image(image);
		open_share();
		look();
		CHECK(!told);
		close_share(true);
	}
}

/* So is one whose head is whole, in a round that nobody synced. */
static void
test_damaged_data(void)
{
	static uint8_t bad[LOG];
	unsigned victim;

	make_two_rounds(false);
	close_share(false);
	for (victim = 0; victim < RANKS; victim++) {
		uint64_t seq = RANKS + 1 + victim;

		memcpy(bad, image, LOG);
		bad[offset_of(seq) + lens[seq] - 1] ^= 1;
		write_image(bad);
		open_share();
		look();
		CHECK(!whole[seq] && told == 1 && wholes == 2 * RANKS - 1);
		drop_told();
		close_share(false);
	}
	open_share();
	close_share(true);
}

int
main(void)
{
	buf = kit_buffer();
	kit_run("nvme", "bytes of a round", test_bytes, &place);
	kit_run("nvme", "torn rounds", test_torn, &place);
	kit_run("nvme", "dropped ones", test_dropped, &place);
	kit_run("nvme", "dropped later", test_dropped_later, &place);
	kit_run("nvme", "damaged ones", test_damaged, &place);
	kit_run("nvme", "damaged data", test_damaged_data, &place);
	return 0;
}
