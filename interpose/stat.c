/* SPDX-License-Identifier: BSD-3-Clause */
/* stat.c -- sizes and times include what is not home yet */

/*
 * The real call comes first and decides whether there is a file at all. For
 * a regular one with bytes in the segment, size, blocks and times are then
 * replaced by those that the program's own writes led to.
 *
 * The kernel's answer may be from before the last bytes came home, and the
 * record, looked at afterwards, may say that they are: then both together
 * are out of date. The drainer bumps seg.settled before it calls files
 * settled, so if that moved meanwhile the kernel is asked again.
 *
 * Two answers are in doubt, and count when they come once more. A ctime that we
 * know nothing of is that of a change by somebody without us, or the mark of a
 * drain, which file.home_ctime told of before or will in a moment: it is the
 * former if home_ctime is the same before and after. A file that has a name,
 * while its record says that it has none, is a new one with the old number, or
 * it was removed after the kernel's answer.
 */
#include "interpose/stat.h"

#include <errno.h>
#include <sys/sysmacros.h>

#include "interpose/front.h"
#include "interpose/named.h"
#include "interpose/real.h"
#include "shm/stamp.h"

#define UNNAMED	INT64_MAX		/* no time: a doubt */

enum { ASKS = 4, SECTORS = SPW_BLOCK_SIZE / 512 };

struct shown {
	uint64_t size, blocks;
	int64_t mtime, ctime;		/* ns */
	int64_t doubt;			/* 0: none, else what it rests on */
	bool named;			/* has links */
	bool ours;			/* size and blocks are replaced, */
	bool new_mtime, new_ctime;	/* and these */
};

/* Programs take a file with too few blocks for a sparse one. What is cached
 * may be counted by the kernel already, so the size is the limit. */
static uint64_t
guess_blocks(uint64_t kernel, uint64_t cached, uint64_t size)
{
	uint64_t most = ((size + SPW_BLOCK_SIZE - 1) >> SPW_BLOCK_SHIFT) *
			SECTORS;

	return SPW_MAX(kernel, SPW_MIN(kernel + cached * SECTORS, most));
}

static void
replace_ctime(const struct spw_file *f, struct shown *s)
{
	int64_t ours = atomic_load(&f->home_ctime);
	int64_t changed = spw_file_changed_at(f);

	if (!(atomic_load(&f->flags) & SPW_FILE_TIMES))
		return;
	if (s->ctime > changed && s->ctime != ours &&
	    ours != SPW_CTIME_MOVES) {
		s->doubt = ours;	/* 0 before the first drain */
		return;
	}
	s->ctime = changed;
	s->new_ctime = true;
}

static void
replace(const struct spw_file *f, struct shown *s)
{
	s->ours = true;
	s->size = atomic_load(&f->size);
	s->blocks = guess_blocks(s->blocks, atomic_load(&f->nblocks), s->size);
	s->new_mtime = atomic_load(&f->flags) & SPW_FILE_TIMES;
	s->mtime = atomic_load(&f->wtime);
}

/* A record without a name is not that of a file with one: the number went
 * to a new file. */
static bool
is_of_another(uint32_t file, bool named)
{
	return named && atomic_load(&spw_front.map.files[file].flags) &
	       SPW_FILE_UNLINKED;
}

uint32_t
spw_sight_find(const struct stat *st)
{
	struct spw_file_id id = { st->st_dev, st->st_ino };
	uint32_t file = S_ISREG(st->st_mode)
			? spw_file_find(&spw_front.map, &id) : SPW_NONE;

	return file == SPW_NONE || is_of_another(file, st->st_nlink > 0)
	       ? SPW_NONE : file;
}

static void
show(const struct spw_file_id *id, struct shown *s)
{
	struct spw_map *map = &spw_front.map;
	uint32_t gen, file = spw_file_find(map, id);
	struct shown new = *s;
	struct spw_file *f;

	if (file == SPW_NONE)
		return;
	if (is_of_another(file, s->named)) {
		s->doubt = UNNAMED;
		return;
	}
	f = &map->files[file];
	gen = f->gen;
	if (atomic_load(&f->bypass))
		return;
	spw_stamp_looked(f);
	if (spw_file_is_unsettled(f))
		replace(f, &new);
	replace_ctime(f, &new);
	/* The record may have been given to another file meanwhile. */
	atomic_thread_fence(memory_order_acquire);
	if (f->gen == gen && f->ino == id->ino && f->dev == id->dev)
		*s = new;
}

