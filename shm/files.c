/* SPDX-License-Identifier: BSD-3-Clause */
/* files.c -- the tables of managed inodes and of open descriptions */
#include "shm/files.h"

#include <errno.h>

#include "shm/claims.h"
#include "shm/failpoint.h"
#include "shm/lane.h"
#include "shm/lock.h"

static uint32_t
hash(const struct spw_file_id *id)
{
	uint64_t h = id->ino * 0x9e3779b97f4a7c15ull ^ id->dev;

	h ^= h >> 32;
	h *= 0xbf58476d1ce4e5b9ull;
	return (uint32_t)(h >> 32);
}

static uint32_t
bucket_of(const struct spw_map *map, const struct spw_file_id *id)
{
	return hash(id) & map->fbucket_mask;
}

static struct spw_lock *
lock_of(const struct spw_map *map, uint32_t bucket)
{
	return &map->fbucket_locks[bucket / 16];
}

static uint32_t
walk(const struct spw_map *map, uint32_t bucket, const struct spw_file_id *id)
{
	uint32_t count = map->counts[SPW_POOL_FILES];
	uint32_t link = atomic_load(&map->fbuckets[bucket]);

	for (uint32_t n = count; n && link - 1 < count; n--) {
		const struct spw_file *f = &map->files[link - 1];

		if (f->ino == id->ino && f->dev == id->dev)
			return link - 1;
		link = atomic_load_explicit(&f->next, memory_order_acquire);
	}
	return SPW_NONE;
}

uint32_t
spw_file_find(struct spw_map *map, const struct spw_file_id *id)
{
	uint32_t bucket = bucket_of(map, id);
	struct spw_lock *lock = lock_of(map, bucket);
	uint32_t file;

	if (!spw_seg_has_fbucket(map, bucket))
		return SPW_NONE;
	/* Waiting without a lane: a dead changer is adopted by others, and
	 * every chain it may leave behind is whole. */
	for (int i = 0; i < 1000; i++) {
		uint64_t before = spw_lock_word(lock);

		file = walk(map, bucket, id);
		atomic_thread_fence(memory_order_acquire);
		if (file != SPW_NONE ||
		    (!(uint32_t)before && spw_lock_word(lock) == before))
			break;
		spw_pause();
	}
	return file;
}

static void
fill(struct spw_file *f, const struct spw_file_seen *seen)
{
	uint32_t gen = f->gen + 1;

	memset(f, 0, sizeof(*f));
	f->gen = gen;
	f->dev = seen->id.dev;
	f->ino = seen->id.ino;
	f->btime = seen->btime;
	f->size = seen->size;
	spw_file_take_times(f, seen->mtime, seen->ctime);
	f->path_len = (uint32_t)strlen(seen->path);
	memcpy(f->path, seen->path, f->path_len + 1);
	f->holder_pid = seen->pid;
	f->holder_fd = seen->fd;
	f->opens = 1;
}

/* What the kernel shows now counts where that seen at the open is too old. */
static void
look_again(struct spw_file *f, int fd)
{
	struct stat st;

	if (spw_sys_fstat(fd, &st) < 0)
		return;
	atomic_store(&f->size, (uint64_t)st.st_size);
	spw_file_take_times(f, spw_nanoseconds(&st.st_mtim),
			    spw_nanoseconds(&st.st_ctim));
}

/* Somebody has the file open whom no record knows: the kernel serves him, and
 * so everybody, for nobody will tell when he closes it. */
static bool
is_outcast(const struct spw_map *map, const struct spw_file_id *id)
{
	uint32_t bit = hash(id) % SPW_SEG_OUTCASTS;

	return atomic_load(&map->seg->outcasts[bit / 64]) >> bit % 64 & 1;
}

static void
cast_out(struct spw_map *map, const struct spw_file_id *id)
{
	uint32_t bit = hash(id) % SPW_SEG_OUTCASTS;

	atomic_fetch_or(&map->seg->outcasts[bit / 64], 1ull << bit % 64);
}

