/* SPDX-License-Identifier: BSD-3-Clause */
/* sync.c -- fsync answered by a tier that survives a reboot */

/*
 * What is dirty in the files asked for is copied into objects, one sync makes
 * all of them durable (group commit), and everybody who asked is answered.
 * The blocks stay dirty and go home in their own time; until home is durable
 * the objects keep the promise. What went home without such a copy needs home
 * itself to be synced, and so does the file's name, once.
 *
 * Where home has become newer than an object in this way, the object must go
 * before we answer, or a recovery would write it over what is newer. So who
 * asked is sent home: his next question lets everything arrive there, and the
 * objects go.
 */
#include <errno.h>
#include <stdlib.h>

#include "planner/chunks.h"
#include "planner/store.h"
#include "shm/files.h"
#include "shm/gate.h"
#include "shm/ranges.h"
#include "shm/sys.h"
#include "shm/util.h"

enum { GATHER = SPW_CHUNK_BLOCKS * SPW_BLOCK_SIZE };

struct gather {				/* bytes without a gap, of one file */
	uint32_t file;
	uint64_t from, to;
	bool any;			/* an object was made of the file */
	int err;
};

static bool
is_asked(const struct spw_drainer *d, uint32_t file)
{
	return d->syncing[file / 64] >> file % 64 & 1;
}

static bool
take_asks(struct spw_drainer *d)
{
	bool any = false;

	for (uint32_t w = 0; w < d->map->counts[SPW_POOL_FILES] / 64; w++) {
		uint64_t bits = atomic_exchange(&d->map->syncs[w], 0);

		d->syncing[w] = bits;
		any |= bits != 0;
		for (; bits; bits &= bits - 1) {
			uint32_t file = w * 64 +
					(uint32_t)__builtin_ctzll(bits);

			d->sync_tickets[file] =
				atomic_load(&d->map->files[file].sync_asked);
		}
	}
	return any;
}

static void
copied(struct spw_drainer *d, struct spw_down *down)
{
	if (down->x.err || !spw_store_keep(d, down))
		d->sync_err = down->x.err ? down->x.err : -ENOMEM;
}

/* What was gathered becomes an object. */
static void
emit(struct spw_drainer *d, struct gather *g)
{
	struct spw_down *down;
	uint8_t *raw;

	if (g->err)
		return;
	down = spw_store_begin(d);
	down->file = g->file;
	down->over = copied;
	down->o.offset = g->from;
	down->o.length = g->to - g->from;
	down->o.flags = SPW_OBJECT_SYNC;
	raw = spw_store_raw(d, down, true);
	if (raw && raw != d->store->scratch)
		memcpy(raw, d->store->scratch, down->o.length);
	g->err = raw ? spw_store_put(d, down) : -ENOSPC;
	if (g->err)
		spw_store_cancel(down);
	g->any = true;
	g->from = g->to;
	d->homes[g->file].logged_size = down->o.file_size;
}

static void
gather(struct spw_drainer *d, struct gather *g, uint64_t at,
       const uint8_t *bytes, uint64_t n)
{
	if (g->to != at || g->to - g->from + n > GATHER) {
		if (g->to > g->from)
			emit(d, g);
		g->from = g->to = at;
	}
	memcpy(d->store->scratch + (g->to - g->from), bytes, n);
	g->to += n;
}

/* The block is locked: as it is now goes into the copy. */
static void
gather_block(struct spw_drainer *d, struct gather *g, struct spw_block *b)
{
	struct spw_ranges all = b->state.dirty;
	uint8_t n = b->state.ndirty;
	const uint8_t *slot = spw_slot(d->map, b->state.slot);

	if (!spw_ranges_unite(&all, &n, &b->state.moving, b->state.nmoving)) {
		all = b->state.present;
		n = b->state.npresent;
	}
	for (uint8_t i = 0; i < n; i++)
		gather(d, g, (b->number << SPW_BLOCK_SHIFT) + all.r[i].from,
		       slot + all.r[i].from,
		       (uint64_t)all.r[i].to - all.r[i].from);
	b->state.safe = SPW_SAVING;
}

