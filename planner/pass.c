/* SPDX-License-Identifier: BSD-3-Clause */
/* pass.c -- one pass over the dirty map: what leaves, and what has arrived */

/*
 * Candidates are read without locks and sorted by file and number. Each is
 * then locked for a moment: its dirty ranges become moving, the slot stays
 * where it is and is written from in place. Writers go on meanwhile; what
 * they write is dirty again. When the write returned the moving ranges are
 * forgotten; when it failed they are dirty again. file.inflight counts the
 * blocks on their way, for those who close a gate and hold us off.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "planner/aside.h"
#include "planner/chunks.h"
#include "planner/keep.h"
#include "planner/store.h"
#include "shm/failpoint.h"
#include "shm/files.h"
#include "shm/gate.h"
#include "shm/mask.h"
#include "shm/pool.h"
#include "shm/ranges.h"
#include "shm/stamp.h"
#include "shm/util.h"

enum {
	RETRY_MS = 1000, PATIENCE_MS = 1,
	SPARED_MOST = 20,		/* times the delay */
};

static uint32_t
words(const struct spw_map *map)
{
	return spw_pool_words(map, SPW_POOL_BLOCKS);
}

bool
spw_any_dirty(const struct spw_map *map)
{
	for (uint32_t w = 0; w < words(map); w++)
		if (atomic_load_explicit(&map->dirty[w], memory_order_relaxed))
			return true;
	return false;
}

uint32_t
spw_count_dirty(const struct spw_map *map)
{
	uint32_t n = 0;

	for (uint32_t w = 0; w < words(map); w++)
		n += (uint32_t)__builtin_popcountll(
			atomic_load_explicit(&map->dirty[w],
					     memory_order_relaxed));
	return n;
}

static bool
is_asked(const struct spw_drainer *d, uint32_t file)
{
	return d->asked[file / 64] >> file % 64 & 1;
}

static bool
is_wanted(struct spw_drainer *d, uint32_t file, bool asked, int64_t now)
{
	const struct spw_file *f = &d->map->files[file];

	if (is_asked(d, file))
		return true;
	if (!asked && spw_keep_holds(d, file))
		return false;
	if (asked || (d->homes[file].retry_at > now &&
		      d->homes[file].gen == f->gen))
		return false;
	/* Nobody will open it again: only if its memory is needed. */
	return !(atomic_load(&f->flags) & SPW_FILE_UNLINKED) ||
	       atomic_load(&d->map->seg->want_room);
}

int
spw_compare(const void *a, const void *b)
{
	const struct spw_key *x = &((const struct spw_candidate *)a)->key;
	const struct spw_key *y = &((const struct spw_candidate *)b)->key;

	if (x->file != y->file)
		return x->file < y->file ? -1 : 1;
	return x->number < y->number ? -1 : x->number > y->number;
}

/* A bit without a block goes. The block may be taken into use right now, and
 * whoever does that leaves a bit that is set alone: so look once more. */
static void
forget_bit(struct spw_map *map, uint32_t idx)
{
	atomic_fetch_and(&map->dirty[idx / 64], ~(1ull << idx % 64));
	atomic_thread_fence(memory_order_seq_cst);
	if (spw_glance32(&map->blocks[idx].file) != SPW_NONE)
		spw_block_mark(map, idx);
}

static uint32_t
collect(struct spw_drainer *d, bool asked)
{
	struct spw_map *map = d->map;
	int64_t now = spw_now_ms();
	uint32_t n = 0;

	for (uint32_t w = 0; w < words(map); w++) {
		uint64_t bits = atomic_load(&map->dirty[w]);

		for (; bits; bits &= bits - 1) {
			uint32_t idx = w * 64 +
				       (uint32_t)__builtin_ctzll(bits);
			struct spw_key key = spw_block_key(&map->blocks[idx]);

			if (key.file == SPW_NONE) {	/* set for nothing */
				forget_bit(map, idx);
				continue;
			}
			if (key.file >= map->counts[SPW_POOL_FILES] ||
			    !is_wanted(d, key.file, asked, now))
				continue;
			d->found[n++] = (struct spw_candidate){ key, idx };
		}
	}
	qsort(d->found, n, sizeof(*d->found), spw_compare);
	return n;
}

