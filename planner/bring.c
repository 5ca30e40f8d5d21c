/* SPDX-License-Identifier: BSD-3-Clause */
/* bring.c -- what is below, read from its tier and written home */
#include <errno.h>

#include "planner/advice.h"
#include "planner/away.h"
#include "planner/chunks.h"
#include "planner/keep.h"
#include "planner/losses.h"
#include "planner/store.h"
#include "shm/failpoint.h"
#include "shm/files.h"
#include "shm/sys.h"
#include "shm/util.h"

enum { SOME = 64 * SPW_CHUNK_BLOCKS, PATIENCE_MS = 1 };

bool
spw_any_below(const struct spw_map *map)
{
	for (uint32_t i = 0; i < spw_chunks_ready(map); i++)
		if (spw_chunk_is_used(map, i) &&
		    !spw_chunk_is_empty(&map->chunks[i]))
			return true;
	return false;
}

static void
write_home(struct spw_job *job)		/* by a worker */
{
	struct spw_load *l = (struct spw_load *)job;
	const uint8_t *bytes = l->buf + l->skip;

	l->err = spw_load_unpack(l);
	l->unreadable = l->err < 0;
	l->began = l->err < 0 ? 0 : spw_now_ns();
	for (uint64_t done = 0; done < l->len && l->err == 0;) {
		int64_t r = spw_sys_pwrite(l->fd, bytes + done,
					   l->len - done, l->at + done);

		if (r > 0)
			done += (uint64_t)r;
		else if (r != -EINTR && r != -EAGAIN)
			l->err = r < 0 ? (int)r : -EIO;
	}
}

static bool
is_loss(int err)
{
	return err < 0 && err != -ENOMEM;
}

/* What else the chunk has can get home all the same. */
static void
lose(struct spw_drainer *d, struct spw_load *l)
{
	spw_store_lose(d, l->chunk, &l->bad);
	spw_file_fail(&d->map->files[l->file], EIO);
	if (is_loss(l->err))
		spw_loss_note(d, l->file, l->bad.from, l->bad.to,
			      spw_store_of(d, l->chunk, l->bit), l->err);
}

static void
unload(struct spw_drainer *d, struct spw_task *task)
{
	struct spw_load *l = (struct spw_load *)task;
	struct spw_chunk *c = &d->map->chunks[l->chunk];
	uint32_t held = spw_store_of(d, l->chunk, l->bit);
	bool promised = held && d->store->held[held].promised;

	SPW_FAILPOINT("bring-written");
	if (l->began)
		spw_advice_home(d, l->len, l->began, l->err);
	if (l->err == 0) {
		for (uint32_t i = l->bit; i < l->bit + l->nblocks; i++)
			atomic_fetch_and(&c->below[i / 64],
					 ~(1ull << i % 64));
		atomic_fetch_add(&d->map->seg->requests_home, 1);
		atomic_fetch_add(&d->map->seg->bytes_home, l->len);
		d->homes[l->file].retry_at = 0;
		spw_file_heal(&d->map->files[l->file]);
		d->homes[l->file].unsynced |= !promised;
	} else if (l->unreadable) {
		lose(d, l);
	} else {
		spw_note_failure(d, l->file, l->err);
	}
	spw_load_end(l);
	spw_store_set_busy(d, l->chunk, false);
	atomic_fetch_sub(&d->map->files[l->file].inflight, 1);
	l->busy = false;
}

static struct spw_load *
take_load(struct spw_drainer *d)
{
	for (;;) {
		for (int i = 0; i < SPW_LOADS; i++)
			if (!d->store->load[i].busy) {
				d->store->load[i].busy = true;
				return &d->store->load[i];
			}
		(void)spw_task_reap(d, PATIENCE_MS);
		spw_attend(d);
	}
}

static bool
is_there(struct spw_drainer *d, uint32_t chunk, uint32_t bit)
{
	return spw_chunk_has(&d->map->chunks[chunk], bit) &&
	       !spw_store_is_lost(d, chunk, bit);
}

/* Bits in a row that lie in one object, from the first on. */
static bool
find_row(struct spw_drainer *d, uint32_t chunk, struct spw_load *l)
{
	const struct spw_chunk *c = &d->map->chunks[chunk];
	uint32_t bit = 0, held;

	while (bit < SPW_CHUNK_BLOCKS && !is_there(d, chunk, bit))
		bit++;
	if (bit == SPW_CHUNK_BLOCKS)
		return false;
	held = spw_store_of(d, chunk, bit);
	l->chunk = chunk;
	l->bit = bit;
	for (l->nblocks = 1; bit + l->nblocks < SPW_CHUNK_BLOCKS &&
	     is_there(d, chunk, bit + l->nblocks) &&
	     spw_store_of(d, chunk, bit + l->nblocks) == held; l->nblocks++)
		;
	l->at = (c->number * SPW_CHUNK_BLOCKS + bit) << SPW_BLOCK_SHIFT;
	return true;
}

