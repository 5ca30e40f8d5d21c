/* SPDX-License-Identifier: BSD-3-Clause */
/* unit-proc-reap.c -- the record of a child is never taken for a dead one's, and
 * none is had of a segment that was removed */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "shm/lane.h"
#include "shm/proc.h"

enum { FORKS = 300 };

static struct spw_map map;
static struct spw_me me;

static void
check(bool fine, const char *what)
{
	if (fine)
		return;
	fprintf(stderr, "unit-proc-reap: %s\n", what);
	abort();
}

/* Looks at the record while a child makes it its own. */
static void
watch_settling(uint32_t parent)
{
	for (int i = 0; i < FORKS; i++) {
		uint32_t child;
		int status;
		pid_t pid;

		check(spw_proc_copy(&me, parent, &child) == 0, "no record");
		pid = fork();
		check(pid >= 0, "fork");
		if (pid == 0) {
			usleep((useconds_t)(i % 50));
			spw_proc_settle_in(&map, child);
			usleep(500);
			_exit(0);
		}
		while (waitpid(pid, &status, WNOHANG | WNOWAIT) == 0 &&
		       spw_proc_start_time((uint32_t)pid))
			check(spw_proc_is_alive(&map, child) ||
			      !spw_proc_start_time((uint32_t)pid),
			      "a living child was called dead");
		waitpid(pid, &status, 0);
		spw_proc_release(&me, child);
	}
}

/* A parent that ends before its child has settled in. */
static void
outlive_parent(void)
{
	uint32_t *child = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
			       MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int ready[2], go[2];
	char byte;

	check(pipe(ready) == 0 && pipe(go) == 0, "pipe");
	if (fork() == 0) {
		uint32_t parent;

		check(spw_proc_claim(&map, &parent) == 0, "no record");
		check(spw_proc_copy(&me, parent, child) == 0, "no record");
		if (fork() == 0) {
			alarm(60);	/* not longer than the test */
			check(read(go[0], &byte, 1) == 1, "read");
			spw_proc_settle_in(&map, *child);
			check(write(ready[1], "", 1) == 1, "write");
			pause();
		}
		_exit(0);
	}
	wait(NULL);
	for (int i = 0; i < 3; i++)
		check(spw_proc_reap(&me) == 2, "the record of a child to be "
		      "went with its parent");
	check(write(go[1], "", 1) == 1 && read(ready[0], &byte, 1) == 1,
	      "pipe");
	check(spw_proc_is_alive(&map, *child), "the child does not count");
	kill((pid_t)map.procs[*child].pid, SIGKILL);
	for (int i = 0; i < 1000 && spw_proc_is_alive(&map, *child); i++)
		usleep(1000);
	check(spw_proc_reap(&me) == 1, "the dead are not reaped");
}

/* Who has no descriptor left to look at the others takes none of them for
 * dead, but for those that are. */
static void
reap_blindly(void)
{
	struct rlimit limit, none;
	uint32_t child;
	pid_t pid;

	check(spw_proc_claim(&map, &child) == 0, "no record");
	pid = fork();
	check(pid >= 0, "fork");
	if (pid == 0) {
		spw_proc_settle_in(&map, child);
		pause();
	}
	while (map.procs[child].pid != (uint32_t)pid || !map.procs[child].start)
		usleep(1000);
	check(getrlimit(RLIMIT_NOFILE, &limit) == 0, "getrlimit");
	none = (struct rlimit){ 0, limit.rlim_max };
	check(setrlimit(RLIMIT_NOFILE, &none) == 0, "setrlimit");
	check(spw_proc_reap(&me) == 2, "one who was not looked at is dead");
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	check(spw_proc_reap(&me) == 1, "one who is gone is not reaped");
	check(setrlimit(RLIMIT_NOFILE, &limit) == 0, "setrlimit");
}

/* The table is full, and the segment has gone: another one is to be joined. */
static void
join_removed(void)
{
	uint32_t proc;
	int r;

	while ((r = spw_proc_claim(&map, &proc)) == 0)
		;
	check(r == -ESTALE, "not told that the segment was removed");
}

int
main(void)
{
	char shm[] = "/dev/shm/spillway-unit.XXXXXX", place[SPW_SEG_PATH_MAX];
	const char *at = mkdtemp(shm) ? shm : ".";
	struct spw_seg_request req = { .dir = at, .job = "reap",
				       .bytes = 4 << 20 };
	uint32_t proc;

	check(spw_seg_create(&req, &map) == 0, "no segment");
	check(spw_lane_claim(&map, SPW_NONE, &me) == 0, "no lane");
	check(spw_proc_claim(&map, &proc) == 0, "no record");
	usleep(30000);			/* children start in another tick */
	watch_settling(proc);
	outlive_parent();
	reap_blindly();
	(void)unlink(map.path);
	join_removed();
	if (spw_seg_path(at, NULL, place, sizeof(place)) == 0)
		(void)rmdir(place);
	(void)rmdir(shm);
	return 0;
}
