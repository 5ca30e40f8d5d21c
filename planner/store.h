/* SPDX-License-Identifier: BSD-3-Clause */
/* store.h -- the tiers below memory, and which object holds which block */
#ifndef SPW_PLANNER_STORE_H
#define SPW_PLANNER_STORE_H

#include "planner/choice.h"
#include "planner/drainer.h"
#include "planner/pack.h"
#include "shm/tierspec.h"
#include "tiers/apart.h"
#include "tiers/tier.h"

/*
 * A chunk's bits say which blocks are below (layout.h); the store knows in
 * which object of which tier. It lives in the drainer alone: a successor
 * lists the tiers and finds the same, since the chunk has the end of the
 * object's sequence number.
 */
enum {
	SPW_DOWN_DEPTH = 8,		/* objects that a tier has at once, */
	SPW_QUEUE_DEPTH = 1,		/* and that wait for it */
};

struct spw_down {			/* an object on its way down */
	struct spw_pack_job pack;	/* first: reaped as that */
	struct spw_transfer x;
	struct spw_object o;
	uint32_t tier;			/* number in the store */
	int err;			/* what came of it */
	uint32_t file, file_gen;
	uint32_t nblocks;		/* of a spill: what departed */
	uint32_t block[SPW_CHUNK_BLOCKS];
	uint32_t slot[SPW_CHUNK_BLOCKS];	/* that it moves from */
	uint64_t number[SPW_CHUNK_BLOCKS];
	void (*over)(struct spw_drainer *d, struct spw_down *down);
	uint64_t reserved;		/* of its tier, until it is submitted */
	struct spw_decision why;
	struct spw_stream stream;	/* what the planner called it, */
	uint8_t choice;			/* and how it is to be packed */
	bool planned;
	uint64_t queued;		/* bytes that its tier expects of it */
	int64_t sent_ns;		/* when it was submitted */
	uint64_t due;			/* the tier's sync that makes it safe */
	bool busy;
	bool waits;			/* packed, for a place in its tier */
	bool sent;
	bool late;			/* over for us; the tier still has it */
	char path[SPW_FILE_PATH];	/* of the file, in o */
};

struct spw_held {			/* an object in a tier */
	struct spw_object *o;		/* without path; NULL: not in use */
	uint64_t place;
	uint64_t due;			/* the tier's sync that makes it safe */
	uint64_t number;		/* counted from 1 */
	uint32_t tier, nrefs;		/* blocks that are in it and count */
	uint32_t file, file_gen;
	uint32_t next, prev;		/* of the same file; or free */
	bool promised;			/* fsync counts on it */
	bool hurt;			/* was found damaged: left alone */
};

struct spw_span {			/* bytes of a file */
	uint64_t from, to;
};

struct spw_places {			/* of a chunk's blocks */
	uint32_t held[SPW_CHUNK_BLOCKS];	/* 0: none */
	uint64_t bits[SPW_CHUNK_BLOCKS / 64];	/* held is not 0 */
	uint64_t lost[SPW_CHUNK_BLOCKS / 64];	/* not to be read just now */
	int64_t lost_until;		/* ms; then it is tried again */
	bool busy;
};

enum { SPW_LOADS = 8 };			/* on their way home at once */

struct spw_load {			/* blocks of a chunk, read from a tier */
	struct spw_task task;
	bool busy;
	uint32_t file, chunk, bit, nblocks;
	int fd, err;
	uint64_t at, len;		/* in the file */
	int64_t began;			/* ns; of its write home */
	uint8_t *buf;			/* len bytes, from skip on */
	uint64_t skip;
	struct spw_object *o;		/* a head of its own */
	struct spw_object_part part;
	uint8_t *stored;
	struct spw_packer **packer;	/* by hand, of the crew */
	bool unreadable;
	struct spw_span bad;		/* if so: what is */
};

