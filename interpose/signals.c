/* SPDX-License-Identifier: BSD-3-Clause */
/* signals.c -- the program's signal handlers wait while a thread publishes */

/*
 * The kernel is given one handler of ours, the trampoline, for every handler
 * of the program. It runs the program's at once, unless the thread is inside
 * the segment (spw_guard.busy): then the signal is kept, and every signal but
 * the faults is blocked in the interrupted context. So, but for those that
 * come before it is, one signal waits with us at most and all that follow wait
 * in the kernel, in its order and with its rules. When the thread leaves the
 * segment, the signal that waits here is sent to the thread again, siginfo and
 * all, and the mask is set back: the handler gets a frame of its own, on the
 * right stack, and may jump away.
 *
 * Faults of the thread itself are never put off. They cannot be blocked
 * either, so one of these numbers sent by kill may arrive while another
 * signal waits; each has a place of its own.
 *
 * Flags and mask are the program's in the kernel's table too, with two
 * exceptions that are kept here: SA_SIGINFO, since the trampoline always
 * wants it (a handler of one argument does not mind three), and SA_RESETHAND,
 * since the kernel would count the first, unheard delivery.
 *
 * One order differs: of several realtime signals with the same number sent to
 * this very thread (pthread_sigqueue), the one put off comes last. Signals
 * sent to the process keep their order.
 */
#include <errno.h>
#include <ucontext.h>

#include "interpose/real.h"
#include "interpose/signals.h"
#include "shm/guard.h"
#include "shm/sys.h"

enum {
	SIGNALS = 64,
	KEPT = 7,			/* one, and six numbers of faults */
	SPINS = 10000,
};

#define KEPT_HERE (SA_SIGINFO | SA_RESETHAND)
#define BIT(sig) (1ul << ((sig) - 1))
#define FAULTS (BIT(SIGSEGV) | BIT(SIGBUS) | BIT(SIGFPE) | BIT(SIGILL) | \
		BIT(SIGTRAP) | BIT(SIGSYS))

typedef void handler_fn(int, siginfo_t *, void *);

struct action {				/* what the program set last */
	_Atomic uint32_t seq;		/* odd while it changes */
	_Atomic int flags;		/* of KEPT_HERE */
	handler_fn *_Atomic handler;	/* stays when it goes to SIG_DFL */
};

static struct action actions[SIGNALS + 1];
static _Atomic int setter;		/* thread that is changing actions */
static _Atomic uint64_t interrupting;	/* siginterrupt, for signal() */

static __thread struct {
	unsigned long mask;		/* to be restored */
	siginfo_t kept[KEPT];		/* spw_guard.pending of them */
} later;

static void trampoline(int sig, siginfo_t *info, void *context);

static void
set_mask(unsigned long mask)
{
	(void)spw_syscall(SYS_rt_sigprocmask, SIG_SETMASK, (long)&mask, 0,
			  sizeof(mask), 0, 0);
}

static int
send_to_self(int sig, const siginfo_t *info)
{
	int tid = (int)spw_syscall(SYS_gettid, 0, 0, 0, 0, 0, 0);

	return (int)spw_syscall(SYS_rt_tgsigqueueinfo, spw_sys_getpid(), tid,
				sig, (long)info, 0, 0);
}

/* The setter is never interrupted by a handler, but it may be a thread that
 * a fork left behind; a reader does not wait for it for ever. */
static handler_fn *
read_action(int sig, int *ret_flags)
{
	struct action *a = &actions[sig];
	handler_fn *handler;
	uint32_t seq;
	int spins = 0;

	do {
		seq = atomic_load_explicit(&a->seq, memory_order_acquire);
		handler = atomic_load_explicit(&a->handler,
					       memory_order_relaxed);
		*ret_flags = atomic_load_explicit(&a->flags,
						  memory_order_relaxed);
		atomic_thread_fence(memory_order_acquire);
	} while ((seq & 1 || seq != atomic_load(&a->seq)) &&
		 ++spins < SPINS);
	return handler;
}

