/* SPDX-License-Identifier: BSD-3-Clause */
/* seg.h -- the segment as one process sees it: create, attach, grow */
#ifndef SPW_SHM_SEG_H
#define SPW_SHM_SEG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include "shm/layout.h"
#include "shm/spin.h"

#define SPW_SEG_PATH_MAX 256

struct spw_map {			/* this process's mapping */
	struct spw_seg *seg;
	char *base;			/* the same address */
	struct spw_lane *lanes;
	struct spw_proc *procs;
	struct spw_file *files;
	struct spw_ofd *ofds;
	_Atomic uint32_t *maps;		/* SPW_MAP_FDS words a chunk */
	struct spw_block *blocks;
	uint8_t *slots;
	struct spw_chunk *chunks;
	struct spw_decision *decisions;
	_Atomic uint32_t *buckets, *fbuckets, *cbuckets;
	struct spw_lock *bucket_locks, *fbucket_locks;
	_Atomic uint64_t *dirty, *asks, *syncs;
	_Atomic uint64_t *bits[SPW_POOL_COUNT];
	_Atomic uint32_t *owners[SPW_POOL_COUNT];
	uint32_t counts[SPW_POOL_COUNT];	/* copied out: cannot change */
	uint32_t bucket_mask, fbucket_mask, cbucket_mask;
	uint32_t part_shift;		/* bucket -> bit of seg.indexed */
	uint32_t fpart_shift;		/* fbucket -> bit of seg.findexed */
	uint32_t tick_shift;		/* bytes moved -> ticks, see used.h */
	struct spw_seg_fixed fixed;	/* as it was checked */
	uint64_t dev, ino;		/* of the segment file */
	struct spw_claims *claims;	/* shm/claims.h; NULL: not yet */
	_Atomic uint64_t mapped[1024];	/* bit: 64 slots this process touched */
	char path[SPW_SEG_PATH_MAX];
};

struct spw_estate {			/* a dead lane that a thread adopts */
	uint32_t lane_no;
	const struct spw_estate *next;
};

struct spw_patience;

struct spw_me {				/* a thread in a segment */
	struct spw_map *map;
	struct spw_lane *lane;
	uint32_t lane_no;
	const struct spw_estate *estates;	/* now, one within another */
	int64_t looked;			/* when for a drainer, ns */
	uint32_t last;			/* block that it locked last, or any */
	struct spw_spin spin;		/* while a tier answers */
	struct spw_patience *patience;	/* NULL: it waits for the living for
					 * as long as it takes; see lock.h */
};

enum spw_seg_made {			/* what has memory from the beginning */
	SPW_MADE_WHOLE,			/* buckets, the first of each pool */
	SPW_MADE_TO_WRITE,		/* no buckets, no chunks */
	SPW_MADE_TO_READ,		/* and no block nor slot: the first
					 * write brings them */
};

struct spw_seg_request {
	const char *dir;		/* e.g. /dev/shm */
	const char *job;
	uint64_t bytes;			/* room for data */
	uint32_t delay_ms;
	uint32_t workers;		/* as in the segment */
	int64_t ends;			/* see struct spw_seg_fixed */
	uint32_t margin_ms;
	bool keep;
	enum spw_seg_made made;
	const char *tiers;		/* those below memory; NULL: none */
	const char *seed;		/* of the planner; NULL: none */
	uint64_t weights;		/* likewise, see weights.h */
	uint64_t below;			/* bytes they may hold together */
};

/* Writes the path of a job's segment, DIR/spillway.UID/JOB.seg.
 * -ENAMETOOLONG when it does not fit. */
int spw_seg_path(const char *dir, const char *job, char *buf, size_t cap);

/* Makes DIR/spillway.UID, if it is not there. -EPERM: it is not ours, no
 * directory, or not closed to others. */
int spw_seg_own_dir(const char *dir);

/* The kernel's name for this boot, as text filled up with zeros; empty where
 * it does not tell. A negative errno: not just now. */