/* Not beyond the end of the file, nor beyond what the object has. */
static uint64_t
length_of(struct spw_drainer *d, const struct spw_load *l, uint32_t held)
{
	const struct spw_object *o = d->store->held[held].o;
	uint64_t end = l->at + (uint64_t)l->nblocks * SPW_BLOCK_SIZE;

	end = SPW_MIN(end, o->offset + o->length);
	end = SPW_MIN(end, atomic_load(&d->map->files[l->file].size));
	return end > l->at ? end - l->at : 0;
}

static int
fill(struct spw_drainer *d, struct spw_load *l)
{
	uint32_t held = spw_store_of(d, l->chunk, l->bit);

	l->bad = (struct spw_span){
		l->at, l->at + (uint64_t)l->nblocks * SPW_BLOCK_SIZE,
	};
	if (!held)
		return spw_away_missing(d);	/* its tier is gone */
	l->len = length_of(d, l, held);
	return l->len ? spw_load_read(d, held, l) : 0;
}

/* Not now: its tier does not answer, or home. */
static void
put_off(struct spw_drainer *d, struct spw_load *l)
{
	spw_defer(d, l->file);
	atomic_fetch_sub(&d->map->files[l->file].inflight, 1);
	spw_load_end(l);
	l->busy = false;
}

/* One row of the chunk is on its way, or lost; false: nothing to do, or not
 * now. */
static bool
bring_row(struct spw_drainer *d, uint32_t chunk, uint32_t *went)
{
	uint32_t file = d->map->chunks[chunk].file;
	struct spw_file *f = &d->map->files[file];
	struct spw_load *l = take_load(d);

	/* Looked at after the wait for it: things may have changed. */
	if (!spw_chunk_is_used(d->map, chunk) ||
	    d->map->chunks[chunk].file != file ||
	    spw_store_is_busy(d, chunk) || !find_row(d, chunk, l)) {
		l->busy = false;
		return false;
	}
	atomic_fetch_add(&f->inflight, 1);
	if (spw_is_held_off(d, file)) {
		atomic_fetch_sub(&f->inflight, 1);
		spw_hold_off(d, file);
		l->busy = false;
		return false;
	}
	l->file = file;
	l->len = 0;
	l->began = 0;
	l->fd = spw_home_open(d, file);
	l->err = l->fd < 0 ? l->fd : fill(d, l);
	if (l->err == -EINPROGRESS || l->fd == -ETIMEDOUT) {
		put_off(d, l);
		return false;
	}
	l->unreadable = l->err < 0 && l->fd >= 0;
	l->task.job.run = write_home;
	l->task.over = unload;
	spw_store_set_busy(d, chunk, true);
	spw_home_note_ctime(d, file);
	if (l->err < 0) {
		unload(d, &l->task);
		return true;
	}
	*went += l->nblocks;
	spw_task_start(d, &l->task);
	return true;
}

static bool
is_asked(const struct spw_drainer *d, uint32_t file)
{
	return d->asked[file / 64] >> file % 64 & 1;
}

static bool
is_wanted(struct spw_drainer *d, uint32_t chunk, bool asked)
{
	const struct spw_map *map = d->map;
	uint32_t file = map->chunks[chunk].file;

	if (!spw_chunk_is_used(map, chunk) ||
	    spw_chunk_is_empty(&map->chunks[chunk]))
		return false;
	/* Who asked is to hear of it, not to wait until it is well. */
	if (d->homes[file].failed == d->passes)
		return false;
	return is_asked(d, file) ||
	       (!asked && !spw_keep_holds(d, file) && d->homes[file].retry_at <= spw_now_ms() &&
		!(atomic_load(&map->files[file].flags) & SPW_FILE_UNLINKED));
}

/* Brings what it can of a chunk now; of two rows the second goes when the first
 * is home. */
static uint32_t
bring_chunk(struct spw_drainer *d, uint32_t chunk, bool asked)
{
	uint32_t file = d->map->chunks[chunk].file, went = 0;

	/* Who asked is to hear of it, also if it is not tried again now. */
	if (is_wanted(d, chunk, asked) && spw_store_has_lost(d, chunk) &&
	    is_asked(d, file))
		spw_file_fail(&d->map->files[file], EIO);
	while (is_wanted(d, chunk, asked) && !spw_store_is_busy(d, chunk)) {
		file = d->map->chunks[chunk].file;
		d->touched[file / 64] |= 1ull << file % 64;
		if (!bring_row(d, chunk, &went))
			break;
	}
	return went;
}

