/* SPDX-License-Identifier: BSD-3-Clause */
/* sync.c -- fsync answered by a tier that survives a reboot */

/*
 * What is dirty in the files asked for is copied into objects, one sync makes
 * all of them durable (group commit), and everybody who asked is answered.
 * The blocks stay dirty and go home in their own time; until home is durable
 * the objects keep the promise. What went home without such a copy needs home
 * itself to be synced, and so does the file's name, once.
 *
 * Whoever replays the objects after a reboot puts the youngest that has a byte
 * over what home has. So an object must not outlive younger bytes that are
 * promised by home: where that might be, who asked is sent home, and what is
 * home then takes the place of all objects.
 */
#include <errno.h>
#include <stdlib.h>

#include "planner/aside.h"
#include "planner/chunks.h"
#include "planner/keep.h"
#include "planner/store.h"
#include "shm/failpoint.h"
#include "shm/files.h"
#include "shm/gate.h"
#include "shm/mask.h"
#include "shm/pool.h"
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
is_in(const uint64_t *files, uint32_t file)
{
	return files[file / 64] >> file % 64 & 1;
}

static uint32_t
words(const struct spw_drainer *d)
{
	return d->map->counts[SPW_POOL_FILES] / 64;
}

static uint32_t
count_asks(const struct spw_drainer *d)
{
	uint32_t n = 0;

	for (uint32_t w = 0; w < words(d); w++)
		n += (uint32_t)__builtin_popcountll(
			atomic_load(&d->map->syncs[w]));
	return n;
}

bool
spw_sync_is_asked(const struct spw_drainer *d)
{
	for (uint32_t w = 0; w < words(d); w++)
		if (atomic_load(&d->map->syncs[w]))
			return true;
	return false;
}

/* Who waits for another answer in this round is served by the next. A bit
 * without a ticket is from somebody who asked again just before he was
 * answered. Returns how many joined. */
static uint32_t
take_asks(struct spw_drainer *d)
{
	uint32_t n = 0;

	for (uint32_t w = 0; w < words(d); w++) {
		uint64_t bits = atomic_load(&d->map->syncs[w]) &
				~d->syncing[w];

		d->joining[w] = bits;
		if (!bits)
			continue;
		atomic_fetch_and(&d->map->syncs[w], ~bits);
		for (; bits; bits &= bits - 1) {
			uint32_t file = w * 64 +
					(uint32_t)__builtin_ctzll(bits);
			const struct spw_file *f = &d->map->files[file];

			d->sync_errs[file] = 0;
			d->sync_tickets[file] = atomic_load(&f->sync_asked);
			if (d->sync_tickets[file] == atomic_load(&f->sync_done))
				d->joining[w] &= ~(bits & -bits);
			else
				n++;
		}
	}
	return n;
}

/* Objects may be older than home, or the cut between two of them is lost, or
 * one is where a reboot takes it away. What the kernel has changed for somebody
 * they do not know: a sync that was served while all went home for him made
 * some of what was on its way, and they were not among those let go of. Where
 * the kernel serves the file, there is to be none: who leaves it says so and
 * then looks whether there are copies, and we do both the other way round. */
static bool
is_doubtful(struct spw_drainer *d, uint32_t file)
{
	const struct spw_home *h = spw_home_of(d, file);
	struct spw_file *f = &d->map->files[file];
	/* In a tier that is away there may be some. */
	bool away = d->store->partial &&
		    atomic_load(&f->flags) & SPW_FILE_COPIED;

	spw_file_flag(f, SPW_FILE_COPIED);
	return atomic_load(&f->bypass) || spw_store_misses(d, file) ||
	       ((d->store->of_file[file] || away) &&
		(h->unsynced || h->doubtful || !spw_store_lasts(d, file) ||
		 atomic_load(&f->flags) & SPW_FILE_TOUCHED));
}

/* Before bytes of the file are copied. As long as there is no object, none is
 * older than what the kernel has changed: home is to be synced for it, but it
 * casts no doubt on those that are made now. */
void
spw_sync_age(struct spw_drainer *d, uint32_t file)
{
	_Atomic uint32_t *flags = &d->map->files[file].flags;

	if (!(atomic_load(flags) & SPW_FILE_TOUCHED) ||
	    d->store->of_file[file] || d->store->partial ||
	    spw_store_is_sending(d, file))
		return;
	spw_home_of(d, file)->loose = true;
	atomic_fetch_and(flags, ~(uint32_t)SPW_FILE_TOUCHED);
}

