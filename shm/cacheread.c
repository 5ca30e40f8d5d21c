/* SPDX-License-Identifier: BSD-3-Clause */
/* cacheread.c -- a read is a memcpy and a look whether it counts */
#include "shm/cache.h"

#include <errno.h>

#include "shm/below.h"
#include "shm/blocks.h"
#include "shm/guard.h"
#include "shm/page.h"
#include "shm/ranges.h"
#include "shm/stream.h"
#include "shm/used.h"

enum {
	TRIES = 16,
	AHEAD = 4,			/* chunks asked for before they
					 * are read */
};

/* What is rare stands alone: the threads of the program may have little stack
 * for what is not. */
#define ALONE __attribute__((noinline))

enum found { FOUND, MISSING, MIXED };

struct part {				/* of a block, wanted by somebody */
	struct spw_me *me;
	const struct spw_key *key;
	uint32_t idx, from, to;
	uint8_t *buf;
};

static int
copy_twice(void *arg, uint8_t *copy)
{
	const struct part *p = arg;
	struct spw_map *map = p->me->map;
	struct spw_block *b = &map->blocks[p->idx];
	enum found found = MISSING;

	spw_guard_enter();
	if (spw_block_lock_index(p->me, p->idx, p->key)) {
		found = MIXED;
		if (b->state.slot < map->counts[SPW_POOL_SLOTS] &&
		    spw_ranges_cover(&b->state.present, b->state.npresent,
				     p->from, p->to)) {
			memcpy(copy, spw_slot(map, b->state.slot) + p->from,
			       p->to - p->from);
			found = FOUND;
		}
		spw_unlock(&b->lock);
	}
	spw_guard_leave();
	if (found == FOUND)
		memcpy(p->buf, copy, p->to - p->from);
	return found;
}

static ALONE enum found
copy_locked(struct spw_me *me, uint32_t idx, const struct spw_key *key,
	    uint32_t from, uint32_t to, uint8_t *buf)
{
	struct part part = { me, key, idx, from, to, buf };

	return (enum found)spw_page_do(copy_twice, &part);
}

static bool
seems_to_hold(const struct spw_block *b, uint32_t from, uint32_t to)
{
	struct spw_ranges present;

	spw_glance_copy(&present, &b->state.present, sizeof(present));
	return spw_ranges_cover(&present, spw_glance8(&b->state.npresent),
				from, to);
}

/* Copies without a lock and looks afterwards whether the block stayed. */
static enum found
copy_out(struct spw_me *me, uint32_t idx, const struct spw_key *key,
	 uint32_t from, uint32_t to, uint8_t *buf)
{
	struct spw_block *b = &me->map->blocks[idx];

	for (int i = 0; i < TRIES; i++) {
		uint64_t before = spw_lock_word(&b->lock);
		uint32_t slot = spw_glance32(&b->state.slot);
		bool covered = seems_to_hold(b, from, to);

		if ((uint32_t)before) {
			spw_pause();
			continue;
		}
		if (!spw_block_is(b, key))
			return MISSING;
		if (covered && slot < me->map->counts[SPW_POOL_SLOTS])
			spw_stream_out(buf, spw_slot(me->map, slot) + from,
				       to - from);
		atomic_thread_fence(memory_order_acquire);
		if (spw_lock_word(&b->lock) != before)
			continue;
		spw_used_note(me->map, b);
		return covered ? FOUND : MIXED;
	}
	return copy_locked(me, idx, key, from, to, buf);
}

static int
read_home(const struct spw_target *t, uint8_t *buf, uint64_t n, uint64_t off)
{
	while (n) {
		int64_t got = spw_sys_pread(t->fd, buf, n, off);

		if (got < 0)
			return (int)got;
		if (got == 0)
			break;		/* a hole beyond home's end */
		buf += got;
		off += (uint64_t)got;
		n -= (uint64_t)got;
	}
	memset(buf, 0, n);
	return 0;
}

/* Home first, then what the segment has on top, if it held still. -EREMOTE:
 * the block is below. */
static ALONE int
read_mixed(struct spw_me *me, const struct spw_target *t, uint32_t idx,
	   const struct spw_key *key, uint32_t from, uint32_t to, uint8_t *buf)
{
	struct spw_block *b = &me->map->blocks[idx];
	uint64_t at = (key->number << SPW_BLOCK_SHIFT) + from;
	struct spw_block_state s;
	uint64_t before;

	for (;;) {
		int r;

		before = spw_lock_word(&b->lock);
		if ((uint32_t)before) {
			spw_lock_slow(me, &b->lock);
			continue;
		}
		if (spw_below_any(&me->map->files[key->file]) &&
		    spw_below_has(me->map, key))
			return -EREMOTE;
		r = read_home(t, buf, to - from, at);
		if (r < 0)
			return r;
		if (!spw_block_is(b, key))
			return -EAGAIN;
		s = spw_block_look(b);
		for (uint8_t i = 0; i < SPW_MIN(s.npresent, SPW_RANGES); i++) {
			uint32_t a = SPW_MAX(s.present.r[i].from, from);
			uint32_t z = SPW_MIN(s.present.r[i].to, to);

			if (a < z && s.slot < me->map->counts[SPW_POOL_SLOTS])
				spw_glance_copy(buf + (a - from),
						spw_slot(me->map, s.slot) + a,
						z - a);
		}
		atomic_thread_fence(memory_order_acquire);
		if (spw_lock_word(&b->lock) == before)
			return 0;
	}
}

