/* SPDX-License-Identifier: BSD-3-Clause */
/* tier-damage.c -- what was damaged in a tier is told, and never taken for data */

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "shm/util.h"
#include "tests/guarded.h"
#include "tests/tier-kit.h"

enum { CAPACITY = 16 << 20, OBJECTS = 5, SEQS = 4096 };

static const uint32_t raws[OBJECTS + 1] = {
	0, 3000, 100, 150000, 5000, 20000,
};

static const char *kind;
static const struct spw_tier_ops *ops;
static char *place;
static struct spw_packer *packer;
static void *made, *got, *raw_bytes;

static struct spw_tier *
open_as(bool create, bool look_only)
{
	struct spw_tier_setup setup = {
		.place = place,
		.owner = "damaged",
		.capacity = CAPACITY,
		.create = create,
		.look_only = look_only,
	};
	struct spw_tier *t;

	CHECK(ops->open(&setup, &t) == 0);
	return t;
}

static struct spw_tier *
open_share(bool look_only)
{
	return open_as(!look_only, look_only);
}

static uint32_t
raw_of(uint64_t seq)
{
	return seq <= OBJECTS ? raws[seq] : 3000 + (uint32_t)seq;
}

static uint64_t
put(struct spw_tier *t, uint64_t seq)
{
	return kit_put(t, made, kit_make(made, seq, raw_of(seq)));
}

/* Everything that a listing calls good, and that then is. */
static struct {
	bool whole;
	uint64_t place;
} share[SEQS];
static unsigned told, wholes;

static bool
is_whole(struct spw_tier *t, uint64_t at, uint64_t len)
{
	struct spw_transfer x = { .up = true, .place = at, .buf = got,
				  .len = len };
	struct spw_object_part part;
	struct spw_object o;
	uint64_t bad;
	size_t need;

	if (ops->submit(t, &x) < 0)
		return false;
	CHECK(ops->reap(t, true) == &x);
	if (x.err || spw_object_parse(got, len, &o, &need) < 0)
		return false;
	spw_object_part(&o, 0, o.length, &part);
	if (spw_object_decode(packer, &o, &part, (char *)got + part.at,
			      raw_bytes, &bad) < 0)
		return false;
	kit_check(got, len, o.seq, raw_of(o.seq));
	return true;
}

struct find {
	uint64_t seq, place, len;
};
static struct find finds[SEQS];
static unsigned nfinds;

static int
note(void *arg, const struct spw_tier_found *f)
{
	(void)arg;
	CHECK(f->err == 0 || f->err == -EBADMSG);
	if (f->err) {
		CHECK(strchr(f->where, '/'));
		told++;
		return 0;
	}
	CHECK(f->object->seq < SEQS && nfinds < SEQS);
	finds[nfinds++] = (struct find){ f->object->seq, f->place, f->len };
	return 0;
}

static int
look(struct spw_tier *t)
{
	unsigned i;
	int r;

	memset(share, 0, sizeof(share));
	told = wholes = nfinds = 0;
	r = ops->list(t, note, NULL);
	for (i = 0; i < nfinds; i++) {
		const struct find *f = &finds[i];

		CHECK(!share[f->seq].whole);
		share[f->seq].whole = is_whole(t, f->place, f->len);
		share[f->seq].place = f->place;
		wholes += share[f->seq].whole;
		told += !share[f->seq].whole;
	}
	return r;
}

static void
look_again(void)
{
	struct spw_tier *t = open_share(true);

	CHECK(look(t) == 0);
	CHECK(ops->close(t, false) == 0);
}

/* Finds the bytes of an object in the files of the tier. */
static struct {
	char path[PATH_MAX];
	off_t at;
	const char *end;		/* what to look for */
	size_t len;
} where;

