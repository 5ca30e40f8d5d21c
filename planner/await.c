/* SPDX-License-Identifier: BSD-3-Clause */
/* await.c -- what the tiers were given: waiting for it, and giving up */

/*
 * A tier that stalls must not stop the drainer. Its calls are made by a thread
 * of its own (tiers/apart.h), and what the drainer has to wait for it waits
 * for no longer than SPW_APART_MS without a sign of life. From then on the
 * tier is deaf:
 *
 *	puts	are over for those who made them, as if they had failed: the
 *		blocks are still in memory, become dirty again and go home or
 *		elsewhere. The buffer, a copy, stays the tier's (late) until
 *		it comes back; then the object, which nobody counts on, is
 *		dropped.
 *	reads	are not to be had (-ETIMEDOUT), which is not an error: who
 *		wants the bytes waits, and everybody else is served.
 *	sync	fails, for the files that have something there that is not
 *		safe yet. They are sent home.
 *	drops	are noted, and carried out when it is heard of again.
 *	new	objects go to other tiers, or home; so do those that workers
 *		were packing for it.
 *
 * As soon as anything comes back from it, it is a tier like the others again.
 */
#include <errno.h>

#include "planner/advice.h"
#include "planner/held.h"
#include "shm/files.h"
#include "shm/util.h"

enum {
	SHUN_MS = 1000, FULL_MS = 100, STAMP_MS = 1000,
	PACK_MS = 1000,			/* a worker rings long before that */
};

static void
note_end(struct spw_drainer *d, struct spw_down *down)
{
	struct spw_level *l = &d->store->level[down->tier];
	struct spw_seg *seg = d->map->seg;

	if (down->err) {
		l->shunned_until = spw_now_ms() +
				   (down->err == -ENOSPC ? FULL_MS : SHUN_MS);
		/* Younger ones may be there already. */
		if (down->o.cut != UINT64_MAX)
			d->homes[down->file].doubtful = true;
	} else {
		atomic_fetch_add(&seg->requests_down, 1);
		atomic_fetch_add(&seg->bytes_down, down->o.length);
		atomic_fetch_add(&seg->stored_down, down->x.len);
	}
	spw_advice_over(d, down);
	spw_log_down(d, down);
	down->over(d, down);
}

static void
end(struct spw_drainer *d, struct spw_level *l, struct spw_transfer *x)
{
	struct spw_down *down = x->user;

	if (x->up) {
		l->reading = false;
		return;
	}
	if (!down->late) {
		down->err = x->err;
		note_end(d, down);
	} else if (!x->err) {
		spw_apart_drop(l->tier, x->place);
		l->unsynced = true;
	}
	down->busy = down->sent = down->late = false;
}

static void
give_up(struct spw_drainer *d, uint32_t level)
{
	struct spw_store *s = d->store;

	for (uint32_t i = 0; i < s->ndown; i++) {
		struct spw_down *down = &s->down[i];

		if (!down->sent || down->late || down->tier != level)
			continue;
		down->late = true;
		down->err = -ETIMEDOUT;
		note_end(d, down);
	}
}

static void
moved(void *arg, uint64_t from, uint64_t to)
{
	spw_held_move(arg, from, to);
}

/* Sends what workers have packed. */
static void
send_packed(struct spw_drainer *d)
{
	struct spw_store *s = d->store;
	struct spw_down *down;

	while ((down = (struct spw_down *)spw_pack_reap(&s->crew))) {
		struct spw_level *l = &s->level[down->tier];

		l->reserved -= down->reserved;
		down->err = l->deaf ? -ETIMEDOUT
				    : (int)SPW_MIN(down->pack.stored, 0);
		if (!down->err) {
			spw_store_send(d, down);
			continue;
		}
		note_end(d, down);
		down->busy = false;
	}
}

/* Takes what came back, and notes who is deaf. */
static void
collect(struct spw_drainer *d)
{
	struct spw_store *s = d->store;

	send_packed(d);
	for (uint32_t i = 0; i < s->nlevels; i++) {
		struct spw_held_mover mover = { d, i };
		struct spw_level *l = &s->level[i];
		struct spw_transfer *x;

		l->deaf = spw_apart_patience(l->tier) == 0;
		spw_apart_moves(l->tier, moved, &mover);
		while ((x = spw_apart_reap(l->tier)))
			end(d, l, x);
		if (l->deaf)
			give_up(d, i);
	}
}

/* Until something comes back; false: nothing can be hoped for. */
static bool
await(struct spw_drainer *d)
{
	struct spw_store *s = d->store;
	int64_t ms = s->crew.under_way ? PACK_MS : 0;

	for (uint32_t i = 0; i < s->nlevels; i++) {
		int64_t left = spw_apart_patience(s->level[i].tier);

		spw_apart_go(s->level[i].tier);
		if (left > 0 && (!ms || left < ms))
			ms = left;
	}
	if (ms)
		spw_bell_wait(s->bell, ms);
	collect(d);
	return ms;
}

static bool
is_any_down(const struct spw_store *s)
{
	for (uint32_t i = 0; i < s->ndown; i++)
		if (s->down[i].busy && !s->down[i].late)
			return true;
	return false;
}

