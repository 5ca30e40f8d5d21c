/* SPDX-License-Identifier: BSD-3-Clause */
/* unit-cache-stress.c -- many lanes and a drainer on one small segment */

/*
 * Each thread has a lane of its own, as a process would. One file is divided
 * between them, with edges inside blocks: everyone writes its own part, reads
 * it back, and sees nothing but its owner's bytes in the parts of others. A
 * second file is written, cut and handed to the kernel by all in turn. The
 * segment is too small for both and for the idle lanes, so blocks come and
 * go all the time.
 *
 * With a directory the drainer sends blocks down to a tier there whenever it
 * can and brings them home seldom, so that most reads and pieces of writes
 * have to fetch.
 *
 * unit-cache-stress [SECONDS [SEED [DIRECTORY]]]; SPILLWAY_CHECK_LONG=1 means
 * a minute.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "planner/drainer.h"
#include "shm/cache.h"
#include "shm/gate.h"

enum {
	THREADS = 6, IDLE = 40, PART = 500001, SHARED = 1500000, IO = 20000,
	ROOM = 4 << 20,			/* less than the files have together */
};

struct worker {
	pthread_t thread;
	uint32_t no;
	struct spw_me me;
	uint64_t rng, ops;
	uint8_t part[PART];		/* what our part of the file holds */
	uint8_t buf[IO];
};

static struct spw_map map;
static struct spw_target parts, shared;
static struct worker workers[THREADS];
static uint8_t model[SHARED];		/* of the shared file, under turn */
static uint64_t model_size;
static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;
static _Atomic bool over, drained;
static uint64_t seed = 1;
static uint32_t asks_seen;		/* by the drainer */
static const char *below;		/* directory of the tier, or NULL */

static void
check(bool fine, const char *what)
{
	if (fine)
		return;
	fprintf(stderr, "unit-cache-stress: %s (errno %d, seed %llu)\n", what,
		errno, (unsigned long long)seed);
	abort();
}

static uint64_t
draw(struct worker *w, uint64_t n)
{
	w->rng ^= w->rng << 13;
	w->rng ^= w->rng >> 7;
	w->rng ^= w->rng << 17;
	return (w->rng >> 11) % n;
}

/* Every byte names its writer in the low three bits. */
static void
compose(struct worker *w, uint64_t n)
{
	for (uint64_t i = 0; i < n; i++)
		w->buf[i] = (uint8_t)(draw(w, 32) << 3 | (w->no + 1));
}

static void
write_all(struct worker *w, const struct spw_target *t, uint64_t n,
	  uint64_t off)
{
	struct spw_source src = { w->buf, n, NULL };
	uint64_t done = 0;

	while (done < n) {
		int64_t r = spw_cache_write(&w->me, t, &src, n - done,
					    off + done);

		if (r == -ENOBUFS)
			spw_gate_wait_room(&w->me, 20);
		else
			check(r > 0, "write failed");
		done += r > 0 ? (uint64_t)r : 0;
	}
}

static uint64_t
length(struct worker *w)
{
	return 1 + draw(w, draw(w, 2) ? 60 : IO);
}

static void
write_own(struct worker *w)
{
	uint64_t n = length(w), at = draw(w, PART - n);

	compose(w, n);
	write_all(w, &parts, n, (uint64_t)w->no * PART + at);
	memcpy(w->part + at, w->buf, n);
}

static void
read_own(struct worker *w)
{
	uint64_t n = length(w), at = draw(w, PART - n);
	int64_t r = spw_cache_read(&w->me, &parts, w->buf, n,
				   (uint64_t)w->no * PART + at);

	check(r == (int64_t)n, "read failed");
	check(memcmp(w->buf, w->part + at, n) == 0, "own part is wrong");
}

static void
read_other(struct worker *w)
{
	uint64_t n = length(w), at = draw(w, PART - n);
	uint32_t who = (uint32_t)draw(w, THREADS);
	int64_t r = spw_cache_read(&w->me, &parts, w->buf, n,
				   (uint64_t)who * PART + at);

	check(r == (int64_t)n, "read failed");
	for (uint64_t i = 0; i < n; i++)
		check(!w->buf[i] || (w->buf[i] & 7u) == who + 1,
		      "bytes of another part");
}

/* Settled means that the kernel has it. */
static void
settle_own(struct worker *w)
{
	uint64_t n = length(w), at = draw(w, PART - n);

	check(spw_gate_settle(&w->me, parts.file) == 0, "settle failed");
	check(pread(parts.fd, w->buf, n, (off_t)((uint64_t)w->no * PART + at))
	      == (ssize_t)n, "home is too short");
	check(memcmp(w->buf, w->part + at, n) == 0, "home is wrong");
}

