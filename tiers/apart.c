/* SPDX-License-Identifier: BSD-3-Clause */
/* apart.c -- orders to a tier, for the drainer who gives them */

/*
 * A tier that waits for nothing, since it is memory, need not have its thread
 * woken: while that has nothing to do the drainer makes small puts and syncs
 * itself.
 */
#include "tiers/apart-parts.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "shm/util.h"

enum { SMALL = 64 << 10 };		/* bytes that are copied in no time */

/* Under the lock. */
static void
give(struct spw_apart *a, struct spw_order *o)
{
	o->busy = true;
	o->next = NULL;
	if (o->what == DO_SYNC) {
		o->fails = a->fails_at_sync;
		a->fails_at_sync = a->fails;
	}
	*a->todo_end = o;
	a->todo_end = &o->next;
	if (o->what != DO_STAMP && !a->under_way++)
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
give_if_idle(struct spw_apart *a, struct spw_order *o,
	     struct spw_order to_give)
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
give_copy(struct spw_apart *a, struct spw_order to_give, bool more)
{
	struct spw_order *o = malloc(sizeof(*o));

	if (!o)
		return false;
	*o = to_give;
	o->own = true;
	pthread_mutex_lock(&a->bell->lock);
	if (o->what == DO_MOVE && !o->x->up)
		a->promised += o->x->len;
	give(a, o);
	if (more)
		pthread_mutex_unlock(&a->bell->lock);
	else
		unlock_and_go(a);
	return true;
}

/* What is left of ms without a sign of life; negative: nothing is under
 * way. */
static int64_t
patience(struct spw_apart *a, int64_t ms)
{
	int64_t left = -1;

	pthread_mutex_lock(&a->bell->lock);
	if (a->under_way)
		left = SPW_MAX(a->sign + ms - spw_now_ms(), 0);
	pthread_mutex_unlock(&a->bell->lock);
	return left;
}

static int
answer(struct spw_apart *a, const struct spw_order *o)
{
	int r;

	pthread_mutex_lock(&a->bell->lock);
	r = o->busy ? -EINPROGRESS : o->result;
	pthread_mutex_unlock(&a->bell->lock);
	return r;
}

static int
await(struct spw_apart *a, const struct spw_order *o, int64_t ms)
{
	for (;;) {
		int64_t left = patience(a, ms);
		int r = answer(a, o);

		if (r != -EINPROGRESS || left == 0)
			return r == -EINPROGRESS ? -ETIMEDOUT : r;
		spw_bell_wait(a->bell, left > 0 ? left : ms);
	}
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

static int
start_thread(struct spw_apart *a)
{
	sigset_t all, old;
	int r;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	r = -pthread_create(&a->thread, NULL, spw_apart_serve, a);
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
spw_apart_begin(struct spw_bell *b, const struct spw_tier_ops *ops,
		const struct spw_tier_setup *setup,
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
	if (r < 0) {
		release(a);
		return r;
	}
	(void)give_if_idle(a, &a->call, (struct spw_order){ .what = DO_OPEN });
	*ret_apart = a;
	return 0;
}

int
spw_apart_answer(struct spw_apart *a)
{
	return answer(a, a->close.what ? &a->close : &a->call);
}

void
spw_apart_end(struct spw_apart *a)
{
	pthread_join(a->thread, NULL);
	release(a);
}

int
spw_apart_open(struct spw_bell *b, const struct spw_tier_ops *ops,
	       const struct spw_tier_setup *setup, int64_t ms,
	       struct spw_apart **ret_apart)
{
	int r = spw_apart_begin(b, ops, setup, ret_apart);

	if (r < 0)
		return r;
	r = await(*ret_apart, &(*ret_apart)->call, ms);
	if (r < 0 && r != -ETIMEDOUT)
		spw_apart_end(*ret_apart);
	return r;
}

bool
spw_apart_is_durable(const struct spw_apart *a)
{
	return a->tier->durable;
}

bool
spw_apart_is_unlocked(const struct spw_apart *a)
{
	return a->tier->unlocked;
}

bool
spw_apart_is_held(const struct spw_apart *a)
{
	return a->tier->held;
}

int64_t
spw_apart_alive(const struct spw_apart *a)
{
	return a->alive;
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
	return patience(a, SPW_APART_MS);
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
		spw_apart_give_back(a, a->ops->reap(a->tier, false));
		spw_apart_look_at_space(a);
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
		spw_apart_look_at_space(a);
	}
	pthread_mutex_unlock(&a->bell->lock);
	return done;
}

void
spw_apart_move(struct spw_apart *a, struct spw_transfer *x, bool more)
{
	if (put_at_once(a, x))
		return;
	if (give_copy(a, (struct spw_order){ .what = DO_MOVE, .x = x }, more))
		return;
	x->err = -ENOMEM;
	pthread_mutex_lock(&a->bell->lock);
	a->under_way++;
	spw_apart_give_back(a, x);
	spw_apart_unlock_and_ring(a);
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
	(void)give_copy(a, (struct spw_order){ .what = DO_DROP,
					       .place = place },
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
spw_apart_expect(struct spw_apart *a)
{
	bool wakes;

	pthread_mutex_lock(&a->bell->lock);
	wakes = a->idle && !a->todo && !is_at_hand(a);
	a->expects |= wakes;
	pthread_mutex_unlock(&a->bell->lock);
	if (wakes)
		pthread_cond_signal(&a->given);
}

void
spw_apart_stamp(struct spw_apart *a)
{
	(void)give_if_idle(a, &a->stamp,
			   (struct spw_order){ .what = DO_STAMP });
}

bool
spw_apart_sync(struct spw_apart *a, struct spw_apart_then then)
{
	return sync_at_once(a) ||
	       give_if_idle(a, &a->sync, (struct spw_order){ .what = DO_SYNC,
							     .then = then });
}

bool
spw_apart_recall(struct spw_apart *a)
{
	bool was_good;

	pthread_mutex_lock(&a->bell->lock);
	a->sync.then.good = NULL;
	was_good = a->was_good;
	a->was_good = false;
	pthread_mutex_unlock(&a->bell->lock);
	return was_good;
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
	return give_if_idle(a, &a->clean, (struct spw_order){ .what = DO_CLEAN,
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
		for (struct spw_order *o = a->todo; o; o = o->next)
			spw_apart_put_right(a, o);
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

void
spw_apart_begin_list(struct spw_apart *a,
		     int (*seen)(void *arg, const struct spw_tier_found *f),
		     void *arg)
{
	a->listing = (struct spw_listing){ seen, arg };
	a->heeds = true;
	(void)give_if_idle(a, &a->call, (struct spw_order){ .what = DO_LIST });
}

/* Who is told something just now needs no more than memory for it. */
static void
stop_listening(struct spw_apart *a)
{
	pthread_mutex_lock(&a->bell->lock);
	a->heeds = false;
	while (a->hearing)
		pthread_cond_wait(&a->bell->rung, &a->bell->lock);
	pthread_mutex_unlock(&a->bell->lock);
}

int
spw_apart_list(struct spw_apart *a, int64_t ms,
	       int (*seen)(void *arg, const struct spw_tier_found *f),
	       void *arg)
{
	int r;

	spw_apart_begin_list(a, seen, arg);
	r = await(a, &a->call, ms);
	stop_listening(a);
	return r;
}

void
spw_apart_begin_close(struct spw_apart *a, bool discard)
{
	(void)give_if_idle(a, &a->close, (struct spw_order){
			   .what = DO_CLOSE, .place = discard });
}

int
spw_apart_close(struct spw_apart *a, bool discard)
{
	int r;

	spw_apart_begin_close(a, discard);
	r = await(a, &a->close, SPW_APART_MS);
	if (r != -ETIMEDOUT)
		spw_apart_end(a);
	return r;
}
