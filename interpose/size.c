/* SPDX-License-Identifier: BSD-3-Clause */
/* size.c -- truncating, allocating, and bringing bytes to safety */
#include <errno.h>

#include "interpose/changed.h"
#include "interpose/jobs.h"
#include "interpose/leave.h"
#include "interpose/named.h"
#include "interpose/real.h"
#include "shm/stamp.h"

struct cutting {
	struct spw_map *map;
	struct spw_file *f;		/* NULL: the kernel's */
	int fd;
	const char *path;
	off_t size;
};

/* As utimens does: in the record first, see planner/homes.c. */
static void
set_time(struct spw_file *f, int fd, const char *path, int64_t when)
{
	struct timespec ts[2] = { { 0, UTIME_OMIT }, spw_timespec(when) };

	atomic_store(&f->wtime, when);
	(void)spw_syscall(SYS_utimensat, path ? AT_FDCWD : fd, (long)path,
			  (long)ts, 0, 0, 0);
}

/* What is older than the cut, or the time of the last write, is the mark of a
 * drain that came in between. */
void
spw_note_cut(struct spw_map *map, struct spw_file *f, int fd,
	     const char *path, int64_t begun)
{
	struct stat st;
	int64_t when;

	if (path ? spw_sys_fstatat(AT_FDCWD, path, &st, 0) < 0
		 : spw_sys_fstat(fd, &st) < 0)
		return;
	when = spw_nanoseconds(&st.st_mtim);
	spw_stamp_saw(map, spw_nanoseconds(&st.st_ctim));
	if (when < begun || when == atomic_load(&f->wtime)) {
		when = spw_stamp(map, f);
		set_time(f, fd, path, when);
	} else {
		atomic_store(&f->wtime, when);
	}
	atomic_store(&f->home_mtime, when);
}

static int
cut_fd(void *arg)
{
	struct cutting *c = arg;
	int64_t begun = spw_file_time();

	if (REAL(ftruncate)(c->fd, c->size) < 0)
		return -errno;
	spw_note_cut(c->map, c->f, c->fd, NULL, begun);
	return 0;
}

static int
cut_path(void *arg)
{
	struct cutting *c = arg;
	int64_t begun = spw_file_time();

	if (REAL(truncate)(c->path, c->size) < 0)
		return -errno;
	if (c->f)
		spw_note_cut(c->map, c->f, -1, c->path, begun);
	return 0;
}

SPW_WRAP int
ftruncate(int fd, off_t size)
{
	struct cutting c = { .fd = fd, .size = size };
	struct spw_grip g;

	if (SPW_LIKELY(!spw_fdtab_has(fd)))
		return REAL(ftruncate)(fd, size);
	if (size < 0 || !spw_fdtab_grip(fd, &g))
		return spw_changed(fd, NULL, 0, REAL(ftruncate)(fd, size));
	c.map = g.me->map;
	c.f = g.f;
	return (int)spw_ret(spw_resize(g.me, g.t.file, (uint64_t)size, cut_fd,
				       &c));
}
SPW_ALIAS(ftruncate64, ftruncate);

SPW_WRAP int
truncate(const char *path, off_t size)
{
	struct cutting c = { .path = path, .size = size };
	struct spw_me *me;
	uint32_t file = spw_take_path(AT_FDCWD, path, 0, &me);
	int r;

	if (file == SPW_NONE ||
	    atomic_load(&me->map->files[file].bypass))
		spw_jobs_settle_path(AT_FDCWD, path);
	if (file == SPW_NONE)
		return spw_named_is_hidden(AT_FDCWD, path)
		       ? (int)spw_ret(-ENFILE)
		       : spw_changed(AT_FDCWD, path, 0,
				     REAL(truncate)(path, size));
	if (size < 0 || atomic_load(&me->map->files[file].bypass)) {
		r = spw_changed(AT_FDCWD, path, 0, cut_path(&c));
	} else {
		c.map = me->map;
		c.f = &me->map->files[file];
		r = spw_resize(me, file, (uint64_t)size, cut_path, &c);
	}
	spw_file_close(me, file);
	return (int)spw_ret(r);
}
SPW_ALIAS(truncate64, truncate);

SPW_WRAP int
fallocate(int fd, int mode, off_t off, off_t n)
{
	struct spw_visit v;
	int r;

	if (!spw_fdtab_has(fd))
		return REAL(fallocate)(fd, mode, off, n);
	pthread_testcancel();
	if (!spw_visit_begin(fd, true, &v))
		return REAL(fallocate)(fd, mode, off, n);
	r = v.err < 0 ? (int)spw_ret(v.err) : REAL(fallocate)(fd, mode, off,
							      n);
	spw_visit_end(&v);
	return r;
}
SPW_ALIAS(fallocate64, fallocate);

SPW_WRAP int
posix_fallocate(int fd, off_t off, off_t n)
{
	struct spw_visit v;
	int r;

	if (!spw_fdtab_has(fd) || !spw_visit_begin(fd, true, &v))
		return REAL(posix_fallocate)(fd, off, n);
	r = v.err < 0 ? -v.err : REAL(posix_fallocate)(fd, off, n);
	spw_visit_end(&v);
	return r;
}
SPW_ALIAS(posix_fallocate64, posix_fallocate);

/* A tier that survives a reboot does: 1. Else home first, then the kernel's
 * own promise: 0. An error that the drainer met comes out here, once for this
 * description. */
static int
bring_to_safety(int fd)
{
	struct spw_grip g;
	int r, err;
	bool safe;

	if (!spw_fdtab_grip(fd, &g))
		return 0;
	r = spw_gate_sync(g.me, g.t.file);
	safe = r == 0;
	if (r == -ENOTSUP)
		r = spw_gate_hand_over(g.me, g.t.file);
	else if (r < 0)
		r = spw_gate_ask(g.me, g.t.file);	/* objects must go */
	err = spw_ofd_error(g.me->map, g.ofd);
	if (r < 0 || err)
		return r < 0 ? r : -err;
	return safe;
}

SPW_WRAP int
fsync(int fd)
{
	int r;

	if (SPW_LIKELY(!spw_fdtab_has(fd)))
		return REAL(fsync)(fd);
	pthread_testcancel();
	r = bring_to_safety(fd);
	return r < 0 ? (int)spw_ret(r) : r ? 0 : REAL(fsync)(fd);
}

SPW_WRAP int
fdatasync(int fd)
{
	int r;

	if (SPW_LIKELY(!spw_fdtab_has(fd)))
		return REAL(fdatasync)(fd);
	pthread_testcancel();
	r = bring_to_safety(fd);
	return r < 0 ? (int)spw_ret(r) : r ? 0 : REAL(fdatasync)(fd);
}

SPW_WRAP int
sync_file_range(int fd, off_t off, off_t n, unsigned flags)
{
	int r = spw_fdtab_has(fd) ? bring_to_safety(fd) : 0;

	return r < 0 ? (int)spw_ret(r)
		     : REAL(sync_file_range)(fd, off, n, flags);
}

SPW_WRAP void
sync(void)
{
	(void)spw_hand_over_all();	/* sync reports no errors */
	REAL(sync)();
}

SPW_WRAP int
syncfs(int fd)
{
	int r = spw_hand_over_all();

	return r < 0 ? (int)spw_ret(r) : REAL(syncfs)(fd);
}
