/* SPDX-License-Identifier: BSD-3-Clause */
/* gate.h -- closing a file for a moment: settle, drop, cut, hand over */
#ifndef SPW_SHM_GATE_H
#define SPW_SHM_GATE_H

#include "shm/files.h"
#include "shm/lane.h"
#include "shm/lock.h"

/* Goes inside the file, waiting while its gate is closed. Ends with
 * spw_lane_leave. */
static inline void
spw_gate_pass(struct spw_me *me, uint32_t file)
{
	struct spw_file *f = &me->map->files[file];

	spw_lane_enter(me, file);
	while (SPW_UNLIKELY(atomic_load_explicit(&f->gate.word,
						 memory_order_seq_cst) &
			    UINT32_MAX)) {
		spw_lane_leave(me);
		spw_lock_slow(me, &f->gate);
		spw_lane_enter(me, file);
	}
}

/* Closes the gate and waits until nobody publishes in the file. The holder
 * may call the kernel, and may not pass gates. Signals stay deferred. */
void spw_gate_close(struct spw_me *me, uint32_t file);
/* The drainer's; false: somebody else has it, or is inside. */
bool spw_gate_try_close(struct spw_me *me, uint32_t file);
void spw_gate_open(struct spw_me *me, uint32_t file);

/* Keeps the drainer away from the file and waits for what it is writing
 * right now. With the gate closed. */
void spw_gate_hold(struct spw_me *me, uint32_t file);
void spw_gate_unhold(struct spw_me *me, uint32_t file);

/* Asks the drainer to bring everything written so far home and waits.
 * 0, or the negative errno of the write-back. -ENODEV: there is no drainer
 * and none can be had (see spw_gate_need_drainer). */
int spw_gate_settle(struct spw_me *me, uint32_t file);

/* The same before somebody changes home by himself: afterwards no tier has
 * older bytes either, that would be put over his when the power is back. */
int spw_gate_hand_over(struct spw_me *me, uint32_t file);

/* Makes everything written so far safe from loss of power, in a tier that
 * survives it. -ENOTSUP: there is none; other errors: it could not; settle
 * and sync home then. */
int spw_gate_sync(struct spw_me *me, uint32_t file);

/* The drainer's answer to that: says it, and returns the bit to tell it by to
 * who sleeps. All who are answered together are told by one call: each would
 * take the processor from who wakes him otherwise. */
uint32_t spw_gate_synced(struct spw_map *map, uint32_t file, uint32_t ticket,
			 int err);
void spw_gate_tell_synced(struct spw_map *map, uint32_t bits);

/* Settles with a drainer's round in any case: afterwards it does not hold
 * open a file that is executable, or left for a lease, or of which nothing is
 * cached and nobody has it open, unless somebody writes to it. */
int spw_gate_ask(struct spw_me *me, uint32_t file);

/* Called when something needs a drainer and none serves: starts one, or
 * returns a negative errno. Set by the front; the back has none. */
extern int (*spw_gate_need_drainer)(struct spw_map *map);

/* Where none can be had, the one who waits does its work. */
extern int (*spw_gate_drain_here)(struct spw_map *map);

/* Drops all blocks whose number is at least first. What is dirty there is
 * gone. Gate closed and drainer held, or nothing dirty. False, for those with
 * patience only: not all, and it can be repeated. */
bool spw_gate_drop(struct spw_me *me, uint32_t file, uint64_t first);

/* Forgets everything at and after size, blocks and ranges; gate closed,
 * drainer held. Sets file.size, unless it returns false, as above. */
bool spw_gate_cut(struct spw_me *me, uint32_t file, uint64_t size);

/* Truncates: the kernel's part is truncate(arg), 0 or a negative errno; it
 * sets file.wtime to what home has then. Who dies in here has either not begun
 * or is finished by the drainer. */
int spw_gate_resize(struct spw_me *me, uint32_t file, uint64_t size,
		    int (*truncate)(void *arg), void *arg);

/* Wakes the drainer if it sleeps; one load when it does not. */
void spw_gate_wake_slow(struct spw_map *map);

static inline void
spw_gate_wake(struct spw_map *map)
{
	if (SPW_UNLIKELY(atomic_load_explicit(&map->seg->wake,
					      memory_order_relaxed) <=
			 SPW_DRAINER_ASLEEP))
		spw_gate_wake_slow(map);
}

/* Wakes it even if it only waits for its delay to pass; spw_gate_rouse, for
 * those who work for it, only if it is there. */
void spw_gate_hurry(struct spw_map *map);
void spw_gate_rouse(void *map);

/* Before somebody may append to the file: from now on who moves its end holds
 * file.append, as appenders do, so that none of them finds an end that is not
 * there any more. */
void spw_gate_appends(struct spw_me *me, uint32_t file);

/* Waits up to ms for slots to come free; false when none did. */
bool spw_gate_wait_room(struct spw_me *me, int ms);

#endif
