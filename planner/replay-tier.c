/* SPDX-License-Identifier: BSD-3-Clause */
/* replay-tier.c -- the tiers of a replay, which may stop to answer at any time */

/*
 * A tier is called by a thread of its own (tiers/apart.h). From one that gave
 * no sign of life for SPW_APART_MS nothing is wanted any more, in this replay:
 * what it was given stays its own, and what is there stays there. While it is
 * opened and listed it has more time: much may have to be looked at.
 */
#include <errno.h>
#include <stdlib.h>

#include "planner/replay-parts.h"
#include "shm/sys.h"
#include "shm/util.h"
#include "tiers/apart.h"

enum { OPEN_MS = 10 * SPW_APART_MS };

int
spw_replay_buffers(struct spw_replay *r)
{
	r->move = calloc(1, sizeof(*r->move));
	r->stored = aligned_alloc(SPW_TIER_ALIGN, spw_replay_bound());
	return r->move && r->stored ? 0 : -ENOMEM;
}

static int
stall(struct spw_replay *r, uint32_t tier)
{
	r->stalled[tier] = true;
	return -ETIMEDOUT;
}

/* Until it rings. False: it does not. */
static bool
is_heard(struct spw_replay *r, uint32_t tier)
{
	int64_t left = spw_apart_patience(r->tier[tier]);

	if (left)
		spw_bell_wait(r->bell, left > 0 ? left : SPW_APART_MS);
	return left;
}

int
spw_replay_move(struct spw_replay *r, uint32_t tier,
		struct spw_transfer *what)
{
	if (r->stalled[tier])
		return -ETIMEDOUT;
	if (!r->move || !r->stored)
		return -ENOMEM;
	*r->move = *what;
	r->move->buf = r->stored;
	spw_apart_move(r->tier[tier], r->move, false);
	while (!spw_apart_reap(r->tier[tier]))
		if (!is_heard(r, tier)) {
			(void)spw_replay_buffers(r);
			return stall(r, tier);
		}
	what->place = r->move->place;
	return r->move->err;
}

int
spw_replay_sync(struct spw_replay *r, uint32_t tier)
{
	const struct spw_apart_then nothing = { 0 };
	int err;

	if (r->stalled[tier])
		return -ETIMEDOUT;
	(void)spw_apart_sync(r->tier[tier], nothing);
	while ((err = spw_apart_synced(r->tier[tier])) == -EINPROGRESS)
		if (!is_heard(r, tier))
			return stall(r, tier);
	return err;
}

int
spw_replay_drop(struct spw_replay *r, struct spw_replay_object *o)
{
	if (o->gone)
		return 0;
	if (r->stalled[o->tier])
		return -ETIMEDOUT;
	spw_apart_drop(r->tier[o->tier], o->place);
	o->gone = true;
	return 0;
}

/* Never back: what the owner did counts as well, if the clock has been set. */
void
spw_replay_stamp(struct spw_replay *r)
{
	if (spw_file_time() < r->alive)
		return;
	for (unsigned i = 0; i < r->ntiers; i++)
		if (!r->stalled[i])
			spw_apart_stamp(r->tier[i]);
}

int
spw_replay_open_tier(struct spw_replay *r, const struct spw_replay_place *p,
		     const struct spw_tier_setup *setup)
{
	uint32_t i = r->ntiers;
	int err = spw_apart_open(r->bell, p->ops, setup, OPEN_MS,
				 &r->tier[i]);

	if (err == -ETIMEDOUT)
		r->hung = true;
	if (err < 0)
		return err;
	r->place[i] = p->place;
	r->alive = SPW_MAX(r->alive, spw_apart_alive(r->tier[i]));
	r->ntiers++;
	return 0;
}

int
spw_replay_list_tier(struct spw_replay *r, uint32_t tier,
		     int (*seen)(void *arg, const struct spw_tier_found *f),
		     void *arg)
{
	int err = spw_apart_list(r->tier[tier], OPEN_MS, seen, arg);

	return err == -ETIMEDOUT ? stall(r, tier) : err;
}

int
spw_replay_close_tier(struct spw_replay *r, uint32_t tier, bool discard)
{
	int err = r->stalled[tier] ? -ETIMEDOUT
		  : spw_apart_close(r->tier[tier], discard);

	r->hung |= err == -ETIMEDOUT;
	return err;
}