static int
search(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	enum { MARK = 32 };
	size_t size = (size_t)st->st_size;
	char *map, *hit;
	int fd;

	(void)ftw;
	if (type != FTW_F || size < MARK)
		return 0;
	fd = open(path, O_RDONLY);
	CHECK(fd >= 0);
	map = mmap(NULL, size, PROT_READ, MAP_SHARED, fd, 0);
	CHECK(map != MAP_FAILED);
	close(fd);
	hit = memmem(map, size, where.end - MARK, MARK);
	if (hit) {
		(void)snprintf(where.path, sizeof(where.path), "%s", path);
		where.at = hit - map + MARK - (off_t)where.len;
	}
	munmap(map, size);
	return hit ? 1 : 0;
}

static void
locate(uint64_t seq)
{
	where.len = kit_make(made, seq, raw_of(seq));
	where.end = (char *)made + where.len;
	CHECK(nftw(place, search, 8, FTW_PHYS) == 1);
	CHECK(where.at >= 0);
}

static void
flip(size_t at)
{
	int fd = open(where.path, O_RDWR);
	uint8_t b;

	CHECK(fd >= 0);
	CHECK(pread(fd, &b, 1, where.at + (off_t)at) == 1);
	b ^= 0x10;
	CHECK(pwrite(fd, &b, 1, where.at + (off_t)at) == 1);
	close(fd);
}

static void
check_flipped(uint64_t seq, size_t at)
{
	flip(at);
	look_again();
	CHECK(!share[seq].whole && told && wholes == OBJECTS - 1);
	flip(at);
}

static void
fill_and_close(void)
{
	struct spw_tier *t = open_share(false);
	uint64_t seq;

	for (seq = 1; seq <= OBJECTS; seq++)
		(void)put(t, seq);
	CHECK(ops->sync(t) == 0);
	CHECK(ops->close(t, false) == 0);
	look_again();
	CHECK(wholes == OBJECTS && !told);
}

/* Each byte of a head counts, and each byte of the data. */
static void
test_flips(void)
{
	uint64_t seq, chance = 1;
	size_t at;

	fill_and_close();
	for (seq = 1; seq <= OBJECTS; seq += 2) {
		locate(seq);
		for (at = 0; at < 192; at += at < 16 ? 1 : 11)
			check_flipped(seq, at);
		for (at = 0; at < 8; at++)
			check_flipped(seq, where.len - 1 -
				      draw(&chance) % raw_of(seq));
	}
	look_again();
	CHECK(wholes == OBJECTS && !told);
}

/* Each block of the file that holds an object, one after the other, is full
 * of zeros. What is whole then is whole; the others are told of. */
static void
check_zeroed(off_t at, uint8_t *block, size_t n)
{
	static const uint8_t zeros[4096];
	int fd = open(where.path, O_RDWR);

	CHECK(fd >= 0);
	CHECK(pread(fd, block, n, at) == (ssize_t)n);
	if (memcmp(block, zeros, n)) {
		CHECK(pwrite(fd, zeros, n, at) == (ssize_t)n);
		look_again();
		CHECK(wholes == OBJECTS || told);
		CHECK(pwrite(fd, block, n, at) == (ssize_t)n);
	}
	close(fd);
}

static void
test_zeroed(void)
{
	static uint8_t block[4096];
	struct stat st;
	uint64_t seq;
	off_t at;
	size_t n;

	fill_and_close();
	for (seq = 1; seq <= OBJECTS; seq += 2) {
		locate(seq);
		CHECK(stat(where.path, &st) == 0);
		for (at = 0; at < st.st_size && at < 4 << 20; at += (off_t)n) {
			n = (size_t)SPW_MIN(st.st_size - at, 4096);
			check_zeroed(at, block, n);
		}
	}
	look_again();
	CHECK(wholes == OBJECTS && !told);
}

/* Something else has the name of a file: the rest can be read, by who looks,
 * and by who recovers. */
static void
make_link(const char *path)
{
	CHECK(symlink("/etc/passwd", path) == 0);
}

static void
make_directory(const char *path)
{
	CHECK(mkdir(path, 0700) == 0);
}

static void
make_pipe(const char *path)
{
	CHECK(mkfifo(path, 0600) == 0);
}

