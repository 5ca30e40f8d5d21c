/* SPDX-License-Identifier: BSD-3-Clause */
/* chunks.c -- linking and unlinking chunks, under the eyes of readers */
#include "planner/chunks.h"

#include <errno.h>
#include <stdlib.h>

#include "planner/store.h"
#include "shm/failpoint.h"
#include "shm/gate.h"

uint32_t
spw_chunks_ready(const struct spw_map *map)
{
	return spw_seg_ready(map, SPW_POOL_CHUNKS);
}

bool
spw_chunks_are_short(const struct spw_map *map)
{
	uint32_t count = map->counts[SPW_POOL_CHUNKS];

	return spw_pool_free(map, SPW_POOL_CHUNKS) +
	       (count - spw_chunks_ready(map)) < count / 8;
}

uint32_t
spw_chunk_file(const struct spw_map *map, uint32_t chunk)
{
	const struct spw_chunk *c = &map->chunks[chunk];
	uint32_t file = spw_glance32(&c->file);

	return atomic_load(&map->owners[SPW_POOL_CHUNKS][chunk]) &
	       SPW_IN_USE && file < map->counts[SPW_POOL_FILES] &&
	       spw_glance32(&c->file_gen) ==
	       spw_glance32(&map->files[file].gen) ? file : SPW_NONE;
}

bool
spw_chunk_is_used(const struct spw_map *map, uint32_t chunk)
{
	return spw_chunk_file(map, chunk) != SPW_NONE;
}

bool
spw_chunk_is_empty(const struct spw_chunk *c)
{
	uint64_t any = 0;

	for (int w = 0; w < SPW_CHUNK_BLOCKS / 64; w++)
		any |= atomic_load(&c->below[w]);
	return !any;
}

static void
link_chunk(struct spw_map *map, uint32_t chunk)
{
	struct spw_chunk *c = &map->chunks[chunk];
	_Atomic uint32_t *head = &map->cbuckets[
		spw_below_bucket(map, c->file, c->file_gen, c->number)];

	atomic_store(&c->next, atomic_load(head));
	atomic_store_explicit(head, chunk + 1, memory_order_release);
}

/* In use before it is linked: one that is in use and not linked is found by
 * a successor, one that is linked and free would be taken twice. */
uint32_t
spw_chunk_get(struct spw_drainer *d, uint32_t file, uint64_t number)
{
	struct spw_map *map = d->map;
	uint32_t gen = map->files[file].gen;
	uint32_t chunk = spw_below_chunk(map, file, gen, number);
	struct spw_chunk *c;

	if (chunk != SPW_NONE ||
	    !spw_pool_take(&d->me, SPW_POOL_CHUNKS, 1, &chunk))
		return chunk;
	c = &map->chunks[chunk];
	for (int w = 0; w < SPW_CHUNK_BLOCKS / 64; w++)
		atomic_store(&c->below[w], 0);
	c->file = file;
	c->file_gen = gen;
	c->number = number;
	spw_pool_use(map, SPW_POOL_CHUNKS, chunk, 0);
	SPW_FAILPOINT("chunk-used");
	link_chunk(map, chunk);
	atomic_fetch_add(&map->files[file].nchunks, 1);
	SPW_FAILPOINT("chunk-linked");
	return chunk;
}

static void
unlink_chunk(struct spw_drainer *d, uint32_t chunk)
{
	struct spw_map *map = d->map;
	struct spw_chunk *c = &map->chunks[chunk];
	_Atomic uint32_t *at = &map->cbuckets[
		spw_below_bucket(map, c->file, c->file_gen, c->number)];
	uint32_t n = map->counts[SPW_POOL_CHUNKS];

	for (; n && atomic_load(at) - 1 < map->counts[SPW_POOL_CHUNKS]; n--) {
		if (atomic_load(at) == chunk + 1) {
			atomic_store(at, atomic_load(&c->next));
			break;
		}
		at = &map->chunks[atomic_load(at) - 1].next;
	}
	SPW_FAILPOINT("chunk-unlinked");
	c->file = SPW_NONE;
	spw_store_forget_chunk(d, chunk);
	spw_pool_give(&d->me, SPW_POOL_CHUNKS, chunk);
}