void
spw_store_reap(struct spw_drainer *d, bool wait)
{
	if (!d->store)
		return;
	collect(d);
	while (wait && is_any_down(d->store) && await(d))
		;
}

/* Those that are late do not count: their tier is not to take all of them. */
static struct spw_down *
find_free(struct spw_store *s)
{
	struct spw_down *down = NULL;
	uint32_t busy = 0;

	for (uint32_t i = 0; i < s->ndown; i++) {
		if (!s->down[i].busy)
			down = &s->down[i];
		else
			busy += !s->down[i].late;
	}
	return busy < SPW_DOWN_DEPTH ? down : NULL;
}

struct spw_down *
spw_store_begin(struct spw_drainer *d)
{
	struct spw_down *down;

	while (!(down = find_free(d->store)))
		(void)await(d);
	down->busy = true;
	down->sent = false;
	down->nblocks = 0;
	return down;
}

/* What has been put until now. */
static bool
begin_sync(struct spw_level *l)
{
	if (!l->unsynced || l->deaf || !spw_apart_sync(l->tier))
		return false;
	l->unsynced = false;
	return true;
}

/* The puts that it was ordered after came back before it was over: they are
 * taken first, since they count as safe from then on. */
static bool
is_syncing(struct spw_drainer *d, struct spw_level *l)
{
	int r = l->syncing ? spw_apart_synced(l->tier) : 0;

	if (!l->syncing || (r == -EINPROGRESS && !l->deaf))
		return l->syncing;
	collect(d);
	l->syncing = false;
	if (r < 0) {
		l->shunned_until = spw_now_ms() + SHUN_MS;
		l->unsynced = true;
		l->sync_err = r;
	} else {
		l->syncs++;
	}
	return false;
}

static bool
is_any_syncing(struct spw_drainer *d)
{
	struct spw_store *s = d->store;
	bool any = false;

	for (uint32_t i = 0; i < s->nlevels; i++)
		any |= is_syncing(d, &s->level[i]);
	return any;
}

int
spw_store_sync(struct spw_drainer *d)
{
	struct spw_store *s = d->store;
	int err = 0;

	collect(d);
	while (s->crew.under_way && await(d))
		;
	for (uint32_t i = 0; i < s->nlevels; i++)
		s->level[i].syncing = begin_sync(&s->level[i]);
	while (is_any_syncing(d))
		(void)await(d);
	spw_store_reap(d, true);	/* of tiers that were not asked */
	for (uint32_t i = 0; i < s->nlevels && !err; i++)
		if (s->level[i].unsynced)
			err = s->level[i].sync_err ? s->level[i].sync_err
						   : -ETIMEDOUT;
	if (err == 0) {
		s->inherited = false;
		s->safe = s->numbers;
		spw_marks_retire(d);
	}
	return err;
}

bool
spw_store_is_safe(struct spw_drainer *d, uint32_t file)
{
	const struct spw_store *s = d->store;

	for (uint32_t i = s->of_file[file]; i && s->held[i].number > s->safe;
	     i = s->held[i].next)
		if (s->held[i].due > s->level[s->held[i].tier].syncs)
			return false;
	return true;
}

int
spw_await_read(struct spw_drainer *d, uint32_t held, uint64_t at,
	       uint64_t len, const uint8_t **ret_bytes)
{
	uint64_t skip = at % SPW_TIER_ALIGN;
	uint32_t level;
	struct spw_level *l;
	int64_t began;

	collect(d);
	level = d->store->held[held].tier;
	l = &d->store->level[level];
	if (l->reading || l->deaf)
		return -EINPROGRESS;
	/* From a multiple on: a tier reads it to where it belongs. */
	l->up = (struct spw_transfer){
		.up = true, .place = d->store->held[held].place,
		.at = at - skip, .len = skip + len, .buf = l->up.buf,
	};
	l->reading = true;
	began = spw_now_ns();
	spw_apart_move(l->tier, &l->up, false);
	while (l->reading && !l->deaf)
		(void)await(d);
	*ret_bytes = (const uint8_t *)l->up.buf + skip;
	if (l->reading)
		return -EINPROGRESS;
	spw_advice_read(d, level, len, began, l->up.err);
	return l->up.err;
}

void
spw_await_clean(struct spw_drainer *d, uint32_t level, uint64_t bytes)
{
	struct spw_level *l = &d->store->level[level];

	spw_store_reap(d, true);
	if (l->deaf || !spw_apart_clean(l->tier, bytes))
		return;
	while (spw_apart_is_cleaning(l->tier) && !l->deaf)
		(void)await(d);
}

bool
spw_store_is_deaf(const struct spw_drainer *d)
{
	for (uint32_t i = 0; d->store && i < d->store->nlevels; i++)
		if (d->store->level[i].deaf)
			return true;
	return false;
}

void
spw_store_stamp(struct spw_drainer *d)
{
	struct spw_store *s = d->store;
	int64_t now = spw_now_ms();

	if (!s || now - s->stamped < STAMP_MS)
		return;
	s->stamped = now;
	for (uint32_t i = 0; i < s->nlevels; i++)
		spw_apart_stamp(s->level[i].tier);
}