static void
send_home(struct spw_drainer *d, uint32_t file)
{
	if (!is_doubtful(d, file))
		return;
	d->joining[file / 64] &= ~(1ull << file % 64);
	spw_home_of(d, file)->refused = true;
	spw_gate_tell_synced(d->map, spw_gate_synced(
		d->map, file, d->sync_tickets[file], -EAGAIN));
}

/* A tier that fails costs time: home is asked then. */
static void
copied(struct spw_drainer *d, struct spw_down *down)
{
	if (down->err || !spw_store_keep(d, down))
		d->sync_errs[down->file] = -EAGAIN;
}

/* What was gathered becomes an object. */
static void
emit(struct spw_drainer *d, struct gather *g)
{
	struct spw_down *down;
	uint8_t *raw;

	if (g->err)
		return;
	down = spw_store_begin(d, true);
	down->file = g->file;
	down->over = copied;
	down->o.offset = g->from;
	down->o.length = g->to - g->from;
	down->o.flags = SPW_OBJECT_SYNC;
	raw = spw_store_raw(d, down, true);
	if (raw)
		memcpy(raw, d->store->scratch, down->o.length);
	g->err = raw ? spw_store_put(d, down) : -ENOSPC;
	if (g->err)
		spw_store_cancel(d, down);
	g->any = true;
	g->from = g->to;
	if (!g->err)
		spw_home_of(d, g->file)->logged_size = down->o.file_size;
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
	const uint8_t *slot = spw_slot(d->map, b->state.slot);
	struct spw_mask all;
	uint32_t from = 0, to;

	spw_mask_unhomed(d->map, &b->state, &all);
	for (; spw_mask_next(&all, &from, &to); from = to)
		gather(d, g, (b->number << SPW_BLOCK_SHIFT) + from,
		       slot + from, to - from);
	b->state.safe = SPW_SAVING;
}

static void
copy_block(struct spw_drainer *d, struct gather *g,
	   const struct spw_candidate *c)
{
	struct spw_block *b = &d->map->blocks[c->idx];
	uint32_t got;

	spw_guard_enter();
	got = spw_block_lock_soon(&d->me, c->idx, &c->key);
	if (got == SPW_HELD)
		d->sync_errs[c->key.file] = -EAGAIN;
	if (got == c->idx) {
		if (spw_block_is_dirty(b) && b->state.safe != SPW_SAFE &&
		    spw_block_is_sound(d->map, &b->state) &&
		    b->state.slot != SPW_NONE)
			gather_block(d, g, b);
		spw_unlock(&b->lock);
	}
	spw_guard_leave();
}

/* One whose lock is not to be had is copied once more the next time. */
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

/* What is safe already may be much: it stays dirty until it is home. Who asked
 * did so after his writes, so what they changed is seen without the lock. */
static void
add_candidate(struct spw_drainer *d, uint32_t idx, const uint64_t *files)
{
	const struct spw_block *b = &d->map->blocks[idx];
	struct spw_key key = spw_block_key(b);

	if (key.file >= d->map->counts[SPW_POOL_FILES] ||
	    !is_in(files, key.file) || spw_glance8(&b->state.safe) == SPW_SAFE)
		return;
	if (d->nsync_found == d->map->counts[SPW_POOL_BLOCKS])
		d->sync_errs[key.file] = -EAGAIN;
	else
		d->sync_found[d->nsync_found++] =
			(struct spw_candidate){ key, idx };
}

static void
add_moving(struct spw_drainer *d, uint32_t idx, const uint64_t *files)
{
	if (!(atomic_load(&d->map->dirty[idx / 64]) >> idx % 64 & 1))
		add_candidate(d, idx, files);
}

/* Dirty blocks, and those on their way home right now or back; behind what was
 * found before. */
static void
collect(struct spw_drainer *d, const uint64_t *files)
{
	struct spw_map *map = d->map;
	uint32_t before = d->nsync_found;

	for (uint32_t w = 0; w < spw_pool_words(map, SPW_POOL_BLOCKS); w++)
		for (uint64_t bits = atomic_load(&map->dirty[w]); bits;
		     bits &= bits - 1)
			add_candidate(d, w * 64 + (uint32_t)
				      __builtin_ctzll(bits), files);
	for (int r = 0; r < SPW_RUNS; r++)
		for (uint32_t i = 0; d->runs[r].busy &&
		     i < d->runs[r].nblocks; i++)
			add_moving(d, d->runs[r].block[i], files);
	for (uint32_t i = 0; i < d->nlate; i++)
		add_moving(d, d->late[i].at.idx, files);
	qsort(d->sync_found + before, d->nsync_found - before,
	      sizeof(*d->sync_found), spw_compare);
}

