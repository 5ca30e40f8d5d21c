/* SPDX-License-Identifier: BSD-3-Clause */
/* nvme.h -- a log of objects in preallocated files: what its parts share */

#ifndef SPW_TIERS_NVME_H
#define SPW_TIERS_NVME_H

#include <assert.h>

#include "shm/util.h"
#include "tiers/io.h"
#include "tiers/roll.h"
#include "tiers/share.h"
#include "tiers/tier.h"

/*
 * Files nvme-00000000.log, nvme-00000001.log and so on, of 64 MiB or what
 * the capacity leaves. While one is made it is called nvme-00000000.log.new: a
 * name without .new tells that there was a head on disk.
 *
 *	head	two of them, 4 KiB each, written in turn: the newer one that
 *		is whole counts
 *	objects	one after the other. Small ones, of up to 64 KiB, that were
 *		written together (a round) lie side by side, each on a
 *		multiple of 512 bytes with zeros up to the next; the first
 *		one is on a multiple of 4 KiB. Each takes 4 KiB at least, so
 *		that no two begin in the same 4 KiB. A larger one takes
 *		whole 4 KiB, with whatever behind it
 *
 * In version 1, which is read, and gone on with until its life is over, each
 * object is on a multiple of 4 KiB.
 *
 * A file lives many times. Each life has a number drawn by lot, and the first
 * eight bytes of an object, its magic, are stored XORed with it: what is left
 * of an earlier life does not look like an object of this one.
 *
 * The head has a bit for every 4 KiB that are dead: no object begins there
 * that is alive, nor goes on there without having begun before. So an object
 * that goes takes the 4 KiB in which it begins with it, and all up to those in
 * which it ends; these are the next one's, and what is left there ahead of that
 * is not looked at. Behind the last one of a round there is none, and these
 * are dead from the start. The head also has a mark: below it all was written
 * and synced, so whatever cannot be read there was damaged; above it may be
 * a put that was cut short, and the checksums of its blocks are looked at.
 *
 * Drops go to disk after the puts before them; until then they are noted in
 * nvme.drops, which outlives us but not the machine. A file that has nothing alive
 * begins its next life with the sync that makes its last drop durable.
 *
 * nvme.roll tells which files there are (roll.h). A file is in it when a sync
 * has made its name durable, and out of it before its name goes.
 */
enum {
	SPW_LOG_BLOCK = 4096,		/* what disks write at once */
	SPW_LOG_GRAIN = 512,
	SPW_LOG_SMALL = 64 << 10,
	SPW_LOG_HEAD = 2 * SPW_LOG_BLOCK,
	SPW_LOG_SIZE = 64 << 20,
	SPW_LOG_BLOCKS = SPW_LOG_SIZE / SPW_LOG_BLOCK,
	SPW_LOG_VERSION = 2,
	SPW_LOG_NAME = 32,
	SPW_NVME_DROPS = 32 << 10,	/* bytes of the file with their notes */
	SPW_NVME_DEPTH = 16,		/* transfers; the ring has more, for us */
};

extern const struct spw_tier_ops spw_tier_nvme;

#define SPW_LOG_MAGIC	"\211SPWLOG\n"

struct spw_log_head {			/* as stored, little endian */
	char magic[8];
	uint32_t crc;			/* of all after it */
	uint32_t version;
	uint64_t turn;			/* the newer head has the higher one */
	uint64_t life;			/* its number */
	uint64_t lives;			/* how many before, and this */
	uint64_t size;			/* of the file */
	uint64_t mark;
	uint8_t spare[968];
	uint64_t dead[SPW_LOG_BLOCKS / 64];
	uint8_t spares[1024];
};
static_assert(sizeof(struct spw_log_head) == SPW_LOG_BLOCK, "stored");

enum spw_log_state {
	SPW_LOG_PUTTING,		/* under way */
	SPW_LOG_LIVE,
	SPW_LOG_GONE,			/* dropped, or it failed */
};

struct spw_log_object {
	uint32_t at;			/* where in the file */
	uint32_t len;			/* bytes */
	uint8_t state;			/* enum spw_log_state */
};

