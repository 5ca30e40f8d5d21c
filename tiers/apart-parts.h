/* SPDX-License-Identifier: BSD-3-Clause */
/* apart-parts.h -- what a tier's thread and the drainer share */

/*
 * One lock, the bell's, guards the queues of all tiers. Under it no tier is
 * asked for anything but small puts and syncs of one that is memory, and its
 * space, which it knows by heart; and nobody is woken, who would have to wait
 * for it then.
 */
#ifndef SPW_TIERS_APART_PARTS_H
#define SPW_TIERS_APART_PARTS_H

#include <pthread.h>

#include "shm/spin.h"
#include "tiers/apart.h"

struct spw_bell {
	pthread_mutex_t lock;
	pthread_cond_t rung;
	_Atomic uint32_t rings;
	uint32_t heard;
	struct spw_spin spin;
	void (*told)(void *arg);
	void *arg;
};

/* Under its lock, which it leaves. */
void spw_bell_unlock_and_ring(struct spw_bell *b);

enum spw_deed {
	DO_OPEN, DO_MOVE, DO_DROP, DO_STAMP, DO_SYNC, DO_CLEAN, DO_LIST,
	DO_CLOSE,
};

struct spw_order {
	enum spw_deed what;
	struct spw_transfer *x;
	uint64_t place;			/* clean: bytes; close: discard */
	struct spw_apart_then then;	/* sync, */
	uint32_t fails;			/* at the one before */
	struct spw_order *next;
	int result;			/* open, list, close: when it is over */
	bool own;			/* to be freed */
	bool busy;
};

struct spw_moved {
	uint64_t from, to;
};

struct spw_listing {
	int (*seen)(void *arg, const struct spw_tier_found *f);
	void *arg;
};

struct spw_apart {
	struct spw_bell *bell;
	pthread_cond_t given;
	pthread_t thread;
	const struct spw_tier_ops *ops;
	struct spw_tier_setup setup;	/* with words of its own */
	struct spw_listing listing;
	struct spw_tier *tier;		/* the thread's own */
	int64_t alive;			/* ns; set by open */
	unsigned moving;		/* transfers submitted; its own too, */
	bool worked;			/* since it rested, */
	struct spw_spin spin, expecting;	/* and these */
	uint64_t *undone;		/* drops that failed */
	size_t nundone, undone_room;
	bool forgot;			/* one of them: no memory */
	/* From here on: under the lock. */
	struct spw_order *todo, **todo_end;
	bool ready;			/* they are to be carried out now */
	bool absent;			/* the tier has the thread: to call */
	bool idle;			/* it waits for orders */
	bool expects;			/* one of them soon */
	_Atomic uint32_t calls;		/* how often that was said */
	struct spw_transfer *over, **over_end;
	unsigned under_way;		/* orders and transfers */
	int64_t sign;			/* ms; of life, the last one */
	struct spw_order stamp, sync, clean, call, close;
	bool heeds;			/* the listing; no other does, */
	bool hearing;			/* and it is just told something */
	bool was_good;			/* what a sync has in then is done */
	uint32_t fails, fails_at_sync;	/* of puts; at the last order */
	int sync_result;
	struct spw_tier_space space;
	uint64_t promised;		/* bytes of puts not yet submitted */
	struct spw_moved *moves;
	size_t nmoves, room;
	bool ended;
};

/* The thread; takes the spw_apart. */
void *spw_apart_serve(void *arg);

/* All of these under the lock. */
void spw_apart_give_back(struct spw_apart *a, struct spw_transfer *x);
/* An order for an object that clean has moved since. */
void spw_apart_put_right(const struct spw_apart *a, struct spw_order *o);
void spw_apart_look_at_space(struct spw_apart *a);
void spw_apart_unlock_and_ring(struct spw_apart *a);

#endif
