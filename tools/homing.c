/* SPDX-License-Identifier: BSD-3-Clause */
/* homing.c -- waiting until what is dirty now is home */
#include "tools/homing.h"

#include <errno.h>

#include "planner/drain.h"
#include "planner/losses.h"
#include "shm/gate.h"
#include "shm/proc.h"
#include "shm/util.h"

enum {
	AGAIN_MS = 250,			/* between rounds that fail */
	LOOK_MS = 100,			/* counting what is left costs time */
	STALL_MS = 60000,
	LOST_MS = 3000,			/* if no tier can give it back */
	SHORT_US = 200, LONG_US = 10000,
};

int
spw_homing_begin(struct spw_homing *h, struct spw_map *map, const char *what,
		 int64_t timeout_ms, bool all, bool quiet)
{
	int64_t now = spw_now_ms();

	*h = (struct spw_homing){
		.map = map, .moved_at = now, .look_at = now + LOOK_MS,
		.deadline = timeout_ms < 0 ? -1 : now + timeout_ms,
		.least = UINT64_MAX, .all = all,
	};
	spw_progress_begin(&h->progress, what, quiet);
	return spw_asks_make(map, all, &h->asks);
}

/* The pid of one who may hold what has to go home; 0: nobody. */
static uint32_t
find_stopped(struct spw_map *map)
{
	uint32_t pid = 0;

	for (uint32_t i = 0; !pid && i < spw_lane_count(map); i++) {
		uint32_t proc = atomic_load(&map->lanes[i].proc);

		if (proc < spw_seg_ready(map, SPW_POOL_PROCS) &&
		    spw_lane_holds(map, i))
			pid = spw_proc_stopped(map, proc);
	}
	return pid;
}

static void
look(struct spw_homing *h, int64_t now)
{
	struct spw_drain_left left;

	if (now < h->look_at)
		return;
	spw_drainer_left(h->map, &left);
	if (!h->all)
		left.bytes -= left.keeps;
	h->progress.stopped = find_stopped(h->map);
	spw_progress_show(&h->progress, left.bytes);
	if (left.bytes < h->least) {
		h->least = left.bytes;
		h->moved_at = now;
	}
	h->lost = h->err && spw_loss_bytes(h->map) == left.bytes;
	/* It may have gone to sleep between our asking and its looking. */
	spw_gate_hurry(h->map);
	h->look_at = spw_now_ms() + LOOK_MS;
}

static int
ask_again(struct spw_homing *h, int64_t now)
{
	if (now < h->ask_at)
		return 0;
	h->ask_at = now + AGAIN_MS;
	h->failed = false;
	spw_asks_free(&h->asks);
	return spw_asks_make(h->map, h->all, &h->asks);
}

int
spw_homing_step(struct spw_homing *h)
{
	int64_t now = spw_now_ms();
	int r, err = 0;

	if (h->failed) {
		r = ask_again(h, now);
		if (r < 0)
			return r;
	}
	if (!h->failed && !spw_asks_open(h->map, &h->asks, &err) &&
	    !err && !h->failed)
		return 1;
	if (err) {
		h->err = err;
		h->failed = true;
	}
	look(h, now);
	if (h->deadline >= 0 && now >= h->deadline)
		return -ETIMEDOUT;
	if (h->err && now - h->moved_at > (h->lost ? LOST_MS : STALL_MS))
		return -EIO;
	return 0;
}

uint32_t
spw_homing_save(struct spw_map *map)
{
	uint32_t ticket = atomic_fetch_add(&map->seg->save_asked, 1) + 1;

	spw_gate_hurry(map);
	return ticket;
}

void
spw_homing_secure(struct spw_homing *h)
{
	if (h->secures)
		return;
	h->secures = true;
	h->save = spw_homing_save(h->map);
}

bool
spw_homing_is_safe(const struct spw_homing *h)
{
	const struct spw_seg *seg = h->map->seg;

	return h->secures &&
	       (int32_t)(atomic_load(&seg->save_done) - h->save) >= 0 &&
	       !atomic_load(&seg->save_err);
}

int64_t
spw_homing_pause(const struct spw_homing *h)
{
	double s = spw_show_clock() - h->progress.began;

	return s < 0.02 ? SHORT_US : LONG_US;
}

void
spw_homing_end(struct spw_homing *h)
{
	spw_progress_end(&h->progress);
	spw_asks_free(&h->asks);
}