/* In a mask; false: there is no slot for one. */
static bool
unite_in_mask(struct spw_drainer *d, struct spw_block_state *s)
{
	struct spw_lane *lane = d->me.lane;
	struct spw_range hull = { SPW_BLOCK_SIZE, 0 };
	struct spw_mask all;
	uint32_t from = 0, to;

	spw_mask_unhomed(d->map, s, &all);
	for (; spw_mask_next(&all, &from, &to); from = to) {
		hull.from = (uint16_t)SPW_MIN(hull.from, from);
		hull.to = (uint16_t)to;
	}
	if (s->mask == SPW_NONE && !lane->nslots &&
	    !spw_lane_stock_slots(&d->me, 1))
		return false;
	if (s->mask == SPW_NONE)
		s->mask = lane->slots[--lane->nslots];
	*spw_mask_at(d->map, s->mask) = all;
	s->dirty.r[0] = hull;
	s->ndirty = hull.from < hull.to;
	if (!s->ndirty)
		s->mask = SPW_NONE;
	return true;
}

/* What must go home again: dirty and moving together. Where even a mask is not
 * to be had, all that is present: the slot holds it, so it is no lie. */
static void
redirty(struct spw_drainer *d, struct spw_block_state *s)
{
	struct spw_ranges all = s->dirty;
	uint8_t n = s->ndirty;

	if (s->mask == SPW_NONE &&
	    spw_ranges_unite(&all, &n, &s->moving, s->nmoving)) {
		s->dirty = all;
		s->ndirty = n;
	} else if (!unite_in_mask(d, s)) {
		s->dirty = s->present;
		s->ndirty = s->npresent;
	}
	s->nmoving = 0;
	s->moving_slot = SPW_NONE;
}

void
spw_postpone(struct spw_drainer *d, uint32_t file)
{
	uint64_t bit = 1ull << file % 64;

	if (!(d->asked[file / 64] & bit))
		return;
	d->asked[file / 64] &= ~bit;
	atomic_fetch_or(&d->map->asks[file / 64], bit);
}

void
spw_put_off(struct spw_drainer *d, uint32_t file)
{
	uint64_t bit = 1ull << file % 64;
	uint64_t asks = atomic_fetch_and(&d->map->asks[file / 64], ~bit);

	d->deferred[file / 64] |= (d->asked[file / 64] | asks) & bit;
	d->asked[file / 64] &= ~bit;
}

/* For a moment, mostly. Who takes long may be stopped. */
void
spw_hold_off(struct spw_drainer *d, uint32_t file)
{
	struct spw_home *h = spw_home_of(d, file);
	int64_t now = spw_now_ms();

	if (!h->held_since)
		h->held_since = now;
	if (now - h->held_since < SPW_PATIENCE_MS)
		spw_postpone(d, file);
	else
		spw_put_off(d, file);
}

bool
spw_is_held_off(struct spw_drainer *d, uint32_t file)
{
	if (atomic_load(&d->map->files[file].hold))
		return true;
	spw_home_of(d, file)->held_since = 0;
	return false;
}

/* All of the block up to the end of the file. */
static bool
is_all_dirty(const struct spw_map *map, const struct spw_block *b)
{
	uint64_t base = b->number << SPW_BLOCK_SHIFT;
	uint64_t size = atomic_load(&map->files[b->file].size);
	uint32_t from = 0, to, end;
	struct spw_mask dirty;

	if (size <= base)
		return false;
	end = (uint32_t)SPW_MIN(size - base, SPW_BLOCK_SIZE);
	if (b->state.mask == SPW_NONE)
		return spw_ranges_cover(&b->state.dirty, b->state.ndirty, 0,
					end);
	spw_mask_dirty(map, &b->state, &dirty);
	return spw_mask_next(&dirty, &from, &to) && from == 0 && to >= end;
}

