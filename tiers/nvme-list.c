/* SPDX-License-Identifier: BSD-3-Clause */
/* nvme-list.c -- walks the files of the log: objects, and what is damaged */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shm/crc32c.h"
#include "shm/sys.h"
#include "shm/util.h"
#include "tiers/nvme.h"
#include "tiers/object-layout.h"

enum {
	LOOK = 2 * SPW_LOG_BLOCK,	/* most heads are smaller */
	SEARCH = 256 << 10,		/* read at once where none is found */
	WINDOW = SPW_OBJECT_HEAD_MAX + SPW_LOG_BLOCK,
};

/* A look at a file: the window holds the bytes [from, to). */
struct walk {
	struct spw_log *log;
	int fd;
	uint64_t from, to, limit;
	uint8_t *window;
	uint8_t *head;			/* of an object, undisguised */

	/* The damaged part before the object that was found last. */
	uint64_t gap;			/* 0: none */
	uint64_t tail;			/* of a dead object: may be from here */
	bool sure;			/* something of this life was there */
	int err;			/* and why not all of it can be read */

	int (*seen)(void *arg, struct walk *w, const struct spw_tier_found *f);
	void *arg;
	char where[PATH_MAX + 64];
	const char *dir;
};

/* n bytes at pos, which are in the file by its head; NULL: cannot be read. */
static const uint8_t *
view(struct walk *w, uint64_t pos, size_t n, size_t ahead)
{
	if (pos >= w->from && pos + n <= w->to)
		return w->window + (pos - w->from);
	ahead = SPW_MAX(n, ahead);
	ahead = (size_t)SPW_MIN((uint64_t)ahead, w->limit - pos);
	w->from = w->to = 0;
	if (n > ahead)
		return NULL;
	if (spw_share_read(w->fd, w->window, ahead, pos) < 0) {
		int r = spw_share_read(w->fd, w->window, n, pos);

		w->err = r < 0 ? spw_share_fault(r) : w->err;
		if (r < 0)
			return NULL;
		ahead = n;
	}
	w->from = pos;
	w->to = pos + ahead;
	return w->window;
}

static bool
is_magic(const struct walk *w, const uint8_t *p)
{
	uint8_t magic[8];

	memcpy(magic, p, sizeof(magic));
	spw_log_disguise(w->log, magic, 0, sizeof(magic));
	return !memcmp(magic, SPW_OBJECT_MAGIC, sizeof(magic));
}

/* The head of an object at pos. */
static int
parse_at(struct walk *w, uint64_t pos, struct spw_object *ret_o)
{
	size_t need = (size_t)SPW_MIN((uint64_t)LOOK, w->limit - pos);
	const uint8_t *p = view(w, pos, SPW_LOG_BLOCK, w->gap ? SEARCH : LOOK);
	int r;

	if (!p || !is_magic(w, p))
		return -EBADMSG;
	for (;;) {
		p = view(w, pos, need, need);
		if (!p)
			return -EBADMSG;
		memcpy(w->head, p, need);
		spw_log_disguise(w->log, w->head, 0, need);
		r = spw_object_parse(w->head, need, ret_o, &need);
		if (r != -EAGAIN)
			return r;
		if (need > SPW_OBJECT_HEAD_MAX || need > w->limit - pos)
			return -EBADMSG;
	}
}

static bool
is_block_whole(struct walk *w, uint64_t pos, const struct spw_object_block *b)
{
	uint32_t crc = 0, at, n;

	for (at = 0; at < b->stored; at += n) {
		const uint8_t *p;

		n = SPW_MIN(b->stored - at, (uint32_t)SEARCH);
		p = view(w, pos + at, n, SEARCH);
		if (!p)
			return false;
		crc = spw_crc32c(crc, p, n);
	}
	return crc == b->crc;
}

static bool
is_whole(struct walk *w, uint64_t pos, const struct spw_object *o)
{
	uint32_t i;

	for (i = 0; i < o->nblocks; i++)
		if (!is_block_whole(w, pos + o->payload_at + o->blocks[i].at,
				    &o->blocks[i]))
			return false;
	return true;
}

