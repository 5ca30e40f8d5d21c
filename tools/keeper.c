/* SPDX-License-Identifier: BSD-3-Clause */
/* keeper.c -- a thread that is the segment's drainer whenever it can be */
#include "tools/keeper.h"

#include <errno.h>
#include <stdio.h>
#include <signal.h>

#include "shm/gate.h"
#include "shm/sys.h"
#include "shm/util.h"
#include "tiers/thread.h"
#include "tools/segments.h"

enum {
	SERVE_MS = 20,			/* between looks whether to leave */
	STANDBY_MS = 20,		/* between attempts to take over */
};

static void
stand_by(struct spw_keeper *k)
{
	for (int ms = 0; ms < STANDBY_MS && !atomic_load(&k->leaving); ms++)
		spw_sys_sleep_us(1000);
}

static void
close_office(struct spw_keeper *k, struct spw_drainer *d)
{
	struct spw_drain_left left;

	/* What fsync was promised by tiers is made durable at home first. */
	spw_drainer_left(k->map, &left);
	if (k->remove && left.bytes == left.keeps &&
	    spw_drainer_finish(d, 0) < 0)
		k->remove = false;
	if (k->remove)
		k->removed = spw_segment_remove(k->map, d);
	spw_drainer_stop(d);
	atomic_store(&k->serving, false);
}

/* The first attempt decides whether there is a drainer at all. */
static struct spw_drainer *
begin(struct spw_keeper *k)
{
	struct spw_drainer *d = NULL;

	k->result = spw_drainer_start(k->map, k->host, &d);
	for (unsigned i = 0; d && i < 2; i++) {
		const char *note = spw_drainer_note(d, i);

		snprintf(k->note[i], sizeof(k->note[i]), "%s",
			 note ? note : "");
	}
	atomic_store(&k->serving, d != NULL);
	sem_post(&k->tried);
	return d;
}

static void *
keep(void *arg)
{
	struct spw_keeper *k = arg;
	struct spw_drainer *d = begin(k);

	while (!atomic_load(&k->leaving)) {
		if (d)
			(void)spw_drainer_serve(d, SERVE_MS);
		else if (spw_drainer_start(k->map, k->host, &d) == 0)
			atomic_store(&k->serving, true);
		else
			stand_by(k);
	}
	if (d)
		close_office(k, d);
	return NULL;
}

int
spw_keeper_start(struct spw_keeper *k, struct spw_map *map,
		 enum spw_drainer_host host)
{
	sigset_t all, before;
	int r;

	*k = (struct spw_keeper){ .map = map, .host = host };
	if (sem_init(&k->tried, 0, 0) < 0)
		return -errno;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	r = pthread_create(&k->thread, NULL, keep, k);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (r)
		return -r;
	while (sem_wait(&k->tried) < 0)
		;			/* a signal came first */
	if (k->result == 0 || k->result == -EAGAIN)
		return 0;
	(void)spw_keeper_leave(k, false, -1);
	return k->result;
}

int
spw_keeper_leave(struct spw_keeper *k, bool remove, int64_t ms)
{
	int r;

	k->remove = remove;
	atomic_store(&k->leaving, true);
	spw_gate_hurry(k->map);
	r = spw_thread_join(k->thread, ms < 0 ? -1 : spw_now_ms() + ms);
	if (r < 0)			/* ends with the process */
		(void)pthread_detach(k->thread);
	return r < 0 ? r : k->removed;
}
