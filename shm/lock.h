/* SPDX-License-Identifier: BSD-3-Clause */
/* lock.h -- locks that name their owner's lane and survive its death */
#ifndef SPW_SHM_LOCK_H
#define SPW_SHM_LOCK_H

#include "shm/seg.h"
#include "shm/sys.h"
#include "shm/util.h"

/*
 * The living may be stopped with a lock in their hands, and the drainer serves
 * others as well: it waits for a lock only so long, and leaves what is behind
 * it for later. A lock that was waited for in vain is known by its word, which
 * changes when it is released: it is not waited for again until then.
 */
enum { SPW_PATIENCE_MS = 20, SPW_PATIENCE_KNOWN = 64 };

struct spw_patience {
	struct {
		const struct spw_lock *lock;
		uint64_t word;
	} known[SPW_PATIENCE_KNOWN];
	uint32_t next;			/* to be forgotten */
};

/* Waits a while for the lock; adopts a dead owner's lane on the way. */
void spw_lock_slow(struct spw_me *me, struct spw_lock *lock);

/* Waits for it and takes it. False: patience is at its end. */
bool spw_lock_await(struct spw_me *me, enum spw_lock_class class,
		    struct spw_lock *lock);

static inline uint32_t
spw_lock_owner(const struct spw_lock *lock)	/* lane + 1, or 0 */
{
	return (uint32_t)atomic_load_explicit(&lock->word,
					      memory_order_acquire);
}

/* The version changes with every unlock. An owner in the word means that a
 * change is under way. */
static inline uint64_t
spw_lock_word(const struct spw_lock *lock)
{
	return atomic_load_explicit(&lock->word, memory_order_acquire);
}

static inline bool
spw_lock_try(struct spw_me *me, enum spw_lock_class class,
	     struct spw_lock *lock)
{
	uint64_t word = atomic_load_explicit(&lock->word,
					     memory_order_relaxed);

	if ((uint32_t)word)
		return false;
	/* Noted before it is taken: an adopter looks at noted locks only and
	 * checks that the word really holds this lane. */
	atomic_store_explicit(&me->lane->held[class],
			      (uint64_t)((char *)lock - me->map->base),
			      memory_order_relaxed);
	if (!atomic_compare_exchange_strong_explicit(&lock->word, &word,
			word | (me->lane_no + 1), memory_order_acq_rel,
			memory_order_relaxed))
		return false;
	/* Whoever sees what we write from now on without the lock sees the
	 * owner in the word as well. */
	atomic_thread_fence(memory_order_release);
	return true;
}

static inline void
spw_lock(struct spw_me *me, enum spw_lock_class class, struct spw_lock *lock)
{
	while (SPW_UNLIKELY(!spw_lock_try(me, class, lock)))
		spw_lock_slow(me, lock);
}

/* The same for those who may have patience. False: it is held, perhaps by
 * somebody who is stopped. True for all others. */
static inline bool
spw_lock_soon(struct spw_me *me, enum spw_lock_class class,
	      struct spw_lock *lock)
{
	return SPW_LIKELY(spw_lock_try(me, class, lock)) ||
	       spw_lock_await(me, class, lock);
}

static inline void
spw_unlock(struct spw_lock *lock)
{
	uint64_t word = atomic_load_explicit(&lock->word,
					     memory_order_relaxed);

	atomic_store_explicit(&lock->word,
			      ((word >> 32) + 1) << 32,
			      memory_order_release);
	/* A waiter that sets the mark just now is woken by its timeout. */
	if (SPW_UNLIKELY(atomic_load_explicit(&lock->waiters,
					      memory_order_relaxed))) {
		atomic_store_explicit(&lock->waiters, 0,
				      memory_order_relaxed);
		spw_sys_futex_wake((const _Atomic uint32_t *)&lock->word,
				   INT32_MAX);
	}
}

#endif
