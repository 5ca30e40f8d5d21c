/* SPDX-License-Identifier: BSD-3-Clause */
/* powercut-file.c -- what is in a file after a power cut
 *
 * A file is its pages.  A page holds what is durable and a list of the ops
 * that touched it since; each of its versions between the two may be on the
 * disk, or, torn, some sectors of one and some of a later one.  Pages are
 * independent of each other and of the size, with one order kept: truncate
 * and fallocate, the metas, are durable in turn, and what was written into
 * their range after one is not there without it.
 *
 * An fsync makes all of it durable.  A durable write does for the pages that
 * it touches and for a size that holds its bytes, and for all metas before.
 */

#include <linux/falloc.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

#include "tests/powercut.h"

#define PAGE 4096
#define SECTOR 512
#define NBUCKETS 1024

struct touch {
	struct touch *next;
	size_t op;
};

struct page {
	struct page *next;		/* in its bucket */
	struct page *older;		/* in the file */
	uint64_t number;
	struct touch *first, **last;	/* since it was durable */
	char data[PAGE];
};

/* Where an op leaves zeros or its bytes: from here, to below there. */
struct range {
	uint64_t from, to;
};

struct change {				/* of the size; a meta or a write */
	size_t op;
	bool is_meta, is_durable;
};

struct meta {
	size_t op;
	struct range range;
};

struct file {
	const struct op *ops;
	struct page *buckets[NBUCKETS];
	struct page *newest;
	size_t npages;
	uint64_t size, durable_size;	/* now; when changes began */
	struct change *changes;		/* since the last fsync */
	size_t nchanges, changes_room;
	struct meta *metas;		/* since the last fsync */
	size_t nmetas, metas_room;
	size_t durable_metas;		/* so many of them are */
};

static struct range
range_of(const struct record *r, uint64_t size_before)
{
	struct range none = { 0, 0 };

	switch (r->kind) {
	case RECORD_WRITE:
		return (struct range){ r->off, r->off + r->len };
	case RECORD_TRUNCATE:
		if (r->len >= size_before)
			return none;
		return (struct range){ r->len, UINT64_MAX };
	default:
		if (!(r->mode & (FALLOC_FL_PUNCH_HOLE | FALLOC_FL_ZERO_RANGE)))
			return none;
		return (struct range){ r->off, r->off + r->len };
	}
}

static uint64_t
size_with(const struct record *r, uint64_t size)
{
	if (r->kind == RECORD_TRUNCATE)
		return r->len;
	if (r->kind == RECORD_ALLOCATE && r->mode & FALLOC_FL_KEEP_SIZE)
		return size;
	return size > r->off + r->len ? size : r->off + r->len;
}

/* What the op makes of a page. */
static void
apply(const struct op *op, uint64_t number, char *data)
{
	uint64_t base = number * PAGE;
	struct range range = range_of(op->r, UINT64_MAX);
	uint64_t from = range.from > base ? range.from - base : 0;
	uint64_t to = range.to - base < PAGE ? range.to - base : PAGE;

	if (range.to <= base || from >= to)
		return;
	if (op->r->kind == RECORD_WRITE)
		memcpy(data + from, op->data + (base + from - op->r->off),
		       to - from);
	else
		memset(data + from, 0, to - from);
}

static struct page *
page_at(struct file *f, uint64_t number)
{
	struct page **bucket = &f->buckets[number % NBUCKETS], *p;

	for (p = *bucket; p; p = p->next)
		if (p->number == number)
			return p;
	p = need(1, sizeof(*p));
	p->number = number;
	p->last = &p->first;
	p->next = *bucket;
	*bucket = p;
	p->older = f->newest;
	f->newest = p;
	f->npages++;
	return p;
}

static void
touch(struct page *p, size_t op)
{
	struct touch *t = need(1, sizeof(*t));

	t->op = op;
	*p->last = t;
	p->last = &t->next;
}

