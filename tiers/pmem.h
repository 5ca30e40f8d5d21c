/* SPDX-License-Identifier: BSD-3-Clause */
/* pmem.h -- tier pmem: what its parts share */

#ifndef SPW_TIERS_PMEM_H
#define SPW_TIERS_PMEM_H

#include "tiers/pmem-log.h"
#include "tiers/roll.h"
#include "tiers/tier.h"

struct spw_pmem_gone {			/* dropped; its room is not free yet */
	struct spw_pmem_log *log;
	uint32_t slot;
	struct spw_extent was;
};

struct spw_pmem {
	struct spw_tier tier;
	struct spw_share share;
	struct spw_roll *roll;
	struct spw_pmem_env env;
	uint64_t capacity, total;	/* total: what the files take */
	uint64_t log_size;		/* of the next file, if there is room */
	struct spw_pmem_log **logs;	/* by number */
	uint32_t nlogs, last;		/* last: number given last */
	struct spw_pmem_gone *gone;
	size_t ngone, gone_room;
	struct spw_transfer *over, **over_end;
};

/* A place: the file, its slot and 1, and which use of the slot this is. Slot
 * and 1 is 0 for a file that is damaged as a whole. */
static inline uint64_t
spw_pmem_place(uint32_t number, uint32_t slot_and_1, uint32_t gen)
{
	return (uint64_t)number << 48 | (uint64_t)slot_and_1 << 24 | gen;
}

/* at_once: -EAGAIN if a file would have to be made. */
int spw_pmem_put(struct spw_pmem *t, const void *buf, size_t len, bool at_once,
		 uint64_t *ret_place);
int spw_pmem_drop(struct spw_tier *tier, uint64_t place);
int spw_pmem_sync(struct spw_tier *tier);

/* pmem-list.c */
int spw_pmem_list(struct spw_tier *tier,
		  int (*seen)(void *arg, const struct spw_tier_found *f),
		  void *arg);

/* pmem-clean.c */
int64_t spw_pmem_clean(struct spw_tier *tier, uint64_t bytes,
		       void (*moved)(void *arg, uint64_t from, uint64_t to),
		       void *arg);

#endif
