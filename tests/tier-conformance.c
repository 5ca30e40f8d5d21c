/* SPDX-License-Identifier: BSD-3-Clause */
/* tier-conformance.c -- every tier keeps objects, and says so when it cannot */

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "shm/util.h"
#include "tests/guarded.h"
#include "tiers/object.h"
#include "tiers/tier.h"

enum {
	OBJECTS = 24,			/* of a batch */
	LENGTH_MAX = 3 << 20,
};

static const char *const kinds[] = {
	"nvme",
	"pmem",
	"bb",
};

static const struct spw_tier_ops *ops;
static char place[PATH_MAX];
static struct spw_packer *packer;

/* An object as it was made, and where it went. */
struct item {
	struct spw_transfer x;
	uint64_t seq, length;
	uint8_t *stored;		/* a copy */
};

static struct spw_tier_setup
setup(const char *owner, uint64_t capacity)
{
	return (struct spw_tier_setup) {
		.place = place,
		.owner = owner,
		.capacity = capacity,
		.create = true,
	};
}

static struct spw_tier *
open_share(const char *owner, uint64_t capacity)
{
	struct spw_tier_setup s = setup(owner, capacity);
	struct spw_tier *t = NULL;

	CHECK(ops->open(&s, &t) == 0);
	CHECK(t && t->ops == ops);
	return t;
}

static struct spw_tier *
look_at_share(const char *owner)
{
	struct spw_tier_setup s = setup(owner, 1 << 30);
	struct spw_tier *t = NULL;

	s.create = false;
	s.look_only = true;
	CHECK(ops->open(&s, &t) == 0);
	return t;
}

/* Bytes that do not repeat, so that a piece in a wrong place is seen. */
static void
fill(uint8_t *p, uint64_t n, uint64_t seed)
{
	uint64_t i, word = 0;

	for (i = 0; i < n; i++) {
		if (i % 8 == 0)
			word = draw(&seed);
		p[i] = (uint8_t)(word >> i % 8 * 8);
	}
}

static struct item
make(uint64_t seq, uint64_t length)
{
	static const char path[] = "/some/where/a-file";
	struct item it = { .seq = seq, .length = length };
	struct spw_object o = {
		.ino = 7,
		.offset = seq << 32,
		.length = length,
		.seq = seq,
		.file_size = (seq << 32) + length,
		.cut = UINT64_MAX,
		.path = path,
		.path_len = sizeof(path) - 1,
	};
	const struct spw_object_pack raw = { 0 };
	size_t cap = spw_object_bound(o.path_len, length);
	uint8_t *src = malloc(length + 1);
	int64_t n;

	cap = spw_round_up(cap, SPW_TIER_ALIGN);
	it.x.buf = aligned_alloc(SPW_TIER_ALIGN, cap);
	CHECK(src && it.x.buf);
	fill(src, length, seq);
	n = spw_object_encode(packer, &o, &raw, it.x.buf, cap, src);
	CHECK(n > 0);
	it.x.len = (size_t)n;
	it.stored = malloc((size_t)n);
	CHECK(it.stored);
	memcpy(it.stored, it.x.buf, (size_t)n);
	free(src);
	return it;
}

static void
unmake(struct item *it)
{
	free(it->x.buf);
	free(it->stored);
	it->x.buf = it->stored = NULL;
}

static void
reap_all(struct spw_tier *t)
{
	struct spw_transfer *x;

	while ((x = ops->reap(t, true)))
		CHECK(x->err == 0);
}

static int
put(struct spw_tier *t, struct item *it)
{
	struct spw_transfer *x;
	int r;

	it->x.up = false;
	r = ops->submit(t, &it->x);
	if (r < 0)
		return r;
	x = ops->reap(t, true);
	CHECK(x == &it->x);
	return x->err;
}

/* Part of an object, compared with what was put. */
static void
check_part(struct spw_tier *t, const struct item *it, uint64_t at, size_t len)
{
	size_t room = spw_round_up(len, SPW_TIER_ALIGN);
	struct spw_transfer x = {
		.up = true,
		.place = it->x.place,
		.at = at,
		.len = len,
		.buf = aligned_alloc(SPW_TIER_ALIGN, room),
	};

	CHECK(x.buf);
	CHECK(ops->submit(t, &x) == 0);
	CHECK(ops->reap(t, true) == &x);
	CHECK(x.err == 0);
	CHECK(!memcmp(x.buf, it->stored + at, len));
	free(x.buf);
}

