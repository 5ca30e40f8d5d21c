/* SPDX-License-Identifier: BSD-3-Clause */
/* lock.c -- waiting for a lock whose owner may be gone */
#include "shm/lock.h"

#include "shm/gate.h"
#include "shm/lane.h"

enum { SPINS = 200, WAIT_MS = 2 };

/* A lane that holds a lock is in use, and no thread waits for itself or for
 * one whose locks it is just releasing. So this word is a bad one, from a
 * damaged segment, and nobody will clear it. */
static bool
names_nobody(const struct spw_me *me, uint32_t owner)
{
	uint32_t no = owner - 1;

	for (const struct spw_estate *e = me->estates; e; e = e->next)
		if (e->lane_no == no)
			return true;
	return no == me->lane_no || no >= spw_lane_count(me->map) ||
	       atomic_load(&me->map->lanes[no].state) != SPW_LANE_USED;
}

void
spw_lock_slow(struct spw_me *me, struct spw_lock *lock)
{
	uint64_t word;
	uint32_t owner;

	for (int i = 0; i < SPINS; i++) {
		if (!spw_lock_owner(lock))
			return;
		spw_pause();
	}
	word = spw_lock_word(lock);
	owner = (uint32_t)word;
	if (!owner)
		return;
	if (names_nobody(me, owner)) {
		/* Changed since we read it: then it was not bad. */
		atomic_compare_exchange_strong(&lock->word, &word,
					       ((word >> 32) + 1) << 32);
		return;
	}
	if (spw_lane_adopt_if_dead(me, owner - 1))
		return;
	/* Dead and not to be adopted: its file waits for the drainer. */
	if (spw_gate_need_drainer && spw_lane_is_dead(me->map, owner - 1))
		(void)spw_gate_need_drainer(me->map);
	atomic_store_explicit(&lock->waiters, 1, memory_order_seq_cst);
	spw_sys_futex_wait((const _Atomic uint32_t *)&lock->word, owner,
			   WAIT_MS);
}

static bool
is_known(const struct spw_patience *p, const struct spw_lock *lock)
{
	uint64_t word = spw_lock_word(lock);

	for (int i = 0; i < SPW_PATIENCE_KNOWN; i++)
		if (p->known[i].lock == lock && p->known[i].word == word)
			return true;
	return false;
}

static void
get_to_know(struct spw_patience *p, const struct spw_lock *lock)
{
	uint32_t i = p->next++ % SPW_PATIENCE_KNOWN;

	p->known[i].lock = lock;
	p->known[i].word = spw_lock_word(lock);
}

bool
spw_lock_await(struct spw_me *me, enum spw_lock_class class,
	       struct spw_lock *lock)
{
	int64_t since = me->patience ? spw_now_ms() : 0;

	if (me->patience && is_known(me->patience, lock))
		return false;
	while (!spw_lock_try(me, class, lock)) {
		spw_lock_slow(me, lock);
		if (me->patience && spw_now_ms() - since > SPW_PATIENCE_MS) {
			get_to_know(me->patience, lock);
			return false;
		}
	}
	return true;
}