static uint32_t
settled_now(void)
{
	return atomic_load(&spw_front.map.seg->settled);
}

struct spw_sight
spw_sight_begin(void)
{
	struct spw_sight s = { .known = false };

	if (atomic_load_explicit(&spw_front.attached, memory_order_acquire)) {
		s.settled = settled_now();
		s.known = true;
	}
	return s;
}

static bool
is_blurred(struct spw_sight *s, const struct spw_file_id *id,
	   struct shown *shown)
{
	uint32_t now;

	if (!spw_front_look())
		return false;
	spw_stamp_saw(&spw_front.map, shown->ctime);
	show(id, shown);
	now = settled_now();
	if ((shown->ours || (s->known && now == s->settled)) &&
	    (!shown->doubt || shown->doubt == s->doubt))
		return false;
	s->settled = now;
	s->doubt = shown->doubt;
	s->known = true;
	return ++s->asks < ASKS;
}

bool
spw_sight_blurred(struct spw_sight *s, struct stat *st)
{
	struct spw_file_id id = { st->st_dev, st->st_ino };
	struct shown shown = {
		.size = (uint64_t)st->st_size,
		.blocks = (uint64_t)st->st_blocks,
		.mtime = spw_nanoseconds(&st->st_mtim),
		.ctime = spw_nanoseconds(&st->st_ctim),
		.named = st->st_nlink > 0,
	};

	if (!S_ISREG(st->st_mode))
		return false;
	if (is_blurred(s, &id, &shown))
		return true;
	if (shown.ours) {
		st->st_size = (off_t)shown.size;
		st->st_blocks = (blkcnt_t)shown.blocks;
	}
	if (shown.new_mtime)
		st->st_mtim = spw_timespec(shown.mtime);
	if (shown.new_ctime)
		st->st_ctim = spw_timespec(shown.ctime);
	return false;
}

static void
set_stamp(struct statx_timestamp *stamp, int64_t ns)
{
	struct timespec ts = spw_timespec(ns);

	stamp->tv_sec = ts.tv_sec;
	stamp->tv_nsec = (uint32_t)ts.tv_nsec;
}

/* Only what the kernel filled in: its mask says what may be looked at. */
static void
fill_statx(struct statx *stx, const struct shown *shown)
{
	if (shown->ours && stx->stx_mask & STATX_SIZE)
		stx->stx_size = shown->size;
	if (shown->ours && stx->stx_mask & STATX_BLOCKS)
		stx->stx_blocks = shown->blocks;
	if (shown->new_mtime && stx->stx_mask & STATX_MTIME)
		set_stamp(&stx->stx_mtime, shown->mtime);
	if (shown->new_ctime && stx->stx_mask & STATX_CTIME)
		set_stamp(&stx->stx_ctime, shown->ctime);
}

static bool
is_statx_blurred(struct spw_sight *s, struct statx *stx)
{
	struct spw_file_id id = {
		makedev(stx->stx_dev_major, stx->stx_dev_minor), stx->stx_ino,
	};
	struct timespec mtime = {
		stx->stx_mtime.tv_sec, stx->stx_mtime.tv_nsec,
	};
	struct timespec ctime = {
		stx->stx_ctime.tv_sec, stx->stx_ctime.tv_nsec,
	};
	struct shown shown = {
		.size = stx->stx_size, .blocks = stx->stx_blocks,
		.mtime = spw_nanoseconds(&mtime),
		.ctime = spw_nanoseconds(&ctime),
		.named = !(stx->stx_mask & STATX_NLINK) || stx->stx_nlink,
	};

	if (!S_ISREG(stx->stx_mode))
		return false;
	if (is_blurred(s, &id, &shown))
		return true;
	fill_statx(stx, &shown);
	return false;
}

/* Of a file that is there: others may have written to it, and we cannot tell. */
static int
told(int dir, const char *path, mode_t mode)
{
	return S_ISREG(mode) && spw_named_is_hidden(dir, path)
	       ? (int)spw_ret(-ENFILE) : 0;
}

