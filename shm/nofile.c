/* SPDX-License-Identifier: BSD-3-Clause */
/* nofile.c -- work that needs a descriptor, where the process can have none */
#include "shm/nofile.h"

#include <errno.h>
#include <sched.h>
#include <sys/wait.h>

#include "shm/sys.h"

enum { ROOM = 4 };			/* descriptors that the work may need */

static long
set_signals(const uint64_t *set, uint64_t *ret_old)
{
	return spw_syscall(SYS_rt_sigprocmask, SIG_SETMASK, (long)set,
			   (long)ret_old, sizeof(*set), 0, 0);
}

/* On our stack, as after vfork, while this thread waits. The numbers it closes
 * are those of its own table: ours stay open, and locks stay held. */
static __attribute__((noinline)) long
run_apart(int (*work)(void *arg), void *arg, volatile int *ret)
{
	long pid = spw_syscall(SYS_clone, CLONE_VM | CLONE_VFORK, 0, 0, 0, 0,
			       0);

	if (pid == 0) {
		for (int fd = 0; fd < ROOM; fd++)
			spw_sys_close(fd);
		*ret = work(arg);
		for (;;)
			(void)spw_syscall(SYS_exit, 0, 0, 0, 0, 0, 0);
	}
	return pid;
}

/* No handler may run twice, so none runs there. The end of it sends no signal,
 * and waits of the program do not see it. */
static int
do_apart(int (*work)(void *arg), void *arg)
{
	uint64_t all = UINT64_MAX, old;
	volatile int r = -EMFILE;
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

int
spw_nofile_do(int (*work)(void *arg), void *arg)
{
	int r = work(arg);

	return r == -EMFILE ? do_apart(work, arg) : r;
}
