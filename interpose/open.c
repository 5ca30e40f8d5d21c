/* SPDX-License-Identifier: BSD-3-Clause */
/* open.c -- descriptors come and go: open, close, dup, fcntl */
#include <errno.h>
#include <linux/openat2.h>
#include <stdarg.h>
#include <sys/syscall.h>

#include "interpose/jobs.h"
#include "interpose/kept.h"
#include "interpose/leave.h"
#include "interpose/process.h"
#include "interpose/real.h"

struct opening {
	int dir;
	const char *path;
	int flags, mode;
	int fd;
	const void *how;		/* of openat2, or NULL */
	size_t how_size;
	struct file_handle *handle;	/* in place of the path, or NULL */
	struct spw_map *map;		/* of what it cuts */
	struct spw_file *f;
};

static bool
takes_mode(int flags)
{
	return flags & O_CREAT || (flags & O_TMPFILE) == O_TMPFILE;
}

static int
really_open(void *arg)
{
	struct opening *o = arg;

	if (o->handle)
		o->fd = REAL(open_by_handle_at)(o->dir, o->handle, o->flags);
	else if (o->how)
		o->fd = (int)REAL(syscall)(SYS_openat2, o->dir, o->path,
					   o->how, o->how_size);
	else if (o->dir == AT_FDCWD)
		o->fd = REAL(open)(o->path, o->flags, o->mode);
	else
		o->fd = REAL(openat)(o->dir, o->path, o->flags, o->mode);
	return o->fd < 0 ? -errno : 0;
}

/* What a handle names has no path that could be looked at. */
static uint32_t
take_handle(const struct opening *o, struct spw_me **ret_me)
{
	int fd = REAL(open_by_handle_at)(o->dir, o->handle,
					 O_PATH | O_CLOEXEC);
	uint32_t file;

	if (fd < 0)
		return SPW_NONE;
	file = spw_take_path(fd, "", AT_EMPTY_PATH, ret_me);
	spw_sys_close(fd);
	return file;
}

static int
open_and_cut(void *arg)
{
	struct opening *o = arg;
	int64_t begun = spw_file_time();
	int r = really_open(o);

	if (r == 0)
		spw_note_cut(o->map, o->f, o->fd, NULL, begun);
	return r;
}

/* Others may have bytes of it, and would write them after the cut. */
static bool
must_not_cut(const struct opening *o)
{
	bool wanted = false;
	int fd;

	if (!spw_front_is_cut_off() || !o->path)
		return false;
	fd = REAL(openat)(o->dir, o->path, O_PATH | O_CLOEXEC);
	if (fd >= 0) {
		wanted = spw_fdtab_is_wanted(fd);
		spw_sys_close(fd);
	}
	return wanted || (fd < 0 && errno == ENFILE);
}

/* A file that has bytes in the segment: they must not come home after the
 * kernel has cut it. The record is given back: nobody cancels us before. */
static void
open_known(struct opening *o, struct spw_me *me, uint32_t file)
{
	int cancel;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	if (atomic_load(&me->map->files[file].bypass)) {
		spw_jobs_settle_path(o->dir, o->path);
		(void)really_open(o);
	} else {
		o->map = me->map;
		o->f = &me->map->files[file];
		(void)spw_resize(me, file, 0, open_and_cut, o);
	}
	spw_file_close(me, file);
	pthread_setcancelstate(cancel, NULL);
}

/* With O_TRUNC. */
static void
open_truncating(struct opening *o)
{
	struct spw_me *me;
	uint32_t file = o->handle ? take_handle(o, &me)
				  : spw_take_path(o->dir, o->path, 0, &me);

	if (file != SPW_NONE) {
		open_known(o, me, file);
	} else if (must_not_cut(o)) {
		errno = ENFILE;
	} else {
		spw_jobs_settle_path(o->dir, o->path);
		(void)really_open(o);
	}
}

/* Also when opened for reading; O_PATH opens nothing. */
static bool
truncates(const struct opening *o)
{
	return (o->flags & (O_TRUNC | O_PATH)) == O_TRUNC;
}

static void
try(struct opening *o)
{
	if (truncates(o))
		open_truncating(o);
	else
		(void)really_open(o);
}

/* There the kernel shows the positions that it knows. */
static void
tell_positions(const char *path)
{
	struct spw_grip g;

	if (strncmp(path, "/proc/", 6) != 0 || !strstr(path, "/fdinfo"))
		return;
	for (int fd = spw_process_next_fd(0); fd >= 0;
	     fd = spw_process_next_fd(fd + 1))
		if (spw_fdtab_grip(fd, &g) &&
		    !(atomic_load(&g.ofd->flags) & SPW_OFD_STDOUT))
			(void)spw_sys_lseek(fd, (int64_t)
					    atomic_load(&g.ofd->pos),
					    SEEK_SET);
}

