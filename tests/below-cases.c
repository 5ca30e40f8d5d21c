/* SPDX-License-Identifier: BSD-3-Clause */
/* below-cases.c -- blocks below memory: single cases that went wrong once */

/*
 * below-cases DIRECTORY: a drainer in a thread of its own does what it is told
 * and, in between, nothing but attend to those who wait for it; the tier lies
 * in DIRECTORY, files in the working directory.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "planner/chunks.h"
#include "planner/store.h"
#include "shm/cache.h"
#include "shm/files.h"
#include "shm/gate.h"
#include "tests/guarded.h"

enum { SECONDS = 300, ROUNDS = 300, CHUNK = SPW_CHUNK_BLOCKS * SPW_BLOCK_SIZE };

enum order { NOTHING, SPILL, HOME, MEANWHILE, TIDY, REST, RESTART, LEAVE };

static const char *place;
static struct spw_map map;
static struct spw_me me;
static struct spw_drainer *drainer;	/* while it is idle */
static pthread_t thread;
static _Atomic int order;
static uint8_t buf[4 * SPW_BLOCK_SIZE];

static void
obey(int what)
{
	if (what == SPILL)
		while (spw_spill(drainer, UINT32_MAX))
			spw_store_reap(drainer, true);
	if (what == MEANWHILE)
		(void)spw_spill(drainer, UINT32_MAX);
	if (what == HOME || what == MEANWHILE) {
		/* Also what fsync may be about to copy. */
		drainer->hurries = true;
		(void)spw_pass(drainer, false);
		drainer->hurries = false;
	}
	if (what == TIDY) {
		drainer->tidied_at = 0;
		(void)spw_drainer_serve(drainer, 1);
	}
	if (what == RESTART || what == LEAVE)
		spw_drainer_stop(drainer);
	if (what == RESTART)
		CHECK(!spw_drainer_start(&map, SPW_HOST_THREAD, &drainer));
}

static void *
drain(void *unused)
{
	int what;

	(void)unused;
	CHECK(!spw_drainer_start(&map, SPW_HOST_THREAD, &drainer));
	do {
		what = atomic_load(&order);
		obey(what);
		if (what != NOTHING)
			atomic_store(&order, NOTHING);
		if (what != LEAVE)
			spw_attend(drainer);
		usleep(100);
	} while (what != LEAVE);
	return NULL;
}

static void
tell(int what)
{
	atomic_store(&order, what);
	while (atomic_load(&order) != NOTHING)
		usleep(100);
}

/* Who waits is answered before the drainer has noted everything. */
static int
sync_file(const struct spw_target *t)
{
	int r = spw_gate_sync(&me, t->file);

	tell(REST);
	return r;
}

static void
begin(uint64_t below)
{
	char shm[] = "/dev/shm/spillway-unit.XXXXXX", tiers[512];
	struct spw_seg_request req = {
		.dir = mkdtemp(shm), .job = "below", .bytes = 4 << 20,
		.delay_ms = 100000, .tiers = tiers, .below = below,
	};

	snprintf(tiers, sizeof(tiers), "nvme:%s@64M", place);
	CHECK(req.dir && !spw_seg_create(&req, &map));
	CHECK(!spw_lane_claim(&map, SPW_NONE, &me));
	CHECK(!pthread_create(&thread, NULL, drain, NULL));
	tell(TIDY);			/* it is in office */
}

static void
end(void)
{
	char dir[SPW_SEG_PATH_MAX];

	tell(LEAVE);
	pthread_join(thread, NULL);
	spw_lane_release(&me);
	(void)unlink(map.path);
	snprintf(dir, sizeof(dir), "%s", map.path);
	*strrchr(dir, '/') = '\0';
	(void)rmdir(dir);
	*strrchr(dir, '/') = '\0';
	(void)rmdir(dir);
	spw_seg_detach(&map);
}

static struct spw_target
open_file(const char *name)
{
	struct spw_file_seen seen = {
		.path = realpath(".", NULL), .pid = (uint32_t)getpid(),
		.parted = atomic_load(&map.seg->parted),
	};
	struct spw_target t = { .readable = true };
	static char path[4096];
	struct stat st;

	snprintf(path, sizeof(path), "%s/%s", seen.path, name);
	free((char *)seen.path);
	seen.path = path;
	t.fd = seen.fd = open(path, O_RDWR | O_CREAT, 0600);
	CHECK(t.fd >= 0 && !fstat(t.fd, &st));
	seen.id = (struct spw_file_id){ st.st_dev, st.st_ino };
	seen.size = (uint64_t)st.st_size;
	CHECK(!spw_file_open(&me, &seen, &t.file));
	return t;
}

