/* SPDX-License-Identifier: BSD-3-Clause */
/* engine.c -- the drainer as a thread of the program itself */

/*
 * For programs where no agent can be started. The thread blocks all signals,
 * has a name, sets no handler and no atexit; a forked child does not have it
 * and forgets it. It ends with the process: what it had begun is taken over.
 *
 * Its descriptors are its own, not the program's: a shell puts what it opens
 * at the number it likes, closing a file would drop the program's locks on
 * it, and a pipe that the program closes has to be closed.
 */
#include "planner/engine.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>

#include "planner/drain.h"
#include "planner/drainer.h"
#include "shm/sys.h"

#define EXPORT __attribute__((visibility("default")))

enum { STACK = 256 * 1024, SERVE_MS = 1000 };

static struct spw_map engine_map;
static struct spw_drainer *_Atomic engine_drainer;
static _Atomic bool own_descriptors;

static void *
serve(void *drainer)
{
	for (;;)
		(void)spw_drainer_serve(drainer, SERVE_MS);
	return NULL;
}

/* Copies of the program's, which it expects to be the only one to hold. */
static void
close_copies(void)
{
	if (spw_syscall(SYS_close_range, 0, ~0u, 0, 0, 0, 0) == 0)
		return;
	for (int fd = 0; fd < 65536; fd++)	/* before Linux 5.9 */
		(void)spw_sys_close(fd);
}

/* The drainer belongs to the thread that starts it. */
static void *
begin(void *arg)
{
	struct spw_drainer *d;

	(void)arg;
	pthread_setname_np(pthread_self(), "spillway");
	if (spw_syscall(SYS_unshare, CLONE_FILES, 0, 0, 0, 0, 0) == 0) {
		atomic_store(&own_descriptors, true);
		close_copies();
	}
	if (spw_drainer_start(&engine_map, SPW_HOST_THREAD, &d) < 0)
		return NULL;		/* somebody else drains: fine */
	atomic_store(&engine_drainer, d);
	return serve(d);
}

EXPORT int
spw_engine_thread_start(const char *segment_path)
{
	sigset_t all, before;
	pthread_attr_t attr;
	pthread_t thread;
	int r = spw_seg_attach(segment_path, &engine_map);

	if (r < 0)
		return r;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	pthread_attr_init(&attr);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	pthread_attr_setstacksize(&attr, STACK);
	r = -pthread_create(&thread, &attr, begin, NULL);
	pthread_attr_destroy(&attr);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return r;
}

/* Only what the kernel shares: the parent's thread uses the memory on its
 * side, and its lock must not live on here. */
EXPORT void
spw_engine_thread_forget(void)
{
	struct spw_drainer *d = atomic_exchange(&engine_drainer, NULL);

	if (!d || atomic_exchange(&own_descriptors, false))
		return;
	spw_sys_close(d->lock_fd);
	for (uint32_t i = 0; i < d->map->counts[SPW_POOL_FILES]; i++)
		if (d->homes[i].fd >= 0)
			spw_sys_close(d->homes[i].fd);
}
