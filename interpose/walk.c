/* SPDX-License-Identifier: BSD-3-Clause */
/* walk.c -- libc's tree walks look at files by themselves: put that right */
#include "interpose/front.h"
#include "interpose/real.h"
#include "interpose/stat.h"
#include "shm/sys.h"

/*
 * What a walk shows may have been read long ago, when the kernel did not have
 * the bytes yet that are home now: so the kernel is asked again. Only regular
 * files get here; following a link is right in a walk that follows them and
 * means nothing in one that does not. A name that leads nowhere, or to
 * another file, leaves the walk's own answer, with what is not home put right.
 */
static void
put_right(const char *path, struct stat *st)
{
	struct spw_sight s;
	struct stat now;

	if (!spw_front_look())
		return;
	s = spw_sight_begin();
	do
		if (spw_sys_fstatat(AT_FDCWD, path, &now, 0) < 0 ||
		    now.st_ino != st->st_ino || now.st_dev != st->st_dev) {
			(void)spw_sight_blurred(&s, st);
			return;
		}
	while (spw_sight_blurred(&s, &now));
	*st = now;
}

static bool
has_stat(const FTSENT *e)
{
	return e->fts_info == FTS_F || e->fts_info == FTS_DEFAULT;
}

SPW_WRAP FTSENT *
fts_read(FTS *fts)
{
	FTSENT *e = REAL(fts_read)(fts);

	if (e && has_stat(e))
		put_right(e->fts_accpath, e->fts_statp);
	return e;
}
SPW_ALIAS(fts64_read, fts_read);

SPW_WRAP FTSENT *
fts_children(FTS *fts, int options)
{
	FTSENT *first = REAL(fts_children)(fts, options);

	/* Paths of children are relative to a place the walk is not at. */
	for (FTSENT *e = first; e; e = e->fts_link)
		if (has_stat(e))
			put_right("", e->fts_statp);
	return first;
}
SPW_ALIAS(fts64_children, fts_children);

/* The walk this thread is in; they may be nested. */
static __thread struct {
	__nftw_func_t func;
	int flags;
} walk;
static __thread __ftw_func_t ftw_func;

static int
visit_nftw(const char *path, const struct stat *st, int type, struct FTW *at)
{
	struct stat copy = *st;

	if (type == FTW_F)
		put_right(walk.flags & FTW_CHDIR ? path + at->base : path,
			  &copy);
	return walk.func(path, &copy, type, at);
}

SPW_WRAP int
nftw(const char *path, __nftw_func_t func, int fds, int flags)
{
	__typeof__(walk) outer = walk;
	int r;

	walk.func = func;
	walk.flags = flags;
	r = REAL(nftw)(path, visit_nftw, fds, flags);
	walk = outer;
	return r;
}
SPW_ALIAS(nftw64, nftw);

static int
visit_ftw(const char *path, const struct stat *st, int type)
{
	struct stat copy = *st;

	if (type == FTW_F)
		put_right(path, &copy);
	return ftw_func(path, &copy, type);
}

SPW_WRAP int
ftw(const char *path, __ftw_func_t func, int fds)
{
	__ftw_func_t outer = ftw_func;
	int r;

	ftw_func = func;
	r = REAL(ftw)(path, visit_ftw, fds);
	ftw_func = outer;
	return r;
}
SPW_ALIAS(ftw64, ftw);