static void
close_file(const struct spw_target *t, const char *name)
{
	spw_file_close(&me, t->file);
	close(t->fd);
	if (name)
		unlink(name);
}

static void
put(const struct spw_target *t, int byte, uint64_t n, uint64_t off)
{
	struct spw_source src = { buf, n, NULL };

	memset(buf, byte, n);
	CHECK(spw_cache_write(&me, t, &src, n, off) == (int64_t)n);
}

static void
expect(const struct spw_target *t, int byte, uint64_t n, uint64_t off)
{
	memset(buf, ~byte, n);
	CHECK(spw_cache_read(&me, t, buf, n, off) == (int64_t)n);
	for (uint64_t i = 0; i < n; i++)
		CHECK(buf[i] == (uint8_t)byte);
}

static bool
is_below(const struct spw_target *t, uint64_t number)
{
	struct spw_key key = { t->file, map.files[t->file].gen, number };

	return spw_below_has(&map, &key);
}

/* All of the file is wanted home; it is told when somebody waits for that. */
static void
ask(const struct spw_target *t)
{
	atomic_fetch_add(&map.files[t->file].asked, 1);
	atomic_fetch_or(&map.asks[t->file / 64], 1ull << t->file % 64);
}

static bool
is_answered(const struct spw_target *t)
{
	const struct spw_file *f = &map.files[t->file];

	return atomic_load(&f->asked) == atomic_load(&f->done);
}

/* The last block is below up to the end of the file, a copy is in memory; the
 * file goes on after a gap. */
static void
lengthen(void)
{
	struct spw_target t;

	begin(64 << 20);
	t = open_file("short");
	put(&t, 'a', 904, 0);
	tell(SPILL);
	CHECK(is_below(&t, 0));
	put(&t, 'b', 10, 1000);
	expect(&t, 'a', 904, 0);
	expect(&t, 0, 96, 904);
	expect(&t, 'b', 10, 1000);
	close_file(&t, "short");
	end();
}

static _Atomic bool over;

/* Never may it look as if nothing of the file were below. */
static void *
watch(void *arg)
{
	const struct spw_target *t = arg;

	while (!atomic_load(&over))
		CHECK(spw_below_any(&map.files[t->file]));
	return NULL;
}

static void
change_office(void)
{
	pthread_t watcher;
	struct spw_target t;

	begin(64 << 20);
	t = open_file("watched");
	put(&t, 'a', SPW_BLOCK_SIZE, 0);
	tell(SPILL);
	CHECK(is_below(&t, 0));
	CHECK(!pthread_create(&watcher, NULL, watch, &t));
	for (int i = 0; i < 100; i++)
		tell(RESTART);
	atomic_store(&over, true);
	pthread_join(watcher, NULL);
	expect(&t, 'a', SPW_BLOCK_SIZE, 0);
	close_file(&t, "watched");
	end();
}

/* The share is let go of a moment after the office. */
static void
wait_for_share(void)
{
	const struct spw_tier_ops *ops = spw_tier_by_kind("nvme");
	char name[SPW_JOB_MAX + 32];
	struct spw_tier_setup setup = {
		.place = place, .owner = name, .capacity = 64 << 20,
	};
	struct spw_tier *tier;
	struct spw_target t;
	int gate[2];
	pid_t child;

	begin(64 << 20);
	snprintf(name, sizeof(name), "%s.%llx", map.fixed.job,
		 (unsigned long long)map.fixed.created);
	t = open_file("late");
	put(&t, 'a', SPW_BLOCK_SIZE, 0);
	tell(SPILL);
	tell(LEAVE);
	pthread_join(thread, NULL);
	CHECK(!pipe(gate));
	child = fork();
	CHECK(child >= 0);
	if (!child) {
		CHECK(!ops->open(&setup, &tier));
		CHECK(write(gate[1], "", 1) == 1);
		usleep(300000);
		_exit(0);
	}
	CHECK(read(gate[0], buf, 1) == 1);
	CHECK(!pthread_create(&thread, NULL, drain, NULL));
	tell(TIDY);
	CHECK(drainer->store->nlevels == 1);
	expect(&t, 'a', SPW_BLOCK_SIZE, 0);
	CHECK(waitpid(child, NULL, 0) == child);
	close_file(&t, "late");
	end();
}

