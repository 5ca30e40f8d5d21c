/* SPDX-License-Identifier: BSD-3-Clause */
/* seed-queue.h -- what waits beside a seed until somebody adds it */

/* Each process that saves first puts what it learned into a file of its own,
 * PATH.XXXXXX.more, and then waits for the lock of the seed.  Who has that adds
 * all that waits, so that of many who save at once few write the seed; and what
 * a process has no time to wait for is added by the next one.
 */

#ifndef SPW_PLANNER_SEED_QUEUE_H
#define SPW_PLANNER_SEED_QUEUE_H

#include <limits.h>

#include "planner/seed.h"

#define SPW_SEED_QUEUED 256u		/* files that are added at once */

struct spw_seed_queue {
	unsigned n;
	char *name[SPW_SEED_QUEUED];
};

/* 0 and the name of its file, or a negative errno and nothing is left. */
int spw_seed_queue_put(const char *path, const struct spw_seed *more,
		       char name[PATH_MAX]);

/* Under the lock of the seed: all that waits, into one.  drop then removes what
 * was taken, or with `keep` only forgets it.
 */
int spw_seed_queue_take(const char *path, struct spw_seed *into,
			struct spw_seed_queue *ret);
void spw_seed_queue_drop(struct spw_seed_queue *q, bool keep);

#endif
