/* SPDX-License-Identifier: BSD-3-Clause */
/* tier-pmem.c -- slots, packing, damage and an old sample of tier pmem */

/*
 * tier-pmem [DIR]: all of it in a process each with and without the variables
 * that change what libpmem does.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "shm/crc32c.h"
#include "shm/util.h"
#include "tests/guarded.h"
#include "tests/tier-kit.h"
#include "tiers/pmem-calls.h"
#include "tiers/pmem-layout.h"

static const char *below;		/* where directories are made */
static char *place;
static void *buf;

static struct spw_tier *
open_share(const char *owner, uint64_t capacity)
{
	struct spw_tier *t;

	CHECK(!kit_open("pmem", place, owner, capacity, &t));
	return t;
}

static struct spw_tier *
look_at(const char *owner)
{
	struct spw_tier_setup setup = { .place = place, .owner = owner,
					.look_only = true };
	struct spw_tier *t;

	CHECK(!spw_tier_pmem.open(&setup, &t));
	return t;
}

static uint64_t
put(struct spw_tier *t, uint64_t seq, size_t raw, size_t *ret_len)
{
	*ret_len = kit_make(buf, seq, raw);
	return kit_put(t, buf, *ret_len);
}

static uint64_t
used(struct spw_tier *t)
{
	struct spw_tier_space space;

	t->ops->space(t, &space);
	CHECK(space.live <= space.used && space.used <= space.capacity);
	return space.used;
}

static int
open_log(const char *owner, int flags)
{
	char path[PATH_MAX];
	int fd;

	CHECK(snprintf(path, sizeof(path), "%s/spillway-%u/%s/pmem-0001.log",
		       place, (unsigned)geteuid(), owner) < PATH_MAX);
	fd = open(path, flags, 0600);
	CHECK(fd >= 0);
	return fd;
}

/* Small ones lie 64 bytes apart at most, and room is used again. */
static void
test_packing(void)
{
	struct spw_tier *t = open_share("packing", 1 << 20);
	uint64_t at[100], before, first;
	size_t len, i;

	at[0] = put(t, 1, 1, &len);
	first = used(t);
	for (i = 1; i < ARRAY_LEN(at); i++) {
		before = used(t);
		at[i] = put(t, 1 + i, i * 3, &len);
		CHECK(used(t) - before == spw_round_up(len, 64));
	}
	for (i = 0; i < ARRAY_LEN(at); i++) {
		len = kit_make(buf, 1 + i, i ? i * 3 : 1);
		kit_get(t, at[i], buf, len);
		kit_check(buf, len, 1 + i, i ? i * 3 : 1);
	}
	before = used(t);
	for (i = 1; i < ARRAY_LEN(at); i++)
		CHECK(!t->ops->drop(t, at[i]));
	CHECK(used(t) == before);
	CHECK(!t->ops->sync(t));
	CHECK(used(t) == first);
	CHECK(!t->ops->close(t, true));
}

/* What was put into a slot before is not what is there now. */
static void
test_stale_place(void)
{
	struct spw_tier *t = open_share("stale", 1 << 20);
	struct spw_transfer x = { .up = true, .buf = buf };
	uint64_t old, new;

	old = put(t, 1, 1000, &x.len);
	CHECK(!t->ops->drop(t, old));
	CHECK(t->ops->drop(t, old) == -ENOENT);
	CHECK(!t->ops->sync(t));
	new = put(t, 2, 1000, &x.len);
	CHECK(new >> 24 == old >> 24 && new != old);
	x.place = old;
	CHECK(!t->ops->submit(t, &x) && t->ops->reap(t, true) == &x);
	CHECK(x.err == -ENOENT);
	CHECK(t->ops->drop(t, old) == -ENOENT);
	kit_get(t, new, buf, x.len);
	kit_check(buf, x.len, 2, 1000);
	CHECK(!t->ops->close(t, true));
}

static unsigned nmoved;

static void
note_move(void *arg, uint64_t from, uint64_t to)
{
	uint64_t *at = arg;
	unsigned i;

	for (i = 0; at[i] != from; i++)
		CHECK(at[i]);
	at[i] = to;
	nmoved++;
}

