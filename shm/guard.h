/* SPDX-License-Identifier: BSD-3-Clause */
/* guard.h -- per-thread flags: publishing now, signals waiting meanwhile */
#ifndef SPW_SHM_GUARD_H
#define SPW_SHM_GUARD_H

#include <stdatomic.h>

/*
 * While busy is set the thread may hold locks of the segment. The front's
 * signal trampoline then notes the signal in pending instead of running the
 * program's handler, which could write to the same file or jump away; the
 * handler runs when the last lock is released. Plain thread-local ints:
 * only the thread itself and handlers on it look at them.
 */
struct spw_guard {
	volatile int busy;		/* nesting depth */
	volatile int pending;		/* signals waiting */
};

extern __thread struct spw_guard spw_guard;

/* Delivers what waits; set by the front, NULL elsewhere. */
extern void (*spw_guard_deliver)(void);

static inline void
spw_guard_enter(void)
{
	spw_guard.busy++;
	atomic_signal_fence(memory_order_seq_cst);
}

static inline void
spw_guard_leave(void)
{
	atomic_signal_fence(memory_order_seq_cst);
	if (--spw_guard.busy == 0 && __builtin_expect(spw_guard.pending, 0))
		spw_guard_deliver();
}

#endif
