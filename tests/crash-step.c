/* SPDX-License-Identifier: BSD-3-Clause */
/* crash-step.c -- kill -9 after every single instruction of one call */

/*
 * crash-step DIR STRIDE: a child prepares a file, stops, and is then led by
 * ptrace through one call of the core, instruction by instruction, to be
 * killed after the nth; n grows by STRIDE, starting at a random place below
 * it, until the call ends before. Then everything is brought home and the
 * ledger is compared: the bytes of the call are old or new, block by block.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include "shm/sys.h"
#include "tests/crash-cast.h"

enum { EPOCH = 50, CANNOT = 77 };

struct call {
	const char *name;
	enum crash_kind kind;
	uint64_t off, len;
};

/* The file holds 3 blocks and 500 bytes when the call comes. */
static const struct call calls[] = {
	{ "whole block", CRASH_OWNED, 4096, 4096 },
	{ "new whole block", CRASH_OWNED, 40960, 4096 },
	{ "piece over bytes", CRASH_OWNED, 5000, 700 },
	{ "piece of a new block", CRASH_OWNED, 41000, 10 },
	{ "pieces of two blocks", CRASH_OWNED, 8100, 200 },
	{ "append", CRASH_APPEND, 0, 0 },
	{ "truncation", CRASH_CUT, 0, 6000 },
	{ "truncation to nothing", CRASH_CUT, 0, 0 },
};

static struct crash_door *inner;

/* A stop before the call of the core and one after it. */
static int
led_write(struct crash_door *door, int which, const void *buf, uint64_t n,
	  uint64_t off)
{
	(void)door;
	raise(SIGSTOP);
	(void)inner->write(inner, which, buf, n, off);
	raise(SIGSTOP);
	return -1;
}

static int
led_append(struct crash_door *door, const void *buf, uint64_t n)
{
	(void)door;
	raise(SIGSTOP);
	(void)inner->append(inner, buf, n);
	raise(SIGSTOP);
	return -1;
}

static int
led_cut(struct crash_door *door, uint64_t size)
{
	(void)door;
	raise(SIGSTOP);
	(void)inner->cut(inner, size);
	raise(SIGSTOP);
	return -1;
}

static void
be_led(const struct call *call)
{
	struct crash_door led = {
		.write = led_write, .append = led_append, .cut = led_cut,
	};

	inner = crash_core_door(&cast_map, 0);
	if (!inner || crash_do(cast_ledger, 0, inner, CRASH_CUT, 0, 0) ||
	    crash_do(cast_ledger, 0, inner, CRASH_OWNED, 0, 12788))
		_exit(1);
	if (ptrace(PTRACE_TRACEME, 0, 0, 0) < 0)
		_exit(CANNOT);
	(void)crash_do(cast_ledger, 0, &led, call->kind, call->off,
		       call->len);
	_exit(1);
}

/* False: the call was over before n instructions. */
static bool
kill_after(pid_t pid, unsigned long n)
{
	int status;

	for (unsigned long i = 0; i < n; i++) {
		if (ptrace(PTRACE_SINGLESTEP, pid, 0, 0) < 0 ||
		    waitpid(pid, &status, 0) != pid || !WIFSTOPPED(status))
			cast_die("the child is lost at step", i);
		if (WSTOPSIG(status) == SIGSTOP)
			return false;
		if (WSTOPSIG(status) != SIGTRAP)
			cast_die("the child got signal",
				 (unsigned long)WSTOPSIG(status));
	}
	return true;
}

static bool
play(const struct call *call, unsigned long n)
{
	pid_t pid = fork();
	bool killed;
	int status;

	if (pid == 0)
		be_led(call);
	if (waitpid(pid, &status, 0) != pid)
		cast_die("the child is lost", 0);
	if (WIFEXITED(status) && WEXITSTATUS(status) == CANNOT) {
		printf("CANNOT: no process may be traced here\n");
		exit(CANNOT);
	}
	if (!WIFSTOPPED(status))
		cast_die("the child does not begin", (unsigned long)status);
	killed = kill_after(pid, n);
	kill(pid, SIGKILL);
	waitpid(pid, &status, 0);
	cast_recover();
	cast_check(n);
	return killed;
}

/* Records to be appended differ in length: some end early. */
static unsigned long
play_all(const char *dir, const struct call *call, unsigned long stride)
{
	unsigned long n = 1 + crash_random(&cast_rng) % stride;
	unsigned long kills = 0, most = 0;
	int over = 0;

	for (int i = 0; over < 5; i++, n += stride) {
		if (i % EPOCH == 0) {
			if (i)
				cast_end();
			cast_begin(dir);
		}
		if (play(call, n)) {
			kills++;
			most = n;
			over = 0;
		} else {
			over++;
		}
	}
	cast_end();
	printf("%s: %lu kills within %lu instructions\n", call->name, kills,
	       most);
	return kills;
}

int
main(int argc, char **argv)
{
	unsigned long stride = argc > 2 ? strtoul(argv[2], NULL, 0) : 1;
	unsigned long kills = 0;

	if (argc < 2 || !stride)
		return 2;
	cast_rng = (uint64_t)getpid();
	cast_ledger = crash_ledger_new();
	for (size_t i = 0; i < sizeof(calls) / sizeof(*calls); i++)
		kills += play_all(argv[1], &calls[i], stride);
	printf("%lu kills\n", kills);
	return 0;
}
