/* SPDX-License-Identifier: BSD-3-Clause */
/* parts.h -- where each part of a file is right now, as its segment tells */
#ifndef SPW_TOOLS_PARTS_H
#define SPW_TOOLS_PARTS_H

#include "shm/decisions.h"
#include "shm/files.h"
#include "shm/tierspec.h"

struct spw_parts_object {		/* of the file, in a tier */
	uint64_t seq, offset, length, stored, place;
	uint32_t tier;			/* in tiers */
	uint32_t nblocks, npacked;
	uint8_t codec, filter, width;	/* of those that are packed */
	int8_t level;
	bool known;			/* decision is its own */
	struct spw_decision decision;
};

enum spw_part_where {
	SPW_PART_HOME, SPW_PART_MEMORY, SPW_PART_TIER
};

struct spw_part {
	uint64_t from, to;		/* in the file */
	enum spw_part_where where;
	bool cached;			/* memory has a copy of it, too */
	bool dirty;			/* in memory: not anywhere else */
	uint32_t object;		/* in objects, or SPW_NONE */
};

struct spw_parts {
	uint64_t size;			/* of the file, as programs see it */
	struct spw_tierlist tiers;
	struct spw_parts_object *objects;	/* oldest first */
	size_t nobjects, objects_cap;
	struct spw_part *part;		/* without a gap, from 0 to size */
	size_t n, cap;
	bool blind;			/* some tier could not be looked at */
	enum spw_bypass bypass;		/* why the kernel serves it, and knows
					 * its size */
};

/* Looks at a file in a segment, disturbing nobody. -ENOENT: the segment does
 * not know it; -ENOMEM. Free with spw_parts_free. */
int spw_parts_find(struct spw_map *map, const struct spw_file_id *id,
		   struct spw_parts *ret);

/* All of it at home. */
int spw_parts_at_home(uint64_t size, struct spw_parts *ret);

void spw_parts_free(struct spw_parts *p);

/* "nvme:/scratch" of a tier; buf is returned. */
#define SPW_PARTS_TIER 256
const char *spw_parts_tier(const struct spw_tierlist *tiers, uint32_t tier,
			   char buf[SPW_PARTS_TIER]);

/* "zstd=3 shuffle4", "raw"; buf is returned. */
#define SPW_PARTS_PACK 48
const char *spw_parts_pack(uint8_t codec, int level, uint8_t filter,
			   uint8_t width, char buf[SPW_PARTS_PACK]);

#endif
