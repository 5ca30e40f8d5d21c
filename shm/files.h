/* SPDX-License-Identifier: BSD-3-Clause */
/* files.h -- managed inodes and open descriptions: find, open, close, errors */
#ifndef SPW_SHM_FILES_H
#define SPW_SHM_FILES_H

#include "shm/seg.h"
#include "shm/util.h"

struct spw_file_id {
	uint64_t dev, ino;
};

/* A file as the kernel shows it at open. */
struct spw_file_seen {
	struct spw_file_id id;
	int64_t btime, mtime, ctime;	/* ns; btime 0: unknown */
	uint64_t size;
	uint32_t dropped;		/* of claims.h, before the look */
	uint32_t parted;		/* seg.parted, read before the rest */
	const char *path;		/* absolute */
	bool made;			/* or emptied by this very opening */
	uint32_t pid;			/* a holder: its process and fd */
	int fd;
};

/* The record's index, or SPW_NONE. No lane needed; may be called anywhere. */
uint32_t spw_file_find(struct spw_map *map, const struct spw_file_id *id);

/* Whether there is a record of this very file, and not of one that had its
 * number before. */
bool spw_file_is_known(struct spw_map *map, const struct spw_file_seen *seen);

/* Finds or makes the record and counts one more description open on it.
 * 1: other jobs claim the file too, and the kernel serves it until they have
 * left it and spw_file_return says so. -ENOSPC: no record or claim free.
 * -ENAMETOOLONG: the path does not fit. After these two the kernel serves all
 * who open it later. -ESTALE: the file may have changed through us after it was
 * seen, look again. -ESHUTDOWN: the segment is closed. */
int spw_file_open(struct spw_me *me, const struct spw_file_seen *seen,
		  uint32_t *ret_file);

/* Counts one more on a record that there is, so that it stays while somebody
 * works on it by name; ends with spw_file_close. SPW_NONE: there is none. */
uint32_t spw_file_take(struct spw_me *me, const struct spw_file_id *id);

/* The same for a visitor from another job, which is noted. */
uint32_t spw_file_visit(struct spw_me *me, const struct spw_file_id *id);

/* After the other jobs have left the file: caches it, as the kernel shows it
 * now, if the caller is the only one who has it open and no visitor came
 * meanwhile. */
bool spw_file_return(struct spw_me *me, uint32_t file, int fd);

/* One description fewer; returns how many are left. A record that was never
 * written goes at once, others when the drainer has settled them. */
uint32_t spw_file_close(struct spw_me *me, uint32_t file);

/* Frees the record if nothing is open on it and no block belongs to it. */
bool spw_file_reap(struct spw_me *me, uint32_t file);

/* For spw_lane_adopt: records the dead lane had linked are in use. */
void spw_files_keep_linked(struct spw_me *me, uint32_t dead_no);

/* Notes a write-back error: it comes out once per description. The same bytes
 * failing again are no news. */
void spw_file_fail(struct spw_file *f, int err);

/* Bytes went home: there is room again. */
void spw_file_heal(struct spw_file *f);

/* The positive errno this description has not been told yet, or 0. */
int spw_ofd_error(struct spw_map *map, struct spw_ofd *ofd);

/* A description of its own on an open file; takes over the count that
 * spw_file_open made. -ENOSPC. */
int spw_ofd_new(struct spw_me *me, uint32_t file, uint32_t flags,
		uint64_t pos, uint32_t *ret_ofd);
void spw_ofd_ref(struct spw_map *map, uint32_t ofd);
void spw_ofd_unref(struct spw_me *me, uint32_t ofd);

/* Serves the file by the kernel from now on; counted once per file. */
void spw_file_bypass(struct spw_map *map, uint32_t file,
		     enum spw_bypass why);
void spw_bypass_count(struct spw_map *map, enum spw_bypass why);
const char *spw_bypass_name(enum spw_bypass why);

static inline bool
spw_file_is_unsettled(const struct spw_file *f)
{
	return atomic_load_explicit(&f->flags, memory_order_seq_cst) &
	       SPW_FILE_UNSETTLED;
}

