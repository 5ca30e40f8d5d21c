/* SPDX-License-Identifier: BSD-3-Clause */
/* apart-thread.c -- the thread that carries out the orders to a tier */

/*
 * While orders come the thread submits; with none left it waits for a transfer
 * to end, or until it is called for the next order. What is over is given back
 * together: each time somebody is woken costs more than a small transfer.
 */
#include "tiers/apart-parts.h"

#include <errno.h>
#include <stdlib.h>

#include "shm/sys.h"
#include "shm/util.h"
#include "tiers/thread.h"

enum { PAUSE_US = 1000 };

void
spw_apart_unlock_and_ring(struct spw_apart *a)
{
	a->sign = spw_now_ms();
	spw_bell_unlock_and_ring(a->bell);
}

void
spw_apart_give_back(struct spw_apart *a, struct spw_transfer *x)
{
	x->ended = spw_now_ns();	/* the drainer may look late */
	x->next = NULL;
	a->fails += !x->up && x->err;
	*a->over_end = x;
	a->over_end = &x->next;
	a->under_way--;
}

/* Under the lock. */
static uint64_t
place_now(const struct spw_apart *a, uint64_t place)
{
	for (size_t i = 0; i < a->nmoves; i++)
		if (a->moves[i].from == place)
			return a->moves[i].to;
	return place;
}

void
spw_apart_put_right(const struct spw_apart *a, struct spw_order *o)
{
	if (o->what == DO_DROP)
		o->place = place_now(a, o->place);
	else if (o->what == DO_MOVE && o->x->up)
		o->x->place = place_now(a, o->x->place);
}

/* Under the lock. */
static struct spw_order *
next_order(struct spw_apart *a)
{
	struct spw_order *o = a->ready ? a->todo : NULL;

	if (!o)
		return NULL;
	a->todo = o->next;
	if (!a->todo) {
		a->todo_end = &a->todo;
		a->ready = false;
	}
	spw_apart_put_right(a, o);
	if (o->what == DO_MOVE && !o->x->up)
		a->promised -= o->x->len;
	return o;
}

void
spw_apart_look_at_space(struct spw_apart *a)
{
	if (a->tier)
		a->ops->space(a->tier, &a->space);
}

/* Under the lock. */
static void
give_back_all(struct spw_apart *a, struct spw_transfer *x)
{
	struct spw_transfer *next;

	for (; x; x = next) {
		next = x->next;
		spw_apart_give_back(a, x);
	}
}

/* Some that are over, NULL: none is; wait: none is under way. */
static struct spw_transfer *
reap_some(struct spw_apart *a, bool wait)
{
	struct spw_transfer *first = NULL, **end = &first, *x;

	while (a->moving && (x = a->ops->reap(a->tier, wait))) {
		x->next = NULL;
		*end = x;
		end = &x->next;
		a->moving--;
		wait = false;
	}
	return first;
}

/* Or until it is called. */
static void
wait_for_some(struct spw_apart *a)
{
	struct spw_transfer *x = reap_some(a, true);

	if (!x)
		return;
	pthread_mutex_lock(&a->bell->lock);
	spw_apart_look_at_space(a);
	give_back_all(a, x);
	spw_apart_unlock_and_ring(a);
}

static void
move(struct spw_apart *a, struct spw_transfer *x)
{
	int r;

	while ((r = a->ops->submit(a->tier, x)) == -EAGAIN && a->moving)
		wait_for_some(a);
	if (r == 0) {
		a->moving++;
		return;
	}
	x->err = r;
	pthread_mutex_lock(&a->bell->lock);
	spw_apart_give_back(a, x);
	spw_apart_unlock_and_ring(a);
}

static bool
has_room(struct spw_apart *a)
{
	size_t room = a->room ? 2 * a->room : 64;
	struct spw_moved *more;

	if (a->nmoves < a->room)
		return true;
	more = realloc(a->moves, room * sizeof(*more));
	if (!more)
		return false;
	a->moves = more;
	a->room = room;
	return true;
}

