/* SPDX-License-Identifier: BSD-3-Clause */
/* nvme-room.c -- which file takes the next object, and what room is left */

#include <errno.h>

#include "shm/util.h"
#include "tiers/nvme.h"

static uint64_t
room_in(const struct spw_log *log)
{
	return log->err || log->damaged ? 0 : log->size - log->end;
}

/* Bytes in files that were never made, and in those that are free. */
static uint64_t
free_room(const struct spw_nvme *t)
{
	uint64_t sum = t->capacity > t->total ? t->capacity - t->total : 0;
	uint32_t i;

	for (i = 0; i < t->nlogs; i++)
		if (t->logs[i] && spw_log_is_free(t->logs[i]))
			sum += t->logs[i]->size;
	return sum;
}

/* The fullest that has room, so that the empty ones stay empty. */
static struct spw_log *
best_with_room(struct spw_nvme *t, uint64_t need, bool started)
{
	struct spw_log *best = NULL;
	uint32_t i;

	for (i = 0; i < t->nlogs; i++)
		if (t->logs[i] && t->logs[i] != t->victim &&
		    room_in(t->logs[i]) >= need &&
		    started == !spw_log_is_free(t->logs[i]) &&
		    (!best || room_in(t->logs[i]) < room_in(best)))
			best = t->logs[i];
	return best;
}

static int
make_room(struct spw_nvme *t, uint64_t need, uint64_t reserve,
	  struct spw_log **ret_log)
{
	uint64_t left = t->capacity > t->total ? t->capacity - t->total : 0;
	uint64_t size = SPW_MAX(t->log_size, need + SPW_LOG_HEAD);

	reserve += SPW_SHARE_FILE;
	left = left > reserve ? left - reserve : 0;
	size = SPW_MIN(size, left - left % SPW_LOG_BLOCK);
	if (size < need + SPW_LOG_HEAD)
		return -ENOSPC;
	return spw_log_create(t, size, ret_log);
}

/* Free files that are too small for it make way. */
static int
trade_room(struct spw_nvme *t, uint64_t need, uint64_t reserve,
	   struct spw_log **ret_log)
{
	uint32_t i;
	int r = -ENOSPC;

	for (i = 0; i < t->nlogs && r == -ENOSPC; i++) {
		if (!t->logs[i] || !spw_log_is_free(t->logs[i]))
			continue;
		r = spw_log_remove(t, t->logs[i]);
		if (r == 0)
			r = make_room(t, need, reserve, ret_log);
	}
	return r;
}

/* The cleaner needs room before it can make some, so puts leave it that. */
int
spw_nvme_room(struct spw_nvme *t, uint64_t need, bool cleaner,
	      struct spw_log **ret_log)
{
	uint64_t reserve = cleaner ? 0 : t->reserve;
	struct spw_log *log = t->current;
	int r = 0;

	if (!log || room_in(log) < need) {
		uint64_t left = free_room(t);

		log = NULL;
		if (left >= reserve + need + SPW_LOG_HEAD) {
			log = best_with_room(t, need, false);
			if (log && left < reserve + log->size)
				log = NULL;
			if (!log)
				r = make_room(t, need, reserve, &log);
			if (!log && r == -ENOSPC)
				r = trade_room(t, need, reserve, &log);
		}
		if (!log)
			log = best_with_room(t, need, true);
		if (!log)
			return r < 0 ? r : -ENOSPC;
		if (t->current)
			spw_log_seal(t, t->current);
		t->current = log;
	}
	*ret_log = log;
	return 0;
}

void
spw_nvme_space(struct spw_tier *tier, struct spw_tier_space *ret_space)
{
	struct spw_nvme *t = (struct spw_nvme *)tier;
	uint64_t left = free_room(t), live = 0;
	uint32_t i;

	left = left > t->reserve ? left - t->reserve : 0;
	if (t->current && !spw_log_is_free(t->current))
		left += room_in(t->current);
	for (i = 0; i < t->nlogs; i++)
		live += t->logs[i] ? t->logs[i]->bytes : 0;
	*ret_space = (struct spw_tier_space) {
		.capacity = t->capacity,
		.used = t->capacity > left ? t->capacity - left : 0,
		.live = live,
	};
}
