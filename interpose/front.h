/* SPDX-License-Identifier: BSD-3-Clause */
/* front.h -- Spillway inside this process: state, lane of the thread, doors */
#ifndef SPW_INTERPOSE_FRONT_H
#define SPW_INTERPOSE_FRONT_H

#include <errno.h>

#include "shm/cache.h"
#include "shm/files.h"
#include "shm/gate.h"
#include "shm/seg.h"

struct spw_front {
	struct spw_map map;
	_Atomic bool live;		/* settings read, real functions known */
	_Atomic bool attached;		/* map is valid */
	_Atomic bool inert;		/* off for good: disabled, or no room */
	_Atomic bool rings;		/* the program uses io_uring */
	_Atomic bool apart;		/* among mounts the drainer has not */
	uint32_t proc;			/* our record in the segment */
	uint32_t epoch;			/* bumped in a forked child */
	_Atomic uint64_t fsize_limit;	/* RLIMIT_FSIZE; stands alone: relaxed */
};

extern struct spw_front spw_front;

/* A thread of the drainer in this process: it has descriptors of its own, and
 * what it does, or a library for it, is none of the program's business. */
extern __thread bool spw_front_outside;
void spw_front_stay_outside(void);

/* Whether calls of this thread are to be looked at. */
static inline bool
spw_front_is_on(void)
{
	return atomic_load_explicit(&spw_front.live, memory_order_acquire) &&
	       !atomic_load_explicit(&spw_front.inert, memory_order_relaxed) &&
	       !spw_front_outside;
}

/* Joins or makes the job's segment; for one who only reads, as small as it can
 * be. 0, or a negative errno; after a failure the process stays inert and has
 * said so once. */
int spw_front_attach(bool writes);

/* The calling thread's lane, claimed at its first call; NULL when there is no
 * segment, and outside. Never fails otherwise: it waits for a lane. */
struct spw_me *spw_front_me(void);

/* After fork, in the child: forgets lanes; the fd map was prepared. */
void spw_front_forked(uint32_t child_proc);

/* The segment is there no more for this process; its record stays, with what
 * it has open. */
void spw_front_withdraw(void);

/* True if attached, or if the job's segment exists and could be joined. For
 * those who only look: it makes none. */
bool spw_front_look(void);

/* Others may have bytes that we cannot see: the system had no open file left
 * when we wanted to join them, and for a while. Who needs to know their bytes
 * fails with ENFILE; the next attempt is a new one. */
bool spw_front_is_cut_off(void);

/* The table of claims: the job's, or before it has a segment one that other
 * jobs have made; NULL when there is none. */
struct spw_claims *spw_front_claims(void);

/* SPW_DRAINER_AUTO, _AGENT or _THREAD of shm/conf.h. */
int spw_front_drainer_mode(void);

/* Whether new files may be managed here, by path. */
bool spw_front_wants(const char *path);

/* One line on standard error, once per process and reason. */
void spw_front_say(const char *what, int err);

/* Whether the user knows that this process, and so what it starts, runs
 * without us; from now on he does, or need not. */
#define SPW_TOLD "SPILLWAY_TOLD"
bool spw_front_was_told(void);
void spw_front_need_not_tell(void);

/* Turns a negative errno into -1 and errno; success leaves errno alone. */
static inline int64_t
spw_ret(int64_t r)
{
	if (SPW_LIKELY(r >= 0))
		return r;
	errno = (int)-r;
	return -1;
}

#endif
