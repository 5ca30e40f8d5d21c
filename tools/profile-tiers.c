/* SPDX-License-Identifier: BSD-3-Clause */
/* profile-tiers.c -- measures tiers, in a share of its own that goes again */

/*
 * A tier gets raw objects of several sizes, one or several under way at once,
 * and gives them back. They are marked as home, so that they mean nothing to
 * `spillway recover` if we are killed before the share is removed. Memory is
 * measured by copying, home by a file without a name.
 *
 * Each is measured by a process of its own, which tells how far it is: a tier
 * that stalls lets nobody go who waits for it, and is left behind.
 */
#include "tools/profile.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "shm/util.h"
#include "tiers/tier.h"

enum {
	DEPTH = 8, MOST = 256, SYNCS = 16, SMALL = 4096,
	ENOUGH = 64 << 20,		/* bytes for a point */
	TICK_MS = 100,
};

#define SILENT 5.0			/* seconds, then it does not answer */

static const struct { uint32_t size, depth; } points[] = {
	{ 64 << 10, 1 }, { 64 << 10, DEPTH }, { 1 << 20, 1 },
	{ 1 << 20, DEPTH }, { 4 << 20, 1 }, { 4 << 20, DEPTH },
};
enum { POINTS = sizeof(points) / sizeof(points[0]) };

struct bench {
	struct spw_profile_time *time;
	struct spw_profile_tier *tier;
	struct spw_tier *open;
	struct spw_packer *packer;
	uint64_t capacity;
	struct spw_transfer x[DEPTH];
	uint8_t *noise;			/* bytes that nothing packs */
	uint64_t place[MOST];
	double until;
	int listener;			/* hears how far it is */
	double told;			/* when */
};

/* Less than a pipe takes at once, so that it comes as a whole. */
static void
tell(const struct bench *b)
{
	if (write(b->listener, b->tier, sizeof(*b->tier)) < 0)
		return;			/* nobody listens any more */
}

static bool
go_on(struct bench *b)
{
	if (spw_show_clock() - b->told > 1e-3 * TICK_MS) {
		b->told = spw_show_clock();
		tell(b);
	}
	return spw_profile_go_on(b->time, b->tier->is.name) &&
	       spw_show_clock() < b->until;
}

/* Objects of this size in all buffers; bytes stored or negative errno. */
static int64_t
fill(struct bench *b, uint32_t size)
{
	struct spw_object o = {
		.length = size, .cut = UINT64_MAX, .flags = SPW_OBJECT_HOME,
	};
	int64_t r = 0;

	for (unsigned i = 0; i < DEPTH && r >= 0; i++) {
		o.seq = i + 1;
		r = spw_object_encode(b->packer, &o, NULL, b->x[i].buf,
				      spw_object_bound(0, size), b->noise);
		b->x[i].len = (size_t)r;
	}
	return r;
}

static int
begin(struct bench *b, struct spw_transfer *x, unsigned i, bool up)
{
	x->up = up;
	x->at = 0;
	x->user = (void *)(uintptr_t)i;
	if (up)
		x->place = b->place[i];
	return b->open->ops->submit(b->open, x);
}

/* The next buffer that is free: a new one, or that of a transfer that is
 * over. NULL: all are over. */
static struct spw_transfer *
next_free(struct bench *b, unsigned begun, unsigned most, unsigned *over,
	  int *ret_err)
{
	struct spw_transfer *x;

	if (begun < most)
		return &b->x[begun];
	if (*over == begun)
		return NULL;
	x = b->open->ops->reap(b->open, true);
	++*over;
	if (x && x->err)
		*ret_err = x->err;
	else if (x && !x->up)
		b->place[(uintptr_t)x->user] = x->place;
	return x;
}

/* Moves up to n objects, `depth` at once, while there is time. How many, or
 * negative errno. */
static int
move(struct bench *b, unsigned n, unsigned depth, bool up)
{
	unsigned begun = 0, over = 0;
	struct spw_transfer *x;
	int err = 0;

	while ((x = next_free(b, begun, SPW_MIN(n, depth), &over, &err))) {
		if (err || (begun && !go_on(b)))
			n = SPW_MIN(n, begun);
		if (begun >= n)
			continue;
		err = begin(b, x, begun, up);
		if (err)
			n = begun;
		else
			begun++;
	}
	return err ? err : (int)over;
}

