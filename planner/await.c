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
 *
 * Nor must one that is slow keep the others idle. A tier has no more than keeps
 * it busy until the next look at it; what else is packed for it waits here, in
 * its queue. The planner counts that, so that others get what comes next as
 * soon as they are quicker.
 */
#include <errno.h>

#include "planner/advice.h"
#include "planner/away.h"
#include "planner/held.h"
#include "shm/files.h"
#include "shm/util.h"

enum {
	SHUN_MS = 1000, FULL_MS = 100, STAMP_MS = 1000,
	PACK_MS = 1000,			/* a worker rings long before that */
	PLACES = 2,			/* that a tier has in any case */
	BUSY_NS = 50000000,		/* more, if it takes no longer */
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
		/* And it may be there in the end, or some day. */
		if (down->sent)
			d->homes[down->file].dropped = true;
	} else {
		atomic_fetch_add(&seg->requests_down, 1);
		atomic_fetch_add(&seg->bytes_down, down->o.length);
		atomic_fetch_add(&seg->stored_down, down->x.len);
	}
	spw_advice_over(d, down);
	spw_log_down(d, down);
	down->over(d, down);
}

/* What one object keeps the tier busy for. */
static void
note_pace(struct spw_level *l, const struct spw_down *down)
{
	int64_t took = down->x.ended - SPW_MAX(down->sent_ns, l->ended);

	l->ended = down->x.ended;
	l->pace += (SPW_MAX(took, 0) - l->pace) / 4;
}

static bool
has_place(const struct spw_level *l)
{
	return !l->cleaning && (l->sent < PLACES ||
				(l->sent < SPW_DOWN_DEPTH &&
				 l->sent * l->pace < BUSY_NS));
}

bool
spw_await_is_free(const struct spw_level *l)
{
	return !l->waiting && has_place(l);
}

static void
end(struct spw_drainer *d, struct spw_level *l, struct spw_transfer *x)
{
	struct spw_down *down = x->user;

	if (x->up && x->user)
		spw_ahead_over(l, x->user);
	else if (x->up)
		l->reading = false;
	if (x->up)
		return;
	l->sent--;
	note_pace(l, down);
	if (!down->late) {
		down->err = x->err;
		note_end(d, down);
	} else if (!x->err) {
		spw_apart_drop(l->tier, x->place);
		l->unsynced = true;
	}
	down->busy = down->sent = down->late = false;
}

/* It will not be sent. */
static void
fail(struct spw_drainer *d, struct spw_down *down, int err)
{
	struct spw_level *l = &d->store->level[down->tier];

	l->reserved -= down->reserved;
	l->waiting -= down->waits;
	down->err = err;
	note_end(d, down);
	down->busy = down->waits = false;
}

static void
give_up(struct spw_drainer *d, uint32_t level)
{
	struct spw_store *s = d->store;

	for (uint32_t i = 0; i < s->ndown; i++) {
		struct spw_down *down = &s->down[i];

		if (down->tier != level || down->late)
			continue;
		if (down->waits) {
			fail(d, down, -ETIMEDOUT);
		} else if (down->sent) {
			down->late = true;
			down->err = -ETIMEDOUT;
			note_end(d, down);
		}
	}
}

/* Who asks for fsync is not to wait for a queue. */
void
spw_await_place(struct spw_drainer *d, struct spw_down *down)
{
	struct spw_level *l = &d->store->level[down->tier];

	down->waits = !spw_await_is_free(l) && down->nblocks;
	l->waiting += down->waits;
	if (!down->waits)
		spw_store_send(d, down);
}

static struct spw_down *
first_waiting(struct spw_store *s, uint32_t level)
{
	struct spw_down *first = NULL;

	for (uint32_t i = 0; i < s->ndown; i++) {
		struct spw_down *down = &s->down[i];

		if (down->waits && down->tier == level &&
		    (!first || down->o.seq < first->o.seq))
			first = down;
	}
	return first;
}

