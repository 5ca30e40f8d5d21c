/* SPDX-License-Identifier: BSD-3-Clause */
/* drain.h -- the drainer: brings what the segment holds home */
#ifndef SPW_PLANNER_DRAIN_H
#define SPW_PLANNER_DRAIN_H

#include <stdbool.h>
#include <stdint.h>

#include "shm/seg.h"

struct spw_drainer;

struct spw_drain_left {			/* what is not home */
	uint64_t bytes;
	uint64_t below;			/* of them, in tiers below memory */
	uint64_t keeps;			/* of them, that will be kept there */
	uint32_t files;
	int err;			/* positive errno of the last failure */
};

/*
 * Becomes the segment's drainer: waits for a dead predecessor's I/O to end
 * (its lock on the segment file is the fence), adopts dead lanes and takes up
 * what it had begun. -EAGAIN: another one lives. One thread only may use
 * the drainer: the one that started it.
 */
int spw_drainer_start(struct spw_map *map, enum spw_drainer_host host,
		      struct spw_drainer **ret_drainer);

/* What the user should be told of its start, a line each; NULL past the
 * last. */
const char *spw_drainer_note(const struct spw_drainer *d, unsigned i);

/*
 * Serves for at most ms milliseconds (less if woken): sleeps until something
 * is dirty and its delay has passed, or somebody asks, then works. Returns
 * the number of blocks written home, 0 when idle.
 */
int spw_drainer_serve(struct spw_drainer *d, int ms);

/* Everything home now, without delay, retrying what fails until ms have
 * passed (negative: for ever, as long as something still moves). 0, or
 * -EBUSY when something is left, or home does not take over what tiers have
 * promised: then the segment is to stay. */
int spw_drainer_finish(struct spw_drainer *d, int64_t ms);

/* Bytes not home; counted under no lock, so a snapshot. */
void spw_drainer_left(struct spw_map *map, struct spw_drain_left *ret_left);

/*
 * In a segment whose files are kept (fixed.keep): all else is home, nobody
 * holds the segment, and nobody can join it. What stays in the tiers becomes
 * a stub at home; left does not count it any more. If that cannot be told of
 * one, false: the segment is needed. If it is not removed then, unkeep. Nothing
 * for who drains or recovers.
 */
bool spw_drainer_keep(struct spw_drainer *d);
void spw_drainer_unkeep(struct spw_drainer *d);

/* True when no living process holds the segment: nobody attached. */
bool spw_drainer_is_deserted(struct spw_drainer *d);

/* Lays down the office; what is left stays for a successor. */
void spw_drainer_stop(struct spw_drainer *d);

#endif
