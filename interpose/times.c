/* SPDX-License-Identifier: BSD-3-Clause */
/* times.c -- a time that the program sets outlives the drain */

/*
 * The drainer's writes move a file's mtime, so it puts file.wtime back after
 * the last of them. A time set by the program goes into wtime first and then
 * to the kernel; when the kernel refuses, the old one comes back. The other
 * way round, a drainer that had read the old wtime could set it after the
 * program's call: as it is, it looks at wtime again after it has set it.
 */
#include "interpose/changed.h"
#include "interpose/front.h"
#include "interpose/real.h"
#include "interpose/stat.h"
#include "shm/stamp.h"
#include "shm/sys.h"

enum { COARSEST = 2000000000 };		/* ns; FAT keeps every second second */

struct mark {				/* a call under way */
	int dir, flags;
	const char *path;		/* NULL: dir is the file */
	struct spw_file *f;		/* NULL: the kernel's alone */
	bool omit, now, too_far;
	int64_t old, new;
};

static int
look_at(const struct mark *m, struct stat *st)
{
	return m->path ? spw_sys_fstatat(m->dir, m->path, st, m->flags)
		       : spw_sys_fstat(m->dir, st);
}

/* The record, if it knows the time better than the kernel. */
static uint32_t
find(const struct mark *m)
{
	struct stat st;
	uint32_t file;

	if (look_at(m, &st) < 0)
		return SPW_NONE;
	file = spw_sight_find(&st);
	if (file == SPW_NONE ||
	    atomic_load(&spw_front.map.files[file].bypass) ||
	    !(atomic_load(&spw_front.map.files[file].flags) & SPW_FILE_TIMES))
		return SPW_NONE;
	return file;
}

/* A time that wtime cannot hold: from here on the kernel's counts. */
static void
give_up(struct mark *m, uint32_t file)
{
	struct spw_me *me = spw_front_me();

	m->too_far = true;
	if (me)
		(void)spw_gate_settle(me, file);	/* close will tell */
}

/* The last write is a change of the past: its time is in set_ctime before it is
 * gone from wtime, so that nobody sees an older ctime meanwhile. */
static void
put(struct mark *m)
{
	struct spw_file *f = m->f;

	m->old = atomic_load(&f->wtime);
	spw_file_note_set(f, m->new);
	do
		if (!spw_file_was_set_to(f, m->old))
			spw_file_move_ctime(f, m->old);
	while (!atomic_compare_exchange_weak(&f->wtime, &m->old, m->new));
}

/* mtime NULL: now. */
static struct mark
begin(int dir, const char *path, int flags, const struct timespec *mtime)
{
	struct mark m = { .dir = dir, .flags = flags, .path = path };
	uint32_t file;

	if (!spw_front_look() ||
	    (mtime && spw_cache_bad_pointer(mtime, sizeof(*mtime))))
		return m;
	file = find(&m);
	if (file == SPW_NONE)
		return m;
	m.f = &spw_front.map.files[file];
	m.omit = mtime && mtime->tv_nsec == UTIME_OMIT;
	if (m.omit)
		return m;
	m.now = !mtime || mtime->tv_nsec == UTIME_NOW;
	m.new = m.now ? spw_stamp(&spw_front.map, m.f) : spw_nanoseconds(mtime);
	if (m.new == INT64_MAX || m.new == INT64_MIN)
		give_up(&m, file);
	else
		put(&m);
	return m;
}

/* "Now" is when the kernel says, and file systems cut times to what they can
 * store. Anything else is the mark of a drain that goes on just now. */
static bool
is_answer(const struct mark *m, int64_t kept)
{
	if (m->now)
		return kept >= m->new && kept - m->new < COARSEST;
	return kept < m->new && m->new - kept < COARSEST && kept % 100 == 0;
}

static void
adopt(struct mark *m, const struct stat *st)
{
	int64_t kept = spw_nanoseconds(&st->st_mtim);

	if (!is_answer(m, kept))
		return;
	/* A write that came meanwhile has its own time and keeps it. */
	spw_file_note_set(m->f, kept);
	atomic_compare_exchange_strong(&m->f->wtime, &m->new, kept);
}

static void
take_back(struct mark *m)
{
	struct spw_file *f = m->f;

	atomic_compare_exchange_strong(&f->wtime, &m->new, m->old);
	atomic_store(&f->set_mtime, atomic_load(&f->set_before));
}

static int
end(struct mark *m, int r)
{
	struct stat st;

	if (!m->f)
		return spw_changed(m->dir, m->path, m->flags, r);
	if (r < 0) {
		if (!m->omit && !m->too_far)
			take_back(m);
		return r;
	}
	if (m->too_far)
		atomic_fetch_and(&m->f->flags, ~(uint32_t)SPW_FILE_TIMES);
	if (look_at(m, &st) < 0)
		return r;
	spw_file_move_ctime(m->f, spw_nanoseconds(&st.st_ctim));
	spw_stamp_saw(&spw_front.map, spw_nanoseconds(&st.st_ctim));
	if (!m->omit && !m->too_far)
		adopt(m, &st);
	return r;
}

static struct mark
begin_timeval(int dir, const char *path, int flags, const struct timeval tv[2])
{
	struct timespec ts;

	if (!tv || !spw_front_look())
		return begin(dir, path, flags, NULL);
	ts = (struct timespec){ tv[1].tv_sec, tv[1].tv_usec * 1000 };
	return begin(dir, path, flags, &ts);
}

SPW_WRAP int
utimensat(int dir, const char *path, const struct timespec ts[2], int flags)
{
	struct mark m = begin(dir, path, flags, ts ? &ts[1] : NULL);

	return end(&m, REAL(utimensat)(dir, path, ts, flags));
}

SPW_WRAP int
futimens(int fd, const struct timespec ts[2])
{
	struct mark m = begin(fd, NULL, 0, ts ? &ts[1] : NULL);

	return end(&m, REAL(futimens)(fd, ts));
}

SPW_WRAP int
utime(const char *path, const struct utimbuf *times)
{
	struct timespec ts = { times ? times->modtime : 0, 0 };
	struct mark m = begin(AT_FDCWD, path, 0, times ? &ts : NULL);

	return end(&m, REAL(utime)(path, times));
}

SPW_WRAP int
utimes(const char *path, const struct timeval tv[2])
{
	struct mark m = begin_timeval(AT_FDCWD, path, 0, tv);

	return end(&m, REAL(utimes)(path, tv));
}

SPW_WRAP int
lutimes(const char *path, const struct timeval tv[2])
{
	struct mark m = begin_timeval(AT_FDCWD, path, AT_SYMLINK_NOFOLLOW, tv);

	return end(&m, REAL(lutimes)(path, tv));
}

SPW_WRAP int
futimes(int fd, const struct timeval tv[2])
{
	struct mark m = begin_timeval(fd, NULL, 0, tv);

	return end(&m, REAL(futimes)(fd, tv));
}

SPW_WRAP int
futimesat(int dir, const char *path, const struct timeval tv[2])
{
	struct mark m = begin_timeval(dir, path, 0, tv);

	return end(&m, REAL(futimesat)(dir, path, tv));
}