static double
rate(uint64_t bytes, double since)
{
	double took = spw_show_clock() - since;

	return (double)bytes / (took > 1e-9 ? took : 1e-9);
}

static void
drop_all(struct bench *b, int n)
{
	for (int i = 0; i < n; i++)
		(void)b->open->ops->drop(b->open, b->place[i]);
	(void)b->open->ops->sync(b->open);	/* makes room again */
}

static int
measure_point(struct bench *b, unsigned i, double seconds)
{
	const uint32_t size = points[i].size, depth = points[i].depth;
	struct spw_seed_tier *is = &b->tier->is;
	unsigned n = (unsigned)SPW_MIN(SPW_MIN(ENOUGH, b->capacity / 2) / size,
				       MOST);
	double start;
	int put, got;

	if (n < depth || fill(b, size) < 0)
		return 0;		/* no room for this one */
	start = spw_show_clock();
	b->until = start + seconds / 2;
	put = move(b, n, depth, false);
	if (put <= 0)
		return put;
	got = b->open->ops->sync(b->open);
	if (got < 0)
		return got;
	is->point[is->n].write = rate((uint64_t)put * size, start);
	start = spw_show_clock();
	b->until = start + seconds / 2;
	got = move(b, (unsigned)put, depth, true);
	if (got > 0) {
		is->point[is->n].size = size;
		is->point[is->n].depth = depth;
		is->point[is->n++].read = rate((uint64_t)got * size, start);
	}
	drop_all(b, put);
	return got < 0 ? got : 0;
}

/* How long it takes until a small object is safe, the median. */
static int
measure_latency(struct bench *b)
{
	const struct spw_tier_ops *ops = b->open->ops;
	double took[SYNCS], start;
	int n = 0, r = 0;

	if (fill(b, SMALL) < 0)
		return -ENOMEM;
	for (b->until = spw_show_clock() + 2; n < SYNCS && !r; n++) {
		if (n && !go_on(b))
			break;
		start = spw_show_clock();
		r = move(b, 1, 1, false);
		if (r > 0)
			r = ops->sync(b->open);
		took[n] = spw_show_clock() - start;
		for (int k = n; k && took[k] < took[k - 1]; k--) {
			double t = took[k];

			took[k] = took[k - 1];
			took[k - 1] = t;
		}
		if (!r)
			(void)ops->drop(b->open, b->place[0]);
	}
	b->tier->is.latency = n ? took[n / 2] : 0;
	return r;
}

static void
conclude(struct spw_seed_tier *is)
{
	for (unsigned i = 0; i < is->n; i++) {
		is->write = SPW_MAX(is->write, is->point[i].write);
		is->read = SPW_MAX(is->read, is->point[i].read);
	}
}

static int
measure(struct bench *b, double seconds)
{
	int r = measure_latency(b);

	for (unsigned i = 0; i < POINTS && !r; i++)
		r = measure_point(b, i, seconds / POINTS);
	if (!r && !b->tier->is.n)
		r = spw_profile_is_stopped() ? -EINTR : -ENOSPC;
	conclude(&b->tier->is);
	return r;
}

static int
measure_tier(struct bench *b, const char *place, double seconds)
{
	const struct spw_tier_ops *ops = spw_tier_by_kind(
		spw_tierspec_kind_name(b->tier->spec->kind));
	char owner[64];
	struct spw_tier_setup setup = {
		.place = place, .owner = owner, .create = true,
		.capacity = SPW_MIN(b->tier->capacity, 4 * ENOUGH),
	};
	int r, closed;

	if (!ops)
		return -EOPNOTSUPP;
	snprintf(owner, sizeof(owner), "profile-%d.%llx", (int)getpid(),
		 (unsigned long long)time(NULL));
	b->capacity = setup.capacity;
	r = ops->open(&setup, &b->open);
	if (r < 0)
		return r;
	r = measure(b, seconds);
	closed = ops->close(b->open, true);
	return r < 0 ? r : closed;
}

/* The segment is memory: what counts is how fast bytes are copied. */
static void
measure_memory(struct bench *b)
{
	struct spw_seed_tier *is = &b->tier->is;
	const size_t n = 4 << 20;
	double start = spw_show_clock();
	uint64_t bytes = 0;

	b->until = start + 0.2;
	do {
		memcpy(b->x[bytes / n % DEPTH].buf, b->noise, n);
		bytes += n;
	} while (go_on(b));
	is->write = is->read = rate(bytes, start);
	is->point[is->n].size = (uint32_t)n;
	is->point[is->n].depth = 1;
	is->point[is->n].write = is->point[is->n].read = is->write;
	is->n++;
	is->latency = 1e-6;
}