static void
write_shared(struct worker *w)
{
	uint64_t n = length(w), at = draw(w, SHARED - n);

	compose(w, n);
	write_all(w, &shared, n, at);
	memcpy(model + at, w->buf, n);
	model_size = model_size < at + n ? at + n : model_size;
}

static void
read_shared(struct worker *w)
{
	uint64_t n = length(w), at = draw(w, SHARED - n), want = 0;
	int64_t r = spw_cache_read(&w->me, &shared, w->buf, n, at);

	if (at < model_size)
		want = n < model_size - at ? n : model_size - at;
	check(r == (int64_t)want, "shared file has a wrong size");
	check(memcmp(w->buf, model + at, want) == 0, "shared file is wrong");
}

static void
cut_shared(struct worker *w)
{
	struct spw_file *f = &map.files[shared.file];
	uint64_t size = draw(w, SHARED);

	spw_gate_close(&w->me, shared.file);
	spw_gate_hold(&w->me, shared.file);
	atomic_store(&f->cut, size + 1);
	check(ftruncate(shared.fd, (off_t)size) == 0, "ftruncate");
	spw_gate_cut(&w->me, shared.file, size);
	atomic_store(&f->cut, 0);
	spw_gate_unhold(&w->me, shared.file);
	spw_gate_open(&w->me, shared.file);
	if (size < model_size)
		memset(model + size, 0, model_size - size);
	model_size = size;
}

/* As before a call that goes to the kernel: home, and nothing cached. */
static void
visit_shared(struct worker *w)
{
	uint64_t n = length(w), at = draw(w, SHARED - n);

	spw_gate_close(&w->me, shared.file);
	check(spw_gate_settle(&w->me, shared.file) == 0, "settle failed");
	spw_gate_drop(&w->me, shared.file, 0);
	check(lseek(shared.fd, 0, SEEK_END) == (off_t)model_size,
	      "home has a wrong size");
	n = at >= model_size ? 0 : n < model_size - at ? n : model_size - at;
	check(pread(shared.fd, w->buf, n, (off_t)at) == (ssize_t)n &&
	      memcmp(w->buf, model + at, n) == 0, "home is wrong");
	spw_gate_open(&w->me, shared.file);
}

static void
use_shared(struct worker *w)
{
	pthread_mutex_lock(&turn);
	switch (draw(w, 40)) {
	case 0:
		visit_shared(w);
		break;
	case 1: case 2: case 3:
		cut_shared(w);
		break;
	default:
		if (draw(w, 2))
			write_shared(w);
		else
			read_shared(w);
	}
	pthread_mutex_unlock(&turn);
}

static void *
work(void *arg)
{
	struct worker *w = arg;

	check(spw_lane_claim(&map, SPW_NONE, &w->me) == 0, "no lane");
	for (; !atomic_load(&over); w->ops++) {
		uint64_t r = draw(w, 100);

		if (r < 30)
			write_own(w);
		else if (r < 50)
			read_own(w);
		else if (r < 60)
			read_other(w);
		else if (r == 60)
			settle_own(w);
		else
			use_shared(w);
		if (draw(w, 5000) == 0) {	/* another thread comes */
			spw_lane_release(&w->me);
			check(spw_lane_claim(&map, SPW_NONE, &w->me) == 0,
			      "no lane");
		}
	}
	spw_lane_release(&w->me);
	return NULL;
}

/* As if memory were always short and home far away. */
static void
push_down(struct spw_drainer *d)
{
	spw_attend(d);
	(void)spw_spill(d, 64);
	for (int i = 0; i < 20; i++)
		spw_evict(d, true);
	if (atomic_load(&map.seg->asks) != asks_seen) {
		asks_seen = atomic_load(&map.seg->asks);
		(void)spw_pass(d, true);
	}
}

static void *
drain(void *unused)
{
	struct spw_drainer *d;

	(void)unused;
	check(spw_drainer_start(&map, SPW_HOST_THREAD, &d) == 0, "no drainer");
	for (uint64_t i = 0; !atomic_load(&drained); i++) {
		if (!below || i % 64 == 0)
			spw_drainer_serve(d, 5);
		else
			push_down(d);
	}
	check(spw_drainer_finish(d, 20000) == 0, "not all came home");
	check(!below || atomic_load(&map.seg->bytes_up), "nothing went down");
	spw_drainer_stop(d);
	return NULL;
}

/* Manages a new file of that size; it has no other name than its path. */
static void
add_file(const char *dir, const char *name, uint64_t size,
	 struct spw_target *ret)
{
	static char path[2][256];
	static int n;
	struct spw_me me;
	struct stat st;
	struct spw_file_seen seen = { .path = path[n] };

