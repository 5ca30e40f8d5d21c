/* SPDX-License-Identifier: BSD-3-Clause */
/* hurry.c -- a job that will be ended: everything home before that */

/*
 * What is not home, divided by the speed at which home took the last bytes,
 * is the time that is still needed. When the end of the batch job, less the
 * margin, is no further away than that, nothing rests in memory any more for
 * the sake of merging. The same for a while when somebody who was told to end
 * says so (seg.hurry_until).
 */
#include "planner/drainer.h"
#include "planner/drain.h"
#include "shm/files.h"
#include "shm/util.h"

enum {
	GUESS = 64 << 10,		/* bytes a millisecond, at first */
	OLD = 3,			/* parts of four that the past counts */
};

void
spw_hurry_measure(struct spw_drainer *d, uint64_t bytes, int64_t ms)
{
	uint64_t rate = bytes / (uint64_t)SPW_MAX(ms, 1);

	if (!bytes)
		return;
	rate = SPW_MAX(rate, 1u);
	d->home_rate = d->home_rate ? (OLD * d->home_rate + rate) / (OLD + 1)
				    : rate;
}

static bool
is_end_near(struct spw_drainer *d)
{
	const struct spw_seg_fixed *fixed = &d->map->fixed;
	uint64_t rate = d->home_rate ? d->home_rate : GUESS;
	struct spw_drain_left left;
	int64_t ms;

	if (!fixed->ends)
		return false;
	spw_drainer_left(d->map, &left);
	ms = (fixed->ends - spw_file_time()) / 1000000 -
	     (int64_t)fixed->margin_ms;
	if (d->keeps)
		left.bytes -= left.keeps;
	return (int64_t)(left.bytes / rate) >= ms;
}

void
spw_hurry_look(struct spw_drainer *d)
{
	d->hurries = atomic_load(&d->map->seg->hurry_until) > spw_now_ms() ||
		     is_end_near(d);
}
