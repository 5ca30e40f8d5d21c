/* SPDX-License-Identifier: BSD-3-Clause */
/* drainer.h -- the drainer's own state, shared by its files */
#ifndef SPW_PLANNER_DRAINER_H
#define SPW_PLANNER_DRAINER_H

#include <sys/uio.h>

#include "planner/drain.h"
#include "shm/blocks.h"
#include "shm/spin.h"
#include "tiers/crew.h"

enum {
	SPW_RUN_BYTES = 1 << 20,	/* the size disks like */
	/* One more, where they begin and end within a block. */
	SPW_RUN_BLOCKS = SPW_RUN_BYTES / SPW_BLOCK_SIZE + 1,
	SPW_RUN_PIECES = SPW_BLOCK_SIZE / 2,	/* every other byte of one */
	SPW_RUNS = 8,			/* under way at once */
};

struct spw_drainer;
struct spw_store;
struct spw_away;

/* What a worker does for the drainer; over is called when it is reaped. */
struct spw_task {
	struct spw_job job;
	void (*over)(struct spw_drainer *d, struct spw_task *task);
};

struct spw_home {			/* a file's home, held open */
	int fd;				/* -1: not open */
	uint32_t gen;			/* of the record it belongs to */
	int64_t retry_at;		/* ms; after a failure, leave it till then */
	int64_t idle_since;		/* ms; closed and settled, 0: no */
	uint64_t noted;			/* pass that noted the ctime */
	uint64_t failed;		/* last pass in which it failed */
	uint64_t visited;		/* last pass that found it dirty */
	int64_t synced_at;		/* ms; a tier answered fsync */
	int64_t spared_since;		/* ms; blocks, pass after pass */
	int64_t held_since;		/* ms; somebody keeps us off; 0: no */
	bool spares, spared;		/* this pass: may, did */
	uint64_t logged_size;		/* of the file, in its last object */
	uint64_t note;			/* what it says itself: see notes.c */
	bool unsynced;			/* has bytes that no promise covers */
	bool loose;			/* and some older than all objects */
	bool named;			/* its name is durable */
	bool uncut;			/* a cut may be lost with the power */
	uint64_t kept_cut;		/* size + 1 of one that is not, and that
					 * no object tells yet; 0: none */
	bool dropped;			/* objects of it, not durably yet */
	bool doubtful;			/* objects may be older than home, or
					 * do not tell of a cut */
	bool refused;			/* fsync was sent home */
	bool slow;			/* several writes at once pay */
};

struct spw_stamping {			/* of the homes that a pass touched */
	struct spw_task task;
	struct spw_drainer *d;
	bool busy;			/* no home is closed now */
};

struct spw_growing {			/* of what is ready for writers */
	struct spw_task task;
	struct spw_map *map;
	uint32_t ready;			/* slots before */
	bool busy;
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
	struct spw_task task;
	bool busy;			/* with a worker */
	int fd, err;			/* of its home; what came of it */
	uint64_t requests, bytes;
	int64_t began, ended;		/* ns */
	uint32_t file;
	uint32_t nblocks, niov, nextents;
	uint32_t block[SPW_RUN_BLOCKS];
	uint64_t number[SPW_RUN_BLOCKS];
	struct iovec iov[SPW_RUN_PIECES];
	struct spw_extent extent[SPW_RUN_PIECES];
};

struct spw_late {			/* a block that has arrived, but whose
					 * lock was not to be had */
	struct spw_candidate at;
	int err;			/* what it arrives with */
};

struct spw_answer {			/* to those who asked for a file */
	uint32_t file, ticket;
};

