/* SPDX-License-Identifier: BSD-3-Clause */
/* pack.c -- workers that pack objects while others are written */
#include "planner/pack.h"

#include <sched.h>
#include <string.h>
#include <time.h>

#include "shm/layout.h"
#include "shm/util.h"
#include "tiers/codec.h"

enum { AUTO_MOST = 4 };			/* the program needs its cores */

static unsigned
count_workers(uint32_t workers)
{
	cpu_set_t cpus;
	unsigned n = 1;

	if (workers != SPW_NONE)
		return (unsigned)SPW_MIN(workers, SPW_CREW_MOST);
	if (sched_getaffinity(0, sizeof(cpus), &cpus) == 0)
		n = (unsigned)CPU_COUNT(&cpus) / 2;
	return SPW_MAX(1u, SPW_MIN(n, AUTO_MOST));
}

int
spw_pack_open(struct spw_pack_crew *c, uint32_t workers,
	      struct spw_bell *bell)
{
	unsigned n = count_workers(workers);
	int r = spw_crew_new(n, &c->crew);

	if (r == 0) {
		spw_crew_tell(c->crew, spw_bell_ring, bell);
		r = spw_packer_new(&c->own);
	}
	while (r == 0 && c->npackers < n) {
		r = spw_packer_new(&c->packer[c->npackers]);
		c->npackers += r == 0;
	}
	return r;
}

void
spw_pack_close(struct spw_pack_crew *c)
{
	spw_crew_free(c->crew);
	while (c->npackers)
		spw_packer_free(c->packer[--c->npackers]);
	spw_packer_free(c->own);
	memset(c, 0, sizeof(*c));
}

static double
seconds_by(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void
encode(struct spw_pack_job *job, struct spw_packer *packer)
{
	/* Nobody learns from what sums alone take, and for the processor's time
	 * the kernel is asked. */
	clockid_t clock = job->pack.codec == SPW_CODEC_NONE
			  ? CLOCK_MONOTONIC : CLOCK_THREAD_CPUTIME_ID;
	double before = seconds_by(clock);

	job->stored = spw_object_encode(packer, job->o, &job->pack, job->to,
					job->cap, job->raw);
	if (job->stored < 0 && job->pack.codec != SPW_CODEC_NONE) {
		job->pack = (struct spw_object_pack){ 0 };
		job->stored = spw_object_encode(packer, job->o, NULL, job->to,
						job->cap, job->raw);
	}
	job->seconds = seconds_by(clock) - before;
}

static void
pack(struct spw_job *job)		/* by a worker */
{
	struct spw_pack_job *j = (struct spw_pack_job *)job;

	encode(j, j->crew->packer[job->hand]);
}

void
spw_pack_now(struct spw_pack_crew *c, struct spw_pack_job *job)
{
	encode(job, c->own);
}

bool
spw_pack_start(struct spw_pack_crew *c, struct spw_pack_job *job)
{
	job->crew = c;
	job->job = (struct spw_job){ .run = pack };
	if (spw_crew_give(c->crew, &job->job) == 0) {
		c->under_way++;
		return true;
	}
	spw_pack_now(c, job);
	return false;
}

struct spw_pack_job *
spw_pack_reap(struct spw_pack_crew *c)
{
	struct spw_job *job = c->under_way ? spw_crew_reap(c->crew, 0) : NULL;

	c->under_way -= job != NULL;
	return (struct spw_pack_job *)job;
}