static int
open_it(struct opening *o)
{
	pthread_testcancel();
	if (truncates(o) && o->path)
		spw_kept_truncating(o->dir, o->path);
	try(o);
	if (SPW_UNLIKELY(o->fd < 0 && errno == EACCES) && o->path &&
	    spw_kept_settle(o->dir, o->path))
		try(o);
	if (o->fd >= 0) {
		int saved = errno;
		int r = spw_fdtab_opened(o->fd, o->flags);

		if (o->path)		/* the kernel has read it */
			tell_positions(o->path);
		if (r < 0) {
			spw_sys_close(o->fd);
			o->fd = -1;
			saved = -r;
		}
		errno = saved;
	}
	return o->fd;
}

static int
open_at(int dir, const char *path, int flags, int mode)
{
	struct opening o = { .dir = dir, .path = path, .flags = flags,
			     .mode = mode, .fd = -1 };

	return open_it(&o);
}

int
spw_open_how(int dir, const char *path, const struct open_how *how,
	     size_t size)
{
	struct opening o = { .dir = dir, .path = path, .fd = -1,
			     .how = how, .how_size = size };

	if (spw_cache_bad_pointer(how, sizeof(how->flags)))
		return (int)REAL(syscall)(SYS_openat2, dir, path, how, size);
	o.flags = (int)how->flags;
	return open_it(&o);
}

#define MODE_OF(last, flags, mode) \
	do { \
		va_list ap; \
		va_start(ap, last); \
		mode = takes_mode(flags) ? va_arg(ap, int) : 0; \
		va_end(ap); \
	} while (0)

SPW_WRAP int
open(const char *path, int flags, ...)
{
	int mode;

	MODE_OF(flags, flags, mode);
	return open_at(AT_FDCWD, path, flags, mode);
}
SPW_ALIAS(open64, open);
SPW_ALIAS(__open, open);
SPW_ALIAS(__open64, open);

SPW_WRAP int
openat(int dir, const char *path, int flags, ...)
{
	int mode;

	MODE_OF(flags, flags, mode);
	return open_at(dir, path, flags, mode);
}
SPW_ALIAS(openat64, openat);

SPW_WRAP int
__open_2(const char *path, int flags)
{
	return open_at(AT_FDCWD, path, flags, 0);
}
SPW_ALIAS(__open64_2, __open_2);

SPW_WRAP int
__openat_2(int dir, const char *path, int flags)
{
	return open_at(dir, path, flags, 0);
}
SPW_ALIAS(__openat64_2, __openat_2);

SPW_WRAP int
creat(const char *path, mode_t mode)
{
	return open_at(AT_FDCWD, path, O_CREAT | O_WRONLY | O_TRUNC,
		       (int)mode);
}
SPW_ALIAS(creat64, creat);

static int
opened_by_name(int fd, int flags)
{
	int saved = errno;

	if (fd >= 0)
		(void)spw_fdtab_opened(fd, flags | O_CREAT | O_RDWR);
	errno = saved;
	return fd;
}

SPW_WRAP int
mkostemps(char *name, int suffix, int flags)
{
	return opened_by_name(REAL(mkostemps)(name, suffix, flags), flags);
}
SPW_ALIAS(mkostemps64, mkostemps);

SPW_WRAP int
mkostemp(char *name, int flags)
{
	return mkostemps(name, 0, flags);
}
SPW_ALIAS(mkostemp64, mkostemp);

SPW_WRAP int
mkstemps(char *name, int suffix)
{
	return mkostemps(name, suffix, 0);
}
SPW_ALIAS(mkstemps64, mkstemps);

SPW_WRAP int
mkstemp(char *name)
{
	return mkostemps(name, 0, 0);
}
SPW_ALIAS(mkstemp64, mkstemp);

SPW_WRAP int
open_by_handle_at(int mount, struct file_handle *handle, int flags)
{
	struct opening o = { .dir = mount, .handle = handle, .flags = flags,
			     .fd = -1 };

	return open_it(&o);
}

SPW_WRAP int
close(int fd)
{
	int cancel, err, r;

	if (SPW_LIKELY(!spw_fdtab_has(fd)))
		return REAL(close)(fd);
	/* Both forget it, or none. */
	pthread_testcancel();
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	err = spw_fdtab_closing(fd);
	r = REAL(close)(fd);
	pthread_setcancelstate(cancel, NULL);
	if (r == 0 && err) {
		errno = err;
		return -1;
	}
	return r;
}
SPW_ALIAS(__close, close);

SPW_WRAP int
close_range(unsigned first, unsigned last, int flags)
{
	if (flags == (int)CLOSE_RANGE_UNSHARE ||
	    flags == (int)(CLOSE_RANGE_UNSHARE | CLOSE_RANGE_CLOEXEC))
		spw_process_unshares_files();
	if (!(flags & ~(int)CLOSE_RANGE_UNSHARE))
		spw_fdtab_closing_range(first, last);
	return REAL(close_range)(first, last, flags);
}

SPW_WRAP void
closefrom(int first)
{
	spw_fdtab_closing_range(first < 0 ? 0 : (unsigned)first, SPW_FD_MAX);
	REAL(closefrom)(first);
}