/* An older version of the block is on its way home; ours has to wait. */
static bool
is_overtaking(struct spw_drainer *d, const struct spw_key *key)
{
	uint32_t chunk;

	if (!d->store || !spw_below_any(&d->map->files[key->file]))
		return false;
	chunk = spw_below_chunk(d->map, key->file, key->file_gen,
				key->number / SPW_CHUNK_BLOCKS);
	return chunk != SPW_NONE && spw_store_is_busy(d, chunk);
}

/* Takes away a bit that a writer who died has left: what is dirty counts. */
static void
clear_stale(struct spw_map *map, const struct spw_key *key)
{
	if (spw_below_any(&map->files[key->file]) &&
	    spw_below_has(map, key))
		spw_below_clear(map, key);
}

/* A program that syncs the file all the time is about to do so again: what it
 * wrote since then leaves after the copy for that. Home would have it before
 * the tier that keeps the older bytes otherwise, and fsync would have to wait
 * for home. Not for ever: others want to see it. */
static void
decide_sparing(struct spw_drainer *d, uint32_t file)
{
	const struct spw_seg *seg = d->map->seg;
	struct spw_home *h = spw_home_of(d, file);
	int64_t now = spw_now_ms(), delay = seg->fixed.delay_ms;

	if (h->visited == d->passes)
		return;
	h->visited = d->passes;
	if (!h->spared || now - h->spared_since >= SPARED_MOST * delay)
		h->spared_since = now;
	h->spares = d->store && d->store->of_file[file] &&
		    now - h->synced_at < SPW_MAX(delay, 1) &&
		    !(h->spared && h->spared_since == now) &&
		    !is_asked(d, file) && !d->hurries &&
		    !atomic_load(&seg->closing) &&
		    !atomic_load(&seg->want_room);
	h->spared = false;
}

static bool
is_spared(struct spw_drainer *d, const struct spw_block *b)
{
	struct spw_home *h = &d->homes[b->file];

	if (!h->spares || b->state.safe == SPW_SAFE)
		return false;
	h->spared = true;
	return true;
}

bool
spw_block_depart(struct spw_drainer *d, const struct spw_candidate *c,
		 bool whole, struct spw_block_state *ret_state)
{
	struct spw_map *map = d->map;
	struct spw_file *f = &map->files[c->key.file];
	struct spw_block *b = &map->blocks[c->idx];
	struct spw_change change = { .scratch = SPW_NONE };
	bool goes = false;
	uint32_t got;

	/* Ordered against spw_gate_hold: it raises hold, then looks here. */
	atomic_fetch_add(&f->inflight, 1);
	if (spw_is_held_off(d, c->key.file)) {
		atomic_fetch_sub(&f->inflight, 1);
		spw_hold_off(d, c->key.file);
		return false;
	}
	if (is_overtaking(d, &c->key)) {
		atomic_fetch_sub(&f->inflight, 1);
		spw_postpone(d, c->key.file);
		return false;
	}
	spw_guard_enter();
	got = spw_block_lock_soon(&d->me, c->idx, &c->key);
	if (got == c->idx) {
		/* Who sets it has the lock. */
		atomic_fetch_and(&map->dirty[c->idx / 64],
				 ~(1ull << c->idx % 64));
		goes = b->state.ndirty && !b->state.nmoving &&
		       (whole ? is_all_dirty(map, b) : !is_spared(d, b));
		if (b->state.ndirty)
			clear_stale(map, &c->key);
		if (goes && !spw_block_is_sound(map, &b->state)) {
			spw_file_fail(f, EBADMSG);	/* kept as it is */
			goes = false;
		} else if (goes) {
			change.after = b->state;
			change.after.moving = b->state.dirty;
			change.after.nmoving = b->state.ndirty;
			change.after.ndirty = 0;
			change.after.moving_slot = b->state.slot;
			if (whole)
				change.after.mask = SPW_NONE;
			spw_block_commit(&d->me, c->idx, &change);
			*ret_state = change.after;
		} else if (b->state.ndirty) {
			spw_block_mark(map, c->idx);
			if (!whole)	/* until what moves has arrived */
				spw_postpone(d, c->key.file);
		}
		spw_unlock(&b->lock);
	} else if (got == SPW_HELD) {
		spw_put_off(d, c->key.file);
	}				/* else it serves another place by now */
	spw_guard_leave();
	if (!goes)
		atomic_fetch_sub(&f->inflight, 1);
	SPW_FAILPOINT("drain-departed");
	return goes;
}

