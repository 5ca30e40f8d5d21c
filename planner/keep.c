/* SPDX-License-Identifier: BSD-3-Clause */
/* keep.c -- files whose bytes stay in the tiers when the job is over */

/*
 * Only a file of which no byte is home can be kept: then its objects are all
 * of it. So in a segment with fixed.keep the drainer holds files back that
 * are empty at home, and when memory runs short sends them down and not home.
 * A file that has bytes at home, or that somebody needs there, goes home.
 *
 * When nobody holds the segment any more and all else is home, what is still
 * only in memory is copied down and synced, each file becomes a stub (stub.h),
 * and the segment is removed: by that all of them are kept. Who finds the
 * segment before that makes plain files of the stubs again: it has all their
 * bytes, in memory and below. file.keep is SPW_KEEP_STUB before the first
 * change at home.
 */
#include "planner/keep.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>

#include "planner/aside.h"
#include "planner/drain.h"
#include "planner/store.h"
#include "planner/stub.h"
#include "shm/failpoint.h"
#include "shm/files.h"
#include "shm/lane.h"
#include "shm/stubmark.h"
#include "shm/sys.h"
#include "shm/util.h"

struct judging {
	int fd;
	enum spw_keep keep;
	bool named;
};

static enum spw_keep
judge_home(int fd)
{
	struct stat st;
	char none;
	int r;

	if (spw_sys_fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) ||
	    st.st_uid != spw_sys_geteuid())
		return SPW_KEEP_FOREIGN;
	if (spw_sys_lseek(fd, 0, SEEK_DATA) != -ENXIO)
		return SPW_KEEP_PARTLY;
	r = (int)spw_syscall(SYS_fgetxattr, fd, (long)SPW_STUB_ATTR,
			     (long)&none, 0, 0, 0);
	return r == -ENODATA || r == -EACCES ? SPW_KEEP_YES : SPW_KEEP_NO_ATTR;
}

static int64_t
judge_and_sync(void *arg)
{
	struct judging *j = arg;

	j->keep = judge_home(j->fd);
	j->named = j->keep == SPW_KEEP_YES &&
		   spw_syscall(SYS_fsync, j->fd, 0, 0, 0, 0, 0) == 0;
	return 0;
}

/* A home that does not answer tells nothing: the file waits for it. */
static bool
judge(struct spw_drainer *d, uint32_t file)
{
	struct spw_file *f = &d->map->files[file];
	struct judging j = { .fd = spw_home_open(d, file) };
	int64_t r = j.fd;

	if (j.fd >= 0 && (!d->store || !atomic_load(&d->map->seg->durable)))
		j.keep = SPW_KEEP_NO_TIER;
	else if (j.fd >= 0)
		r = spw_aside_call(d->aside, f->dev, judge_and_sync, &j,
				   sizeof(j), NULL);
	if (r < 0)
		return r == -ETIMEDOUT;	/* of others the pass will tell */
	/* A cut is told by its next object only if home has the name. */
	if (j.named)
		spw_home_of(d, file)->named = true;
	atomic_store(&f->keep, j.keep);
	return false;
}

void
spw_keep_lose(struct spw_drainer *d, uint32_t file, enum spw_keep why)
{
	if (d->keeps && atomic_load(&d->map->files[file].keep) <= SPW_KEEP_YES)
		atomic_store(&d->map->files[file].keep, why);
}

bool
spw_keep_holds(struct spw_drainer *d, uint32_t file)
{
	struct spw_file *f = &d->map->files[file];

	if (!d->keeps)
		return false;
	if (atomic_load(&f->keep) == SPW_KEEP_UNKNOWN && judge(d, file))
		return true;
	if (d->gives_up)
		spw_keep_lose(d, file, SPW_KEEP_NO_ROOM);
	return atomic_load(&f->keep) == SPW_KEEP_YES ||
	       atomic_load(&f->keep) == SPW_KEEP_STUB;
}

static bool
is_unsettled(const struct spw_map *map, uint32_t file)
{
	const struct spw_file *f = &map->files[file];

	return atomic_load(&map->owners[SPW_POOL_FILES][file]) & SPW_IN_USE &&
	       spw_file_is_unsettled(f) &&
	       !(atomic_load(&f->flags) & SPW_FILE_UNLINKED);
}

/* Only who alone has a file open gets a lease on it. Somebody who wants to
 * open it in this moment makes the kernel send a signal: one that is ignored.
 * Where there are no leases nothing is known. */
static bool
is_open_elsewhere(int fd)
{
	int r;

	(void)spw_sys_fcntl(fd, F_SETSIG, SIGURG);
	r = (int)spw_sys_fcntl(fd, F_SETLEASE, F_WRLCK);
	(void)spw_sys_fcntl(fd, F_SETLEASE, F_UNLCK);
	return r == -EAGAIN;
}

/* Whether others have to do with it, as another node with another part: YES,
 * if not. */
static int64_t
look_for_others(void *arg)
{
	int fd = *(const int *)arg;

	if (spw_sys_lseek(fd, 0, SEEK_DATA) != -ENXIO)
		return SPW_KEEP_PARTLY;
	return is_open_elsewhere(fd) ? SPW_KEEP_NEEDED : SPW_KEEP_YES;
}