static int
duped(int from, int to)
{
	int saved = errno;

	if (to >= 0 && (spw_fdtab_has(from) || spw_fdtab_has(to)))
		spw_fdtab_duped(from, to);
	errno = saved;
	return to;
}

SPW_WRAP int
dup(int fd)
{
	return duped(fd, REAL(dup)(fd));
}

static int
ends(const struct spw_onto *o, int r)
{
	int saved = errno;

	spw_fdtab_onto_ends(o, r >= 0);
	errno = saved;
	return r;
}

SPW_WRAP int
dup2(int fd, int to)
{
	struct spw_onto o = { .from = fd, .to = to };

	spw_fdtab_onto_begins(&o);
	return ends(&o, REAL(dup2)(fd, to));
}
SPW_ALIAS(__dup2, dup2);

SPW_WRAP int
dup3(int fd, int to, int flags)
{
	struct spw_onto o = { .from = fd, .to = to };

	spw_fdtab_onto_begins(&o);
	return ends(&o, REAL(dup3)(fd, to, flags));
}

static void
set_flags(int fd, long flags)
{
	struct spw_grip g;

	if (flags & (O_DIRECT | O_SYNC | O_DSYNC)) {
		(void)spw_leave(fd, flags & O_DIRECT ? SPW_BYPASS_DIRECT
						    : SPW_BYPASS_SYNC);
		return;
	}
	if (!spw_fdtab_peek(fd, &g))
		return;
	if (flags & O_APPEND) {
		spw_gate_appends(g.me, g.t.file);
		atomic_fetch_or(&g.ofd->flags, SPW_OFD_APPEND);
	} else {
		atomic_fetch_and(&g.ofd->flags, ~(uint32_t)SPW_OFD_APPEND);
	}
}

/* Locks relative to position or end: the kernel's may lag behind ours. */
static int
lock_absolutely(int fd, int cmd, struct flock *lock)
{
	struct flock absolute;
	struct spw_grip g;
	uint64_t base;
	int r;

	if (spw_cache_bad_pointer(lock, sizeof(*lock)) ||
	    (lock->l_whence != SEEK_CUR && lock->l_whence != SEEK_END) ||
	    !spw_fdtab_grip(fd, &g))
		return REAL(fcntl)(fd, cmd, lock);
	absolute = *lock;
	base = lock->l_whence == SEEK_CUR ? atomic_load(&g.ofd->pos)
					  : atomic_load(&g.f->size);
	if (__builtin_add_overflow(lock->l_start, base, &absolute.l_start))
		return (int)spw_ret(-EOVERFLOW);
	absolute.l_whence = SEEK_SET;
	r = REAL(fcntl)(fd, cmd, &absolute);
	if (r == 0 && (cmd == F_GETLK || cmd == F_OFD_GETLK)) {
		if (absolute.l_type == F_UNLCK)
			lock->l_type = F_UNLCK;
		else
			*lock = absolute;
	}
	return r;
}

/* One to write is to be had only if nobody else has the file open: the
 * drainer closes it as well. */
static void
leave_for_lease(int fd)
{
	struct spw_grip g;

	if (!spw_fdtab_peek(fd, &g) || spw_leave(fd, SPW_BYPASS_LEASE) < 0)
		return;
	atomic_store(&g.f->bypass, SPW_BYPASS_LEASE);	/* whatever it was */
	(void)spw_gate_ask(g.me, g.t.file);
}

SPW_WRAP int
fcntl(int fd, int cmd, ...)
{
	va_list ap;
	void *arg;
	int r;

	va_start(ap, cmd);
	arg = va_arg(ap, void *);
	va_end(ap);
	if (SPW_LIKELY(!spw_fdtab_has(fd)))
		return REAL(fcntl)(fd, cmd, arg);
	switch (cmd) {
	case F_DUPFD:
	case F_DUPFD_CLOEXEC:
		return duped(fd, REAL(fcntl)(fd, cmd, arg));
	case F_SETFL:
		r = REAL(fcntl)(fd, cmd, arg);
		if (r == 0)
			set_flags(fd, (long)arg);
		return r;
	case F_GETLK:
	case F_SETLK:
	case F_SETLKW:
	case F_OFD_GETLK:
	case F_OFD_SETLK:
	case F_OFD_SETLKW:
		return lock_absolutely(fd, cmd, arg);
	case F_SETLEASE:
		leave_for_lease(fd);
		return REAL(fcntl)(fd, cmd, arg);
	default:
		return REAL(fcntl)(fd, cmd, arg);
	}
}
SPW_ALIAS(fcntl64, fcntl);
SPW_ALIAS(__fcntl, fcntl);

SPW_WRAP int
lockf(int fd, int cmd, off_t len)
{
	struct spw_grip g;

	if (spw_fdtab_has(fd) && spw_fdtab_grip(fd, &g))
		(void)spw_sys_lseek(fd, (int64_t)atomic_load(&g.ofd->pos),
				    SEEK_SET);
	return REAL(lockf)(fd, cmd, len);
}
SPW_ALIAS(lockf64, lockf);