/* Gaps between objects become one that holds a large one. */
static void
test_cleaning(void)
{
	enum { N = 40, RAW = 20000, BIG = 300000 };
	struct spw_tier *t = open_share("gaps", 1 << 20);
	struct spw_transfer x = { .buf = buf };
	uint64_t at[N + 1] = { 0 };
	size_t len, i;

	for (i = 0; i < N; i++)
		at[i] = put(t, i, RAW, &len);
	for (i = 0; i < N; i += 2)
		CHECK(!t->ops->drop(t, at[i]));
	CHECK(!t->ops->sync(t));
	x.len = kit_make(buf, 99, BIG);
	CHECK(t->ops->submit(t, &x) == -ENOSPC);
	for (i = 0; i < N / 2; i++)
		at[i] = at[2 * i + 1];
	at[i] = 0;
	while (t->ops->clean(t, BIG, note_move, at) > 0)
		;
	CHECK(nmoved > 0);
	x.len = kit_make(buf, 99, BIG);
	(void)kit_put(t, buf, x.len);
	for (i = 0; i < N / 2; i++) {
		kit_get(t, at[i], buf, len);
		kit_check(buf, len, 2 * i + 1, RAW);
	}
	CHECK(!t->ops->close(t, true));
}

/* Whatever is damaged is told; nothing is put beside it; the rest is there. */
static void
test_damaged_slot(void)
{
	struct spw_tier *t = open_share("slot", 1 << 20);
	struct spw_transfer x = { .up = true, .buf = buf };
	struct kit_count c;
	uint64_t at[3];
	size_t i;
	int fd;

	for (i = 0; i < 3; i++)
		at[i] = put(t, i, 3000, &x.len);
	CHECK(!t->ops->close(t, false));
	fd = open_log("slot", O_WRONLY);
	CHECK(pwrite(fd, "\377", 1, SPW_PMEM_SLOTS_AT + 64 + 9) == 1);
	close(fd);
	t = open_share("slot", 1 << 20);
	c = kit_count(t);
	CHECK(c.whole == 2 && c.bad == 1);
	x.place = at[1];
	CHECK(!t->ops->submit(t, &x) && t->ops->reap(t, true) == &x);
	CHECK(x.err == -EBADMSG);
	kit_get(t, at[2], buf, x.len);
	kit_check(buf, x.len, 2, 3000);
	x = (struct spw_transfer){ .buf = buf, .len = x.len };
	CHECK(t->ops->submit(t, &x) == -ENOSPC);
	CHECK(!t->ops->drop(t, at[1]));
	CHECK(!t->ops->sync(t));
	c = kit_count(t);
	CHECK(c.whole == 2 && c.bad == 0);
	CHECK(!t->ops->close(t, false));
	t = open_share("slot", 1 << 20);
	(void)put(t, 7, 3000, &x.len);	/* it is well again */
	CHECK(!t->ops->close(t, true));
}

/* A slot that was used is never all zero again: not one in the middle, and not
 * the last one. */
static void
check_zeroed_slot(size_t slot)
{
	static const char zeros[sizeof(struct spw_pmem_slot)];
	struct spw_tier *t = open_share("zero", 1 << 20);
	struct kit_count c;
	size_t i, len;
	uint64_t gone;
	int fd;

	for (i = 0; i < 4; i++)
		gone = put(t, i, 3000, &len);
	CHECK(!t->ops->sync(t));
	CHECK(!t->ops->drop(t, gone) && !t->ops->sync(t));
	CHECK(!t->ops->close(t, false));
	fd = open_log("zero", O_WRONLY);
	CHECK(pwrite(fd, zeros, sizeof(zeros), SPW_PMEM_SLOTS_AT +
		     (off_t)(slot * sizeof(zeros))) == sizeof(zeros));
	close(fd);
	t = open_share("zero", 1 << 20);
	c = kit_count(t);
	CHECK(c.whole == (slot < 3 ? 2 : 3) && c.bad == 1);
	CHECK(!t->ops->drop(t, (uint64_t)1 << 48 |
			    (uint64_t)(slot + 1) << 24));
	CHECK(!t->ops->sync(t) && !t->ops->close(t, false));
	t = open_share("zero", 1 << 20);
	c = kit_count(t);
	CHECK(c.whole == (slot < 3 ? 2 : 3) && c.bad == 0);
	(void)put(t, 7, 3000, &len);	/* it is well again */
	CHECK(!t->ops->close(t, true));
}

static void
test_zeroed_slot(void)
{
	check_zeroed_slot(0);
	check_zeroed_slot(1);
	check_zeroed_slot(3);
}

