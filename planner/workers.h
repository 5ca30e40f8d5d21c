/* SPDX-License-Identifier: BSD-3-Clause */
/* workers.h -- threads that do what may take long, for one thread that asks */
#ifndef SPW_PLANNER_WORKERS_H
#define SPW_PLANNER_WORKERS_H

#include <stdbool.h>

/* The memory is the workers' from submit to reap. */
struct spw_job {
	void (*work)(struct spw_job *job);
	struct spw_job *next;		/* ours */
};

struct spw_workers;

enum { SPW_WORKERS = 4 };

/* The threads come with the first job: signals blocked, named. */
int spw_workers_new(struct spw_workers **ret_workers);

/* False: no thread could be started; do it yourself. */
bool spw_workers_submit(struct spw_workers *w, struct spw_job *job);

/* One that is done; NULL: none within ms, or none under way. */
struct spw_job *spw_workers_reap(struct spw_workers *w, int ms);

void spw_workers_free(struct spw_workers *w);	/* ends them; all reaped */

#endif
