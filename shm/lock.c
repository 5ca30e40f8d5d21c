/* SPDX-License-Identifier: BSD-3-Clause */
/* lock.c -- waiting for a lock whose owner may be gone */
#include "shm/lock.h"

#include "shm/gate.h"
#include "shm/lane.h"

enum { SPINS = 200, WAIT_MS = 2 };

void
spw_lock_slow(struct spw_me *me, struct spw_lock *lock)
{
	uint32_t owner;

	for (int i = 0; i < SPINS; i++) {
		if (!spw_lock_owner(lock))
			return;
		spw_pause();
	}
	owner = spw_lock_owner(lock);
	if (!owner)
		return;
	if (spw_lane_adopt_if_dead(me, owner - 1))
		return;
	/* Dead and not to be adopted: its file waits for the drainer. */
	if (spw_gate_need_drainer && spw_lane_is_dead(me->map, owner - 1))
		(void)spw_gate_need_drainer(me->map);
	atomic_store_explicit(&lock->waiters, 1, memory_order_seq_cst);
	spw_sys_futex_wait((const _Atomic uint32_t *)&lock->word, owner,
			   WAIT_MS);
}
