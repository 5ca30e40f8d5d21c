/* SPDX-License-Identifier: BSD-3-Clause */
/* crash-cast.c -- who plays: writers, a drainer, and the one who watches */
#include "tests/crash-cast.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "planner/drainer.h"
#include "shm/failpoint.h"
#include "shm/sys.h"
#include "shm/util.h"

enum { PATIENCE_MS = 60000, HOME_EACH = 64, GREED = 4 };

struct crash_ledger *cast_ledger;
struct spw_map cast_map;
pid_t cast_writer[CRASH_WRITERS], cast_drainer;
uint64_t cast_rng;
unsigned cast_kills;
uint64_t cast_down, cast_up;
const char *cast_below;

void
cast_die(const char *what, unsigned long n)
{
	printf("crash: %s (%lu)\n", what, n);
	for (int i = 0; i < CRASH_WRITERS; i++) {
		printf("writer %d: pid %d, phase %u, kind %u, seq %lu, "
		       "off %lu, len %lu, %lu ops\n", i, cast_writer[i],
		       atomic_load(&cast_ledger->writer[i].phase),
		       cast_ledger->writer[i].kind,
		       (unsigned long)cast_ledger->writer[i].seq,
		       (unsigned long)cast_ledger->writer[i].off,
		       (unsigned long)cast_ledger->writer[i].len,
		       (unsigned long)cast_ledger->writer[i].ops);
	}
	fflush(stdout);
	if (getenv("CRASH_PAUSE"))
		pause();
	for (int i = 0; i < CRASH_WRITERS; i++)
		if (cast_writer[i])
			kill(cast_writer[i], SIGKILL);
	if (cast_drainer)
		kill(cast_drainer, SIGKILL);
	exit(1);
}

static pid_t
start(void (*body)(int), int arg, const char *point)
{
	pid_t pid = fork();

	if (pid < 0)
		cast_die("fork", (unsigned long)errno);
	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
#ifdef SPW_FAILPOINTS
	spw_failpoint_set(point ? point : "");
#else
	(void)point;
#endif
	body(arg);
	_exit(0);
}

static void
write_for_ever(int no)
{
	struct crash_door *door = crash_core_door(&cast_map, no);

	if (!door)
		atomic_store(&cast_ledger->bad, 1);
	while (door && !atomic_load(&cast_ledger->bad)) {
		while (!atomic_load(&cast_ledger->go)) {
			atomic_store(&cast_ledger->parked[no], 1);
			spw_sys_futex_wait(&cast_ledger->go, 0, 1000);
		}
		atomic_store(&cast_ledger->parked[no], 0);
		if (crash_step(cast_ledger, no, door) < 0)
			atomic_store(&cast_ledger->bad, 1);
	}
	fflush(stdout);
}

/* As if memory were always short and home far away. */
static void
push_down(struct spw_drainer *d, uint32_t *asks)
{
	spw_attend(d);
	(void)spw_spill(d, 64);
	for (int i = 0; i < GREED; i++)
		spw_evict(d, true);
	if (atomic_load(&cast_map.seg->asks) != *asks) {
		*asks = atomic_load(&cast_map.seg->asks);
		(void)spw_pass(d, true);
	}
}

static void
drain_for_ever(int host)
{
	struct spw_drainer *d;
	uint32_t round = 0, asks = 0;

	while (spw_drainer_start(&cast_map, (enum spw_drainer_host)host, &d) < 0)
		spw_sys_sleep_us(200);
	atomic_store(&cast_ledger->serving, 1);
	for (;;) {
		if (!atomic_load(&cast_ledger->finish)) {
			if (cast_below && ++round % HOME_EACH)
				push_down(d, &asks);
			else
				(void)spw_drainer_serve(d, 2);
			continue;
		}
		if (!atomic_load(&cast_ledger->finished))
			atomic_store(&cast_ledger->finished,
				     spw_drainer_finish(d, 10000) ? 2 : 1);
		spw_sys_futex_wait(&cast_ledger->finish, 1, 100);
	}
}

void
cast_kill(pid_t *pid)
{
	if (!*pid)
		return;
	kill(*pid, SIGKILL);
	waitpid(*pid, NULL, 0);
	*pid = 0;
	cast_kills++;
}

/* Signals first, so that all die in the same moment. */
void
cast_kill_all(bool drainer_too)
{
	for (int i = 0; i < CRASH_WRITERS; i++)
		if (cast_writer[i])
			kill(cast_writer[i], SIGKILL);
	if (drainer_too && cast_drainer)
		kill(cast_drainer, SIGKILL);
	for (int i = 0; i < CRASH_WRITERS; i++)
		cast_kill(&cast_writer[i]);
	if (drainer_too)
		cast_kill(&cast_drainer);
}

