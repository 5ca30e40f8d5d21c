/* SPDX-License-Identifier: BSD-3-Clause */
/* mark.c -- an object that says: this file is home, older ones count no more */
#include "planner/mark.h"

#include <errno.h>

static int
put(struct spw_tier *t, void *buf, size_t len, uint64_t *ret_place)
{
	struct spw_transfer x = { .buf = buf, .len = len };
	int r = t->ops->submit(t, &x);

	if (r < 0)
		return r;
	if (!t->ops->reap(t, true))
		return -EIO;
	*ret_place = x.place;
	return x.err;
}

int
spw_mark_put(struct spw_tier *t, struct spw_packer *p,
	     const struct spw_object *o, void *buf, size_t cap,
	     uint64_t *ret_place)
{
	struct spw_object mark = *o;
	int64_t n;
	int r;

	mark.flags = SPW_OBJECT_HOME;
	mark.cut = UINT64_MAX;
	mark.offset = mark.length = 0;
	mark.block_size = 0;
	n = spw_object_encode(p, &mark, NULL, buf, cap, buf);
	if (n < 0)
		return (int)n;
	r = put(t, buf, (size_t)n, ret_place);
	if (r < 0)
		return r;
	r = t->ops->sync(t);
	if (r < 0)
		(void)t->ops->drop(t, *ret_place);
	return r;
}
