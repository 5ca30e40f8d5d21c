/* SPDX-License-Identifier: BSD-3-Clause */
/* tier.h -- a place that holds objects: the shape of a tier */

#ifndef SPW_TIERS_TIER_H
#define SPW_TIERS_TIER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tiers/object.h"

/*
 * A tier keeps objects (object.h) for one owner, a segment, in a share of its
 * own: other owners may use the same place at the same time. The drainer
 * alone calls it, from one thread; a tier may have helpers of its own.
 *
 * What survives
 *
 *	An object whose put was reaped survives the death of every process.
 *	After the next sync returned 0 it survives the loss of power too, if
 *	the tier is durable: list finds it again.
 *	A drop may be undone by the loss of power until the next sync; and
 *	until then nothing is written over what was dropped.
 *	A put that was cut short leaves nothing that list would show as whole:
 *	an object is there with every byte, or it is damaged, or it is not
 *	there. The checksums of its blocks tell damage inside of it.
 */

enum { SPW_TIER_ALIGN = 4096 };		/* of the buffers of transfers */

struct spw_tier_setup {
	const char *place;		/* directory, absolute */
	const char *owner;		/* name of the share: no slash */
	uint64_t capacity;		/* bytes we may use, to the byte */
	const char *io;			/* NULL or "auto": as measured; or
					 * "direct", "buffered" (nvme) */
	bool create;			/* make the share if it is not there;
					 * else a guest, who leaves what is
					 * damaged until he drops it */
	bool look_only;			/* change nothing, lock nothing */
	void (*sign)(void *arg);	/* of life, if open takes its time; */
	void *arg;			/* NULL: nobody listens */
};

/* One object on its way down, or a part of one on its way up. The memory is
 * the tier's from submit to reap. */
struct spw_transfer {
	bool up;			/* false: put */
	uint64_t place;			/* put: set by submit; up: given */
	uint64_t at;			/* up: where in the object */
	void *buf;			/* aligned; room for len rounded up,
					 * which may be stored as it is */
	size_t len;
	bool at_once;			/* put: -EAGAIN rather than a wait */
	int err;			/* when reaped: 0 or negative errno */
	int64_t ended;			/* ns; set by who calls the tier */
	void *user;			/* the caller's */
	struct spw_transfer *next;	/* the tier's */
};

struct spw_tier_space {
	uint64_t capacity, used;	/* used: also by what was dropped and
					 * cannot be written over yet */
	uint64_t live;			/* bytes of objects, dropped ones not */
};

struct spw_tier_found {			/* by list */
	uint64_t place;
	uint64_t len;			/* stored bytes */
	const struct spw_object *object;	/* NULL: damaged beyond that */
	const char *where;		/* file and offset, for messages */
	int err;			/* 0, or -EBADMSG */
	bool missing;			/* there was something; not any more */
};

struct spw_tier;

struct spw_tier_ops {
	const char *kind;		/* as in SPILLWAY_TIERS */
	const char *files;		/* a pattern of their names */
	bool durable;			/* a reboot need not empty it */

	/* -EBUSY: the share is in use by somebody who lives. -ENOENT: there
	 * is none, and none was to be made. */
	int (*open)(const struct spw_tier_setup *setup,
		    struct spw_tier **ret_tier);

	/* Starts a transfer; it is reaped later, whatever comes of it. When
	 * this fails, it did not start: -ENOSPC, the capacity is used up;
	 * -EAGAIN, too many are under way. Short writes are the tier's to
	 * finish. */
	int (*submit)(struct spw_tier *t, struct spw_transfer *x);

	/* One that is over; NULL: none is (wait: none is under way, or
	 * somebody called). */
	struct spw_transfer *(*reap)(struct spw_tier *t, bool wait);

	/* Neither a put at once nor a sync waits for anything now, and both are
	 * over when they return. NULL: never so. */
	bool (*is_prompt)(const struct spw_tier *t);

	/* By another thread that has more to do: who waits in reap comes back.
	 * NULL: reap never waits for long. */
	void (*call)(struct spw_tier *t);

	/* Puts reaped and drops made before this are durable now. sync_waits:
	 * so are puts that were under way, which can be reaped now. */
	int (*sync)(struct spw_tier *t);
	bool sync_waits;

	/* Nothing is to be done just now: the time for what makes later calls
	 * cheaper. NULL: there is nothing like that. */
	void (*rest)(struct spw_tier *t);

	int (*drop)(struct spw_tier *t, uint64_t place);

	/* Makes room by moving objects closer together, about `bytes` of
	 * them; tells each move before the old place may be used again.
	 * Returns bytes gained, 0: nothing to gain. NULL: not needed. */
	int64_t (*clean)(struct spw_tier *t, uint64_t bytes,
			 void (*moved)(void *arg, uint64_t from, uint64_t to),
			 void *arg);

	/* Calls seen for everything in the share; stops when it returns
	 * other than 0, and returns that. */
	int (*list)(struct spw_tier *t,
		    int (*seen)(void *arg, const struct spw_tier_found *f),
		    void *arg);

	/* The file and where in it, for messages; any thread may ask. */
	void (*where)(const struct spw_tier *t, uint64_t place, char *buf,
		      size_t size);

	void (*space)(struct spw_tier *t, struct spw_tier_space *ret_space);

	/* discard: the share goes, durably, with all that is in it. */
	int (*close)(struct spw_tier *t, bool discard);
};

struct spw_tier {			/* at the head of each tier's own */
	const struct spw_tier_ops *ops;
	bool durable;			/* this place is: not so on tmpfs */
	bool unlocked;			/* no locks here: nothing tells whether
					 * its owner lives */
	bool held;			/* we only look, and its owner lives */
	int lock;			/* a file; its mtime: when the owner was
					 * last at work. -1: only looking */
	const char *caution;		/* NULL, or what the user should know
					 * of this place; without a full stop */
};

extern const struct spw_tier_ops spw_tier_bb, spw_tier_pmem;

/* By the name of its kind; NULL: not one that stores objects here. Where a
 * tier needs a library that is missing, open says -ELIBACC. */
const struct spw_tier_ops *spw_tier_by_kind(const char *kind);

/* Calls seen with the name of every share of this user in a place. */
int spw_tier_shares(const struct spw_tier_ops *ops, const char *place,
		    int (*seen)(void *arg, const char *owner), void *arg);

#endif