/* It lies in that object, and nobody wrote since: so it is below. */
static bool
go_below(struct spw_drainer *d, const struct spw_key *key, uint32_t held)
{
	struct spw_file *f = &d->map->files[key->file];
	uint32_t bit = key->number % SPW_CHUNK_BLOCKS;
	uint32_t chunk = spw_chunk_get(d, key->file,
				       key->number / SPW_CHUNK_BLOCKS);

	if (chunk == SPW_NONE || !spw_store_refer(d, chunk, bit, held))
		return false;
	atomic_fetch_add(&f->spills, 1);
	atomic_fetch_or(&d->map->chunks[chunk].below[bit / 64],
			1ull << bit % 64);
	SPW_FAILPOINT("spill-below");
	return true;
}

/* A copy of what is below is one of the whole block, zeros after the end of
 * the file included: one that has less goes. */
static void
keep_whole(struct spw_block_state *s)
{
	if (spw_ranges_cover(&s->present, s->npresent, 0, SPW_BLOCK_SIZE))
		return;
	s->slot = SPW_NONE;
	s->npresent = 0;
}

bool
spw_block_arrive(struct spw_drainer *d, uint32_t idx,
		 const struct spw_key *key, int err, uint32_t held)
{
	struct spw_map *map = d->map;
	struct spw_block *b = &map->blocks[idx];
	struct spw_change change = { .scratch = SPW_NONE };
	uint32_t got;

	spw_guard_enter();
	got = spw_late_lock(d, idx, key, held ? -EAGAIN : err);
	if (got == SPW_HELD) {
		spw_guard_leave();
		return false;
	}
	if (got == idx) {
		change.after = b->state;
		if (held && !err && (b->state.ndirty || !b->state.nmoving ||
				     !go_below(d, key, held)))
			err = -EAGAIN;
		if (err) {
			redirty(d, &change.after);
		} else {
			change.after.nmoving = 0;
			change.after.mask = SPW_NONE;
			change.after.moving_slot = SPW_NONE;
			if (held)
				keep_whole(&change.after);
			if (!held && b->state.safe != SPW_SAFE)
				spw_home_of(d, key->file)->unsynced = true;
		}
		spw_block_commit(&d->me, idx, &change);
		spw_unlock(&b->lock);
	}
	spw_guard_leave();
	atomic_fetch_sub(&map->files[key->file].inflight, 1);
	d->cleaned += !err;
	return !err;
}

void
spw_note_failure(struct spw_drainer *d, uint32_t file, int err)
{
	struct spw_file *f = &d->map->files[file];
	struct spw_home *h = spw_home_of(d, file);

	spw_file_fail(f, -err);
	h->retry_at = spw_now_ms() + RETRY_MS;
	h->failed = d->passes;
}

void
spw_defer(struct spw_drainer *d, uint32_t file)
{
	uint64_t bit = 1ull << file % 64;

	d->deferred[file / 64] |= d->asked[file / 64] & bit;
	d->asked[file / 64] &= ~bit;
}