static void
copy_block(struct spw_drainer *d, struct gather *g,
	   const struct spw_candidate *c)
{
	struct spw_block *b = &d->map->blocks[c->idx];

	spw_guard_enter();
	if (spw_block_lock_index(&d->me, c->idx, &c->key)) {
		if (spw_block_is_dirty(b) && b->state.safe != SPW_SAFE &&
		    spw_block_is_sound(d->map, &b->state) &&
		    b->state.slot != SPW_NONE)
			gather_block(d, g, b);
		spw_unlock(&b->lock);
	}
	spw_guard_leave();
}

static void
mark(struct spw_drainer *d, const struct spw_candidate *c, bool safe)
{
	struct spw_block *b = &d->map->blocks[c->idx];

	spw_guard_enter();
	if (spw_block_lock_index(&d->me, c->idx, &c->key)) {
		if (b->state.safe == SPW_SAVING)
			b->state.safe = safe ? SPW_SAFE : SPW_UNSAFE;
		spw_unlock(&b->lock);
	}
	spw_guard_leave();
}

static void
add_candidate(struct spw_drainer *d, uint32_t idx, uint32_t *n)
{
	const struct spw_block *b = &d->map->blocks[idx];

	if (b->file < d->map->counts[SPW_POOL_FILES] && is_asked(d, b->file))
		d->sync_found[(*n)++] = (struct spw_candidate){
			{ b->file, b->file_gen, b->number }, idx,
		};
}

/* Dirty blocks, and those on their way home right now. */
static uint32_t
collect(struct spw_drainer *d)
{
	struct spw_map *map = d->map;
	uint32_t n = 0;

	for (uint32_t w = 0; w < map->counts[SPW_POOL_BLOCKS] / 64; w++)
		for (uint64_t bits = atomic_load(&map->dirty[w]); bits;
		     bits &= bits - 1)
			add_candidate(d, w * 64 + (uint32_t)
				      __builtin_ctzll(bits), &n);
	for (int r = 0; r < SPW_RUNS; r++)
		for (uint32_t i = 0; d->runs[r].busy &&
		     i < d->runs[r].nblocks; i++)
			if (!(atomic_load(&map->dirty[d->runs[r].block[i] /
						      64]) >>
			      d->runs[r].block[i] % 64 & 1))
				add_candidate(d, d->runs[r].block[i], &n);
	qsort(d->sync_found, n, sizeof(*d->sync_found), spw_compare);
	return n;
}

/* A size that nothing tells yet. */
static void
note_size(struct spw_drainer *d, uint32_t file, struct gather *g)
{
	const struct spw_file *f = &d->map->files[file];

	if (g->any || (!atomic_load(&f->low) &&
		       d->homes[file].logged_size == atomic_load(&f->size)))
		return;
	*g = (struct gather){ .file = file, .err = g->err };
	emit(d, g);
}

/* Copies what is dirty of one file, found from i on; returns where the next
 * one begins. */
static uint32_t
copy_file(struct spw_drainer *d, uint32_t file, uint32_t i, uint32_t n)
{
	struct gather g = { .file = file };

	while (i < n && d->sync_found[i].key.file < file)
		i++;
	for (; i < n && d->sync_found[i].key.file == file; i++)
		copy_block(d, &g, &d->sync_found[i]);
	if (g.to > g.from)
		emit(d, &g);
	note_size(d, file, &g);
	if (g.err)
		d->sync_err = g.err;
	return i;
}

/* Home itself, for what no object has. */
static int
sync_home(struct spw_drainer *d, uint32_t file)
{
	struct spw_home *h = &d->homes[file];
	int fd = spw_home_open(d, file);
	int r;

	if (fd < 0)
		return fd;
	if (!h->unsynced && h->named)
		return 0;
	r = (int)spw_syscall(SYS_fsync, fd, 0, 0, 0, 0, 0);
	if (r == 0) {
		h->unsynced = false;
		h->named = true;
	}
	return r;
}

