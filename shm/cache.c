/* SPDX-License-Identifier: BSD-3-Clause */
/* cache.c -- a write is a memcpy and a few stores */

/*
 * The protocol is told in layout.h. Spare slots are popped for a batch in one
 * guarded step, so a signal handler that writes in between takes others.
 */
#include "shm/cache.h"

#include <errno.h>

#include "shm/below.h"
#include "shm/blocks.h"
#include "shm/failpoint.h"
#include "shm/gate.h"
#include "shm/mask.h"
#include "shm/page.h"
#include "shm/ranges.h"
#include "shm/stamp.h"
#include "shm/stream.h"
#include "shm/used.h"

enum {
	TRIES = 16, LOOK_NS = 1000000000,
	LINE = 64,			/* bytes the processor fetches at once */
	NEXT_WRITE = 2048,		/* bytes called up ahead, */
	AHEAD_WRITE = 2048,		/* and how far */
};

struct piece {
	uint64_t number;
	uint32_t from, to;		/* within the block */
	uint32_t slot;			/* ours, holds the bytes */
};

struct batch {
	struct piece piece[SPW_BATCH];
	uint32_t n;
	int64_t time;			/* when it was published */
};

static bool
is_whole(const struct piece *p)
{
	return p->to - p->from == SPW_BLOCK_SIZE;
}

static uint64_t
end_of(const struct piece *p)		/* in the file */
{
	return (p->number << SPW_BLOCK_SHIFT) + p->to;
}

static void
cut_into_pieces(struct batch *batch, uint64_t n, uint64_t off)
{
	batch->n = 0;
	batch->time = 0;
	while (n && batch->n < SPW_BATCH) {
		struct piece *p = &batch->piece[batch->n++];
		uint64_t room;

		p->number = off >> SPW_BLOCK_SHIFT;
		p->from = off & (SPW_BLOCK_SIZE - 1);
		room = SPW_BLOCK_SIZE - p->from;
		p->to = p->from + (uint32_t)SPW_MIN(n, room);
		p->slot = SPW_NONE;
		off += p->to - p->from;
		n -= p->to - p->from;
	}
}

/* A piece at the start of a block often makes the block, and its slot stays
 * there. Another than the one that was written last is taken for it: that one
 * is in the processor's cache, for the pieces that follow. */
static uint32_t
take_slot(struct spw_lane *lane, const struct piece *p)
{
	uint32_t top = --lane->nslots, slot = lane->slots[top];

	if (!p->from && !is_whole(p) && top) {
		lane->slots[top] = lane->slots[top - 1];
		lane->slots[top - 1] = slot;
		slot = lane->slots[top];
	}
	return slot;
}

/* Of several pieces some are there when a process is killed between them. So
 * nothing that takes time comes between them, and above all nothing where the
 * kernel ends it: no call, no fault. */
static void
make_ready(struct spw_me *me, uint32_t file, const struct batch *batch)
{
	const struct spw_lane *lane = me->lane;

	for (uint32_t i = 0; i < batch->n && batch->n > 1; i++) {
		struct spw_key key = {
			file, me->map->files[file].gen,
			batch->piece[i].number,
		};

		spw_block_make_ready(me->map, &key,
				     lane->blocks[lane->nblocks - 1 - i]);
	}
}

/* Takes slots for as many pieces as there is room for. */
static void
take_slots(struct spw_me *me, uint32_t file, struct batch *batch)
{
	struct spw_lane *lane = me->lane;

	spw_guard_enter();
	if (lane->nslots < batch->n + 1)
		spw_lane_stock_slots(me, batch->n + 1);
	if (lane->nblocks < batch->n)
		spw_lane_stock_blocks(me, batch->n);
	batch->n = SPW_MIN(batch->n, SPW_MIN(lane->nblocks, lane->nslots));
	for (uint32_t i = 0; i < batch->n; i++)
		batch->piece[i].slot = take_slot(lane, &batch->piece[i]);
	make_ready(me, file, batch);
	spw_guard_leave();
}

/* Whether some will come free, if one waits. */
static bool
has_any(const struct spw_map *map)
{
	return spw_seg_ready(map, SPW_POOL_SLOTS) &&
	       spw_seg_ready(map, SPW_POOL_BLOCKS);
}

