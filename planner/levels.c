/* SPDX-License-Identifier: BSD-3-Clause */
/* levels.c -- what the segment tells of the tiers below, for those who look */
#include <stdio.h>

#include "planner/store.h"

enum { NOTE_MS = 100 };

static_assert(SPW_TIERS_MAX <= SPW_SEG_LEVELS, "a level for every tier");

void
spw_level_failed(struct spw_drainer *d, uint32_t number, int err)
{
	struct spw_seg_level *l = &d->map->seg->levels[number];

	atomic_store(&l->err, -err);
	atomic_store(&l->state, SPW_LEVEL_FAILED);
}

void
spw_level_opened(struct spw_drainer *d, uint32_t number,
		 const struct spw_apart *a)
{
	struct spw_seg_level *l = &d->map->seg->levels[number];
	const char *caution = spw_apart_caution(a);

	snprintf(l->caution, sizeof(l->caution), "%s",
		 caution ? caution : "");
	atomic_store(&l->durable, spw_apart_is_durable(a));
	atomic_store(&l->err, 0);
	atomic_store(&l->state, SPW_LEVEL_OPEN);
}

static uint32_t
count_objects(const struct spw_store *s, uint32_t level)
{
	uint32_t n = 0;

	for (uint32_t i = 1; i < s->nheld; i++)
		n += s->held[i].o && s->held[i].tier == level;
	return n;
}

void
spw_levels_note(struct spw_drainer *d)
{
	struct spw_store *s = d->store;
	int64_t now = spw_now_ms();

	if (!s || now - s->noted < NOTE_MS)
		return;
	s->noted = now;
	for (uint32_t i = 0; i < s->nlevels; i++) {
		struct spw_seg_level *l =
			&d->map->seg->levels[s->level[i].number];
		struct spw_tier_space space;

		spw_apart_space(s->level[i].tier, &space);
		atomic_store(&l->state, s->level[i].deaf ? SPW_LEVEL_DEAF
							 : SPW_LEVEL_OPEN);
		atomic_store(&l->capacity, space.capacity);
		atomic_store(&l->used, space.used);
		atomic_store(&l->live, space.live);
		atomic_store(&l->objects, count_objects(s, i));
	}
}
