/* SPDX-License-Identifier: BSD-3-Clause */
/* away.c -- tiers that cannot be had now, and are tried until they can */

/*
 * A drainer that takes over goes on without a tier that fails or does not
 * answer: whoever needs nothing of it is served. What is there stays below;
 * who wants that waits while the tier does not answer, and is told of its
 * error if it has one.
 *
 * Meanwhile a thread of its own tries the tier: opens it, lists all that is in
 * it and lets go of it again. When that went well the store is closed and
 * opened anew, as a successor would open it, and has this tier, too. The same
 * is done with a tier of which only some objects could not be read; that one is
 * in use meanwhile, so it is only looked at.
 *
 * For that nothing may be under way to or from a tier. Somebody may write all
 * the time, so for a moment nothing new is begun. If it does not get quiet all
 * the same, since a home stalls, work goes on for a while.
 */
#include "planner/away.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "shm/gate.h"
#include "shm/util.h"

enum {
	PAUSE_MS = 500, PAUSE_MOST = 5000,	/* between tries */
	LOOK_MS = 100,			/* between looks at them */
	HUSH_MS = 10000, WORK_MS = 10000,	/* nothing is begun; it is */
	SLOWER = 4,			/* times what listing took is borne */
};

struct absent {
	int err;			/* why it is away; 0: it is not */
	int doubt;			/* of some of it, why; 0: of none */
	struct spw_apart *trial;	/* NULL: none is under way */
	enum spw_away_step step;	/* that it is at */
	struct spw_apart *former;	/* a look that the store overtook: it
					 * only has to end */
	enum spw_away_step former_step;
	int result;			/* of the list */
	bool well;			/* it went well: to be opened anew */
	int64_t began, took;		/* ms: the last trial */
	int64_t retry_at, pause;	/* ms */
};

struct spw_away {
	struct spw_away *before;	/* that was abandoned, if this one is */
	struct spw_tierlist list;
	struct spw_bell *bell;
	struct absent tier[SPW_TIERS_MAX];
	char share[SPW_STORE_SHARE];
	bool renew;
	int64_t looked_at;		/* ms */
	int64_t hushed_at;		/* ms; that it began, or is to */
};

int
spw_away_begin(struct spw_drainer *d)
{
	struct spw_away *w = d->away;
	struct spw_diag diag;
	int r;

	if (w)
		return 0;
	w = calloc(1, sizeof(*w));
	r = w ? spw_bell_new(spw_gate_rouse, d->map, &w->bell) : -ENOMEM;
	if (r == 0)
		r = spw_tierspec_parse(d->map->fixed.tiers, "segment",
				       SPW_KINDS_ALL, NULL, &w->list, &diag);
	if (r < 0) {
		spw_bell_free(w ? w->bell : NULL);
		free(w);
		return r;
	}
	spw_store_share(d->map, w->share);
	d->away = w;
	return 0;
}

/* What is damaged will not get better. */
static int
see(void *arg, const struct spw_tier_found *f)
{
	(void)arg;
	return f->err == -EBADMSG ? 0 : f->err;
}

static void
conclude(struct absent *t)
{
	int64_t now = spw_now_ms();

	t->trial = NULL;
	t->took = now - t->began;
	t->well = t->result == 0;
	if (t->well)
		return;
	/* One that was called off tells nothing but that it answers. */
	t->pause = t->result == -ECANCELED ? 0 :
		   SPW_MIN(2 * t->pause + PAUSE_MS, PAUSE_MOST);
	t->retry_at = now + t->pause;
	if (t->result != -ECANCELED && t->err)
		t->err = t->result;
}

/* The next step, if the last one is over; of the last one *ret_result tells.
 * True: there is none. */
static bool
go_on(struct spw_apart *a, enum spw_away_step *step, int *ret_result)
{
	int r = spw_apart_answer(a);

	if (r == -EINPROGRESS)
		return false;
	if (*step == SPW_AWAY_OPENS && r == 0) {
		*step = SPW_AWAY_LISTS;
		spw_apart_begin_list(a, see, NULL);
		return false;
	}
	if (*step != SPW_AWAY_CLOSES)
		*ret_result = r;
	if (*step == SPW_AWAY_LISTS) {
		*step = SPW_AWAY_CLOSES;
		spw_apart_begin_close(a, false);
		return false;
	}
	spw_apart_end(a);
	return true;
}

static void
advance(struct absent *t)
{
	int nobody;

	if (t->former && go_on(t->former, &t->former_step, &nobody))
		t->former = NULL;
	if (t->trial && go_on(t->trial, &t->step, &t->result))
		conclude(t);
}

/* What still has a thread keeps it, and the bell, until the process ends; who
 * looks for leaks is led to it. */
static void
abandon(struct spw_away *w)
{
	static struct spw_away *last;

	spw_bell_mute(w->bell);
	w->before = last;
	last = w;
}

void
spw_away_end(struct spw_drainer *d)
{
	struct spw_away *w = d->away;
	bool over = true;

	d->away = NULL;
	if (!w)
		return;
	for (int i = 0; i < SPW_TIERS_MAX; i++) {
		advance(&w->tier[i]);
		over &= !w->tier[i].trial && !w->tier[i].former;
	}
	if (!over) {
		abandon(w);
		return;
	}
	spw_bell_free(w->bell);
	free(w);
}