struct spw_marked {			/* a mark in a tier, see release.c */
	uint64_t place, seq;
	uint64_t due;			/* the tier's sync that makes it safe */
	uint32_t tier;
	uint32_t file, file_gen;	/* file SPW_NONE: not known here */
};

enum { SPW_AHEADS = 8 };		/* objects read ahead, of each tier */

struct spw_ahead {			/* stored bytes of an object */
	struct spw_transfer x;		/* its buffer stays */
	uint64_t number;		/* of the object; 0: none */
	bool flying;			/* not there yet */
	int64_t used;			/* ms */
	uint32_t lane;			/* whose reader it is for, */
	struct spw_key end;		/* and where its blocks end */
};

struct spw_reader {			/* how far a lane came; see ahead.c */
	uint32_t file, file_gen;
	uint64_t to;			/* block */
	uint32_t turns;
};

struct spw_level {			/* one of the tiers */
	struct spw_apart *tier;
	uint32_t number;		/* in the list of the segment */
	bool pinned;			/* its packing, by the user */
	struct spw_object_pack pack;
	uint64_t reserved;		/* bytes that it does not have yet */
	uint32_t sent, waiting;		/* objects: it has them; not yet */
	int64_t pace, ended;		/* ns: what one takes; the last's end */
	int64_t shunned_until;		/* ms; it failed a moment ago */
	bool deaf;			/* as of the last look */
	bool unsynced;			/* something was put since */
	bool syncing;
	int sync_err;			/* of the last one that failed */
	uint64_t syncs;			/* that were good */
	struct spw_transfer up;		/* what is read from it */
	bool reading;
	struct spw_ahead ahead[SPW_AHEADS];
	uint32_t flying;		/* of those */
	bool cleaning;			/* it is given nothing new */
	bool unread;			/* not all that is there was found */
	int read_err;			/* of the last read that was over; it
					 * gets nothing new meanwhile, if
					 * anybody else takes it */
	int64_t read_at;		/* ms; when it was last tried */
	uint32_t tried;			/* the object, then */
};

struct spw_store {
	struct spw_store *before;	/* that was abandoned, if this one is */
	uint32_t nlevels;
	struct spw_level level[SPW_TIERS_MAX];
	struct spw_held *held;		/* number 0 is none */
	uint32_t nheld, held_cap, held_free;
	uint32_t *of_file;		/* first held, by file: the last one */
	uint64_t numbers;		/* given out */
	uint64_t safe;			/* up to there all are durable */
	uint64_t *promised;		/* by file: up to there all are */
	bool *idle;			/* by file: false: all that it has in
					 * tiers counts */
	struct spw_places **places;	/* by chunk */
	struct spw_reader *readers;	/* by lane */
	uint32_t *errands;		/* chunks that bring.c sees to */
	int64_t stamped, noted;		/* ms */
	struct spw_marked *marks;
	uint32_t nmarks, marks_cap;
	bool inherited;			/* what a predecessor dropped may not
					 * be durable yet */
	bool partial;			/* a tier is not there that a
					 * predecessor had */
	struct spw_pack_crew crew;
	struct spw_counsel *counsel;	/* see advice.h; NULL: none */
	struct spw_bell *bell;		/* tiers and workers ring it; not ours */
	struct spw_down *down;		/* for all that may be under way */
	uint32_t ndown;
	uint8_t *scratch;		/* what fsync gathers */
	struct spw_load load[SPW_LOADS];
	struct spw_packer *unpacker[SPW_CREW_HANDS];	/* for the loads */
	struct spw_packer *viewer;	/* for what the drainer itself reads */
	size_t bound;			/* bytes of an object at most */
	int64_t told_through;		/* ms; the last that went through, */
	uint64_t through_ino, through_offset;	/* of those in the log */
};

/* The name of a segment's shares: the same for every drainer of it, and no
 * other segment has it. */