int spw_seg_note_boot(char id[40]);

/* Whether that was in this boot, as far as one can tell. */
bool spw_seg_is_of_boot(const char id[40]);

/* Gives a name to a file that has none. -EEXIST. */
int spw_seg_link(int fd, const char *path);

/* Creates a segment and maps it. It is built under another name and linked,
 * so nobody sees half of one. -EEXIST: there is one already. -ENOSPC, ENOMEM:
 * no room in DIR. -EPERM: DIR/spillway.UID is not ours alone. */
int spw_seg_create(const struct spw_seg_request *req, struct spw_map *ret_map);

/* Maps an existing one and checks all of it that is used later. -ENOENT;
 * -EPERM: not ours; -ESTALE: from before the last boot; -EPROTO: another
 * version or layout; -EBADMSG: damaged. Nothing is changed or deleted. */
int spw_seg_attach(const char *path, struct spw_map *ret_map);

/* Maps a file of ours in DIR, to be shared; NULL when there is no room for it.
 * Where the program has asked for all its memory to be locked from now on
 * (spw_seg_stays_unlocked), that is not: it would be brought in as a whole. */
extern _Atomic bool spw_seg_stays_unlocked;
void *spw_seg_map(int fd, uint64_t size);

/* For the command only: the front never unmaps. */
void spw_seg_detach(struct spw_map *map);

/* Whether that is the segment's file: on another file system, mounted in its
 * place, one may have the same number. The mapping keeps the number taken. */
static inline bool
spw_seg_is(const struct spw_map *map, const struct stat *st)
{
	return st->st_ino == map->ino && st->st_dev == map->dev;
}

/* Reserves memory for more items of a pool, at most limit at a time; 0 when
 * there are more now. -ENOSPC: all are in use, or the file system is full. */
int spw_seg_grow(struct spw_map *map, enum spw_pool_id pool);

/* Reserves memory for the buckets around this one; 0 when they have it. */
int spw_seg_index(struct spw_map *map, uint32_t bucket);
int spw_seg_index_files(struct spw_map *map, uint32_t fbucket);

/* Maps the 64 slots around this one at once, the first time this process
 * meets them: one call instead of 64 page faults. */
void spw_seg_meet_slots(struct spw_map *map, uint32_t slot);

/* Locks one SPW_LOCK_BYTE_ of the segment through a description of its own;
 * the lock lives as long as that. Returns the fd, -EAGAIN when another has
 * it: he may be stopped, so nobody waits in the kernel. */
int spw_seg_lock_byte(const struct spw_map *map, int byte);

/* The same where there is a description of one's own: 0. */
int spw_seg_lock_fd(int fd, int byte);

/* Closing alone is not enough: a child forked meanwhile has the descriptor,
 * and with it the lock. */
void spw_seg_unlock_byte(int fd, int byte);

/* Whether a bucket has memory, and so may lead to a block. */
static inline bool
spw_seg_has_bucket(const struct spw_map *map, uint32_t bucket)
{
	return atomic_load_explicit(&map->seg->indexed,
				    memory_order_acquire) >>
	       (bucket >> map->part_shift) & 1;
}

/* The same of a bucket of files. */
static inline bool
spw_seg_has_fbucket(const struct spw_map *map, uint32_t fbucket)
{
	return atomic_load(&map->seg->findexed) >>
	       (fbucket >> map->fpart_shift) & 1;
}

/* How many items of a pool have memory. A look at one beyond them raises
 * SIGBUS where the file system is full. */
static inline uint32_t
spw_seg_ready(const struct spw_map *map, enum spw_pool_id pool)
{
	uint32_t ready = atomic_load(&map->seg->pools[pool].ready);

	return ready < map->counts[pool] ? ready : map->counts[pool];
}

static inline uint8_t *
spw_slot(const struct spw_map *map, uint32_t slot)
{
	return map->slots + ((uint64_t)slot << SPW_BLOCK_SHIFT);
}

#endif
