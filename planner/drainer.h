/* SPDX-License-Identifier: BSD-3-Clause */
/* drainer.h -- the drainer's own state, shared by its files */
#ifndef SPW_PLANNER_DRAINER_H
#define SPW_PLANNER_DRAINER_H

#include <sys/uio.h>

#include "planner/drain.h"
#include "shm/blocks.h"

enum { SPW_RUN_BLOCKS = 256 };		/* 1 MiB: the size disks like */

struct spw_home {			/* a file's home, held open */
	int fd;				/* -1: not open */
	uint32_t gen;			/* of the record it belongs to */
	int64_t retry_at;		/* ms; after a failure, leave it till then */
	int64_t idle_since;		/* ms; closed and settled, 0: no */
	uint64_t noted;			/* pass that noted the ctime */
};

struct spw_candidate {			/* a dirty block, as first seen */
	struct spw_key key;
	uint32_t idx;
};

struct spw_extent {			/* bytes without a gap: one request */
	uint64_t from, to;		/* in the file */
	uint32_t first_iov, niov;
};

struct spw_run {			/* blocks that leave together */
	uint32_t file;
	uint32_t nblocks, niov, nextents;
	uint32_t block[SPW_RUN_BLOCKS];
	uint64_t number[SPW_RUN_BLOCKS];
	struct iovec iov[SPW_RUN_BLOCKS * SPW_RANGES];
	struct spw_extent extent[SPW_RUN_BLOCKS * SPW_RANGES];
};

struct spw_drainer {
	struct spw_map *map;
	struct spw_me me;
	int lock_fd;
	uint32_t epoch;
	struct spw_home *homes;		/* by file */
	struct spw_candidate *found;	/* by block: all may be dirty */
	uint64_t *touched;		/* bitmap of files in this pass */
	uint64_t *asked;		/* bitmap: asks this pass serves */
	uint32_t *tickets;		/* by file: how far they go */
	uint32_t nopen, open_limit;
	uint32_t clock_hand;
	uint64_t passes;
	int64_t dirty_since;		/* ms; 0: nothing is dirty */
	int64_t tidied_at;
	bool starved;			/* no room could be made just now */
	struct spw_run run;
};

/* The home file's descriptor, opened if need be; negative errno. */
int spw_home_open(struct spw_drainer *d, uint32_t file);
void spw_home_close(struct spw_drainer *d, uint32_t file);

/* Closes the home of a program that is complete: the kernel does not execute
 * what somebody has open for writing. */
void spw_home_let_run(struct spw_drainer *d, uint32_t file);

/* Opens the homes of all files with dirty blocks, while their openers are
 * still there to be asked. */
void spw_home_secure(struct spw_drainer *d);

/* Before the first write of a pass changes the ctime: remembers it. */
void spw_home_note_ctime(struct spw_drainer *d, uint32_t file);

/* After the last write of a pass: puts the program's times back. */
void spw_home_stamp(struct spw_drainer *d, uint32_t file);

/* Writes dirty blocks home, only those of files asked for if `asked`.
 * Returns how many blocks went. */
uint32_t spw_pass(struct spw_drainer *d, bool asked);

/* Makes every moving range dirty again: the predecessor died over it. */
void spw_pass_take_over(struct spw_drainer *d);

/* Truncations of the dead are finished by this drainer; NULL: no more. */
void spw_pass_serve_cuts(struct spw_drainer *d);

bool spw_any_dirty(const struct spw_map *map);
uint32_t spw_count_dirty(const struct spw_map *map);

/* Gives clean blocks back until a quarter of the slots is free. False: there
 * is no room, and none is to be had now. */
bool spw_evict(struct spw_drainer *d);
bool spw_is_short_of_room(struct spw_drainer *d);

/* Forgets files that nobody has open, unlinked ones at once, others after
 * a while or when records or descriptors run short. */
void spw_forget_files(struct spw_drainer *d);

#endif
