/* SPDX-License-Identifier: BSD-3-Clause */
/* pmem-clean.c -- moves objects of tier pmem down into gaps */

#include <errno.h>
#include <stdlib.h>

#include "shm/failpoint.h"
#include "shm/util.h"
#include "tiers/pmem.h"

/*
 * From the end of the last file backwards, each object goes into the first
 * gap before it that has room. So what is free gathers at the end, and a
 * second pass finds less to do than the first. The old ones are dropped when
 * all copies are durable.
 */
struct copy {
	uint64_t from, to;		/* places */
};

struct cleaning {
	struct spw_pmem *t;
	void *buf;
	size_t room;
	uint64_t wanted, done;		/* bytes */
	struct copy *copies;
	size_t n, most;
};

struct item {
	uint32_t slot;
	struct spw_pmem_slot s;
};

static int
from_the_end(const void *a, const void *b)
{
	const struct item *x = a, *y = b;

	return x->s.at > y->s.at ? -1 : x->s.at < y->s.at;
}

static size_t
collect(struct spw_pmem_log *l, struct item *items)
{
	size_t n = 0;
	uint32_t i;

	for (i = 0; i < l->nslots && n < l->nlive; i++) {
		if (!(l->taken[i / 64] >> i % 64 & 1))
			continue;
		items[n].slot = i;
		n += spw_pmem_log_slot(l, i, &items[n].s) == 0;
	}
	qsort(items, n, sizeof(*items), from_the_end);
	return n;
}

static int
read_object(struct cleaning *c, struct spw_pmem_log *l,
	    const struct spw_pmem_slot *s)
{
	void *more;

	if (s->len > c->room) {
		more = realloc(c->buf, s->len);
		if (!more)
			return -ENOMEM;
		c->buf = more;
		c->room = s->len;
	}
	return spw_share_read(l->fd, c->buf, s->len, s->at);
}

/* Into an earlier file, or further down in its own. */
static int
put_lower(struct cleaning *c, uint32_t log, const struct spw_pmem_slot *s,
	  uint64_t *ret_place)
{
	uint32_t i, slot, gen;
	uint64_t below;
	int r = -ENOSPC;

	for (i = 0; i <= log && r == -ENOSPC; i++) {
		below = i == log ? s->at : UINT64_MAX;
		r = spw_pmem_log_put(c->t->logs[i], c->buf, s->len, below,
				     &slot, &gen);
		if (r == 0)
			*ret_place = spw_pmem_place(c->t->logs[i]->number,
						    slot + 1, gen);
	}
	return r;
}

static bool
has_gap(const struct cleaning *c, uint32_t log, uint64_t len)
{
	uint32_t i;

	for (i = 0; i <= log; i++)
		if (c->t->logs[i]->free.fits >= len)
			return true;
	return false;
}

static int
make_room(struct cleaning *c)
{
	size_t most = c->most ? 2 * c->most : 64;
	struct copy *more;

	if (c->n < c->most)
		return 0;
	more = reallocarray(c->copies, most, sizeof(*more));
	if (!more)
		return -ENOMEM;
	c->copies = more;
	c->most = most;
	return 0;
}

static int
copy_lower(struct cleaning *c, uint32_t log, const struct item *item)
{
	struct spw_pmem_log *l = c->t->logs[log];
	struct copy *copy;
	int r;

	if (!has_gap(c, log, item->s.len))
		return 0;
	r = make_room(c);
	if (r < 0)
		return r;
	r = read_object(c, l, &item->s);
	if (r < 0)
		return r == -ENOMEM ? r : 0;	/* it stays where it is */
	copy = &c->copies[c->n];
	copy->from = spw_pmem_place(l->number, item->slot + 1, item->s.gen);
	r = put_lower(c, log, &item->s, &copy->to);
	if (r < 0)
		return r == -ENOSPC ? 0 : r;
	SPW_FAILPOINT("pmem-copied");
	c->n++;
	c->done += item->s.len;
	return 0;
}

static int
clean_log(struct cleaning *c, uint32_t log)
{
	struct spw_pmem_log *l = c->t->logs[log];
	struct item *items;
	size_t i, n;
	int r = 0;

	if (l->bad || l->frozen || !l->nlive)
		return 0;
	items = calloc(l->nlive, sizeof(*items));
	if (!items)
		return -ENOMEM;
	n = collect(l, items);
	for (i = 0; i < n && r == 0 && c->done < c->wanted; i++)
		r = copy_lower(c, log, &items[i]);
	free(items);
	return r;
}

/* Of each two, one goes: the copy when it cannot be relied on. */
static int
drop_one_each(struct cleaning *c, bool good,
	      void (*moved)(void *arg, uint64_t from, uint64_t to), void *arg)
{
	int r = 0, each;
	size_t i;

	for (i = 0; i < c->n; i++) {
		if (good)
			moved(arg, c->copies[i].from, c->copies[i].to);
		each = spw_pmem_drop(&c->t->tier, good ? c->copies[i].from :
				     c->copies[i].to);
		SPW_FAILPOINT("pmem-moved");
		r = each < 0 ? each : r;
	}
	return r;
}

int64_t
spw_pmem_clean(struct spw_tier *tier, uint64_t bytes,
	       void (*moved)(void *arg, uint64_t from, uint64_t to), void *arg)
{
	struct cleaning c = { .t = (struct spw_pmem *)tier, .wanted = bytes };
	uint32_t i;
	int r, each;

	if (c.t->share.look_only)
		return -EROFS;
	r = spw_pmem_sync(tier);	/* drops before this are gaps, too */
	for (i = c.t->nlogs; i-- && r == 0 && c.done < c.wanted;)
		r = clean_log(&c, i);
	if (c.n) {
		each = spw_pmem_sync(tier);
		r = each < 0 ? each : r;
		each = drop_one_each(&c, each == 0, moved, arg);
		r = each < 0 ? each : r;
		each = spw_pmem_sync(tier);
		r = each < 0 ? each : r;
	}
	free(c.buf);
	free(c.copies);
	return r < 0 ? r : (int64_t)c.done;
}
