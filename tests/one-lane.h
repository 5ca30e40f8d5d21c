/* SPDX-License-Identifier: BSD-3-Clause */
/* one-lane.h -- a segment of a test's own, and a lane in it */

#ifndef SPW_TESTS_ONE_LANE_H
#define SPW_TESTS_ONE_LANE_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "shm/lane.h"

static struct spw_map map;
static struct spw_me me;
static char lane_place[] = "one-lane.XXXXXX";

static inline void
lane_begin_in(struct spw_seg_request req)
{
	req.job = "lane";
	req.dir = mkdtemp(lane_place);
	if (!req.dir || spw_seg_create(&req, &map) < 0 ||
	    spw_lane_claim(&map, SPW_NONE, &me) < 0) {
		puts("no segment");
		exit(1);
	}
}

static inline void
lane_begin(void)
{
	lane_begin_in((struct spw_seg_request){ .bytes = 4 << 20,
						.below = 64 << 20 });
}

static inline void
lane_end(void)
{
	spw_lane_release(&me);
	unlink(map.path);
	*strrchr(map.path, '/') = '\0';
	rmdir(map.path);
	rmdir(lane_place);
}

#endif