/* A file without a name cannot be left behind. */
static int
open_nameless(const char *dir)
{
	char path[SPW_CONFIG_PATH + 32];
	int fd = open(dir, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);

	if (fd >= 0)
		return fd;
	snprintf(path, sizeof(path), "%s/.spillway-profile-%d", dir,
		 (int)getpid());
	fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	(void)unlink(path);
	return fd;
}

static int
home_point(struct bench *b, int fd, uint32_t size, double seconds)
{
	struct spw_seed_tier *is = &b->tier->is;
	uint64_t n = 0, back = 0;
	double start = spw_show_clock();

	b->until = start + seconds / 2;
	for (; n < ENOUGH && (!n || go_on(b)); n += size)
		if (pwrite(fd, b->noise, size, (off_t)n) != (ssize_t)size)
			return errno ? -errno : -ENOSPC;
	if (fdatasync(fd) < 0)
		return -errno;
	is->point[is->n].write = rate(n, start);
	(void)posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
	start = spw_show_clock();
	b->until = start + seconds / 2;
	for (; back < n && (!back || go_on(b)); back += size)
		if (pread(fd, b->x[0].buf, size, (off_t)back) !=
		    (ssize_t)size)
			return errno ? -errno : -EIO;
	is->point[is->n].size = size;
	is->point[is->n].depth = 1;
	is->point[is->n++].read = rate(back, start);
	return ftruncate(fd, 0) < 0 ? -errno : 0;
}

static int
measure_home(struct bench *b, const char *dir, double seconds)
{
	int fd = open_nameless(dir), r = 0;
	double start;

	if (fd < 0)
		return fd;
	start = spw_show_clock();
	if (pwrite(fd, b->noise, SMALL, 0) != SMALL || fdatasync(fd) < 0)
		r = errno ? -errno : -ENOSPC;
	b->tier->is.latency = spw_show_clock() - start;
	for (unsigned i = 0; i < POINTS && !r; i++)
		if (points[i].depth == 1)
			r = home_point(b, fd, points[i].size, 2 * seconds /
				       POINTS);
	close(fd);
	conclude(&b->tier->is);
	return r;
}

static bool
prepare(struct bench *b)
{
	uint64_t z = 1;
	const size_t size = 4 << 20, room = spw_round_up(
		spw_object_bound(0, size), SPW_TIER_ALIGN);
	bool ok = spw_packer_new(&b->packer) == 0;

	b->noise = malloc(size);
	for (size_t i = 0; b->noise && i < size; i += 8) {
		z = z * UINT64_C(6364136223846793005) + 1442695040888963407;
		memcpy(b->noise + i, &z, 8);
	}
	for (unsigned i = 0; i < DEPTH; i++) {
		b->x[i].buf = aligned_alloc(SPW_TIER_ALIGN, room);
		ok &= b->x[i].buf != NULL;
		if (b->x[i].buf)	/* faulted in before the clock runs */
			memset(b->x[i].buf, 0, room);
	}
	return ok && b->noise;
}

static int
measure_any(struct bench *b, const char *place, double seconds)
{
	if (!prepare(b))
		return -ENOMEM;
	if (!b->tier->spec)
		return measure_home(b, place, seconds);
	if (b->tier->spec->kind != SPW_KIND_RAM)
		return measure_tier(b, place, seconds);
	measure_memory(b);
	return 0;
}

/* A child: it goes when we do, and who reads what we write does not wait for
 * it.
 */
static pid_t
fork_aside(void)
{
	pid_t parent = getpid(), pid = fork();
	int null;

	if (pid)
		return pid;
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != parent)
		_exit(1);
	null = open("/dev/null", O_RDWR | O_CLOEXEC);
	for (int fd = STDIN_FILENO; null >= 0 && fd <= STDERR_FILENO; fd++)
		(void)dup2(null, fd);
	return 0;
}

_Noreturn static void
measure_aside(struct bench *b, const char *place, double seconds)
{
	int r;

	b->tier->err = -EINPROGRESS;
	r = measure_any(b, place, seconds);
	b->tier->err = r;
	tell(b);
	_exit(0);
}

/* The last that was told, or when nothing is for long, what that means. It may
 * have measured some. */
