/* SPDX-License-Identifier: BSD-3-Clause */
/* names.c -- rename, link, unlink: where bytes that are not home have to go */

/*
 * Contents are kept by inode, so names change nothing about them. Two things
 * do change: the paths by which a drainer finds a file that nobody has open
 * any more, and whether it is worth the trouble, since what has neither name
 * nor opener need not be written at all. The result is always the real
 * call's.
 */
#include <errno.h>

#include "interpose/changed.h"
#include "interpose/deep.h"
#include "interpose/leave.h"
#include "interpose/named.h"
#include "interpose/real.h"
#include "shm/paths.h"
#include "shm/sys.h"
#include "shm/text.h"

enum phase { PLANNED, DONE, CANCELLED };

/* A name more or less moves the file's ctime, whatever it is called now. */
static void
note_change(const struct spw_named *n)
{
	if (n->fd >= 0)
		(void)spw_changed(n->fd, NULL, 0, 0);
}

struct step {				/* one file or directory moves */
	struct spw_named *n;
	const char *from;
	char to[SPW_FILE_PATH];
};

/* Whoever opens it there does not ask us: it must be home, and stay so. */
static void
leave_if_outside(struct spw_me *me, uint32_t file, uint32_t gen,
		 const char *to)
{
	if (*to && me->map->files[file].gen == gen && spw_named_is_outside(to))
		(void)spw_leave_file(me, file, SPW_BYPASS_OUTSIDE);
}

static void
move_name(struct spw_me *me, uint32_t file, uint32_t gen, const char *to,
	  enum phase phase)
{
	if (phase != CANCELLED)
		leave_if_outside(me, file, gen, to);
	switch (phase) {
	case PLANNED:
		if (!spw_name_add(me, file, gen, to) &&
		    spw_file_is_unsettled(&me->map->files[file]))
			(void)spw_gate_settle(me, file);	/* not lost */
		break;
	case DONE:
		spw_name_set(me, file, gen, to);
		break;
	case CANCELLED:
		spw_name_remove(me, file, gen, to);
		break;
	}
}

/* What follows dir in path, with its slash; NULL when it is not below. */
static const char *
below(const char *path, const char *dir)
{
	size_t len = strlen(dir);

	return len && strncmp(path, dir, len) == 0 && path[len] == '/'
	       ? path + len : NULL;
}

/* Moves the file if it is below one of the directories. */
static void
move_below(struct spw_me *me, uint32_t file, const struct step *steps, int n,
	   enum phase phase)
{
	struct spw_file *f = &me->map->files[file];
	char path[SPW_FILE_PATH], to[SPW_FILE_PATH];
	uint32_t gen = f->gen;
	struct spw_text t;

	if (!spw_name_copy(f, 0, path) && !spw_name_copy(f, 1, path))
		return;
	for (int i = 0; i < n; i++) {
		const char *rest = below(path, steps[i].from);

		if (steps[i].n->file != SPW_NONE || !rest)
			continue;
		spw_text_init(&t, to, sizeof(to));
		spw_text_put(&t, steps[i].to);
		spw_text_put(&t, rest);
		move_name(me, file, gen, t.cut ? "" : to, phase);
		return;
	}
}

static void
move_all_below(struct spw_me *me, const struct step *steps, int n,
	       enum phase phase)
{
	struct spw_map *map = me->map;
	uint32_t ready = spw_seg_ready(map, SPW_POOL_FILES);

	for (uint32_t i = 0; i < ready; i++)
		if (atomic_load(&map->owners[SPW_POOL_FILES][i]) & SPW_IN_USE)
			move_below(me, i, steps, n, phase);
}

static void
move_all(struct spw_me *me, const struct step *steps, int n, enum phase phase)
{
	bool dirs = false;

	for (int i = 0; i < n; i++)
		if (steps[i].n->file == SPW_NONE)
			dirs = true;
		else
			move_name(me, steps[i].n->file, steps[i].n->gen,
				  steps[i].to, phase);
	if (dirs)
		move_all_below(me, steps, n, phase);
}

struct rename {
	int from_dir, to_dir;
	const char *from, *to;
	unsigned flags;
};

/* The paths before, and as they will be. Swapped, both sides move. */
static int
plan(const struct rename *c, struct spw_named *from, struct spw_named *to,
     struct step steps[2])
{
	int n = 0;