/* All that was done to a page is durable. */
static void
settle(struct file *f, struct page *p)
{
	struct touch *t;

	while ((t = p->first)) {
		apply(&f->ops[t->op], p->number, p->data);
		p->first = t->next;
		free(t);
	}
	p->last = &p->first;
}

static void
settle_all(struct file *f)
{
	struct page *p;

	for (p = f->newest; p; p = p->older)
		settle(f, p);
	f->durable_size = f->size;
	f->nchanges = f->nmetas = f->durable_metas = 0;
}

/* An array that has room for one more. */
static void *
grown(void *array, size_t n, size_t *room, size_t size)
{
	if (n < *room)
		return array;
	*room = *room ? *room * 2 : 64;
	array = realloc(array, *room * size);
	if (!array)
		die("memory");
	return array;
}

static void
add_change(struct file *f, struct change change)
{
	f->changes = grown(f->changes, f->nchanges, &f->changes_room,
			   sizeof(*f->changes));
	f->changes[f->nchanges++] = change;
	f->size = size_with(f->ops[change.op].r, f->size);
}

static void
add_write(struct file *f, size_t i)
{
	const struct record *r = f->ops[i].r;
	bool durable = r->flags & RECORD_DURABLE;
	struct page *p;
	uint64_t number;

	for (number = r->off / PAGE; number * PAGE < r->off + r->len;
	     number++) {
		p = page_at(f, number);
		touch(p, i);
		if (durable)
			settle(f, p);
	}
	if (durable)
		f->durable_metas = f->nmetas;
	add_change(f, (struct change){ i, false, durable });
}

static bool
covers(struct range range, const struct page *p)
{
	return p->number * PAGE < range.to &&
	       (p->number + 1) * PAGE > range.from;
}

/* Pages that were never written are zeros before and after. */
static void
add_meta(struct file *f, size_t i)
{
	struct meta meta = { i, range_of(f->ops[i].r, f->size) };
	struct page *p;

	for (p = f->newest; p; p = p->older)
		if (covers(meta.range, p))
			touch(p, i);
	f->metas = grown(f->metas, f->nmetas, &f->metas_room,
			 sizeof(*f->metas));
	f->metas[f->nmetas++] = meta;
	add_change(f, (struct change){ i, true, false });
}

static void
replay(struct file *f, const struct cut *cut, uint64_t node)
{
	size_t i;

	for (i = cut->rec->first[node]; i < cut->end; i = f->ops[i].next)
		switch (f->ops[i].r->kind) {
		case RECORD_WRITE:
			add_write(f, i);
			break;
		case RECORD_TRUNCATE:
		case RECORD_ALLOCATE:
			add_meta(f, i);
			break;
		case RECORD_SYNC:
			settle_all(f);
			break;
		}
}

/* The size if so many metas are on the disk: writes after the first that is
 * not have not moved it. */
static uint64_t
pick_size(struct file *f, size_t metas, struct chance *c)
{
	size_t end = metas < f->nmetas ? f->metas[metas].op : NONE;
	uint64_t size = f->durable_size;
	const struct change *g;
	size_t i, writes = 0;

	for (i = 0; i < f->nchanges && f->changes[i].op < end; i++)
		writes += !f->changes[i].is_meta;
	writes = chance_pick(c, 0, writes);
	for (i = 0; i < f->nchanges && f->changes[i].op < end; i++) {
		g = &f->changes[i];
		if (g->is_meta || g->is_durable || writes > 0)
			size = size_with(f->ops[g->op].r, size);
		if (!g->is_meta && writes > 0)
			writes--;
	}
	return size;
}

/* How many of a page's touches must be, and how many can be there, if so many
 * metas are on the disk. */