static bool
is_shared(struct spw_drainer *d, uint32_t file, int fd)
{
	int64_t why = spw_aside_call(d->aside, d->map->files[file].dev,
				     look_for_others, &fd, sizeof(fd), NULL);

	if (why > SPW_KEEP_YES)
		spw_keep_lose(d, file, (enum spw_keep)why);
	return why != SPW_KEEP_YES;
}

void
spw_keep_judge(struct spw_drainer *d)
{
	uint32_t ready = spw_seg_ready(d->map, SPW_POOL_FILES);

	for (uint32_t i = 0; d->keeps && i < ready; i++) {
		int fd;

		if (!is_unsettled(d->map, i) || !spw_keep_holds(d, i) ||
		    atomic_load(&d->map->files[i].opens))
			continue;
		fd = spw_home_open(d, i);
		if (fd >= 0)
			(void)is_shared(d, i, fd);
	}
}

static uint32_t
count_objects(const struct spw_store *s, uint32_t file)
{
	uint32_t n = 0;

	for (uint32_t i = s->of_file[file]; i; i = s->held[i].next)
		n++;
	return n;
}

static int
describe(struct spw_drainer *d, uint32_t file, int fd, struct spw_stub *ret)
{
	const struct spw_file *f = &d->map->files[file];
	struct utsname host;
	struct stat st;
	int r = spw_sys_fstat(fd, &st);

	if (r < 0 || uname(&host) < 0)
		return r < 0 ? r : -errno;
	*ret = (struct spw_stub){
		.ino = f->ino, .btime = f->btime,
		.size = atomic_load(&f->size),
		.mtime = atomic_load(&f->flags) & SPW_FILE_TIMES
			 ? atomic_load(&f->wtime)
			 : spw_nanoseconds(&st.st_mtim),
		.mode = st.st_mode & 07777,
		.objects = count_objects(d->store, file),
	};
	spw_store_share(d->map, ret->share);
	snprintf(ret->host, sizeof(ret->host), "%.*s",
		 (int)strcspn(host.nodename, " \n"), host.nodename);
	if (strlen(d->map->fixed.tiers) >= sizeof(ret->tiers))
		return -E2BIG;
	strcpy(ret->tiers, d->map->fixed.tiers);
	return ret->objects && ret->host[0] ? 0 : -EINVAL;
}

/* The bytes are all in the segment and below: whatever is home may go. */
static int
unmake(struct spw_drainer *d, uint32_t file)
{
	char share[SPW_STORE_SHARE];
	int fd = spw_home_open(d, file), r;
	struct spw_stub s;

	if (fd < 0)
		return fd;
	spw_store_share(d->map, share);
	r = spw_stub_read(fd, &s);
	if (r < 0 || strcmp(s.share, share))
		return 0;		/* not yet one, or not any more */
	r = spw_sys_ftruncate(fd, 0);
	if (r == 0)
		r = spw_sys_ftruncate(fd, s.size);
	return r < 0 ? r : spw_stub_end(fd, &s);
}

/* False: home is neither a stub nor what it was. */
static bool
make(struct spw_drainer *d, uint32_t file)
{
	struct spw_file *f = &d->map->files[file];
	int fd = spw_home_open(d, file);
	struct spw_stub s;
	int r = fd < 0 ? fd : describe(d, file, fd, &s);

	if (r < 0)
		spw_keep_lose(d, file, SPW_KEEP_NO_ATTR);
	if (r < 0 || is_shared(d, file, fd))
		return true;		/* home is as it was */
	atomic_store(&f->keep, SPW_KEEP_STUB);
	SPW_FAILPOINT("keep-begun");
	r = spw_stub_make(fd, &s);
	SPW_FAILPOINT("keep-stub");
	if (r == 0)
		return true;
	r = unmake(d, file);
	if (r == 0)
		atomic_store(&f->keep, SPW_KEEP_NO_ATTR);
	return r == 0;
}

bool
spw_drainer_keep(struct spw_drainer *d)
{
	uint32_t n = spw_seg_ready(d->map, SPW_POOL_FILES);
	bool all = true;

	if (!d->keeps)
		return true;
	spw_lane_adopt_all(&d->me);	/* what the dead had begun counts */
	spw_sync_keep(d);
	SPW_FAILPOINT("keep-copied");
	for (uint32_t i = 0; i < n; i++)
		if (is_unsettled(d->map, i) &&
		    atomic_load(&d->map->files[i].keep) == SPW_KEEP_YES)
			all &= make(d, i);
	SPW_FAILPOINT("keep-made");
	return all;
}

void
spw_drainer_unkeep(struct spw_drainer *d)
{
	uint32_t ready = spw_seg_ready(d->map, SPW_POOL_FILES);

	for (uint32_t i = 0; d->keeps && i < ready; i++) {
		struct spw_file *f = &d->map->files[i];

		if (atomic_load(&f->keep) == SPW_KEEP_STUB &&
		    unmake(d, i) == 0)
			atomic_store(&f->keep, SPW_KEEP_YES);
	}
}

void
spw_keep_take_over(struct spw_drainer *d, uint32_t file)
{
	struct spw_file *f = &d->map->files[file];

	if (atomic_load(&f->keep) == SPW_KEEP_STUB && unmake(d, file) == 0)
		atomic_store(&f->keep, SPW_KEEP_UNKNOWN);
}