static int
give_up(struct spw_profile_tier *tier, pid_t pid)
{
	(void)kill(pid, SIGKILL);
	conclude(&tier->is);
	return tier->is.n ? 0 : -ETIMEDOUT;
}

/* Returns what became of it. It is stopped as we are, and then has to end. */
static int
listen_to(struct spw_profile_time *t, struct spw_profile_tier *tier, int fd,
	  pid_t pid)
{
	const double last = SPW_MAX(t->at_last, spw_show_clock() + SILENT);
	double heard = spw_show_clock();
	struct pollfd poll_fd = { .fd = fd, .events = POLLIN };
	bool told = false;		/* once: a second time ends it */

	while (tier->err == -EINPROGRESS) {
		(void)spw_profile_go_on(t, tier->is.name);
		if (spw_profile_is_stopped() && !told)
			told = kill(pid, SIGTERM) == 0;
		if (poll(&poll_fd, 1, TICK_MS) > 0) {
			if (read(fd, tier, sizeof(*tier)) != sizeof(*tier))
				return -EIO;
			heard = spw_show_clock();
		}
		if (tier->err == -EINPROGRESS &&
		    (spw_show_clock() > heard + SILENT ||
		     spw_show_clock() > last))
			return give_up(tier, pid);
	}
	(void)waitpid(pid, NULL, 0);
	return tier->err;
}

static int
measure_one(struct spw_profile_time *t, struct spw_profile_tier *tier,
	    const char *place, double seconds)
{
	static struct bench b;
	int ends[2], r;
	pid_t pid;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return -errno;
	tier->err = -EINPROGRESS;
	b = (struct bench){ .time = t, .tier = tier, .listener = ends[1] };
	pid = fork_aside();
	if (!pid)
		measure_aside(&b, place, seconds);
	r = pid < 0 ? -errno : 0;
	close(ends[1]);
	if (!r)
		r = listen_to(t, tier, ends[0], pid);
	close(ends[0]);
	return r;
}

static void
measure_named(struct spw_profile_time *t, const struct spw_tierlist *list,
	      const char *home, double seconds, struct spw_profile_tier *tier)
{
	const char *place = tier->spec ? spw_tierspec_place(list, tier->spec)
				       : home;
	const char *kind = tier->spec ?
			   spw_tierspec_kind_name(tier->spec->kind) : "home";
	int n = snprintf(tier->is.name, sizeof(tier->is.name), *place ?
			 "%s:%s" : "%s%s", kind, place);

	tier->err = n < 0 || (size_t)n >= sizeof(tier->is.name) ?
		    -ENAMETOOLONG : measure_one(t, tier, place, seconds);
}


void
spw_profile_tiers(struct spw_profile_time *t, const struct spw_tierlist *list,
		  const char *home, struct spw_profile_tiers *ret)
{
	for (unsigned i = 0; i <= list->n; i++) {
		struct spw_profile_tier *at = &ret->at[ret->n];

		*at = (struct spw_profile_tier){
			.spec = i < list->n ? &list->tier[i] : NULL,
			.capacity = i < list->n ? list->tier[i].capacity
						: UINT64_MAX,
		};
		if (spw_profile_is_stopped())
			break;
		measure_named(t, list, home, (t->until - spw_show_clock()) /
			      (list->n + 1 - i), at);
		ret->n++;
	}
}

bool
spw_profile_answers(const struct spw_config *cfg,
		    const struct spw_tierlist *list, unsigned i)
{
	static struct spw_tierlist one;
	struct pollfd over = { .events = 0 };
	struct spw_diag diag;
	int ends[2];
	pid_t pid;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return true;
	one = *list;
	one.tier[0] = list->tier[i];
	one.n = 1;
	over.fd = ends[0];
	pid = fork_aside();
	if (!pid)
		_exit(spw_config_check(cfg, &one, &diag) < 0);
	close(ends[1]);			/* the end of it is told by the pipe */
	while (pid > 0 && poll(&over, 1, (int)(1000 * SILENT)) < 0 &&
	       errno == EINTR && !spw_profile_is_stopped())
		;
	close(ends[0]);
	if (pid > 0 && !over.revents) {
		(void)kill(pid, SIGKILL);
		return false;
	}
	if (pid > 0)
		(void)waitpid(pid, NULL, 0);
	return true;
}

const char *
spw_profile_error(int err)
{
	return err == -ETIMEDOUT ? "does not answer" : spw_diag_errno(err);
}