static void
find_versions(const struct file *f, const struct page *p, size_t metas,
	      size_t *ret_lo, size_t *ret_hi)
{
	size_t end = metas < f->nmetas ? f->metas[metas].op : NONE;
	size_t i, n = 0, limit = NONE;
	const struct touch *t;

	for (i = metas; i < f->nmetas && limit == NONE; i++)
		if (covers(f->metas[i].range, p))
			limit = f->metas[i].op;
	*ret_lo = 0;
	for (t = p->first; t && t->op < limit; t = t->next) {
		n++;
		if (f->ops[t->op].r->kind != RECORD_WRITE && t->op < end)
			*ret_lo = n;
	}
	*ret_hi = n;
}

static void
apply_first(const struct file *f, struct page *p, size_t n, char *data)
{
	const struct touch *t;

	for (t = p->first; n > 0; t = t->next, n--)
		apply(&f->ops[t->op], p->number, data);
}

static void
pick_page(const struct file *f, struct page *p, size_t metas,
	  struct chance *c)
{
	char later[PAGE];
	size_t lo, hi, i;

	find_versions(f, p, metas, &lo, &hi);
	if (hi == lo || !chance_is_free(c) || chance_draw(c) % 3) {
		apply_first(f, p, chance_pick(c, lo, hi), p->data);
		return;
	}
	memcpy(later, p->data, PAGE);
	i = lo + 1 + chance_draw(c) % (hi - lo);
	apply_first(f, p, i, later);
	apply_first(f, p, lo + chance_draw(c) % (i - lo), p->data);
	for (i = 0; i < PAGE; i += SECTOR)
		if (chance_draw(c) % 2)
			memcpy(p->data + i, later + i, SECTOR);
}

static int
by_number(const void *a, const void *b)
{
	const struct page *const *p = a, *const *q = b;

	return (*p)->number < (*q)->number ? -1 : (*p)->number > (*q)->number;
}

/* Neighbours in one call. */
static void
write_pages(struct page **pages, size_t n, int fd)
{
	struct iovec iov[256];
	size_t i, k;

	for (i = 0; i < n; i += k) {
		for (k = 0; k < 256 && i + k < n && pages[i + k]->number ==
		     pages[i]->number + k; k++)
			iov[k] = (struct iovec){ pages[i + k]->data, PAGE };
		if (pwritev(fd, iov, (int)k, (off_t)(pages[i]->number * PAGE))
		    != (ssize_t)(k * PAGE))
			die("write");
	}
}

static void
write_file(struct file *f, uint64_t size, int fd)
{
	struct page **pages = need(f->npages, sizeof(*pages)), *p;
	size_t n = 0;

	for (p = f->newest; p; p = p->older)
		if (p->number * PAGE < size)
			pages[n++] = p;
	qsort(pages, n, sizeof(*pages), by_number);
	write_pages(pages, n, fd);
	free(pages);
	if (ftruncate(fd, (off_t)size) < 0)
		die("truncate");
}

static void
forget(struct file *f)
{
	struct touch *t;
	struct page *p;

	while ((p = f->newest)) {
		f->newest = p->older;
		while ((t = p->first)) {
			p->first = t->next;
			free(t);
		}
		free(p);
	}
	free(f->changes);
	free(f->metas);
}

static void
put_bytes(const struct cut *cut, uint64_t node, struct chance *c, int fd)
{
	struct file f = { .ops = cut->rec->ops };
	struct page *p;
	uint64_t size;
	size_t metas;

	replay(&f, cut, node);
	metas = chance_pick(c, f.durable_metas, f.nmetas);
	size = pick_size(&f, metas, c);
	for (p = f.newest; p; p = p->older)
		pick_page(&f, p, metas, c);
	write_file(&f, size, fd);
	forget(&f);
}

void
file_after(const struct cut *cut, uint64_t node, int fd)
{
	struct chance c = chance_of(cut, node);

	if (S_ISREG(cut->rec->ops[cut->rec->made[node]].r->mode))
		put_bytes(cut, node, &c, fd);
	attributes_after(cut, node, &c, fd);
}