static int
tell(struct walk *w, uint64_t pos, uint64_t len, const struct spw_object *o,
     int err)
{
	char name[SPW_LOG_NAME];
	struct spw_tier_found f = {
		.place = spw_nvme_place(w->log, pos),
		.len = len,
		.object = o,
		.where = w->where,
		.err = err,
	};

	spw_log_name(w->log->no, name);
	(void)snprintf(w->where, sizeof(w->where), "%s/%s:%llu", w->dir, name,
		       (unsigned long long)pos);
	return w->seen(w->arg, w, &f);
}

/* Bytes that are of no object: damaged if they ought to be, else they were
 * never written in this life, or are the end of an object that is dead. */
static int
end_gap(struct walk *w, uint64_t pos)
{
	uint64_t from = w->gap;
	bool sure = w->sure || from < w->log->mark;
	int err = w->err ? w->err : -EBADMSG;

	/* An object takes more. */
	if (from == w->tail && pos - from < SPW_LOG_BLOCK)
		sure = false;
	w->gap = 0;
	w->sure = false;
	w->err = 0;
	if (!from || !sure)
		return 0;
	return tell(w, from, pos - from, NULL, err);
}

static bool
is_zero(const uint8_t *p)
{
	return p && !p[0] && !memcmp(p, p + 1, SPW_LOG_GRAIN - 1);
}

/* Step by step: pos is on a multiple of SPW_LOG_GRAIN.
 * In its first life a file has zero bytes where nothing was written. */
static void
note_gap(struct walk *w, uint64_t pos)
{
	const uint8_t *p = view(w, pos, SPW_LOG_GRAIN, SEARCH);

	if (!w->gap)
		w->gap = pos;
	if (!p || is_magic(w, p) || (w->log->lives == 1 && !is_zero(p)))
		w->sure = true;
}

static int
visit(struct walk *w, uint64_t pos, const struct spw_object *o)
{
	int r = end_gap(w, pos);
	bool whole;

	if (r)
		return r;
	w->err = 0;
	whole = !w->log->headless &&
		(pos < w->log->mark || is_whole(w, pos, o));
	/* Looking at its blocks moved the window, not the head. */
	return tell(w, pos, o->stored, o, whole ? 0 :
		    w->err ? w->err : -EBADMSG);
}

static int
walk_objects(struct walk *w)
{
	uint64_t pos = SPW_LOG_HEAD;
	struct spw_object o;
	int r = 0;

	while (pos < w->limit && r == 0) {
		if (spw_log_is_dead(w->log, pos)) {
			r = end_gap(w, pos);
			pos += SPW_LOG_BLOCK - pos % SPW_LOG_BLOCK;
			w->tail = pos;
		} else if (parse_at(w, pos, &o) == 0 &&
			   o.stored <= w->limit - pos) {
			r = visit(w, pos, &o);
			pos += spw_log_extent(w->log, o.stored);
		} else {
			note_gap(w, pos);
			pos += SPW_LOG_GRAIN;
		}
	}
	return r ? r : end_gap(w, w->limit);
}

static int
walk(struct spw_nvme *t, struct spw_log *log, uint64_t limit,
     int (*seen)(void *arg, struct walk *w, const struct spw_tier_found *f),
     void *arg)
{
	struct walk *w = calloc(1, sizeof(*w));
	char name[SPW_LOG_NAME];
	int r = -ENOMEM;

	if (!w)
		return -ENOMEM;
	*w = (struct walk){ .log = log, .fd = -1, .limit = limit,
			    .seen = seen, .arg = arg, .dir = t->share.path };
	w->window = malloc(WINDOW);
	w->head = malloc(WINDOW);
	if (w->window && w->head) {
		spw_log_name(log->no, name);
		w->fd = spw_share_open_file(&t->share, name, O_RDONLY);
		r = 0;
	}
	if (r == 0 && w->fd < 0)
		r = tell(w, 0, limit, NULL, w->fd == -ENOENT ||
			 w->fd == -EPERM ? -EBADMSG : spw_share_fault(w->fd));
	else if (r == 0 && log->headless)
		r = tell(w, 0, SPW_LOG_HEAD, NULL, log->fault ? log->fault
			 : -EBADMSG);
	if (r == 0 && w->fd >= 0)
		r = walk_objects(w);
	if (w->fd >= 0)
		spw_sys_close(w->fd);
	free(w->head);
	free(w->window);
	free(w);
	return r;
}

