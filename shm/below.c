/* SPDX-License-Identifier: BSD-3-Clause */
/* below.c -- which blocks are in a tier, and asking for them back */
#include "shm/below.h"

#include <errno.h>

#include "shm/gate.h"

enum { TRIES = 64, WAIT_US = 50, LOOK_MS = 100 };

const struct spw_me *spw_below_self;
int (*spw_below_serve)(const struct spw_key *first, uint32_t count);

uint32_t
spw_below_bucket(const struct spw_map *map, uint32_t file, uint32_t file_gen,
		 uint64_t number)
{
	uint64_t h = number * 0x9e3779b97f4a7c15ull;

	h ^= ((uint64_t)file << 32 | file_gen) * 0xc2b2ae3d27d4eb4full;
	h ^= h >> 29;
	h *= 0xbf58476d1ce4e5b9ull;
	return (uint32_t)(h >> 32) & map->cbucket_mask;
}

static uint32_t
walk(const struct spw_map *map, uint32_t file, uint32_t file_gen,
     uint64_t number)
{
	uint32_t link;

	if (!spw_seg_ready(map, SPW_POOL_CHUNKS))
		return SPW_NONE;
	link = atomic_load_explicit(
		&map->cbuckets[spw_below_bucket(map, file, file_gen, number)],
		memory_order_acquire);
	/* Bounded: a damaged chain may be a ring. */
	for (uint32_t n = map->counts[SPW_POOL_CHUNKS];
	     n && link - 1 < map->counts[SPW_POOL_CHUNKS]; n--) {
		const struct spw_chunk *c = &map->chunks[link - 1];

		if (spw_glance64(&c->number) == number &&
		    spw_glance32(&c->file) == file &&
		    spw_glance32(&c->file_gen) == file_gen)
			return link - 1;
		link = atomic_load_explicit(&c->next, memory_order_acquire);
	}
	return SPW_NONE;
}

/* Chunks are being relinked; or were, by a drainer that died over it. */
static void
wait_for_links(struct spw_map *map, int tries)
{
	if (tries < TRIES) {
		spw_pause();
		return;
	}
	if (spw_gate_need_drainer)
		(void)spw_gate_need_drainer(map);
	spw_sys_sleep_us(WAIT_US);
}

/* The word of bits that a block's is in, as it was at one moment. */
static uint64_t
look(struct spw_map *map, const struct spw_key *key, uint32_t *ret_chunk)
{
	uint32_t bit = key->number % SPW_CHUNK_BLOCKS;
	_Atomic uint32_t *version = &map->seg->chunk_version;

	for (int i = 0;; i++) {
		uint32_t before = atomic_load(version);
		uint32_t chunk = walk(map, key->file, key->file_gen,
				      key->number / SPW_CHUNK_BLOCKS);
		uint64_t bits = chunk == SPW_NONE ? 0 : atomic_load(
			&map->chunks[chunk].below[bit / 64]);

		atomic_thread_fence(memory_order_seq_cst);
		if (!(before & 1) && atomic_load(version) == before) {
			*ret_chunk = chunk;
			return bits;
		}
		wait_for_links(map, i);
	}
}

uint32_t
spw_below_chunk(struct spw_map *map, uint32_t file, uint32_t file_gen,
		uint64_t number)
{
	struct spw_key key = { file, file_gen, number * SPW_CHUNK_BLOCKS };
	uint32_t chunk;

	(void)look(map, &key, &chunk);
	return chunk;
}

bool
spw_below_has(struct spw_map *map, const struct spw_key *key)
{
	uint32_t chunk;

	return look(map, key, &chunk) >> key->number % 64 & 1;
}

bool
spw_below_is_home(struct spw_me *me, const struct spw_key *key,
		  uint32_t spills)
{
	return !spw_below_has(me->map, key) &&
	       spw_block_find(me, key) == SPW_NONE &&
	       atomic_load(&me->map->files[key->file].spills) == spills;
}

void
spw_below_clear(struct spw_map *map, const struct spw_key *key)
{
	uint32_t bit = key->number % SPW_CHUNK_BLOCKS, chunk;

	(void)look(map, key, &chunk);
	if (chunk != SPW_NONE)
		atomic_fetch_and(&map->chunks[chunk].below[bit / 64],
				 ~(1ull << bit % 64));
}

/* Bits of word w of a chunk that stand for blocks before `first`. */
static uint64_t
kept_bits(const struct spw_chunk *c, uint32_t w, uint64_t first)
{
	uint64_t base = c->number * SPW_CHUNK_BLOCKS + w * 64;

	if (first <= base)
		return 0;
	return first - base >= 64 ? UINT64_MAX
				  : (1ull << (first - base)) - 1;
}

void
spw_below_cut(struct spw_map *map, uint32_t file, uint64_t first)
{
	struct spw_file *f = &map->files[file];
	uint32_t ready = spw_seg_ready(map, SPW_POOL_CHUNKS);

	for (uint32_t i = 0; i < ready && atomic_load(&f->nchunks); i++) {
		struct spw_chunk *c = &map->chunks[i];

		if (spw_glance32(&c->file) != file ||
		    spw_glance32(&c->file_gen) != f->gen)
			continue;
		for (uint32_t w = 0; w < SPW_CHUNK_BLOCKS / 64; w++)
			atomic_fetch_and(&c->below[w],
					 kept_bits(c, w, first));
	}
}

static uint32_t
ask(struct spw_me *me, const struct spw_key *first, uint32_t count)
{
	struct spw_want *want = &me->lane->want;
	uint32_t ticket = atomic_load(&want->asked) + 1;

	want->file = first->file;
	want->file_gen = first->file_gen;
	want->first = first->number;
	want->count = count;
	atomic_store(&want->asked, ticket);
	atomic_fetch_add(&me->map->seg->wants, 1);
	spw_gate_hurry(me->map);
	return ticket;
}

/* For what this thread asked last. A drainer may have died over it. */
static int
wait_until_done(struct spw_me *me, uint32_t ticket)
{
	struct spw_want *want = &me->lane->want;
	int64_t looked = spw_now_ms();

	for (;;) {
		uint32_t done = atomic_load(&want->done);
		int r;

		if (done == ticket)
			return atomic_load(&want->err);
		spw_sys_futex_wait(&want->done, done, LOOK_MS);
		if (spw_now_ms() - looked < LOOK_MS)
			continue;
		looked = spw_now_ms();
		r = spw_gate_need_drainer ? spw_gate_need_drainer(me->map)
					  : 0;
		if (r < 0)
			return r;
		atomic_fetch_add(&me->map->seg->wants, 1);
		spw_gate_hurry(me->map);
	}
}

int
spw_below_fetch(struct spw_me *me, const struct spw_key *first,
		uint32_t count)
{
	struct spw_want *want = &me->lane->want;
	uint32_t hinted;
	int r;

	if (me == spw_below_self)
		return spw_below_serve(first, count);
	/* A handler that reads would ask through the same lane. */
	spw_guard_enter();
	hinted = atomic_load(&want->asked);
	if (atomic_load(&want->done) != hinted)
		(void)wait_until_done(me, hinted);
	r = wait_until_done(me, ask(me, first, count));
	spw_guard_leave();
	return r;
}

void
spw_below_hint(struct spw_me *me, const struct spw_key *first,
	       uint32_t count)
{
	struct spw_want *want = &me->lane->want;

	spw_guard_enter();
	if (me != spw_below_self &&
	    atomic_load(&want->done) == atomic_load(&want->asked))
		(void)ask(me, first, count);
	spw_guard_leave();
}
