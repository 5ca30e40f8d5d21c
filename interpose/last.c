/* SPDX-License-Identifier: BSD-3-Clause */
/* last.c -- the last process of a job that has no agent removes the segment */

/*
 * An agent, or the run, outlives the programs and removes what they leave. A
 * drainer that is a thread ends with its process, and programs that wrote
 * nothing never had one. So the last process closes the segment: no file is
 * managed any more, and those that are become the kernel's, whatever threads
 * and destructors still do with them. Then nothing in it is needed. One that
 * was killed leaves it to the next process of the job, or to `spillway
 * recover`.
 */
#include <errno.h>

#include "interpose/agent.h"
#include "interpose/leave.h"
#include "shm/claims.h"
#include "shm/failpoint.h"
#include "shm/proc.h"

/* Of several that end together each lives until the others have looked: so who
 * is not the last says that it is leaving. */
static bool
is_last(const struct spw_map *map)
{
	uint32_t pid = (uint32_t)spw_sys_getpid();

	if (atomic_load(&map->procs[spw_front.proc].pid) != pid)
		return false;		/* a guest in its parent's memory */
	if (!spw_proc_any_other(map, pid))
		return true;
	spw_proc_leave(map, pid);
	return false;
}

/* Who opened a file before it was closed has its record in place afterwards.
 * Who makes memory for buckets only now finds it closed. */
static void
wait_for_openers(struct spw_me *me)
{
	for (uint32_t i = 0; i <= me->map->fbucket_mask / 16; i++) {
		struct spw_lock *lock = &me->map->fbucket_locks[i];

		if (!spw_seg_has_fbucket(me->map, i * 16))
			continue;
		spw_lock(me, SPW_LOCK_FBUCKET, lock);
		spw_unlock(lock);
	}
}

static bool
leave_all(struct spw_me *me)
{
	struct spw_map *map = me->map;
	uint32_t ready = spw_seg_ready(map, SPW_POOL_FILES);

	for (uint32_t i = 0; i < ready; i++) {
		struct spw_file *f = &map->files[i];

		if (!(atomic_load(&map->owners[SPW_POOL_FILES][i]) &
		      SPW_IN_USE))
			continue;
		if (!atomic_load(&f->opens) &&
		    atomic_load(&f->flags) & SPW_FILE_UNLINKED)
			continue;	/* nobody can ask for it */
		if (spw_leave_file(me, i, SPW_BYPASS_EXEC) < 0 ||
		    spw_file_is_unsettled(f))
			return false;
	}
	return true;
}

bool
spw_agent_end_job(void)
{
	struct spw_map *map = &spw_front.map;
	struct spw_me *me = spw_front_me();
	bool gone = false;
	int fd = me ? spw_proc_shut_out(map) : -EINVAL;

	if (fd == -EAGAIN)		/* he who is at it does not see us */
		spw_proc_leave(map, (uint32_t)spw_sys_getpid());
	if (fd < 0)
		return false;
	spw_guard_enter();
	if (is_last(map)) {
		atomic_store(&map->seg->closed, 1);
		wait_for_openers(me);
		gone = leave_all(me) && spw_sys_unlink(map->path) == 0;
		if (gone)
			spw_claims_part(map);
		else
			atomic_store(&map->seg->closed, 0);
	}
	spw_proc_let_in(map, fd);
	SPW_FAILPOINT("job-left");
	spw_guard_leave();
	return gone;
}
