/* SPDX-License-Identifier: BSD-3-Clause */
/* opening.c -- shares opened by a command, which says when that takes long */
#include "tools/opening.h"

#include <pthread.h>
#include <stdio.h>
#include <time.h>

enum { SILENT_S = 3 };

struct opening {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	const char *owner;
	bool over;
};

static void *
watch(void *arg)
{
	struct opening *o = arg;
	struct timespec until;
	int r = 0;

	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += SILENT_S;
	pthread_mutex_lock(&o->lock);
	while (!o->over && r == 0)
		r = pthread_cond_timedwait(&o->changed, &o->lock, &until);
	if (!o->over)
		fprintf(stderr, "spillway: share %s: its tiers take long to "
			"open and to list; one that does not answer is given "
			"up after 30 s\n", o->owner);
	pthread_mutex_unlock(&o->lock);
	return NULL;
}

static void
end(struct opening *o, pthread_t watcher)
{
	pthread_mutex_lock(&o->lock);
	o->over = true;
	pthread_cond_signal(&o->changed);
	pthread_mutex_unlock(&o->lock);
	pthread_join(watcher, NULL);
}

int
spw_opening(const struct spw_replay_place *places, unsigned n,
	    const char *owner, bool look_only, bool quiet,
	    struct spw_replay **ret)
{
	struct opening o = {
		.lock = PTHREAD_MUTEX_INITIALIZER, .owner = owner,
	};
	pthread_condattr_t attr;
	pthread_t watcher;
	bool watched;
	int r;

	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&o.changed, &attr);
	watched = !quiet && pthread_create(&watcher, NULL, watch, &o) == 0;
	r = spw_replay_open(places, n, owner, look_only, ret);
	if (watched)
		end(&o, watcher);
	pthread_cond_destroy(&o.changed);
	pthread_condattr_destroy(&attr);
	return r;
}