static void
wait_for(_Atomic uint32_t *word, const char *what, unsigned long n)
{
	int64_t since = spw_now_ms();

	while (!atomic_load(word)) {
		if (spw_now_ms() - since > PATIENCE_MS)
			cast_die(what, n);
		if (atomic_load(&cast_ledger->bad))
			cast_die("a process found something wrong", n);
		spw_sys_sleep_us(50);
	}
}

void
cast_rest(void)
{
	atomic_store(&cast_ledger->go, 0);
	for (int i = 0; i < CRASH_WRITERS; i++)
		if (cast_writer[i])
			wait_for(&cast_ledger->parked[i], "writer hangs",
				 (unsigned long)i);
}

void
cast_bring_home(void)
{
	wait_for(&cast_ledger->serving, "no drainer starts", 0);
	atomic_store(&cast_ledger->finished, 0);
	atomic_store(&cast_ledger->finish, 1);
	wait_for(&cast_ledger->finished, "drainer does not finish", 0);
	if (atomic_load(&cast_ledger->finished) != 1)
		crash_show_left(&cast_map);
	if (atomic_load(&cast_ledger->finished) != 1)
		cast_die("something cannot be brought home", 0);
}

/* In this process, as `spillway recover` does it. */
void
cast_recover(void)
{
	struct spw_drainer *d;
	int r = spw_drainer_start(&cast_map, SPW_HOST_RECOVER, &d);

	if (r < 0)
		cast_die("recovery cannot start", (unsigned long)-r);
	r = spw_drainer_finish(d, 10000);
	spw_drainer_stop(d);
	if (r < 0)
		cast_die("recovery leaves something", (unsigned long)-r);
}

void
cast_check(unsigned long round)
{
	if (!crash_check(cast_ledger))
		cast_die("a promise was broken in round", round);
	if (!crash_audit(&cast_map))
		cast_die("the segment is not consistent in round", round);
}

void
cast_hire(const char *point)
{
	if (cast_drainer)
		return;
	atomic_store(&cast_ledger->serving, 0);
	cast_drainer = start(drain_for_ever, SPW_HOST_RUN, point);
}

void
cast_engage(int no, const char *point)
{
	if (cast_writer[no])
		return;
	atomic_store(&cast_ledger->parked[no], 0);
	cast_writer[no] = start(write_for_ever, no, point);
}

void
cast_go(void)
{
	atomic_store(&cast_ledger->finish, 0);
	atomic_store(&cast_ledger->go, 1);
	spw_sys_futex_wake(&cast_ledger->go, INT_MAX);
}

void
cast_begin(const char *dir)
{
	struct spw_seg_request req = {
		.dir = dir, .job = "crash", .bytes = 4 << 20,
		.made = SPW_MADE_TO_READ,	/* the rest comes as it grows */
		.delay_ms = (uint32_t)(crash_random(&cast_rng) % 4),
		.workers = (uint32_t)(crash_random(&cast_rng) % 3),
	};
	char name[32], tiers[PATH_MAX];
	int r;

	if (cast_below) {
		snprintf(tiers, sizeof(tiers), "nvme:%s@64M%s", cast_below,
			 crash_random(&cast_rng) % 2 ? "+lz4" : "");
		req.tiers = tiers;
		req.below = 64 << 20;
		req.bytes = 1 << 19;
	}
	crash_ledger_clear(cast_ledger);
	for (int i = 0; i < CRASH_WRITERS; i++)
		for (int which = 0; which < CRASH_FILES; which++) {
			int fd;

			crash_name(name, which, i);
			if (i == 0 || which == CRASH_FILE_OWN)
				unlink(name);
			fd = open(name, O_RDWR | O_CREAT, 0600);
			if (fd < 0)
				cast_die("open", (unsigned long)errno);
			close(fd);
		}
	r = spw_seg_create(&req, &cast_map);
	if (r < 0)
		cast_die("no segment", (unsigned long)-r);
}

static int
remove_share(const char *path, const struct stat *st, int type,
	     struct FTW *ftw)
{
	(void)st;
	(void)type;
	return ftw->level ? remove(path) : 0;
}

void
cast_end(void)
{
	unsigned done = cast_kills;

	if (cast_drainer)
		cast_kill_all(true);
	cast_kills = done;			/* these came to a stop before */
	cast_down += atomic_load(&cast_map.seg->bytes_down);
	cast_up += atomic_load(&cast_map.seg->bytes_up);
	unlink(cast_map.path);
	spw_seg_detach(&cast_map);
	if (cast_below)
		(void)nftw(cast_below, remove_share, 8,
			   FTW_DEPTH | FTW_PHYS);
}