/* What publishing will need is on its way while we copy. */
static void
call_up(struct spw_me *me, uint32_t file, const struct batch *batch)
{
	const struct spw_lane *lane = me->lane;
	struct spw_key key = {
		file, me->map->files[file].gen, batch->piece[0].number,
	};

	spw_block_call_up(me->map, &key);
	for (uint32_t i = 0; i < batch->n && i < lane->nblocks; i++)
		spw_block_call_up_spare(
			me->map, lane->blocks[lane->nblocks - 1 - i]);
}

static __attribute__((noinline)) void
gather(struct spw_source *src, uint8_t *to, uint64_t n)
{
	for (;;) {
		uint64_t len = SPW_MIN(n, src->left);

		if (len)
			memcpy(to, src->at, len);
		spw_source_skip(src, len);
		to += len;
		n -= len;
		if (!n)
			return;
		spw_source_turn(src);
	}
}

static void
copy_in(struct spw_me *me, const struct batch *batch, struct spw_source src)
{
	bool streamed = false;

	for (uint32_t i = 0; i < batch->n; i++) {
		const struct piece *p = &batch->piece[i];
		uint8_t *to = spw_slot(me->map, p->slot) + p->from;
		uint32_t len = p->to - p->from;

		if (SPW_UNLIKELY(len > src.left)) {
			gather(&src, to, len);
			continue;
		}
		if (is_whole(p)) {
			spw_stream_block(to, src.at);
			streamed = true;
		} else {
			memcpy(to, src.at, len);
		}
		src.at += len;
		src.left -= len;
	}
	if (streamed)
		spw_stream_end();
}

static void
put_whole(struct spw_me *me, uint32_t idx, struct piece *p)
{
	const struct spw_block_state *was = &me->map->blocks[idx].state;
	struct spw_change change = {
		.after = *was, .scratch = SPW_NONE, .end = end_of(p),
	};

	change.after.slot = p->slot;
	if (!was->nmoving)
		change.after.mask = SPW_NONE;
	change.after.safe = SPW_UNSAFE;
	change.after.ndirty = change.after.npresent = 1;
	change.after.dirty.r[0] = (struct spw_range){ 0, SPW_BLOCK_SIZE };
	change.after.present.r[0] = change.after.dirty.r[0];
	spw_block_commit(me, idx, &change);
	p->slot = SPW_NONE;
}

/* From the first to the last of them: a mask tells which bytes count. */
static void
widen(struct spw_block_state *s, uint32_t from, uint32_t to)
{
	const struct spw_range *last = &s->dirty.r[s->ndirty - 1];

	s->dirty.r[0] = (struct spw_range){
		(uint16_t)SPW_MIN(s->dirty.r[0].from, from),
		(uint16_t)SPW_MAX(last->to, to),
	};
	s->ndirty = 1;
}

/* False: there are too many pieces. */
static bool
add_piece(struct spw_map *map, struct spw_block_state *s,
	  const struct piece *p)
{
	struct spw_mask *mask = s->nmoving ? NULL : spw_mask_at(map, s->mask);

	if (!spw_ranges_add(&s->dirty, &s->ndirty, p->from, p->to)) {
		if (!mask)
			return false;
		widen(s, p->from, p->to);
	}
	if (!spw_ranges_add(&s->present, &s->npresent, p->from, p->to)) {
		if (s->mask != SPW_NONE)
			return false;
		/* Clean bytes can be had from home again. */
		s->present = s->dirty;
		s->npresent = s->ndirty;
		if (!spw_ranges_unite(&s->present, &s->npresent, &s->moving,
				      s->nmoving))
			return false;
	}
	if (mask)
		spw_mask_set(mask, p->from, p->to);
	return true;
}

/* False when the block has too many pieces already. */
static bool
put_piece(struct spw_me *me, uint32_t idx, struct piece *p)
{
	const struct spw_block_state *was = &me->map->blocks[idx].state;
	struct spw_change change = {
		.after = *was, .scratch = p->slot,
		.from = (uint16_t)p->from, .to = (uint16_t)p->to,
		.end = end_of(p),
	};
	struct spw_block_state *s = &change.after;

	s->safe = SPW_UNSAFE;
	if (!add_piece(me->map, s, p))
		return false;
	if (s->slot >= me->map->counts[SPW_POOL_SLOTS]) {
		s->slot = p->slot;	/* where it lies already */
		change.scratch = p->slot = SPW_NONE;
	}
	spw_block_commit(me, idx, &change);
	return true;
}

