/* SPDX-License-Identifier: BSD-3-Clause */
/* drain.c -- the drainer's life: election, sleeping, working, leaving */
#include "planner/drain.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/resource.h>

#include "planner/advice.h"
#include "planner/aside.h"
#include "planner/away.h"
#include "planner/chunks.h"
#include "planner/lasting.h"
#include "planner/store.h"
#include "shm/failpoint.h"
#include "shm/files.h"
#include "shm/gate.h"
#include "shm/mask.h"
#include "shm/proc.h"
#include "shm/ranges.h"
#include "shm/util.h"

enum {
	FENCE_US = 2000,		/* between looks at the fence */
	SLICE_MS = 10,			/* between looks while it waits, */
	MOVING_MS = 1,			/* and while blocks go down */
	TURN_MS = 2,			/* between looks at all the rest */
	TIDY_MS = 250,			/* between looks for the dead */
	STUCK_MS = 5000,		/* finish gives up after this long */
	DRY_MS = 200,			/* no block got clean */
	WINDOW_MIN = 4096, WINDOW_MAX = 65536,	/* slots: 16 to 256 MiB */
	WINDOW_SYNCED = 1024,		/* slots, for who syncs every write */
	SYNCED_NS = 1000000,		/* since the last time he did */
};

/* The fence: a dead drainer's I/O holds its lock until it is over. Not to be
 * waited for in the kernel: the holder may be one that lives and has not said
 * so yet, and it stays for as long as the job. */
static int
take_office(struct spw_map *map)
{
	for (;;) {
		int fd = spw_seg_lock_byte(map, SPW_LOCK_BYTE_DRAINER);

		if (fd != -EAGAIN || spw_proc_start_time(
				atomic_load(&map->seg->drainer_pid)))
			return fd;
		spw_sys_sleep_us(FENCE_US);
	}
}

static uint32_t
descriptor_limit(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
		return 256;
	return (uint32_t)SPW_MIN(limit.rlim_cur, 1u << 20) / 4 * 3;
}

static void
release(struct spw_drainer *d)
{
	if (d->homes)
		for (uint32_t i = 0; i < d->map->counts[SPW_POOL_FILES]; i++)
			spw_home_close(d, i);
	spw_crew_free(d->crew);
	spw_aside_free(d->aside);
	free(d->homes);
	free(d->runs);
	free(d->late);
	free(d->found);
	free(d->touched);
	free(d->asked);
	free(d->deferred);
	free(d->tickets);
	free(d->sync_found);
	free(d->syncing);
	free(d->joining);
	free(d->sync_tickets);
	free(d->sync_errs);
	free(d->answers);
	free(d);
}

static struct spw_drainer *
allocate(struct spw_map *map)
{
	struct spw_drainer *d = calloc(1, sizeof(*d));
	uint32_t nfiles = map->counts[SPW_POOL_FILES];

	if (!d)
		return NULL;
	d->map = map;
	d->homes = calloc(nfiles, sizeof(*d->homes));
	d->found = calloc(map->counts[SPW_POOL_BLOCKS], sizeof(*d->found));
	d->touched = calloc(nfiles / 64, sizeof(*d->touched));
	d->asked = calloc(nfiles / 64, sizeof(*d->asked));
	d->deferred = calloc(nfiles / 64, sizeof(*d->deferred));
	d->tickets = calloc(nfiles, sizeof(*d->tickets));
	d->runs = calloc(SPW_RUNS, sizeof(*d->runs));
	d->late = calloc(map->counts[SPW_POOL_LANES], sizeof(*d->late));
	d->sync_found = calloc(map->counts[SPW_POOL_BLOCKS],
			       sizeof(*d->sync_found));
	d->syncing = calloc(nfiles / 64, sizeof(*d->syncing));
	d->joining = calloc(nfiles / 64, sizeof(*d->joining));
	d->sync_tickets = calloc(nfiles, sizeof(*d->sync_tickets));
	d->sync_errs = calloc(nfiles, sizeof(*d->sync_errs));
	d->answers = calloc(nfiles, sizeof(*d->answers));
	for (uint32_t i = 0; d->homes && i < nfiles; i++)
		d->homes[i].fd = -1;
	if (!d->homes || !d->found || !d->touched || !d->asked ||
	    !d->deferred || !d->tickets || !d->runs || !d->late ||
	    !d->sync_found ||
	    !d->syncing || !d->joining || !d->sync_tickets || !d->sync_errs ||
	    !d->answers ||
	    spw_crew_new(SPW_CREW_HANDS, &d->crew) < 0) {
		release(d);
		return NULL;
	}
	d->open_limit = descriptor_limit();
	return d;
}