	snprintf(path[n++], sizeof(path[0]), "%s/%s", dir, name);
	ret->fd = open(seen.path, O_RDWR | O_CREAT | O_EXCL, 0600);
	check(ret->fd >= 0 && ftruncate(ret->fd, (off_t)size) == 0 &&
	      fstat(ret->fd, &st) == 0, seen.path);
	seen.id = (struct spw_file_id){ st.st_dev, st.st_ino };
	seen.size = size;
	seen.pid = (uint32_t)getpid();
	seen.fd = ret->fd;
	ret->readable = true;
	check(spw_lane_claim(&map, SPW_NONE, &me) == 0, "no lane");
	check(spw_file_open(&me, &seen, &ret->file) == 0, "file record");
	spw_lane_release(&me);
}

/* Lanes that wrote once and keep what they have: the others must get by. */
static void
add_idle(void)
{
	static struct worker idle[IDLE];

	for (uint32_t i = 0; i < IDLE; i++) {
		check(spw_lane_claim(&map, SPW_NONE, &idle[i].me) == 0,
		      "no lane");
		write_all(&idle[i], &parts, 1, i * 5000);
	}
}

static void
compare_home(void)
{
	static uint8_t home[THREADS * PART];

	check(pread(parts.fd, home, sizeof(home), 0) ==
	      (ssize_t)sizeof(home), "home is too short in the end");
	for (uint32_t i = 0; i < THREADS; i++)
		check(memcmp(home + i * PART, workers[i].part, PART) == 0,
		      "home is wrong in the end");
	check(lseek(shared.fd, 0, SEEK_END) == (off_t)model_size &&
	      pread(shared.fd, home, model_size, 0) == (ssize_t)model_size &&
	      memcmp(home, model, model_size) == 0,
	      "the shared file is wrong in the end");
}

static void
run(int seconds)
{
	pthread_t drainer;
	uint64_t ops = 0;

	check(pthread_create(&drainer, NULL, drain, NULL) == 0, "thread");
	add_idle();
	for (uint32_t i = 0; i < THREADS; i++) {
		workers[i].no = i;
		workers[i].rng = (seed + i) * 0x9e3779b97f4a7c15ull | 1;
		check(pthread_create(&workers[i].thread, NULL, work,
				     &workers[i]) == 0, "thread");
	}
	sleep((unsigned)seconds);
	atomic_store(&over, true);
	for (uint32_t i = 0; i < THREADS; i++) {
		pthread_join(workers[i].thread, NULL);
		ops += workers[i].ops;
	}
	atomic_store(&drained, true);
	pthread_join(drainer, NULL);
	compare_home();
	printf("%llu operations of %d threads, %llu bytes down, %llu up, "
	       "seed %llu\n",
	       (unsigned long long)ops, THREADS,
	       (unsigned long long)map.seg->bytes_down,
	       (unsigned long long)map.seg->bytes_up,
	       (unsigned long long)seed);
}

int
main(int argc, char **argv)
{
	char shm[] = "/dev/shm/spillway-unit.XXXXXX", home[] = "stress.XXXXXX";
	char dir[512], place[SPW_SEG_PATH_MAX], tiers[512];
	const char *at = mkdtemp(shm) ? shm : ".";
	struct spw_seg_request req = {
		.dir = at, .job = "stress", .bytes = ROOM, .delay_ms = 1,
	};
	const char *is_long = getenv("SPILLWAY_CHECK_LONG");
	int seconds = is_long && strcmp(is_long, "1") == 0 ? 60 : 3;

	if (argc > 1)
		seconds = atoi(argv[1]);
	seed = argc > 2 ? strtoull(argv[2], NULL, 0) : (uint64_t)time(NULL);
	if (argc > 3) {
		below = argv[3];
		snprintf(tiers, sizeof(tiers), "nvme:%s@64M", below);
		req.tiers = tiers;
		req.below = 64 << 20;
	}
	check(spw_seg_create(&req, &map) == 0, "no segment");
	check(mkdtemp(home) && realpath(home, dir), home);
	add_file(dir, "parts", THREADS * PART, &parts);
	add_file(dir, "shared", 0, &shared);
	run(seconds);
	(void)chdir(dir);
	(void)unlink("parts");
	(void)unlink("shared");
	(void)chdir("..");
	(void)rmdir(dir);
	(void)unlink(map.path);
	if (spw_seg_path(at, NULL, place, sizeof(place)) == 0)
		(void)rmdir(place);
	(void)rmdir(shm);
	return 0;
}