static void
check_whole(struct spw_tier *t, const struct item *it)
{
	check_part(t, it, 0, it->x.len);
}

static uint64_t
length_of(unsigned i)
{
	static const uint64_t lengths[] = {
		0, 1, 3700, 3840, 3968, 4096, 5000, 131072, 200000, 1 << 20,
		LENGTH_MAX,
	};

	return lengths[i % ARRAY_LEN(lengths)];
}

/* Many at once, in any order, and every part of them back. */
static void
test_put_get(void)
{
	struct spw_tier *t = open_share("put-get", 256 << 20);
	struct item items[OBJECTS];
	struct spw_tier_space space;
	uint64_t seed = 3;
	unsigned i, k;

	for (i = 0; i < OBJECTS; i++) {
		int r;

		items[i] = make(i + 1, length_of(i));
		items[i].x.user = &items[i];
		while ((r = ops->submit(t, &items[i].x)) == -EAGAIN)
			CHECK(ops->reap(t, true)->err == 0);
		CHECK(r == 0);
	}
	reap_all(t);
	CHECK(!ops->reap(t, false));
	for (i = 0; i < OBJECTS; i++) {
		const struct item *it = &items[i];

		CHECK(!memcmp(it->x.buf, it->stored, it->x.len));
		CHECK(it->x.user == it);
		check_whole(t, it);
		check_part(t, it, 0, 1);
		check_part(t, it, 3, 9);
		check_part(t, it, it->x.len - 1, 1);
		for (k = 0; k < 8; k++) {
			uint64_t at = draw(&seed) % it->x.len;

			check_part(t, it, at,
				   1 + draw(&seed) % (it->x.len - at));
		}
	}
	ops->space(t, &space);
	CHECK(space.capacity == 256 << 20);
	CHECK(space.live <= space.used && space.used <= space.capacity);
	for (i = 0; i < OBJECTS; i++)
		unmake(&items[i]);
	CHECK(ops->close(t, true) == 0);
}

/* What a listing shows, by sequence number. */
enum { SEQS = 4096 };
static struct {
	unsigned times;
	uint64_t place, len;
	int err;
} listed[SEQS];
static unsigned listed_damage;

static int
note(void *arg, const struct spw_tier_found *f)
{
	(void)arg;
	CHECK(f->where && strchr(f->where, ':'));
	CHECK(f->err == 0 || f->err == -EBADMSG);
	CHECK(f->err || f->object);
	listed_damage += f->err != 0;
	if (f->err)
		return 0;
	CHECK(f->object->seq < SEQS);
	CHECK(f->object->stored == f->len);
	CHECK(f->object->path_len == strlen("/some/where/a-file"));
	listed[f->object->seq].times++;
	listed[f->object->seq].place = f->place;
	listed[f->object->seq].len = f->len;
	return 0;
}

/* Returns how many objects there are, each once. */
static unsigned
list(struct spw_tier *t)
{
	unsigned n = 0;
	size_t i;

	memset(listed, 0, sizeof(listed));
	listed_damage = 0;
	CHECK(ops->list(t, note, NULL) == 0);
	for (i = 0; i < SEQS; i++) {
		CHECK(listed[i].times <= 1);
		n += listed[i].times;
	}
	return n;
}

static int
stop_at_once(void *arg, const struct spw_tier_found *f)
{
	(void)f;
	++*(int *)arg;
	return 42;
}

static void
check_listed(struct spw_tier *t, struct item *it)
{
	CHECK(listed[it->seq].times == 1);
	CHECK(listed[it->seq].len == it->x.len);
	it->x.place = listed[it->seq].place;
	check_whole(t, it);
}