/* Sets who serves the file, and says whether that is contested. */
static int
begin(struct spw_map *map, struct spw_file *f,
      const struct spw_file_seen *seen, int claimed)
{
	bool contested = claimed == SPW_CLAIM_CONTESTED;

	if (claimed == SPW_CLAIM_STALE)
		look_again(f, seen->fd);
	atomic_store(&f->bypass, contested ? SPW_BYPASS_OTHER_JOB
					   : SPW_BYPASS_NONE);
	if (!contested && is_outcast(map, &seen->id))
		spw_file_bypass(map, (uint32_t)(f - map->files),
				SPW_BYPASS_NO_ROOM);
	return contested;
}

/* With no record to tell the size, the kernel's counts; but not one from
 * before a record came to its end. */
static bool
is_outdated(const struct spw_me *me, const struct spw_file_seen *seen)
{
	return atomic_load(&me->map->seg->parted) != seen->parted;
}

static int
add(struct spw_me *me, uint32_t bucket, const struct spw_file_seen *seen,
    uint32_t *spare, uint32_t *ret_file)
{
	struct spw_map *map = me->map;
	uint32_t file = *spare;
	int claimed;

	if (strlen(seen->path) >= SPW_FILE_PATH)
		return -ENAMETOOLONG;
	if (is_outdated(me, seen))
		return -ESTALE;
	if (file == SPW_NONE)
		return -ENOSPC;
	claimed = spw_claim(map, &seen->id, seen->dropped);
	if (claimed < 0)
		return claimed;
	*spare = SPW_NONE;
	SPW_FAILPOINT("file-claimed");
	fill(&map->files[file], seen);
	claimed = begin(map, &map->files[file], seen, claimed);
	atomic_store(&map->files[file].next,
		     atomic_load(&map->fbuckets[bucket]));
	SPW_FAILPOINT("file-link");
	atomic_store_explicit(&map->fbuckets[bucket], file + 1,
			      memory_order_release);
	SPW_FAILPOINT("file-linked");
	spw_pool_use(map, SPW_POOL_FILES, file, 0);
	atomic_fetch_add(&map->seg->files_managed, 1);
	*ret_file = file;
	return claimed;
}

/* The first to open it again: the reason to leave it to the kernel is gone,
 * unless others have it by now. One that is cached is ours alone. */
static int
reopen(struct spw_me *me, struct spw_file *f, const struct spw_file_seen *seen)
{
	int claimed;

	if (atomic_load(&f->bypass) && is_outdated(me, seen))
		return -ESTALE;
	f->holder_pid = seen->pid;
	f->holder_fd = seen->fd;
	atomic_fetch_and(&f->flags, ~(uint32_t)SPW_FILE_APPENDED);
	if (!atomic_load(&f->bypass))
		return 0;
	claimed = spw_claim(me->map, &seen->id, seen->dropped);
	if (claimed < 0)
		return 0;
	atomic_store(&f->size, seen->size);
	spw_file_take_times(f, seen->mtime, seen->ctime);
	atomic_fetch_and(&f->flags,
			 ~(uint32_t)(SPW_FILE_VISITED | SPW_FILE_TIMES));
	spw_file_flag(f, SPW_FILE_TOUCHED);
	return begin(me->map, f, seen, claimed);
}

/* Inode numbers come back soon after a file is gone. The record is that of
 * the old one if it was born at another time, or had no name left. */
static bool
is_reused(const struct spw_file *f, const struct spw_file_seen *seen)
{
	if (f->btime && seen->btime && f->btime != seen->btime)
		return true;
	return atomic_load(&f->flags) & SPW_FILE_UNLINKED &&
	       !atomic_load(&f->opens);
}

bool
spw_file_is_known(struct spw_map *map, const struct spw_file_seen *seen)
{
	uint32_t file = spw_file_find(map, &seen->id);

	return file != SPW_NONE && !is_reused(&map->files[file], seen);
}

static uint32_t
take(struct spw_me *me, const struct spw_file_id *id, uint32_t flags)
{
	uint32_t bucket = bucket_of(me->map, id);
	struct spw_lock *lock = lock_of(me->map, bucket);
	uint32_t file;

	if (!spw_seg_has_fbucket(me->map, bucket))
		return SPW_NONE;
	spw_guard_enter();
	spw_lock(me, SPW_LOCK_FBUCKET, lock);
	file = walk(me->map, bucket, id);
	if (file != SPW_NONE) {
		atomic_fetch_add(&me->map->files[file].opens, 1);
		spw_file_flag(&me->map->files[file], flags);
	}
	spw_unlock(lock);
	spw_guard_leave();
	return file;
}

