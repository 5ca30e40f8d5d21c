/* SPDX-License-Identifier: BSD-3-Clause */
/* pmem.c -- tier pmem: objects in files that are mapped persistent memory */

#include "tiers/pmem.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shm/failpoint.h"
#include "shm/sys.h"
#include "shm/util.h"

/*
 *	<share>/pmem-NNNN.log		pmem-layout.h tells what is in it
 *	<share>/pmem-NNNN.log.new	being made
 *	<share>/pmem.roll		which of them there are: roll.h
 *
 * Files of LOG_LEAST to LOG_MOST bytes are made as they are needed, their
 * space reserved, until the capacity is used up. A put is over when submit
 * returns: it copies, and on persistent memory it is durable by then; sync
 * has nothing to do. On other files sync calls msync for what was written.
 * The room of what was dropped is used again after the next sync.
 *
 * The variables of libpmem that tests use make it promise more than there is.
 * When one is set, sync calls msync whatever libpmem says. Who wants to see
 * what a program would gain from persistent memory, and has none, says so by a
 * variable of ours: then a file system in memory counts as that.
 */
static const uint64_t LOG_LEAST = 64 << 20, LOG_MOST = UINT64_C(16) << 30;
enum { LOGS = 64, NUMBERS = 0xffff, PAGE = 4096 };

static bool
is_set(const char *name)
{
	const char *value = secure_getenv(name);

	return value && strcmp(value, "0");
}

static void
set_trust(struct spw_pmem *t)
{
	const struct spw_pmem_calls *calls = t->env.calls;

	t->env.trusted = true;
	if (!t->tier.durable && is_set("SPILLWAY_EMULATE_PMEM")) {
		t->tier.durable = true;
		t->tier.caution = "SPILLWAY_EMULATE_PMEM is set: an fsync "
			"relies on memory that a reboot empties";
	} else if (is_set("PMEM_IS_PMEM_FORCE")) {
		t->env.trusted = false;
		t->tier.caution = "PMEM_IS_PMEM_FORCE is set: it makes nothing "
			"durable, so every sync waits for msync";
	} else if (is_set("PMEM_NO_FLUSH") && !(calls && calls->auto_flush())) {
		t->env.trusted = false;
		t->tier.caution = "PMEM_NO_FLUSH is set, but the caches of "
			"this machine do not survive, so every sync waits for "
			"msync";
	}
}

/* Opening. */

static int
add_log(struct spw_pmem *t, struct spw_pmem_log *l)
{
	struct spw_pmem_log **more;
	uint32_t i = t->nlogs;

	more = reallocarray(t->logs, t->nlogs + 1, sizeof(*more));
	if (!more)
		return -ENOMEM;
	t->logs = more;
	for (; i && t->logs[i - 1]->number > l->number; i--)
		t->logs[i] = t->logs[i - 1];
	t->logs[i] = l;
	t->nlogs++;
	t->total += l->size + SPW_SHARE_FILE;
	t->last = SPW_MAX(t->last, l->number);
	return 0;
}

static int
load_file(void *arg, const char *name)
{
	struct spw_pmem *t = arg;
	struct spw_pmem_log *l;
	uint32_t number;
	int r;

	if (!spw_pmem_log_number(name, &number))
		return 0;
	r = spw_pmem_log_open(&t->env, number, &l);
	if (r < 0)
		return r == -ENOENT ? 0 : r;
	r = add_log(t, l);
	if (r < 0)
		spw_pmem_log_close(l);
	return r;
}

/* What was being made by one who died. */
static int
sweep_file(void *arg, const char *name)
{
	const struct spw_share *share = arg;
	size_t n = strlen(name);
	int r;

	if (strncmp(name, "pmem-", 5) || n < 4 || strcmp(name + n - 4, ".new"))
		return 0;
	r = spw_share_unlink(share, name);
	return r == -ENOENT ? 0 : r;
}

static int
remove_file(void *arg, const char *name)
{
	const struct spw_share *share = arg;
	bool is_ours = !strncmp(name, "pmem-", 5) || spw_roll_is("pmem", name);
	int r = is_ours ? spw_share_unlink(share, name) : 0;

	return r == -ENOENT ? 0 : r;
}