static void
test_drop(void)
{
	struct spw_tier *t = open_share("drop", 64 << 20);
	struct item a = make(1, 100000), b = make(2, 5000);
	struct spw_transfer x = { .up = true, .at = 0, .len = 1 };
	int times = 0;

	CHECK(put(t, &a) == 0 && put(t, &b) == 0);
	CHECK(list(t) == 2);
	CHECK(ops->list(t, stop_at_once, &times) == 42 && times == 1);
	CHECK(ops->drop(t, a.x.place) == 0);
	CHECK(ops->drop(t, a.x.place) == -ENOENT);
	CHECK(a.x.place + 1 == b.x.place ||
	      ops->drop(t, a.x.place + 1) == -ENOENT);
	CHECK(ops->drop(t, UINT64_MAX) == -ENOENT);
	CHECK(list(t) == 1 && listed[2].times == 1 && !listed_damage);
	x.place = a.x.place;
	x.buf = a.x.buf;
	CHECK(ops->submit(t, &x) < 0 || ops->reap(t, true)->err < 0);
	CHECK(ops->sync(t) == 0);
	check_whole(t, &b);
	CHECK(ops->drop(t, b.x.place) == 0);
	CHECK(ops->sync(t) == 0 && ops->sync(t) == 0);
	CHECK(list(t) == 0 && !listed_damage);
	CHECK(put(t, &a) == 0);
	CHECK(list(t) == 1 && listed[1].times == 1);
	check_whole(t, &a);
	CHECK(ops->close(t, true) == 0);
	unmake(&a);
	unmake(&b);
}

/* A child that dies without a word, as by kill -9. */
static void
in_child(void (*work)(void))
{
	int status;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	CHECK(pid >= 0);
	if (pid == 0) {
		work();
		_exit(0);
	}
	CHECK(waitpid(pid, &status, 0) == pid && status == 0);
}

static void
put_and_die(void)
{
	struct spw_tier *t = open_share("reopen", 256 << 20);
	struct item it;
	unsigned i;

	for (i = 0; i < OBJECTS; i++) {
		it = make(i + 1, length_of(i));
		CHECK(put(t, &it) == 0);
		if (i % 3 == 0)
			CHECK(ops->sync(t) == 0);
		if (i % 4 == 0)
			CHECK(ops->drop(t, it.x.place) == 0);
		unmake(&it);
	}
	CHECK(ops->sync(t) == 0);
	it = make(OBJECTS + 1, 70000);
	CHECK(put(t, &it) == 0);
}

static void
test_reopen(void)
{
	struct spw_tier *t;
	unsigned i, round;

	in_child(put_and_die);
	t = look_at_share("reopen");
	CHECK(list(t) == OBJECTS - OBJECTS / 4 + 1 && !listed_damage);
	CHECK(ops->close(t, false) == 0);
	for (round = 0; round < 3; round++) {
		t = open_share("reopen", 256 << 20);
		CHECK(list(t) == OBJECTS - OBJECTS / 4 + 1 - round);
		CHECK(!listed_damage);
		for (i = 0; i <= OBJECTS; i++) {
			struct item it = make(i + 1, i == OBJECTS ? 70000
						       : length_of(i));

			if (i < OBJECTS && i % 4 == 0)
				CHECK(!listed[i + 1].times);
			else if (i > 2 * round)
				check_listed(t, &it);
			unmake(&it);
		}
		CHECK(ops->drop(t, listed[2 + round].place) == 0);
		CHECK(ops->close(t, false) == 0);
	}
	t = open_share("reopen", 256 << 20);
	CHECK(ops->close(t, true) == 0);
}

/* Small ones side by side; in the middle of them, and after the last, some that
 * are not. */
static uint64_t
unreaped_length(unsigned i)
{
	return i % 4 == 3 ? 200000 : 1 + i * 700;
}

enum { UNREAPED = 12, ROUNDS = 3 };

static void
sync_and_die(void)
{
	struct spw_tier *t = open_share("unreaped", 64 << 20);
	struct item items[UNREAPED];
	unsigned i, round;

	for (round = 0; round < ROUNDS; round++) {
		for (i = 0; i < UNREAPED; i++) {
			items[i] = make(round * UNREAPED + i + 1,
					unreaped_length(i));
			CHECK(ops->submit(t, &items[i].x) == 0);
		}
		CHECK(ops->sync(t) == 0);
		for (i = 0; i < UNREAPED; i++) {
			const struct spw_transfer *x = ops->reap(t, false);

			CHECK(x && x->err == 0);
		}
		CHECK(!ops->reap(t, false));
		for (i = 0; i < UNREAPED; i++) {
			check_whole(t, &items[i]);
			unmake(&items[i]);
		}
	}
}