/* Sets flags that are not set. UNSETTLED takes away the drainer's mark, so
 * that it does not clear it. */
static inline void
spw_file_flag(struct spw_file *f, uint32_t flags)
{
	uint32_t now = atomic_load_explicit(&f->flags, memory_order_seq_cst);

	if (SPW_UNLIKELY((now & flags) != flags))
		now = atomic_fetch_or(&f->flags, flags);
	if (SPW_UNLIKELY(now & SPW_FILE_JUDGED) &&
	    flags & SPW_FILE_UNSETTLED) {
		atomic_fetch_and(&f->flags, ~(uint32_t)SPW_FILE_JUDGED);
		/* Unless it was faster and has cleared both just now. */
		atomic_fetch_or(&f->flags, flags);
	}
}

/* The file was cut: for whoever replays its objects. */
static inline void
spw_file_note_low(struct spw_file *f, uint64_t size)
{
	uint64_t low = atomic_load(&f->low);

	while ((!low || size + 1 < low) &&
	       !atomic_compare_exchange_weak(&f->low, &low, size + 1))
		;
}

/* Of two such, either of which may be 0. */
static inline uint64_t
spw_file_lowest(uint64_t a, uint64_t b)
{
	return a && b ? SPW_MIN(a, b) : a | b;
}

/* The kernel's ctime after a change by the program. Our drain may have moved
 * it on in between: then it is a moment late, and not lost. */
static inline void
spw_file_move_ctime(struct spw_file *f, int64_t ctime)
{
	int64_t known = atomic_load(&f->set_ctime);

	while (known < ctime &&
	       !atomic_compare_exchange_weak(&f->set_ctime, &known, ctime))
		;
}

/* The kernel's ctime before a change of ours: if it is not the one that our
 * last write left, somebody else changed the file and the program may know
 * of it. */
static inline void
spw_file_note_ctime(struct spw_file *f, int64_t ctime)
{
	if (ctime != atomic_load(&f->home_ctime))
		spw_file_move_ctime(f, ctime);
}

/* Whether home has this time from others: it is none that it had or got from
 * us. To be asked while no drain of ours moves it. */
static inline bool
spw_file_is_foreign_time(const struct spw_file *f, int64_t mtime)
{
	return mtime != atomic_load(&f->home_mtime) &&
	       mtime != atomic_load(&f->wtime) &&
	       mtime != atomic_load(&f->set_mtime) &&
	       mtime != atomic_load(&f->set_before);
}

/* wtime is about to have this time, from utimens or from home. */
static inline void
spw_file_note_set(struct spw_file *f, int64_t when)
{
	atomic_store(&f->set_before, atomic_load(&f->set_mtime));
	atomic_store(&f->set_mtime, when);
}

/* What home has now counts. */
static inline void
spw_file_take_times(struct spw_file *f, int64_t mtime, int64_t ctime)
{
	atomic_store(&f->home_mtime, mtime);
	spw_file_move_ctime(f, ctime);
	spw_file_note_set(f, mtime);
	atomic_store(&f->wtime, mtime);
}

/* Whether this, found in wtime, is not from a write through us. */
static inline bool
spw_file_was_set_to(const struct spw_file *f, int64_t wtime)
{
	return wtime == atomic_load(&f->set_mtime) ||
	       wtime == atomic_load(&f->set_before);
}

/* The ctime as far as we know of changes by the program. What overwrites the
 * time of a write in wtime has put it into set_ctime before. */
static inline int64_t
spw_file_changed_at(const struct spw_file *f)
{
	int64_t wtime = atomic_load(&f->wtime);
	int64_t set = atomic_load(&f->set_ctime);

	return spw_file_was_set_to(f, wtime) ? set : SPW_MAX(wtime, set);
}

static inline void
spw_file_grow(struct spw_file *f, uint64_t end)
{
	uint64_t size = atomic_load_explicit(&f->size, memory_order_relaxed);

	while (size < end &&
	       !atomic_compare_exchange_weak_explicit(&f->size, &size, end,
			memory_order_release, memory_order_relaxed))
		;
}

#endif
