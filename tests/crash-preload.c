/* SPDX-License-Identifier: BSD-3-Clause */
/* crash-preload.c -- kill -9 of preloaded programs, their agent, all of them */

/*
 * crash-preload SPILLWAY LIBRARY KILLS [SEED]: writers are ordinary programs
 * (this one, started again) under LD_PRELOAD that know nothing but write,
 * pwrite, ftruncate and pread; the drainer is the agent they start. After
 * each strike the command brings everything home, `drain` while some writers
 * live, `recover` when none does, and the ledger is compared.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "shm/lane.h"
#include "shm/proc.h"
#include "shm/sys.h"
#include "shm/util.h"
#include "tests/crash.h"

enum { PATIENCE_MS = 60000, EPOCH = 8 };

enum kill_kind { ONE_WRITER, ALL_WRITERS, AGENT, EVERYBODY, KILL_KINDS };

static const char *const kind_names[KILL_KINDS] = {
	"one writer", "all writers", "the agent", "everybody",
};

static struct crash_ledger *ledger;
static const char *self, *command, *library;
static char ledger_fd[16];
static pid_t writer[CRASH_WRITERS];
static uint64_t rng, cached;
static unsigned kills, rounds[KILL_KINDS];

struct posix_door {
	struct crash_door door;
	int fd[CRASH_FILES];
};

static int
posix_write(struct crash_door *door, int which, const void *buf, uint64_t n,
	    uint64_t off)
{
	struct posix_door *p = (struct posix_door *)door;

	return pwrite(p->fd[which], buf, n, (off_t)off) == (ssize_t)n ? 0 : -1;
}

static int
posix_append(struct crash_door *door, const void *buf, uint64_t n)
{
	struct posix_door *p = (struct posix_door *)door;

	return write(p->fd[CRASH_FILE_APPEND], buf, n) == (ssize_t)n ? 0 : -1;
}

static int
posix_cut(struct crash_door *door, uint64_t size)
{
	struct posix_door *p = (struct posix_door *)door;

	return ftruncate(p->fd[CRASH_FILE_OWN], (off_t)size);
}

static int
posix_read(struct crash_door *door, int which, void *buf, uint64_t n,
	   uint64_t off, uint64_t *ret_n)
{
	struct posix_door *p = (struct posix_door *)door;
	ssize_t got = pread(p->fd[which], buf, n, (off_t)off);

	if (got < 0)
		return -1;
	*ret_n = (uint64_t)got;
	return 0;
}

static int
be_writer(int no)
{
	struct posix_door p = {
		.door = { posix_write, posix_append, posix_cut, posix_read,
			  NULL },
	};
	char name[32];

	for (int i = 0; i < CRASH_FILES; i++) {
		crash_name(name, i, no);
		p.fd[i] = open(name, O_RDWR | (i == CRASH_FILE_APPEND
					       ? O_APPEND : 0));
		if (p.fd[i] < 0)
			return 1;
	}
	while (!atomic_load(&ledger->bad)) {
		while (!atomic_load(&ledger->go)) {
			atomic_store(&ledger->parked[no], 1);
			spw_sys_futex_wait(&ledger->go, 0, 1000);
		}
		atomic_store(&ledger->parked[no], 0);
		if (crash_step(ledger, no, &p.door) < 0) {
			printf("writer %d: %s\n", no, strerror(errno));
			atomic_store(&ledger->bad, 1);
		}
	}
	return 1;
}

static void
die(const char *what, unsigned long n)
{
	printf("%s (%lu)\n", what, n);
	fflush(stdout);
	for (int i = 0; i < CRASH_WRITERS; i++)
		if (writer[i])
			kill(writer[i], SIGKILL);
	exit(1);
}

static void
engage(int no)
{
	char number[4] = { (char)('0' + no) };

	if (writer[no])
		return;
	atomic_store(&ledger->parked[no], 0);
	writer[no] = fork();
	if (writer[no] < 0)
		die("fork", (unsigned long)errno);
	if (writer[no])
		return;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	setenv("LD_PRELOAD", library, 1);
	execl(self, self, "--write", ledger_fd, number, (char *)NULL);
	_exit(127);
}

/* Runs the command with two words, for whatever jobs there are; its
 * status. */