/* A sync takes along what was submitted and not reaped, where it says so. */
static void
test_unreaped(void)
{
	struct spw_tier *t;
	unsigned i;

	if (!ops->sync_waits)
		return;
	in_child(sync_and_die);
	t = open_share("unreaped", 64 << 20);
	CHECK(list(t) == ROUNDS * UNREAPED && !listed_damage);
	for (i = 0; i < ROUNDS * UNREAPED; i++) {
		struct item it = make(i + 1, unreaped_length(i % UNREAPED));

		check_listed(t, &it);
		unmake(&it);
	}
	CHECK(ops->close(t, true) == 0);
}

/* Sizes of all files below the place; and what they and their directories
 * take there, where that is what a tier counts. */
static uint64_t total, taken;

static int
add_size(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)path;
	if (type == FTW_F)
		total += (uint64_t)st->st_size;
	if (ftw->level && strcmp(ops->kind, "bb"))
		taken += (uint64_t)st->st_blocks * 512;
	return 0;
}

static uint64_t
size_of_files(void)
{
	total = taken = 0;
	CHECK(nftw(place, add_size, 16, FTW_PHYS) == 0);
	return SPW_MAX(total, taken);
}

static unsigned
fill_up(struct spw_tier *t, uint64_t capacity, uint64_t length,
	uint64_t *ret_places)
{
	struct item it = make(9, length);
	struct spw_tier_space space;
	unsigned n = 0;
	int r;

	while ((r = put(t, &it)) == 0) {
		CHECK(n < SEQS);
		ret_places[n++] = it.x.place;
		CHECK(size_of_files() <= capacity);
		ops->space(t, &space);
		CHECK(space.used <= capacity);
	}
	CHECK(r == -ENOSPC);
	check_whole(t, &(struct item){ .stored = it.stored, .x = {
		.place = ret_places[n - 1], .len = it.x.len } });
	unmake(&it);
	return n;
}

static void
test_capacity(void)
{
	static const uint64_t capacities[] = {
		(3 << 20) + 12345, 40 << 20, (100 << 20) - 1,
	};
	static uint64_t places[SEQS];
	size_t c;
	unsigned n, i, round;

	for (c = 0; c < ARRAY_LEN(capacities); c++) {
		uint64_t capacity = capacities[c];
		uint64_t length = SPW_MAX(60000, capacity / 128);
		struct spw_tier *t = open_share("capacity", capacity);

		for (round = 0; round < 3; round++) {
			n = fill_up(t, capacity, length, places);
			CHECK(n * (length + 5536) > capacity / 4 * 3);
			for (i = 0; i < n; i++)
				CHECK(ops->drop(t, places[i]) == 0);
			CHECK(ops->sync(t) == 0);
			CHECK(list(t) == 0 && !listed_damage);
		}
		n = fill_up(t, capacity, 700000, places);
		CHECK(n * 700000ull > capacity / 2);
		CHECK(ops->close(t, true) == 0);
		CHECK(size_of_files() == 0);
	}
}

/* Not even one object: then nothing is there at all. */
static void
test_no_room(void)
{
	static const uint64_t capacities[] = { 1, 4097, 30000 };
	size_t c;

	for (c = 0; c < ARRAY_LEN(capacities); c++) {
		struct spw_tier *t = open_share("none", capacities[c]);
		struct item it = make(9, 60000);

		CHECK(put(t, &it) == -ENOSPC);
		(void)size_of_files();
		CHECK(total == 0);
		unmake(&it);
		CHECK(ops->close(t, true) == 0);
	}
}

