/* SPDX-License-Identifier: BSD-3-Clause */
/* receipt.h -- what a run did: the counters, as JSON and as two lines */
#ifndef SPW_TOOLS_RECEIPT_H
#define SPW_TOOLS_RECEIPT_H

#include "planner/drain.h"
#include "shm/layout.h"
#include "tools/keeping.h"

struct spw_receipt {
	const char *job, *drainer;
	struct spw_counters count;
	struct spw_drain_left left;
	uint64_t requests_home, bytes_home, files_managed;
	uint64_t requests_down, bytes_down, stored_down;	/* to tiers */
	uint64_t requests_up, bytes_up, syncs_down;
	uint64_t bypasses[SPW_BYPASS_COUNT];
	struct spw_keeping keeping;
	bool safe;			/* what is left is, in a tier */
	struct spw_map *map;		/* for what is lost */
	double seconds;
	int exit_status;
};

/* Reads the segment's counters; job, drainer, seconds and exit_status are
 * the caller's. */
void spw_receipt_fill(struct spw_map *map, struct spw_receipt *r);

/* Replaces the file as a whole. A negative errno. */
int spw_receipt_write(const struct spw_receipt *r, const char *path);

/* Two lines on standard error. */
void spw_receipt_print(const struct spw_receipt *r);

#endif