SPW_WRAP int
stat(const char *path, struct stat *st)
{
	struct spw_sight s = spw_sight_begin();
	int r;

	do
		r = REAL(stat)(path, st);
	while (r == 0 && spw_sight_blurred(&s, st));
	return r == 0 ? told(AT_FDCWD, path, st->st_mode) : r;
}
SPW_ALIAS(stat64, stat);

SPW_WRAP int
lstat(const char *path, struct stat *st)
{
	struct spw_sight s = spw_sight_begin();
	int r;

	do
		r = REAL(lstat)(path, st);
	while (r == 0 && spw_sight_blurred(&s, st));
	return r == 0 ? told(AT_FDCWD, path, st->st_mode) : r;
}
SPW_ALIAS(lstat64, lstat);

SPW_WRAP int
fstat(int fd, struct stat *st)
{
	struct spw_sight s = spw_sight_begin();
	int r;

	do
		r = REAL(fstat)(fd, st);
	while (r == 0 && spw_sight_blurred(&s, st));
	return r;
}
SPW_ALIAS(fstat64, fstat);

SPW_WRAP int
fstatat(int dir, const char *path, struct stat *st, int flags)
{
	struct spw_sight s = spw_sight_begin();
	int r;

	do
		r = REAL(fstatat)(dir, path, st, flags);
	while (r == 0 && spw_sight_blurred(&s, st));
	return r == 0 ? told(dir, path, st->st_mode) : r;
}
SPW_ALIAS(fstatat64, fstatat);

SPW_WRAP int
statx(int dir, const char *path, int flags, unsigned mask, struct statx *stx)
{
	struct spw_sight s = spw_sight_begin();
	int r;

	do
		r = REAL(statx)(dir, path, flags, mask, stx);
	while (r == 0 && is_statx_blurred(&s, stx));
	return r == 0 ? told(dir, path, stx->stx_mode) : r;
}

/*
 * The same for programs built with a glibc before 2.33. A libc without these
 * names is asked under the new ones: there is one layout of struct stat on
 * 64-bit machines, whatever ver says.
 */
SPW_WRAP int
__xstat(int ver, const char *path, struct stat *st)
{
	__typeof__(__xstat) *real = REAL(__xstat);
	struct spw_sight s = spw_sight_begin();
	int r;

	do
		r = real ? real(ver, path, st) : REAL(stat)(path, st);
	while (r == 0 && spw_sight_blurred(&s, st));
	return r == 0 ? told(AT_FDCWD, path, st->st_mode) : r;
}
SPW_ALIAS(__xstat64, __xstat);

SPW_WRAP int
__lxstat(int ver, const char *path, struct stat *st)
{
	__typeof__(__lxstat) *real = REAL(__lxstat);
	struct spw_sight s = spw_sight_begin();
	int r;

	do
		r = real ? real(ver, path, st) : REAL(lstat)(path, st);
	while (r == 0 && spw_sight_blurred(&s, st));
	return r == 0 ? told(AT_FDCWD, path, st->st_mode) : r;
}
SPW_ALIAS(__lxstat64, __lxstat);

SPW_WRAP int
__fxstat(int ver, int fd, struct stat *st)
{
	__typeof__(__fxstat) *real = REAL(__fxstat);
	struct spw_sight s = spw_sight_begin();
	int r;

	do
		r = real ? real(ver, fd, st) : REAL(fstat)(fd, st);
	while (r == 0 && spw_sight_blurred(&s, st));
	return r;
}
SPW_ALIAS(__fxstat64, __fxstat);

SPW_WRAP int
__fxstatat(int ver, int dir, const char *path, struct stat *st, int flags)
{
	__typeof__(__fxstatat) *real = REAL(__fxstatat);
	struct spw_sight s = spw_sight_begin();
	int r;

	do
		r = real ? real(ver, dir, path, st, flags)
			 : REAL(fstatat)(dir, path, st, flags);
	while (r == 0 && spw_sight_blurred(&s, st));
	return r == 0 ? told(dir, path, st->st_mode) : r;
}
SPW_ALIAS(__fxstatat64, __fxstatat);