/* Not before a sync: until then a drop may be undone. */
static void
test_reuse(void)
{
	const uint64_t capacity = 16 << 20;
	struct spw_tier *t = open_share("reuse", capacity);
	static uint64_t places[SEQS];
	unsigned n = fill_up(t, capacity, 200000, places), i;
	struct item it = make(3, 200000);

	for (i = 0; i < n; i++)
		CHECK(ops->drop(t, places[i]) == 0);
	CHECK(put(t, &it) == -ENOSPC);
	CHECK(ops->sync(t) == 0);
	CHECK(put(t, &it) == 0);
	CHECK(list(t) == 1 && listed[3].times == 1 && !listed_damage);
	CHECK(ops->close(t, false) == 0);
	t = open_share("reuse", capacity);
	CHECK(list(t) == 1 && !listed_damage);
	check_listed(t, &it);
	unmake(&it);
	CHECK(ops->close(t, true) == 0);
}

static int
see_share(void *arg, const char *owner)
{
	unsigned *seen = arg;

	CHECK(!strcmp(owner, "one") || !strcmp(owner, "two"));
	*seen |= !strcmp(owner, "one") ? 1 : 2;
	return 0;
}

static void
test_owners(void)
{
	struct spw_tier_setup none = setup("three", 1 << 20);
	struct spw_tier_setup again = setup("one", 1 << 24);
	struct spw_tier *one = open_share("one", 1 << 24), *t;
	struct spw_tier *two = open_share("two", 1 << 24);
	struct item a = make(1, 100), b = make(2, 200);
	unsigned seen = 0;

	CHECK(ops->open(&again, &t) == -EBUSY);
	none.create = false;
	CHECK(ops->open(&none, &t) == -ENOENT);
	none.owner = "a/b";
	CHECK(ops->open(&none, &t) == -EINVAL);
	CHECK(put(one, &a) == 0 && put(two, &b) == 0);
	CHECK(list(one) == 1 && listed[1].times == 1);
	CHECK(list(two) == 1 && listed[2].times == 1);
	CHECK(spw_tier_shares(ops, place, see_share, &seen) == 0);
	CHECK(seen == 3);
	t = look_at_share("one");
	CHECK(list(t) == 1);
	check_listed(t, &a);
	CHECK(ops->submit(t, &b.x) == -EROFS);
	CHECK(ops->close(t, false) == 0);
	CHECK(ops->close(one, true) == 0);
	seen = 0;
	CHECK(spw_tier_shares(ops, place, see_share, &seen) == 0);
	CHECK(seen == 2);
	check_whole(two, &b);
	CHECK(ops->close(two, true) == 0);
	unmake(&a);
	unmake(&b);
}

static int
remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	return remove(path);
}

static void
run(const char *name, void (*test)(void))
{
	char template[] = "tier-XXXXXX";

	CHECK(mkdtemp(template));
	CHECK(realpath(template, place));
	printf("%s: %s\n", ops->kind, name);
	fflush(stdout);
	test();
	CHECK(nftw(place, remove_one, 16, FTW_DEPTH | FTW_PHYS) == 0);
}

/* One that needs a library says so, when that is not there. */
static bool lacks_library;

static void
test_library(void)
{
	struct spw_tier_setup s = setup("library", 1 << 20);
	struct spw_tier *t;
	int r = ops->open(&s, &t);

	CHECK(r == 0 || r == -ELIBACC);
	lacks_library = r < 0;
	if (r == 0)
		CHECK(ops->close(t, true) == 0);
}

static void
run_all(const char *kind)
{
	ops = spw_tier_by_kind(kind);
	CHECK(ops);
	run("library", test_library);
	if (lacks_library) {
		printf("%s: left out, its library is missing\n", kind);
		return;
	}
	run("put and get", test_put_get);
	run("drop", test_drop);
	run("reopen", test_reopen);
	run("sync of what was not reaped", test_unreaped);
	run("capacity", test_capacity);
	run("no room", test_no_room);
	run("reuse", test_reuse);
	run("owners", test_owners);
}

/* tier-conformance [KIND]... */
int
main(int argc, char **argv)
{
	size_t i;

	CHECK(spw_packer_new(&packer) == 0);
	CHECK(!spw_tier_by_kind("none-such"));
	for (i = 1; i < (size_t)argc; i++)
		run_all(argv[i]);
	for (i = 0; i < ARRAY_LEN(kinds) && argc == 1; i++)
		run_all(kinds[i]);
	spw_packer_free(packer);
	return 0;
}