#define SPW_STORE_SHARE (SPW_JOB_MAX + 32)
void spw_store_share(const struct spw_map *map, char ret[SPW_STORE_SHARE]);

/* Opens the tiers that the segment names and finds what they hold. Tiers
 * that cannot be had are left out for now, with what is in them (away.h). */
int spw_store_open(struct spw_drainer *d);

/* Nothing is under way that it could not be closed for. */
bool spw_store_is_quiet(const struct spw_drainer *d);

/* Closes them; the shares that hold nothing any more go. */
void spw_store_close(struct spw_drainer *d);

/* A free one; waits for one, if there is somebody who waits for us. Fill in
 * file, over, o.offset, o.length and o.flags; for a mark o.seq, too. NULL: not
 * now, so much waits to be sent. */
struct spw_down *spw_store_begin(struct spw_drainer *d, bool wait);
bool spw_store_is_laden(const struct spw_drainer *d);	/* then it is that */

/* Gives it back unused. */
void spw_store_cancel(struct spw_drainer *d, struct spw_down *down);

/* Describes the object, chooses the first tier that takes it, durable: of those
 * that survive a reboot, and returns where o.length raw bytes go until the
 * put. NULL: no tier takes it. */
uint8_t *spw_store_raw(struct spw_drainer *d, struct spw_down *down,
		       bool durable);

/* The raw bytes are there: lets the planner choose tier and packing. Returns
 * how many bytes, from the first on, go there, in whole blocks; the object is
 * that long from now on. 0: it had better go home. */
uint64_t spw_store_plan(struct spw_drainer *d, struct spw_down *down,
			bool durable);

/* Packs them, by a worker, and sends them when the tier has a place; over is
 * called when it is reaped, err says how it went. If this fails, over is not
 * called. */
int spw_store_put(struct spw_drainer *d, struct spw_down *down);

/* Reaps what is over; wait: until nothing is under way that can be hoped
 * for. */
void spw_store_reap(struct spw_drainer *d, bool wait);

/* Reaps the next that comes; false: none is to be hoped for. */
bool spw_store_await(struct spw_drainer *d);

/* Blocks that are on their way down, for room: whose no file of `of` (a bit
 * each; NULL: all), or in objects younger than seq, do not count. */
uint32_t spw_store_moving(const struct spw_drainer *d, const uint64_t *of,
			  uint64_t seq);

/* A sync is about to be asked for, of what fsync puts: who will see to it wakes
 * up meanwhile. */
void spw_store_expect(struct spw_drainer *d);

/* Everything put so far is safe from loss of power, where this can be had:
 * the first thing that went wrong elsewhere. */
int spw_store_sync(struct spw_drainer *d);

/* The same; if one tier alone is concerned and has it all, its thread says so
 * by `then` before we hear of it. */
int spw_store_sync_then(struct spw_drainer *d, struct spw_apart_then then,
			bool *ret_done);

/* Whether all objects of the file are, those on their way included. */
bool spw_store_is_safe(struct spw_drainer *d, uint32_t file);

/* The object that came down holds these blocks from now on. */
uint32_t spw_store_keep(struct spw_drainer *d, const struct spw_down *down);
bool spw_store_refer(struct spw_drainer *d, uint32_t chunk, uint32_t bit,
		     uint32_t held);
void spw_store_lapse(struct spw_drainer *d, uint32_t held);

/* Whether one of the file is on its way, or was when its tier stalled. */
bool spw_store_is_sending(const struct spw_drainer *d, uint32_t file);

/* Where a block is: an object, 0: nowhere. */
uint32_t spw_store_of(struct spw_drainer *d, uint32_t chunk, uint32_t bit);
/* Blocks of the file are below and no object that is known has them: it is in
 * a tier that is away, or could not be read. */
bool spw_store_misses(struct spw_drainer *d, uint32_t file);
/* How many blocks of the chunk, from this one on and count at most, are below
 * in the same object; 1 at least. */
