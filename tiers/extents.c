/* SPDX-License-Identifier: BSD-3-Clause */
/* extents.c -- an array of free stretches: first fit, neighbours joined */

#include "tiers/extents.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "shm/util.h"

static int
by_place(const void *a, const void *b)
{
	const struct spw_extent *x = a, *y = b;

	return x->at < y->at ? -1 : x->at > y->at;
}

static int
make_room(struct spw_extents *x, size_t n)
{
	size_t room = x->room ? x->room : 64;
	struct spw_extent *more;

	if (n <= x->room)
		return 0;
	while (room < n)
		room *= 2;
	more = reallocarray(x->e, room, sizeof(*more));
	if (!more)
		return -ENOMEM;
	x->e = more;
	x->room = room;
	return 0;
}

static void
add(struct spw_extents *x, uint64_t at, uint64_t len)
{
	if (!len)
		return;
	x->e[x->n++] = (struct spw_extent){ at, len };
	x->free += len;
	x->fits = SPW_MAX(x->fits, len);
}

int
spw_extents_build(struct spw_extents *x, uint64_t from, uint64_t to,
		  struct spw_extent *used, size_t nused)
{
	size_t i;

	if (make_room(x, nused + 1) < 0)
		return -ENOMEM;
	if (nused)
		qsort(used, nused, sizeof(*used), by_place);
	x->n = 0;
	x->free = x->fits = 0;
	for (i = 0; i < nused; i++) {
		if (used[i].at < from || used[i].at > to ||
		    used[i].len > to - used[i].at)
			return -EBADMSG;
		add(x, from, used[i].at - from);
		from = used[i].at + used[i].len;
	}
	add(x, from, to - from);
	return 0;
}

void
spw_extents_free(struct spw_extents *x)
{
	free(x->e);
	memset(x, 0, sizeof(*x));
}

static void
remove_at(struct spw_extents *x, size_t i)
{
	x->n--;
	memmove(&x->e[i], &x->e[i + 1], (x->n - i) * sizeof(x->e[0]));
}

uint64_t
spw_extents_take(struct spw_extents *x, uint64_t len, uint64_t below)
{
	uint64_t at, longest = 0;
	size_t i;

	if (len > x->fits)
		return UINT64_MAX;
	for (i = 0; i < x->n && x->e[i].at + len <= below; i++) {
		longest = SPW_MAX(longest, x->e[i].len);
		if (x->e[i].len < len)
			continue;
		at = x->e[i].at;
		x->e[i].at += len;
		x->e[i].len -= len;
		x->free -= len;
		if (!x->e[i].len)
			remove_at(x, i);
		return at;
	}
	if (i == x->n)
		x->fits = longest;
	return UINT64_MAX;
}

/* The first that lies behind. */
static size_t
find(const struct spw_extents *x, uint64_t at)
{
	size_t lo = 0, hi = x->n, mid;

	while (lo < hi) {
		mid = (lo + hi) / 2;
		if (x->e[mid].at > at)
			hi = mid;
		else
			lo = mid + 1;
	}
	return lo;
}

int
spw_extents_give(struct spw_extents *x, uint64_t at, uint64_t len)
{
	size_t i = find(x, at);

	if (make_room(x, x->n + 1) < 0)
		return -ENOMEM;
	x->free += len;
	if (i && x->e[i - 1].at + x->e[i - 1].len == at) {
		i--;
		x->e[i].len += len;
	} else {
		memmove(&x->e[i + 1], &x->e[i], (x->n - i) * sizeof(x->e[0]));
		x->e[i] = (struct spw_extent){ at, len };
		x->n++;
	}
	if (i + 1 < x->n && x->e[i].at + x->e[i].len == x->e[i + 1].at) {
		x->e[i].len += x->e[i + 1].len;
		remove_at(x, i + 1);
	}
	x->fits = SPW_MAX(x->fits, x->e[i].len);
	return 0;
}
