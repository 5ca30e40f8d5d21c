/* SPDX-License-Identifier: BSD-3-Clause */
/* powercut-names.c -- which names are there after a power cut
 *
 * The changes of a directory reach the disk in their order; those of two
 * directories are independent, but one that is in both (a rename) needs what
 * came before it in either.  Nothing is half: of a rename, both names changed
 * or none.  So for each directory there is a point up to which its changes
 * are durable: the last fsync of it, moved on by changes that are durable by
 * another directory.
 */

#include <linux/fs.h>
#include <stdlib.h>
#include <string.h>

#include "tests/powercut.h"

struct floors {
	size_t *names;			/* of a directory: durable before */
	size_t *inode;			/* of a node: its own names are */
	bool *kept;			/* of an op */
};

static bool
changes_names(const struct record *r)
{
	return r->kind == RECORD_MAKE || r->kind == RECORD_LINK ||
	       r->kind == RECORD_REMOVE || r->kind == RECORD_RENAME;
}

static uint64_t
second_dir(const struct record *r)
{
	return r->kind == RECORD_RENAME ? r->dir2 : r->dir;
}

static void
raise(size_t *floor, size_t to)
{
	if (*floor < to)
		*floor = to;
}

static void
find_syncs(const struct cut *cut, struct floors *f)
{
	const struct record *r;
	size_t i;

	for (i = 0; i < cut->end; i++) {
		r = cut->rec->ops[i].r;
		if (r->kind == RECORD_SYNC)
			f->names[r->node] = i;
		if (cut->names_with_files && (r->kind == RECORD_SYNC ||
		    (r->kind == RECORD_WRITE && r->flags & RECORD_DURABLE)))
			f->inode[r->node] = i;
	}
}

/* Backwards, so that what a durable change needs is still to come. */
static void
keep_durable(const struct cut *cut, struct floors *f)
{
	const struct record *r;
	uint64_t dir2;
	size_t i;

	for (i = cut->end; i-- > 0;) {
		r = cut->rec->ops[i].r;
		if (!changes_names(r))
			continue;
		dir2 = second_dir(r);
		f->kept[i] = f->names[r->dir] > i || f->names[dir2] > i ||
			     f->inode[r->node] > i;
		if (!f->kept[i])
			continue;
		raise(&f->names[r->dir], i);
		raise(&f->names[dir2], i);
		if (cut->names_with_files) {
			raise(&f->inode[r->dir], i);
			raise(&f->inode[dir2], i);
		}
	}
}

/* What is not durable may be there, up to some point in each directory. */
static void
keep_some(const struct cut *cut, struct floors *f)
{
	const struct record *r;
	struct chance c;
	uint64_t dir, dir2;
	size_t i;

	for (dir = 0; dir < cut->rec->nnodes; dir++) {
		c = chance_of(cut, dir);
		f->names[dir] = chance_pick(&c, f->names[dir], cut->end);
	}
	for (i = 0; i < cut->end; i++) {
		r = cut->rec->ops[i].r;
		if (!changes_names(r) || f->kept[i])
			continue;
		dir2 = second_dir(r);
		f->kept[i] = f->names[r->dir] > i && f->names[dir2] > i;
		if (!f->kept[i])
			f->names[r->dir] = f->names[dir2] = 0;
	}
}

static void
set_name(struct entry **dirs, uint64_t dir, const char *name, size_t len,
	 uint64_t node)
{
	struct entry **p, *e;

	for (p = &dirs[dir]; *p; p = &(*p)->next)
		if ((*p)->len == len && !memcmp((*p)->name, name, len))
			break;
	if (*p && node) {
		(*p)->node = node;
	} else if (*p) {
		e = *p;
		*p = e->next;
		free(e);
	} else if (node) {
		e = need(1, sizeof(*e));
		*e = (struct entry){ .next = dirs[dir], .name = name,
				     .len = len, .dir = dir, .node = node };
		dirs[dir] = e;
	}
}

static void
apply(struct entry **dirs, const struct op *op)
{
	const struct record *r = op->r;
	uint64_t back = 0;

	switch (r->kind) {
	case RECORD_RENAME:
		if (r->mode & RENAME_EXCHANGE)
			back = r->off;
		if (r->node == r->off)	/* two names of one file: both stay */
			break;
		set_name(dirs, r->dir, op->name, r->name_len, back);
		set_name(dirs, r->dir2, op->name2, r->name2_len, r->node);
		break;
	case RECORD_REMOVE:
		set_name(dirs, r->dir, op->name, r->name_len, 0);
		break;
	default:
		set_name(dirs, r->dir, op->name, r->name_len, r->node);
		break;
	}
}

struct entry **
names_after(const struct cut *cut)
{
	struct entry **dirs = need(cut->rec->nnodes, sizeof(*dirs));
	struct floors f = {
		.names = need(cut->rec->nnodes, sizeof(size_t)),
		.inode = need(cut->rec->nnodes, sizeof(size_t)),
		.kept = need(cut->end, sizeof(bool)),
	};
	size_t i;

	find_syncs(cut, &f);
	keep_durable(cut, &f);
	keep_some(cut, &f);
	for (i = 0; i < cut->end; i++)
		if (f.kept[i])
			apply(dirs, &cut->rec->ops[i]);
	free(f.names);
	free(f.inode);
	free(f.kept);
	return dirs;
}
