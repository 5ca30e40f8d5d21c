/* SPDX-License-Identifier: BSD-3-Clause */
/* late.c -- blocks that have arrived, behind locks of those who are stopped */

/*
 * The bytes are home, or have to go again, but the block cannot be told so: a
 * thread holds its lock, and does not go on. The drainer does, with everything
 * else. Until the lock is free the block's ranges count as moving, so that its
 * slot stays; file.inflight counts it; and the file is not settled. A successor
 * finds it as it finds all that its predecessor had under way.
 */
#include "planner/drainer.h"
#include "shm/files.h"

enum { FULL_US = 1000 };

static bool
note(struct spw_drainer *d, uint32_t idx, const struct spw_key *key, int err)
{
	if (d->nlate == d->map->counts[SPW_POOL_LANES])
		spw_late_retry(d);	/* not all can be held still */
	if (d->nlate == d->map->counts[SPW_POOL_LANES])
		return false;
	d->late[d->nlate++] = (struct spw_late){ { *key, idx }, err };
	/* What home has of it no object has. */
	if (!err)
		spw_home_of(d, key->file)->unsynced = true;
	return true;
}

uint32_t
spw_late_lock(struct spw_drainer *d, uint32_t idx, const struct spw_key *key,
	      int err)
{
	uint32_t got;

	for (;;) {
		got = spw_block_lock_soon(&d->me, idx, key);
		if (got != SPW_HELD || note(d, idx, key, err))
			return got;
		spw_sys_sleep_us(FULL_US);
	}
}

/* Who waits for the file need not wait for the next look. */
static void
resume(struct spw_drainer *d, uint32_t file)
{
	uint64_t bit = d->deferred[file / 64] & 1ull << file % 64;

	d->deferred[file / 64] &= ~bit;
	atomic_fetch_or(&d->map->asks[file / 64], bit);
}

void
spw_late_retry(struct spw_drainer *d)
{
	uint32_t n = d->nlate;

	/* What is still not to be had is noted again, before what is read. */
	d->nlate = 0;
	for (uint32_t i = 0; i < n; i++) {
		struct spw_late late = d->late[i];
		uint32_t before = d->nlate;

		(void)spw_block_arrive(d, late.at.idx, &late.at.key, late.err,
				       0);
		if (d->nlate == before)
			resume(d, late.at.key.file);
	}
}

void
spw_late_unsettle(struct spw_drainer *d)
{
	for (uint32_t i = 0; i < d->nlate; i++) {
		uint32_t file = d->late[i].at.key.file;

		spw_file_flag(&d->map->files[file], SPW_FILE_UNSETTLED);
		spw_put_off(d, file);
	}
}
