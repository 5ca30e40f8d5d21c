/* SPDX-License-Identifier: BSD-3-Clause */
/* powercut-attributes.c -- mode, times and extended attributes after a power
 * cut: some of the first that were set, at least those before an fsync */

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>

#include "tests/powercut.h"

static bool
sets_attributes(const struct record *r)
{
	return r->kind != RECORD_SYNC && r->kind != RECORD_REMOVE &&
	       r->kind != RECORD_RENAME && r->kind != RECORD_LINK;
}

/* How many ops that set attributes are before the cut; those before the last
 * fsync are durable. */
static size_t
count_attributes(const struct cut *cut, uint64_t node, size_t *ret_durable)
{
	const struct record *r;
	size_t i, n = 0;

	*ret_durable = 0;
	for (i = cut->rec->first[node]; i < cut->end;
	     i = cut->rec->ops[i].next) {
		r = cut->rec->ops[i].r;
		n += sets_attributes(r);
		if (r->kind == RECORD_SYNC && !(r->flags & RECORD_DATA_ONLY))
			*ret_durable = n;
	}
	return n;
}

static void
set_xattr(const struct op *op, int fd)
{
	char name[256] = "";
	int r;

	memcpy(name, op->name, op->r->name_len < 255 ? op->r->name_len : 255);
	if (op->r->flags & RECORD_GONE)
		r = fremovexattr(fd, name);
	else
		r = fsetxattr(fd, name, op->data, op->r->data_len, 0);
	if (r < 0 && errno != ENODATA)
		die(name);
}

void
attributes_after(const struct cut *cut, uint64_t node, struct chance *c,
		 int fd)
{
	const struct record *r = cut->rec->ops[cut->rec->made[node]].r;
	struct timespec times[2] = { { .tv_nsec = UTIME_OMIT },
				     { r->sec, r->nsec } };
	mode_t mode = r->mode;
	size_t i, n, durable;

	n = count_attributes(cut, node, &durable);
	n = chance_pick(c, durable, n);
	for (i = cut->rec->first[node]; i < cut->end && n > 0;
	     i = cut->rec->ops[i].next) {
		r = cut->rec->ops[i].r;
		if (!sets_attributes(r))
			continue;
		n--;
		times[1] = (struct timespec){ r->sec, r->nsec };
		if (r->kind == RECORD_ATTR)
			mode = r->mode;
		else if (r->kind == RECORD_XATTR)
			set_xattr(&cut->rec->ops[i], fd);
	}
	if (fchmod(fd, mode & 07777) < 0 || futimens(fd, times) < 0)
		die("attributes");
}
