/* SPDX-License-Identifier: BSD-3-Clause */
/* homes.c -- the home files: found, held open, stamped with the right times */

/*
 * The drainer opens a file through a process that has it open: that works for
 * renamed and unlinked files alike. If nobody has it open any more, the path
 * noted at open is tried, then its directory is searched for the inode. As
 * long as a file is held open its inode cannot be reused.
 */
#include <errno.h>
#include <linux/futex.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "planner/aside.h"
#include "planner/drainer.h"
#include "planner/find.h"
#include "planner/lasting.h"
#include "planner/store.h"
#include "shm/files.h"
#include "shm/lane.h"
#include "shm/names.h"
#include "shm/pool.h"
#include "shm/proc.h"
#include "shm/sys.h"
#include "shm/text.h"
#include "shm/util.h"

static struct spw_identity
identity(const struct spw_file *f)
{
	return (struct spw_identity){ .dev = f->dev, .ino = f->ino,
				      .btime = f->btime };
}

static int
open_checked(const char *path, int flags, const struct spw_file *f)
{
	struct spw_identity id = identity(f);

	return spw_lasting_may_try(path, flags, f)
	       ? spw_find_open(path, flags, &id) : -ENOENT;
}

static int
open_at_holder(uint32_t pid, int fd, const struct spw_file *f)
{
	char path[48];
	struct spw_text t;

	spw_text_init(&t, path, sizeof(path));
	spw_text_fmt(&t, "/proc/%u/fd/%u", pid, (unsigned)fd);
	return open_checked(path, 0, f);
}

/* A process whose first thread has ended shows its descriptors at the others,
 * and what is left of the first to root alone: the first word of a lane's beacon
 * is its thread. */
static int
open_in_process(struct spw_map *map, uint32_t proc, int fd,
		const struct spw_file *f)
{
	int got = open_at_holder(atomic_load(&map->procs[proc].pid), fd, f);

	for (uint32_t i = 0; (got == -ENOENT || got == -EACCES) &&
	     i < spw_lane_count(map); i++) {
		struct spw_lane *lane = &map->lanes[i];

		if (atomic_load(&lane->proc) == proc &&
		    atomic_load(&lane->state) == SPW_LANE_USED)
			got = open_at_holder(atomic_load((_Atomic uint32_t *)
							 &lane->beacon) &
					     FUTEX_TID_MASK, fd, f);
	}
	return got;
}

/* Any process of the job that has it open. */
static int
open_at_any_holder(struct spw_map *map, uint32_t file)
{
	const struct spw_file *f = &map->files[file];
	uint32_t n = spw_seg_ready(map, SPW_POOL_PROCS);

	for (uint32_t p = 0; p < n; p++) {
		uint32_t pid = atomic_load(&map->procs[p].pid);

		for (int fd = 0; pid && fd < SPW_MAP_FDS * SPW_MAP_CHUNKS;
		     fd++) {
			uint32_t ofd;
			int got;

			if (map->procs[p].chunks[fd / SPW_MAP_FDS] >=
			    map->counts[SPW_POOL_MAPS]) {
				fd |= SPW_MAP_FDS - 1;
				continue;
			}
			ofd = spw_proc_get_fd(map, p, fd);
			if (!ofd || ofd > map->counts[SPW_POOL_OFDS] ||
			    map->ofds[ofd - 1].file != file)
				continue;
			got = open_in_process(map, p, fd, f);
			if (got >= 0)
				return got;
		}
	}
	return -ENOENT;
}

static int
open_in_directory(const struct spw_file *f, int which)
{
	struct spw_identity id = identity(f);
	char path[SPW_FILE_PATH];

	return spw_name_copy(f, which, path) ? spw_find_beside(path, &id)
					     : -ENOENT;
}

/* A rename that was cut short leaves two paths, one of them right. */
static int
open_by_name(const struct spw_file *f)
{
	char path[SPW_FILE_PATH];
	int fd = -ENOENT;

	for (int i = 0; i < 2 && spw_find_is_elsewhere(fd); i++)
		if (spw_name_copy(f, i, path))
			fd = open_checked(path, O_NOFOLLOW, f);
	return fd;
}

static int
find_home(struct spw_map *map, uint32_t file)
{
	const struct spw_file *f = &map->files[file];
	int fd = open_at_holder(f->holder_pid, f->holder_fd, f);

	if (fd >= 0 || fd == -EMFILE || fd == -ENFILE)
		return fd;
	fd = open_by_name(f);
	if (spw_find_is_elsewhere(fd))
		fd = open_at_any_holder(map, file);
	for (int i = 0; i < 2 && spw_find_is_elsewhere(fd); i++)
		fd = open_in_directory(f, i);
	return fd;
}

