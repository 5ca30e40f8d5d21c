/* SPDX-License-Identifier: BSD-3-Clause */
/* load.c -- what comes back from a tier, for a worker to unpack */
#include <errno.h>
#include <stdlib.h>

#include "planner/held.h"
#include "shm/util.h"

static bool
take(void *arg, uint64_t at, const uint8_t *bytes, uint64_t n)
{
	const struct spw_load *l = arg;

	memcpy(l->buf + (at - l->at), bytes, n);
	return true;
}

int
spw_load_read(struct spw_drainer *d, uint32_t held, struct spw_load *l)
{
	struct spw_store *s = d->store;
	const struct spw_object *o = s->held[held].o;
	uint64_t from = l->at - o->offset;
	const uint8_t *stored;
	int r;

	l->bad = (struct spw_span){ l->at, l->at + l->len };
	spw_object_part(o, from, from + l->len, &l->part);
	l->skip = 0;
	if (l->part.len > s->bound ||
	    l->part.raw_len > SPW_CHUNK_BLOCKS * SPW_BLOCK_SIZE)
		return spw_store_read(d, held, l->at, l->at + l->len,
				      (struct spw_taker){ take, l }, &l->bad);
	/* It may go before the worker gets to it. */
	l->o = spw_held_copy(o);
	if (!l->o)
		return -ENOMEM;
	r = spw_await_read(d, held, l->part.at, l->part.len, &stored);
	if (r < 0)
		return r;
	memcpy(l->stored, stored, l->part.len);
	l->skip = from - l->part.raw_at;
	atomic_fetch_add(&d->map->seg->requests_up, 1);
	atomic_fetch_add(&d->map->seg->bytes_up, l->len);
	return 0;
}

/* Only the damaged block of the object cannot be read. */
void
spw_load_blame(const struct spw_object *o, uint64_t bad,
	       struct spw_span *span)
{
	uint64_t from = o->offset + bad;

	span->from = SPW_MAX(span->from, from);
	span->to = SPW_MIN(span->to, from + o->block_size);
}

int
spw_load_unpack(struct spw_load *l)
{
	uint64_t bad;
	int r;

	if (!l->o)
		return 0;
	r = spw_object_decode(l->packer[l->task.job.hand], l->o, &l->part,
			      l->stored, l->buf, &bad);
	if (r < 0)
		spw_load_blame(l->o, bad, &l->bad);
	return r;
}

void
spw_load_end(struct spw_load *l)
{
	free(l->o);
	l->o = NULL;
}
