/* SPDX-License-Identifier: BSD-3-Clause */
/* replay.h -- objects whose segment is gone, brought home from their tiers */
#ifndef SPW_PLANNER_REPLAY_H
#define SPW_PLANNER_REPLAY_H

#include "planner/find.h"
#include "planner/stub.h"
#include "shm/tierspec.h"
#include "tiers/tier.h"

/*
 * After a reboot nothing but the shares of a segment is left. Their objects
 * tell the files, and in which order they were made (object.h); applied in
 * this order, each to its file, they leave what the last fsync promised, or
 * something newer.
 *
 * Only when a file has all of them and was synced do its objects go. Older
 * ones without the newer would be worse than none, so before the first of
 * several goes another one is put that says they count no more; it goes last.
 */
#define SPW_REPLAY_UNKNOWN UINT32_MAX

struct spw_replay_place {
	const struct spw_tier_ops *ops;
	const char *place;
};

struct spw_replay_object {
	uint64_t place, len;		/* in the tier */
	uint64_t seq, offset, length, file_size, cut;
	uint64_t end;			/* in the file, for its bytes: younger
					 * ones cut the rest */
	int64_t wtime, home_time;
	uint32_t tier, flags;
	uint32_t file;			/* or SPW_REPLAY_UNKNOWN */
	int err;			/* 0, or why it cannot be read */
	bool old;			/* its file has it */
	bool gone;
	bool missing;			/* rather than damaged */
	char *where;			/* of a damaged one */
};

struct spw_replay_file {
	struct spw_identity id;
	char *path;			/* the last one known; or empty */
	uint64_t path_seq;
	uint32_t first, n;		/* its objects, in their order */
	uint32_t next;			/* with the same hash */
	uint64_t bytes;			/* of those that are not home */
	int64_t wtime;			/* of the newest */
	int err;			/* of the last try; 0: it is home */
	bool kept;			/* its home is a stub, on purpose */
};

struct spw_replay {
	char owner[256];
	bool look_only;
	unsigned ntiers;
	struct spw_bell *bell;
	struct spw_apart *tier[SPW_TIERS_MAX];
	bool stalled[SPW_TIERS_MAX];	/* nothing is wanted of it any more */
	const char *place[SPW_TIERS_MAX];
	int64_t alive;			/* ns: when the owner was last at work */
	struct spw_replay_object *objects;	/* by file and order */
	size_t nobjects, cap;
	struct spw_replay_file *files;
	uint32_t nfiles, files_cap;
	uint32_t *hash;
	uint64_t bytes;			/* that are not home */
	uint32_t kept;			/* files that are to stay here */
	uint64_t kept_bytes;		/* theirs are not in bytes */
	bool damaged;			/* some of it, at first sight */
	bool unseen;			/* a tier could not be looked at: set
					 * by who opened it, if so */
	uint64_t search_left;		/* names, for files that moved away */
	struct spw_packer *packer;
	uint8_t *stored, *raw;
	struct spw_transfer *move;	/* of what is stored */
	bool hung;			/* somebody waits for a tier for good */
	uint8_t missing;		/* codec, after -ELIBACC */
};

/* Opens all shares of an owner and lists them. -ENOENT: there is none;
 * -EBUSY: it lives, or another recovery has it; -ETIMEDOUT: a tier does not
 * answer; look_only disturbs nobody. places must stay. */
int spw_replay_open(const struct spw_replay_place *places, unsigned n,
		    const char *owner, bool look_only,
		    struct spw_replay **ret);

/* Without locks nobody can tell whether the owner is alive. */
bool spw_replay_is_unlocked(const struct spw_replay *r);

/* It was opened to look at it, and somebody else has it. */
bool spw_replay_is_held(const struct spw_replay *r);

struct spw_replay_step {		/* called with raw bytes done */
	void (*call)(void *arg, uint64_t bytes);
	void *arg;
};

/* Reads an object and checks every byte; err of it tells. */
void spw_replay_check(struct spw_replay *r, struct spw_replay_object *o);

/*
 * Brings a file home and lets go of its objects. -EEXIST: the file was
 * changed by somebody later, and force is not given; -ENOENT: it is not
 * found; -EBADMSG: what is damaged is not home and stays, the rest is;
 * -ETIMEDOUT: a tier that has some of it does not answer; -ELIBACC: a codec
 * that packed some of it is not to be had; -EAGAIN: it is home, but what is
 * doubtful may be older, and would be put over it without these objects;
 * others as they come, and nothing is let go of.
 */
int spw_replay_bring(struct spw_replay *r, uint32_t file, bool force,
		     const struct spw_replay_step *step);

/* Another replay of the same file; NULL: it has none of it. */
const struct spw_replay_file *
spw_replay_same(const struct spw_replay *r, const struct spw_identity *id);

/* Whether bring would write to the file's home without being forced to. */
bool spw_replay_is_due(struct spw_replay *r, const struct spw_replay_file *f);

/* Looks at the homes: which of the files are kept here, since they are stubs
 * that name this share, and which have their bytes already. Those are not
 * brought home by spw_replay_bring. */
void spw_replay_look_home(struct spw_replay *r);

/*
 * Brings the bytes of a stub home, wherever its name went, and lets go of its
 * objects. -ENODATA: they are not all there; -EBADMSG: one is damaged;
 * -EEXIST: somebody wrote to the stub, and force is not given; then and with
 * other errors the stub is as before, or says that it is on its way.
 */
int spw_replay_stage_out(struct spw_replay *r, int fd, struct spw_stub *s,
			 bool force, const struct spw_replay_step *step);

/* Lets go of one object; sync tells whether that could be done. */
int spw_replay_drop(struct spw_replay *r, struct spw_replay_object *o);
int spw_replay_sync(struct spw_replay *r, uint32_t tier);

/* Which tier does not answer, for messages; false: all do. */
bool spw_replay_stalls(const struct spw_replay *r, char *buf, size_t size);

/* Something may be there again that cannot be seen or read now, or is missing,
 * and of which nothing is known: it may be older than what is there. */
bool spw_replay_is_doubtful(const struct spw_replay *r);

/* Whether anything is left in it that is not home. */
bool spw_replay_is_needed(const struct spw_replay *r);

/* Whether there is something in it, and none of its files can be found: they
 * were removed, or are in a place that is not there now. */
bool spw_replay_is_orphaned(struct spw_replay *r);

/* tidy: shares that are empty go. r is not valid any more. */
int spw_replay_close(struct spw_replay *r, bool tidy);

#endif
