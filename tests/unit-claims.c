/* SPDX-License-Identifier: BSD-3-Clause */
/* unit-claims.c -- the table of claims: who has what, kills, damage, the end */
#include "shm/claims.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "shm/failpoint.h"

enum { MANY = 10000, KILLS = 60, CROWD = 3, HEAD = 76 };

static char shm[] = "/dev/shm/spillway-unit.XXXXXX";
static char place[SPW_SEG_PATH_MAX], table[SPW_SEG_PATH_MAX + 8];
static struct spw_map one, two, three;

static void
check(bool fine, const char *what)
{
	if (fine)
		return;
	fprintf(stderr, "unit-claims: %s\n", what);
	abort();
}

static void
make(const char *job, struct spw_map *map)
{
	struct spw_seg_request req = { .dir = shm, .job = job,
				       .bytes = 1 << 20 };

	check(spw_seg_create(&req, map) == 0, "no segment");
	check(spw_claims_join(map, shm) == 0, "no table");
}

static int
claim(struct spw_map *map, uint64_t ino)
{
	struct spw_file_id id = { 5, ino };

	return spw_claim(map, &id, spw_claims_dropped(map));
}

static void
drop(struct spw_map *map, uint64_t ino)
{
	struct spw_file_id id = { 5, ino };

	spw_claim_drop(map, &id);
}

static void
take_turns(void)
{
	struct spw_file_id id = { 5, 7 };
	struct spw_claimant who;

	check(claim(&one, 7) == SPW_CLAIM_ALONE, "the first is alone");
	check(claim(&one, 7) == SPW_CLAIM_ALONE, "and stays so");
	check(claim(&two, 7) == SPW_CLAIM_CONTESTED, "the second is not");
	check(claim(&two, 8) == SPW_CLAIM_ALONE, "another file is another");
	check(spw_claim_others(two.claims, &two, &id, &who, 1) == 1 &&
	      !strcmp(who.path, one.path) && who.ino == one.ino,
	      "the other one is named");
	check(spw_claim_others(two.claims, NULL, &id, &who, 1) == 2,
	      "who has no job sees both");
	drop(&one, 7);
	check(claim(&two, 7) == SPW_CLAIM_ALONE, "dropped is dropped");
	check(spw_claim(&two, &id, spw_claims_dropped(&two) - 1) ==
	      SPW_CLAIM_STALE, "a look from before tells nothing");
	drop(&two, 7);
	drop(&two, 8);
}

static void
hold_many(void)
{
	for (uint64_t i = 1; i <= MANY; i++)
		check(claim(&one, i) == SPW_CLAIM_ALONE, "one of many");
	for (uint64_t i = 1; i <= MANY; i++)
		check(claim(&two, i) == SPW_CLAIM_CONTESTED, "many of both");
	for (uint64_t i = 1; i <= MANY; i++) {
		drop(&one, i);
		drop(&two, i);
	}
}

static void
fumble(unsigned seed)
{
	srand(seed);
	for (;;) {
		struct spw_map *map = rand() % 2 ? &one : &two;

		if (rand() % 2)
			(void)claim(map, (uint64_t)(rand() % 500));
		else
			drop(map, (uint64_t)(rand() % 500));
	}
}

/* Whoever dies at it leaves a table that the others can use. */
static void
kill_some(void)
{
	for (unsigned i = 0; i < KILLS; i++) {
		pid_t pids[CROWD];

		for (unsigned k = 0; k < CROWD; k++) {
			pids[k] = fork();
			check(pids[k] >= 0, "fork");
			if (pids[k] == 0)
				fumble(i * CROWD + k);
		}
		usleep(2000 + i * 50);
		for (unsigned k = 0; k < CROWD; k++)
			kill(pids[k], SIGKILL);
		for (unsigned k = 0; k < CROWD; k++)
			waitpid(pids[k], NULL, 0);
	}
	for (uint64_t i = 0; i < 500; i++) {
		drop(&one, i);
		drop(&two, i);
		check(claim(&one, i) == SPW_CLAIM_ALONE, "left behind");
		check(claim(&two, i) == SPW_CLAIM_CONTESTED, "lost");
	}
}

/* A process of its own: one that has a table keeps it. */
static int
open_elsewhere(void)
{
	int status, r = 0;
	pid_t pid = fork();

	if (pid == 0) {
		char *argv[] = { "unit-claims", shm, NULL };

		execv("/proc/self/exe", argv);
		_exit(99);
	}
	check(waitpid(pid, &status, 0) == pid && WIFEXITED(status), "crash");
	r = WEXITSTATUS(status);
	check(r != 99, "exec");
	return r;
}

#ifdef SPW_FAILPOINTS
/* Stops where it may be looking at a chain or changing it. */
static pid_t
start_stopped(const char *point, int (*work)(void))
{
	int status;
	pid_t pid = fork();

	check(pid >= 0, "fork");
	if (pid == 0) {
		spw_failpoint_set(point);
		_exit(work());
	}
	check(waitpid(pid, &status, WUNTRACED) == pid && WIFSTOPPED(status),
	      "does not stop");
	return pid;
}

static int
go_on(pid_t pid)
{
	int status;

	kill(pid, SIGCONT);
	check(waitpid(pid, &status, 0) == pid && WIFEXITED(status), "go on");
	return WEXITSTATUS(status);
}

