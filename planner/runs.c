/* SPDX-License-Identifier: BSD-3-Clause */
/* runs.c -- neighbouring blocks written home together, several runs at once */

/*
 * A home may be far away: the writes of a pass are under way together, each
 * with a worker, and while the drainer waits for one it attends to those who
 * wait for it.
 */
#include <errno.h>

#include "planner/advice.h"
#include "planner/away.h"
#include "planner/store.h"
#include "shm/failpoint.h"
#include "shm/files.h"
#include "shm/mask.h"
#include "shm/sys.h"
#include "shm/util.h"

enum {
	PATIENCE_MS = 1,
	STALL_MS = 1000,		/* until a home that stalls is tried again */
	/* Of a home that takes bytes about as fast as they can be copied. */
	QUICK_NS_PER_KIB = 2000,
};

void
spw_task_start(struct spw_drainer *d, struct spw_task *task)
{
	d->under_way++;
	task->job.hand = 0;
	if (spw_crew_give(d->crew, &task->job) == 0)
		return;
	task->job.run(&task->job);
	d->under_way--;
	task->over(d, task);
}

static bool
is_called(struct spw_drainer *d)
{
	return spw_bell_heard(d->store->bell) ||
	       atomic_load(&d->map->seg->wants) != d->wants_seen ||
	       spw_sync_is_asked(d);
}

/* Until a task is done, or a tier has something, or somebody wants something
 * that is below or safe: where home is slow he is not to wait for that. */
static struct spw_task *
wait_for_call(struct spw_drainer *d, int ms)
{
	struct spw_seg *seg = d->map->seg;
	struct spw_job *job;

	/* Looked at after the state is up: who comes later calls. */
	atomic_store(&seg->wake, SPW_DRAINER_DELAYED);
	job = spw_crew_reap(d->crew, 0);
	if (!job && !is_called(d)) {
		spw_sys_futex_wait(&seg->wake, SPW_DRAINER_DELAYED, ms);
		job = spw_crew_reap(d->crew, 0);
	}
	atomic_store(&seg->wake, SPW_DRAINER_AWAKE);
	return (struct spw_task *)job;
}

bool
spw_task_reap(struct spw_drainer *d, int ms)
{
	struct spw_task *task = d->store && d->under_way && ms
		? wait_for_call(d, ms)
		: (struct spw_task *)spw_crew_reap(d->crew, d->under_way ? ms
						   : 0);
	bool any = task != NULL;

	for (; task; task = (struct spw_task *)spw_crew_reap(d->crew, 0)) {
		d->under_way--;
		task->over(d, task);
	}
	return any;
}

static int
write_all(int fd, struct iovec *iov, uint32_t n, uint64_t off)
{
	while (n) {
		int64_t r = spw_sys_pwritev(fd, iov, (int)SPW_MIN(n, 1024u),
					    off);

		if (r == -EINTR || r == -EAGAIN)
			continue;
		if (r <= 0)
			return r < 0 ? (int)r : -EIO;
		off += (uint64_t)r;
		while (n && (uint64_t)r >= iov->iov_len) {
			r -= (int64_t)iov->iov_len;
			iov++;
			n--;
		}
		if (r) {
			iov->iov_base = (char *)iov->iov_base + r;
			iov->iov_len -= (size_t)r;
		}
	}
	return 0;
}

static void
send_extents(struct spw_job *job)	/* by a worker */
{
	struct spw_run *run = (struct spw_run *)job;

	run->began = run->ended = spw_now_ns();
	for (uint32_t i = 0; i < run->nextents && run->err == 0; i++) {
		const struct spw_extent *e = &run->extent[i];

		run->err = write_all(run->fd, run->iov + e->first_iov,
				     e->niov, e->from);
		if (run->err == 0) {
			run->requests++;
			run->bytes += e->to - e->from;
		}
	}
	run->ended = spw_now_ns();
}

static bool
was_quick(const struct spw_run *run)
{
	return run->ended - run->began <
	       (int64_t)(run->bytes / 1024 * QUICK_NS_PER_KIB);
}

/* If anything failed, all of it is dirty again. */
static void
end_run(struct spw_drainer *d, struct spw_task *task)
{
	struct spw_run *run = (struct spw_run *)task;
	struct spw_key key = {
		run->file, d->map->files[run->file].gen, 0,
	};

	SPW_FAILPOINT("drain-written");
	spw_advice_home(d, run->bytes, run->began, run->err);
	atomic_fetch_add(&d->map->seg->requests_home, run->requests);
	atomic_fetch_add(&d->map->seg->bytes_home, run->bytes);
	for (uint32_t i = 0; i < run->nblocks; i++) {
		key.number = run->number[i];
		spw_block_arrive(d, run->block[i], &key, run->err, 0);
	}
	SPW_FAILPOINT("drain-arrived");
	if (run->fd == -ETIMEDOUT) {
		d->homes[run->file].retry_at = spw_now_ms() + STALL_MS;
		spw_defer(d, run->file);
	} else if (run->err < 0) {
		spw_note_failure(d, run->file, run->err);
	} else {
		d->homes[run->file].retry_at = 0;
		d->homes[run->file].slow = !was_quick(run);
		spw_file_heal(&d->map->files[run->file]);
	}
	run->busy = false;
}