static void
make_empty(const char *path)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL, 0600);

	CHECK(fd >= 0);
	close(fd);
}

static void
check_replaced(void (*make)(const char *path))
{
	char kept[PATH_MAX + 8];
	struct spw_tier *t;
	unsigned rest;

	(void)snprintf(kept, sizeof(kept), "%s.kept", where.path);
	CHECK(rename(where.path, kept) == 0);
	make(where.path);
	look_again();
	rest = wholes;
	CHECK(!share[3].whole && told);
	t = open_as(false, false);
	CHECK(look(t) == 0 && wholes == rest && told);
	CHECK(ops->close(t, false) == 0);
	CHECK(remove(where.path) == 0 && rename(kept, where.path) == 0);
	look_again();
	CHECK(wholes == OBJECTS && !told);
}

static void
test_replaced(void)
{
	fill_and_close();
	locate(3);
	check_replaced(make_link);
	check_replaced(make_directory);
	check_replaced(make_pipe);
	check_replaced(make_empty);
}

static void
put_and_die(void)
{
	struct spw_tier *t = open_share(false);
	uint64_t seq;

	for (seq = 1; seq <= 3; seq++)
		(void)put(t, seq);
}

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

/* So does one who was at rest for a while after a sync. */
static void
put_rest_and_die(void)
{
	struct spw_tier *t = open_share(false);
	uint64_t seq;

	for (seq = 1; seq <= OBJECTS; seq++)
		(void)put(t, seq);
	CHECK(ops->sync(t) == 0);
	usleep(600000);
	if (ops->rest)
		ops->rest(t);
	CHECK(look(t) == 0);		/* what rest began is over */
}

/* Nothing is left of an object that was synced then. */
static void
test_blank(void)
{
	static char was[256 << 10], zeros[sizeof(was)];
	uint64_t seq;
	int fd;

	in_child(put_rest_and_die);
	for (seq = 1; seq <= OBJECTS; seq++) {
		locate(seq);
		CHECK(where.len <= sizeof(was));
		fd = open(where.path, O_RDWR);
		CHECK(fd >= 0);
		CHECK(pread(fd, was, where.len, where.at) ==
		      (ssize_t)where.len);
		CHECK(pwrite(fd, zeros, where.len, where.at) ==
		      (ssize_t)where.len);
		look_again();
		CHECK(told && wholes == OBJECTS - 1);
		CHECK(pwrite(fd, was, where.len, where.at) ==
		      (ssize_t)where.len);
		close(fd);
	}
	look_again();
	CHECK(wholes == OBJECTS && !told);
}

/* The second half of the last object did not get there. */
static void
test_torn(void)
{
	static char zero[1 << 17];
	struct spw_tier *t;
	size_t half;
	int fd;

	in_child(put_and_die);
	locate(3);
	half = where.len / 2;
	fd = open(where.path, O_RDWR);
	CHECK(fd >= 0 && half < sizeof(zero));
	CHECK(pwrite(fd, zero, half, where.at + (off_t)(where.len - half)) ==
	      (ssize_t)half);
	close(fd);
	look_again();
	CHECK(wholes == 2 && !share[3].whole);
	t = open_share(false);
	(void)put(t, 4);
	(void)put(t, 5);
	CHECK(ops->sync(t) == 0);
	CHECK(look(t) == 0 && wholes == 4 && !share[3].whole);
	CHECK(ops->close(t, false) == 0);
	look_again();
	CHECK(wholes == 4 && !share[3].whole);
}

static int
cut(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)ftw;
	if (type != FTW_F)
		return 0;
	return truncate(path, SPW_MIN(st->st_size / 2, 15000));
}

static int
take_away(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st;
	(void)type;
	return ftw->level ? remove(path) : 0;
}

