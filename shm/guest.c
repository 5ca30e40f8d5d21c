/* SPDX-License-Identifier: BSD-3-Clause */
/* guest.c -- work done by a child that shares our memory and nothing else */
#include "shm/guest.h"

#include <errno.h>
#include <sched.h>
#include <sys/wait.h>

#include "shm/sys.h"

static long
set_signals(const uint64_t *set, uint64_t *ret_old)
{
	return spw_syscall(SYS_rt_sigprocmask, SIG_SETMASK, (long)set,
			   (long)ret_old, sizeof(*set), 0, 0);
}

/* On our stack, as after vfork. */
static __attribute__((noinline)) long
run_apart(int (*work)(void *arg), void *arg, volatile int *ret)
{
	long pid = spw_syscall(SYS_clone, CLONE_VM | CLONE_VFORK, 0, 0, 0, 0,
			       0);

	if (pid == 0) {
		*ret = work(arg);
		for (;;)
			(void)spw_syscall(SYS_exit_group, 0, 0, 0, 0, 0, 0);
	}
	return pid;
}

/* No handler may run twice, so none runs there. */
int
spw_guest_do(int (*work)(void *arg), void *arg, int fallback)
{
	uint64_t all = UINT64_MAX, old;
	volatile int r = fallback;
	long pid;

	if (set_signals(&all, &old) < 0)
		return r;
	pid = run_apart(work, arg, &r);
	if (pid > 0)
		while (spw_syscall(SYS_wait4, pid, 0, __WCLONE, 0, 0, 0) ==
		       -EINTR)
			;
	(void)set_signals(&old, NULL);
	return r;
}