/* all: also where there is no place. */
static void
send_waiting(struct spw_drainer *d, uint32_t level, bool all)
{
	struct spw_level *l = &d->store->level[level];

	while (l->waiting && !l->deaf && (all || has_place(l))) {
		struct spw_down *down = first_waiting(d->store, level);

		down->waits = false;
		l->waiting--;
		spw_store_send(d, down);
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
		int err = s->level[down->tier].deaf ? -ETIMEDOUT
			  : (int)SPW_MIN(down->pack.stored, 0);

		spw_advice_packed(d, down);
		if (err)
			fail(d, down, err);
		else
			spw_await_place(d, down);
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
		else
			send_waiting(d, i, false);
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

bool
spw_store_await(struct spw_drainer *d)
{
	return d->store && is_any_down(d->store) && await(d);
}

uint32_t
spw_store_moving(const struct spw_drainer *d, const uint64_t *of, uint64_t seq)
{
	const struct spw_store *s = d->store;
	uint32_t n = 0;

	for (uint32_t i = 0; s && i < s->ndown; i++) {
		const struct spw_down *down = &s->down[i];

		if (down->busy && !down->late && down->o.seq <= seq &&
		    (!of || of[down->file / 64] >> down->file % 64 & 1))
			n += down->nblocks;
	}
	return n;
}

static struct spw_down *
find_free(struct spw_store *s)
{
	for (uint32_t i = 0; i < s->ndown; i++)
		if (!s->down[i].busy)
			return &s->down[i];
	return NULL;
}

/* Workers have enough to do, or tiers have. What is chosen later is chosen
 * better. */
bool
spw_store_is_laden(const struct spw_drainer *d)
{
	const struct spw_store *s = d->store;
	uint32_t packing = 0, waiting = 0;

	if (spw_away_hushes(d))
		return true;
	for (uint32_t i = 0; i < s->ndown; i++) {
		waiting += s->down[i].waits;
		packing += s->down[i].busy && !s->down[i].sent &&
			   !s->down[i].waits;
	}
	return packing > s->crew.npackers + 1 ||
	       waiting >= SPW_QUEUE_DEPTH * s->nlevels;
}

struct spw_down *
spw_store_begin(struct spw_drainer *d, bool wait)
{
	struct spw_down *down;

	collect(d);			/* what is packed goes on meanwhile */
	if (!wait && spw_store_is_laden(d))
		return NULL;
	while (!(down = find_free(d->store)) && wait)
		(void)await(d);
	if (!down)
		return NULL;
	down->busy = true;
	down->sent = down->waits = false;
	down->nblocks = 0;
	return down;
}

/* What has been put until now. */
static bool
begin_sync(struct spw_level *l, struct spw_apart_then then)
{
	if (!l->unsynced || l->deaf || !spw_apart_sync(l->tier, then))
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

/* The one tier that has something to sync; SPW_NONE: there are others. */
static uint32_t
find_only(const struct spw_store *s)
{
	uint32_t only = SPW_NONE, n = 0;

	for (uint32_t i = 0; i < s->nlevels; i++)
		if (s->level[i].unsynced) {
			only = i;
			n++;
		}
	return n == 1 ? only : SPW_NONE;
}

void
spw_store_expect(struct spw_drainer *d)
{
	struct spw_store *s = d->store;

	for (uint32_t i = 0; i < s->nlevels; i++)
		if (spw_apart_is_durable(s->level[i].tier)) {
			spw_apart_expect(s->level[i].tier);
			return;
		}
}

int
spw_store_sync_then(struct spw_drainer *d, struct spw_apart_then then,
		    bool *ret_done)
{
	const struct spw_apart_then nothing = { 0 };
	struct spw_store *s = d->store;
	uint32_t only;
	int err = 0;

	collect(d);
	while (s->crew.under_way && await(d))
		;
	for (uint32_t i = 0; i < s->nlevels; i++)
		send_waiting(d, i, true);
	only = find_only(s);
	for (uint32_t i = 0; i < s->nlevels; i++)
		s->level[i].syncing = begin_sync(&s->level[i], i == only ?
						 then : nothing);
	while (is_any_syncing(d))
		(void)await(d);
	*ret_done = only != SPW_NONE && spw_apart_recall(s->level[only].tier);
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

int
spw_store_sync(struct spw_drainer *d)
{
	const struct spw_apart_then nothing = { 0 };
	bool done;

	return spw_store_sync_then(d, nothing, &done);
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
	struct spw_ahead *a;
	struct spw_level *l;
	int64_t began;

	collect(d);
	level = d->store->held[held].tier;
	l = &d->store->level[level];
	while ((a = spw_ahead_find(d, held, at, len)) && a->flying && !l->deaf)
		(void)await(d);
	if (a && !a->flying) {
		*ret_bytes = spw_ahead_take(a, at, len);
		return 0;
	}
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
	spw_level_was_read(l, l->up.err);
	return l->up.err;
}

void
spw_await_clean(struct spw_drainer *d, uint32_t level, uint64_t bytes)
{
	struct spw_level *l = &d->store->level[level];

	/* It moves what it has: we have to know of all that. */
	l->cleaning = true;
	while ((l->sent || l->flying) && !l->deaf && await(d))
		;
	if (!l->sent && !l->flying && !l->deaf &&
	    spw_apart_clean(l->tier, bytes))
		while (spw_apart_is_cleaning(l->tier) && !l->deaf)
			(void)await(d);
	l->cleaning = false;
}

bool
spw_store_is_deaf(const struct spw_drainer *d)
{
	for (uint32_t i = 0; d->store && i < d->store->nlevels; i++)
		if (d->store->level[i].deaf)
			return true;
	return spw_away_missing(d) == -EINPROGRESS;
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