static int
claim_as_one(void)
{
	return claim(&one, 1000);
}

static int
enter_as_other(void)
{
	struct spw_map other;

	make("other", &other);
	check(unlink(other.path) == 0, "unlink");
	spw_claims_part(&other);
	return 0;
}

/* Nobody waits for one who is stopped, and none of the two is alone. */
static void
stop_some(void)
{
	struct spw_file_id id = { 5, 1000 };
	struct spw_claimant who[4];
	struct spw_map third;
	pid_t pid = start_stopped("claims-open:1:stop", claim_as_one);

	check(claim(&two, 1000) == SPW_CLAIM_STALE, "nobody else has it");
	make("third", &third);
	check(claim(&third, 1000) == SPW_CLAIM_CONTESTED, "the second has it");
	drop(&third, 1000);
	check(go_on(pid) == SPW_CLAIM_CONTESTED, "the first is not alone");
	check(spw_claim_others(one.claims, &one, &id, who, 4) == 2,
	      "those who could not wait");
	pid = start_stopped("claims-entering:1:stop", enter_as_other);
	check(unlink(third.path) == 0, "unlink");
	spw_claims_part(&third);
	make("third", &third);
	check(unlink(third.path) == 0, "unlink");
	spw_claims_part(&third);
	check(go_on(pid) == 0, "another enters");
	drop(&one, 1000);
	check(claim(&two, 1000) == SPW_CLAIM_ALONE, "as before");
	drop(&two, 1000);
}

/* Who takes the table along is killed, or stopped for a while, before its name
 * is gone: the next finds it as it is, and makes one that all share. */
static void
leave_name(const char *how)
{
	struct spw_map last, next;
	int status;
	pid_t pid;

	make("last", &last);
	check(unlink(last.path) == 0, "unlink");
	pid = fork();
	if (pid == 0) {
		spw_failpoint_set(how);
		spw_claims_part(&last);
		_exit(0);
	}
	check(waitpid(pid, &status, WUNTRACED) == pid &&
	      !WIFEXITED(status), "the end of the last");
	check(access(table, F_OK) == 0, "its name is left");
	if (WIFSTOPPED(status) && fork() == 0) {
		usleep(200000);
		kill(pid, SIGCONT);
		_exit(0);
	}
	make("next", &next);
	check(access(table, F_OK) == 0, "the new one has a name");
	check(claim(&next, 1) == SPW_CLAIM_ALONE, "nobody has it");
	check(open_elsewhere() == 0, "others find it");
	check(unlink(next.path) == 0, "unlink");
	spw_claims_part(&next);
	check(access(table, F_OK) < 0, "and it goes");
	while (wait(NULL) > 0)
		;
}
#else
static void
stop_some(void)
{
}

static void
leave_name(const char *how)
{
	(void)how;
}
#endif

static void
damage(void)
{
	int fd = open(table, O_RDWR);
	unsigned char byte, bad;

	check(fd >= 0, "the table has a name");
	check(open_elsewhere() == 0, "it can be opened");
	for (off_t i = 0; i < HEAD; i++) {
		check(pread(fd, &byte, 1, i) == 1, "read");
		bad = byte ^ 0x40;
		check(pwrite(fd, &bad, 1, i) == 1, "write");
		check(open_elsewhere() != 0, "a damaged head is refused");
		check(pwrite(fd, &byte, 1, i) == 1, "write");
	}
	check(fchmod(fd, 0644) == 0 && open_elsewhere() == EPERM,
	      "others may read it");
	check(fchmod(fd, 0600) == 0 && open_elsewhere() == 0, "mended");
	close(fd);
}

/* One that was killed, and in its place the segment of another job, which has
 * got the same number. */
static void
replace(void)
{
	uint64_t later;
	int fd;

	make("three", &three);
	check(claim(&three, 778) == SPW_CLAIM_ALONE, "one of three's");
	later = three.fixed.created + 1;
	fd = open(three.path, O_WRONLY);
	check(pwrite(fd, &later, sizeof(later),
		     offsetof(struct spw_seg_fixed, created)) ==
	      sizeof(later), "pwrite");
	close(fd);
}

/* The segment of a job that was killed is gone; its claims are, too. */
static void
end(void)
{
	replace();
	check(claim(&one, 777) == SPW_CLAIM_ALONE, "a late one");
	check(unlink(one.path) == 0, "unlink");
	spw_claims_part(&two);
	check(access(table, F_OK) < 0, "the last one takes the table along");
	(void)unlink(two.path);
	(void)unlink(three.path);
	leave_name("claims-gone:1");
	leave_name("claims-gone:1:stop");
	(void)rmdir(place);
	(void)rmdir(shm);
}

int
main(int argc, char **argv)
{
	int err = 0;

	if (argc > 1)
		return spw_claims_open(argv[1], false, &err) ? 0 : -err;
	alarm(120);
	check(mkdtemp(shm) != NULL, "no shared memory");
	check(spw_seg_path(shm, NULL, place, sizeof(place)) == 0, "path");
	snprintf(table, sizeof(table), "%sclaims", place);
	make("one", &one);
	make("two", &two);
	take_turns();
	hold_many();
	kill_some();
	stop_some();
	damage();
	end();
	return 0;
}