/* A size that nothing tells yet. */
static void
note_size(struct spw_drainer *d, uint32_t file, struct gather *g)
{
	const struct spw_file *f = &d->map->files[file];

	const struct spw_home *h = spw_home_of(d, file);

	if (g->any || (!atomic_load(&f->low) && !h->kept_cut &&
		       h->logged_size == atomic_load(&f->size)))
		return;
	*g = (struct gather){ .file = file, .err = g->err };
	emit(d, g);
}

/* Copies what is dirty of one file, found from i on; returns where the next
 * one begins. */
static uint32_t
copy_file(struct spw_drainer *d, uint32_t file, uint32_t i)
{
	struct gather g = { .file = file };
	uint32_t n = d->nsync_found;

	while (i < n && d->sync_found[i].key.file < file)
		i++;
	for (; i < n && d->sync_found[i].key.file == file; i++)
		copy_block(d, &g, &d->sync_found[i]);
	if (g.to > g.from)
		emit(d, &g);
	note_size(d, file, &g);
	if (g.err)
		d->sync_errs[file] = -EAGAIN;
	return i;
}

struct syncing {
	struct spw_file *f;
	uint32_t gen;
	int fd;
};

static int64_t
call_fsync(void *arg)
{
	const struct syncing *s = arg;

	return spw_syscall(SYS_fsync, s->fd, 0, 0, 0, 0, 0);
}

/* The kernel says it once; the next fsync would hear nothing of it. */
static void
note_late(void *arg, int64_t result)
{
	const struct syncing *s = arg;

	if (result < 0 && result != -ECANCELED && s->gen == s->f->gen)
		spw_file_fail(s->f, (int)-result);
}

int
spw_sync_home(struct spw_drainer *d, uint32_t file, int fd, bool forget_cut,
	      bool *ret_was_cut)
{
	struct spw_home *h = spw_home_of(d, file);
	struct spw_file *f = &d->map->files[file];
	uint64_t low = atomic_exchange(&f->low, 0);
	struct syncing s = { f, f->gen, fd };
	int r = (int)spw_aside_call(d->aside, f->dev, call_fsync, &s, sizeof(s),
				    note_late);

	if (r < 0) {
		if (low)
			spw_file_note_low(f, low - 1);
		return r;
	}
	low = spw_file_lowest(low, h->kept_cut);
	h->kept_cut = forget_cut ? 0 : low;
	h->uncut = false;
	*ret_was_cut = forget_cut && low;
	return 0;
}

/* Home itself, for what no object has. */
static int
sync_home(struct spw_drainer *d, uint32_t file)
{
	struct spw_home *h = spw_home_of(d, file);
	struct spw_file *f = &d->map->files[file];
	int fd = spw_home_open(d, file);
	bool was_cut, touched;
	int r;

	if (fd < 0)
		return fd;
	/* Before the change there were no objects, so none is older. */
	touched = atomic_fetch_and(&f->flags, ~(uint32_t)SPW_FILE_TOUCHED) &
		  SPW_FILE_TOUCHED;
	if (!touched && !h->unsynced && !h->loose && h->named && !h->uncut &&
	    !atomic_load(&f->low))
		return 0;
	r = spw_sync_home(d, file, fd, !d->store->of_file[file], &was_cut);
	if (r == 0) {
		h->unsynced = h->loose = false;
		h->named = true;
	} else if (touched) {
		spw_file_flag(f, SPW_FILE_TOUCHED);
	}
	return r;
}

static void
for_each(struct spw_drainer *d, const uint64_t *files,
	 void (*act)(struct spw_drainer *, uint32_t))
{
	for (uint32_t w = 0; w < words(d); w++)
		for (uint64_t bits = files[w]; bits; bits &= bits - 1)
			act(d, w * 64 + (uint32_t)__builtin_ctzll(bits));
}

static void
secure_file(struct spw_drainer *d, uint32_t file)
{
	int r = sync_home(d, file);

	if (r < 0)
		d->sync_errs[file] = r;
}

/* What is in a tier that could not be synced is promised by home alone. */
static void
check_file(struct spw_drainer *d, uint32_t file)
{
	if (!d->sync_errs[file] && !spw_store_is_safe(d, file))
		d->sync_errs[file] = -EAGAIN;
}