static void
announce(struct spw_drainer *d, enum spw_drainer_host host)
{
	struct spw_seg *seg = d->map->seg;

	d->epoch = (atomic_load(&seg->drainer_epoch) + 1) | 1;
	atomic_store(&seg->drainer_epoch, d->epoch);
	atomic_store(&seg->drainer_host, host);
	atomic_store(&seg->drainer_pid, (uint32_t)spw_sys_getpid());
	atomic_store(&seg->wake, SPW_DRAINER_AWAKE);
}

static bool
is_room_wanted(void *drainer)
{
	return spw_is_short_of_room(drainer);
}

int
spw_drainer_start(struct spw_map *map, enum spw_drainer_host host,
		  struct spw_drainer **ret_drainer)
{
	struct spw_drainer *d;
	int r = take_office(map);

	if (r < 0)
		return r;
	d = allocate(map);
	if (!d) {
		spw_sys_close(r);
		return -ENOMEM;
	}
	d->lock_fd = r;
	r = spw_lane_claim(map, SPW_NONE, &d->me);
	if (r < 0) {
		spw_sys_close(d->lock_fd);
		release(d);
		return r;
	}
	d->me.patience = &d->patience;
	d->keeps = map->fixed.keep && host != SPW_HOST_RECOVER &&
		   host != SPW_HOST_DRAIN;
	announce(d, host);
	r = spw_chunks_relink(d);
	if (r == 0 && map->fixed.tiers[0])
		r = spw_aside_new(is_room_wanted, d, &d->aside);
	if (r == 0)
		r = spw_store_open(d);
	if (r < 0) {
		spw_drainer_stop(d);
		return r;
	}
	spw_fetch_begin(d);
	spw_pass_serve_cuts(d);
	spw_lane_adopt_all(&d->me);
	spw_proc_reap(&d->me);
	SPW_FAILPOINT("drain-takeover");
	spw_pass_take_over(d);
	*ret_drainer = d;
	return 0;
}

/* Enough for a look, which ages what it finds. */
static bool
is_worth_a_look(const struct spw_drainer *d, uint32_t moving)
{
	return !moving ||
	       d->cleaned >= d->map->counts[SPW_POOL_SLOTS] / 32;
}

/* What is protected goes only if nothing else gets clean, for a while: no tier
 * takes anything, nor does home. */
static void
break_in(struct spw_drainer *d)
{
	int64_t now = spw_now_ms();

	if (!d->dry_since)
		d->dry_since = now;
	if (now - d->dry_since >= DRY_MS)
		d->starved = !spw_evict(d, SPW_EVICT_ALL);
}

/* Room for writers: what is clean and was not used for long goes first; then,
 * if that was not enough, dirty blocks go down; then what is clean and was
 * used, unless room is on its way.
 *
 * Of what is dirty as much goes down as came up for readers in any case: that
 * has to be clean to make room, and if it stayed for want of a home that takes
 * it, what is read again and again would not have its place. */
static void
make_room(struct spw_drainer *d)
{
	uint32_t most = d->map->counts[SPW_POOL_SLOTS] / 4;
	uint32_t moving = spw_store_moving(d, NULL, UINT64_MAX);
	bool looks = is_worth_a_look(d, moving), enough = false;

	if (looks) {
		d->cleaned = 0;
		d->starved = !spw_evict(d, SPW_EVICT_IDLE);
		enough = !spw_is_short_of_room(d);
	}
	if (enough)
		most = SPW_MIN(most, d->came_up);
	d->came_up = 0;
	d->may_pass_home = !d->keeps;
	if (moving < most)
		moving += spw_spill(d, most - moving);
	d->may_pass_home = false;
	if (enough)
		return;
	if (looks && (d->starved || !moving))
		d->starved = !spw_evict(d, SPW_EVICT_USED) && !moving;
	if (d->starved && !spw_away_hushes(d))
		break_in(d);
	else
		d->dry_since = 0;
}

void
spw_attend(struct spw_drainer *d)
{
	if (d->attending)
		return;
	d->attending = true;
	d->starved = false;
	spw_late_retry(d);
	spw_store_reap(d, false);
	spw_store_stamp(d);
	spw_away_look(d);
	spw_ahead_probe(d);
	spw_levels_note(d);
	spw_fetch_serve(d);
	spw_sync_serve(d);
	spw_sync_save(d);
	if (spw_is_short_of_room(d))
		make_room(d);
	d->attending = false;
}