struct spw_log {			/* one file */
	uint32_t no;
	int fd;				/* -1: not open now */
	int err;			/* a sync failed: no more puts */
	uint64_t size, end;		/* the next object goes to end */
	uint64_t dense;			/* in lives before, or ahead of end, it
					 * was written up to there */
	uint64_t mark, marked;		/* reached, and as in the head */
	uint64_t live, bytes;		/* of objects: blocks, and exactly */
	uint64_t turn, life, lives;
	uint32_t version;
	uint64_t used;			/* when, for choosing what to close */
	unsigned busy, putting;		/* transfers under way; puts of them */
	bool head_loose;		/* written, not synced yet */
	bool written, dropped;		/* since the last sync */
	bool listed;			/* among the ones to sync */
	bool damaged;			/* stays as it is until discarded */
	bool headless;			/* none of its heads is whole, */
	int fault;			/* or to be read, for this; 0: it was */
	bool torn;			/* has gaps above the mark */
	struct spw_log *next;		/* to sync */
	struct spw_io seal;		/* under way if there is a head */
	struct spw_log_head *seal_head;
	struct spw_io ahead;		/* zeros on their way, if: */
	bool is_ahead;
	uint32_t seal_n;
	uint64_t dead[SPW_LOG_BLOCKS / 64];
	struct spw_log_object *objects;	/* by place */
	uint32_t n, room, synced;	/* the first of them are durable */
};

struct spw_nvme_slot {			/* a transfer under way */
	struct spw_io io;
	struct spw_transfer *x;
	struct spw_log *log;
	uint64_t offset;		/* of the object in the file */
	uint8_t *bounce;		/* NULL: straight to where it belongs */
	size_t bounced;			/* its size */
	bool taken;
};

struct spw_round {			/* puts that are written together */
	struct spw_io io;		/* of buf, which has copies of them */
	struct spw_nvme_slot *slots[SPW_NVME_DEPTH];
	unsigned n;			/* 0: not in use */
};

struct spw_nvme {
	struct spw_tier tier;
	struct spw_share share;
	struct spw_ring *ring;
	bool direct;			/* O_DIRECT */
	bool measured;			/* or pinned: it stays like that */
	bool closing;			/* heads are to tell all */
	bool keeps;			/* what is damaged, whatever it was */
	bool names;			/* files were made since the last sync */
	struct spw_roll *roll;
	int drops;			/* descriptor */
	uint32_t boot, noted;		/* drops, since the last sync */
	uint64_t capacity, total;	/* total: what all files take */
	uint64_t log_size, reserve;	/* reserve: for the cleaner */
	uint64_t clock;
	int64_t synced_ms;		/* when, the last good one */
	struct spw_log **logs;		/* by number; NULL: no such file */
	uint32_t nlogs, open;
	struct spw_log *current, *to_sync;
	struct spw_log *victim;		/* being emptied: takes no more */
	struct spw_nvme_slot slots[SPW_NVME_DEPTH];
	unsigned under_way;		/* transfers, not reaped by the ring */
	struct spw_round rounds[SPW_NVME_DEPTH];
	struct spw_round *round;	/* kept back; NULL: none */
	uint64_t small;			/* bytes that were written together */
	unsigned sealing, ahead;	/* files */
	struct spw_transfer *over, *last_over;
};

static inline uint64_t
spw_nvme_place(const struct spw_log *log, uint64_t offset)
{
	return (uint64_t)log->no << 32 | offset;
}

/* What an object of so many bytes takes in the file. */
static inline uint64_t
spw_log_extent(const struct spw_log *log, uint64_t len)
{
	if (log->version == 1 || len > SPW_LOG_SMALL)
		return spw_round_up(len, SPW_LOG_BLOCK);
	return SPW_MAX(spw_round_up(len, SPW_LOG_GRAIN),
		       (uint64_t)SPW_LOG_BLOCK);
}

static inline bool
spw_log_is_dead(const struct spw_log *log, uint64_t offset)
{
	uint64_t b = offset / SPW_LOG_BLOCK;

	return log->dead[b / 64] >> b % 64 & 1;
}

/* The first bytes of an object: stored as they are to be, and back. buf is
 * what lies at `at` in it. */
void spw_log_disguise(const struct spw_log *log, void *buf, uint64_t at,
		      uint64_t len);

/* nvme-log.c: the files. */
void spw_log_name(uint32_t no, char ret_name[SPW_LOG_NAME]);
void spw_log_name_at(uint64_t place, char ret_name[SPW_LOG_NAME]);
bool spw_log_number(const char *name, uint32_t *ret_no);
bool spw_log_is_fresh(const char *name);	/* it is being made */
int spw_log_load(struct spw_nvme *t, uint32_t no);
/* Something else has its name. */
int spw_log_load_strange(struct spw_nvme *t, uint32_t no);
int spw_log_create(struct spw_nvme *t, uint64_t size, struct spw_log **ret_log);
int spw_log_remove(struct spw_nvme *t, struct spw_log *log);
/* It is not in the roll any more; remove waits for the disk to know. */
void spw_log_strike(struct spw_nvme *t, const struct spw_log *log);
void spw_log_free(struct spw_nvme *t, struct spw_log *log);
int spw_log_fd(struct spw_nvme *t, struct spw_log *log);
int spw_log_add(struct spw_log *log, uint64_t offset, uint64_t len,
		enum spw_log_state state);