static bool
is_any_busy(struct spw_drainer *d)
{
	for (int i = 0; i < SPW_LOADS; i++)
		if (d->store->load[i].busy)
			return true;
	return false;
}

static bool
is_any_asked(const struct spw_drainer *d)
{
	for (uint32_t w = 0; w < d->map->counts[SPW_POOL_FILES] / 64; w++)
		if (d->asked[w])
			return true;
	return false;
}

static void
list_chunk(struct spw_drainer *d, uint32_t chunk, uint32_t *n)
{
	if (is_wanted(d, chunk, true))
		d->store->errands[(*n)++] = chunk;
}

/* By number, from the first on, until all that the file has were seen: most
 * files have no gaps. False: more numbers than looks. */
static bool
list_file(struct spw_drainer *d, uint32_t file, uint32_t *looks, uint32_t *n)
{
	struct spw_map *map = d->map;
	const struct spw_file *f = &map->files[file];
	uint32_t unseen = atomic_load(&f->nchunks);

	for (uint64_t number = 0; unseen && *looks; number++, --*looks) {
		uint32_t chunk = spw_below_chunk(map, file, f->gen, number);

		if (chunk == SPW_NONE)
			continue;
		list_chunk(d, chunk, n);
		unseen--;
	}
	return !unseen;
}

/* Chunks of files that were asked for. Looking at all there are is the last
 * resort: there may be millions, of others. */
static uint32_t
list_asked(struct spw_drainer *d)
{
	uint32_t ready = spw_chunks_ready(d->map), looks = ready, n = 0;
	bool all = true;

	for (uint32_t w = 0; w < d->map->counts[SPW_POOL_FILES] / 64; w++)
		for (uint64_t bits = d->asked[w]; bits && all;
		     bits &= bits - 1)
			all = list_file(d, w * 64 + (uint32_t)
					__builtin_ctzll(bits), &looks, &n);
	if (all)
		return n;
	n = 0;
	for (uint32_t i = 0; i < ready; i++)
		list_chunk(d, i, &n);
	return n;
}

/* Rows of many chunks are under way together. A chunk that was busy is looked
 * at once more afterwards. */
static uint32_t
bring_listed(struct spw_drainer *d, uint32_t n)
{
	uint32_t *list = d->store->errands, went = 0, before, left;
	bool busy;

	do {
		busy = is_any_busy(d);
		before = went;
		left = 0;
		for (uint32_t i = 0; i < n && !spw_away_hushes(d); i++) {
			went += bring_chunk(d, list[i], true);
			if (is_wanted(d, list[i], true))
				list[left++] = list[i];
		}
		n = left;
		if (busy && went == before) {
			(void)spw_task_reap(d, PATIENCE_MS);
			spw_attend(d);
		}
	} while (n && (went > before || busy) && !spw_away_hushes(d));
	return went;
}

static void
defer_all(struct spw_drainer *d)
{
	for (uint32_t w = 0; w < d->map->counts[SPW_POOL_FILES] / 64; w++) {
		d->deferred[w] |= d->asked[w];
		d->asked[w] = 0;
	}
}

/* All that was asked for, what is on its way down included. */
static uint32_t
bring_asked(struct spw_drainer *d)
{
	/* What was dirty as the pass began went home, or down before now. */
	uint64_t seq = atomic_load(&d->map->seg->sequence);
	uint32_t went = 0, some, moving;

	for (;;) {
		moving = spw_store_moving(d, d->asked, seq);
		some = bring_listed(d, list_asked(d));
		went += some;
		if (spw_away_hushes(d))
			defer_all(d);
		if ((!some && !moving) || spw_away_hushes(d))
			return went;
		if (!some) {
			(void)spw_task_reap(d, PATIENCE_MS);
			spw_attend(d);
		}
	}
}

static uint32_t
bring_some(struct spw_drainer *d)
{
	uint32_t ready = spw_chunks_ready(d->map), went = 0;

	for (uint32_t i = 0; i < ready && went < SOME && !spw_away_hushes(d);
	     i++) {
		d->bring_hand = (d->bring_hand + 1) % ready;
		went += bring_chunk(d, d->bring_hand, false);
	}
	return went;
}

uint32_t
spw_bring(struct spw_drainer *d, bool asked)
{
	uint32_t went = 0;

	if (!d->store)
		return 0;
	/* Somebody may have asked just before an ordinary pass: it answers him,
	 * so it brings all that he waits for. */
	if (is_any_asked(d))
		went = bring_asked(d);
	if (!asked)
		went += bring_some(d);
	spw_runs_wait(d);
	spw_store_sweep(d);
	return went;
}
