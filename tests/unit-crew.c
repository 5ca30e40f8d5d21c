/* SPDX-License-Identifier: BSD-3-Clause */
/* unit-crew.c -- jobs of a series go one after the other, others at once */
#include <stdatomic.h>

#include "tests/guarded.h"
#include "tiers/crew.h"

enum { JOBS = 300, SERIES = 3, HANDS = 4, WAIT_US = 200, LONG_US = 20000 };

struct errand {
	struct spw_job job;		/* first: reaped as that */
	unsigned number;
};

static struct errand errand[JOBS];
static _Atomic unsigned running[SERIES + 1], most[SERIES + 1];
static _Atomic unsigned last[SERIES + 1];	/* that began: number + 1 */
static _Atomic unsigned done;

static void
run(struct spw_job *job)
{
	const struct errand *e = (const struct errand *)job;
	unsigned s = (unsigned)job->series;
	unsigned n = atomic_fetch_add(&running[s], 1) + 1;
	unsigned before = atomic_exchange(&last[s], e->number + 1);

	if (n > atomic_load(&most[s]))
		atomic_store(&most[s], n);
	CHECK(!s || before <= e->number);	/* as they were given */
	usleep(s ? WAIT_US : LONG_US);
	atomic_fetch_sub(&running[s], 1);
	atomic_fetch_add(&done, 1);
}

/* Of every four one is in no series. */
static void
give(struct spw_crew *c, unsigned from, unsigned to)
{
	for (unsigned i = from; i < to; i++) {
		errand[i] = (struct errand){
			.job.run = run, .number = i,
			.job.series = i % (SERIES + 1),
		};
		CHECK(!spw_crew_give(c, &errand[i].job));
	}
}

int
main(void)
{
	struct spw_crew *c;

	CHECK(!spw_crew_new(HANDS, &c));
	give(c, 0, JOBS / 2);
	for (unsigned i = 0; i < JOBS / 2; i++)
		CHECK(spw_crew_reap(c, -1));
	CHECK(!spw_crew_reap(c, 0));
	give(c, JOBS / 2, JOBS);
	spw_crew_free(c);		/* what was given is done first */
	CHECK(atomic_load(&done) == JOBS);
	CHECK(atomic_load(&most[0]) > 1);
	for (unsigned s = 1; s <= SERIES; s++)
		CHECK(atomic_load(&most[s]) == 1);
	return 0;
}