static void
write_action(int sig, handler_fn *handler, int flags)
{
	struct action *a = &actions[sig];
	uint32_t seq = atomic_load(&a->seq) | 1;

	atomic_store(&a->seq, seq);
	atomic_store(&a->handler, handler);
	atomic_store(&a->flags, flags);
	atomic_store(&a->seq, seq + 1);
}

/* Not for the pthread kind: a forked child must get past it. */
static void
lock_actions(void)
{
	int me = (int)spw_syscall(SYS_gettid, 0, 0, 0, 0, 0, 0);
	int owner = 0;

	spw_guard_enter();
	while (!atomic_compare_exchange_strong(&setter, &owner, me)) {
		if (spw_syscall(SYS_tgkill, spw_sys_getpid(), owner, 0, 0, 0,
				0) == -ESRCH)
			continue;	/* owner is what it was: take it */
		owner = 0;
		spw_sys_sleep_us(10);
	}
}

static void
unlock_actions(void)
{
	atomic_store(&setter, 0);
	spw_guard_leave();
}

/* SA_RESETHAND: the first one wins, for the others the default holds. */
static bool
use_up(int sig)
{
	struct sigaction act;
	bool won = false;

	lock_actions();
	if (REAL(sigaction)(sig, NULL, &act) == 0 &&
	    act.sa_sigaction == trampoline) {
		act.sa_handler = SIG_DFL;
		act.sa_flags |= SA_RESETHAND;
		won = REAL(sigaction)(sig, &act, NULL) == 0;
	}
	unlock_actions();
	return won;
}

static void
run(int sig, siginfo_t *info, void *context)
{
	int flags, saved = errno;
	handler_fn *handler = read_action(sig, &flags);

	if (flags & SA_RESETHAND && !use_up(sig)) {
		(void)send_to_self(sig, info);
		return;
	}
	errno = saved;
	handler(sig, info, context);
}

static bool
is_fault(int sig, const siginfo_t *info)
{
	return BIT(sig) & FAULTS && info->si_code > 0;
}

static bool
is_blocked_by_us(unsigned long mask)
{
	return (mask | BIT(SIGKILL) | BIT(SIGSTOP)) == ~FAULTS;
}

/* Of a kind there is one, as in the kernel. Another one of a realtime signal is
 * sent again and waits there. */
static void
keep(const siginfo_t *info)
{
	int n = spw_guard.pending;

	for (int i = 0; i < n; i++)
		if (later.kept[i].si_signo == info->si_signo)
			n = KEPT;
	if (n < KEPT) {
		later.kept[n] = *info;
		spw_guard.pending = n + 1;
	} else if (!(BIT(info->si_signo) & FAULTS)) {
		(void)send_to_self(info->si_signo, info);
	}
}

/* Until everything is blocked, another signal may come between and be put off
 * first. Then what it interrupted was us, and its mask not the one to be
 * restored: that of the outermost is, which comes last here. */
static void
put_off(const siginfo_t *info, ucontext_t *context)
{
	/* The kernel's mask is one word; libc's type claims more. */
	unsigned long *mask = (unsigned long *)&context->uc_sigmask;

	set_mask(~FAULTS);
	if (!spw_guard.pending || !is_blocked_by_us(*mask))
		later.mask = *mask;
	keep(info);
	*mask = ~FAULTS;
}

/* The program's memory is never touched under a lock. So a handler that
 * jumps away from a fault leaves nothing held, only the depth. */
static void
run_in_fault(int sig, siginfo_t *info, void *context)
{
	int depth = spw_guard.busy;

	spw_guard.busy = 0;
	run(sig, info, context);
	spw_guard.busy = depth;
}

static void
trampoline(int sig, siginfo_t *info, void *context)
{
	if (SPW_LIKELY(!spw_guard.busy))
		run(sig, info, context);
	else if (is_fault(sig, info))
		run_in_fault(sig, info, context);
	else
		put_off(info, context);
}