struct spw_drainer {
	struct spw_map *map;
	struct spw_me me;
	struct spw_patience patience;
	int lock_fd;
	uint32_t epoch;
	struct spw_home *homes;		/* by file */
	struct spw_candidate *found;	/* by block: all may be dirty */
	uint64_t *touched;		/* bitmap of files in this pass */
	uint64_t *asked;		/* bitmap: asks this pass serves */
	uint64_t *deferred;		/* bitmap: asks that wait for a tier,
					 * or for home */
	uint32_t *tickets;		/* by file: how far they go */
	uint32_t nopen, open_limit;
	uint32_t clock_hand;
	uint32_t evicted;		/* blocks, in this turn, */
	uint8_t turn;			/* which is over when that is as much
					 * as the memory */
	uint32_t protected;		/* blocks the hand has met since it
					 * came round */
	bool crowded;			/* they were too many, the last time */
	bool relentless;		/* now: nothing else makes room */
	uint64_t passes;
	struct spw_stamping stamping;
	struct spw_growing growing;
	int64_t dirty_since;		/* ms; 0: nothing is dirty */
	int64_t tidied_at;
	bool deserted;			/* then: all who had joined are gone */
	bool starved;			/* no room could be made just now */
	int64_t dry_since;		/* ms; nor before, but by taking what
					 * is protected; 0: it could */
	uint32_t cleaned;		/* blocks, since room was looked for */
	uint32_t came_up;		/* blocks for readers, since then */
	struct spw_crew *crew;
	struct spw_aside *aside;	/* NULL: no tiers, or not open yet */
	uint32_t under_way;		/* tasks */
	struct spw_run *runs;		/* SPW_RUNS of them */
	struct spw_run *run;		/* that blocks are added to, or NULL */
	struct spw_late *late;		/* one lane holds one block: no more
					 * than there are lanes */
	uint32_t nlate;
	struct spw_store *store;	/* NULL: no tiers below memory */
	struct spw_away *away;		/* likewise; see away.h */
	uint32_t wants_seen;		/* seg.wants when they were served */
	uint32_t bring_hand;		/* chunk that was brought home last */
	uint32_t spill_hand;		/* word of the dirty map likewise */
	bool attending;
	bool may_pass_home;		/* room may also come from there */
	struct spw_candidate *sync_found;	/* by block, for fsync */
	uint32_t nsync_found;
	uint64_t *syncing;		/* bitmap: fsyncs under way */
	uint64_t *joining;		/* bitmap: about to be */
	uint32_t *sync_tickets;
	int *sync_errs;			/* by file: what it is answered */
	struct spw_answer *answers;	/* while a tier makes them true */
	uint32_t nanswers;
	uint32_t nwaiting;		/* asks by others meanwhile */
	bool answered;			/* by the tier's thread */
	uint32_t sync_bits;		/* whom to tell, by the drainer */
	uint32_t sync_width;		/* files in the last round, and asks */
	int64_t sync_ended;		/* ns; when that was over */
	struct spw_spin next_spin;	/* for the next one */
	uint64_t pass_seq;		/* objects before the pass began */
	uint64_t home_rate;		/* bytes a millisecond; 0: not known */
	bool hurries;			/* nothing rests: the end is near */
	bool keeps;			/* see keep.c */
	bool gives_up;			/* memory or records are short */
};

int spw_compare(const void *a, const void *b);	/* candidates, for qsort */


/* Has a worker do it, or does it at once. */
void spw_task_start(struct spw_drainer *d, struct spw_task *task);

/* Ends what is done, waiting up to ms for the first, or for a tier, whose things
 * are attended to next; false: nothing was. */
bool spw_task_reap(struct spw_drainer *d, int ms);

/* What is known of the file's home: nothing yet, if the record was another
 * file's before. */
struct spw_home *spw_home_of(struct spw_drainer *d, uint32_t file);

/* The home file's descriptor, opened if need be; negative errno. */
int spw_home_open(struct spw_drainer *d, uint32_t file);
void spw_home_close(struct spw_drainer *d, uint32_t file);

/* Closes a home that is complete and may stand in somebody's way: the kernel
 * does not execute what is open for writing, nor unmount what is open. */
void spw_home_let_run(struct spw_drainer *d, uint32_t file);

/* Opens the homes of all files with dirty blocks, while their openers are
 * still there to be asked. */
void spw_home_secure(struct spw_drainer *d);

/* Makes durable that names of the file are gone; 0 also where there is no way
 * to. */
int spw_home_sync_names(struct spw_drainer *d, uint32_t file);

/* Before the first write of a pass changes the ctime: remembers it. */
void spw_home_note_ctime(struct spw_drainer *d, uint32_t file);

/* After the last write of a pass: puts the program's times back. */
void spw_home_stamp(struct spw_drainer *d, uint32_t file);

/* What cannot wait for the end of a pass: blocks that readers wait for, room
 * for writers. */
void spw_attend(struct spw_drainer *d);

/* To be called before a block departs for home. One that has, and is in no run
 * yet, is seen by nobody: who asks for fsync must not be attended to then. */
void spw_runs_reserve(struct spw_drainer *d);
/* Adds a block that departed for home; what it does not continue leaves. */
void spw_runs_add(struct spw_drainer *d, const struct spw_candidate *c,
		  const struct spw_block_state *s);
/* Sends the last one. */
void spw_runs_flush(struct spw_drainer *d);
/* Waits until all have arrived. */
void spw_runs_wait(struct spw_drainer *d);

/* Turns the block's dirty ranges into moving ones. False: nothing to do
 * here. whole: only if all of the block is dirty. */
bool spw_block_depart(struct spw_drainer *d, const struct spw_candidate *c,
		      bool whole, struct spw_block_state *ret_state);

/* The block's moving ranges have arrived, held: in this object, so that it is
 * below. False: they are dirty again, for err or since somebody wrote; or will
 * be when the block's lock is free, see late.c. */
bool spw_block_arrive(struct spw_drainer *d, uint32_t idx,
		      const struct spw_key *key, int err, uint32_t held);

void spw_note_failure(struct spw_drainer *d, uint32_t file, int err);

