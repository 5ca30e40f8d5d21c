/* SPDX-License-Identifier: BSD-3-Clause */
/* spin.h -- a short wait without sleep, where that was worth it lately */
#ifndef SPW_SHM_SPIN_H
#define SPW_SHM_SPIN_H

#include <sched.h>
#include <stdatomic.h>

#include "shm/util.h"

/*
 * To be woken takes longer than a small write. A wait that is often over soon
 * begins with some looks, between which the processor is everybody's. When it
 * was in vain, or others took the processor, the next ones are left out: one,
 * then two, four and so on. For whom it is the others that are waited for, they
 * may take it for longer, though not for longer than a sleep would have cost.
 */
struct spw_spin {
	uint16_t skip, skips;		/* how many, and how many next time */
};

enum { SPW_SPIN_NS = 60000, SPW_SPIN_SHARED_NS = 5000, SPW_SPIN_SKIPS = 64 };

static inline bool
spw_spin_for(struct spw_spin *s, const _Atomic uint32_t *count, uint32_t high,
	     int64_t shared_ns)
{
	int64_t since = spw_now_ns(), now = since, last;
	bool over = false;

	if (s->skip) {
		s->skip--;
		return (int32_t)(atomic_load(count) - high) >= 0;
	}
	do {
		last = now;
		over = (int32_t)(atomic_load(count) - high) >= 0;
		if (!over)
			(void)sched_yield();
		now = spw_now_ns();
	} while (!over && now - since < SPW_SPIN_NS && now - last < shared_ns);
	if (over) {
		s->skips = 0;
	} else {
		s->skips = (uint16_t)SPW_MIN(2 * s->skips + 1, SPW_SPIN_SKIPS);
		s->skip = s->skips;
	}
	return over || (int32_t)(atomic_load(count) - high) >= 0;
}

/* Until the count is that high. False: sleep now, if you must. */
static inline bool
spw_spin(struct spw_spin *s, const _Atomic uint32_t *count, uint32_t high)
{
	return spw_spin_for(s, count, high, SPW_SPIN_SHARED_NS);
}

/* The same, for those who will raise it and have to run for that. */
static inline bool
spw_spin_among(struct spw_spin *s, const _Atomic uint32_t *count,
	       uint32_t high)
{
	return spw_spin_for(s, count, high, SPW_SPIN_NS);
}

#endif