uint32_t
spw_file_take(struct spw_me *me, const struct spw_file_id *id)
{
	return take(me, id, 0);
}

uint32_t
spw_file_visit(struct spw_me *me, const struct spw_file_id *id)
{
	return take(me, id, SPW_FILE_VISITED);
}

bool
spw_file_return(struct spw_me *me, uint32_t file, int fd)
{
	struct spw_file *f = &me->map->files[file];
	struct spw_file_id id = { f->dev, f->ino };
	struct spw_lock *lock = lock_of(me->map, bucket_of(me->map, &id));
	bool ours;

	spw_guard_enter();
	spw_lock(me, SPW_LOCK_FBUCKET, lock);
	ours = atomic_load(&f->opens) == 1 &&
	       atomic_load(&f->bypass) == SPW_BYPASS_OTHER_JOB &&
	       !(atomic_load(&f->flags) & SPW_FILE_VISITED) &&
	       !is_outcast(me->map, &id);
	if (ours) {
		look_again(f, fd);
		spw_file_flag(f, SPW_FILE_TOUCHED);
		atomic_store(&f->bypass, SPW_BYPASS_NONE);
	}
	spw_unlock(lock);
	spw_guard_leave();
	return ours;
}

static void
unlink_file(struct spw_me *me, uint32_t bucket, uint32_t file)
{
	struct spw_map *map = me->map;
	uint32_t count = map->counts[SPW_POOL_FILES];
	_Atomic uint32_t *at = &map->fbuckets[bucket];

	for (uint32_t n = count; n && atomic_load(at) - 1 < count; n--) {
		if (atomic_load(at) == file + 1) {
			atomic_store_explicit(at,
				atomic_load(&map->files[file].next),
				memory_order_release);
			return;
		}
		at = &map->files[atomic_load(at) - 1].next;
	}
}

/* Under the bucket's lock. What it has no use for is left in spare. */
static int
find_or_link(struct spw_me *me, uint32_t bucket,
	     const struct spw_file_seen *seen, uint32_t *spare,
	     uint32_t *ret_file)
{
	uint32_t file;
	int r = 0;

	if (atomic_load(&me->map->seg->closed))
		return -ESHUTDOWN;
	file = walk(me->map, bucket, &seen->id);
	if (file != SPW_NONE && is_reused(&me->map->files[file], seen)) {
		/* The flag first: it tells the drainer to let go of what
		 * cannot be found any more. */
		spw_file_flag(&me->map->files[file], SPW_FILE_UNLINKED);
		unlink_file(me, bucket, file);
		SPW_FAILPOINT("file-replaced");
		file = SPW_NONE;
	}
	if (file == SPW_NONE) {
		r = add(me, bucket, seen, spare, &file);
	} else {
		struct spw_file *f = &me->map->files[file];

		if (atomic_fetch_add(&f->opens, 1) == 0)
			r = reopen(me, f, seen);
		else
			r = atomic_load(&f->bypass) == SPW_BYPASS_OTHER_JOB;
		if (r < 0)
			atomic_fetch_sub(&f->opens, 1);
	}
	if (r >= 0)
		*ret_file = file;
	return r;
}

/* A record that may be needed is taken before the lock: that can take memory,
 * and time, and other files of the bucket wait. */
static int
link_with(struct spw_me *me, uint32_t bucket,
	  const struct spw_file_seen *seen, bool known, uint32_t *ret_file)
{
	struct spw_lock *lock = lock_of(me->map, bucket);
	uint32_t spare = SPW_NONE;
	int r;

	spw_guard_enter();
	if (!known)
		(void)spw_pool_take(me, SPW_POOL_FILES, 1, &spare);
	spw_lock(me, SPW_LOCK_FBUCKET, lock);
	r = find_or_link(me, bucket, seen, &spare, ret_file);
	spw_unlock(lock);
	if (spare != SPW_NONE)
		spw_pool_give(me, SPW_POOL_FILES, spare);
	spw_guard_leave();
	return r;
}

