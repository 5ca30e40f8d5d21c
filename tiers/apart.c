/* SPDX-License-Identifier: BSD-3-Clause */
/* apart.c -- orders to a tier, and the thread that carries them out */

/*
 * While orders come the thread submits; with none left it waits for a transfer
 * to end, or until it is called for the next order. What is over is given back
 * together: each time somebody is woken costs more than a small transfer.
 *
 * A tier that waits for nothing, since it is memory, need not have its thread
 * woken: while that has nothing to do the drainer makes small puts and syncs
 * itself.
 *
 * One lock, the bell's, guards the queues of all tiers. Under it no tier is
 * asked for anything but that, and its space, which it knows by heart; and
 * nobody is woken, who would have to wait for it then.
 */
#include "tiers/apart.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "shm/spin.h"
#include "shm/sys.h"
#include "shm/util.h"
#include "tiers/thread.h"

struct spw_bell {
	pthread_mutex_t lock;
	pthread_cond_t rung;
	_Atomic uint32_t rings;
	uint32_t heard;
	struct spw_spin spin;
	void (*told)(void *arg);
	void *arg;
};

enum {
	PAUSE_US = 1000,
	SMALL = 64 << 10,		/* bytes that are copied in no time */
};

enum what { OPEN, MOVE, DROP, STAMP, SYNC, CLEAN, LIST, CLOSE };

struct order {
	enum what what;
	struct spw_transfer *x;
	uint64_t place;			/* clean: bytes; close: discard */
	struct spw_apart_then then;	/* sync, */
	uint32_t fails;			/* at the one before */
	struct order *next;
	bool own;			/* to be freed */
	bool busy;
};

struct move {
	uint64_t from, to;
};

struct listing {
	int (*seen)(void *arg, const struct spw_tier_found *f);
	void *arg;
};

struct spw_apart {
	struct spw_bell *bell;
	pthread_cond_t given;
	pthread_t thread;
	const struct spw_tier_ops *ops;
	struct spw_tier_setup setup;	/* with words of its own */
	struct listing listing;
	struct spw_tier *tier;		/* the thread's own */
	unsigned moving;		/* transfers submitted; its own too, */
	bool worked;			/* since it rested, */
	struct spw_spin spin;		/* and these */
	uint64_t *undone;		/* drops that failed */
	size_t nundone, undone_room;
	bool forgot;			/* one of them: no memory */
	/* From here on: under the lock. */
	struct order *todo, **todo_end;
	bool ready;			/* they are to be carried out now */
	bool absent;			/* the tier has the thread: to call */
	bool idle;			/* it waits for orders */
	_Atomic uint32_t calls;		/* how often that was said */
	struct spw_transfer *over, **over_end;
	unsigned under_way;		/* orders and transfers */
	int64_t sign;			/* ms; of life, the last one */
	struct order stamp, sync, clean, call;
	bool then_begun, then_over;	/* of the sync */
	uint32_t fails, fails_at_sync;	/* of puts; at the last order */
	int sync_result, call_result;
	struct spw_tier_space space;
	uint64_t promised;		/* bytes of puts not yet submitted */
	struct move *moves;
	size_t nmoves, room;
	bool ended;
};

int
spw_bell_new(void (*told)(void *arg), void *arg, struct spw_bell **ret_bell)
{
	struct spw_bell *b = calloc(1, sizeof(*b));
	pthread_condattr_t attr;

	if (!b)
		return -ENOMEM;
	pthread_mutex_init(&b->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&b->rung, &attr);
	pthread_condattr_destroy(&attr);
	b->told = told;
	b->arg = arg;
	*ret_bell = b;
	return 0;
}

void
spw_bell_free(struct spw_bell *b)
{
	if (!b)
		return;
	pthread_cond_destroy(&b->rung);
	pthread_mutex_destroy(&b->lock);
	free(b);
}

void
spw_bell_wait(struct spw_bell *b, int64_t ms)
{
	struct timespec until;

	(void)spw_spin(&b->spin, &b->rings, b->heard + 1);
	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += ms / 1000;
	until.tv_nsec += ms % 1000 * 1000000;
	until.tv_sec += until.tv_nsec / 1000000000;
	until.tv_nsec %= 1000000000;
	pthread_mutex_lock(&b->lock);
	while (b->heard == b->rings &&
	       pthread_cond_timedwait(&b->rung, &b->lock, &until) == 0)
		;
	b->heard = b->rings;
	pthread_mutex_unlock(&b->lock);
}

