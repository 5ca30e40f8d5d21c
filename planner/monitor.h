/* SPDX-License-Identifier: BSD-3-Clause */
/* monitor.h -- how the tiers are: there or not, how full, how fast, how busy */

/* Who moves bytes says so before and after; the monitor keeps what a tier has
 * queued, and takes from each transfer that it is told a line, time =
 * latency + bytes / bandwidth, in which the past fades.  Free space is asked
 * of the file system, not more often than every SPW_MONITOR_EVERY.
 *
 * A tier of which only a guess is known is taken to be no faster than the one
 * before it: their order is the user's, who knows more than a guess.
 *
 * What it publishes moves in steps: a figure that is within some percent of
 * the one published last stays, so that plans made for it stay good.
 *
 * A monitor belongs to one thread.  Times are of one clock, in nanoseconds.
 */

#ifndef SPW_PLANNER_MONITOR_H
#define SPW_PLANNER_MONITOR_H

#include <stdint.h>

#include "planner/choose.h"

#define SPW_MONITOR_EVERY INT64_C(100000000)	/* 0.1 s */

/* A tier as it is before anything was seen of it. */
struct spw_monitored {
	const char *dir;		/* to ask for space; NULL: none */
	uint64_t capacity;		/* what we may use; UINT64_MAX: all */
	uint64_t choices;
	double write_bw, read_bw;	/* bytes a second */
	double latency;			/* seconds */
	bool guessed;			/* nobody measured these three */
};

enum spw_monitor_way { SPW_MONITOR_WRITE, SPW_MONITOR_READ };

struct spw_monitor;

struct spw_monitor *spw_monitor_new(void);	/* NULL: no memory */
void spw_monitor_free(struct spw_monitor *m);	/* takes NULL */

/* The next tier, fastest first.  Its number, or -EINVAL for figures that no
 * tier has, -ENOSPC for one too many, -ENOMEM.
 */
int spw_monitor_add(struct spw_monitor *m, const struct spw_monitored *tier);

/* Bytes wait to be written to a tier; they are in the queue until done. */
void spw_monitor_queue(struct spw_monitor *m, unsigned tier, uint64_t bytes);

/* They go elsewhere. */
void spw_monitor_leave(struct spw_monitor *m, unsigned tier, uint64_t bytes);

/* A transfer that began and ended then, with 0 or a negative errno.  Those
 * that overlap share the tier: each is charged the time since the one before
 * it ended, and those that were under way together count as one, by what they
 * were on average.  A tier that fails several times in a row is not available for a
 * while, longer each time.
 */
void spw_monitor_done(struct spw_monitor *m, unsigned tier,
		      enum spw_monitor_way way, uint64_t bytes, int64_t began,
		      int64_t ended, int error);

/* Bytes that we hold on a tier, more or less. */
void spw_monitor_hold(struct spw_monitor *m, unsigned tier, uint64_t bytes);
void spw_monitor_release(struct spw_monitor *m, unsigned tier,
			 uint64_t bytes);

/* The tiers as of now; *ret_n of them.  They hold until the next call. */
const struct spw_tier_state *spw_monitor_state(struct spw_monitor *m,
					       int64_t now, size_t *ret_n);

#endif