/* Something of the file stays behind: who asked is answered by the next pass. */
void spw_postpone(struct spw_drainer *d, uint32_t file);
/* Who asked for the file is answered later: something does not answer us. */
void spw_defer(struct spw_drainer *d, uint32_t file);
/* The same for all who ask from now on as well. */
void spw_put_off(struct spw_drainer *d, uint32_t file);
/* Somebody keeps us off the file (file.hold): one of the two. */
void spw_hold_off(struct spw_drainer *d, uint32_t file);
bool spw_is_held_off(struct spw_drainer *d, uint32_t file);

/* Locks the block if it still has that key: its index, or SPW_NONE. SPW_HELD:
 * it arrives with err when its lock is free; see late.c. */
uint32_t spw_late_lock(struct spw_drainer *d, uint32_t idx,
		       const struct spw_key *key, int err);
void spw_late_retry(struct spw_drainer *d);
/* Files with such blocks are not settled; who asked for them is put off. */
void spw_late_unsettle(struct spw_drainer *d);

/* Sends dirty blocks down to tiers, about so many, or as many as these take
 * now; returns how many are on their way. */
uint32_t spw_spill(struct spw_drainer *d, uint32_t want);

/* Files with blocks on their way down are not settled. */
void spw_spill_unsettle(struct spw_drainer *d);

/* Serves threads that wait for blocks from below. */
void spw_fetch_serve(struct spw_drainer *d);
void spw_fetch_begin(struct spw_drainer *d);
void spw_fetch_end(void);

/* Answers fsync, where a durable tier can. */
void spw_sync_serve(struct spw_drainer *d);
bool spw_sync_is_asked(const struct spw_drainer *d);

/* Somebody was just answered and has asked again, as many do; waits a moment
 * for that. */
bool spw_sync_is_near(struct spw_drainer *d);

/* Makes home durable, and what was cut off it. If no object is older than that,
 * it is forgotten: else the next one tells it, for those that are. */
int spw_sync_home(struct spw_drainer *d, uint32_t file, int fd,
		  bool forget_cut, bool *ret_was_cut);

/* Puts what is not home into durable tiers, if that was asked for: no promise
 * to a program, but what `recover` finds when memory is gone. */
void spw_sync_save(struct spw_drainer *d);

/* Called before bytes of a file are copied, for an object. */
void spw_sync_age(struct spw_drainer *d, uint32_t file);

/* Copies what is only in memory of the files that are kept. */
void spw_sync_keep(struct spw_drainer *d);

/* Has files settled whose objects fill the tiers. */
void spw_sync_relieve(struct spw_drainer *d);

/* Everything that objects up to seq promise is home: makes it durable there
 * and lets go of them. Fails where home does; what a tier cannot do is tried
 * again. */
int spw_sync_release(struct spw_drainer *d, uint32_t file, uint64_t seq);

/* The same for all files that are home; what went wrong last. */
int spw_sync_release_settled(struct spw_drainer *d);

/* How fast home took bytes; and whether the job's end is so near, for that,
 * that nothing may rest (d->hurries). */
void spw_hurry_measure(struct spw_drainer *d, uint64_t bytes, int64_t ms);
void spw_hurry_look(struct spw_drainer *d);

/* Brings home what is below: of the files asked for, or some of all. Returns
 * how many blocks went. */
uint32_t spw_bring(struct spw_drainer *d, bool asked);
bool spw_any_below(const struct spw_map *map);

/* Writes dirty blocks home, only those of files asked for if `asked`.
 * Returns how many blocks went. */
uint32_t spw_pass(struct spw_drainer *d, bool asked);

/* Makes every moving range dirty again: the predecessor died over it. */
void spw_pass_take_over(struct spw_drainer *d);

/* Brings some of what is below home, and nothing else. */
uint32_t spw_pass_below(struct spw_drainer *d);

/* Truncations of the dead are finished by this drainer; NULL: no more. */
void spw_pass_serve_cuts(struct spw_drainer *d);

bool spw_any_dirty(const struct spw_map *map);
uint32_t spw_count_dirty(const struct spw_map *map);

enum spw_evict {
	SPW_EVICT_IDLE,			/* until a quarter of the slots is
					 * free */
	SPW_EVICT_USED,			/* then those just used, until an
					 * eighth is */
	SPW_EVICT_ALL,			/* then what is protected, as little as
					 * helps */
};

/* Gives clean blocks back. False: there is no room, and none is to be had
 * now. */
bool spw_evict(struct spw_drainer *d, enum spw_evict what);
bool spw_is_short_of_room(struct spw_drainer *d);

/* Where room is short, gives back at once those of the blocks that are below
 * now and were not used again: writers go on while the next ones go down. */
void spw_evict_spilled(struct spw_drainer *d, const uint32_t *block,
		       uint32_t n);

/* Forgets files that nobody has open, unlinked ones at once, others after
 * a while or when records or descriptors run short. */
void spw_forget_files(struct spw_drainer *d);

#endif
