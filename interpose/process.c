/* SPDX-License-Identifier: BSD-3-Clause */
/* process.c -- fork and its kin: a child takes over what it inherits */

/*
 * Before the kernel forks, the child's record with all descriptors is made in
 * the segment (spw_fdtab_prepare_child); the child makes it its own before
 * anything else runs in it. In between signals are put off, so no handler
 * opens or closes a file.
 *
 * fork() calls the program's atfork handlers, which may do I/O on either
 * side. Ours are the first that libc hears of, hence the last before the
 * kernel forks and the first in the child. They also serve the forks that
 * libc makes by itself. _Fork has no handlers: its wrapper does the same
 * around it.
 *
 * vfork lets the child run in the parent's memory, which the fd table could
 * not bear. It is a fork here, and the parent waits as it would.
 */
#include "interpose/process.h"

#include <errno.h>
#include <linux/futex.h>
#include <linux/sched.h>
#include <stdarg.h>
#include <sys/single_threaded.h>
#include <sys/wait.h>

#include "interpose/agent.h"
#include "interpose/fdtab.h"
#include "interpose/leave.h"
#include "interpose/real.h"
#include "interpose/signals.h"
#include "shm/proc.h"
#include "shm/sys.h"

enum { LOOK_MS = 100 };

static _Atomic bool handled;		/* our atfork handlers are there */
static __thread bool expecting;		/* between prepare and the fork */
static __thread bool has_threads;	/* others may open and close files */
static __thread uint32_t child_proc = SPW_NONE;

static bool
has_chunk(uint32_t proc, int fd)
{
	return proc != SPW_NONE && spw_front.map.procs[proc]
	       .chunks[fd / SPW_MAP_FDS] != SPW_NONE;
}

int
spw_process_next_fd(int fd)
{
	if (!atomic_load(&spw_front.attached))
		return -1;
	for (; fd < SPW_FD_MAX; fd++) {
		if (!has_chunk(spw_front.proc, fd))
			fd |= SPW_MAP_FDS - 1;
		else if (spw_fdtab_has(fd))
			return fd;
	}
	return -1;
}

static void
leave_all(enum spw_bypass why)
{
	for (int fd = spw_process_next_fd(0); fd >= 0;
	     fd = spw_process_next_fd(fd + 1))
		(void)spw_leave(fd, why);
}

/* A child that cannot take part: everything is the kernel's in it. */
static void
stay_out(void)
{
	for (int fd = spw_process_next_fd(0); fd >= 0;
	     fd = spw_process_next_fd(fd + 1))
		atomic_store(&spw_fdtab[fd], 0);
	atomic_store(&spw_front.inert, true);
	atomic_store(&spw_front.attached, false);
	spw_front_forked(SPW_NONE);
}

static void
prepare(void)
{
	spw_guard_enter();
	has_threads = !__libc_single_threaded;
	child_proc = spw_fdtab_prepare_child();
	if (child_proc == SPW_NONE)
		leave_all(SPW_BYPASS_NO_ROOM);
	expecting = true;
}

static void
correct(int fd, uint32_t mine, uint32_t noted)
{
	struct spw_me *me = spw_front_me();

	(void)spw_proc_set_fd(me, spw_front.proc, fd, 0);
	if (noted)
		spw_ofd_unref(me, noted - 1);
	if (mine && (!spw_fdtab_refer(fd, mine - 1) ||
		     spw_proc_set_fd(me, spw_front.proc, fd, mine) < 0))
		atomic_store(&spw_fdtab[fd], 0);
}

/* The record was made a moment before the fork; what other threads did with
 * descriptors in between is in the table, which came with the memory. */
static void
compare_with_table(uint32_t parent)
{
	for (int fd = 0; fd < SPW_FD_MAX; fd++) {
		uint32_t mine, noted;

		if (!has_chunk(parent, fd) && !has_chunk(spw_front.proc, fd)) {
			fd |= SPW_MAP_FDS - 1;
			continue;
		}
		mine = atomic_load(&spw_fdtab[fd]);
		noted = spw_proc_get_fd(&spw_front.map, spw_front.proc, fd);
		if (mine != noted)
			correct(fd, mine, noted);
	}
}

static void
parent_goes_on(void)
{
	expecting = false;
	spw_guard_leave();
}

void
spw_process_arrived(void)
{
	if (!expecting)
		return;
	expecting = false;
	spw_signals_forked();
	spw_spawn_forked();
	spw_agent_forked();
	if (child_proc != SPW_NONE) {
		uint32_t parent = spw_front.proc;

		spw_front_forked(child_proc);
		if (has_threads)
			compare_with_table(parent);
	} else if (atomic_load(&spw_front.attached)) {
		stay_out();
	}
	child_proc = SPW_NONE;
}