bool
spw_bell_heard(struct spw_bell *b)
{
	uint32_t before = b->heard;

	b->heard = b->rings;
	return b->heard != before;
}

/* Under the lock, which it leaves. */
static void
unlock_and_ring_bell(struct spw_bell *b)
{
	b->rings++;
	pthread_mutex_unlock(&b->lock);
	pthread_cond_signal(&b->rung);
	if (b->told)
		b->told(b->arg);
}

void
spw_bell_ring(void *bell)
{
	struct spw_bell *b = bell;

	pthread_mutex_lock(&b->lock);
	unlock_and_ring_bell(b);
}

/* The thread. */

static void
unlock_and_ring(struct spw_apart *a)
{
	a->sign = spw_now_ms();
	unlock_and_ring_bell(a->bell);
}

/* Under the lock, as the next four. */
static void
give_back(struct spw_apart *a, struct spw_transfer *x)
{
	x->ended = spw_now_ns();	/* the drainer may look late */
	x->next = NULL;
	a->fails += !x->up && x->err;
	*a->over_end = x;
	a->over_end = &x->next;
	a->under_way--;
}

static uint64_t
place_now(const struct spw_apart *a, uint64_t place)
{
	for (size_t i = 0; i < a->nmoves; i++)
		if (a->moves[i].from == place)
			return a->moves[i].to;
	return place;
}

static void
put_right(const struct spw_apart *a, struct order *o)
{
	if (o->what == DROP)
		o->place = place_now(a, o->place);
	else if (o->what == MOVE && o->x->up)
		o->x->place = place_now(a, o->x->place);
}

static struct order *
next_order(struct spw_apart *a)
{
	struct order *o = a->ready ? a->todo : NULL;

	if (!o)
		return NULL;
	a->todo = o->next;
	if (!a->todo) {
		a->todo_end = &a->todo;
		a->ready = false;
	}
	put_right(a, o);
	if (o->what == MOVE && !o->x->up)
		a->promised -= o->x->len;
	return o;
}

static void
look_at_space(struct spw_apart *a)
{
	if (a->tier)
		a->ops->space(a->tier, &a->space);
}

