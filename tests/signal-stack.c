/* SPDX-License-Identifier: BSD-3-Clause */
/* signal-stack.c -- handlers on a small stack of their own use files */

/*
 * signal-stack CASE: works on files in the current directory and checks itself.
 *
 *	small	every kind of call on a stack that has 4 KiB more than the kernel
 *		takes, with nothing below
 *	nested	the first files of a process are opened by a handler, while
 *		signals come for the same stack
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/wait.h>

#include "tests/forms.h"

enum { PAGE = 4096, ROOM = 4096, PIECES = 12, ROUNDS = 25,
       RENAMES = 40 };

static int fd;
static int volatile step, interrupted;
static char data[2 * PAGE + 100], back[2 * PAGE];

static void
use_stack(size_t n)
{
	size_t size = (n + PAGE - 1) / PAGE * PAGE;
	char *at = mmap(NULL, size + PAGE, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	stack_t ss = { .ss_sp = at + PAGE + size - n, .ss_size = n };

	NEED(at != MAP_FAILED && mprotect(at, PAGE, PROT_NONE) == 0);
	NEED(sigaltstack(&ss, NULL) == 0);
}

static void
handle(int sig, void (*handler)(int))
{
	struct sigaction act = { .sa_flags = SA_ONSTACK };

	act.sa_handler = handler;
	if (sig == SIGUSR2)		/* comes last, so two are nested */
		sigaddset(&act.sa_mask, SIGUSR1);
	NEED(sigaction(sig, &act, NULL) == 0);
}

/* Pieces that do not touch each other, in a block that is home in part. */
static void
write_pieces(void)
{
	for (int i = 0; i < PIECES; i++)
		NEED(pwrite(fd, "piece", 5, 3 * PAGE + 50 * i) == 5);
	NEED(pread(fd, back, PAGE, 3 * PAGE) > 0);
}

static void
one_step(int sig)
{
	struct iovec v[2] = { { data, sizeof(data) }, { data, 100 } };
	struct stat st;
	int other;

	(void)sig;
	switch (step) {
	case 0:
		NEED(write(fd, data, sizeof(data)) == sizeof(data));
		break;
	case 1:
		NEED(writev(fd, v, 2) > 0);
		break;
	case 2:
		NEED(pread(fd, back, sizeof(back), 10) == sizeof(back));
		break;
	case 3:
		write_pieces();
		break;
	case 4:
		NEED(ftruncate(fd, 5 * PAGE) == 0 && fstat(fd, &st) == 0);
		break;
	case 5:
		NEED(fsync(fd) == 0);
		break;
	case 6:
		other = open("other", O_RDWR | O_CREAT, 0644);
		NEED(write(other, "x", 1) == 1 && close(other) == 0);
		break;
	case 7:
		NEED(rename("other", "another") == 0);
		break;
	case 8:
		NEED(link("another", "third") == 0);
		break;
	case 9:
		NEED(unlink("another") == 0 && stat("third", &st) == 0);
		break;
	}
}

/* Half a block is home, the rest is not. */
static void
prepare(void)
{
	fd = make("file", 0);
	NEED(pwrite(fd, data, 1000, 3 * PAGE) == 1000);
	NEED(fsync(fd) == 0);
}

static void
case_small(void)
{
	memset(data, 'd', sizeof(data));
	prepare();
	use_stack((size_t)sysconf(_SC_MINSIGSTKSZ) + ROOM);
	handle(SIGUSR1, one_step);
	for (step = 0; step < 10; step++)
		NEED(raise(SIGUSR1) == 0);
	printf("%d steps\n", step);
}

static void
move_about(void)
{
	for (int i = 0; i < RENAMES; i++)
		NEED(rename(i % 2 ? "to" : "from", i % 2 ? "from" : "to") == 0);
}

static void
nest(int sig)
{
	unsigned char volatile mark[256];

	for (size_t i = 0; i < sizeof(mark); i++)
		mark[i] = (unsigned char)(sig + i);
	if (sig == SIGUSR1 && step == 0) {
		step = 1;
		fd = open("from", O_RDWR | O_CREAT, 0644);
		NEED(write(fd, "first\n", 6) == 6 && close(fd) == 0);
		move_about();
		step = 2;
	} else if (sig == SIGUSR2 && step == 1) {
		interrupted = 1;
	}
	for (size_t i = 0; i < sizeof(mark); i++)
		NEED(mark[i] == (unsigned char)(sig + i));
}

static void
pester(pid_t whom)
{
	while (getppid() == whom) {
		(void)kill(whom, SIGUSR1);
		(void)kill(whom, SIGUSR2);
	}
	_exit(0);
}

static void
one_round(void)
{
	pid_t self = getpid(), other;

	use_stack(64 << 10);
	step = 0;
	handle(SIGUSR1, nest);
	handle(SIGUSR2, nest);
	other = fork();
	NEED(other >= 0);
	if (!other)
		pester(self);
	while (step < 2)
		;
	NEED(kill(other, SIGKILL) == 0);
	while (waitpid(other, NULL, 0) < 0)	/* by the last signals */
		NEED(errno == EINTR);
	_exit(0);
}

static void
case_nested(void)
{
	for (int i = 0; i < ROUNDS; i++) {
		pid_t pid = fork();
		int status;

		NEED(pid >= 0);
		if (!pid)
			one_round();
		NEED(waitpid(pid, &status, 0) == pid);
		NEED(status == 0);
	}
	printf("%d rounds\n", ROUNDS);
}

int
main(int argc, char **argv)
{
	NEED(argc == 2);
	if (!strcmp(argv[1], "small"))
		case_small();
	else if (!strcmp(argv[1], "nested"))
		case_nested();
	else
		return 2;
	return 0;
}
