/* SPDX-License-Identifier: BSD-3-Clause */
/* unhomed.c -- the files of a segment that are not home, and their bytes */
#include "tools/unhomed.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "planner/chunks.h"
#include "shm/blocks.h"
#include "shm/mask.h"
#include "shm/util.h"

static uint64_t
dirty_bytes(const struct spw_map *map, const struct spw_block_state *s)
{
	struct spw_mask all;

	spw_mask_unhomed(map, s, &all);
	return spw_mask_count(&all);
}

static void
count(const struct spw_map *map, uint64_t *bytes)
{
	uint32_t ready = spw_seg_ready(map, SPW_POOL_BLOCKS);

	for (uint32_t i = 0; i < ready; i++) {
		struct spw_block_state s = spw_block_look(&map->blocks[i]);
		uint32_t file = spw_glance32(&map->blocks[i].file);

		if (atomic_load(&map->owners[SPW_POOL_BLOCKS][i]) &
		    SPW_IN_USE && file < map->counts[SPW_POOL_FILES])
			bytes[file] += dirty_bytes(map, &s);
	}
}

/* What is below memory, up to the end of its file. */
static void
count_below(const struct spw_map *map, uint64_t *bytes)
{
	for (uint32_t i = 0; i < spw_chunks_ready(map); i++) {
		const struct spw_chunk *c = &map->chunks[i];
		uint32_t file = spw_chunk_file(map, i);

		if (file == SPW_NONE)
			continue;
		for (uint32_t bit = 0; bit < SPW_CHUNK_BLOCKS; bit++) {
			uint64_t at = (c->number * SPW_CHUNK_BLOCKS + bit) <<
				      SPW_BLOCK_SHIFT;
			uint64_t size = atomic_load(&map->files[file].size);

			if (spw_chunk_has(c, bit) && at < size)
				bytes[file] += SPW_MIN(size - at,
						       SPW_BLOCK_SIZE);
		}
	}
}

static int
compare(const void *a, const void *b)
{
	return strcmp(((const struct spw_unhomed *)a)->path,
		      ((const struct spw_unhomed *)b)->path);
}

static bool
is_listed(const struct spw_map *map, uint32_t file, uint64_t bytes)
{
	return bytes && atomic_load(&map->owners[SPW_POOL_FILES][file]) &
	       SPW_IN_USE && !(atomic_load(&map->files[file].flags) &
			       SPW_FILE_UNLINKED);
}

int
spw_unhomed_list(const struct spw_map *map, struct spw_unhomed **ret_list,
		 size_t *ret_n)
{
	uint32_t files = map->counts[SPW_POOL_FILES];
	uint64_t *bytes = calloc(files, sizeof(*bytes));
	struct spw_unhomed *list = calloc(files + 1, sizeof(*list));
	size_t n = 0;

	if (!bytes || !list) {
		free(bytes);
		free(list);
		return -ENOMEM;
	}
	count(map, bytes);
	count_below(map, bytes);
	for (uint32_t i = 0; i < files; i++) {
		if (!is_listed(map, i, bytes[i]))
			continue;
		list[n].bytes = bytes[i];
		list[n].err = atomic_load(&map->files[i].err);
		memcpy(list[n].path, map->files[i].path, SPW_FILE_PATH);
		list[n++].path[SPW_FILE_PATH - 1] = '\0';
	}
	free(bytes);
	qsort(list, n, sizeof(*list), compare);
	*ret_list = list;
	*ret_n = n;
	return 0;
}
