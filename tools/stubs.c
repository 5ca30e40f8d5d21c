/* SPDX-License-Identifier: BSD-3-Clause */
/* stubs.c -- the stubs below some paths, by the share that has their bytes */
#include "tools/stubs.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/walk.h"

struct finder {
	struct spw_stubs *stubs;
	void (*fault)(void *arg, const char *path, int err);
	void *arg;
};

/* Takes the path. */
static int
add(struct spw_stubs *s, char *path, const struct spw_stub *stub)
{
	struct spw_stub_found *more = realloc(s->list,
					      (s->n + 1) * sizeof(*more));

	if (!more) {
		free(path);
		return -ENOMEM;
	}
	s->list = more;
	more[s->n++] = (struct spw_stub_found){ .stub = *stub, .path = path };
	return 0;
}

static void
complain(void *arg, const char *path, int err)
{
	struct finder *f = arg;

	f->stubs->missing += err == -ENOENT;
	f->stubs->refused += err != -ENOENT;
	f->fault(f->arg, path, err);
}

/* Other people's files, and those that cannot be written, are no stubs of
 * ours. */
static int
look(void *arg, const char *path)
{
	struct finder *f = arg;
	struct spw_stub stub;
	char *real = realpath(path, NULL);	/* a link may have been named */
	int fd = real ? spw_stub_open(real, &stub) : -errno;

	if (fd >= 0) {
		close(fd);
		return add(f->stubs, real, &stub);
	}
	free(real);
	if (fd == -EINVAL || fd == -ESTALE)
		complain(f, path, fd);
	return 0;
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
	const struct spw_walker w = { look, complain, &f };
	int r;

	*ret = (struct spw_stubs){ 0 };
	r = spw_walk(paths, &w);
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