static int
find_or_add(struct spw_me *me, const struct spw_file_seen *seen,
	    uint32_t *ret_file)
{
	uint32_t bucket = bucket_of(me->map, &seen->id);
	bool known;
	int r;

	if (SPW_UNLIKELY(!spw_seg_has_fbucket(me->map, bucket)) &&
	    spw_seg_index_files(me->map, bucket) < 0)
		return -ENOSPC;
	do {				/* it may go between the two */
		known = spw_file_is_known(me->map, seen);
		r = link_with(me, bucket, seen, known, ret_file);
	} while (r == -ENOSPC && known);
	return r;
}

int
spw_file_open(struct spw_me *me, const struct spw_file_seen *seen,
	      uint32_t *ret_file)
{
	int r = find_or_add(me, seen, ret_file);

	if (r != -ENOSPC && r != -ENAMETOOLONG)
		return r;
	/* Who opens it from now on finds this; somebody may have before. */
	cast_out(me->map, &seen->id);
	return find_or_add(me, seen, ret_file);
}

/* Under the bucket's lock nobody can open it meanwhile. */
static bool
reap_if(struct spw_me *me, uint32_t file, uint32_t hindering_flags)
{
	struct spw_file *f = &me->map->files[file];
	struct spw_file_id id = { f->dev, f->ino };
	uint32_t bucket = bucket_of(me->map, &id);
	struct spw_lock *lock = lock_of(me->map, bucket);
	_Atomic uint32_t *owner = &me->map->owners[SPW_POOL_FILES][file];
	bool idle, found;
	uint32_t flags;

	if (!spw_seg_has_fbucket(me->map, bucket))
		return false;		/* a record without a file */
	spw_guard_enter();
	if (!spw_lock_soon(me, SPW_LOCK_FBUCKET, lock)) {
		spw_guard_leave();
		return false;		/* the drainer comes again */
	}
	flags = atomic_load(&f->flags);
	/* One that is not found was replaced by another with its number. */
	found = walk(me->map, bucket, &id) == file;
	idle = atomic_load(owner) & SPW_IN_USE &&
	       (found ||
		(flags & SPW_FILE_UNLINKED && id.ino && f->ino == id.ino)) &&
	       !atomic_load(&f->opens) && !atomic_load(&f->nblocks) &&
	       !atomic_load(&f->nchunks) &&
	       !(flags & hindering_flags);
	if (idle) {
		if (flags & SPW_FILE_DIRTIED || atomic_load(&f->bypass) ||
		    spw_lock_word(&f->gate))	/* it was closed once */
			atomic_fetch_add(&me->map->seg->parted, 1);
		/* Ours first: if we die it is in use again while it is still
		 * linked, and free when it is not. */
		atomic_store(owner, SPW_OWNER(me->lane_no));
		SPW_FAILPOINT("file-unlink");
		unlink_file(me, bucket, file);
		SPW_FAILPOINT("file-unlinked");
		f->ino = 0;
		f->gen++;
		spw_pool_give(me, SPW_POOL_FILES, file);
		if (found)
			spw_claim_drop(me->map, &id);
	}
	spw_unlock(lock);
	spw_guard_leave();
	return idle;
}

uint32_t
spw_file_close(struct spw_me *me, uint32_t file)
{
	struct spw_file *f = &me->map->files[file];
	uint32_t opens;

	if (atomic_load(&f->bypass))
		atomic_fetch_add(&me->map->seg->parted, 1);
	opens = atomic_fetch_sub(&f->opens, 1);
	/* Of what tiers have of it the drainer lets go before. */
	if (opens == 1)
		reap_if(me, file, SPW_FILE_DIRTIED | SPW_FILE_COPIED);
	return opens - 1;
}

bool
spw_file_reap(struct spw_me *me, uint32_t file)
{
	return reap_if(me, file, SPW_FILE_UNSETTLED);
}

