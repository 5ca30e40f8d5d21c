/* SPDX-License-Identifier: BSD-3-Clause */
/* lane.h -- a thread's share of the segment, and what happens when it dies */
#ifndef SPW_SHM_LANE_H
#define SPW_SHM_LANE_H

#include "shm/guard.h"
#include "shm/pool.h"
#include "shm/seg.h"

/* Takes a lane for the calling thread, adopting dead ones on the way.
 * -EAGAIN: all lanes belong to living threads. */
int spw_lane_claim(struct spw_map *map, uint32_t proc, struct spw_me *ret_me);

/* Gives everything back; for a thread that ends in order. */
void spw_lane_release(struct spw_me *me);

uint32_t spw_lane_count(const struct spw_map *map);	/* ever used */

/* True when a thread held the lane and is gone. */
bool spw_lane_is_dead(struct spw_map *map, uint32_t lane_no);

/* Whether its thread is inside a file or holds a lock, at a glance. */
bool spw_lane_holds(struct spw_map *map, uint32_t lane_no);

/* Finishes a dead thread's work and frees its lane; false when it lives or
 * somebody else is at it. One that died in a truncation is left until the
 * drainer comes by, all locks but the file's gate open. */
bool spw_lane_adopt_if_dead(struct spw_me *me, uint32_t lane_no);

/* Adopts every dead lane there is; returns how many. No lock held. */
uint32_t spw_lane_adopt_all(struct spw_me *me);

/* The same of those that died in a write: what they had begun counts. */
void spw_lane_adopt_inside(struct spw_me *me);

/* Set by the drainer: cuts the file, home and here, as file.cut says. */
extern int (*spw_lane_finish_cut)(struct spw_me *me, uint32_t file);

/* Sum of all lanes' counters and of those that ended. */
void spw_lane_counters(struct spw_map *map, struct spw_counters *ret_sum);

/* Spare slots or blocks at hand, after an attempt to get at least want. */
uint32_t spw_lane_stock_slots(struct spw_me *me, uint32_t want);
uint32_t spw_lane_stock_blocks(struct spw_me *me, uint32_t want);

/* Between enter and leave the thread may take locks and publish; the file's
 * gate must be looked at after enter (spw_gate_pass does both). */
static inline void
spw_lane_enter(struct spw_me *me, uint32_t file)
{
	spw_guard_enter();
	/* Ordered before the look at the gate: the closer of a gate takes it
	 * first and looks at the lanes afterwards. */
	atomic_store_explicit(&me->lane->inside, file + 1,
			      memory_order_seq_cst);
}

static inline void
spw_lane_leave(struct spw_me *me)
{
	atomic_store_explicit(&me->lane->inside, 0, memory_order_release);
	spw_guard_leave();
}

/* Keeps a slot for the next write; the owner word says so first. */
static inline void
spw_lane_spare_slot(struct spw_me *me, uint32_t slot)
{
	struct spw_lane *lane = me->lane;

	if (lane->nslots >= SPW_SPARES) {
		spw_pool_give(me, SPW_POOL_SLOTS, slot);
		return;
	}
	atomic_store_explicit(&me->map->owners[SPW_POOL_SLOTS][slot],
			      SPW_OWNER(me->lane_no), memory_order_release);
	lane->slots[lane->nslots++] = slot;
}

#endif