/* What waited for a tier is tried again. */
static void
resume(struct spw_drainer *d)
{
	for (uint32_t w = 0; w < d->map->counts[SPW_POOL_FILES] / 64; w++)
		if (d->deferred[w]) {
			atomic_fetch_or(&d->map->asks[w], d->deferred[w]);
			d->deferred[w] = 0;
		}
}

static void
tidy(struct spw_drainer *d, int64_t now)
{
	if (now - d->tidied_at < TIDY_MS)
		return;
	d->tidied_at = now;
	resume(d);
	spw_away_tend(d);
	spw_lane_adopt_all(&d->me);
	d->deserted = spw_drainer_is_deserted(d) &&
		      atomic_load(&d->map->seg->attached);
	spw_forget_files(d);
	spw_store_sweep(d);
	spw_lasting_tidy(d->map);
	spw_levels_note(d);
	spw_advice_tend(d);
	spw_hurry_look(d);
	if (spw_store_is_short(d))
		(void)spw_sync_release_settled(d);
	spw_sync_relieve(d);
	if (spw_chunks_are_short(d->map))
		spw_chunks_recycle(d);
}

static void
grow(struct spw_job *job)		/* by a worker */
{
	struct spw_growing *g = (struct spw_growing *)job;
	const _Atomic uint64_t *syncs = &g->map->seg->syncs_down;
	uint64_t before = atomic_load(syncs);
	uint32_t ready = g->ready, now;

	if (spw_seg_grow(g->map, SPW_POOL_SLOTS) < 0)
		return;
	(void)spw_seg_grow(g->map, SPW_POOL_BLOCKS);
	now = atomic_load(&g->map->seg->pools[SPW_POOL_SLOTS].ready);
	/* Others wait for a processor by giving theirs away, again and again:
	 * who does not do likewise has it for much longer than they. For who
	 * syncs every write it is enough soon. */
	for (; ready < now && (ready - g->ready < WINDOW_SYNCED ||
			       atomic_load(syncs) == before); ready += 64) {
		spw_seg_meet_slots(g->map, ready);
		(void)sched_yield();
	}
}

static void
end_growing(struct spw_drainer *d, struct spw_task *task)
{
	(void)task;
	d->growing.busy = false;
}

/* Who waits for an answer after each write needs few slots, and all
 * processors. */
static bool
is_enough(const struct spw_drainer *d, uint32_t unused, uint32_t window)
{
	return unused >= window ||
	       (d->store && unused >= WINDOW_SYNCED &&
		spw_now_ns() - d->sync_ended < SYNCED_NS);
}

/* Keeps slots reserved and in memory ahead of the writers, as many as are in
 * use: the first touch of a page costs more than a kernel write, and a short
 * program should not pay for what it never touches. Where somebody may wait for
 * a tier's answer, that is not for the drainer itself to do. */
static void
look_ahead(struct spw_drainer *d)
{
	struct spw_map *map = d->map;
	uint32_t ready = atomic_load(&map->seg->pools[SPW_POOL_SLOTS].ready);
	uint32_t unused = spw_pool_free(map, SPW_POOL_SLOTS);
	uint32_t window = SPW_MIN(SPW_MAX(ready - unused, WINDOW_MIN),
				  WINDOW_MAX);

	if (d->growing.busy)
		(void)spw_task_reap(d, 0);
	if (d->growing.busy || d->deserted ||
	    ready >= map->counts[SPW_POOL_SLOTS] ||
	    is_enough(d, unused, window))
		return;
	d->growing = (struct spw_growing){
		.task = { .job.run = grow, .over = end_growing },
		.map = map, .ready = ready, .busy = true,
	};
	if (d->store) {
		spw_task_start(d, &d->growing.task);
	} else {
		grow(&d->growing.task.job);
		d->growing.busy = false;
	}
}

static bool
is_asked(const struct spw_map *map)
{
	for (uint32_t w = 0; w < map->counts[SPW_POOL_FILES] / 64; w++)
		if (atomic_load(&map->asks[w]))
			return true;
	return false;
}

/* Long enough at rest, or so much that waiting makes no sense. */
static bool
is_due(struct spw_drainer *d, int64_t now)
{
	const struct spw_map *map = d->map;
	uint32_t dirty = spw_count_dirty(map);

	if (!dirty) {
		d->dirty_since = 0;
		return false;
	}
	if (!d->dirty_since)
		d->dirty_since = now;
	return now - d->dirty_since >= map->seg->fixed.delay_ms ||
	       dirty > map->counts[SPW_POOL_SLOTS] / 8 || d->hurries ||
	       atomic_load(&map->seg->closing);
}

