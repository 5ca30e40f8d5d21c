/* SPDX-License-Identifier: BSD-3-Clause */
/* pack.h -- workers that pack objects while others are written */
#ifndef SPW_PLANNER_PACK_H
#define SPW_PLANNER_PACK_H

#include <stdint.h>

#include "tiers/apart.h"
#include "tiers/crew.h"
#include "tiers/object.h"

/* Not the crew that writes home: when home stands still, packing goes on. */
struct spw_pack_crew {
	struct spw_crew *crew;
	uint32_t under_way;
	struct spw_packer *own;		/* of the thread that asks */
	unsigned npackers;
	struct spw_packer *packer[SPW_CREW_MOST];	/* by hand */
};

struct spw_pack_job {			/* raw bytes that become an object */
	struct spw_job job;
	struct spw_pack_crew *crew;	/* ours */
	const struct spw_object *o;
	struct spw_object_pack pack;
	const void *raw;
	void *to;
	size_t cap;
	int64_t stored;			/* bytes; negative errno */
	double seconds;			/* of a processor */
};

/* workers: as in the segment. The bell is rung when one has done something.
 * -ENOMEM. */
int spw_pack_open(struct spw_pack_crew *c, uint32_t workers,
		  struct spw_bell *bell);
void spw_pack_close(struct spw_pack_crew *c);	/* also half-built ones */

/* Begins; false: it is done already, since there is no worker. What cannot be
 * packed as asked is stored raw. */
bool spw_pack_start(struct spw_pack_crew *c, struct spw_pack_job *job);

/* Does it here, by the thread that calls. */
void spw_pack_now(struct spw_pack_crew *c, struct spw_pack_job *job);

/* One that is done; NULL: none is. */
struct spw_pack_job *spw_pack_reap(struct spw_pack_crew *c);

#endif
