/* SPDX-License-Identifier: BSD-3-Clause */
/* aside.c -- calls to a home that may not return for long, made aside */
#include "planner/aside.h"

#include <assert.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "shm/util.h"
#include "tiers/crew.h"

/* One that did not begin in time never does: by then its descriptor may be
 * that of another file. */
enum { WAITING, BEGUN, GIVEN_UP };

struct call {
	struct spw_job job;		/* first: reaped as that */
	_Atomic int state;
	uint64_t dev;
	int64_t (*act)(void *arg);
	void (*undo)(void *arg, int64_t result);
	int64_t result;
	struct call *next;		/* of those that are late */
	_Alignas(max_align_t) char arg[SPW_ASIDE_MAX];
};

enum { HURRY_MS = 1000, SLICE_MS = 100 };

struct spw_aside {
	struct spw_crew *crew;
	bool (*hurries)(void *arg);
	void *arg;
	struct call *late;
	unsigned nlate;
};

int
spw_aside_new(bool (*hurries)(void *arg), void *arg,
	      struct spw_aside **ret_aside)
{
	struct spw_aside *a = calloc(1, sizeof(*a));
	int r = a ? spw_crew_new(SPW_CREW_HANDS, &a->crew) : -ENOMEM;

	if (r < 0) {
		free(a);
		return r;
	}
	a->hurries = hurries;
	a->arg = arg;
	*ret_aside = a;
	return 0;
}

static void
run(struct spw_job *job)		/* by another thread */
{
	struct call *c = (struct call *)job;
	int state = WAITING;

	c->result = atomic_compare_exchange_strong(&c->state, &state, BEGUN)
		    ? c->act(c->arg) : -ECANCELED;
}

/* One that nobody waits for any more. */
static void
end_late(struct spw_aside *a, struct call *c)
{
	struct call **at = &a->late;

	while (*at != c)
		at = &(*at)->next;
	*at = c->next;
	a->nlate--;
	if (c->undo)
		c->undo(c->arg, c->result);
	free(c);
}

static void
collect(struct spw_aside *a)
{
	struct spw_job *job;

	while (a->nlate && (job = spw_crew_reap(a->crew, 0)))
		end_late(a, (struct call *)job);
}

static bool
is_stalled(const struct spw_aside *a, uint64_t dev)
{
	for (const struct call *c = a->late; c; c = c->next)
		if (c->dev == dev)
			return true;
	return a->nlate == SPW_CREW_HANDS;
}

/* False: it is late. */
static bool
wait_for(struct spw_aside *a, const struct call *c)
{
	int64_t began = spw_now_ms(), now = began;

	for (; now - began < SPW_ASIDE_MS; now = spw_now_ms()) {
		struct spw_job *job = spw_crew_reap(a->crew, SLICE_MS);

		if (job == &c->job)
			return true;
		if (job)
			end_late(a, (struct call *)job);
		else if (now - began >= HURRY_MS && a->hurries(a->arg))
			break;
	}
	return false;
}

void
spw_aside_free(struct spw_aside *a)
{
	if (!a)
		return;
	collect(a);
	if (a->nlate)
		return;
	spw_crew_free(a->crew);
	free(a);
}

int64_t
spw_aside_call(struct spw_aside *a, uint64_t dev, int64_t (*act)(void *arg),
	       void *arg, size_t size,
	       void (*undo)(void *arg, int64_t result))
{
	struct call *c;
	int64_t result;

	if (!a)
		return act(arg);
	collect(a);
	if (is_stalled(a, dev)) {
		if (undo)
			undo(arg, -ECANCELED);
		return -ETIMEDOUT;
	}
	assert(size <= SPW_ASIDE_MAX);
	c = malloc(sizeof(*c));
	if (!c)
		return -ENOMEM;
	*c = (struct call){
		.job.run = run, .dev = dev, .act = act, .undo = undo,
	};
	memcpy(c->arg, arg, size);
	if (spw_crew_give(a->crew, &c->job) < 0) {
		free(c);
		return act(arg);
	}
	if (!wait_for(a, c)) {
		int state = WAITING;

		(void)atomic_compare_exchange_strong(&c->state, &state,
						     GIVEN_UP);
		c->next = a->late;
		a->late = c;
		a->nlate++;
		return -ETIMEDOUT;
	}
	memcpy(arg, c->arg, size);
	result = c->result;
	free(c);
	return result;
}