const struct spw_tierlist *
spw_away_list(const struct spw_drainer *d)
{
	return &d->away->list;
}

struct spw_bell *
spw_away_bell(const struct spw_drainer *d)
{
	return d->away->bell;
}

void
spw_away_setup(const struct spw_drainer *d, uint32_t number,
	       struct spw_tier_setup *ret_setup,
	       const struct spw_tier_ops **ret_ops)
{
	const struct spw_tierlist *list = &d->away->list;
	const struct spw_tierspec *spec = &list->tier[number];

	*ret_ops = spw_tier_by_kind(spw_tierspec_kind_name(spec->kind));
	*ret_setup = (struct spw_tier_setup){
		.place = spw_tierspec_place(list, spec),
		.owner = d->away->share, .capacity = spec->capacity,
		.io = spw_tierspec_value(list, spec, SPW_KEY_IO),
		.create = true,
	};
}

int64_t
spw_away_patience(const struct spw_drainer *d, uint32_t number)
{
	return SPW_APART_MS + SLOWER * d->away->tier[number].took;
}

void
spw_away_note(struct spw_drainer *d, uint32_t number, int err,
	      struct spw_apart *a, enum spw_away_step step)
{
	struct absent *t = &d->away->tier[number];

	if (t->trial) {
		t->former = t->trial;
		t->former_step = t->step;
	}
	t->err = err;
	t->trial = a;
	t->step = step;
	t->result = -ECANCELED;
	t->well = false;
	t->began = spw_now_ms();
	t->retry_at = t->began + PAUSE_MS;
	spw_level_failed(d, number, err);
}

bool
spw_away_is(const struct spw_drainer *d, uint32_t number)
{
	return d->away->tier[number].err;
}

void
spw_away_doubt(struct spw_drainer *d, uint32_t number, int err)
{
	d->away->tier[number].doubt = err;
	d->away->tier[number].retry_at = spw_now_ms() + PAUSE_MS;
}

static void
try(struct spw_drainer *d, uint32_t number)
{
	struct absent *t = &d->away->tier[number];
	const struct spw_tier_ops *ops;
	struct spw_tier_setup setup;

	spw_away_setup(d, number, &setup, &ops);
	setup.look_only = !t->err;
	t->began = spw_now_ms();
	t->step = SPW_AWAY_OPENS;
	t->retry_at = t->began + PAUSE_MOST;
	if (spw_apart_begin(d->away->bell, ops, &setup, &t->trial) < 0)
		t->trial = NULL;
}

static void
tend(struct spw_drainer *d, uint32_t number)
{
	struct absent *t = &d->away->tier[number];

	advance(t);
	d->away->renew |= t->well;
	if ((!t->err && !t->doubt) || t->err == -ENOTSUP || t->well)
		return;
	if (!t->trial && !t->former && t->retry_at <= spw_now_ms())
		try(d, number);
	if (t->trial && t->err && spw_apart_patience(t->trial) == 0)
		t->err = -ETIMEDOUT;
	if (t->err)
		spw_level_failed(d, number, t->err);
}

void
spw_away_look(struct spw_drainer *d)
{
	struct spw_away *w = d->away;
	int64_t now = spw_now_ms();

	if (!w || now - w->looked_at < LOOK_MS)
		return;
	w->looked_at = now;
	for (uint32_t i = 0; i < w->list.n; i++)
		tend(d, i);
	if (w->renew && !w->hushed_at)
		w->hushed_at = now;
}

bool
spw_away_hushes(const struct spw_drainer *d)
{
	const struct spw_away *w = d->away;

	return w && w->renew && w->hushed_at <= spw_now_ms();
}

static void
renew(struct spw_drainer *d)
{
	struct spw_away *w = d->away;
	int64_t now = spw_now_ms();

	if (d->store && !spw_store_is_quiet(d)) {
		if (now - w->hushed_at >= HUSH_MS)
			w->hushed_at = now + WORK_MS;
		return;
	}
	w->hushed_at = 0;
	spw_store_close(d);
	for (int i = 0; i < SPW_TIERS_MAX; i++)
		if (w->tier[i].well)
			w->tier[i].err = w->tier[i].doubt = w->tier[i].well = 0;
	w->renew = spw_store_open(d) < 0;
}

void
spw_away_tend(struct spw_drainer *d)
{
	spw_away_look(d);
	if (spw_away_hushes(d))
		renew(d);
}

int
spw_away_missing(const struct spw_drainer *d)
{
	for (uint32_t i = 0; d->away && i < d->away->list.n; i++)
		/* Busy: with a predecessor that is not quite dead. */
		if (d->away->tier[i].err == -ETIMEDOUT ||
		    d->away->tier[i].err == -EBUSY)
			return -EINPROGRESS;
	return -EIO;
}

bool
spw_away_describe(const struct spw_drainer *d, char *buf, size_t size)
{
	const struct spw_tierlist *list = d->away ? &d->away->list : NULL;

	for (uint32_t i = 0; list && i < list->n; i++)
		if (d->away->tier[i].err || d->away->tier[i].doubt) {
			snprintf(buf, size, "tier %s, %s",
				 spw_tierspec_kind_name(list->tier[i].kind),
				 spw_tierspec_place(list, &list->tier[i]));
			return true;
		}
	return false;
}