uint32_t spw_store_row(struct spw_drainer *d, uint32_t chunk, uint32_t bit,
		       uint32_t count);

/* Reads file bytes [from, to) from an object, as many as it has. They are
 * given away in pieces, one after the other, each as soon as it is unpacked and
 * checked, until one is not taken. -EINPROGRESS: its tier does not answer now.
 * With other errors what is before ret_bad was given away, and nothing that is
 * in it. */
struct spw_taker {
	bool (*take)(void *arg, uint64_t at, const uint8_t *bytes, uint64_t n);
	void *arg;
};
int spw_store_read(struct spw_drainer *d, uint32_t held, uint64_t from,
		   uint64_t to, struct spw_taker taker,
		   struct spw_span *ret_bad);

/* Tries whether tiers that failed to read can by now. */
void spw_ahead_probe(struct spw_drainer *d);

/* A lane wants blocks: if it goes on from where it was, what comes next is
 * read ahead. */
void spw_ahead_follow(struct spw_drainer *d, uint32_t lane, struct spw_key key,
		      uint32_t count);

/* The same in two steps, of which a worker can do the second: l->at and l->len
 * are given. What was read is let go of at last. */
int spw_load_read(struct spw_drainer *d, uint32_t held, struct spw_load *l);
void spw_load_blame(const struct spw_object *o, uint64_t bad,
		    struct spw_span *span);
int spw_load_unpack(struct spw_load *l);
void spw_load_end(struct spw_load *l);

/* Tells the log in the segment: an object is down, or did not get there; no
 * tier took it. */
void spw_log_begin(struct spw_down *down);
void spw_log_down(struct spw_drainer *d, struct spw_down *down);
void spw_log_through(struct spw_drainer *d, const struct spw_down *down);

/* Lets go of objects whose blocks are not below any more. */
void spw_store_sweep(struct spw_drainer *d);
void spw_store_forget_chunk(struct spw_drainer *d, uint32_t chunk);

/* The chunk's bytes are on their way home. */
bool spw_store_is_busy(struct spw_drainer *d, uint32_t chunk);
void spw_store_set_busy(struct spw_drainer *d, uint32_t chunk, bool busy);

/* Blocks that could not be read or unpacked a moment ago: one, any that is
 * still below, and noting some. */
bool spw_store_is_lost(struct spw_drainer *d, uint32_t chunk, uint32_t bit);
bool spw_store_has_lost(struct spw_drainer *d, uint32_t chunk);
void spw_store_lose(struct spw_drainer *d, uint32_t chunk,
		    const struct spw_span *bad);

/* A copy made for fsync keeps the file's promise until the file is safe at
 * home. seq: the youngest object that is meant. */
bool spw_store_has_promised(struct spw_drainer *d, uint32_t file,
			    uint64_t seq);

/* A reboot leaves all objects of the file. */
bool spw_store_lasts(const struct spw_drainer *d, uint32_t file);
void spw_store_promise(struct spw_drainer *d, uint32_t file);
void spw_store_absolve(struct spw_drainer *d, uint32_t held);

/* They are not needed any more, and go, the oldest first. */
void spw_store_release(struct spw_drainer *d, uint32_t file, uint64_t seq);

/* Says in the shares that we are at work: who finds them later can tell our
 * changes of a home from those of others after us. */
void spw_store_stamp(struct spw_drainer *d);

/* What the segment tells of a tier (layout.h); number: in its list. */
void spw_level_failed(struct spw_drainer *d, uint32_t number, int err);
void spw_level_opened(struct spw_drainer *d, uint32_t number,
		      const struct spw_apart *a);
void spw_levels_note(struct spw_drainer *d);	/* how full they are */
/* Some tier does not answer. */
bool spw_store_is_deaf(const struct spw_drainer *d);

/* Some tier is nearly full. */
bool spw_store_is_short(struct spw_drainer *d);

#endif