/* An older object in the place of the one that the slot was written for. */
static void
test_other_object(void)
{
	struct spw_tier *t = open_share("other", 1 << 20);
	struct spw_pmem_slot s;
	struct kit_count c;
	size_t len;
	int fd;

	(void)put(t, 1, 3000, &len);
	CHECK(!t->ops->close(t, false));
	fd = open_log("other", O_RDWR);
	CHECK(pread(fd, &s, sizeof(s), SPW_PMEM_SLOTS_AT) == sizeof(s));
	CHECK(s.len == kit_make(buf, 2, 3000));
	CHECK(pwrite(fd, buf, s.len, (off_t)s.at) == (ssize_t)s.len);
	t = open_share("other", 1 << 20);
	c = kit_count(t);
	CHECK(c.whole == 0 && c.bad == 1);
	CHECK(!t->ops->close(t, false));

	s.turn = 3;			/* and the mark is at 0 */
	s.state = SPW_PMEM_USED << 32 | spw_crc32c(0, &s.at, 56);
	CHECK(pwrite(fd, &s, sizeof(s), SPW_PMEM_SLOTS_AT) == sizeof(s));
	t = open_share("other", 1 << 20);
	c = kit_count(t);
	CHECK(c.whole == 0 && c.bad == 0);
	CHECK(!t->ops->close(t, true));
	close(fd);
}

/* Above the mark the checksums of blocks are looked at, below it not. */
static void
test_mark(void)
{
	struct spw_tier *t = open_share("mark", 1 << 20);
	struct spw_pmem_slot s;
	size_t len;
	int fd;

	(void)put(t, 1, 3000, &len);
	fd = open_log("mark", O_RDWR);
	CHECK(pread(fd, &s, sizeof(s), SPW_PMEM_SLOTS_AT) == sizeof(s));
	CHECK(s.turn == 1);
	CHECK(pwrite(fd, "\1\2\3", 3, (off_t)(s.at + len - 3)) == 3);
	CHECK(kit_count(t).bad == 1);
	CHECK(!t->ops->sync(t));
	CHECK(kit_count(t).whole == 1);
	CHECK(!t->ops->close(t, false));
	t = look_at("mark");
	CHECK(kit_count(t).whole == 1);
	CHECK(!t->ops->close(t, false));
	close(fd);
	t = open_share("mark", 1 << 20);
	CHECK(!t->ops->close(t, true));
}

static void
test_damaged_file(void)
{
	struct spw_tier *t = open_share("file", 1 << 20);
	struct kit_count c;
	size_t len;
	int fd;

	(void)put(t, 1, 3000, &len);
	fd = open_log("file", O_RDWR);
	CHECK(!ftruncate(fd, 300 << 10));
	(void)used(t);
	CHECK(t->ops->submit(t, &(struct spw_transfer){ .buf = buf,
			     .len = len }) == -ENOSPC);
	c = kit_count(t);
	CHECK(c.whole == 1 && c.bad == 0);
	CHECK(!ftruncate(fd, SPW_PMEM_SLOTS_AT + 64));
	c = kit_count(t);
	CHECK(c.whole == 0 && c.bad == 1);
	CHECK(!t->ops->close(t, false));
	t = open_share("file", 1 << 20);
	CHECK(!t->ops->close(t, false));
	CHECK(pwrite(fd, "x", 1, 20) == 1);
	close(fd);
	t = open_share("file", 1 << 20);
	c = kit_count(t);
	CHECK(c.whole == 0 && c.bad == 1);
	CHECK(!t->ops->drop(t, UINT64_C(1) << 48));
	c = kit_count(t);
	CHECK(c.whole == 0 && c.bad == 0);
	CHECK(!t->ops->close(t, true));
}

/* A file as version 1 wrote it: head, one slot of 32, one object. The CRCs
 * are those that were in it, and not worked out here. */
static void
test_old_sample(void)
{
	static const struct spw_pmem_head head = {
		.magic = "\211SPWPMM\n", .crc = 0x86764a0e, .version = 1,
		.size = 65536, .data_at = 6144, .nslots = 32, .number = 1,
	};
	static const struct spw_pmem_slot slot = {
		.state = UINT64_C(0x53504f42aea90214), .at = 6144,
		.len = 4288, .gen = 1, .bind = 0x78abb85d,
	};
	struct spw_tier *t = open_share("old", 65536);
	size_t len;
	int fd;

	(void)put(t, 1, 1, &len);	/* for the directory */
	CHECK(!t->ops->close(t, false));
	fd = open_log("old", O_RDWR | O_TRUNC);
	len = kit_make(buf, 1, 4096);
	CHECK(len == slot.len);
	CHECK(!ftruncate(fd, 65536));
	CHECK(pwrite(fd, &head, sizeof(head), 0) == sizeof(head));
	CHECK(pwrite(fd, &slot, sizeof(slot), 4096) == sizeof(slot));
	CHECK(pwrite(fd, buf, len, 6144) == (ssize_t)len);
	close(fd);
	t = look_at("old");
	CHECK(kit_count(t).whole == 1);
	kit_get(t, UINT64_C(1) << 48 | 1 << 24 | 1, buf, len);
	kit_check(buf, len, 1, 4096);
	CHECK(!t->ops->close(t, false));
	t = open_share("old", 65536);
	CHECK(kit_count(t).whole == 1);
	(void)put(t, 2, 4096, &len);
	CHECK(kit_count(t).whole == 2);
	CHECK(!t->ops->close(t, true));
}