/* What cannot go down any more, or takes up records, has to go home. */
static bool
is_short(struct spw_drainer *d)
{
	struct spw_map *map = d->map;
	uint32_t count = map->counts[SPW_POOL_FILES];
	uint32_t ready = spw_seg_ready(map, SPW_POOL_FILES);

	return d->starved || d->nopen > d->open_limit / 2 ||
	       spw_pool_free(map, SPW_POOL_FILES) + (count - ready) <
	       count / 4;
}

static int
work(struct spw_drainer *d, bool asked)
{
	_Atomic uint64_t *home = &d->map->seg->bytes_home;
	uint64_t before = atomic_load(home);
	int64_t began = spw_now_ms();
	uint32_t went;

	if (asked)
		spw_lane_adopt_inside(&d->me);
	d->gives_up = d->keeps && !asked && is_short(d);
	went = spw_pass(d, asked);

	spw_hurry_measure(d, atomic_load(home) - before,
			  spw_now_ms() - began);
	if (!asked)
		d->dirty_since = 0;
	spw_attend(d);
	return (int)went;
}

/* stuck: all that is dirty failed a moment ago and waits for its next try. */
static void
rest(struct spw_drainer *d, int64_t ms, bool stuck)
{
	struct spw_seg *seg = d->map->seg;
	uint32_t state = spw_any_dirty(d->map) ? SPW_DRAINER_DELAYED
					       : SPW_DRAINER_ASLEEP;
	bool moving = spw_store_moving(d, NULL, UINT64_MAX);

	if (moving)
		ms = SPW_MIN(ms, MOVING_MS);
	if ((state == SPW_DRAINER_DELAYED && !stuck) || d->starved)
		ms = SPW_MIN(ms, SLICE_MS);
	atomic_store(&seg->wake, state);
	/* Looked at again after the state is up: who came before it saw
	 * AWAKE and did not call. */
	if (is_asked(d->map) ||
	    spw_sync_is_asked(d) ||
	    (atomic_load(&seg->want_room) && !d->starved && !moving) ||
	    atomic_load(&seg->wants) != d->wants_seen ||
	    atomic_load(&seg->save_asked) != atomic_load(&seg->save_done) ||
	    (state == SPW_DRAINER_ASLEEP && spw_any_dirty(d->map)))
		return;
	spw_sys_futex_wait(&seg->wake, state, ms);
}

/* Who syncs one write after the other waits for nothing else, for a while. */
static void
attend_turn(struct spw_drainer *d, int64_t now)
{
	do
		spw_attend(d);
	while (spw_now_ms() - now < TURN_MS && spw_sync_is_near(d));
}

int
spw_drainer_serve(struct spw_drainer *d, int ms)
{
	int64_t now = spw_now_ms();
	int64_t until = now + ms;

	for (; now < until; now = spw_now_ms()) {
		bool due;
		int went = 0;

		tidy(d, now);
		spw_home_secure(d);	/* who closes waits for it */
		look_ahead(d);
		attend_turn(d, now);
		if (is_asked(d->map))
			return work(d, true);
		due = is_due(d, now) || spw_is_short_of_room(d);
		if (due)
			went = work(d, false);
		else if (spw_any_below(d->map))
			went = (int)spw_pass_below(d);
		if (went)
			return went;
		rest(d, SPW_MIN(until - now, TIDY_MS), due);
		if (atomic_load(&d->map->seg->closed))
			break;		/* its last process is leaving */
	}
	return 0;
}

static uint64_t
bytes_left(struct spw_drainer *d)
{
	struct spw_drain_left left;

	spw_drainer_left(d->map, &left);
	return left.bytes - (d->keeps ? left.keeps : 0);
}

int
spw_drainer_finish(struct spw_drainer *d, int64_t ms)
{
	struct spw_seg *seg = d->map->seg;
	int64_t start = spw_now_ms(), moved = start;
	uint64_t left, least = UINT64_MAX;

	atomic_store(&seg->closing, 1);
	spw_lane_adopt_all(&d->me);	/* what the dead had begun counts */
	while ((left = bytes_left(d))) {
		int64_t now = spw_now_ms();

		/* What failed is left again; what stalls only takes time. */
		if (left < least || spw_store_is_deaf(d)) {
			least = SPW_MIN(left, least);
			moved = now;
		}
		if (!work(d, false))
			spw_sys_sleep_us(SLICE_MS * 1000);
		tidy(d, now);
		if ((ms >= 0 && now - start >= ms) ||
		    (ms < 0 && now - moved >= STUCK_MS))
			break;
	}
	atomic_store(&seg->closing, 0);
	if (bytes_left(d))
		return -EBUSY;
	/* Files that were removed need no copies either. */
	spw_proc_reap(&d->me);
	spw_forget_files(d);
	/* Of a write that failed fsync tells once, also when it was repeated. */
	return spw_sync_release_settled(d) < 0 &&
	       spw_sync_release_settled(d) < 0 ? -EBUSY : 0;
}

