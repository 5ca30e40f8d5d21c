/* SPDX-License-Identifier: BSD-3-Clause */
/* keeper.h -- a thread that is the segment's drainer whenever it can be */
#ifndef SPW_TOOLS_KEEPER_H
#define SPW_TOOLS_KEEPER_H

#include <pthread.h>
#include <semaphore.h>

#include "planner/drain.h"

/*
 * A thread of its own, so that the one that waits for the program and for
 * signals is never stuck in a slow home. All signals are blocked in it. If
 * another drainer lives, it stands by and takes over when that one is gone.
 */
struct spw_keeper {
	struct spw_map *map;
	enum spw_drainer_host host;
	pthread_t thread;
	sem_t tried;			/* the first attempt is over: */
	int result;			/* what came of it */
	char note[2][256];		/* to be told; or empty */
	_Atomic bool serving;		/* has the office now */
	_Atomic bool leaving;
	bool remove, removed;
};

/* 0, also when another one serves; or a negative errno. */
int spw_keeper_start(struct spw_keeper *k, struct spw_map *map,
		     enum spw_drainer_host host);

/* Lays down the office. With remove, deletes the segment first if all is home
 * and nobody holds it: then 1, else 0. Waits ms for the thread, which may
 * hang in a dead file system: -ETIMEDOUT, and k must stay where it is. */
int spw_keeper_leave(struct spw_keeper *k, bool remove, int64_t ms);

#endif