/* Who read a block to its end will want the next: its descriptor is fetched.
 * Its bytes are not: they mostly lie behind these, which the processor sees by
 * itself, unless it is told of some of them. */
static void
meet_next(struct spw_me *me, const struct spw_key *key)
{
	struct spw_key next = { key->file, key->file_gen, key->number + 1 };

	(void)spw_block_glance(me->map, &next);
}

/* One block's worth, of `left` bytes that are to be read; MISSING leaves it
 * to a larger read from home. */
static enum found
read_block(struct spw_me *me, const struct spw_target *t, uint64_t off,
	   uint32_t n, uint64_t left, uint8_t *buf, int *ret_err)
{
	struct spw_file *f = &me->map->files[t->file];
	uint32_t blocks = (uint32_t)SPW_MIN(
		(left + SPW_BLOCK_SIZE - 1) >> SPW_BLOCK_SHIFT,
		SPW_CHUNK_BLOCKS);
	struct spw_key key = {
		t->file, me->map->files[t->file].gen, off >> SPW_BLOCK_SHIFT,
	};
	uint32_t from = off & (SPW_BLOCK_SIZE - 1);
	enum found found;

	for (;;) {
		uint32_t spills = atomic_load(&f->spills);
		uint32_t idx = spw_block_find(me, &key);

		*ret_err = 0;
		if (idx == SPW_NONE && (!spw_below_any(f) ||
					spw_below_is_home(me, &key, spills)))
			return MISSING;
		found = idx == SPW_NONE ? MISSING
			: copy_out(me, idx, &key, from, from + n, buf);
		if (found == FOUND) {
			if (from + n == SPW_BLOCK_SIZE)
				meet_next(me, &key);
			return FOUND;
		}
		if (found == MIXED)
			*ret_err = read_mixed(me, t, idx, &key, from,
					      from + n, buf);
		else if (spw_below_any(f) && spw_below_has(me->map, &key))
			*ret_err = -EREMOTE;
		else
			continue;	/* moved away; look again */
		if (*ret_err == -EREMOTE)
			*ret_err = spw_below_fetch(me, &key, blocks);
		else if (*ret_err != -EAGAIN)
			return FOUND;
		if (*ret_err < 0 && *ret_err != -EAGAIN)
			return FOUND;
	}
}

/* At the start of a chunk of a file that is partly below: the chunks after it
 * will be wanted next. */
static void
look_ahead(struct spw_me *me, const struct spw_target *t, uint64_t off)
{
	struct spw_file *f = &me->map->files[t->file];
	struct spw_key key = {
		t->file, f->gen, (off >> SPW_BLOCK_SHIFT) + SPW_CHUNK_BLOCKS,
	};

	if (!spw_below_any(f) ||
	    off & ((uint64_t)SPW_CHUNK_BLOCKS * SPW_BLOCK_SIZE - 1))
		return;
	spw_below_hint(me, &key, AHEAD * SPW_CHUNK_BLOCKS);
}

int64_t
spw_cache_read(struct spw_me *me, const struct spw_target *t, void *buf,
	       uint64_t n, uint64_t off)
{
	struct spw_file *f = &me->map->files[t->file];
	uint64_t size = atomic_load_explicit(&f->size, memory_order_acquire);
	uint64_t done = 0, missed = 0;	/* missed: bytes before done to read */
	uint64_t served = 0;
	uint8_t *to = buf;
	int r = 0;

	if (off >= size)
		return spw_cache_is_alien(buf, n) ? -EFAULT : 0;
	n = SPW_MIN(n, size - off);
	if (spw_cache_bad_pointer(buf, n))
		return -EFAULT;
	if (!atomic_load_explicit(&f->nblocks, memory_order_acquire) &&
	    !spw_below_any(f))
		missed = done = n;
	while (done < n && r == 0) {
		uint64_t at = off + done;
		uint32_t rest = SPW_BLOCK_SIZE -
				(uint32_t)(at & (SPW_BLOCK_SIZE - 1));
		uint32_t len = (uint32_t)SPW_MIN(n - done, rest);

		look_ahead(me, t, at);
		if (read_block(me, t, at, len, n - done, to + done, &r) ==
		    MISSING) {
			missed += len;
			done += len;
			continue;
		}
		if (missed && r == 0)
			r = read_home(t, to + done - missed, missed,
				      at - missed);
		missed = 0;
		served += len;
		done += len;
	}
	if (missed && r == 0)
		r = read_home(t, to + done - missed, missed,
			      off + done - missed);
	if (r < 0)
		return r;
	me->lane->count.reads += served != 0;
	spw_used_moved(me->map, me->lane->count.bytes_read,
		       me->lane->count.bytes_read + served);
	me->lane->count.bytes_read += served;
	return (int64_t)n;
}
