/* SPDX-License-Identifier: BSD-3-Clause */
/* stamp.c -- times for what is written, in order with those of the kernel */
#include "shm/stamp.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/utsname.h>

#include "shm/files.h"
#include "shm/sys.h"

/* How far the coarse clock may be behind, at 100 ticks a second, and some
 * more. Whatever lies further ahead is none of the kernel's stamps, or the
 * clock was set back. */
enum { TICK_NS = 20000000, ASKS_PER_TICK = 256 };

static bool
is_just_ahead(int64_t when, int64_t now)
{
	return when > now && when - now < TICK_NS;
}

/* Whether this kernel makes changes visible; see stamp.h. */
static bool
is_exact(void)
{
	static _Atomic int known;	/* 1: no, 2: yes */
	int is = atomic_load_explicit(&known, memory_order_relaxed);
	struct utsname name;

	if (!is) {
		long major = 0, minor = 0;
		char *rest;

		if (spw_syscall(SYS_uname, (long)&name, 0, 0, 0, 0, 0) == 0) {
			major = strtol(name.release, &rest, 10);
			minor = *rest == '.' ? strtol(rest + 1, NULL, 10) : 0;
		}
		is = 1 + (major > 6 || (major == 6 && minor >= 13));
		atomic_store_explicit(&known, is, memory_order_relaxed);
	}
	return is == 2;
}

static void
advance(struct spw_map *map, int64_t when, int64_t now)
{
	int64_t latest = atomic_load(&map->seg->latest);

	while (latest < when || !(latest <= now || is_just_ahead(latest, now)))
		if (atomic_compare_exchange_weak(&map->seg->latest, &latest,
						 when))
			break;
}

/* Whether this process may ask the kernel once more before the clock ticks. A
 * program that looks after every write would get slower than without us. */
static bool
may_ask(int64_t now)
{
	static _Atomic int64_t tick;
	static _Atomic uint32_t asked;

	if (atomic_exchange_explicit(&tick, now, memory_order_relaxed) != now)
		atomic_store_explicit(&asked, 0, memory_order_relaxed);
	return atomic_fetch_add_explicit(&asked, 1, memory_order_relaxed) <
	       ASKS_PER_TICK;
}

/* A time that the kernel gives the segment, whose own mean nothing: whatever it
 * stamps after that, wherever, is not older. The first look at the segment makes
 * its next stamp an exact one. */
static int64_t
ask_for_later(const struct spw_map *map, int64_t was, int64_t now)
{
	struct timespec ts[2] = { { 0, UTIME_OMIT }, { 0, UTIME_NOW } };
	struct stat st;
	int64_t when;

	for (int i = 0; i < 2 && may_ask(now); i++) {
		if (spw_syscall(SYS_utimensat, AT_FDCWD, (long)map->path,
				(long)ts, AT_SYMLINK_NOFOLLOW, 0, 0) < 0 ||
		    spw_sys_fstatat(AT_FDCWD, map->path, &st,
				    AT_SYMLINK_NOFOLLOW) < 0)
			break;
		when = spw_nanoseconds(&st.st_mtim);
		if (is_just_ahead(when, was))
			return when;
	}
	return was + 1;		/* the kernel's next may be as old as was */
}

int64_t
spw_stamp_slow(struct spw_map *map, struct spw_file *f, int64_t now)
{
	int64_t latest = atomic_load(&map->seg->latest), stamp = now, was;

	if (is_just_ahead(latest, now))
		stamp = latest;
	if (!(atomic_fetch_and(&f->flags, ~(uint32_t)SPW_FILE_SEEN) &
	      SPW_FILE_SEEN))
		return stamp;
	was = atomic_load(&f->wtime);
	if (is_exact() && (stamp == was || stamp == latest)) {
		stamp = ask_for_later(map, stamp, now);
		advance(map, stamp, now);
	}
	return stamp;
}

void
spw_stamp_put_slow(struct spw_file *f, int64_t stamp)
{
	int64_t was = atomic_load(&f->wtime);

	while (was != stamp &&
	       (!is_just_ahead(was, stamp) || spw_file_was_set_to(f, was)) &&
	       !atomic_compare_exchange_weak(&f->wtime, &was, stamp))
		;
}

void
spw_stamp_saw(struct spw_map *map, int64_t ctime)
{
	int64_t now = spw_file_time();

	if (ctime == now || is_just_ahead(ctime, now))
		advance(map, ctime, now);
}

void
spw_stamp_looked(struct spw_file *f)
{
	if (!(atomic_load_explicit(&f->flags, memory_order_relaxed) &
	      SPW_FILE_SEEN))
		atomic_fetch_or(&f->flags, SPW_FILE_SEEN);
}