/* The block is below and a copy of it here: from now on this one counts, all
 * of it up to the end of the file. False: there is no copy. */
static bool
put_piece_on_copy(struct spw_me *me, uint32_t idx, struct piece *p)
{
	const struct spw_block *b = &me->map->blocks[idx];
	struct spw_change change = {
		.after = b->state, .scratch = p->slot,
		.from = (uint16_t)p->from, .to = (uint16_t)p->to,
		.end = end_of(p),
	};
	uint64_t base = p->number << SPW_BLOCK_SHIFT;
	uint64_t size = SPW_MAX(atomic_load(&me->map->files[b->file].size),
				change.end);

	if (!spw_ranges_cover(&b->state.present, b->state.npresent, 0,
			      SPW_BLOCK_SIZE))
		return false;
	change.after.safe = SPW_UNSAFE;
	change.after.ndirty = 1;
	change.after.dirty.r[0] = (struct spw_range){
		0, (uint16_t)SPW_MIN(size - base, SPW_BLOCK_SIZE),
	};
	spw_block_commit(me, idx, &change);
	return true;
}

/* The block is locked. 0; -E2BIG; -EREMOTE: it has to be fetched first. */
static int
put(struct spw_me *me, uint32_t idx, struct piece *p,
    const struct spw_key *key)
{
	bool below = spw_below_any(&me->map->files[key->file]) &&
		     spw_below_has(me->map, key);

	if (below && spw_block_is_dirty(&me->map->blocks[idx])) {
		spw_below_clear(me->map, key);	/* left by one who died */
		below = false;
	}
	if (is_whole(p))
		put_whole(me, idx, p);
	else if (below && !put_piece_on_copy(me, idx, p))
		return -EREMOTE;
	else if (!below && !put_piece(me, idx, p))
		return -E2BIG;
	SPW_FAILPOINT("block-below");
	if (below)
		spw_below_clear(me->map, key);
	return 0;
}

/* The one that take_slot will give to the next block, once p's own is back,
 * unless that stayed in this block. */
static uint32_t
next_slot(const struct spw_lane *lane, const struct piece *p)
{
	uint32_t below = p->slot == SPW_NONE ? 2 : 1;

	return lane->nslots >= below ? lane->slots[lane->nslots - below]
				     : SPW_NONE;
}

/* Small pieces often come one after another: the places of those to come, a
 * little ahead, since memory takes longer than the next call. */
static void
call_up_next(struct spw_me *me, const struct spw_block *b,
	     const struct piece *p)
{
	uint32_t slot = b->state.slot, from = p->to + AHEAD_WRITE;
	const uint8_t *at, *end;

	if (from >= SPW_BLOCK_SIZE) {
		slot = next_slot(me->lane, p);
		from -= SPW_BLOCK_SIZE;
	}
	if (slot >= me->map->counts[SPW_POOL_SLOTS])
		return;
	at = spw_slot(me->map, slot) + from;
	end = at + SPW_MIN(SPW_MIN(p->to - p->from, NEXT_WRITE),
			   SPW_BLOCK_SIZE - from);
	for (; at < end; at += LINE)
		spw_call_up(at);
}

/* 0; -E2BIG: too many pieces in that block; -ENOBUFS: no block to be had;
 * -ENOMEM: no place for it in the index; -EREMOTE: as above. */
static int
publish_one(struct spw_me *me, uint32_t file, struct piece *p)
{
	struct spw_map *map = me->map;
	struct spw_key key = { file, map->files[file].gen, p->number };
	uint32_t idx = spw_block_lock(me, &key);
	struct spw_block *b;
	int r;

	if (idx == SPW_NONE)
		return me->lane->nblocks ? -ENOMEM : -ENOBUFS;
	b = &map->blocks[idx];
	me->lane->count.dirtied += b->state.ndirty == 0;
	r = put(me, idx, p, &key);
	spw_used_note(map, b);
	if (!is_whole(p))
		call_up_next(me, b, p);
	spw_unlock(&b->lock);
	return r;
}