struct finding {
	struct spw_map *map;
	uint32_t file;
	struct stat st;
	bool seen;
};

static int64_t
find_and_look(void *arg)
{
	struct finding *f = arg;
	int fd = find_home(f->map, f->file);

	f->seen = fd >= 0 && spw_sys_fstat(fd, &f->st) == 0;
	return fd;
}

static void
close_found(void *arg, int64_t fd)
{
	const struct finding *f = arg;

	if (fd >= 0)
		spw_lasting_close(f->map, (int)fd);
}

/* Closes homes that can be had again: settled and named. */
static void
close_some(struct spw_drainer *d)
{
	for (uint32_t i = 0; !d->stamping.busy &&
	     i < d->map->counts[SPW_POOL_FILES]; i++) {
		const struct spw_file *f = &d->map->files[i];

		if (d->homes[i].fd >= 0 && !spw_file_is_unsettled(f) &&
		    !(atomic_load(&f->flags) & SPW_FILE_UNLINKED))
			spw_home_close(d, i);
	}
}

struct spw_home *
spw_home_of(struct spw_drainer *d, uint32_t file)
{
	struct spw_home *h = &d->homes[file];
	uint32_t gen = d->map->files[file].gen;

	if (h->gen != gen) {
		spw_home_close(d, file);
		*h = (struct spw_home){
			.fd = -1, .gen = gen,
			.uncut = d->store && d->store->inherited,
		};
	}
	return h;
}

/* Its descriptor, or -1: the record may be another's by now. */
static int
held_open(const struct spw_drainer *d, uint32_t file)
{
	const struct spw_home *h = &d->homes[file];

	return h->gen == d->map->files[file].gen ? h->fd : -1;
}

int
spw_home_open(struct spw_drainer *d, uint32_t file)
{
	struct spw_file *f = &d->map->files[file];
	struct spw_home *h = spw_home_of(d, file);
	struct finding found = { .map = d->map, .file = file };
	int fd;

	if (h->fd >= 0)
		return h->fd;
	if (d->nopen >= d->open_limit)
		close_some(d);
	fd = spw_lasting_take(f);
	if (fd < 0)
		fd = (int)spw_aside_call(d->aside, f->dev, find_and_look,
					 &found, sizeof(found), close_found);
	if (fd < 0)
		return fd;
	h->fd = fd;
	spw_file_flag(f, SPW_FILE_DIRTIED);	/* we free it, and close this */
	h->retry_at = h->idle_since = 0;
	d->nopen++;
	if (found.seen && found.st.st_nlink == 0)
		spw_file_flag(f, SPW_FILE_UNLINKED);
	atomic_store(&f->handled, d->epoch);
	return fd;
}

void
spw_home_close(struct spw_drainer *d, uint32_t file)
{
	struct spw_home *h = &d->homes[file];

	if (h->fd < 0)
		return;
	if (h->gen == d->map->files[file].gen)
		atomic_store(&d->map->files[file].handled, 0);
	spw_lasting_close(d->map, h->fd);
	h->fd = -1;
	d->nopen--;
}

/* The nearest directory on the way to a path that is there. */
static int
open_above(char *path)
{
	int fd = -ENOENT;
	char *slash;

	while (fd == -ENOENT && (slash = strrchr(path, '/'))) {
		*slash = '\0';
		fd = spw_sys_open(slash == path ? "/" : path, O_RDONLY |
				  O_DIRECTORY | O_CLOEXEC, 0);
	}
	return fd;
}

int
spw_home_sync_names(struct spw_drainer *d, uint32_t file)
{
	char path[SPW_FILE_PATH];
	int r = 0;

	for (int i = 0; i < 2 && r == 0; i++) {
		int fd = -ENOENT;

		if (spw_name_copy(&d->map->files[file], i, path))
			fd = open_above(path);
		if (fd < 0)
			continue;
		r = (int)spw_syscall(SYS_fsync, fd, 0, 0, 0, 0, 0);
		spw_sys_close(fd);
	}
	return r == -EINVAL || r == -EOPNOTSUPP ? 0 : r;
}

/* Without a name it could not be had again. */
static bool
is_done_with(const struct spw_file *f)
{
	return !atomic_load(&f->opens) && !atomic_load(&f->nblocks);
}