static void
touch(struct spw_drainer *d, uint32_t file)
{
	d->touched[file / 64] |= 1ull << file % 64;
}

static struct spw_drainer *serving;	/* for spw_lane_finish_cut */

struct cutting {
	int fd;
	uint64_t size;
};

static int64_t
cut_home(void *arg)
{
	const struct cutting *c = arg;

	return spw_sys_ftruncate(c->fd, c->size);
}

/* A truncation whose maker died behind its gate. A home that is gone or
 * cannot be cut makes no difference to what the segment holds. */
static int
finish_cut(struct spw_me *me, uint32_t file)
{
	struct spw_file *f = &me->map->files[file];
	uint64_t size = atomic_load(&f->cut) - 1;
	int fd = spw_home_open(serving, file);
	struct cutting c = { fd, size };
	int r;

	if (fd == -EMFILE || fd == -ENFILE || fd == -ENOMEM ||
	    fd == -ETIMEDOUT)
		return fd;
	r = fd < 0 ? 0 : (int)spw_aside_call(serving->aside, f->dev, cut_home,
					     &c, sizeof(c), NULL);
	if (r < 0)			/* tried again, or as if not begun */
		return r == -ETIMEDOUT ? r : 0;
	if (!spw_gate_cut(me, file, size))
		return -EAGAIN;
	spw_stamp_put(f, spw_stamp(me->map, f));
	return 0;
}

void
spw_pass_serve_cuts(struct spw_drainer *d)
{
	serving = d;
	spw_lane_finish_cut = d ? finish_cut : NULL;
}

/* The hold of a dead lane keeps nobody off. */
static void
free_hold(struct spw_drainer *d, uint32_t file)
{
	uint32_t hold = atomic_load(&d->map->files[file].hold);

	if (hold && spw_lane_is_dead(d->map, hold - 1))
		spw_lane_adopt_all(&d->me);
}

static void
for_touched(struct spw_drainer *d, void (*act)(struct spw_drainer *, uint32_t))
{
	uint32_t n = d->map->counts[SPW_POOL_FILES] / 64;

	for (uint32_t w = 0; w < n; w++)
		for (uint64_t bits = d->touched[w]; bits; bits &= bits - 1)
			act(d, w * 64 + (uint32_t)__builtin_ctzll(bits));
}

static void
stamp_touched(struct spw_job *job)	/* by a worker */
{
	struct spw_stamping *s = (struct spw_stamping *)job;

	for_touched(s->d, spw_home_stamp);
}

static void
end_stamping(struct spw_drainer *d, struct spw_task *task)
{
	(void)task;
	d->stamping.busy = false;
}

/* A home that stalls is not to keep those waiting who want something from
 * below. Without tiers there is nobody. */
static void
stamp(struct spw_drainer *d)
{
	struct spw_stamping *s = &d->stamping;

	*s = (struct spw_stamping){
		.task = { .job.run = stamp_touched, .over = end_stamping },
		.d = d, .busy = true,
	};
	if (!d->store)
		for_touched(d, spw_home_stamp);
	else
		spw_task_start(d, &s->task);
	while (d->store && s->busy) {
		(void)spw_task_reap(d, PATIENCE_MS);
		spw_attend(d);
	}
	s->busy = false;
}

static void
begin_judging(struct spw_drainer *d, uint32_t file)
{
	atomic_fetch_or(&d->map->files[file].flags, SPW_FILE_JUDGED);
}

static void
end_judging(struct spw_drainer *d, uint32_t file)
{
	struct spw_file *f = &d->map->files[file];
	uint32_t flags = atomic_load(&f->flags);

	while (flags & SPW_FILE_JUDGED &&
	       !atomic_compare_exchange_weak(&f->flags, &flags, flags &
			~(uint32_t)(SPW_FILE_JUDGED | SPW_FILE_UNSETTLED)))
		;
}