struct spw_log_object *spw_log_find(struct spw_log *log, uint64_t offset);
void spw_log_bury(struct spw_log *log, uint64_t from, uint64_t to);
/* What goes behind the last object is written apart from it. */
void spw_log_end_round(struct spw_log *log);
/* No object begins behind the one that ends there, in the same block. */
void spw_log_close_block(struct spw_log *log, uint64_t end);
void spw_log_fill_head(struct spw_log *log, struct spw_log_head *ret_head);
void spw_log_begin_life(struct spw_log *log);
bool spw_log_is_free(const struct spw_log *log);
void spw_log_list(struct spw_nvme *t, struct spw_log *log);

/* nvme.c: the ring says that this is over, a transfer, a round, the step of a
 * seal, or zeros. */
void spw_nvme_ended(struct spw_nvme *t, struct spw_io *io);
void spw_nvme_end_transfer(struct spw_nvme *t, struct spw_nvme_slot *slot);
/* For a put of so many bytes. */
int spw_log_prepare(struct spw_nvme *t, struct spw_log *log, uint64_t need);
int spw_nvme_drop(struct spw_tier *tier, uint64_t place);

/* nvme-room.c */
int spw_nvme_room(struct spw_nvme *t, uint64_t need, bool cleaner,
		  struct spw_log **ret_log);
void spw_nvme_space(struct spw_tier *tier, struct spw_tier_space *ret_space);

/* nvme-gather.c: before a small put goes to the file's end, and with it. Those
 * that are kept back are sent to the ring, or written here and now. */
bool spw_nvme_is_small(uint64_t need);
int spw_nvme_begin_join(struct spw_nvme *t, struct spw_log *log,
			uint64_t need);
void spw_nvme_join(struct spw_nvme *t, struct spw_nvme_slot *slot);
void spw_nvme_send(struct spw_nvme *t);
void spw_nvme_write(struct spw_nvme *t);
void spw_nvme_free_rounds(struct spw_nvme *t);
/* The ring has written one. */
void spw_nvme_round_ended(struct spw_nvme *t, struct spw_round *round);

/* Has zeros written where the next ones will go. */
void spw_nvme_look_ahead(struct spw_nvme *t);
void spw_log_await_ahead(struct spw_nvme *t, const struct spw_log *log);
void spw_log_ahead_ended(struct spw_nvme *t, struct spw_log *log);

/* nvme-sync.c */
int spw_nvme_sync(struct spw_tier *tier);
void spw_nvme_rest(struct spw_tier *tier);
void spw_nvme_settle(struct spw_nvme *t);	/* waits for all under way */

/* Carries out n (at most SPW_RING_DEPTH) requests of our own and waits for
 * them; transfers that end meanwhile are kept for reap. */
void spw_nvme_do(struct spw_nvme *t, struct spw_io *io, unsigned n);
int spw_log_flush(struct spw_nvme *t, struct spw_log *log);

/* A file that is full and has nothing under way is synced and marked by the
 * way, so that whoever comes after us need not look at all of it. */
void spw_log_seal(struct spw_nvme *t, struct spw_log *log);
void spw_log_seal_ended(struct spw_nvme *t, struct spw_log *log);

/* nvme-way.c: whether O_DIRECT is the faster way, by a file without a head. */
void spw_nvme_measure(struct spw_nvme *t, struct spw_log *log);

/* nvme-drops.c: what the dead have dropped, before files are looked through;
 * and our own. -ENOBUFS: sync first. */
int spw_nvme_read_drops(struct spw_nvme *t);
int spw_nvme_note_drop(struct spw_nvme *t, const struct spw_log *log,
		       uint64_t offset, uint64_t n);
/* A put that failed: who comes after us does not take it for damaged. */
void spw_nvme_note_failed(struct spw_nvme *t, const struct spw_log *log,
			  uint64_t offset, uint64_t n);
bool spw_nvme_is_drops(const char *name);

/* nvme-list.c */
int spw_log_scan(struct spw_nvme *t, struct spw_log *log);

/* The length of what is damaged there; -ENOENT: nothing is. */
int spw_log_measure(struct spw_nvme *t, struct spw_log *log, uint64_t offset,
		    uint64_t *ret_len);
int spw_nvme_list(struct spw_tier *tier,
		  int (*seen)(void *arg, const struct spw_tier_found *f),
		  void *arg);

/* nvme-clean.c */
int64_t spw_nvme_clean(struct spw_tier *tier, uint64_t bytes,
		       void (*moved)(void *arg, uint64_t from, uint64_t to),
		       void *arg);

#endif