/* Of execve, of a lease, or of umount, which asks when nothing is left. */
static bool
is_in_the_way(const struct spw_file *f, int fd)
{
	struct stat st;

	if (atomic_load(&f->bypass) == SPW_BYPASS_LEASE || is_done_with(f))
		return true;
	return spw_sys_fstat(fd, &st) == 0 &&
	       st.st_mode & (S_IXUSR | S_IXGRP | S_IXOTH);
}

void
spw_home_let_run(struct spw_drainer *d, uint32_t file)
{
	const struct spw_file *f = &d->map->files[file];
	int fd = held_open(d, file);
	bool nameless = atomic_load(&f->flags) & SPW_FILE_UNLINKED;

	if (fd >= 0 && !spw_file_is_unsettled(f) &&
	    (nameless ? is_done_with(f) : is_in_the_way(f, fd)))
		spw_home_close(d, file);
}

void
spw_home_secure(struct spw_drainer *d)
{
	struct spw_map *map = d->map;

	for (uint32_t w = 0; w < spw_pool_words(map, SPW_POOL_BLOCKS); w++) {
		uint64_t bits = atomic_load_explicit(&map->dirty[w],
						     memory_order_relaxed);

		for (; bits; bits &= bits - 1) {
			uint32_t file = spw_glance32(&map->blocks[w * 64 +
				(uint32_t)__builtin_ctzll(bits)].file);

			if (file >= map->counts[SPW_POOL_FILES] ||
			    held_open(d, file) >= 0 ||
			    d->homes[file].retry_at > spw_now_ms())
				continue;
			if (spw_home_open(d, file) < 0)
				d->homes[file].retry_at = spw_now_ms() + 1000;
		}
	}
}

struct looking {
	int fd;
	struct stat st;
};

static int64_t
look(void *arg)
{
	struct looking *l = arg;

	return spw_sys_fstat(l->fd, &l->st);
}

/* From here on the ctime at home is of our making. If it is so already, that is
 * left over from a pass that did not come to its end. */
static void
begin_moving(struct spw_file *f, const struct stat *st)
{
	if (atomic_load(&f->home_ctime) != SPW_CTIME_MOVES)
		spw_file_note_ctime(f, spw_nanoseconds(&st->st_ctim));
	atomic_store(&f->home_ctime, SPW_CTIME_MOVES);
}

void
spw_home_note_ctime(struct spw_drainer *d, uint32_t file)
{
	struct spw_file *f = &d->map->files[file];
	struct spw_home *h = &d->homes[file];
	struct looking l = { .fd = held_open(d, file) };

	if (l.fd < 0 || h->noted == d->passes)
		return;
	h->noted = d->passes;
	if (spw_aside_call(d->aside, f->dev, look, &l, sizeof(l), NULL) < 0)
		return;
	/* Our own times will hide it from who opens the file. */
	if (atomic_load(&f->home_ctime) != SPW_CTIME_MOVES &&
	    spw_file_is_foreign_time(f, spw_nanoseconds(&l.st.st_mtim)))
		spw_file_flag(f, SPW_FILE_CHANGED);
	begin_moving(f, &l.st);
}

/* utimens notes its time in the record before it asks the kernel. So either
 * we see it here, after ours went to the kernel, and correct ourselves, or
 * its call comes after ours. */
static void
set_mtime(int fd, const struct spw_file *f)
{
	int64_t before, now = atomic_load(&f->wtime);

	do {
		struct timespec ts[2] = {
			{ 0, UTIME_OMIT }, spw_timespec(now),
		};

		before = now;
		/* By the kernel: beside a program the number may be one
		 * that its futimens knows. */
		if (spw_syscall(SYS_utimensat, fd, 0, (long)ts, 0, 0, 0) < 0)
			return;		/* a foreign file keeps its own */
		now = atomic_load(&f->wtime);
	} while (now != before);
}

void
spw_home_stamp(struct spw_drainer *d, uint32_t file)
{
	struct spw_file *f = &d->map->files[file];
	int fd = held_open(d, file);
	struct stat st;

	if (fd < 0)
		return;
	if (d->homes[file].noted != d->passes && spw_sys_fstat(fd, &st) == 0)
		begin_moving(f, &st);
	if (atomic_load(&f->flags) & SPW_FILE_TIMES)
		set_mtime(fd, f);
	if (spw_sys_fstat(fd, &st) < 0)
		return;
	atomic_store(&f->home_mtime, spw_nanoseconds(&st.st_mtim));
	atomic_store(&f->home_ctime, spw_nanoseconds(&st.st_ctim));
	if (st.st_nlink == 0)
		spw_file_flag(f, SPW_FILE_UNLINKED);
}