/* What was known of a file does not count for the next in its record. */
static void
reuse_record(void)
{
	struct spw_target old, new;

	begin(64 << 20);
	old = open_file("old");
	CHECK(!sync_file(&old));
	CHECK(drainer->homes[old.file].named);
	close_file(&old, "old");
	tell(TIDY);			/* forgets it, and what tiers have */
	new = open_file("new");
	CHECK(new.file == old.file);
	CHECK(!spw_home_of(drainer, new.file)->named);
	put(&new, 'a', 1, 0);
	CHECK(!sync_file(&new));
	close_file(&new, "new");
	end();
}

/* More chunks come and go than there are. */
static void
use_up_chunks(void)
{
	struct spw_target t;
	uint64_t at = 0;

	begin(64 << 20);
	t = open_file("sparse");
	for (uint32_t i = 0; i < 2 * map.counts[SPW_POOL_CHUNKS];
	     i++, at += CHUNK) {
		put(&t, 'a', SPW_BLOCK_SIZE, at);
		tell(SPILL);
		CHECK(is_below(&t, at >> SPW_BLOCK_SHIFT));
		tell(HOME);
		CHECK(!is_below(&t, at >> SPW_BLOCK_SHIFT));
		tell(TIDY);
	}
	close_file(&t, "sparse");
	end();
}

struct cutting {
	int fd;
	uint64_t size;
};

static int
cut_home(void *arg)
{
	const struct cutting *c = arg;

	return ftruncate(c->fd, (off_t)c->size);
}

static void
cut(const struct spw_target *t, uint64_t size)
{
	struct cutting c = { t->fd, size };

	CHECK(!spw_gate_resize(&me, t->file, size, cut_home, &c));
}

/* The tier refuses the object that was to tell of a cut: the next one does. */
static void
keep_cut(void)
{
	struct spw_target t;

	begin(64 << 20);
	t = open_file("cut");
	put(&t, 'a', 100, 0);
	CHECK(!sync_file(&t));
	cut(&t, 50);
	drainer->store->level[0].shunned_until = INT64_MAX;
	CHECK(sync_file(&t) < 0);
	CHECK(atomic_load(&map.files[t.file].low) == 51);
	drainer->store->level[0].shunned_until = 0;
	CHECK(!sync_file(&t));
	CHECK(atomic_load(&map.files[t.file].low) == 0);
	close_file(&t, "cut");
	end();
}

static void
await_answer(const struct spw_target *t)
{
	const struct spw_file *f = &map.files[t->file];

	while (atomic_load(&f->sync_done) != atomic_load(&f->sync_asked))
		usleep(100);
}

/* Of two files in one round one can be answered by the tier alone: both are
 * told, whoever does it. */
static void
answer_each(void)
{
	enum { NO_FD = 1 << 28 };
	struct spw_target good, bad;
	struct spw_home was;

	begin(64 << 20);
	good = open_file("good");
	bad = open_file("bad");
	CHECK(!sync_file(&good) && !sync_file(&bad));
	put(&good, 'a', 100, 0);
	put(&bad, 'a', 100, 0);
	was = drainer->homes[bad.file];
	drainer->homes[bad.file].fd = NO_FD;
	drainer->homes[bad.file].named = false;
	atomic_fetch_add(&map.files[good.file].sync_asked, 1);
	atomic_fetch_add(&map.files[bad.file].sync_asked, 1);
	CHECK(good.file < 64 && bad.file < 64);
	atomic_fetch_or(&map.syncs[0], 1ull << good.file | 1ull << bad.file);
	await_answer(&good);
	await_answer(&bad);
	tell(REST);
	CHECK(atomic_load(&map.files[good.file].sync_err) == 0);
	CHECK(atomic_load(&map.files[bad.file].sync_err) == -EBADF);
	drainer->homes[bad.file].fd = was.fd;
	drainer->homes[bad.file].named = true;
	close_file(&good, "good");
	close_file(&bad, "bad");
	end();
}

/* Bytes that home promises have an older version in an object: it goes before
 * fsync is answered. */
static void
outlive_objects(bool restart)
{
	struct spw_target t;

	begin(64 << 20);
	t = open_file("twice");
	put(&t, 'a', SPW_BLOCK_SIZE, 0);
	CHECK(!sync_file(&t));
	CHECK(drainer->store->of_file[t.file]);
	put(&t, 'b', SPW_BLOCK_SIZE, 0);
	tell(HOME);
	if (restart)
		tell(RESTART);
	CHECK(drainer->store->of_file[t.file]);
	if (sync_file(&t) < 0) {
		ask(&t);
		tell(HOME);
	}
	CHECK(!drainer->store->of_file[t.file]);
	close_file(&t, "twice");
	end();
}