	if (from->fd >= 0) {
		steps[n] = (struct step){ .n = from, .from = from->path };
		(void)spw_named_absolute(c->to_dir, c->to, steps[n++].to);
	}
	if (to->fd >= 0 && c->flags & RENAME_EXCHANGE) {
		steps[n] = (struct step){ .n = to, .from = to->path };
		(void)spw_named_absolute(c->from_dir, c->from, steps[n++].to);
	}
	return n;
}

/* Two names of one file: nothing is done. */
static bool
is_same(const struct spw_named *from, const struct spw_named *to)
{
	return from->fd >= 0 && to->fd >= 0 && from->file == to->file &&
	       from->file != SPW_NONE;
}

static int
carry_out(struct spw_me *me, const struct rename *c, struct spw_named *from,
	  struct spw_named *to, int (*real)(const struct rename *))
{
	bool replaces = to->fd >= 0 && !(c->flags & RENAME_EXCHANGE);
	struct step steps[2];
	int r, err, n = plan(c, from, to, steps);

	move_all(me, steps, n, PLANNED);
	if (replaces)
		spw_named_leaving(me, to);
	r = real(c);
	err = errno;
	/* The kernel's own words for it, without links and dots. */
	for (int i = 0; r == 0 && i < n; i++) {
		char path[SPW_FILE_PATH];

		if (spw_named_path(steps[i].n, path))
			memcpy(steps[i].to, path, sizeof(path));
	}
	move_all(me, steps, n, r == 0 ? DONE : CANCELLED);
	if (r == 0 && replaces)
		spw_named_left(me, to);
	if (r == 0 && !is_same(from, to)) {
		note_change(from);
		note_change(to);
	}
	errno = err;
	return r;
}

struct renaming {
	const struct rename *c;
	int (*real)(const struct rename *);
	int r;
};

static void
rename_known(void *arg)
{
	struct renaming *w = arg;
	const struct rename *c = w->c;
	bool swaps = c->flags & RENAME_EXCHANGE;
	struct spw_named from, to;
	struct spw_me *me = NULL;
	int r;

	(void)spw_named_take(c->from_dir, c->from, true, &from);
	r = spw_named_take(c->to_dir, c->to, swaps, &to);
	if (r != -EFAULT && (from.fd >= 0 || to.fd >= 0))
		me = spw_front_me();
	w->r = me ? carry_out(me, c, &from, &to, w->real) : w->real(c);
	spw_named_drop(&from);
	spw_named_drop(&to);
}

static int
rename_like(const struct rename *c, int (*real)(const struct rename *))
{
	struct renaming w = { c, real, 0 };

	if (!spw_front_look())
		return spw_named_is_hidden(c->from_dir, c->from) ||
		       spw_named_is_hidden(c->to_dir, c->to)
		       ? (int)spw_ret(-ENFILE) : real(c);
	spw_deep_call_in_handler(rename_known, &w);
	return w.r;
}

static int
real_rename(const struct rename *c)
{
	return REAL(rename)(c->from, c->to);
}

SPW_WRAP int
rename(const char *from, const char *to)
{
	struct rename c = { AT_FDCWD, AT_FDCWD, from, to, 0 };

	return rename_like(&c, real_rename);
}

static int
real_renameat(const struct rename *c)
{
	return REAL(renameat)(c->from_dir, c->from, c->to_dir, c->to);
}

SPW_WRAP int
renameat(int from_dir, const char *from, int to_dir, const char *to)
{
	struct rename c = { from_dir, to_dir, from, to, 0 };

	return rename_like(&c, real_renameat);
}

static int
real_renameat2(const struct rename *c)
{
	return REAL(renameat2)(c->from_dir, c->from, c->to_dir, c->to,
			       c->flags);
}

SPW_WRAP int
renameat2(int from_dir, const char *from, int to_dir, const char *to,
	  unsigned flags)
{
	struct rename c = { from_dir, to_dir, from, to, flags };

	return rename_like(&c, real_renameat2);
}

/* Before a file gets one more path. */
static void
linking(int from_dir, const char *from, int flags, int to_dir, const char *to)
{
	char path[SPW_FILE_PATH];
	struct spw_me *me;
	uint32_t file;

	if (!from || !to || !spw_front_look() ||
	    !spw_named_absolute(to_dir, to, path) || !spw_named_is_outside(path))
		return;
	file = spw_take_path(from_dir, from, flags & AT_SYMLINK_FOLLOW ? 0
			     : AT_SYMLINK_NOFOLLOW, &me);
	if (file == SPW_NONE)
		return;
	(void)spw_leave_file(me, file, SPW_BYPASS_OUTSIDE);
	spw_file_close(me, file);
}