static pid_t
forked(pid_t pid)
{
	if (child_proc != SPW_NONE && pid > 0)
		spw_proc_name_child(&spw_front.map, child_proc,
				    (uint32_t)pid);
	else if (child_proc != SPW_NONE && pid < 0)
		spw_fdtab_abandon_child(child_proc);
	child_proc = SPW_NONE;
	return pid;
}

static pid_t
fork_by(pid_t (*how)(void))
{
	pid_t pid;

	prepare();
	pid = how();
	if (pid == 0) {
		spw_process_arrived();
		return 0;
	}
	parent_goes_on();
	return forked(pid);
}

static SPW_EARLY void
register_handlers(void)
{
	bool never = false;

	if (!atomic_compare_exchange_strong(&handled, &never, true))
		return;
	if (REAL(__register_atfork)(prepare, parent_goes_on,
				    spw_process_arrived, NULL) != 0)
		atomic_store(&handled, false);
}

/* pthread_atfork of any object comes through here. */
SPW_WRAP SPW_EARLY int
__register_atfork(void (*before)(void), void (*parent)(void),
		  void (*child)(void), void *object)
{
	register_handlers();
	return REAL(__register_atfork)(before, parent, child, object);
}

static __attribute__((constructor)) void
set_up(void)
{
	register_handlers();
}

SPW_WRAP pid_t
fork(void)
{
	if (!atomic_load(&handled))
		return fork_by(REAL(fork));
	return forked(REAL(fork)());
}
SPW_ALIAS(__fork, fork);

SPW_WRAP pid_t
_Fork(void)
{
	return fork_by(REAL(_Fork));
}

/*
 * How vfork's parent learns that the child ended or has another image: the
 * child locks a robust mutex in memory of both and never unlocks it. The
 * kernel marks it when the child's memory goes, in either case. No
 * descriptor is needed that the program could see or close.
 */
struct vfork_wait {
	pthread_mutex_t lock;
	_Atomic uint32_t locked;	/* futex */
};