/* Files that the tier's thread can answer: what may still go wrong with them
 * goes wrong there, and it knows. */
static void
note_answer(struct spw_drainer *d, uint32_t file)
{
	if (!d->sync_errs[file])
		d->answers[d->nanswers++] = (struct spw_answer){
			file, d->sync_tickets[file] };
}

/* By the tier's thread. What the drainer has yet to note, a successor would
 * find in the tier. */
static uint32_t
answer_at_once(void *arg)
{
	struct spw_drainer *d = arg;
	uint32_t bits = 0;

	d->nwaiting = count_asks(d);
	for (uint32_t i = 0; i < d->nanswers; i++)
		bits |= spw_gate_synced(d->map, d->answers[i].file,
					d->answers[i].ticket, 0);
	return bits;
}

static void
tell_at_once(void *arg, uint32_t bits)
{
	const struct spw_drainer *d = arg;

	spw_gate_tell_synced(d->map, bits);
}

static void
answer_file(struct spw_drainer *d, uint32_t file)
{
	if (!d->sync_errs[file]) {
		spw_store_promise(d, file);
		spw_home_of(d, file)->synced_at = spw_now_ms();
		atomic_fetch_add(&d->map->seg->syncs_down, 1);
	} else {
		spw_home_of(d, file)->refused = true;
	}
	if (!d->answered || d->sync_errs[file])
		d->sync_bits |= spw_gate_synced(d->map, file,
						d->sync_tickets[file],
						d->sync_errs[file]);
	d->sync_width++;
}

static void
copy_files(struct spw_drainer *d, const uint64_t *files)
{
	uint32_t i = d->nsync_found;

	collect(d, files);
	for (uint32_t w = 0; w < words(d); w++)
		for (uint64_t bits = files[w]; bits; bits &= bits - 1)
			i = copy_file(d, w * 64 + (uint32_t)
				      __builtin_ctzll(bits), i);
}

/* What was copied of the files of d->syncing is durable in tiers afterwards,
 * or d->sync_errs says why not. */
static void
make_durable(struct spw_drainer *d, struct spw_apart_then then)
{
	SPW_FAILPOINT("sync-copied");
	(void)spw_store_sync_then(d, then, &d->answered);
	for_each(d, d->syncing, check_file);
	SPW_FAILPOINT("sync-durable");
	for (uint32_t i = 0; i < d->nsync_found; i++)
		mark(d, &d->sync_found[i],
		     !d->sync_errs[d->sync_found[i].key.file]);
	SPW_FAILPOINT("sync-marked");
	d->nsync_found = 0;
}

static void
copy_all(struct spw_drainer *d)
{
	const struct spw_apart_then nothing = { 0 };

	copy_files(d, d->syncing);
	make_durable(d, nothing);
}

/* Those who joined are part of the round from now on. */
static void
prepare(struct spw_drainer *d)
{
	for_each(d, d->joining, send_home);
	for_each(d, d->joining, secure_file);
	SPW_FAILPOINT("sync-home");
	copy_files(d, d->joining);
	for (uint32_t w = 0; w < words(d); w++)
		d->syncing[w] |= d->joining[w];
}

/* Ranks that were answered together will ask together again, a moment after
 * the first of them, and so will those who asked meanwhile: then one sync
 * serves all. What the first of them have written is copied by then. */
void
spw_sync_serve(struct spw_drainer *d)
{
	const struct spw_apart_then then = { answer_at_once, tell_at_once, d };
	const _Atomic uint32_t *asks = &d->map->seg->asks;
	uint32_t seen, joined, n = 0, width = 0;
	struct spw_spin spin;

	if (!d->store)
		return;
	if (spw_now_ns() - d->sync_ended < SPW_SPIN_NS)
		width = d->sync_width;
	memset(d->syncing, 0, words(d) * sizeof(*d->syncing));
	do {
		spin = (struct spw_spin){ 0 };	/* in vain: fewer next time */
		seen = atomic_load(asks);
		joined = take_asks(d);
		if (joined && !n) {
			SPW_FAILPOINT("sync-asked");
			spw_store_reap(d, true);
			spw_store_expect(d);
		}
		if (joined)
			prepare(d);
		n += joined;
	} while (joined && n < width &&
		 spw_spin_among(&spin, asks, seen + 1));
	if (!n)
		return;
	d->nanswers = d->sync_bits = 0;
	for_each(d, d->syncing, note_answer);
	make_durable(d, then);
	if (!d->answered)
		d->nwaiting = count_asks(d);
	d->sync_width = d->nwaiting;
	for_each(d, d->syncing, answer_file);
	spw_gate_tell_synced(d->map, d->sync_bits);
	d->sync_ended = spw_now_ns();
}