/* Without this note the object could not be found again. */
static void
note_move(void *arg, uint64_t from, uint64_t to)
{
	struct spw_apart *a = arg;

	pthread_mutex_lock(&a->bell->lock);
	while (!has_room(a)) {
		pthread_mutex_unlock(&a->bell->lock);
		spw_sys_sleep_us(PAUSE_US);
		pthread_mutex_lock(&a->bell->lock);
	}
	a->moves[a->nmoves++] = (struct spw_moved){ from, to };
	for (size_t i = 0; i < a->nundone; i++)
		if (a->undone[i] == from)
			a->undone[i] = to;
	pthread_mutex_unlock(&a->bell->lock);
}

static void
note_undone(struct spw_apart *a, uint64_t place)
{
	size_t room = a->undone_room ? 2 * a->undone_room : 64;
	uint64_t *more = a->undone;

	if (a->nundone == a->undone_room) {
		more = realloc(a->undone, room * sizeof(*more));
		a->undone_room = more ? room : a->undone_room;
	}
	if (!more) {
		a->forgot = true;
		return;
	}
	a->undone = more;
	more[a->nundone++] = place;
}

/* Who gave the order has forgotten the object: it is ours to get rid of. One
 * that is gone, or is none any more, does no harm. */
static int
drop(struct spw_apart *a, uint64_t place)
{
	int r = a->ops->drop(a->tier, place);

	if (r >= 0 || r == -ENOENT || r == -EBADMSG)
		return 0;
	note_undone(a, place);
	return r;
}

/* As long as one is there that should not be, nothing is safe. */
static int
drop_undone(struct spw_apart *a)
{
	size_t n = a->nundone;
	int r = a->forgot ? -ENOMEM : 0;

	a->nundone = 0;			/* what fails again is noted again */
	for (size_t i = 0; i < n; i++) {
		int e = drop(a, a->undone[i]);

		r = e < 0 ? e : r;
	}
	return r;
}

static int
sync_all(struct spw_apart *a)
{
	int undone = drop_undone(a), r = a->ops->sync(a->tier);

	return r < 0 ? r : undone;
}

/* Each is a sign of life: a long list takes its time. */
static int
hear(void *arg, const struct spw_tier_found *f)
{
	struct spw_apart *a = arg;
	bool heeds;
	int r;

	pthread_mutex_lock(&a->bell->lock);
	heeds = a->hearing = a->heeds;
	a->sign = spw_now_ms();
	pthread_mutex_unlock(&a->bell->lock);
	r = heeds ? a->listing.seen(a->listing.arg, f) : -ECANCELED;
	pthread_mutex_lock(&a->bell->lock);
	a->hearing = false;
	heeds = a->heeds;
	pthread_mutex_unlock(&a->bell->lock);
	if (!heeds)			/* somebody may wait for that */
		pthread_cond_signal(&a->bell->rung);
	return r;
}

static void
give_sign(void *arg)
{
	struct spw_apart *a = arg;

	pthread_mutex_lock(&a->bell->lock);
	a->sign = spw_now_ms();
	pthread_mutex_unlock(&a->bell->lock);
}

static int
open_tier(struct spw_apart *a)
{
	struct stat st;
	int r;

	a->setup.sign = give_sign;
	a->setup.arg = a;
	r = a->ops->open(&a->setup, &a->tier);
	if (r == 0 && a->tier->lock >= 0 &&
	    spw_sys_fstat(a->tier->lock, &st) == 0)
		a->alive = spw_nanoseconds(&st.st_mtim);
	return r;
}

static int
carry_out(struct spw_apart *a, struct spw_order *o)
{
	if ((o->what == DO_SYNC && !a->ops->sync_waits) ||
	    o->what == DO_CLEAN || o->what == DO_CLOSE)
		while (a->moving)
			wait_for_some(a);
	switch (o->what) {
	case DO_OPEN:
		return open_tier(a);
	case DO_DROP:
		return drop(a, o->place);
	case DO_STAMP:
		return (int)spw_syscall(SYS_utimensat, a->tier->lock, 0, 0, 0,
					0, 0);
	case DO_SYNC:
		return sync_all(a);
	case DO_CLEAN:
		(void)a->ops->clean(a->tier, o->place, note_move, a);
		return 0;
	case DO_LIST:
		return a->ops->list(a->tier, hear, a);
	default:
		return a->ops->close(a->tier, o->place);
	}
}