static uint64_t
count_bytes(const struct spw_map *map, const struct spw_block_state *s)
{
	struct spw_ranges all = s->dirty;
	uint8_t n = SPW_MIN(s->ndirty, SPW_RANGES);
	struct spw_mask mask;
	uint64_t bytes = 0;

	if (s->mask != SPW_NONE ||
	    !spw_ranges_unite(&all, &n, &s->moving,
			      SPW_MIN(s->nmoving, SPW_RANGES))) {
		spw_mask_unhomed(map, s, &mask);
		return spw_mask_count(&mask);
	}
	for (uint8_t i = 0; i < n; i++)
		if (all.r[i].from < all.r[i].to)
			bytes += (uint64_t)all.r[i].to - all.r[i].from;
	return bytes;
}

/* Its bytes are wanted at home, or kept. */
static bool
is_missing(const struct spw_file *f)
{
	return !(atomic_load(&f->flags) & SPW_FILE_UNLINKED) &&
	       atomic_load(&f->keep) != SPW_KEEP_STUB;
}

static void
add(struct spw_drain_left *left, const struct spw_file *f, uint64_t bytes)
{
	left->bytes += bytes;
	if (atomic_load(&f->keep) == SPW_KEEP_YES)
		left->keeps += bytes;
}

static void
count_below(const struct spw_map *map, struct spw_drain_left *left)
{
	for (uint32_t i = 0; i < spw_chunks_ready(map); i++) {
		const struct spw_chunk *c = &map->chunks[i];
		uint32_t file = spw_chunk_file(map, i);
		uint64_t blocks = 0;

		if (file == SPW_NONE || !is_missing(&map->files[file]))
			continue;
		for (int w = 0; w < SPW_CHUNK_BLOCKS / 64; w++)
			blocks += (uint64_t)__builtin_popcountll(
				atomic_load(&c->below[w]));
		left->below += blocks << SPW_BLOCK_SHIFT;
		add(left, &map->files[file], blocks << SPW_BLOCK_SHIFT);
	}
}

static void
count_files(const struct spw_map *map, struct spw_drain_left *left)
{
	uint32_t ready = spw_seg_ready(map, SPW_POOL_FILES);

	for (uint32_t i = 0; i < ready; i++) {
		const struct spw_file *f = &map->files[i];

		if (!(atomic_load(&map->owners[SPW_POOL_FILES][i]) &
		      SPW_IN_USE) || !spw_file_is_unsettled(f) ||
		    !is_missing(f))
			continue;
		left->files++;
		if (atomic_load(&f->err))
			left->err = atomic_load(&f->err);
	}
}

void
spw_drainer_left(struct spw_map *map, struct spw_drain_left *ret_left)
{
	uint32_t ready = spw_seg_ready(map, SPW_POOL_BLOCKS);
	struct spw_drain_left left = { 0 };

	for (uint32_t i = 0; i < ready; i++) {
		const struct spw_block *b = &map->blocks[i];
		uint32_t file = spw_glance32(&b->file);
		struct spw_block_state s;

		if (!(atomic_load(&map->owners[SPW_POOL_BLOCKS][i]) &
		      SPW_IN_USE) || !spw_block_is_dirty(b) ||
		    file >= map->counts[SPW_POOL_FILES] ||
		    !is_missing(&map->files[file]))
			continue;
		s = spw_block_look(b);
		add(&left, &map->files[file], count_bytes(map, &s));
	}
	count_below(map, &left);
	if (left.bytes)
		count_files(map, &left);
	*ret_left = left;
}

const char *
spw_drainer_note(const struct spw_drainer *d, unsigned i)
{
	return spw_advice_note(d, i);
}

bool
spw_drainer_is_deserted(struct spw_drainer *d)
{
	return spw_proc_reap(&d->me) == 0;
}

void
spw_drainer_stop(struct spw_drainer *d)
{
	struct spw_seg *seg = d->map->seg;
	int lock_fd = d->lock_fd;

	spw_pass_serve_cuts(NULL);
	spw_fetch_end();
	spw_store_close(d);
	spw_away_end(d);
	spw_lane_release(&d->me);
	atomic_store(&seg->wake, SPW_DRAINER_NONE);
	atomic_store(&seg->drainer_pid, 0);
	release(d);
	spw_sys_close(lock_fd);
}