/* A handler called like a function, in a context made up for it. */
static void
call_here(siginfo_t *info, unsigned long mask)
{
	int sig = info->si_signo;
	struct sigaction act;
	ucontext_t context;

	if (REAL(sigaction)(sig, NULL, &act) < 0 ||
	    act.sa_sigaction != trampoline || getcontext(&context) < 0)
		return;
	set_mask(mask | *(unsigned long *)&act.sa_mask |
		 (act.sa_flags & SA_NODEFER ? 0 : BIT(sig)));
	trampoline(sig, info, &context);
	set_mask(mask);
}

/* The kernel refuses when its queue is full. The copy is for handlers that
 * are interrupted and put off in their turn. */
static __attribute__((noinline)) void
call_unsent(int n, unsigned long mask)
{
	siginfo_t unsent[KEPT];

	memcpy(unsent, later.kept, sizeof(unsent));
	for (int i = 0; i < n; i++)
		call_here(&unsent[i], mask);
}

void
spw_signals_deliver(void)
{
	unsigned long mask = later.mask;
	int n = spw_guard.pending, unsent = 0;

	for (int i = 0; i < n; i++)
		if (send_to_self(later.kept[i].si_signo, &later.kept[i]) < 0)
			later.kept[unsent++] = later.kept[i];
	spw_guard.pending = 0;
	if (SPW_UNLIKELY(unsent))
		call_unsent(unsent, mask);
	set_mask(mask);
}

/* What was pending is the parent's; its mask was the program's once. */
void
spw_signals_forked(void)
{
	if (spw_guard.pending)
		set_mask(later.mask);
	spw_guard.pending = 0;
	spw_guard.busy = 0;
}

static bool
is_function(const struct sigaction *act)
{
	return act->sa_handler != SIG_DFL && act->sa_handler != SIG_IGN;
}

static int
exchange(int sig, const struct sigaction *act, struct sigaction *ret_was)
{
	bool ours = act && is_function(act);
	int flags, r;
	handler_fn *handler = read_action(sig, &flags);
	struct sigaction mine;

	if (ours) {
		mine = *act;
		mine.sa_sigaction = trampoline;
		mine.sa_flags = (act->sa_flags & ~KEPT_HERE) | SA_SIGINFO;
		write_action(sig, act->sa_sigaction,
			     act->sa_flags & KEPT_HERE);
		act = &mine;
	}
	r = REAL(sigaction)(sig, act, ret_was);
	if (r < 0 && ours)
		write_action(sig, handler, flags);
	if (r == 0 && ret_was->sa_sigaction == trampoline) {
		ret_was->sa_sigaction = handler;
		ret_was->sa_flags = (ret_was->sa_flags & ~KEPT_HERE) | flags;
	}
	return r;
}

SPW_WRAP int
sigaction(int sig, const struct sigaction *act, struct sigaction *old)
{
	struct sigaction was;
	int r;

	if (sig < 1 || sig > SIGNALS)
		return REAL(sigaction)(sig, act, old);
	/* Somebody's constructor may be here before ours was run. */
	spw_guard_deliver = spw_signals_deliver;
	lock_actions();
	r = exchange(sig, act, &was);
	unlock_actions();
	if (r == 0 && old)
		*old = was;
	return r;
}
SPW_ALIAS(__sigaction, sigaction);

struct by_number {			/* the kernel's struct sigaction */
	void (*handler)(int);
	unsigned long flags;
	void (*restorer)(void);
	unsigned long mask;
};

/* libc keeps these two for its threads. */
static bool
is_of_libc(long sig)
{
	return sig == SIGNALS / 2 || sig == SIGNALS / 2 + 1;
}

/* The kernel refuses what we would die of: it reads a mask before it looks at
 * what to do with it. */
static bool
is_readable(const struct by_number *act)
{
	return spw_syscall(SYS_rt_sigprocmask, -1, (long)act, 0,
			   sizeof(act->mask), 0, 0) != -EFAULT &&
	       spw_syscall(SYS_rt_sigprocmask, -1, (long)&act->mask, 0,
			   sizeof(act->mask), 0, 0) != -EFAULT;
}

