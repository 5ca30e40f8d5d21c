/* SPDX-License-Identifier: BSD-3-Clause */
/* fill.c -- bytes of home brought into memory before somebody reads them */
#include "shm/fill.h"

#include <errno.h>
#include <sys/uio.h>

#include "shm/below.h"
#include "shm/blocks.h"
#include "shm/failpoint.h"
#include "shm/gate.h"
#include "shm/used.h"

enum {
	ROW = 32,			/* blocks read at once, behind the gate */
	/* As if it had been used again, and that again. */
	WANTED = SPW_USED_NOT | 2 * SPW_USED_AGAIN | SPW_USED_LATELY,
};

static_assert(ROW <= SPW_SPARES, "a lane holds the slots of a row");

struct row {
	struct spw_key key;		/* of its first block */
	uint32_t n;
	uint32_t slot[ROW];
};

/* A quarter is left for writers: the drainer would make room for them there
 * by taking these away. */
static bool
take_slots(struct spw_me *me, struct row *row)
{
	const struct spw_map *map = me->map;
	struct spw_lane *lane = me->lane;
	uint32_t count = map->counts[SPW_POOL_SLOTS];
	uint32_t ready = spw_seg_ready(map, SPW_POOL_SLOTS);
	uint32_t used = ready - SPW_MIN(spw_pool_free(map, SPW_POOL_SLOTS),
					ready);
	bool enough;

	if (used + row->n > count / 4 * 3)
		return false;
	spw_guard_enter();
	enough = spw_lane_stock_slots(me, row->n) >= row->n &&
		 spw_lane_stock_blocks(me, row->n) >= row->n;
	for (uint32_t i = 0; enough && i < row->n; i++)
		row->slot[i] = lane->slots[--lane->nslots];
	spw_guard_leave();
	return enough;
}

static void
give_slots(struct spw_me *me, struct row *row)
{
	spw_guard_enter();
	for (uint32_t i = 0; i < row->n; i++)
		if (row->slot[i] != SPW_NONE)
			spw_lane_spare_slot(me, row->slot[i]);
	spw_guard_leave();
}

/* Blocks [i, i + n) of the row; zeros behind the end. */
static int
read_home(struct spw_me *me, int fd, const struct row *row, uint32_t i,
	  uint32_t n)
{
	uint64_t at = (row->key.number + i) << SPW_BLOCK_SHIFT;
	uint64_t size = (uint64_t)n << SPW_BLOCK_SHIFT, done = 0;

	while (done < size) {
		struct iovec io[ROW];
		uint32_t from = (uint32_t)(done >> SPW_BLOCK_SHIFT);
		uint32_t in = done & (SPW_BLOCK_SIZE - 1);
		int64_t got;

		for (uint32_t k = from; k < n; k++)
			io[k - from] = (struct iovec){
				spw_slot(me->map, row->slot[i + k]),
				SPW_BLOCK_SIZE,
			};
		io[0].iov_base = (uint8_t *)io[0].iov_base + in;
		io[0].iov_len -= in;
		got = spw_syscall(SYS_preadv, fd, (long)io, (long)(n - from),
				  (long)(at + done), 0, 0);
		if (got < 0)
			return (int)got;
		if (got == 0)
			memset(io[0].iov_base, 0, io[0].iov_len);
		done += got ? (uint64_t)got : io[0].iov_len;
	}
	return 0;
}

static void
install(struct spw_me *me, struct row *row, uint32_t i)
{
	struct spw_key key = row->key;
	struct spw_change change = { .scratch = SPW_NONE };
	struct spw_block *b;
	uint32_t idx;

	key.number += i;
	idx = spw_block_lock(me, &key);
	if (idx == SPW_NONE)
		return;
	b = &me->map->blocks[idx];
	change.after = b->state;
	if (!spw_block_is_dirty(b) && !b->state.npresent) {
		change.after.slot = row->slot[i];
		change.after.npresent = 1;
		change.after.present.r[0] =
			(struct spw_range){ 0, SPW_BLOCK_SIZE };
		spw_block_commit(me, idx, &change);
		row->slot[i] = SPW_NONE;
		atomic_store(&b->used, WANTED);
	}
	spw_unlock(&b->lock);
	SPW_FAILPOINT("fill-installed");
}

static bool
is_missing(struct spw_me *me, const struct row *row, uint32_t i)
{
	struct spw_file *f = &me->map->files[row->key.file];
	uint32_t spills = atomic_load(&f->spills);
	struct spw_key key = row->key;

	key.number += i;
	return spw_block_find(me, &key) == SPW_NONE &&
	       (!spw_below_any(f) || spw_below_is_home(me, &key, spills));
}

/* Nobody writes meanwhile: what is home now stays as it was read. */
static int
fill_row(struct spw_me *me, const struct spw_target *t, struct row *row)
{
	struct spw_file *f = &me->map->files[t->file];
	int r = 0;

	spw_gate_close(me, t->file);
	if (atomic_load(&f->bypass))
		r = -EBUSY;
	for (uint32_t i = 0, n; i < row->n && r == 0; i += n + 1) {
		for (n = 0; i + n < row->n && is_missing(me, row, i + n); n++)
			;
		if (n)
			r = read_home(me, t->fd, row, i, n);
		for (uint32_t k = i; k < i + n && r == 0; k++)
			install(me, row, k);
	}
	spw_gate_open(me, t->file);
	give_slots(me, row);
	return r;
}

static bool
is_below(struct spw_me *me, const struct row *row)
{
	struct spw_key key = row->key;

	if (!spw_below_any(&me->map->files[key.file]))
		return false;
	for (uint32_t i = 0; i < row->n; i++, key.number++)
		if (spw_below_has(me->map, &key))
			return true;
	return false;
}

int64_t
spw_fill(struct spw_me *me, const struct spw_target *t, uint64_t first,
	 uint64_t count)
{
	uint64_t done = 0;
	int r = 0;

	while (done < count && r == 0) {
		struct row row = {
			.key = { t->file, me->map->files[t->file].gen,
				 first + done },
			.n = (uint32_t)SPW_MIN(count - done, ROW),
		};

		if (!take_slots(me, &row))
			break;
		r = fill_row(me, t, &row);
		if (r == 0 && is_below(me, &row))
			r = spw_below_fetch(me, &row.key, row.n);
		done += row.n;
	}
	return r < 0 ? r : (int64_t)done;
}

void
spw_fill_hold(struct spw_map *map, uint32_t file, int64_t ms)
{
	_Atomic int64_t *until = &map->seg->staged_until;
	int64_t known = atomic_load(until), end = spw_now_ms() + ms;

	while (known < end &&
	       !atomic_compare_exchange_weak(until, &known, end))
		;
	spw_file_flag(&map->files[file], SPW_FILE_STAGED | SPW_FILE_DIRTIED);
}
