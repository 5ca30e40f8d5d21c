/* SPDX-License-Identifier: BSD-3-Clause */
/* engine.c -- the drainer as a thread of the program itself */

/*
 * For programs where no agent can be started. The thread blocks all signals,
 * has a name, sets no handler and no atexit; a forked child does not have it
 * and forgets it. It ends with the process: what it had begun is taken over.
 *
 * Its descriptors are its own, not the program's: a shell puts what it opens
 * at the number it likes, closing a file would drop the program's locks on
 * it, and a pipe that the program closes has to be closed. What it calls, and
 * what libraries call for it, must not be taken for the program's doing: each
 * thread says so to the front.
 */
#include "planner/engine.h"

#include <errno.h>
#include <linux/close_range.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "planner/drain.h"
#include "planner/drainer.h"
#include "planner/lasting.h"
#include "planner/over.h"
#include "shm/gate.h"
#include "shm/sys.h"
#include "shm/util.h"
#include "tiers/thread.h"

#define EXPORT __attribute__((visibility("default")))

enum { STACK = 256 * 1024, SERVE_MS = 1000, WATCH_MS = 300, THREADS = 2,
	HERE_MS = 1000 };

static struct spw_map engine_map;
static struct spw_drainer *_Atomic engine_drainer;
static _Atomic bool own_descriptors;
static _Atomic uint32_t told_to_leave;	/* futex */
static pthread_t threads[THREADS];
static int nthreads;

static void
tell_to_leave(void)
{
	atomic_store(&told_to_leave, 1);
	(void)spw_sys_futex_wake(&told_to_leave, INT32_MAX);
}

static void *
serve(struct spw_drainer *d)
{
	while (!atomic_load(&told_to_leave))
		(void)spw_drainer_serve(d, SERVE_MS);
	spw_drainer_stop(d);
	return NULL;
}

/*
 * The program ends with its last thread, but libc counts ours as well. So one
 * that has the program's descriptors, for streams to be flushed, ends it.
 */
static void *
watch(void *unused)
{
	int status;

	pthread_setname_np(pthread_self(), "spillway");
	while (!atomic_load(&told_to_leave)) {
		(void)spw_sys_futex_wait(&told_to_leave, 0, WATCH_MS);
		if (!spw_is_over(&status))
			continue;
		if (status)		/* not by libc, which says 0 */
			_exit(status);
		exit(0);
	}
	return unused;
}

/* What somebody writes to standard error must not get into a home. */
static void
fill_standard_numbers(void)
{
	for (int i = 0; i < 3; i++)
		(void)spw_sys_open("/dev/null", O_RDWR, 0);
}

/* Without copies of the program's, which it expects to be the only one to
 * hold. Containers forbid unshare, but not close_range. */
static bool
get_own_descriptors(void)
{
	if (spw_syscall(SYS_close_range, 0, ~0u, CLOSE_RANGE_UNSHARE, 0, 0,
			0) < 0) {
		if (spw_syscall(SYS_unshare, CLONE_FILES, 0, 0, 0, 0, 0) < 0)
			return false;
		for (int fd = 0; fd < 65536; fd++)	/* before 5.9 */
			(void)spw_sys_close(fd);
	}
	fill_standard_numbers();
	return true;
}

/* The drainer belongs to the thread that starts it. */
static void *
begin(void *arg)
{
	struct spw_drainer *d;

	(void)arg;
	spw_thread_begin("spillway");
	atomic_store(&own_descriptors, get_own_descriptors());
	if (!atomic_load(&own_descriptors))
		spw_lasting_begin();
	/* The program may change its root; homes are below the old one. */
	(void)spw_syscall(SYS_unshare, CLONE_FS, 0, 0, 0, 0, 0);
	if (spw_drainer_start(&engine_map, SPW_HOST_THREAD, &d) < 0) {
		tell_to_leave();	/* somebody else drains: fine */
		return NULL;
	}
	atomic_store(&engine_drainer, d);
	return serve(d);
}

static void
join_all(int64_t until_ms)
{
	for (; nthreads; nthreads--)
		(void)spw_thread_join(threads[nthreads - 1], until_ms);
}

static int
start(void *(*what)(void *))
{
	pthread_attr_t attr;
	int r;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, STACK);
	r = -pthread_create(&threads[nthreads], &attr, what, NULL);
	pthread_attr_destroy(&attr);
	nthreads += r == 0;
	return r;
}

EXPORT int
spw_engine_thread_start(const char *segment_path, void (*tell)(void))
{
	sigset_t all, before;
	int r;

	if (nthreads && !atomic_load(&told_to_leave))
		return 0;		/* begun, but not yet in office */
	join_all(-1);
	r = spw_seg_attach(segment_path, &engine_map);
	if (r < 0)
		return r;
	spw_thread_tell = tell;
	atomic_store(&told_to_leave, 0);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	r = start(begin);
	if (r == 0)
		(void)start(watch);	/* few programs need it */
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return r;
}

/* Others may be at it: -EAGAIN is as good. */
EXPORT int
spw_engine_drain(const char *segment_path)
{
	struct spw_drainer *d;
	int r = engine_map.base ? 0 : spw_seg_attach(segment_path,
						     &engine_map);

	if (r < 0)
		return r;
	spw_lasting_begin();
	r = spw_drainer_start(&engine_map, SPW_HOST_THREAD, &d);
	if (r < 0)
		return r == -EAGAIN ? 0 : r;
	(void)spw_drainer_finish(d, HERE_MS);
	(void)spw_drainer_serve(d, 1);	/* who asked is answered */
	spw_drainer_stop(d);
	return 0;
}

EXPORT void
spw_engine_thread_stop(int64_t ms)
{
	if (!atomic_exchange(&engine_drainer, NULL) && ms >= 0)
		return;
	tell_to_leave();
	spw_gate_hurry(&engine_map);
	join_all(ms < 0 ? -1 : spw_now_ms() + ms);
}

/* Only what the kernel shares: the parent's thread uses the memory on its
 * side, and its lock must not live on here. */
EXPORT void
spw_engine_thread_forget(void)
{
	struct spw_drainer *d = atomic_exchange(&engine_drainer, NULL);

	nthreads = 0;
	if (!d || atomic_exchange(&own_descriptors, false))
		return;
	spw_sys_close(d->lock_fd);
	for (uint32_t i = 0; i < d->map->counts[SPW_POOL_FILES]; i++)
		if (d->homes[i].fd >= 0)
			spw_sys_close(d->homes[i].fd);
}