static void
name_at(uint64_t place, char ret_name[32])
{
	spw_pmem_log_name((uint32_t)(place >> 48), ret_name);
}

/* Its name is durable. */
static void
enroll(struct spw_pmem *t, const struct spw_pmem_log *l)
{
	spw_roll_expect(t->roll, spw_pmem_place(l->number, 0, 0));
	spw_roll_confirm(t->roll);
}

/* Those whose maker died in between, or had no roll. */
static int
call_roll(struct spw_pmem *t)
{
	int r = spw_roll_open(&t->share, "pmem", name_at, &t->roll);
	uint32_t i;

	if (r < 0 || t->share.look_only)
		return r;
	for (i = 0; i < t->nlogs; i++)
		enroll(t, t->logs[i]);
	return 0;
}

static int
load(struct spw_pmem *t)
{
	struct spw_share *share = &t->share;
	int r = 0;

	if (share->gone && share->look_only)
		return 0;
	if (share->gone)
		r = spw_share_clear(share, "pmem", remove_file, share);
	if (r == 0 && !share->look_only && !share->unlocked)
		r = spw_share_each(share, sweep_file, share);
	if (r == 0)
		r = spw_share_each(share, load_file, t);
	return r < 0 ? r : call_roll(t);
}

static void
free_tier(struct spw_pmem *t)
{
	while (t->nlogs)
		spw_pmem_log_close(t->logs[--t->nlogs]);
	spw_roll_close(t->roll);
	free(t->logs);
	free(t->gone);
	free(t);
}

static int
open_parts(struct spw_pmem *t, const struct spw_tier_setup *setup)
{
	struct spw_finding why;
	int r;

	if (!setup->look_only) {
		r = spw_pmem_load(NULL, &t->env.calls, &why);
		if (r < 0)
			return r;
	}
	r = spw_share_open(setup, "pmem", &t->share);
	if (r < 0)
		return r;
	spw_share_introduce(&t->share, &t->tier);
	set_trust(t);
	r = load(t);
	if (r < 0)
		spw_share_close(&t->share);
	return r;
}

static int
pmem_open(const struct spw_tier_setup *setup, struct spw_tier **ret_tier)
{
	struct spw_pmem *t = calloc(1, sizeof(*t));
	uint64_t part = setup->capacity / LOGS & ~(uint64_t)(PAGE - 1);
	int r;

	if (!t)
		return -ENOMEM;
	t->tier.ops = &spw_tier_pmem;
	t->env.share = &t->share;
	t->env.keeps = !setup->create;
	t->over_end = &t->over;
	t->capacity = setup->capacity;
	t->total = SPW_SHARE_DIRS;
	t->total += PAGE;		/* the roll */
	t->log_size = SPW_MIN(SPW_MAX(part, LOG_LEAST), LOG_MOST);
	r = open_parts(t, setup);
	if (r < 0) {
		free_tier(t);
		return r;
	}
	*ret_tier = &t->tier;
	return 0;
}

/* Putting. */

static int
grow(struct spw_pmem *t, size_t len)
{
	uint64_t taken = t->total + SPW_SHARE_FILE;
	uint64_t left = t->capacity - SPW_MIN(taken, t->capacity);
	uint64_t size = SPW_MIN(left, t->log_size) & ~(uint64_t)(PAGE - 1);
	struct spw_pmem_log *l;
	int r;

	while (spw_roll_has(t->roll, spw_pmem_place(t->last + 1, 0, 0)))
		t->last++;		/* what is missing is not made anew */
	if (t->last >= NUMBERS || size < spw_pmem_log_overhead(size) +
	    spw_round_up(len, SPW_PMEM_UNIT))
		return -ENOSPC;
	r = spw_pmem_log_create(&t->env, t->last + 1, size, &l);
	if (r < 0)
		return r;
	r = add_log(t, l);
	if (r < 0) {
		spw_pmem_log_close(l);
		return r;
	}
	SPW_FAILPOINT("pmem-made");
	enroll(t, l);
	spw_roll_sync(t->roll);
	return 0;
}