/* Puts and syncs may fail, but not lie. */
static void
use(struct spw_tier *t)
{
	struct spw_transfer x = { .buf = made };
	uint64_t seq;
	int r;

	for (seq = 10; seq < 20; seq++) {
		x.len = kit_make(made, seq, raw_of(seq));
		r = ops->submit(t, &x);
		if (r == 0) {
			CHECK(ops->reap(t, true) == &x);
			r = x.err;
		}
		if (r == 0 && ops->sync(t) == 0)
			CHECK(is_whole(t, x.place, x.len));
		if (r == 0)
			(void)ops->drop(t, x.place);
	}
}

/* Somebody makes all files shorter while we use them. */
static void
test_cut(void)
{
	struct spw_tier *t = open_share(false);
	uint64_t seq;

	for (seq = 1; seq <= OBJECTS; seq++)
		(void)put(t, seq);
	CHECK(ops->sync(t) == 0);
	CHECK(nftw(place, cut, 8, FTW_PHYS) == 0);
	(void)look(t);
	use(t);
	(void)look(t);
	(void)ops->close(t, false);
	look_again();
}

/* Somebody removes the share while we use it: nothing is durable any more. */
static void
test_removed(void)
{
	struct spw_tier *t = open_share(false);

	(void)put(t, 1);
	CHECK(ops->sync(t) == 0);
	CHECK(nftw(place, take_away, 8, FTW_DEPTH | FTW_PHYS) == 0);
	(void)look(t);
	CHECK(ops->submit(t, &(struct spw_transfer) {
			.buf = made, .len = kit_make(made, 2, 100) }) < 0 ||
	      ops->reap(t, true)->err < 0 || ops->sync(t) < 0);
	(void)ops->close(t, false);
	t = open_share(false);
	CHECK(look(t) == 0 && !wholes && !told);
	(void)put(t, 3);
	CHECK(ops->sync(t) == 0);
	CHECK(ops->close(t, true) == 0);
}

/* The same before the objects were synced: they do not count as safe. */
static void
test_removed_early(void)
{
	struct spw_tier *t = open_share(false);

	(void)put(t, 1);
	CHECK(nftw(place, take_away, 8, FTW_DEPTH | FTW_PHYS) == 0);
	CHECK(ops->sync(t) < 0);
	(void)ops->close(t, false);
}

static void
run(const char *name, void (*test)(void))
{
	kit_run(kind, name, test, &place);
}

/* Not to be read just now is not damaged: a listing says why. */
static int
note_unopened(void *arg, const struct spw_tier_found *f)
{
	CHECK(f->err == -EMFILE);
	++*(unsigned *)arg;
	return 0;
}

static void
test_unopened(void)
{
	struct spw_tier *t = open_share(false);
	struct rlimit limit, none;
	unsigned n = 0;

	(void)put(t, 1);
	CHECK(ops->sync(t) == 0);
	CHECK(getrlimit(RLIMIT_NOFILE, &limit) == 0);
	none = (struct rlimit){ 0, limit.rlim_max };
	CHECK(setrlimit(RLIMIT_NOFILE, &none) == 0);
	CHECK(ops->list(t, note_unopened, &n) == 0 || n == 0);
	CHECK(setrlimit(RLIMIT_NOFILE, &limit) == 0);
	look(t);
	CHECK(wholes == 1 && told == 0);
	CHECK(ops->close(t, true) == 0);
}

int
main(void)
{
	static const char *const kinds[] = { "nvme", "bb", "pmem" };
	size_t i;

	CHECK(spw_packer_new(&packer) == 0);
	made = kit_buffer();
	got = kit_buffer();
	raw_bytes = kit_buffer();
	for (i = 0; i < ARRAY_LEN(kinds); i++) {
		kind = kinds[i];
		ops = spw_tier_by_kind(kind);
		CHECK(ops);
		if (!kit_is_to_be_had(kind, CAPACITY))
			continue;
		run("flipped bytes", test_flips);
		run("zeros", test_zeroed);
		run("replaced", test_replaced);
		run("blank", test_blank);
		run("torn", test_torn);
		run("cut", test_cut);
		run("removed", test_removed);
		run("removed early", test_removed_early);
		if (strcmp(kind, "pmem"))	/* has them open */
			run("not to be opened", test_unopened);
	}
	return 0;
}