static void
keep_slots(struct spw_me *me, const struct batch *batch)
{
	/* The one that was written last lies on top: the next piece finds it
	 * in the processor's cache. */
	for (uint32_t i = 0; i < batch->n; i++)
		if (batch->piece[i].slot != SPW_NONE)
			spw_lane_spare_slot(me, batch->piece[i].slot);
}

/* Whether it would move the end under somebody who appends there. */
static bool
is_in_the_way(const struct spw_file *f, const struct spw_target *t,
	      const struct batch *batch)
{
	return atomic_load_explicit(&f->flags, memory_order_relaxed) &
	       SPW_FILE_APPENDED && !t->end_locked &&
	       end_of(&batch->piece[batch->n - 1]) > atomic_load(&f->size);
}

/* Publishes from piece *i on; bytes published are added to *ret_done. */
static int
publish(struct spw_me *me, const struct spw_target *t, struct batch *batch,
	uint64_t *ret_done)
{
	uint32_t file = t->file;
	struct spw_file *f = &me->map->files[file];
	uint64_t done = 0;
	int r = 0;

	spw_gate_pass(me, file);
	if (atomic_load_explicit(&f->bypass, memory_order_relaxed))
		r = -ESTALE;		/* left the cache while we copied */
	else if (SPW_UNLIKELY(is_in_the_way(f, t, batch)))
		r = -EAGAIN;
	for (uint32_t i = 0; i < batch->n && r == 0; i++) {
		r = publish_one(me, file, &batch->piece[i]);
		if (r == 0)
			done += batch->piece[i].to - batch->piece[i].from;
	}
	if (done) {
		SPW_FAILPOINT("write-flags");
		batch->time = spw_stamp(me->map, f);
		spw_stamp_put(f, batch->time);
		spw_file_flag(f, SPW_FILE_UNSETTLED | SPW_FILE_DIRTIED |
			      SPW_FILE_TIMES);
	}
	keep_slots(me, batch);
	if (SPW_LIKELY(me->lane->nblocks))
		spw_block_call_up_spare(me->map,
				me->lane->blocks[me->lane->nblocks - 1]);
	spw_lane_leave(me);
	*ret_done = done;
	return r;
}

static void
fill_gaps(struct spw_map *map, struct spw_block_state *s,
	  const uint8_t *below)
{
	uint32_t at = 0;

	for (uint8_t i = 0; i <= s->npresent; i++) {
		uint32_t to = i < s->npresent ? s->present.r[i].from
			      : SPW_BLOCK_SIZE;

		memcpy(spw_slot(map, s->slot) + at, below + at, to - at);
		at = i < s->npresent ? s->present.r[i].to : at;
	}
	s->present.r[0] = (struct spw_range){ 0, SPW_BLOCK_SIZE };
	s->npresent = 1;
}

/* False: no slot for it. */
static bool
give_mask(struct spw_me *me, struct spw_block_state *s)
{
	struct spw_mask *mask;

	if (s->mask == SPW_NONE) {
		if (!me->lane->nslots)
			return false;
		s->mask = me->lane->slots[--me->lane->nslots];
		mask = spw_mask_at(me->map, s->mask);
		memset(mask, 0, sizeof(*mask));
		spw_mask_add(mask, &s->dirty, s->ndirty);
	}
	widen(s, s->dirty.r[0].from, s->dirty.r[0].to);
	return true;
}

static bool
stock_slot(struct spw_me *me)
{
	bool any;

	spw_guard_enter();
	any = me->lane->nslots || spw_lane_stock_slots(me, 1);
	spw_guard_leave();
	return any;
}

struct whole {
	struct spw_me *me;
	const struct spw_target *t;
	struct spw_key key;
	uint32_t idx;
};

/* Under the block's lock, if nothing moved since it was read; else it is tried
 * again. */