static bool
has_whole(const struct spw_target *t)
{
	const struct spw_store *s = drainer->store;

	for (uint32_t i = s->of_file[t->file]; i; i = s->held[i].next)
		if (s->held[i].o->flags & SPW_OBJECT_WHOLE)
			return true;
	return false;
}

/* A promise that the predecessor gave outlives the way home. */
static void
keep_promise(void)
{
	struct spw_target t;

	begin(64 << 20);
	t = open_file("promised");
	put(&t, 'a', SPW_BLOCK_SIZE, 0);
	tell(SPILL);
	CHECK(!sync_file(&t));
	tell(RESTART);
	CHECK(is_below(&t, 0));
	tell(HOME);
	CHECK(!is_below(&t, 0));
	CHECK(has_whole(&t));
	close_file(&t, "promised");
	end();
}

/* Who asks just before an ordinary pass is answered by that one. Two objects of
 * one chunk go home one after the other. */
static void
answer_in_passing(void)
{
	struct spw_target t;

	begin(64 << 20);
	t = open_file("asked");
	for (uint64_t i = 0; i < 8; i += 2) {
		put(&t, 'a', SPW_BLOCK_SIZE, i * SPW_BLOCK_SIZE);
		tell(SPILL);
	}
	ask(&t);
	tell(HOME);
	CHECK(is_answered(&t));
	for (uint64_t i = 0; i < 8; i++)
		CHECK(!is_below(&t, i));
	close_file(&t, "asked");
	end();
}

/* What home has without us. */
static bool
is_home(const struct spw_target *t, int byte)
{
	memset(buf, ~byte, SPW_BLOCK_SIZE);
	return pread(t->fd, buf, SPW_BLOCK_SIZE, 0) == SPW_BLOCK_SIZE &&
	       buf[0] == (uint8_t)byte;
}

/* A pass comes while a block is on its way down, and others go home. Who asked
 * is not answered before it is there, nor is the file settled. */
static void
pass_while_moving(bool asked)
{
	struct spw_target t;

	begin(64 << 20);
	t = open_file("moving");
	for (int i = 0; i < 20; i++) {
		put(&t, i, SPW_BLOCK_SIZE, 0);
		put(&t, i, 10, 5 * SPW_BLOCK_SIZE + 10);
		if (asked)
			ask(&t);
		tell(MEANWHILE);
		CHECK(is_home(&t, i) ||
		      (!asked && spw_file_is_unsettled(&map.files[t.file])));
		CHECK(!asked || is_answered(&t));
	}
	close_file(&t, "moving");
	end();
}

/* Somebody holds the drainer off, again and again. */
static void *
hold_often(void *arg)
{
	const struct spw_target *t = arg;

	while (!atomic_load(&over)) {
		spw_gate_hold(&me, t->file);
		usleep(50);
		spw_gate_unhold(&me, t->file);
		usleep(50);
	}
	return NULL;
}

/* What could not go while it was held off is not home when that is over. */
static void
answer_when_home(void)
{
	struct spw_target t;
	pthread_t holder;

	begin(64 << 20);
	t = open_file("held");
	atomic_store(&over, false);
	CHECK(!pthread_create(&holder, NULL, hold_often, &t));
	for (int i = 0; i < ROUNDS; i++) {
		while (!is_below(&t, 0)) {
			put(&t, 'a', SPW_BLOCK_SIZE, 0);
			tell(SPILL);
		}
		ask(&t);
		while (!is_answered(&t)) {
			tell(HOME);
			tell(TIDY);	/* what was put off comes again */
		}
		CHECK(!is_below(&t, 0));
	}
	atomic_store(&over, true);
	pthread_join(holder, NULL);
	close_file(&t, "held");
	end();
}

int
main(int argc, char **argv)
{
	CHECK(argc == 2);
	place = argv[1];
	alarm(SECONDS);
	lengthen();
	change_office();
	wait_for_share();
	use_up_chunks();
	reuse_record();
	keep_cut();
	answer_each();
	outlive_objects(false);
	outlive_objects(true);
	keep_promise();
	answer_in_passing();
	pass_while_moving(false);
	pass_while_moving(true);
	answer_when_home();
	return 0;
}