static void
give_back_all(struct spw_apart *a, struct spw_transfer *x)
{
	struct spw_transfer *next;

	for (; x; x = next) {
		next = x->next;
		give_back(a, x);
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
	look_at_space(a);
	give_back_all(a, x);
	unlock_and_ring(a);
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
	give_back(a, x);
	unlock_and_ring(a);
}

static bool
has_room(struct spw_apart *a)
{
	size_t room = a->room ? 2 * a->room : 64;
	struct move *more;

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
	a->moves[a->nmoves++] = (struct move){ from, to };
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

static int
carry_out(struct spw_apart *a, struct order *o)
{
	if ((o->what == SYNC && !a->ops->sync_waits) || o->what == CLEAN ||
	    o->what == CLOSE)
		while (a->moving)
			wait_for_some(a);
	switch (o->what) {
	case OPEN:
		return a->ops->open(&a->setup, &a->tier);
	case DROP:
		return drop(a, o->place);
	case STAMP:
		return (int)spw_syscall(SYS_utimensat, a->tier->lock, 0, 0, 0,
					0, 0);
	case SYNC:
		return sync_all(a);
	case CLEAN:
		(void)a->ops->clean(a->tier, o->place, note_move, a);
		return 0;
	case LIST:
		return a->ops->list(a->tier, a->listing.seen, a->listing.arg);
	default:
		return a->ops->close(a->tier, o->place);
	}
}

/* Under the lock; o may be gone afterwards. */
static void
finish(struct spw_apart *a, struct order *o, int result)
{
	if (o->what == CLOSE)
		a->tier = NULL;
	if (o == &a->call)
		a->call_result = result;
	if (o == &a->sync)
		a->sync_result = result;
	a->ended = o->what == CLOSE || (o->what == OPEN && result < 0);
	o->busy = false;
	if (o->own)
		free(o);
	a->under_way--;
	look_at_space(a);
}

/* Under the lock, which it leaves meanwhile. */
static void
do_then(struct spw_apart *a)
{
	struct spw_apart_then then = a->sync.then;

	if (!then.good || a->fails != a->sync.fails)
		return;
	a->then_begun = true;
	pthread_mutex_unlock(&a->bell->lock);
	then.good(then.arg);
	pthread_mutex_lock(&a->bell->lock);
	a->then_over = true;
}

static void
do_order(struct spw_apart *a, struct order *o)
{
	struct spw_transfer *over;
	int r;

	if (o->what == MOVE) {
		struct spw_transfer *x = o->x;

		free(o);
		move(a, x);
		return;
	}
	r = carry_out(a, o);
	over = o->what == SYNC ? reap_some(a, false) : NULL;
	pthread_mutex_lock(&a->bell->lock);
	give_back_all(a, over);
	if (o == &a->sync && r == 0)
		do_then(a);
	finish(a, o, r);
	unlock_and_ring(a);
}

static void
release(struct spw_apart *a)
{
	pthread_cond_destroy(&a->given);
	free(a->moves);
	free(a->undone);
	free((char *)a->setup.place);
	free((char *)a->setup.owner);
	free((char *)a->setup.io);
	free(a);
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

/* Likewise; NULL: transfers are under way. */
static struct order *
await_order(struct spw_apart *a)
{
	struct order *o = next_order(a);

	if (!o && !a->moving) {
		rest(a);
		while (!(o = next_order(a)))
			pthread_cond_wait(&a->given, &a->bell->lock);
	}
	a->idle = false;
	return o;
}

static void *
serve(void *arg)
{
	struct spw_apart *a = arg;
	struct order *o;

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

/* The drainer. */

/* Under the lock. */
static void
give(struct spw_apart *a, struct order *o)
{
	o->busy = true;
	o->next = NULL;
	if (o->what == SYNC) {
		o->fails = a->fails_at_sync;
		a->fails_at_sync = a->fails;
	}
	*a->todo_end = o;
	a->todo_end = &o->next;
	if (!a->under_way++)
		a->sign = spw_now_ms();
}

/* Under the lock, which it leaves. The thread is called before that: it cannot
 * close the tier until then. */
static void
unlock_and_go(struct spw_apart *a)
{
	a->ready = a->todo;
	a->calls++;
	if (a->absent && a->ops->call)
		a->ops->call(a->tier);
	a->absent = false;
	pthread_mutex_unlock(&a->bell->lock);
	pthread_cond_signal(&a->given);
}

static bool
give_if_idle(struct spw_apart *a, struct order *o, struct order to_give)
{
	bool idle;

	pthread_mutex_lock(&a->bell->lock);
	idle = !o->busy;
	if (idle) {
		*o = to_give;
		give(a, o);
		unlock_and_go(a);
	} else {
		pthread_mutex_unlock(&a->bell->lock);
	}
	return idle;
}

/* One that is the thread's to free. False: no memory. */
static bool
give_copy(struct spw_apart *a, struct order to_give, bool more)
{
	struct order *o = malloc(sizeof(*o));

	if (!o)
		return false;
	*o = to_give;
	o->own = true;
	pthread_mutex_lock(&a->bell->lock);
	if (o->what == MOVE && !o->x->up)
		a->promised += o->x->len;
	give(a, o);
	if (more)
		pthread_mutex_unlock(&a->bell->lock);
	else
		unlock_and_go(a);
	return true;
}

struct patience {			/* for one that is deaf */
	bool (*lasts)(void *arg);
	void *arg;
};

static bool
lasts(void *arg)
{
	(void)arg;
	return true;
}

static bool
ends(void *arg)
{
	(void)arg;
	return false;
}

/* Gives it and waits. */
static int
call(struct spw_apart *a, enum what what, uint64_t place,
     struct patience patience)
{
	(void)give_if_idle(a, &a->call, (struct order){ .what = what,
							.place = place });
	for (;;) {
		int64_t left = spw_apart_patience(a);
		bool over;
		int r;

		pthread_mutex_lock(&a->bell->lock);
		over = !a->call.busy;
		r = a->call_result;
		pthread_mutex_unlock(&a->bell->lock);
		if (over || (left == 0 && !patience.lasts(patience.arg)))
			return over ? r : -ETIMEDOUT;
		spw_bell_wait(a->bell, left > 0 ? left : SPW_APART_MS);
	}
}

static int
start_thread(struct spw_apart *a)
{
	sigset_t all, old;
	int r;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	r = -pthread_create(&a->thread, NULL, serve, a);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return r;
}

static bool
copy_word(const char **word)
{
	bool any = *word != NULL;

	*word = any ? strdup(*word) : NULL;
	return !any || *word;
}

static bool
copy_setup(struct spw_apart *a, const struct spw_tier_setup *setup)
{
	bool all;

	a->setup = *setup;
	all = copy_word(&a->setup.place);	/* each is ours afterwards */
	all &= copy_word(&a->setup.owner);
	all &= copy_word(&a->setup.io);
	return all;
}

int
spw_apart_open(struct spw_bell *b, const struct spw_tier_ops *ops,
	       const struct spw_tier_setup *setup,
	       bool (*waits)(void *arg), void *arg,
	       struct spw_apart **ret_apart)
{
	struct spw_apart *a = calloc(1, sizeof(*a));
	int r;

	if (!a)
		return -ENOMEM;
	a->bell = b;
	a->ops = ops;
	a->todo_end = &a->todo;
	a->over_end = &a->over;
	pthread_cond_init(&a->given, NULL);
	r = copy_setup(a, setup) ? start_thread(a) : -ENOMEM;
	if (r == 0) {
		r = call(a, OPEN, 0, (struct patience){ waits, arg });
		if (r == -ETIMEDOUT)
			return r;	/* all of it stays the thread's */
		if (r < 0)
			pthread_join(a->thread, NULL);
	}
	if (r < 0) {
		release(a);
		return r;
	}
	*ret_apart = a;
	return 0;
}

bool
spw_apart_is_durable(const struct spw_apart *a)
{
	return a->tier->durable;
}

const char *
spw_apart_caution(const struct spw_apart *a)
{
	return a->tier->caution;
}

bool
spw_apart_can_clean(const struct spw_apart *a)
{
	return a->ops->clean;
}

const char *
spw_apart_kind(const struct spw_apart *a)
{
	return a->ops->kind;
}

void
spw_apart_where(const struct spw_apart *a, uint64_t place, char *buf,
		size_t size)
{
	a->ops->where(a->tier, place, buf, size);
}

int64_t
spw_apart_patience(struct spw_apart *a)
{
	int64_t left = -1;

	pthread_mutex_lock(&a->bell->lock);
	if (a->under_way)
		left = SPW_MAX(a->sign + SPW_APART_MS - spw_now_ms(), 0);
	pthread_mutex_unlock(&a->bell->lock);
	return left;
}

/* Under the lock. */
static bool
is_at_hand(const struct spw_apart *a)
{
	return a->idle && !a->todo && !a->under_way && !a->nundone &&
	       !a->forgot && a->ops->is_prompt && a->ops->is_prompt(a->tier);
}

static bool
put_at_once(struct spw_apart *a, struct spw_transfer *x)
{
	bool done = false;

	if (x->up || x->len > SMALL)
		return false;
	pthread_mutex_lock(&a->bell->lock);
	if (is_at_hand(a)) {
		x->at_once = true;
		done = a->ops->submit(a->tier, x) == 0;
		x->at_once = false;
	}
	if (done) {
		a->under_way++;
		give_back(a, a->ops->reap(a->tier, false));
		look_at_space(a);
	}
	pthread_mutex_unlock(&a->bell->lock);
	return done;
}

static bool
sync_at_once(struct spw_apart *a)
{
	bool done;

	pthread_mutex_lock(&a->bell->lock);
	done = is_at_hand(a);
	if (done) {
		a->sync_result = a->ops->sync(a->tier);
		look_at_space(a);
	}
	pthread_mutex_unlock(&a->bell->lock);
	return done;
}

void
spw_apart_move(struct spw_apart *a, struct spw_transfer *x, bool more)
{
	if (put_at_once(a, x))
		return;
	if (give_copy(a, (struct order){ .what = MOVE, .x = x }, more))
		return;
	x->err = -ENOMEM;
	pthread_mutex_lock(&a->bell->lock);
	a->under_way++;
	give_back(a, x);
	unlock_and_ring(a);
}

struct spw_transfer *
spw_apart_reap(struct spw_apart *a)
{
	struct spw_transfer *x;

	pthread_mutex_lock(&a->bell->lock);
	x = a->over;
	if (x) {
		a->over = x->next;
		if (!a->over)
			a->over_end = &a->over;
	}
	pthread_mutex_unlock(&a->bell->lock);
	return x;
}

void
spw_apart_drop(struct spw_apart *a, uint64_t place)
{
	(void)give_copy(a, (struct order){ .what = DROP, .place = place },
			false);
}

void
spw_apart_go(struct spw_apart *a)
{
	pthread_mutex_lock(&a->bell->lock);
	if (a->todo && !a->ready)
		unlock_and_go(a);
	else
		pthread_mutex_unlock(&a->bell->lock);
}

void
spw_apart_stamp(struct spw_apart *a)
{
	(void)give_if_idle(a, &a->stamp, (struct order){ .what = STAMP });
}

bool
spw_apart_sync(struct spw_apart *a, struct spw_apart_then then)
{
	return sync_at_once(a) ||
	       give_if_idle(a, &a->sync, (struct order){ .what = SYNC,
							 .then = then });
}

bool
spw_apart_recall(struct spw_apart *a)
{
	bool done;

	pthread_mutex_lock(&a->bell->lock);
	while (a->then_begun && !a->then_over)
		pthread_cond_wait(&a->bell->rung, &a->bell->lock);
	done = a->then_over;
	a->then_begun = a->then_over = false;
	a->sync.then.good = NULL;
	pthread_mutex_unlock(&a->bell->lock);
	return done;
}

int
spw_apart_synced(struct spw_apart *a)
{
	int r;

	pthread_mutex_lock(&a->bell->lock);
	r = a->sync.busy ? -EINPROGRESS : a->sync_result;
	pthread_mutex_unlock(&a->bell->lock);
	return r;
}

bool
spw_apart_clean(struct spw_apart *a, uint64_t bytes)
{
	return give_if_idle(a, &a->clean, (struct order){ .what = CLEAN,
							  .place = bytes });
}

bool
spw_apart_is_cleaning(struct spw_apart *a)
{
	bool busy;

	pthread_mutex_lock(&a->bell->lock);
	busy = a->clean.busy;
	pthread_mutex_unlock(&a->bell->lock);
	return busy;
}

void
spw_apart_moves(struct spw_apart *a,
		void (*moved)(void *arg, uint64_t from, uint64_t to),
		void *arg)
{
	pthread_mutex_lock(&a->bell->lock);
	if (a->nmoves && !a->clean.busy) {
		for (struct order *o = a->todo; o; o = o->next)
			put_right(a, o);
		for (size_t i = 0; i < a->nmoves; i++)
			moved(arg, a->moves[i].from, a->moves[i].to);
		a->nmoves = 0;
	}
	pthread_mutex_unlock(&a->bell->lock);
}

void
spw_apart_space(struct spw_apart *a, struct spw_tier_space *ret_space)
{
	pthread_mutex_lock(&a->bell->lock);
	*ret_space = a->space;
	ret_space->used = SPW_MIN(a->space.used + a->promised,
				  a->space.capacity);
	pthread_mutex_unlock(&a->bell->lock);
}

int
spw_apart_list(struct spw_apart *a,
	       int (*seen)(void *arg, const struct spw_tier_found *f),
	       void *arg)
{
	a->listing = (struct listing){ seen, arg };
	return call(a, LIST, 0, (struct patience){ lasts, NULL });
}

int
spw_apart_close(struct spw_apart *a, bool discard)
{
	int r = call(a, CLOSE, discard, (struct patience){ ends, NULL });

	if (r == -ETIMEDOUT)
		return r;
	pthread_join(a->thread, NULL);
	release(a);
	return r;
}
