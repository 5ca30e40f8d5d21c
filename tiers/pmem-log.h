/* SPDX-License-Identifier: BSD-3-Clause */
/* pmem-log.h -- one file of tier pmem: slots, and objects they tell of */

#ifndef SPW_TIERS_PMEM_LOG_H
#define SPW_TIERS_PMEM_LOG_H

#include <stdbool.h>
#include <stdint.h>

#include "tiers/extents.h"
#include "tiers/pmem-calls.h"
#include "tiers/pmem-layout.h"
#include "tiers/share.h"

struct spw_pmem_env {			/* the same for all files */
	const struct spw_pmem_calls *calls;	/* NULL: only looking */
	const struct spw_share *share;
	bool trusted;			/* what libpmem says of a mapping is
					 * not bent by its variables */
	bool keeps;			/* who looks for what is left is told
					 * of what is none of ours, too */
};

/*
 * Stores go through the mapping where libpmem calls it persistent memory, and
 * by pwrite where not: the same bytes, and an error instead of a signal.
 * Reads are by pread always, for that reason. real: a store is durable when
 * it was flushed and drained; else at msync.
 */
struct spw_pmem_log {
	const struct spw_pmem_env *env;
	uint32_t number;
	int fd;
	char *base;			/* NULL: only looking */
	size_t mapped;
	bool is_pmem, real;
	bool bad;			/* the head: nothing more is known, */
	int fault;			/* since it cannot be read, for this */
	bool frozen;			/* something in it is damaged: nothing
					 * new is put beside it */
	bool cut;			/* so is its file, or gone */
	int err;			/* of msync: until nothing is in it */
	uint64_t size, data_at;
	uint64_t there;			/* of the size, when it was opened */
	uint32_t nslots, nlive, next;	/* next: where to look for a slot */
	uint64_t live;			/* bytes of objects */
	uint64_t to;			/* written below this since msync */
	uint64_t mark;			/* syncs so far */
	uint32_t reach, noted;		/* slots used so far; as in the file */
	uint64_t met;			/* its pages are mapped up to here */
	uint64_t *taken;		/* slots, a bit each */
	struct spw_extents free;
};

/* Bytes of a file that cannot hold objects. */
uint64_t spw_pmem_log_overhead(uint64_t size);

void spw_pmem_log_name(uint32_t number, char ret_name[32]);
bool spw_pmem_log_number(const char *name, uint32_t *ret_number);

/* Durable when it returns. */
int spw_pmem_log_create(const struct spw_pmem_env *env, uint32_t number,
			uint64_t size, struct spw_pmem_log **ret_log);
/* A damaged file is opened as well: bad, or frozen. */
int spw_pmem_log_open(const struct spw_pmem_env *env, uint32_t number,
		      struct spw_pmem_log **ret_log);
void spw_pmem_log_close(struct spw_pmem_log *l);

/* An object, into the first room that ends at or before `below`. -ENOSPC:
 * there is none, or nothing may be put here. */
int spw_pmem_log_put(struct spw_pmem_log *l, const void *buf, size_t len,
		     uint64_t below, uint32_t *ret_slot, uint32_t *ret_gen);

/* -ENOENT: free; -EBADMSG: damaged; others: it cannot be read. */
int spw_pmem_log_slot(struct spw_pmem_log *l, uint32_t slot,
		      struct spw_pmem_slot *ret_slot);

/* The object is not there any more; its room is not free yet. */
int spw_pmem_log_clear(struct spw_pmem_log *l, uint32_t slot,
		       const struct spw_pmem_slot *was);
int spw_pmem_log_release(struct spw_pmem_log *l, uint32_t slot,
			 const struct spw_extent *was);

int spw_pmem_log_sync(struct spw_pmem_log *l);

#endif