/* What is damaged may be less than an object takes. */
static uint64_t
extent(const struct spw_log *log, const struct spw_tier_found *f)
{
	return f->object ? spw_log_extent(log, f->len) : f->len;
}

/* Nothing comes behind the object that ends there, in the same block, or the
 * file was cut off before. */
static bool
is_padded(struct walk *w, uint64_t end)
{
	uint64_t at = end, to = spw_round_up(end, SPW_LOG_BLOCK);
	struct stat st;

	while (at < to && is_zero(view(w, at, SPW_LOG_GRAIN, LOOK)))
		at += SPW_LOG_GRAIN;
	return at == to || (spw_sys_fstat(w->fd, &st) == 0 &&
			    at + SPW_LOG_GRAIN > (uint64_t)st.st_size);
}

/* When a share is opened. */
static int
keep(void *arg, struct walk *w, const struct spw_tier_found *f)
{
	uint64_t pos = f->place & UINT32_MAX;
	struct spw_log *log = w->log;
	uint64_t to = pos + extent(log, f);
	const struct spw_nvme *t = arg;

	/* What cannot be read now may be there. */
	if (f->err && (f->err != -EBADMSG || pos < log->mark || t->keeps))
		log->damaged = true;
	if (f->err && !f->object && to >= w->limit)
		to = log->size;		/* nothing is to go there */
	log->end = SPW_MAX(log->end, to);
	if (f->object && pos >= log->mark && is_padded(w, to))
		spw_log_close_block(log, to);
	if (f->err)
		return 0;
	return spw_log_add(log, pos, f->len, SPW_LOG_LIVE);
}

static uint64_t
last_dead(const struct spw_log *log)
{
	uint64_t at = log->size;

	while (at > SPW_LOG_HEAD && !spw_log_is_dead(log, at - SPW_LOG_BLOCK))
		at -= SPW_LOG_BLOCK;
	return at;
}

int
spw_log_scan(struct spw_nvme *t, struct spw_log *log)
{
	int r;

	log->end = SPW_MAX(log->mark, last_dead(log));
	if (log->headless)
		return 0;
	r = walk(t, log, log->size, keep, t);
	if (r < 0)
		return r;
	log->end = spw_round_up(log->end, SPW_LOG_BLOCK);
	/* Above the mark nothing is known to be durable. */
	log->torn = log->written = log->end > log->mark;
	if (log->written)
		spw_log_list(t, log);
	while (log->synced < log->n &&
	       log->objects[log->synced].at < log->mark)
		log->synced++;
	return 0;
}

struct listing {
	int (*seen)(void *arg, const struct spw_tier_found *f);
	void *arg;
};

static int
pass_on(void *arg, struct walk *w, const struct spw_tier_found *f)
{
	struct listing *l = arg;

	(void)w;
	return l->seen(l->arg, f);
}

int
spw_nvme_list(struct spw_tier *tier,
	      int (*seen)(void *arg, const struct spw_tier_found *f),
	      void *arg)
{
	struct spw_nvme *t = (struct spw_nvme *)tier;
	struct listing l = { seen, arg };
	uint32_t i;
	int r = 0;

	spw_nvme_settle(t);
	for (i = 0; i < t->nlogs && r == 0; i++)
		if (t->logs[i])
			r = walk(t, t->logs[i], t->logs[i]->size, pass_on, &l);
	return r ? r : spw_roll_list(t->roll, seen, arg);
}

struct measure {
	uint64_t place, len;
};

static int
compare_place(void *arg, struct walk *w, const struct spw_tier_found *f)
{
	struct measure *m = arg;

	if (!f->err || f->place != m->place)
		return 0;
	m->len = extent(w->log, f);
	return 1;
}

int
spw_log_measure(struct spw_nvme *t, struct spw_log *log, uint64_t offset,
		uint64_t *ret_len)
{
	struct measure m = { spw_nvme_place(log, offset), 0 };
	int r = walk(t, log, log->size, compare_place, &m);

	if (r == 0)
		return -ENOENT;
	*ret_len = m.len;
	return r < 0 ? r : 0;
}
