/* SPDX-License-Identifier: BSD-3-Clause */
/* crew.c -- a queue of jobs, and the threads that take from it */

#include "tiers/crew.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>

#include "tiers/thread.h"

struct queue {
	struct spw_job *first, **end;
};

struct hand {
	struct spw_crew *crew;
	unsigned number;
	uint64_t series;		/* of the job that it runs */
	pthread_t thread;
};

struct spw_crew {
	pthread_mutex_t lock;
	pthread_cond_t given, done;
	struct queue todo, over;
	unsigned under_way;		/* of those to be reaped */
	unsigned hands, most;
	bool leaving;
	void (*told)(void *arg);	/* NULL: nobody */
	void *arg;
	struct hand hand[SPW_CREW_MOST];
};

static void
append(struct queue *q, struct spw_job *job)
{
	job->next = NULL;
	*q->end = job;
	q->end = &job->next;
}

static struct spw_job *
take(struct queue *q, struct spw_job **at)
{
	struct spw_job *job = *at;

	if (job) {
		*at = job->next;
		if (!*at)
			q->end = at;
	}
	return job;
}

/* Somebody else runs one of the series. */
static bool
is_kept(const struct hand *me, uint64_t series)
{
	const struct spw_crew *c = me->crew;

	for (unsigned i = 0; series && i < c->most; i++)
		if (c->hand[i].series == series && &c->hand[i] != me)
			return true;
	return false;
}

static struct spw_job *
take_next(struct hand *me)
{
	struct spw_crew *c = me->crew;
	struct spw_job **at = &c->todo.first, *job;

	while (*at && is_kept(me, (*at)->series))
		at = &(*at)->next;
	job = take(&c->todo, at);
	/* Who slept for the series that is left now may go on with it. */
	if (job && me->series && me->series != job->series && c->todo.first)
		pthread_cond_signal(&c->given);
	me->series = job ? job->series : 0;
	return job;
}

int
spw_crew_new(unsigned hands, struct spw_crew **ret_crew)
{
	struct spw_crew *c = calloc(1, sizeof(*c));
	pthread_condattr_t attr;

	if (!c)
		return -ENOMEM;
	pthread_mutex_init(&c->lock, NULL);
	pthread_cond_init(&c->given, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&c->done, &attr);
	pthread_condattr_destroy(&attr);
	c->most = hands < SPW_CREW_MOST ? hands : SPW_CREW_MOST;
	c->todo.end = &c->todo.first;
	c->over.end = &c->over.first;
	*ret_crew = c;
	return 0;
}

void
spw_crew_tell(struct spw_crew *c, void (*told)(void *arg), void *arg)
{
	pthread_mutex_lock(&c->lock);
	c->told = told;
	c->arg = arg;
	pthread_mutex_unlock(&c->lock);
}

static void
finish(struct spw_crew *c, struct spw_job *job)
{
	if (job->alone) {
		job->over = true;
	} else {
		c->under_way--;
		append(&c->over, job);
	}
	pthread_cond_signal(&c->done);	/* one thread waits, if any */
	if (c->told)
		c->told(c->arg);
}

static void *
work(void *arg)
{
	struct hand *me = arg;
	struct spw_crew *c = me->crew;
	struct spw_job *job;

	spw_thread_begin("spillway-work");
	pthread_mutex_lock(&c->lock);
	for (;;) {
		job = take_next(me);
		if (!job && c->leaving)
			break;
		if (!job) {
			pthread_cond_wait(&c->given, &c->lock);
			continue;
		}
		pthread_mutex_unlock(&c->lock);
		job->hand = me->number;
		job->run(job);
		pthread_mutex_lock(&c->lock);
		finish(c, job);
	}
	pthread_mutex_unlock(&c->lock);
	return NULL;
}

/* As many as can be had; one is enough. */
static int
hire(struct spw_crew *c)
{
	sigset_t all, old;
	int r = 0;

	if (c->hands)
		return 0;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	while (c->hands < c->most && r == 0) {
		struct hand *h = &c->hand[c->hands];

		*h = (struct hand){ .crew = c, .number = c->hands };
		r = pthread_create(&h->thread, NULL, work, h);
		c->hands += r == 0;
	}
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return c->hands ? 0 : r ? -r : -EAGAIN;
}

int
spw_crew_give(struct spw_crew *c, struct spw_job *job)
{
	int r;

	pthread_mutex_lock(&c->lock);
	r = hire(c);
	if (r == 0) {
		job->over = false;
		c->under_way += !job->alone;
		append(&c->todo, job);
		pthread_cond_signal(&c->given);
	}
	pthread_mutex_unlock(&c->lock);
	return r;
}

static struct timespec
from_now(int ms)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	t.tv_sec += ms / 1000;
	t.tv_nsec += (long)(ms % 1000) * 1000000;
	if (t.tv_nsec >= 1000000000) {
		t.tv_sec++;
		t.tv_nsec -= 1000000000;
	}
	return t;
}

struct spw_job *
spw_crew_reap(struct spw_crew *c, int ms)
{
	struct timespec until = from_now(ms > 0 ? ms : 0);
	struct spw_job *job;
	int r = 0;

	pthread_mutex_lock(&c->lock);
	while (!(job = take(&c->over, &c->over.first)) && ms &&
	       c->under_way && r == 0)
		r = ms < 0 ? pthread_cond_wait(&c->done, &c->lock)
			   : pthread_cond_timedwait(&c->done, &c->lock,
						    &until);
	pthread_mutex_unlock(&c->lock);
	return job;
}

void
spw_crew_wait(struct spw_crew *c, struct spw_job *job)
{
	pthread_mutex_lock(&c->lock);
	while (!job->over)
		pthread_cond_wait(&c->done, &c->lock);
	pthread_mutex_unlock(&c->lock);
}

void
spw_crew_free(struct spw_crew *c)
{
	if (!c)
		return;
	pthread_mutex_lock(&c->lock);
	c->leaving = true;
	pthread_cond_broadcast(&c->given);
	pthread_mutex_unlock(&c->lock);
	while (c->hands)
		pthread_join(c->hand[--c->hands].thread, NULL);
	pthread_cond_destroy(&c->done);
	pthread_cond_destroy(&c->given);
	pthread_mutex_destroy(&c->lock);
	free(c);
}
