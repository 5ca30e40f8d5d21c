/* SPDX-License-Identifier: BSD-3-Clause */
/* homing.h -- waiting until what is dirty now is home */
#ifndef SPW_TOOLS_HOMING_H
#define SPW_TOOLS_HOMING_H

#include "tools/asks.h"
#include "tools/show.h"

/*
 * Somebody else drains: another process, or a keeper. What fails is asked
 * for again; when nothing moves any more for a minute and there is an error,
 * it gives up. It does so sooner when all that is left cannot be read.
 */
struct spw_homing {
	struct spw_map *map;
	struct spw_asks asks;
	struct spw_progress progress;
	int64_t deadline;		/* ms; negative: none */
	int64_t ask_at, look_at, moved_at;	/* ms */
	uint64_t least;			/* bytes left at best */
	int err;			/* positive: why it does not move */
	bool failed;			/* the last round of asks did */
	bool all;
	bool lost;			/* all that is left */
	uint32_t save;			/* ticket of spw_homing_secure */
	bool secures;			/* it was called */
};

/* all: also what would be kept in the tiers. */
int spw_homing_begin(struct spw_homing *h, struct spw_map *map,
		     const char *what, int64_t timeout_ms, bool all,
		     bool quiet);

/* 1: home. 0: call again after spw_homing_pause microseconds. -ETIMEDOUT;
 * -EIO: it does not move, err says why. */
int spw_homing_step(struct spw_homing *h);

/* Nobody knows how long we have got: what is not home is to be safe in a tier
 * meanwhile. Once. */
void spw_homing_secure(struct spw_homing *h);

/* Whether all that was not home then is safe by now. */
bool spw_homing_is_safe(const struct spw_homing *h);

/* Asks the drainer for just that; the ticket is served as far as
 * seg.save_done. */
uint32_t spw_homing_save(struct spw_map *map);

int64_t spw_homing_pause(const struct spw_homing *h);

void spw_homing_end(struct spw_homing *h);

#endif