bool
spw_sync_is_near(struct spw_drainer *d)
{
	const _Atomic uint32_t *asks = &d->map->seg->asks;
	uint32_t seen = atomic_load(asks);

	if (!d->store || spw_now_ns() - d->sync_ended >= SPW_SPIN_NS)
		return false;
	return spw_sync_is_asked(d) ||
	       spw_spin_among(&d->next_spin, asks, seen + 1);
}

/* All that can be copied as it is; home is not asked, it may be hanging. */
static bool
choose_unsettled(struct spw_drainer *d)
{
	struct spw_map *map = d->map;
	uint32_t ready = spw_seg_ready(map, SPW_POOL_FILES);
	bool all = true;

	memset(d->syncing, 0, map->counts[SPW_POOL_FILES] / 64 *
	       sizeof(*d->syncing));
	for (uint32_t i = 0; i < ready; i++) {
		if (!(atomic_load(&map->owners[SPW_POOL_FILES][i]) &
		      SPW_IN_USE) || !spw_file_is_unsettled(&map->files[i]) ||
		    atomic_load(&map->files[i].flags) & SPW_FILE_UNLINKED)
			continue;
		d->sync_errs[i] = 0;
		spw_sync_age(d, i);
		if (is_doubtful(d, i))
			all = false;
		else
			d->syncing[i / 64] |= 1ull << i % 64;
	}
	return all;
}

/* The objects are all that a file needs, or it is not kept. */
static bool
promise_all(struct spw_drainer *d)
{
	uint32_t ready = spw_seg_ready(d->map, SPW_POOL_FILES);
	bool all = true;

	for (uint32_t i = 0; i < ready; i++) {
		if (is_in(d->syncing, i) && !d->sync_errs[i]) {
			spw_store_promise(d, i);
		} else if (is_in(d->syncing, i)) {
			spw_keep_lose(d, i, SPW_KEEP_NO_ROOM);
			all = false;
		}
		if (atomic_load(&d->map->files[i].keep) == SPW_KEEP_YES &&
		    (!is_in(d->syncing, i) || is_doubtful(d, i)))
			spw_keep_lose(d, i, SPW_KEEP_PARTLY);
	}
	return all;
}

/* Nobody relies on home for it: the bytes that went there are the kernel's,
 * and only a loss of power would take them. */
static int
save_all(struct spw_drainer *d)
{
	bool all;

	spw_keep_judge(d);
	if (!d->store || !atomic_load(&d->map->seg->durable))
		return -ENOTSUP;
	spw_store_reap(d, true);
	all = choose_unsettled(d);
	copy_all(d);
	return promise_all(d) && all ? 0 : -EAGAIN;
}

/* The last object of each tells its name and its size. */
static void
forget_size(struct spw_drainer *d, uint32_t file)
{
	spw_home_of(d, file)->logged_size = UINT64_MAX;
}

/* Home is asked: what a cut took away must not come back. */
void
spw_sync_keep(struct spw_drainer *d)
{
	if (!d->store)
		return;
	spw_store_reap(d, true);
	spw_keep_judge(d);
	(void)choose_unsettled(d);
	for_each(d, d->syncing, secure_file);
	for_each(d, d->syncing, forget_size);
	copy_all(d);
	(void)promise_all(d);
}

void
spw_sync_save(struct spw_drainer *d)
{
	struct spw_seg *seg = d->map->seg;
	uint32_t ticket = atomic_load(&seg->save_asked);

	if (ticket == atomic_load(&seg->save_done))
		return;
	atomic_store(&seg->save_err, save_all(d));
	atomic_store(&seg->save_done, ticket);
}

/* The tiers fill up with promises: home is asked to keep them. */
void
spw_sync_relieve(struct spw_drainer *d)
{
	struct spw_map *map = d->map;

	if (!spw_store_is_short(d))
		return;
	for (uint32_t i = 0; i < map->counts[SPW_POOL_FILES]; i++) {
		struct spw_file *f = &map->files[i];

		if (!spw_store_has_promised(d, i, UINT64_MAX) ||
		    atomic_load(&f->asked) != atomic_load(&f->done))
			continue;
		atomic_fetch_add(&f->asked, 1);
		atomic_fetch_or(&map->asks[i / 64], 1ull << i % 64);
	}
}
