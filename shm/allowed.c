/* SPDX-License-Identifier: BSD-3-Clause */
/* allowed.c -- does a filter leave us the system calls we cannot do without? */

/*
 * Each is called with arguments that the kernel answers at once, changing
 * nothing, mostly by an error. A filter is asked before the kernel looks at
 * them, so any other error is the filter's. One that kills shall not kill the
 * program: a child tries them. Some we do without where they fail, but not
 * where they kill; these are marked.
 */
#include "shm/allowed.h"

#include <errno.h>
#include <sched.h>
#include <stdbool.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "shm/guest.h"
#include "shm/sys.h"

#define MAY_FAIL(name) { #name, SYS_##name, -1, -1, -1, -1, true }

static const struct {
	const char *name;
	long nr, a, b, c, d;
	bool may_fail;
} calls[] = {
	{ "getpid", SYS_getpid, 0, 0, 0, 0, false },
	{ "geteuid", SYS_geteuid, 0, 0, 0, 0, false },
	/* The segment: made, joined, grown, removed. */
	{ "faccessat", SYS_faccessat, AT_FDCWD, 0, 0, 0, false },
	{ "mkdirat", SYS_mkdirat, AT_FDCWD, 0, 0, 0, false },
	{ "ftruncate", SYS_ftruncate, -1, 0, 0, 0, false },
	{ "fallocate", SYS_fallocate, -1, 0, 0, 1, false },
	{ "linkat", SYS_linkat, AT_FDCWD, 0, AT_FDCWD, 0, false },
	{ "fcntl", SYS_fcntl, -1, F_OFD_GETLK, 0, 0, false },
	{ "statfs", SYS_statfs, 0, 0, 0, 0, false },
	{ "readlinkat", SYS_readlinkat, AT_FDCWD, 0, 0, 0, false },
	{ "unlinkat", SYS_unlinkat, AT_FDCWD, 0, 0, 0, false },
	{ "pread64", SYS_pread64, -1, 0, 0, 0, false },
#ifdef SYS_readlink			/* newer processors have none */
	{ "access", SYS_access, 0, 0, 0, 0, false },
	{ "readlink", SYS_readlink, 0, 0, 0, 0, false },
	MAY_FAIL(poll),
#endif
	/* Locks, waiting, and who is alive. */
	{ "futex", SYS_futex, 0, FUTEX_WAKE, 0, 0, false },
	{ "nanosleep", SYS_nanosleep, 0, 0, 0, 0, false },
	{ "kill", SYS_kill, INT32_MAX, 0, 0, 0, false },
	{ "rt_sigprocmask", SYS_rt_sigprocmask, 0, 0, 0, 8, false },
	{ "rt_sigtimedwait", SYS_rt_sigtimedwait, 0, 0, 0, 8, false },
	{ "wait4", SYS_wait4, -1, 0, -1, 0, false },
	/* The way home. */
	{ "pwritev", SYS_pwritev, -1, 0, 0, 0, false },
	{ "lseek", SYS_lseek, -1, 0, 0, 0, false },
	{ "utimensat", SYS_utimensat, AT_FDCWD, 0, 0, -1, false },
	/* To start a program, an agent or a thread. */
	{ "pipe2", SYS_pipe2, 0, -1, 0, 0, false },
	{ "clone3", SYS_clone3, 0, 0, 0, 0, false },
	{ "clone", SYS_clone, CLONE_SIGHAND, 0, 0, 0, false },
	/* Done without. */
	MAY_FAIL(getuid), MAY_FAIL(gettid), MAY_FAIL(getppid),
	MAY_FAIL(madvise), MAY_FAIL(fstatfs), MAY_FAIL(getcwd),
	MAY_FAIL(ioctl), MAY_FAIL(getrandom), MAY_FAIL(statx),
	MAY_FAIL(prctl), MAY_FAIL(close_range), MAY_FAIL(unshare),
	MAY_FAIL(fsync), MAY_FAIL(fdatasync), MAY_FAIL(pwrite64),
	MAY_FAIL(renameat), MAY_FAIL(fchmod), MAY_FAIL(fgetxattr),
	MAY_FAIL(dup3), MAY_FAIL(chdir), MAY_FAIL(getdents64),
	MAY_FAIL(rt_sigaction), MAY_FAIL(sysinfo),
	MAY_FAIL(clock_gettime), MAY_FAIL(sched_getaffinity),
	MAY_FAIL(sched_yield), MAY_FAIL(membarrier), MAY_FAIL(mincore),
	MAY_FAIL(io_uring_setup), MAY_FAIL(io_uring_enter),
	MAY_FAIL(io_uring_register),
	/* Last: the child does not return from it. */
	{ "exit", SYS_exit, 0, 0, 0, 0, false },
};

enum { EXIT = sizeof(calls) / sizeof(*calls) - 1 };

/* What the kernel may say to such arguments. */
static bool
is_the_kernels(long nr, long r)
{
	switch (r) {
	case -EBADF: case -EFAULT: case -EINVAL: case -ESRCH: case -ENOENT:
	case -EAGAIN: case -ECHILD:
		return true;
	case -ENOSYS:
		return nr == SYS_clone3;	/* libc has another way */
	default:
		return r >= 0;
	}
}

struct found {
	volatile int at;		/* the call being tried */
	volatile int err;		/* of that; 0: it has not returned */
};

/* With no core file of who is killed: 1 is less than any, and also keeps a
 * program from being asked for one. It ends in the middle, on a stack that is
 * used again: AddressSanitizer must leave no marks there. */
static __attribute__((no_sanitize("address"))) int
try_all(void *arg)
{
	const struct rlimit no_core = { 1, 1 };
	struct found *f = arg;
	long r;

	(void)spw_syscall(SYS_prlimit64, 0, RLIMIT_CORE, (long)&no_core, 0,
			  0, 0);
	for (int i = 0; i <= EXIT; i++) {
		f->at = i;
		r = spw_syscall(calls[i].nr, calls[i].a, calls[i].b,
				calls[i].c, calls[i].d, 0, 0);
		if (i == EXIT ||
		    !(calls[i].may_fail || is_the_kernels(calls[i].nr, r))) {
			f->err = (int)r;
			break;
		}
	}
	return 0;
}

int
spw_allowed(const char **ret_call)
{
	struct found f = { -1, 0 };

	if (spw_syscall(SYS_prctl, PR_GET_SECCOMP, 0, 0, 0, 0, 0) == 0)
		return 0;
	(void)spw_guest_do(try_all, &f, 0);
	if (f.at == EXIT && !f.err)
		return 0;
	*ret_call = f.at < 0 ? "clone" : calls[f.at].name;
	return f.err < 0 ? f.err : -EPERM;
}
