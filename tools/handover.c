/* SPDX-License-Identifier: BSD-3-Clause */
/* handover.c -- leaving a segment to somebody else, or removing it */
#include "tools/handover.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <unistd.h>

#include "planner/drain.h"
#include "shm/sys.h"
#include "tools/childenv.h"
#include "tools/library.h"
#include "tools/segments.h"

enum {
	WAIT_MS = 500,			/* for another run that stands by */
	AGENT_MS = 5000,
	SLICE_MS = 5,
};

static bool
is_gone(const struct spw_map *map)
{
	struct stat st;

	return spw_sys_fstatat(AT_FDCWD, map->path, &st,
			       AT_SYMLINK_NOFOLLOW) < 0 ||
	       !spw_seg_is(map, &st);
}

/* Whoever is last removes it: we look after we stopped draining, others look
 * after they parted, so one of us sees that nobody is left. */
static bool
remove_if_last(struct spw_map *map)
{
	struct spw_drain_left left;
	struct spw_drainer *d;
	bool removed;

	if (!spw_segment_is_deserted(map))
		return false;
	spw_drainer_left(map, &left);
	if (left.bytes != left.keeps ||
	    spw_drainer_start(map, SPW_HOST_RUN, &d) < 0)
		return false;
	removed = spw_drainer_finish(d, 0) == 0 &&
		  spw_segment_remove(map, d);
	spw_drainer_stop(d);
	return removed;
}

static bool
wait_for_drainer(const struct spw_map *map, int ms)
{
	for (; ms > 0; ms -= SLICE_MS) {
		if (spw_segment_has_drainer(map->path) || is_gone(map))
			return true;
		spw_sys_sleep_us(SLICE_MS * 1000);
	}
	return false;
}

static void
become_agent(const struct spw_map *map, const struct spw_child *c)
{
	char self[PATH_MAX];
	char *argv[] = { "spillway", "agent", "--segment", (char *)map->path,
			 NULL };
	char *preload = getenv("LD_PRELOAD");
	int null = open("/dev/null", O_RDWR);

	if (preload)
		spw_childenv_strip(preload);
	if (null < 0 || spw_library_self(self, sizeof(self)) < 0 ||
	    chdir("/") < 0)
		_exit(125);
	setsid();
	for (int fd = 0; fd < 3; fd++)
		dup2(null, fd);
	/* A pipe that we hold would keep its reader waiting. */
	if (close_range(3, ~0u, 0) < 0)
		for (int fd = 3; fd < sysconf(_SC_OPEN_MAX) && fd < 65536; fd++)
			close(fd);	/* before 5.9, or forbidden */
	spw_child_restore(c);
	execv(self, argv);
	_exit(125);
}

static bool
start_agent(const struct spw_map *map, const struct spw_child *c,
	    pid_t *ret_agent)
{
	pid_t pid = fork();

	if (pid == 0)
		become_agent(map, c);
	if (pid < 0 || !wait_for_drainer(map, AGENT_MS))
		return false;
	*ret_agent = pid;
	return true;
}

enum spw_handover
spw_hand_over(struct spw_map *map, const struct spw_child *c,
	      pid_t *ret_agent)
{
	struct spw_segment_folk folk;

	if (is_gone(map) || remove_if_last(map))
		return SPW_REMOVED;
	spw_segment_count(map, &folk);
	if (folk.runs && wait_for_drainer(map, WAIT_MS))
		return is_gone(map) ? SPW_REMOVED : SPW_TAKEN_OVER;
	if (is_gone(map) || remove_if_last(map))
		return SPW_REMOVED;
	if (spw_segment_has_drainer(map->path))
		return SPW_TAKEN_OVER;
	return start_agent(map, c, ret_agent) ? SPW_AGENT_STARTED
					      : SPW_LEFT_ALONE;
}

enum spw_handover
spw_hand_over_at_exit(struct spw_map *map, const struct spw_child *c,
		      pid_t *ret_agent)
{
	return start_agent(map, c, ret_agent) ? SPW_AGENT_STARTED
					      : SPW_LEFT_ALONE;
}