int
spw_pmem_put(struct spw_pmem *t, const void *buf, size_t len, bool at_once,
	     uint64_t *ret_place)
{
	uint32_t i, slot, gen;
	int r = -ENOSPC;

	for (i = 0; i < t->nlogs && r == -ENOSPC; i++)
		r = spw_pmem_log_put(t->logs[i], buf, len, UINT64_MAX, &slot,
				     &gen);
	if (r == -ENOSPC && at_once)
		return -EAGAIN;
	if (r == -ENOSPC) {
		r = grow(t, len);
		if (r < 0)
			return r;
		i = t->nlogs;		/* it is the last one */
		r = spw_pmem_log_put(t->logs[i - 1], buf, len, UINT64_MAX,
				     &slot, &gen);
	}
	if (r == 0)
		*ret_place = spw_pmem_place(t->logs[i - 1]->number, slot + 1,
					    gen);
	return r;
}

static struct spw_pmem_log *
find_log(struct spw_pmem *t, uint64_t place)
{
	uint32_t i;

	for (i = 0; i < t->nlogs; i++)
		if (t->logs[i]->number == place >> 48)
			return t->logs[i];
	return NULL;
}

static int
find_slot(struct spw_pmem_log *l, uint64_t place, struct spw_pmem_slot *ret)
{
	uint32_t slot_and_1 = place >> 24 & 0xffffff;
	int r;

	if (!l || !slot_and_1)
		return -ENOENT;
	r = spw_pmem_log_slot(l, slot_and_1 - 1, ret);
	return r == 0 && ret->gen != (place & 0xffffff) ? -ENOENT : r;
}

static int
get(struct spw_pmem *t, struct spw_transfer *x)
{
	struct spw_pmem_log *l = find_log(t, x->place);
	struct spw_pmem_slot s;
	int r = find_slot(l, x->place, &s);

	if (r < 0)
		return r;
	if (x->at > s.len || x->len > s.len - x->at)
		return -ENODATA;
	return spw_share_read(l->fd, x->buf, x->len, s.at + x->at);
}

static int
pmem_submit(struct spw_tier *tier, struct spw_transfer *x)
{
	struct spw_pmem *t = (struct spw_pmem *)tier;

	if (x->up)
		x->err = get(t, x);
	else if (t->share.look_only)
		return -EROFS;
	else
		x->err = spw_pmem_put(t, x->buf, x->len, x->at_once,
				      &x->place);
	if (!x->up && (x->err == -ENOSPC || x->err == -EAGAIN))
		return x->err;
	x->next = NULL;
	*t->over_end = x;
	t->over_end = &x->next;
	return 0;
}

static bool
pmem_is_prompt(const struct spw_tier *tier)
{
	const struct spw_pmem *t = (const struct spw_pmem *)tier;
	uint32_t i;

	for (i = 0; i < t->nlogs; i++)
		if (!t->logs[i]->real)
			return false;
	return !t->share.look_only;
}

static struct spw_transfer *
pmem_reap(struct spw_tier *tier, bool wait)
{
	struct spw_pmem *t = (struct spw_pmem *)tier;
	struct spw_transfer *x = t->over;

	(void)wait;			/* nothing is ever under way */
	if (x) {
		t->over = x->next;
		if (!t->over)
			t->over_end = &t->over;
	}
	return x;
}

/* Dropping. */

static int
make_room(struct spw_pmem *t)
{
	size_t room = t->gone_room ? 2 * t->gone_room : 64;
	struct spw_pmem_gone *more;

	if (t->ngone < t->gone_room)
		return 0;
	more = reallocarray(t->gone, room, sizeof(*more));
	if (!more)
		return -ENOMEM;
	t->gone = more;
	t->gone_room = room;
	return 0;
}

/* A file whose head is damaged goes as a whole. */
static int
drop_file(struct spw_pmem *t, struct spw_pmem_log *l)
{
	char name[32];
	uint32_t i;
	int r;

	(void)spw_roll_strike(t->roll, spw_pmem_place(l->number, 0, 0));
	spw_roll_sync(t->roll);
	spw_pmem_log_name(l->number, name);
	r = spw_share_unlink(&t->share, name);
	if (r == 0)
		r = spw_share_sync(&t->share);
	if (r < 0)
		return r;
	t->total -= l->size + SPW_SHARE_FILE;
	for (i = 0; t->logs[i] != l; i++)
		;
	t->nlogs--;
	for (; i < t->nlogs; i++)
		t->logs[i] = t->logs[i + 1];
	spw_pmem_log_close(l);
	return 0;
}

