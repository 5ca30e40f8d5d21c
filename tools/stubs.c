/* SPDX-License-Identifier: BSD-3-Clause */
/* stubs.c -- the stubs below some paths, by the share that has their bytes */
#include "tools/stubs.h"

#include <errno.h>
#include <fts.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct finder {
	struct spw_stubs *stubs;
	void (*fault)(void *arg, const char *path, int err);
	void *arg;
};

static int
add(struct spw_stubs *s, const char *path, const struct spw_stub *stub)
{
	struct spw_stub_found *more = realloc(s->list,
					      (s->n + 1) * sizeof(*more));

	if (!more)
		return -ENOMEM;
	s->list = more;
	more += s->n;
	*more = (struct spw_stub_found){ .stub = *stub };
	more->path = realpath(path, NULL);
	if (!more->path)
		return -ENOMEM;
	s->n++;
	return 0;
}

static void
complain(struct finder *f, const char *path, int err)
{
	f->stubs->missing++;
	f->fault(f->arg, path, err);
}

/* Other people's files, and those that cannot be written, are no stubs of
 * ours. */
static int
look(struct finder *f, const char *path)
{
	struct spw_stub stub;
	int fd = spw_stub_open(path, &stub);

	if (fd >= 0) {
		close(fd);
		return add(f->stubs, path, &stub);
	}
	if (fd == -EINVAL || fd == -ESTALE)
		complain(f, path, fd);
	return 0;
}

static int
walk(struct finder *f, FTS *tree)
{
	FTSENT *e;
	int r = 0;

	while (r == 0 && (e = fts_read(tree))) {
		if (e->fts_info == FTS_F)
			r = look(f, e->fts_accpath);
		else if (e->fts_info == FTS_DNR || e->fts_info == FTS_ERR ||
			 e->fts_info == FTS_NS)
			complain(f, e->fts_path, -e->fts_errno);
	}
	return r;
}

static int
compare(const void *a, const void *b)
{
	const struct spw_stub_found *x = a, *y = b;
	int r = strcmp(x->stub.share, y->stub.share);

	if (r == 0)
		r = strcmp(x->stub.tiers, y->stub.tiers);
	return r ? r : strcmp(x->path, y->path);
}

int
spw_stubs_find(char *const *paths,
	       void (*fault)(void *arg, const char *path, int err), void *arg,
	       struct spw_stubs *ret)
{
	struct finder f = { ret, fault, arg };
	FTS *tree;
	int r;

	*ret = (struct spw_stubs){ 0 };
	tree = fts_open(paths, FTS_PHYSICAL | FTS_COMFOLLOW | FTS_NOCHDIR,
			NULL);
	if (!tree)
		return -errno;
	r = walk(&f, tree);
	fts_close(tree);
	if (r < 0)
		spw_stubs_free(ret);
	else if (ret->n)
		qsort(ret->list, ret->n, sizeof(*ret->list), compare);
	return r;
}

void
spw_stubs_free(struct spw_stubs *s)
{
	for (size_t i = 0; i < s->n; i++)
		free(s->list[i].path);
	free(s->list);
	s->list = NULL;
	s->n = 0;
}