static void
for_asked(struct spw_drainer *d, void (*act)(struct spw_drainer *, uint32_t))
{
	for (uint32_t w = 0; w < d->map->counts[SPW_POOL_FILES] / 64; w++)
		for (uint64_t bits = d->syncing[w]; bits; bits &= bits - 1)
			act(d, w * 64 + (uint32_t)__builtin_ctzll(bits));
}

static void
secure_file(struct spw_drainer *d, uint32_t file)
{
	int r = sync_home(d, file);

	if (r < 0)
		d->sync_err = r;
}

static void
answer_file(struct spw_drainer *d, uint32_t file)
{
	struct spw_file *f = &d->map->files[file];
	int err = d->homes[file].stale ? -ESTALE : d->sync_err;

	if (!err) {
		spw_store_promise(d, file);
		atomic_fetch_add(&d->map->seg->syncs_down, 1);
	}
	d->homes[file].in_doubt |= err != 0;
	atomic_store(&f->sync_err, err);
	atomic_store(&f->sync_done, d->sync_tickets[file]);
	spw_sys_futex_wake(&f->sync_done, INT32_MAX);
}

void
spw_sync_serve(struct spw_drainer *d)
{
	uint32_t n, i = 0;
	int r;

	if (!d->store || !take_asks(d))
		return;
	d->sync_err = 0;
	spw_store_reap(d, true);
	n = collect(d);
	for (uint32_t w = 0; w < d->map->counts[SPW_POOL_FILES] / 64; w++)
		for (uint64_t bits = d->syncing[w]; bits; bits &= bits - 1)
			i = copy_file(d, w * 64 + (uint32_t)
				      __builtin_ctzll(bits), i, n);
	for_asked(d, secure_file);
	r = spw_store_sync(d);
	if (r < 0)
		d->sync_err = r;
	for (i = 0; i < n; i++)
		mark(d, &d->sync_found[i], !d->sync_err);
	for_asked(d, answer_file);
}

static void
marked(struct spw_drainer *d, struct spw_down *down)
{
	d->mark = down->x.err ? 0 : spw_store_keep(d, down);
}

/* Says durably that all of the file up to seq is home: of several objects an
 * older one must not outlive a newer one. Where no tier takes it they have to
 * go without. */
static int
put_mark(struct spw_drainer *d, uint32_t file, uint64_t seq)
{
	struct spw_down *down = spw_store_begin(d);

	d->mark = 0;
	down->file = file;
	down->over = marked;
	down->o.offset = down->o.length = 0;
	down->o.flags = SPW_OBJECT_HOME;
	if (!spw_store_raw(d, down, true)) {
		spw_store_cancel(down);
		return 0;
	}
	if (down->o.cut != UINT64_MAX)	/* is for the next object to tell */
		spw_gate_note_cut(&d->map->files[file], down->o.cut);
	down->o.cut = UINT64_MAX;
	down->o.seq = SPW_MIN(seq, down->o.seq);
	if (spw_store_put(d, down) < 0) {
		spw_store_cancel(down);
		return 0;
	}
	return spw_store_sync(d);
}

int
spw_sync_release(struct spw_drainer *d, uint32_t file, uint64_t seq)
{
	const struct spw_home *h = &d->homes[file];
	bool several;
	int fd, r;

	if (!spw_store_has_promised(d, file, seq))
		return 0;
	if ((h->retry_at > spw_now_ms() && h->gen == d->map->files[file].gen) ||
	    spw_store_is_needed(d, file, seq))
		return 0;		/* some of it did not get home */
	several = spw_store_count(d, file, seq) > 1;
	fd = spw_home_open(d, file);
	r = fd < 0 ? fd : (int)spw_syscall(SYS_fsync, fd, 0, 0, 0, 0, 0);
	if (r < 0)
		return r;
	d->homes[file].unsynced = false;
	d->mark = 0;
	if (several)
		r = put_mark(d, file, seq);
	if (r < 0)
		return r;
	spw_store_release(d, file, seq);
	r = spw_store_sync(d);
	if (d->mark && r == 0)
		spw_store_lapse(d, d->mark);
	return r;
}
