/* SPDX-License-Identifier: BSD-3-Clause */
/* deaf.c -- whether the file system of a tier's place stalls */

/*
 * To look into a directory may take for ever, and who waits for it cannot
 * always be killed. So a process of its own does it first: the child of a child
 * that ended, as the agent is, with nothing of the program's open but the end
 * of a pipe. It is not waited for beyond PATIENCE_MS; what it made there it
 * removes when it is answered. Where there is no such process to be had, the
 * place is taken to answer.
 */
#include "interpose/deaf.h"

#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/statfs.h>
#include <sys/wait.h>

#include "interpose/real.h"
#include "shm/sys.h"
#include "shm/tierspec.h"
#include "shm/util.h"

enum { PATIENCE_MS = 3000, STACK_LEN = 32768 };

struct question {
	const char *place;
	int end;			/* of the pipe */
};

_Noreturn static void
leave(void)
{
	spw_syscall(SYS_exit_group, 0, 0, 0, 0, 0, 0);
	__builtin_unreachable();
}

/* With a copy of the program's memory: system calls only. */
_Noreturn static void
ask(const struct question *q)
{
	struct statfs fs;

	if ((q->end && spw_syscall(SYS_dup3, q->end, 0, 0, 0, 0, 0) < 0) ||
	    spw_syscall(SYS_close_range, 1, -1u, 0, 0, 0, 0) < 0)
		leave();		/* it would keep what is open */
	(void)spw_syscall(SYS_statfs, (long)q->place, (long)&fs, 0, 0, 0, 0);
	(void)spw_tierspec_try(q->place);
	leave();
}

static int
make_orphan(void *arg)
{
	if (spw_syscall(SYS_clone, 0, 0, 0, 0, 0, 0) == 0)
		ask(arg);
	leave();
}

static void
start(struct question *q, char *stack)
{
	unsigned long all = -1ul, mask;
	int pid, saved = errno;

	(void)spw_syscall(SYS_rt_sigprocmask, SIG_SETMASK, (long)&all,
			  (long)&mask, sizeof(mask), 0, 0);
	pid = REAL(clone)(make_orphan, stack + STACK_LEN,
			  CLONE_VM | CLONE_VFORK, q);
	while (pid > 0 && spw_syscall(SYS_wait4, pid, 0, __WALL, 0, 0, 0) ==
	       -EINTR)
		;
	(void)spw_syscall(SYS_rt_sigprocmask, SIG_SETMASK, (long)&mask, 0,
			  sizeof(mask), 0, 0);
	errno = saved;
}

/* The end of the pipe comes with the end of the process. */
static bool
is_over_in_time(int end)
{
	struct pollfd over = { .fd = end, .events = POLLIN };
	int64_t until = spw_now_ms() + PATIENCE_MS;
	long r;

	do {
		int64_t left = SPW_MAX(until - spw_now_ms(), (int64_t)0);
		struct timespec ts = { left / 1000, left % 1000 * 1000000 };

		r = spw_syscall(SYS_ppoll, (long)&over, 1, (long)&ts, 0, 0, 0);
	} while (r == -EINTR);
	return r != 0;
}

bool
spw_deaf_is(const char *place)
{
	struct question q = { .place = place };
	bool deaf = false;
	char *stack;
	int ends[2];

	if (spw_syscall(SYS_pipe2, (long)ends, O_CLOEXEC, 0, 0, 0, 0) < 0)
		return false;
	stack = spw_sys_mmap(NULL, STACK_LEN, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (stack != MAP_FAILED) {
		q.end = ends[1];
		start(&q, stack);
	}
	spw_sys_close(ends[1]);
	if (stack != MAP_FAILED) {
		deaf = !is_over_in_time(ends[0]);
		(void)spw_sys_munmap(stack, STACK_LEN);
	}
	spw_sys_close(ends[0]);
	return deaf;
}