/* Afterwards there is one more path. Files without any, from O_TMPFILE, were
 * never managed. */
static int
linked(int dir, const char *to, int r)
{
	struct spw_named n;
	struct spw_me *me;

	if (r < 0 || !spw_front_look() ||
	    spw_named_take(dir, to, false, &n) <= 0)
		return r;
	me = spw_front_me();
	if (me)
		(void)spw_name_add(me, n.file, n.gen, n.path);
	note_change(&n);
	spw_named_drop(&n);
	return r;
}

SPW_WRAP int
link(const char *from, const char *to)
{
	linking(AT_FDCWD, from, 0, AT_FDCWD, to);
	if (spw_named_is_hidden(AT_FDCWD, from))
		return (int)spw_ret(-ENFILE);
	return linked(AT_FDCWD, to, REAL(link)(from, to));
}

SPW_WRAP int
linkat(int from_dir, const char *from, int to_dir, const char *to, int flags)
{
	linking(from_dir, from, flags, to_dir, to);
	if (spw_named_is_hidden(from_dir, from))
		return (int)spw_ret(-ENFILE);
	return linked(to_dir, to, REAL(linkat)(from_dir, from, to_dir, to,
					       flags));
}

struct removal {
	int dir, flags;
	const char *path;
};

/*
 * NFS and FUSE keep what is removed while somebody has it open, which may be
 * the drainer, under a name of their own in the same directory. They hear of
 * its end a moment later.
 */
static int
remove_again(const struct removal *c, int (*real)(const struct removal *))
{
	enum { TRIES = 20, PAUSE_US = 5000 };
	int saved = errno, r = real(c);
	struct stat st;

	if (r == 0 || errno != ENOTEMPTY ||
	    spw_sys_fstatat(c->dir, c->path, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return r;
	if (!spw_let_go_of_removed(st.st_dev)) {
		errno = ENOTEMPTY;
		return r;
	}
	for (int i = 0; i < TRIES; i++) {
		r = real(c);
		if (r == 0)
			errno = saved;
		if (r == 0 || errno != ENOTEMPTY)
			break;
		spw_sys_sleep_us(PAUSE_US);
	}
	return r;
}

static int
unlink_like(const struct removal *c, int (*real)(const struct removal *))
{
	struct spw_named n;
	struct spw_me *me;
	int r, err;

	if (!spw_front_look() && !(c->flags & AT_REMOVEDIR) &&
	    spw_named_is_hidden(c->dir, c->path))
		return (int)spw_ret(-ENFILE);
	if (!atomic_load(&spw_front.attached) ||
	    spw_named_take(c->dir, c->path, false, &n) <= 0)
		return remove_again(c, real);
	me = spw_front_me();
	if (me)
		spw_named_leaving(me, &n);
	r = remove_again(c, real);
	err = errno;
	if (me && r == 0)
		spw_named_left(me, &n);
	if (r == 0)
		note_change(&n);
	spw_named_drop(&n);
	errno = err;
	return r;
}

static int
real_unlink(const struct removal *c)
{
	return REAL(unlink)(c->path);
}

SPW_WRAP int
unlink(const char *path)
{
	struct removal c = { AT_FDCWD, 0, path };

	return unlink_like(&c, real_unlink);
}

static int
real_rmdir(const struct removal *c)
{
	return REAL(rmdir)(c->path);
}

SPW_WRAP int
rmdir(const char *path)
{
	struct removal c = { AT_FDCWD, AT_REMOVEDIR, path };

	return remove_again(&c, real_rmdir);
}

static int
real_unlinkat(const struct removal *c)
{
	return REAL(unlinkat)(c->dir, c->path, c->flags);
}

SPW_WRAP int
unlinkat(int dir, const char *path, int flags)
{
	struct removal c = { dir, flags, path };

	return unlink_like(&c, real_unlinkat);
}

static int
real_remove(const struct removal *c)
{
	return REAL(remove)(c->path);
}

SPW_WRAP int
remove(const char *path)
{
	struct removal c = { AT_FDCWD, 0, path };

	return unlink_like(&c, real_remove);
}