static int
run(const char *verb, const char *flag)
{
	int null, status = 0;
	pid_t pid = fork();

	if (pid == 0) {
		null = open("/dev/null", O_WRONLY);
		dup2(null, STDOUT_FILENO);
		if (strcmp(verb, "recover"))
			dup2(null, STDERR_FILENO);
		unsetenv("SPILLWAY_JOB");
		execl(command, command, verb, flag, (char *)NULL);
		_exit(127);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		die("fork", (unsigned long)errno);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
}

static void
wait_for(_Atomic uint32_t *word, const char *what, unsigned long n)
{
	int64_t since = spw_now_ms();

	while (!atomic_load(word)) {
		if (spw_now_ms() - since > PATIENCE_MS)
			die(what, n);
		if (atomic_load(&ledger->bad))
			die("a writer found something wrong", n);
		spw_sys_sleep_us(50);
	}
}

static void
strike_writer(int no)
{
	if (!writer[no])
		return;
	kill(writer[no], SIGKILL);
	waitpid(writer[no], NULL, 0);
	writer[no] = 0;
	kills++;
}

/* The agent is found through the segment it serves. */
static uint32_t
agent_pid(void)
{
	char path[SPW_SEG_PATH_MAX];
	struct spw_counters sum;
	struct spw_map map;
	uint32_t pid;

	if (spw_seg_path(getenv("SPILLWAY_SHM_DIR"), getenv("SPILLWAY_JOB"),
			 path, sizeof(path)) < 0 ||
	    spw_seg_attach(path, &map) < 0)
		return 0;
	spw_lane_counters(&map, &sum);
	cached += sum.bytes_written;
	pid = atomic_load(&map.seg->drainer_pid);
	spw_seg_detach(&map);
	return spw_proc_start_time(pid) ? pid : 0;
}

static void
strike_agent(void)
{
	uint32_t pid = agent_pid();

	if (pid > 1 && kill((pid_t)pid, SIGKILL) == 0)
		kills++;
}

static void
strike(enum kill_kind kind)
{
	rounds[kind]++;
	if (kind == AGENT || kind == EVERYBODY)
		strike_agent();
	if (kind == ONE_WRITER)
		strike_writer((int)(crash_random(&rng) % CRASH_WRITERS));
	if (kind == ALL_WRITERS || kind == EVERYBODY) {
		for (int i = 0; i < CRASH_WRITERS; i++)
			if (writer[i])
				kill(writer[i], SIGKILL);
		for (int i = 0; i < CRASH_WRITERS; i++)
			strike_writer(i);
	}
}

/* An agent that lives, or that was started and is not in office yet, brings
 * it home and has to be waited for; what is dead is recovered. */
static void
bring_home(enum kill_kind kind, unsigned long round)
{
	bool alone = kind == ALL_WRITERS || kind == EVERYBODY;

	for (int i = 0; run("drain", "--wait") ||
	     (alone && run("recover", "-y")); i++) {
		if (i == 200)
			die("bytes cannot be brought home in round", round);
		spw_sys_sleep_us(20000);
	}
	if (alone && run("recover", "-y"))
		die("a second recover fails in round", round);
}

static void
play_round(unsigned long round)
{
	enum kill_kind kind = crash_random(&rng) % KILL_KINDS;

	for (int i = 0; i < CRASH_WRITERS; i++)
		engage(i);
	for (int i = 0; i < CRASH_WRITERS; i++)
		wait_for(&ledger->parked[i], "a writer does not start",
			 (unsigned long)i);
	atomic_store(&ledger->go, 1);
	spw_sys_futex_wake(&ledger->go, INT_MAX);
	spw_sys_sleep_us((long)(500 + crash_random(&rng) % 30000));
	strike(kind);
	spw_sys_sleep_us((long)(crash_random(&rng) % 2000));
	atomic_store(&ledger->go, 0);
	for (int i = 0; i < CRASH_WRITERS; i++)
		if (writer[i])
			wait_for(&ledger->parked[i], "a writer hangs",
				 (unsigned long)i);
	bring_home(kind, round);
	if (!crash_check(ledger)) {
		printf("killed: %s\n", kind_names[kind]);
		die("a promise was broken in round", round);
	}
}

/* Programs that go on writing see to a new agent, without fsync or close. */
static void
outlive_agent(void)
{
	int64_t since = spw_now_ms();
	uint32_t first = 0, next = 0;

	for (int i = 0; i < CRASH_WRITERS; i++)
		engage(i);
	atomic_store(&ledger->go, 1);
	spw_sys_futex_wake(&ledger->go, INT_MAX);
	while (!next || next == first) {
		if (spw_now_ms() - since > PATIENCE_MS)
			die("nobody starts a new agent", first);
		next = agent_pid();
		if (next && !first) {
			first = next;
			strike_agent();
		}
		spw_sys_sleep_us(10000);
	}
	atomic_store(&ledger->go, 0);
	for (int i = 0; i < CRASH_WRITERS; i++)
		wait_for(&ledger->parked[i], "a writer hangs",
			 (unsigned long)i);
	bring_home(AGENT, 0);
	if (!crash_check(ledger))
		die("a promise was broken", 0);
}

static void
begin_epoch(void)
{
	char name[32];

	for (int i = 0; i < CRASH_WRITERS; i++)
		strike_writer(i);
	crash_ledger_clear(ledger);
	for (int i = 0; i < CRASH_WRITERS; i++)
		for (int which = 0; which < CRASH_FILES; which++) {
			int fd;

			crash_name(name, which, i);
			if (i == 0 || which == CRASH_FILE_OWN)
				unlink(name);
			fd = open(name, O_RDWR | O_CREAT, 0600);
			if (fd < 0)
				die(name, (unsigned long)errno);
			close(fd);
		}
}

static void
map_ledger(int fd)
{
	ledger = mmap(NULL, sizeof(*ledger), PROT_READ | PROT_WRITE,
		      MAP_SHARED, fd, 0);
	if (ledger == MAP_FAILED) {
		perror("ledger");
		exit(1);
	}
	snprintf(ledger_fd, sizeof(ledger_fd), "%d", fd);
}

int
main(int argc, char **argv)
{
	unsigned long most, round = 0;
	uint64_t writes = 0;
	int fd;

	if (argc == 4 && strcmp(argv[1], "--write") == 0) {
		map_ledger(atoi(argv[2]));
		return be_writer(atoi(argv[3]));
	}
	if (argc < 4)
		return 2;
	self = "/proc/self/exe";
	command = argv[1];
	library = argv[2];
	most = strtoul(argv[3], NULL, 0);
	rng = argc > 4 ? strtoull(argv[4], NULL, 0)
		       : (uint64_t)getpid() << 20 ^ (uint64_t)spw_now_ms();
	printf("seed %lu\n", (unsigned long)rng);
	fd = memfd_create("ledger", 0);
	if (fd < 0 || ftruncate(fd, sizeof(*ledger)) < 0) {
		perror("memfd_create");
		return 1;
	}
	map_ledger(fd);
	for (int i = 0; i < CRASH_WRITERS; i++)
		ledger->writer[i].rng = crash_random(&rng);
	while (kills < most) {
		if (round % EPOCH == 0)
			begin_epoch();
		play_round(round++);
		for (int i = 0; i < CRASH_WRITERS; i++) {
			writes += ledger->writer[i].ops;
			ledger->writer[i].ops = 0;
		}
	}
	begin_epoch();
	outlive_agent();
	for (int i = 0; i < CRASH_WRITERS; i++)
		strike_writer(i);
	if (!cached)
		die("nothing went through the segment", 0);
	printf("%lu rounds, %u processes killed, %lu writes; killed were",
	       round, kills, (unsigned long)writes);
	for (int i = 0; i < KILL_KINDS; i++)
		printf("%s %s %u times", i ? "," : "", kind_names[i],
		       rounds[i]);
	printf("\n");
	return 0;
}