static void
begin(struct spw_drainer *d, bool last)
{
	struct spw_run *run = d->run;
	int fd;

	d->run = NULL;
	if (!run)
		return;
	fd = spw_home_open(d, run->file);
	run->fd = fd;
	run->err = fd < 0 ? fd : 0;
	run->requests = run->bytes = 0;
	run->task.job.run = send_extents;
	run->task.over = end_run;
	/* The kernel lets one write a file at a time: on a quick home others
	 * would spin for that and take the processor from who has work. */
	run->task.job.series = d->homes[run->file].slow ? 0 : run->file + 1;
	spw_home_note_ctime(d, run->file);
	if (!last || d->under_way || d->store) {
		spw_task_start(d, &run->task);
		return;
	}
	/* Alone, and nobody waits for what is in tiers: not worth two changes
	 * of thread. */
	send_extents(&run->task.job);
	end_run(d, &run->task);
}

static struct spw_run *
find_free(struct spw_drainer *d)
{
	for (int i = 0; i < SPW_RUNS; i++)
		if (!d->runs[i].busy)
			return &d->runs[i];
	return NULL;
}

/* Home may take its time; the tiers are nobody's meanwhile. */
static void
wait(struct spw_drainer *d)
{
	(void)spw_task_reap(d, PATIENCE_MS);
	spw_attend(d);
	spw_away_tend(d);
}

void
spw_runs_reserve(struct spw_drainer *d)
{
	while (!find_free(d))
		wait(d);
}

static struct spw_run *
take_run(struct spw_drainer *d, uint32_t file)
{
	struct spw_run *run = find_free(d);	/* it was reserved */

	run->busy = true;
	run->file = file;
	run->nblocks = run->niov = run->nextents = 0;
	return run;
}

static void
add_range(struct spw_run *run, uint64_t from, uint64_t to, uint8_t *at)
{
	struct spw_extent *e = &run->extent[run->nextents];
	struct iovec *last = &run->iov[run->niov];

	if (run->nextents && e[-1].to == from) {
		e--;
	} else {
		*e = (struct spw_extent){ from, from, run->niov, 0 };
		run->nextents++;
	}
	e->to = to;
	if (e->niov && (uint8_t *)last[-1].iov_base + last[-1].iov_len == at) {
		last[-1].iov_len += to - from;
		return;
	}
	e->niov++;
	run->niov++;
	*last = (struct iovec){ at, to - from };
}

static bool
continues(const struct spw_run *run, uint32_t file, uint64_t from, uint64_t to,
	  uint32_t pieces)
{
	return run->file == file && run->nextents &&
	       run->extent[run->nextents - 1].to == from &&
	       to - run->extent[0].from <= SPW_RUN_BYTES &&
	       run->niov + pieces <= SPW_RUN_PIECES;
}

static uint32_t
count_pieces(const struct spw_mask *m)
{
	uint32_t n = 0, from = 0, to;

	for (; spw_mask_next(m, &from, &to); from = to)
		n++;
	return n;
}

void
spw_runs_add(struct spw_drainer *d, const struct spw_candidate *c,
	     const struct spw_block_state *s)
{
	uint64_t base = c->key.number << SPW_BLOCK_SHIFT;
	uint8_t *slot = spw_slot(d->map, s->moving_slot);
	uint32_t from = 0, to;
	struct spw_mask moving;
	struct spw_run *run;

	/* The kernel copies up to a page that we have not met, and has cleared
	 * the rest of its own by then for nothing. */
	spw_seg_meet_slots(d->map, s->moving_slot);
	spw_mask_moving(d->map, s, &moving);
	(void)spw_mask_next(&moving, &from, &to);
	if (d->run && !continues(d->run, c->key.file, base + from, base + to,
				 s->mask == SPW_NONE ? s->nmoving
				 : count_pieces(&moving)))
		begin(d, false);
	if (!d->run)
		d->run = take_run(d, c->key.file);
	run = d->run;
	for (; spw_mask_next(&moving, &from, &to); from = to)
		add_range(run, base + from, base + to, slot + from);
	run->block[run->nblocks] = c->idx;
	run->number[run->nblocks++] = c->key.number;
}

void
spw_runs_flush(struct spw_drainer *d)
{
	begin(d, true);
}

void
spw_runs_wait(struct spw_drainer *d)
{
	while (d->under_way)
		wait(d);
}
