/* SPDX-License-Identifier: BSD-3-Clause */
/* asks.c -- asking the drainer for everything that is not home now */
#include "tools/asks.h"

#include <errno.h>
#include <stdlib.h>

#include "shm/files.h"
#include "shm/gate.h"
#include "shm/glance.h"
#include "shm/lane.h"
#include "shm/util.h"

static bool
is_wanted(const struct spw_map *map, uint32_t file, bool all)
{
	const struct spw_file *f = &map->files[file];

	return atomic_load(&map->owners[SPW_POOL_FILES][file]) & SPW_IN_USE &&
	       spw_file_is_unsettled(f) &&
	       (all || atomic_load(&f->keep) != SPW_KEEP_YES) &&
	       !(atomic_load(&f->flags) & SPW_FILE_UNLINKED);
}

static struct spw_ask
ask_for(struct spw_map *map, uint32_t file)
{
	struct spw_file *f = &map->files[file];
	struct spw_ask a = {
		.file = file, .gen = spw_glance32(&f->gen),
		.fails = atomic_load(&f->fails),
		.ticket = atomic_fetch_add(&f->asked, 1) + 1,
	};

	atomic_fetch_or(&map->asks[file / 64], 1ull << file % 64);
	return a;
}

/* Who died in a write may not have come to say that there are bytes: asking
 * makes the drainer look for him. */
static void
ask_for_entered(struct spw_map *map, uint32_t lanes, struct spw_asks *asks)
{
	for (uint32_t i = 0; i < lanes; i++) {
		uint32_t file = atomic_load(&map->lanes[i].inside) - 1;

		if (file < spw_seg_ready(map, SPW_POOL_FILES) &&
		    !spw_file_is_unsettled(&map->files[file]))
			asks->ask[asks->n++] = ask_for(map, file);
	}
}

int
spw_asks_make(struct spw_map *map, bool all, struct spw_asks *ret_asks)
{
	uint32_t count = spw_seg_ready(map, SPW_POOL_FILES);
	uint32_t lanes = spw_lane_count(map);
	struct spw_asks asks = {
		calloc(count + lanes + 1, sizeof(*asks.ask)), 0,
	};

	if (!asks.ask)
		return -ENOMEM;
	ask_for_entered(map, lanes, &asks);
	for (uint32_t i = 0; i < count; i++)
		if (is_wanted(map, i, all))
			asks.ask[asks.n++] = ask_for(map, i);
	if (asks.n) {
		atomic_fetch_add(&map->seg->asks, 1);
		spw_gate_hurry(map);
	}
	*ret_asks = asks;
	return 0;
}

void
spw_asks_free(struct spw_asks *asks)
{
	free(asks->ask);
	asks->ask = NULL;
	asks->n = 0;
}

static bool
is_answered(struct spw_map *map, const struct spw_ask *a, int *ret_err)
{
	const struct spw_file *f = &map->files[a->file];

	if (spw_glance32(&f->gen) != a->gen ||
	    !(atomic_load(&map->owners[SPW_POOL_FILES][a->file]) &
	      SPW_IN_USE))
		return true;		/* settled, closed and forgotten */
	if ((int32_t)(atomic_load(&f->done) - a->ticket) < 0)
		return false;
	if (atomic_load(&f->fails) != a->fails)
		*ret_err = atomic_load(&f->err);
	return true;
}

uint32_t
spw_asks_open(struct spw_map *map, struct spw_asks *asks, int *ret_err)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < asks->n; i++)
		if (!is_answered(map, &asks->ask[i], ret_err))
			asks->ask[n++] = asks->ask[i];
	asks->n = n;
	return n;
}