/* Under the lock; o may be gone afterwards. */
static void
finish(struct spw_apart *a, struct spw_order *o, int result)
{
	if (o->what == DO_CLOSE)
		a->tier = NULL;
	o->result = result;
	if (o == &a->sync)
		a->sync_result = result;
	a->ended = o->what == DO_CLOSE || (o->what == DO_OPEN && result < 0);
	o->busy = false;
	if (o->own)
		free(o);
	a->under_way--;
	spw_apart_look_at_space(a);
}

/* Under the lock. Whom to tell. */
static uint32_t
say_good(struct spw_apart *a, const struct spw_order *o, int result)
{
	if (o != &a->sync || result || !o->then.good || a->fails != o->fails)
		return 0;
	a->was_good = true;
	return o->then.good(o->then.arg);
}

/* Nobody waits for it; and that the time can be set does not mean that
 * anything else will come back. */
static void
end_stamp(struct spw_apart *a)
{
	pthread_mutex_lock(&a->bell->lock);
	a->stamp.busy = false;
	pthread_mutex_unlock(&a->bell->lock);
}

static void
do_order(struct spw_apart *a, struct spw_order *o)
{
	struct spw_apart_then then;
	struct spw_transfer *over;
	uint32_t whom;
	int r;

	if (o->what == DO_MOVE) {
		struct spw_transfer *x = o->x;

		free(o);
		move(a, x);
		return;
	}
	r = carry_out(a, o);
	if (o->what == DO_STAMP) {
		end_stamp(a);
		return;
	}
	over = o->what == DO_SYNC ? reap_some(a, false) : NULL;
	pthread_mutex_lock(&a->bell->lock);
	give_back_all(a, over);
	then = o->then;
	whom = say_good(a, o, r);
	finish(a, o, r);
	spw_apart_unlock_and_ring(a);
	if (whom)
		then.tell(then.arg, whom);
}

/* Under the lock, which it leaves meanwhile. */
static void
rest(struct spw_apart *a)
{
	bool rests = a->worked && a->ops->rest;
	uint32_t calls = a->calls;

	a->idle = !rests;
	a->worked = false;
	pthread_mutex_unlock(&a->bell->lock);
	if (rests)
		a->ops->rest(a->tier);
	(void)spw_spin(&a->spin, &a->calls, calls + 1);
	pthread_mutex_lock(&a->bell->lock);
	a->idle = true;
}

/* Likewise, until there may be an order. Who will give one that is expected
 * waits for others, who have to run before. */
static void
sleep_on(struct spw_apart *a)
{
	uint32_t calls = a->calls;

	if (!a->expects) {
		pthread_cond_wait(&a->given, &a->bell->lock);
		return;
	}
	a->expects = false;
	pthread_mutex_unlock(&a->bell->lock);
	(void)spw_spin_among(&a->expecting, &a->calls, calls + 1);
	pthread_mutex_lock(&a->bell->lock);
}

/* Likewise; NULL: transfers are under way. */
static struct spw_order *
await_order(struct spw_apart *a)
{
	struct spw_order *o = next_order(a);

	if (!o && !a->moving) {
		rest(a);
		while (!(o = next_order(a)))
			sleep_on(a);
	}
	a->idle = a->expects = false;
	return o;
}

void *
spw_apart_serve(void *arg)
{
	struct spw_apart *a = arg;
	struct spw_order *o;

	spw_thread_begin("spillway-tier");
	while (!a->ended) {
		pthread_mutex_lock(&a->bell->lock);
		o = await_order(a);
		a->absent = !o;
		a->worked = true;
		pthread_mutex_unlock(&a->bell->lock);
		if (o)
			do_order(a, o);
		else
			wait_for_some(a);
	}
	return NULL;
}