static void
fill_and_commit(const struct whole *w, const uint8_t *below)
{
	struct spw_block *b = &w->me->map->blocks[w->idx];
	struct spw_change change = { .scratch = SPW_NONE };

	if (!b->state.ndirty || b->state.nmoving ||
	    !spw_block_is_sound(w->me->map, &b->state))
		return;
	change.after = b->state;
	fill_gaps(w->me->map, &change.after, below);
	if (give_mask(w->me, &change.after))
		spw_block_commit(w->me, w->idx, &change);
}

static int
read_and_fill(void *arg, uint8_t *below)
{
	const struct whole *w = arg;
	struct spw_me *me = w->me;
	struct spw_block *b = &me->map->blocks[w->idx];
	uint64_t before = spw_lock_word(&b->lock);
	int64_t got = spw_sys_pread(w->t->fd, below, SPW_BLOCK_SIZE,
				    w->key.number << SPW_BLOCK_SHIFT);

	if (got < 0)
		return (int)got;
	memset(below + got, 0, SPW_BLOCK_SIZE - (size_t)got);
	spw_gate_pass(me, w->t->file);
	if (spw_block_lock_index(me, w->idx, &w->key)) {
		if (spw_lock_word(&b->lock) >> 32 == before >> 32)
			fill_and_commit(w, below);
		spw_unlock(&b->lock);
	}
	spw_lane_leave(me);
	return 0;
}

/* A block with too many pieces is made whole by reading it from home. From
 * then on a mask says which bytes were written: only they go home, where
 * other nodes may have written the others meanwhile. */
static __attribute__((noinline)) int
make_whole(struct spw_me *me, const struct spw_target *t, uint64_t number)
{
	struct whole w = {
		me, t, { t->file, me->map->files[t->file].gen, number },
		SPW_NONE,
	};

	w.idx = spw_block_find(me, &w.key);
	if (w.idx == SPW_NONE)
		return 0;
	return stock_slot(me) ? spw_page_do(read_and_fill, &w) : -ENOBUFS;
}

static int
make_place(struct spw_me *me, const struct spw_target *t, uint64_t number,
	   int tries)
{
	/* A block that is under way to home cannot be made whole; wait. */
	if (t->readable && tries < TRIES)
		return make_whole(me, t, number);
	return spw_gate_settle(me, t->file);
}

static int
fetch(struct spw_me *me, const struct spw_target *t, uint64_t number,
      uint32_t count)
{
	struct spw_key key = { t->file, me->map->files[t->file].gen, number };

	return spw_below_fetch(me, &key, count);
}

/* A drainer that was killed while it worked looks as if it did still. So
 * from time to time we see whether there is one. */
static void
look_for_drainer(struct spw_me *me, int64_t now)
{
	if (SPW_LIKELY(now - me->looked < LOOK_NS && now >= me->looked))
		return;
	me->looked = now;
	if (spw_gate_need_drainer)
		(void)spw_gate_need_drainer(me->map);
}

int64_t
spw_cache_write(struct spw_me *me, const struct spw_target *t,
		struct spw_source *src, uint64_t n, uint64_t off)
{
	int64_t time = me->looked;
	uint64_t left = n;
	int tries = 0, r = 0;

	while (left && r == 0) {
		struct batch batch;
		uint64_t done;

		cut_into_pieces(&batch, left, off);
		take_slots(me, t->file, &batch);
		if (!batch.n) {
			r = has_any(me->map) ? -ENOBUFS : -ENOMEM;
			break;
		}
		if (!batch.piece[0].from)
			call_up(me, t->file, &batch);
		copy_in(me, &batch, *src);
		r = publish(me, t, &batch, &done);
		spw_source_skip(src, done);
		off += done;
		left -= done;
		if (done)
			time = batch.time;
		if (r == -E2BIG)
			r = make_place(me, t, off >> SPW_BLOCK_SHIFT,
				       tries++);
		if (r == -EREMOTE)
			r = fetch(me, t, off >> SPW_BLOCK_SHIFT, 1);
	}
	if (left == n && n)
		return r;
	me->lane->count.writes += left == 0;	/* or when the rest is in */
	spw_used_moved(me->map, me->lane->count.bytes_written,
		       me->lane->count.bytes_written + n - left);
	me->lane->count.bytes_written += n - left;
	spw_gate_wake(me->map);
	look_for_drainer(me, time);
	return (int64_t)(n - left);
}
