/* SPDX-License-Identifier: BSD-3-Clause */
/* losses.h -- what a tier has and cannot be read from it: which file, where */
#ifndef SPW_PLANNER_LOSSES_H
#define SPW_PLANNER_LOSSES_H

#include "shm/seg.h"

struct spw_drainer;

/* Bytes [from, to) of the file are below, and reading them failed. held: the
 * object they are in; 0: none is known. */
void spw_loss_note(struct spw_drainer *d, uint32_t file, uint64_t from,
		   uint64_t to, uint32_t held, int err);

struct spw_lost {			/* what there still is of a loss */
	uint64_t from, to, bytes;
	int err;			/* positive errno */
	const char *path, *where;	/* where: in the tier */
};

/* The loss of this number, 0 to SPW_SEG_LOSSES - 1. False: there is none, or
 * it is made good: written anew, read after all, cut off. */
bool spw_loss_look(const struct spw_map *map, uint32_t number,
		   struct spw_lost *ret_lost);

/* All that is lost now. */
uint64_t spw_loss_bytes(const struct spw_map *map);

#endif