void
spw_files_keep_linked(struct spw_me *me, uint32_t dead_no)
{
	struct spw_map *map = me->map;
	uint32_t n = spw_seg_ready(map, SPW_POOL_FILES);

	for (uint32_t i = 0; i < n; i++) {
		struct spw_file *f = &map->files[i];
		struct spw_file_id id = { f->dev, f->ino };

		if (atomic_load(&map->owners[SPW_POOL_FILES][i]) ==
		    SPW_OWNER(dead_no) && f->ino &&
		    spw_file_find(map, &id) == i)
			spw_pool_use(map, SPW_POOL_FILES, i, 0);
	}
}

void
spw_file_fail(struct spw_file *f, int err)
{
	int64_t wtime = atomic_load(&f->wtime);
	bool is_known = atomic_load(&f->fails) &&
			atomic_load(&f->err) == err &&
			atomic_load(&f->err_wtime) == wtime;

	atomic_store(&f->err, err);
	atomic_store(&f->err_wtime, wtime);
	atomic_store(&f->full, err == ENOSPC || err == EDQUOT ? err : 0);
	atomic_fetch_add(&f->fails, 1);
	if (!is_known)
		atomic_fetch_add(&f->err_seq, 1);
}

void
spw_file_heal(struct spw_file *f)
{
	if (SPW_UNLIKELY(atomic_load(&f->full)))
		atomic_store(&f->full, 0);
}

int
spw_ofd_error(struct spw_map *map, struct spw_ofd *ofd)
{
	struct spw_file *f = &map->files[ofd->file];
	uint32_t seq = atomic_load(&f->err_seq);

	if (SPW_LIKELY(atomic_load(&ofd->err_seen) == seq))
		return 0;
	atomic_store(&ofd->err_seen, seq);
	atomic_store(&f->err_seen, seq);
	return atomic_load(&f->err);
}

int
spw_ofd_new(struct spw_me *me, uint32_t file, uint32_t flags, uint64_t pos,
	    uint32_t *ret_ofd)
{
	struct spw_map *map = me->map;
	struct spw_file *f = &map->files[file];
	struct spw_ofd *o;
	uint32_t ofd;

	if (!spw_pool_take(me, SPW_POOL_OFDS, 1, &ofd))
		return -ENOSPC;
	o = &map->ofds[ofd];
	o->file = file;
	o->file_gen = f->gen;
	atomic_store(&o->refs, 1);
	atomic_store(&o->flags, flags);
	atomic_store(&o->pos, pos);
	/* An error that nobody was told yet is news to the next opener. */
	atomic_store(&o->err_seen, atomic_load(&f->err_seen));
	spw_pool_use(map, SPW_POOL_OFDS, ofd, 0);
	*ret_ofd = ofd;
	return 0;
}

void
spw_ofd_ref(struct spw_map *map, uint32_t ofd)
{
	atomic_fetch_add(&map->ofds[ofd].refs, 1);
}

void
spw_ofd_unref(struct spw_me *me, uint32_t ofd)
{
	struct spw_ofd *o = &me->map->ofds[ofd];

	if (atomic_fetch_sub(&o->refs, 1) != 1)
		return;
	if (o->file < me->map->counts[SPW_POOL_FILES])
		spw_file_close(me, o->file);
	spw_pool_give(me, SPW_POOL_OFDS, ofd);
}

void
spw_bypass_count(struct spw_map *map, enum spw_bypass why)
{
	atomic_fetch_add(&map->seg->bypasses[why], 1);
}

void
spw_file_bypass(struct spw_map *map, uint32_t file, enum spw_bypass why)
{
	uint32_t none = SPW_BYPASS_NONE;

	if (atomic_compare_exchange_strong(&map->files[file].bypass, &none,
					   why))
		spw_bypass_count(map, why);
}

const char *
spw_bypass_name(enum spw_bypass why)
{
	static const char *const names[SPW_BYPASS_COUNT] = {
		"none", "mmap", "direct", "sync", "stdio", "freopen", "exec",
		"io_uring", "aio", "no-room", "no-reopen", "rlimit",
		"scm-rights", "tmpfile", "path-too-long", "clone", "lease",
		"sendfile", "outside", "other-job", "no-drainer",
	};

	return why < SPW_BYPASS_COUNT ? names[why] : "unknown";
}
