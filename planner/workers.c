/* SPDX-License-Identifier: BSD-3-Clause */
/* workers.c -- a queue of jobs, a few threads, a queue of what is done */
#include "planner/workers.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>

enum { STACK = 256 * 1024 };

struct queue {
	struct spw_job *first, **last;
};

struct spw_workers {
	pthread_mutex_t lock;
	pthread_cond_t work, done;
	struct queue todo, over;
	unsigned under_way;		/* submitted and not reaped */
	unsigned nthreads;
	pthread_t thread[SPW_WORKERS];
	bool leaving;
};

static void
put(struct queue *q, struct spw_job *job)
{
	job->next = NULL;
	*q->last = job;
	q->last = &job->next;
}

static struct spw_job *
take(struct queue *q)
{
	struct spw_job *job = q->first;

	if (job) {
		q->first = job->next;
		if (!q->first)
			q->last = &q->first;
	}
	return job;
}

int
spw_workers_new(struct spw_workers **ret_workers)
{
	struct spw_workers *w = calloc(1, sizeof(*w));
	pthread_condattr_t attr;

	if (!w)
		return -ENOMEM;
	w->todo.last = &w->todo.first;
	w->over.last = &w->over.first;
	pthread_mutex_init(&w->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&w->work, NULL);
	pthread_cond_init(&w->done, &attr);
	pthread_condattr_destroy(&attr);
	*ret_workers = w;
	return 0;
}

static void *
serve(void *arg)
{
	struct spw_workers *w = arg;

	pthread_setname_np(pthread_self(), "spillway-work");
	pthread_mutex_lock(&w->lock);
	for (;;) {
		struct spw_job *job = take(&w->todo);

		if (!job) {
			if (w->leaving)
				break;
			pthread_cond_wait(&w->work, &w->lock);
			continue;
		}
		pthread_mutex_unlock(&w->lock);
		job->work(job);
		pthread_mutex_lock(&w->lock);
		put(&w->over, job);
		pthread_cond_signal(&w->done);
	}
	pthread_mutex_unlock(&w->lock);
	return NULL;
}

static void
start_thread(struct spw_workers *w)
{
	sigset_t all, before;
	pthread_attr_t attr;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, STACK);
	if (pthread_create(&w->thread[w->nthreads], &attr, serve, w) == 0)
		w->nthreads++;
	pthread_attr_destroy(&attr);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}

bool
spw_workers_submit(struct spw_workers *w, struct spw_job *job)
{
	if (w->nthreads < SPW_WORKERS && w->under_way >= w->nthreads)
		start_thread(w);
	if (!w->nthreads)
		return false;
	pthread_mutex_lock(&w->lock);
	put(&w->todo, job);
	w->under_way++;
	pthread_cond_signal(&w->work);
	pthread_mutex_unlock(&w->lock);
	return true;
}

struct spw_job *
spw_workers_reap(struct spw_workers *w, int ms)
{
	struct spw_job *job;
	struct timespec until;
	int r = 0;

	if (!w->under_way)
		return NULL;
	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += ms / 1000;
	until.tv_nsec += (long)(ms % 1000) * 1000000;
	if (until.tv_nsec >= 1000000000) {
		until.tv_sec++;
		until.tv_nsec -= 1000000000;
	}
	pthread_mutex_lock(&w->lock);
	while (!(job = take(&w->over)) && r == 0 && ms)
		r = pthread_cond_timedwait(&w->done, &w->lock, &until);
	if (job)
		w->under_way--;
	pthread_mutex_unlock(&w->lock);
	return job;
}

void
spw_workers_free(struct spw_workers *w)
{
	if (!w)
		return;
	pthread_mutex_lock(&w->lock);
	w->leaving = true;
	pthread_cond_broadcast(&w->work);
	pthread_mutex_unlock(&w->lock);
	for (unsigned i = 0; i < w->nthreads; i++)
		pthread_join(w->thread[i], NULL);
	pthread_cond_destroy(&w->work);
	pthread_cond_destroy(&w->done);
	pthread_mutex_destroy(&w->lock);
	free(w);
}
