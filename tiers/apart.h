/* SPDX-License-Identifier: BSD-3-Clause */
/* apart.h -- a tier called by a thread of its own, which may wait forever */

#ifndef SPW_TIERS_APART_H
#define SPW_TIERS_APART_H

#include "tiers/tier.h"

/*
 * A file system that stalls keeps whoever calls it in the kernel, with
 * whichever call. So the drainer calls no tier itself: a thread for each opens
 * it and alone calls it. The drainer gives orders, which are carried out one
 * after the other (transfers overlap), and takes back what is over.
 *
 * A tier is deaf when something is under way and nothing has come back from
 * it for SPW_APART_MS. It is not waited for then; what it was given stays its
 * own until it comes back all the same.
 *
 * All calls are for the drainer's thread. Those that wait say so.
 */
enum { SPW_APART_MS = 3000 };

struct spw_bell;			/* rung by all who work for a drainer */
struct spw_apart;

/* told: what else a ring does, for who waits elsewhere; NULL: nothing. */
int spw_bell_new(void (*told)(void *arg), void *arg,
		 struct spw_bell **ret_bell);
void spw_bell_free(struct spw_bell *b);
/* From now on a ring does nothing else: its drainer is gone. */
void spw_bell_mute(struct spw_bell *b);

/* By any thread that has something for the drainer; fit for spw_crew_tell. */
void spw_bell_ring(void *bell);

/* Until somebody has rung since the last wait, or for ms. */
void spw_bell_wait(struct spw_bell *b, int64_t ms);
/* Somebody has. True once: it is as if it had been waited for. */
bool spw_bell_heard(struct spw_bell *b);

/* Waits for open, up to ms without a sign of life. -ETIMEDOUT: it is under way
 * still, as after begin. */
int spw_apart_open(struct spw_bell *b, const struct spw_tier_ops *ops,
		   const struct spw_tier_setup *setup, int64_t ms,
		   struct spw_apart **ret_apart);

/*
 * The same without waiting, and likewise for list and close, for one that may
 * take its time: answer tells what became of the last of these. -EINPROGRESS:
 * nothing yet. One that was not opened, or is closed, is got rid of by end.
 */
int spw_apart_begin(struct spw_bell *b, const struct spw_tier_ops *ops,
		    const struct spw_tier_setup *setup,
		    struct spw_apart **ret_apart);
void spw_apart_begin_list(struct spw_apart *a,
			  int (*seen)(void *arg,
				      const struct spw_tier_found *f),
			  void *arg);
void spw_apart_begin_close(struct spw_apart *a, bool discard);
int spw_apart_answer(struct spw_apart *a);
void spw_apart_end(struct spw_apart *a);

bool spw_apart_is_durable(const struct spw_apart *a);
bool spw_apart_is_unlocked(const struct spw_apart *a);
bool spw_apart_is_held(const struct spw_apart *a);
/* When its owner was last at work before it was opened, ns; 0: not known. */
int64_t spw_apart_alive(const struct spw_apart *a);
const char *spw_apart_caution(const struct spw_apart *a);	/* or NULL */
bool spw_apart_can_clean(const struct spw_apart *a);

const char *spw_apart_kind(const struct spw_apart *a);
void spw_apart_where(const struct spw_apart *a, uint64_t place, char *buf,
		     size_t size);

/* How much longer an answer may take, ms; 0: it is deaf; negative: nothing is
 * under way. */
int64_t spw_apart_patience(struct spw_apart *a);

/* Starts a transfer. It comes back by reap with what became of it, also where
 * submit would have failed; reap does not wait. more: it need not begin before
 * another order, or go: what comes together is moved together. */
void spw_apart_move(struct spw_apart *a, struct spw_transfer *x, bool more);
void spw_apart_go(struct spw_apart *a);

/* An order will come in a moment: the thread wakes up until then. */
void spw_apart_expect(struct spw_apart *a);
struct spw_transfer *spw_apart_reap(struct spw_apart *a);

/* One that fails is tried again with every sync, which fails until it is
 * done. */
void spw_apart_drop(struct spw_apart *a, uint64_t place);

/* Says in the share that we are at work. */
void spw_apart_stamp(struct spw_apart *a);

/* What the other thread does as soon as a sync is good, and every put since
 * the order for the one before: who waits for that need not wait for the
 * drainer as well. good says so and is over at once; tell wakes whom it
 * returned, while the drainer comes back. */
struct spw_apart_then {
	uint32_t (*good)(void *arg);	/* NULL: nothing */
	void (*tell)(void *arg, uint32_t whom);
	void *arg;
};

/* Puts given before are waited for, then synced; they come back before what
 * became of it is told. False: the last one is still under way. */
bool spw_apart_sync(struct spw_apart *a, struct spw_apart_then then);
/* From now on that is not done any more. True: it was. */
bool spw_apart_recall(struct spw_apart *a);
/* What became of it; -EINPROGRESS: nothing yet. */
int spw_apart_synced(struct spw_apart *a);

/* The same for clean. What it moved is told by moves, and is to be taken
 * before anything else that came back: old places in orders given before are
 * put right by then. */
bool spw_apart_clean(struct spw_apart *a, uint64_t bytes);
bool spw_apart_is_cleaning(struct spw_apart *a);
void spw_apart_moves(struct spw_apart *a,
		     void (*moved)(void *arg, uint64_t from, uint64_t to),
		     void *arg);

/* As it will be when all orders are carried out. */
void spw_apart_space(struct spw_apart *a, struct spw_tier_space *ret_space);

/* Waits until all is listed, up to ms without a sign of life; seen is called by
 * the other thread meanwhile, and not afterwards, also after -ETIMEDOUT. */
int spw_apart_list(struct spw_apart *a, int64_t ms,
		   int (*seen)(void *arg, const struct spw_tier_found *f),
		   void *arg);

/* Waits for all orders; not for a deaf one: -ETIMEDOUT, and what it was given
 * stays its own for good. */
int spw_apart_close(struct spw_apart *a, bool discard);

#endif