/*
 * Files without a dirty block left are settled. A writer sets the dirty bit
 * before it looks at the flags and takes JUDGED away if it is there: either
 * we find its bit or it finds our mark, and at no time does a file with
 * dirty blocks look settled.
 */
static void
judge(struct spw_drainer *d)
{
	struct spw_map *map = d->map;

	stamp(d);
	for_touched(d, begin_judging);
	for (uint32_t w = 0; w < words(map); w++)
		for (uint64_t bits = atomic_load(&map->dirty[w]); bits;
		     bits &= bits - 1) {
			uint32_t file = spw_glance32(&map->blocks[w * 64 +
				(uint32_t)__builtin_ctzll(bits)].file);

			if (file < map->counts[SPW_POOL_FILES])
				spw_file_flag(&map->files[file],
					      SPW_FILE_UNSETTLED);
		}
	for (uint32_t i = 0; i < spw_chunks_ready(map); i++)
		if (spw_chunk_is_used(map, i) &&
		    !spw_chunk_is_empty(&map->chunks[i]))
			spw_file_flag(&map->files[map->chunks[i].file],
				      SPW_FILE_UNSETTLED);
	spw_spill_unsettle(d);
	spw_late_unsettle(d);
	atomic_fetch_add(&map->seg->settled, 1);
	for_touched(d, end_judging);
	memset(d->touched, 0, map->counts[SPW_POOL_FILES] / 64 *
	       sizeof(*d->touched));
}

/* Tickets handed out before the pass began are served by it, unless the file
 * was held: then the bit stays for the next pass. */
static void
answer(struct spw_drainer *d, const uint32_t *tickets, const uint64_t *asked)
{
	struct spw_map *map = d->map;

	for (uint32_t w = 0; w < map->counts[SPW_POOL_FILES] / 64; w++)
		for (uint64_t bits = asked[w]; bits; bits &= bits - 1) {
			uint32_t file = w * 64 +
					(uint32_t)__builtin_ctzll(bits);
			struct spw_file *f = &map->files[file];
			int r;

			if (spw_is_held_off(d, file)) {
				free_hold(d, file);
				spw_hold_off(d, file);
				continue;
			}
			/* Who asked may change home by himself next: no
			 * older copy may be replayed over that. What did
			 * not get home is kept. */
			r = d->homes[file].failed == d->passes ? 0
			    : spw_sync_release(d, file, d->pass_seq);
			if (r == -ETIMEDOUT) {
				d->deferred[w] |= bits & -bits;
				continue;
			}
			if (r < 0)
				spw_file_fail(f, -r);
			spw_home_let_run(d, file);
			atomic_store(&f->done, tickets[file]);
			spw_sys_futex_wake(&f->done, INT32_MAX);
		}
}

/* The bits first, then how far the tickets go: who asks in between is served
 * now, or has left a bit for the next pass. A bit without a ticket is from
 * somebody who asked again just before he was answered. */
static void
take_asks(struct spw_drainer *d, uint32_t w)
{
	uint64_t bits = atomic_exchange(&d->map->asks[w], 0);

	d->asked[w] = bits;
	for (; bits; bits &= bits - 1) {
		uint32_t file = w * 64 + (uint32_t)__builtin_ctzll(bits);
		const struct spw_file *f = &d->map->files[file];

		d->tickets[file] = atomic_load(&f->asked);
		if (d->tickets[file] == atomic_load(&f->done))
			d->asked[w] &= ~(bits & -bits);
		else
			touch(d, file);
		spw_keep_lose(d, file, SPW_KEEP_NEEDED);
	}
}