static struct vfork_wait *
make_wait(void)
{
	struct vfork_wait *w = spw_sys_mmap(NULL, sizeof(*w),
					    PROT_READ | PROT_WRITE,
					    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pthread_mutexattr_t attr;

	if (w == MAP_FAILED)
		return NULL;
	(void)pthread_mutexattr_init(&attr);
	(void)pthread_mutexattr_setpshared(&attr, PTHREAD_PROCESS_SHARED);
	(void)pthread_mutexattr_setrobust(&attr, PTHREAD_MUTEX_ROBUST);
	(void)pthread_mutex_init(&w->lock, &attr);
	return w;
}

static void
child_begins(struct vfork_wait *w)
{
	(void)pthread_mutex_lock(&w->lock);
	atomic_store(&w->locked, 1);
	(void)spw_sys_futex_wake(&w->locked, 1);
}

/* A child may be killed before it locks anything. */
static bool
has_ended(pid_t pid)
{
	siginfo_t info = { .si_pid = 0 };
	long r = spw_syscall(SYS_waitid, P_PID, pid, (long)&info,
			     WEXITED | WNOHANG | WNOWAIT, 0, 0);

	return r < 0 || info.si_pid == pid;
}

static void
wait_for_child(struct vfork_wait *w, pid_t pid)
{
	/* The first word of a mutex is what the kernel marks. */
	_Atomic uint32_t *word = (_Atomic uint32_t *)&w->lock;
	uint32_t was;

	while (!atomic_load(&w->locked)) {
		if (has_ended(pid))
			return;
		(void)spw_sys_futex_wait(&w->locked, 0, LOOK_MS);
	}
	while (!((was = atomic_load(word)) & FUTEX_OWNER_DIED)) {
		if (was & FUTEX_WAITERS ||
		    atomic_compare_exchange_strong(word, &was,
						   was | FUTEX_WAITERS))
			(void)spw_sys_futex_wait(word, was | FUTEX_WAITERS,
						 -1);
	}
}

SPW_WRAP pid_t
vfork(void)
{
	struct vfork_wait *w = make_wait();
	pid_t pid;

	if (!w) {
		errno = ENOMEM;
		return -1;
	}
	spw_guard_enter();		/* a parent in vfork hears no signal */
	pid = fork_by(REAL(_Fork));
	if (pid == 0) {
		child_begins(w);
		return 0;
	}
	if (pid > 0)
		wait_for_child(w, pid);
	(void)spw_sys_munmap(w, sizeof(*w));
	spw_guard_leave();
	return pid;
}
SPW_ALIAS(__vfork, vfork);

/*
 * A child made by clone with memory or descriptors of its own, but without
 * what fork does for it in libc: its thread has the parent's identity, so it
 * cannot hold a lane. Everything managed is left to the kernel first, and the
 * child stays out of Spillway.
 */
struct start {
	int (*fn)(void *);
	void *arg;
};

static void
arrive_outside(void)
{
	spw_signals_forked();
	spw_spawn_forked();
	spw_agent_forked();
	stay_out();
}

static int
start_outside(void *arg)
{
	struct start start = *(struct start *)arg;

	arrive_outside();
	return start.fn(start.arg);
}

static void
before_clone(uint64_t flags)
{
	const uint64_t shared = CLONE_VM | CLONE_FILES;

	if (!atomic_load(&spw_front.attached))
		return;
	if ((flags & shared) == shared) {
		/* Beside us with our thread's own memory, so with its lane:
		 * unless it has that of a thread, or we wait for it. */
		if (!(flags & (CLONE_SETTLS | CLONE_VFORK)))
			spw_process_withdraws();
		return;
	}
	leave_all(SPW_BYPASS_CLONE);
	if (flags & CLONE_VM)		/* it would write to our table */
		atomic_store(&spw_front.inert, true);
}

SPW_WRAP int
clone(int (*fn)(void *), void *stack, int flags, void *arg, ...)
{
	struct start start = { fn, arg };
	void *rest[3];
	va_list ap;

	va_start(ap, arg);
	for (int i = 0; i < 3; i++)
		rest[i] = va_arg(ap, void *);
	va_end(ap);
	before_clone((unsigned)flags);
	if (fn && !(flags & CLONE_VM)) {
		fn = start_outside;
		arg = &start;
	}
	return REAL(clone)(fn, stack, flags, arg, rest[0], rest[1], rest[2]);
}
SPW_ALIAS(__clone, clone);

/* The two-headed kind. One that is a plain fork is treated as such. */
long
spw_process_clone(long nr, const long *a)
{
	const struct clone_args *args = (const void *)a[0];
	uint64_t flags = (uint64_t)a[0];
	long r;

	if (nr == SYS_clone3)
		flags = args ? args->flags | args->exit_signal : 0;
	if (flags == SIGCHLD && (nr == SYS_clone ? !a[1] : !args->stack))
		return _Fork();
	before_clone(flags);
	r = REAL(syscall)(nr, a[0], a[1], a[2], a[3], a[4], a[5]);
	if (r == 0 && !(flags & CLONE_VM))
		arrive_outside();
	return r;
}

/*
 * From now on something in this process uses descriptors in a way that our
 * table does not show: a thread with descriptors of its own, or a second libc.
 * What is managed stays the kernel's until the process ends: its descriptions
 * are not given back, so that nobody else takes it up again before.
 */
static void
leave_for_good(void)
{
	atomic_store(&spw_front.inert, true);
	for (int fd = spw_process_next_fd(0); fd >= 0;
	     fd = spw_process_next_fd(fd + 1))
		if (spw_leave(fd, SPW_BYPASS_CLONE) == 0)
			atomic_store(&spw_fdtab[fd], 0);
}

void
spw_process_withdraws(void)
{
	int saved = errno;

	if (!atomic_load(&spw_front.inert) && spw_front_look()) {
		spw_leave_open(SPW_BYPASS_CLONE);
		leave_for_good();
		spw_agent_withdrawn();
		spw_front_withdraw();
	}
	atomic_store(&spw_front.inert, true);
	spw_front_need_not_tell();
	errno = saved;
}

void
spw_process_unshares_files(void)
{
	if (!__libc_single_threaded)
		leave_for_good();
}

SPW_WRAP int
unshare(int flags)
{
	int r;

	if (flags & CLONE_FILES)
		spw_process_unshares_files();
	r = REAL(unshare)(flags);
	if (r == 0 && flags & CLONE_NEWNS)
		atomic_store(&spw_front.apart, true);
	return r;
}

SPW_WRAP int
setns(int fd, int kind)
{
	int r = REAL(setns)(fd, kind);

	if (r == 0)
		atomic_store(&spw_front.apart, true);
	return r;
}

SPW_WRAP SPW_JUMPS void *
dlmopen(Lmid_t space, const char *name, int flags)
{
	if (space != LM_ID_BASE)
		leave_for_good();
	SPW_JUMP_TO REAL(dlmopen)(space, name, flags);
}

/* As libc's, with a fork that we see. */
static int
to_dev_null(void)
{
	struct stat st;
	int fd = open("/dev/null", O_RDWR);

	if (fd < 0)
		return -1;
	if (fstat(fd, &st) < 0 || !S_ISCHR(st.st_mode)) {
		(void)close(fd);
		errno = ENODEV;
		return -1;
	}
	for (int std = 0; std <= 2; std++)
		(void)dup2(fd, std);
	if (fd > 2)
		(void)close(fd);
	return 0;
}

SPW_WRAP int
daemon(int nochdir, int noclose)
{
	pid_t pid = fork();

	if (pid < 0)
		return -1;
	if (pid > 0)
		_exit(0);
	if (setsid() < 0)
		return -1;
	if (!nochdir && chdir("/") < 0)
		errno = 0;		/* as libc: it does not mind */
	return noclose ? 0 : to_dev_null();
}