/* Only looking changes nothing, and needs neither lock nor library. */
static void
test_looking(void)
{
	struct spw_tier *t = open_share("node", 1 << 20), *seen, *second;
	struct spw_transfer x = { .buf = buf };
	uint64_t at = put(t, 1, 3000, &x.len);

	CHECK(kit_open("pmem", place, "node", 1 << 20, &second) == -EBUSY);
	seen = look_at("node");
	CHECK(kit_count(seen).whole == 1);
	CHECK(seen->ops->submit(seen, &x) == -EROFS);
	CHECK(seen->ops->drop(seen, at) == -EROFS);
	CHECK(seen->ops->clean(seen, 1, note_move, NULL) == -EROFS);
	kit_get(seen, at, buf, x.len);
	kit_check(buf, x.len, 1, 3000);
	CHECK(seen->ops->close(seen, true) == -EROFS);
	CHECK(!t->ops->close(t, true));
}

/* Somebody removes the file: what is in it does not count as safe. */
static void
test_removed(void)
{
	struct spw_tier *t = open_share("removed", 1 << 20);
	char share[PATH_MAX];
	size_t len;

	(void)put(t, 1, 3000, &len);
	snprintf(share, sizeof(share),
		 "%s/spillway-%u/removed/pmem-0001.log", place,
		 (unsigned)getuid());
	CHECK(unlink(share) == 0);
	CHECK(t->ops->sync(t) == -EIO);
	(void)t->ops->close(t, true);
}

static void
test_caution(void)
{
	struct spw_tier *t = open_share("caution", 1 << 20);
	const char *force = getenv("PMEM_IS_PMEM_FORCE");

	CHECK(!t->caution == !((force && *force == '1') ||
			       getenv("PMEM_NO_FLUSH")));
	CHECK(!t->ops->close(t, true));
}

static void
test_all(void)
{
	test_packing();
	test_stale_place();
	test_cleaning();
	test_damaged_slot();
	test_zeroed_slot();
	test_other_object();
	test_mark();
	test_damaged_file();
	test_old_sample();
	test_looking();
	test_removed();
	test_caution();
	kit_half_discarded("pmem", place);
	CHECK(rmdir(place) == 0);	/* nothing is left of any share */
}

/* libpmem looks at some of its variables when it is loaded: so here. */
static void
run(char *const *settings)
{
	const struct spw_pmem_calls *calls;
	struct spw_finding why;
	struct spw_tier *t;

	for (; *settings; settings++)
		CHECK(!putenv(*settings));
	if (spw_pmem_load(NULL, &calls, &why) == 0) {
		test_all();
		exit(0);
	}
	CHECK(kit_open("pmem", place, "x", 1 << 20, &t) == -ELIBACC);
	CHECK(rmdir(place) == 0);
	fprintf(stderr, "SKIP: tier-pmem: %s\n", why.text);
	exit(77);
}

static int
run_with(char *const *settings)
{
	int status;
	pid_t child;

	place = kit_directory(below);
	CHECK(place);
	child = fork();
	CHECK(child >= 0);
	if (!child)
		run(settings);
	CHECK(waitpid(child, &status, 0) == child);
	CHECK(WIFEXITED(status));
	free(place);
	if (WEXITSTATUS(status) == 1)
		fprintf(stderr, "that was with %s\n",
			*settings ? *settings : "nothing set");
	return WEXITSTATUS(status);
}

int
main(int argc, char **argv)
{
	static char *settings[][3] = {
		{ NULL },
		{ "PMEM_IS_PMEM_FORCE=0" },
		{ "PMEM_IS_PMEM_FORCE=1" },
		{ "PMEM_NO_FLUSH=1" },
		{ "PMEM_NO_FLUSH=1", "PMEM_IS_PMEM_FORCE=1" },
		{ "PMEM_NO_MOVNT=1", "PMEM_IS_PMEM_FORCE=1" },
	};
	size_t i;
	int r = 0;

	below = argc > 1 ? argv[1] : ".";
	buf = kit_buffer();
	for (i = 0; i < ARRAY_LEN(settings) && r == 0; i++)
		r = run_with(settings[i]);
	free(buf);
	return r;
}
