/* SPDX-License-Identifier: BSD-3-Clause */
/* pmem-list.c -- shows what lies in the files of tier pmem */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "shm/crc32c.h"
#include "shm/util.h"
#include "tiers/pmem.h"

enum { PIECE = 64 << 10 };

struct listing {
	struct spw_pmem *t;
	int (*seen)(void *arg, const struct spw_tier_found *f);
	void *arg;
	struct spw_share_head head;
	char *piece;			/* of a block */
};

static int
tell(struct listing *l, const struct spw_pmem_log *log, uint64_t at,
     struct spw_tier_found *f)
{
	char where[PATH_MAX + 64], name[32];

	spw_pmem_log_name(log->number, name);
	(void)snprintf(where, sizeof(where), "%s/%s:%llu",
		       l->t->share.path, name, (unsigned long long)at);
	f->where = where;
	return l->seen(l->arg, f);
}

static int
check_block(struct listing *l, int fd, uint64_t at,
	    const struct spw_object_block *b)
{
	uint32_t crc = 0, done, n;
	int r;

	for (done = 0; done < b->stored; done += n) {
		n = SPW_MIN(b->stored - done, PIECE);
		r = spw_share_read(fd, l->piece, n, at + done);
		if (r < 0)
			return r;
		crc = spw_crc32c(crc, l->piece, n);
	}
	return crc == b->crc ? 0 : -EBADMSG;
}

static int
check_blocks(struct listing *l, const struct spw_pmem_log *log,
	     const struct spw_pmem_slot *s, const struct spw_object *o)
{
	uint32_t i;
	int r = o->stored == s->len ? 0 : -EBADMSG;

	for (i = 0; i < o->nblocks && r == 0; i++)
		r = check_block(l, log->fd, s->at + o->payload_at +
				o->blocks[i].at, &o->blocks[i]);
	return r;
}

/* Power may have gone after the slot was written and before the object was,
 * and an older one may lie there: bind tells. */
static int
check_object(struct listing *l, const struct spw_pmem_log *log,
	     const struct spw_pmem_slot *s, struct spw_object *ret_o)
{
	int r = spw_share_parse(&l->head, log->fd, s->at, s->len, ret_o);

	if (r < 0)
		return r;
	if (spw_crc32c(0, l->head.buf, SPW_MIN(s->len, SPW_PMEM_BOUND)) !=
	    s->bind)
		return -EBADMSG;
	return s->turn > log->mark ? check_blocks(l, log, s, ret_o) : 0;
}

static int
list_slot(struct listing *l, struct spw_pmem_log *log, uint32_t slot)
{
	struct spw_tier_found f = { .err = 0 };
	struct spw_pmem_slot s = { .state = 0 };
	struct spw_object o;
	int r;

	r = spw_pmem_log_slot(log, slot, &s);
	if (r == -ENOENT)
		return 0;		/* dropped, not synced */
	f.place = spw_pmem_place(log->number, slot + 1, s.gen & 0xffffff);
	f.err = r;
	if (r < 0)
		return tell(l, log, SPW_PMEM_SLOTS_AT + slot *
			    sizeof(struct spw_pmem_slot), &f);
	f.len = s.len;
	r = check_object(l, log, &s, &o);
	if (r == -ENOMEM)
		return r;
	if (r < 0 && s.turn > log->mark + 1)
		return 0;		/* cut short, and surely not synced */
	f.object = r == 0 ? &o : NULL;
	f.err = r == 0 && o.stored == s.len ? 0 : spw_share_fault(r);
	return tell(l, log, s.at, &f);
}

static int
list_log(struct listing *l, struct spw_pmem_log *log)
{
	struct spw_tier_found f = { .err = spw_share_fault(log->fault) };
	uint32_t i;
	int r = 0;

	if (log->bad) {
		f.place = spw_pmem_place(log->number, 0, 0);
		f.len = log->size;
		return tell(l, log, 0, &f);
	}
	for (i = 0; i < log->nslots && r == 0; i++)
		if (log->taken[i / 64] >> i % 64 & 1)
			r = list_slot(l, log, i);
	return r;
}

int
spw_pmem_list(struct spw_tier *tier,
	      int (*seen)(void *arg, const struct spw_tier_found *f),
	      void *arg)
{
	struct listing l = { .t = (struct spw_pmem *)tier, .seen = seen,
			     .arg = arg };
	uint32_t i;
	int r = 0;

	l.piece = malloc(PIECE);
	if (!l.piece)
		return -ENOMEM;
	for (i = 0; i < l.t->nlogs && r == 0; i++)
		r = list_log(&l, l.t->logs[i]);
	free(l.piece);
	free(l.head.buf);
	return r ? r : spw_roll_list(l.t->roll, seen, arg);
}