uint32_t
spw_pass(struct spw_drainer *d, bool asked)
{
	uint32_t nfiles = d->map->counts[SPW_POOL_FILES];
	uint32_t n, went = 0;

	d->passes++;
	d->pass_seq = atomic_load(&d->map->seg->sequence);
	for (uint32_t w = 0; w < nfiles / 64; w++)
		take_asks(d, w);
	n = collect(d, asked);
	for (uint32_t i = 0; i < n; i++) {
		struct spw_block_state state;

		touch(d, d->found[i].key.file);
		decide_sparing(d, d->found[i].key.file);
		spw_runs_reserve(d);
		if (!spw_block_depart(d, &d->found[i], false, &state)) {
			free_hold(d, d->found[i].key.file);
			continue;
		}
		spw_runs_add(d, &d->found[i], &state);
		went++;
	}
	spw_runs_flush(d);
	went += spw_bring(d, asked);
	spw_runs_wait(d);
	spw_late_retry(d);
	judge(d);
	answer(d, d->tickets, d->asked);
	return went;
}

uint32_t
spw_pass_below(struct spw_drainer *d)
{
	uint32_t went;

	d->passes++;
	memset(d->asked, 0, d->map->counts[SPW_POOL_FILES] / 64 *
	       sizeof(*d->asked));
	went = spw_bring(d, false);
	judge(d);
	return went;
}

/* The predecessor may have died after it took an ask and before it answered,
 * or after it wrote and before it put the times back and called it settled. */
static void
take_over_file(struct spw_drainer *d, uint32_t file)
{
	struct spw_map *map = d->map;
	struct spw_file *f = &map->files[file];

	spw_keep_take_over(d, file);
	if (atomic_load(&f->asked) != atomic_load(&f->done))
		atomic_fetch_or(&map->asks[file / 64], 1ull << file % 64);
	if (spw_file_is_unsettled(f)) {
		(void)spw_home_open(d, file);	/* tried again when needed */
		touch(d, file);
	}
}

/* A block that is locked may be moving, and dirty. */
static void
take_over_late(struct spw_drainer *d)
{
	struct spw_map *map = d->map;

	for (uint32_t i = 0; i < d->nlate; i++) {
		struct spw_file *f = &map->files[d->late[i].at.key.file];

		spw_block_mark(map, d->late[i].at.idx);
		spw_file_flag(f, SPW_FILE_UNSETTLED | SPW_FILE_DIRTIED);
		atomic_fetch_add(&f->inflight, 1);
	}
}

void
spw_pass_take_over(struct spw_drainer *d)
{
	struct spw_map *map = d->map;
	uint32_t ready = spw_seg_ready(map, SPW_POOL_BLOCKS);

	d->passes++;
	for (uint32_t i = 0; i < ready; i++) {
		struct spw_block *b = &map->blocks[i];
		struct spw_key key = spw_block_key(b);
		struct spw_change change = { .scratch = SPW_NONE };

		if (!(atomic_load(&map->owners[SPW_POOL_BLOCKS][i]) &
		      SPW_IN_USE) ||
		    key.file >= map->counts[SPW_POOL_FILES])
			continue;
		spw_guard_enter();
		if (spw_late_lock(d, i, &key, -EAGAIN) == i) {
			if (b->state.safe == SPW_SAVING)
				b->state.safe = SPW_UNSAFE;
			change.after = b->state;
			if (spw_block_is_sound(map, &b->state) &&
			    (b->state.nmoving ||
			     b->state.moving_slot != SPW_NONE)) {
				redirty(d, &change.after);
				spw_block_commit(&d->me, i, &change);
			}
			if (b->state.ndirty) {
				spw_block_mark(map, i);
				spw_file_flag(&map->files[key.file],
					      SPW_FILE_UNSETTLED |
					      SPW_FILE_DIRTIED);
			}
			spw_unlock(&b->lock);
		}
		spw_guard_leave();
	}
	ready = spw_seg_ready(map, SPW_POOL_FILES);
	for (uint32_t i = 0; i < ready; i++) {
		if (!(atomic_load(&map->owners[SPW_POOL_FILES][i]) &
		      SPW_IN_USE))
			continue;
		atomic_store(&map->files[i].inflight, 0);
		take_over_file(d, i);
	}
	take_over_late(d);
	judge(d);
}
