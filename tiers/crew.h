/* SPDX-License-Identifier: BSD-3-Clause */
/* crew.h -- a few threads that do what the drainer would have to wait for */

#ifndef SPW_TIERS_CREW_H
#define SPW_TIERS_CREW_H

#include <stdbool.h>
#include <stdint.h>

/*
 * One thread hands out jobs and takes them back; the hands only run them.
 * Signals are blocked in the hands. They are started with the first job, and
 * are gone in a forked child, which must not use the crew.
 */
enum {
	SPW_CREW_HANDS = 4,		/* the usual number of them */
	SPW_CREW_MOST = 16,
};

struct spw_job {
	void (*run)(struct spw_job *job);
	bool alone;			/* waited for by itself, not reaped */
	uint64_t series;		/* those of one are run one after the
					 * other, as they were given; 0: none */
	unsigned hand;			/* who runs it, from 0; ours */
	bool over;			/* ours */
	struct spw_job *next;		/* ours */
};

struct spw_crew;

int spw_crew_new(unsigned hands, struct spw_crew **ret_crew);

/* Called by a hand whenever a job is over and can be reaped. Who was told
 * before is not told any more when this returns, and may go. */
void spw_crew_tell(struct spw_crew *c, void (*told)(void *arg), void *arg);

/* Only the first one can fail: no thread was to be had. */
int spw_crew_give(struct spw_crew *c, struct spw_job *job);

/* One that is over; NULL: none is under way, or none was over within ms
 * (negative: as long as it takes). */
struct spw_job *spw_crew_reap(struct spw_crew *c, int ms);

/* Until a job that is alone is over. */
void spw_crew_wait(struct spw_crew *c, struct spw_job *job);

void spw_crew_free(struct spw_crew *c);		/* waits for all */

#endif