void
spw_chunks_drop(struct spw_drainer *d, uint32_t file)
{
	struct spw_map *map = d->map;
	struct spw_file *f = &map->files[file];

	if (!atomic_load(&f->nchunks))
		return;
	atomic_fetch_add(&map->seg->chunk_version, 1);
	for (uint32_t i = 0; i < spw_chunks_ready(map); i++)
		if (spw_chunk_is_used(map, i) && map->chunks[i].file == file)
			unlink_chunk(d, i);
	atomic_store(&f->nchunks, 0);
	atomic_fetch_add(&map->seg->chunk_version, 1);
}

/* Without waiting: somebody may be stopped inside. */
static bool
is_anybody_inside(const struct spw_map *map, uint32_t file)
{
	for (uint32_t i = 0; i < spw_lane_count(map); i++)
		if (atomic_load(&map->lanes[i].inside) == file + 1)
			return true;
	return false;
}

static void
recycle_file(struct spw_drainer *d, uint32_t file)
{
	struct spw_map *map = d->map;
	struct spw_file *f = &map->files[file];
	uint32_t gone = 0;

	spw_guard_enter();
	if (!spw_lock_try(&d->me, SPW_LOCK_GATE, &f->gate)) {
		spw_guard_leave();
		return;
	}
	atomic_thread_fence(memory_order_seq_cst);
	if (!is_anybody_inside(map, file)) {
		atomic_fetch_add(&map->seg->chunk_version, 1);
		for (uint32_t i = 0; i < spw_chunks_ready(map); i++)
			if (spw_chunk_is_used(map, i) &&
			    map->chunks[i].file == file &&
			    spw_chunk_is_empty(&map->chunks[i]) &&
			    !spw_store_is_busy(d, i)) {
				unlink_chunk(d, i);
				gone++;
			}
		atomic_fetch_sub(&f->nchunks, gone);
		atomic_fetch_add(&map->seg->chunk_version, 1);
	}
	spw_unlock(&f->gate);
	spw_guard_leave();
}

void
spw_chunks_recycle(struct spw_drainer *d)
{
	struct spw_map *map = d->map;
	uint32_t ready = spw_seg_ready(map, SPW_POOL_FILES);

	for (uint32_t i = 0; i < ready; i++)
		if (atomic_load(&map->owners[SPW_POOL_FILES][i]) &
		    SPW_IN_USE && atomic_load(&map->files[i].nchunks))
			recycle_file(d, i);
}

/* A file's count is never less than it should be: where it is 0 nobody looks
 * at the links, nor at their version. */
static void
recount(struct spw_drainer *d, uint32_t *count)
{
	struct spw_map *map = d->map;
	uint32_t ready = spw_seg_ready(map, SPW_POOL_FILES);

	for (uint32_t i = 0; i < spw_chunks_ready(map); i++)
		if (spw_chunk_is_used(map, i))
			count[map->chunks[i].file]++;
	for (uint32_t i = 0; i < ready; i++)
		if (atomic_load(&map->files[i].nchunks) != count[i])
			atomic_store(&map->files[i].nchunks, count[i]);
}

int
spw_chunks_relink(struct spw_drainer *d)
{
	struct spw_map *map = d->map;
	uint32_t *count = calloc(map->counts[SPW_POOL_FILES], sizeof(*count));
	uint32_t heads = spw_chunks_ready(map) ? map->cbucket_mask + 1 : 0;

	if (!count)
		return -ENOMEM;
	atomic_fetch_or(&map->seg->chunk_version, 1);
	recount(d, count);
	free(count);
	for (uint32_t i = 0; i < heads; i++)
		atomic_store(&map->cbuckets[i], 0);
	for (uint32_t i = 0; i < spw_chunks_ready(map); i++) {
		SPW_FAILPOINT("chunk-relink");
		if (spw_chunk_is_used(map, i))
			link_chunk(map, i);
		else if (atomic_load(&map->owners[SPW_POOL_CHUNKS][i]) &
			 SPW_IN_USE)
			spw_pool_give(&d->me, SPW_POOL_CHUNKS, i);
	}
	atomic_fetch_add(&map->seg->chunk_version, 1);
	return 0;
}