int
spw_pmem_drop(struct spw_tier *tier, uint64_t place)
{
	struct spw_pmem *t = (struct spw_pmem *)tier;
	struct spw_pmem_log *l = find_log(t, place);
	struct spw_pmem_gone *g;
	struct spw_pmem_slot s;
	int r, known;

	if (t->share.look_only)
		return -EROFS;
	if (!l && spw_roll_strike(t->roll, place)) {
		spw_roll_sync(t->roll);
		return 0;
	}
	if (l && l->bad)
		return l->fault ? l->fault : drop_file(t, l);
	known = find_slot(l, place, &s);
	if (known < 0 && known != -EBADMSG)
		return known;
	r = make_room(t);
	if (r < 0)
		return r;
	g = &t->gone[t->ngone];
	*g = (struct spw_pmem_gone){ .log = l,
				     .slot = (place >> 24 & 0xffffff) - 1 };
	if (known == 0)
		g->was = (struct spw_extent){
			s.at, spw_round_up(s.len, SPW_PMEM_UNIT) };
	r = spw_pmem_log_clear(l, g->slot, known == 0 ? &s : NULL);
	if (r < 0)
		return r;
	SPW_FAILPOINT("pmem-dropped");
	t->ngone++;
	return 0;
}

static void
release_gone(struct spw_pmem *t)
{
	size_t i, kept = 0;

	for (i = 0; i < t->ngone; i++)
		if (spw_pmem_log_release(t->gone[i].log, t->gone[i].slot,
					 &t->gone[i].was) < 0)
			t->gone[kept++] = t->gone[i];
	t->ngone = kept;
}

int
spw_pmem_sync(struct spw_tier *tier)
{
	struct spw_pmem *t = (struct spw_pmem *)tier;
	int r = 0, each;
	uint32_t i;

	for (i = 0; i < t->nlogs; i++) {
		each = spw_pmem_log_sync(t->logs[i]);
		if (each < 0)
			r = each;
	}
	SPW_FAILPOINT("pmem-synced");
	if (r == 0)
		release_gone(t);
	return r;
}

static void
pmem_where(const struct spw_tier *tier, uint64_t place, char *buf,
	   size_t size)
{
	char name[32];

	spw_pmem_log_name((uint32_t)(place >> 48), name);
	(void)snprintf(buf, size, "%s/%s: slot %u",
		       ((const struct spw_pmem *)tier)->share.path, name,
		       (unsigned)(place >> 24 & 0xffffff) - 1);
}

static void
pmem_space(struct spw_tier *tier, struct spw_tier_space *ret_space)
{
	struct spw_pmem *t = (struct spw_pmem *)tier;
	const struct spw_pmem_log *l;
	uint32_t i;

	*ret_space = (struct spw_tier_space){ .capacity = t->capacity };
	for (i = 0; i < t->nlogs; i++) {
		l = t->logs[i];
		ret_space->used += l->size;
		if (!l->frozen && !l->bad)
			ret_space->used -= l->free.free;
		ret_space->live += l->live;
	}
}

static int
pmem_close(struct spw_tier *tier, bool discard)
{
	struct spw_pmem *t = (struct spw_pmem *)tier;
	int r = 0;

	if (discard)
		r = spw_share_discard(&t->share, "pmem", remove_file,
				      &t->share);
	spw_share_close(&t->share);
	free_tier(t);
	return r;
}

static int
pmem_sync(struct spw_tier *tier)
{
	struct spw_pmem *t = (struct spw_pmem *)tier;
	int r = spw_pmem_sync(tier);

	return r < 0 ? r : spw_share_find(&t->share, "pmem");
}

const struct spw_tier_ops spw_tier_pmem = {
	.kind = "pmem",
	.files = "pmem-*",
	.durable = true,
	.open = pmem_open,
	.submit = pmem_submit,
	.is_prompt = pmem_is_prompt,
	.reap = pmem_reap,
	.sync = pmem_sync,
	.sync_waits = true,		/* nothing is ever under way */
	.drop = spw_pmem_drop,
	.clean = spw_pmem_clean,
	.list = spw_pmem_list,
	.where = pmem_where,
	.space = pmem_space,
	.close = pmem_close,
};
