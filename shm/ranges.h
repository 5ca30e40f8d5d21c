/* SPDX-License-Identifier: BSD-3-Clause */
/* ranges.h -- up to four byte ranges of a block: add, cover, cut, merge */

/*
 * Counts come from the segment: one that is too large is taken for the most
 * there can be.
 */
#ifndef SPW_SHM_RANGES_H
#define SPW_SHM_RANGES_H

#include <stdbool.h>
#include <stdint.h>

#include "shm/layout.h"
#include "shm/util.h"

static inline bool
spw_ranges_cover(const struct spw_ranges *set, uint8_t n, uint32_t from,
		 uint32_t to)
{
	for (uint8_t i = 0; i < SPW_MIN(n, SPW_RANGES); i++)
		if (set->r[i].from <= from && to <= set->r[i].to)
			return true;
	return false;
}

static inline bool
spw_ranges_overlap(const struct spw_ranges *set, uint8_t n, uint32_t from,
		   uint32_t to)
{
	for (uint8_t i = 0; i < SPW_MIN(n, SPW_RANGES); i++)
		if (set->r[i].from < to && from < set->r[i].to)
			return true;
	return false;
}

/* Adds [from, to), joining neighbours. False, and nothing changed, when the
 * result would need more ranges than there are places. */
static inline bool
spw_ranges_add(struct spw_ranges *set, uint8_t *n, uint32_t from, uint32_t to)
{
	uint8_t had = SPW_MIN(*n, SPW_RANGES), m = 0, i = 0;
	struct spw_ranges out;

	if (SPW_LIKELY(had && set->r[had - 1].from <= from &&
		       from <= set->r[had - 1].to)) {
		set->r[had - 1].to = (uint16_t)SPW_MAX(set->r[had - 1].to, to);
		*n = had;
		return true;
	}
	while (i < had && set->r[i].to < from)
		out.r[m++] = set->r[i++];
	for (; i < had && set->r[i].from <= to; i++) {
		from = set->r[i].from < from ? set->r[i].from : from;
		to = set->r[i].to > to ? set->r[i].to : to;
	}
	if (m + 1 + (had - i) > SPW_RANGES)
		return false;
	out.r[m++] = (struct spw_range){ (uint16_t)from, (uint16_t)to };
	while (i < had)
		out.r[m++] = set->r[i++];
	*set = out;
	*n = m;
	return true;
}

/* Adds all of one set to another; false when some found no place. */
static inline bool
spw_ranges_unite(struct spw_ranges *set, uint8_t *n,
		 const struct spw_ranges *more, uint8_t nmore)
{
	bool fits = true;

	for (uint8_t i = 0; i < SPW_MIN(nmore, SPW_RANGES); i++)
		fits &= spw_ranges_add(set, n, more->r[i].from,
				       more->r[i].to);
	return fits;
}

/* Drops everything at and after `at`. */
static inline void
spw_ranges_cut(struct spw_ranges *set, uint8_t *n, uint32_t at)
{
	*n = SPW_MIN(*n, SPW_RANGES);
	while (*n && set->r[*n - 1].from >= at)
		--*n;
	if (*n && set->r[*n - 1].to > at)
		set->r[*n - 1].to = (uint16_t)at;
}

#endif