bool
spw_signals_by_number(const long *a, long *ret)
{
	const struct by_number *act = (const void *)a[1];
	struct by_number *old = (void *)a[2];
	struct sigaction mine = { 0 }, was = { 0 };

	if (is_of_libc(a[0]) || a[3] != sizeof(act->mask) ||
	    (act && !is_readable(act)))
		return false;
	if (act) {
		mine.sa_handler = act->handler;
		mine.sa_flags = (int)act->flags;
		memcpy(&mine.sa_mask, &act->mask, sizeof(act->mask));
	}
	/* Both may be one: what is there now is told only after it was read. */
	if (old && spw_syscall(SYS_rt_sigaction, a[0], 0, a[2], a[3], 0, 0) < 0)
		return false;
	*ret = sigaction((int)a[0], act ? &mine : NULL, &was);
	if (*ret == 0 && old) {
		*old = (struct by_number){
			was.sa_handler, (unsigned)was.sa_flags,
			was.sa_restorer, 0,
		};
		memcpy(&old->mask, &was.sa_mask, sizeof(old->mask));
	}
	return true;
}

static sighandler_t
set_handler(int sig, sighandler_t handler, int flags, bool masks_itself)
{
	struct sigaction act = { .sa_flags = flags }, old;

	if (handler == SIG_ERR || sig < 1 || sig > SIGNALS) {
		errno = EINVAL;
		return SIG_ERR;
	}
	act.sa_handler = handler;
	sigemptyset(&act.sa_mask);
	if (masks_itself)
		sigaddset(&act.sa_mask, sig);
	return sigaction(sig, &act, &old) < 0 ? SIG_ERR : old.sa_handler;
}

SPW_WRAP sighandler_t
signal(int sig, sighandler_t handler)
{
	bool interrupts = sig >= 1 && sig <= SIGNALS &&
			  atomic_load(&interrupting) & BIT(sig);

	return set_handler(sig, handler, interrupts ? 0 : SA_RESTART, true);
}
SPW_ALIAS(bsd_signal, signal);
SPW_ALIAS(ssignal, signal);

SPW_WRAP sighandler_t
sysv_signal(int sig, sighandler_t handler)
{
	return set_handler(sig, handler, SA_ONESHOT | SA_NOMASK | SA_INTERRUPT,
			   false);
}
SPW_ALIAS(__sysv_signal, sysv_signal);

static sighandler_t
hold(int sig, const sigset_t *set)
{
	struct sigaction act;
	sigset_t old;

	if (sigprocmask(SIG_BLOCK, set, &old) < 0)
		return SIG_ERR;
	if (sigismember(&old, sig) == 1)
		return SIG_HOLD;
	return sigaction(sig, NULL, &act) < 0 ? SIG_ERR : act.sa_handler;
}

SPW_WRAP sighandler_t
sigset(int sig, sighandler_t disposition)
{
	sighandler_t was;
	sigset_t set, old;

	if (sig < 1 || sig > SIGNALS) {
		errno = EINVAL;
		return SIG_ERR;
	}
	sigemptyset(&set);
	sigaddset(&set, sig);
	if (disposition == SIG_HOLD)
		return hold(sig, &set);
	was = set_handler(sig, disposition, 0, false);
	if (was == SIG_ERR || sigprocmask(SIG_UNBLOCK, &set, &old) < 0)
		return SIG_ERR;
	return sigismember(&old, sig) == 1 ? SIG_HOLD : was;
}

SPW_WRAP int
siginterrupt(int sig, int interrupt)
{
	struct sigaction act;

	if (sigaction(sig, NULL, &act) < 0)
		return -1;
	if (interrupt) {
		atomic_fetch_or(&interrupting, BIT(sig));
		act.sa_flags &= ~SA_RESTART;
	} else {
		atomic_fetch_and(&interrupting, ~BIT(sig));
		act.sa_flags |= SA_RESTART;
	}
	return sigaction(sig, &act, NULL);
}
