/* SPDX-License-Identifier: BSD-3-Clause */
/* unit-signals.c -- handlers wait while a thread is busy, and lose nothing */

#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>

#include "interpose/signals.h"
#include "shm/guard.h"
#include "tests/guarded.h"

/* Programs still call them. */
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

enum { MANY = 64 };

static volatile int calls, was_busy, on_alternate, depth;
static volatile int values[MANY];
static volatile siginfo_t last;
static sigjmp_buf out;
static char alternate[65536];

static void
note(int sig, siginfo_t *info, void *context)
{
	char here;

	(void)sig;
	(void)context;
	was_busy |= spw_guard.busy;
	on_alternate = &here >= alternate &&
		       &here < alternate + sizeof(alternate);
	if (calls < MANY)
		values[calls] = info->si_value.sival_int;
	memcpy((void *)&last, info, sizeof(*info));
	calls++;
}

static void
plain(int sig)
{
	(void)sig;
	was_busy |= spw_guard.busy;
	calls++;
}

static void
jump(int sig)
{
	siglongjmp(out, sig);
}

static void
install(int sig, void (*handler)(int, siginfo_t *, void *), int flags)
{
	struct sigaction act = { .sa_flags = flags | SA_SIGINFO };

	act.sa_sigaction = handler;
	CHECK(sigaction(sig, &act, NULL) == 0);
	calls = was_busy = 0;
}

static void
test_put_off(void)
{
	sigset_t before, after;

	install(SIGUSR1, note, 0);
	sigprocmask(SIG_SETMASK, NULL, &before);
	spw_guard_enter();
	spw_guard_enter();
	raise(SIGUSR1);
	CHECK(calls == 0);
	spw_guard_leave();
	CHECK(calls == 0);
	raise(SIGUSR1);			/* one of a kind at a time */
	spw_guard_leave();
	CHECK(calls == 1 && !was_busy);
	CHECK(last.si_signo == SIGUSR1 && last.si_code == SI_TKILL);
	CHECK(last.si_pid == getpid());
	sigprocmask(SIG_SETMASK, NULL, &after);
	CHECK(memcmp(&before, &after, 8) == 0);
	raise(SIGUSR1);
	CHECK(calls == 2);
}

/* Different signals, one of them blocked by the program all along. */
static void
test_several(void)
{
	sigset_t set;

	install(SIGUSR1, note, 0);
	install(SIGUSR2, note, 0);
	install(SIGHUP, note, 0);
	install(SIGSEGV, note, 0);
	sigemptyset(&set);
	sigaddset(&set, SIGHUP);
	sigprocmask(SIG_BLOCK, &set, NULL);
	spw_guard_enter();
	raise(SIGUSR1);
	raise(SIGHUP);
	raise(SIGUSR2);
	raise(SIGSEGV);			/* sent, not a fault: it waits too */
	CHECK(calls == 0);
	spw_guard_leave();
	CHECK(calls == 3 && !was_busy);
	sigprocmask(SIG_UNBLOCK, &set, NULL);
	CHECK(calls == 4);
	signal(SIGSEGV, SIG_DFL);
}

static void
test_realtime(void)
{
	install(SIGRTMIN + 1, note, 0);
	spw_guard_enter();
	for (int i = 0; i < 10; i++)
		CHECK(sigqueue(getpid(), SIGRTMIN + 1,
			       (union sigval){ .sival_int = 100 + i }) == 0);
	CHECK(calls == 0);
	spw_guard_leave();
	CHECK(calls == 10);
	for (int i = 0; i < 10; i++)
		CHECK(values[i] == 100 + i);
	CHECK(last.si_code == SI_QUEUE && last.si_uid == getuid());
}

/* No room in the kernel's queue: called all the same, with its value. */
static void
test_full_queue(void)
{
	struct rlimit old, none;

	install(SIGRTMIN + 1, note, 0);
	CHECK(getrlimit(RLIMIT_SIGPENDING, &old) == 0);
	none = old;
	none.rlim_cur = 0;
	spw_guard_enter();
	CHECK(sigqueue(getpid(), SIGRTMIN + 1,
		       (union sigval){ .sival_int = 7 }) == 0);
	CHECK(setrlimit(RLIMIT_SIGPENDING, &none) == 0);
	spw_guard_leave();
	CHECK(setrlimit(RLIMIT_SIGPENDING, &old) == 0);
	CHECK(calls == 1 && values[0] == 7);
	raise(SIGRTMIN + 1);
	CHECK(calls == 2);		/* not left blocked */
}

static void
test_oldact(void)
{
	struct sigaction act = { .sa_flags = SA_RESTART }, old;

	act.sa_handler = plain;
	sigaddset(&act.sa_mask, SIGTERM);
	CHECK(sigaction(SIGUSR2, &act, NULL) == 0);
	CHECK(sigaction(SIGUSR2, NULL, &old) == 0);
	CHECK(old.sa_handler == plain);
	CHECK((old.sa_flags & (SA_SIGINFO | SA_RESTART | SA_RESETHAND)) ==
	      SA_RESTART);
	CHECK(sigismember(&old.sa_mask, SIGTERM) == 1);
	CHECK(signal(SIGUSR2, SIG_IGN) == plain);
	CHECK(signal(SIGUSR2, SIG_DFL) == SIG_IGN);
	CHECK(signal(SIGUSR2, plain) == SIG_DFL);
	CHECK(signal(SIGUSR2, plain) == plain);
	errno = 0;
	CHECK(signal(SIGKILL, plain) == SIG_ERR && errno == EINVAL);
	CHECK(sigaction(65, NULL, &old) == -1 && errno == EINVAL);
}

static void
test_reset(void)
{
	struct sigaction old;

	install(SIGCHLD, note, SA_RESETHAND);	/* ignored by default */
	CHECK(sigaction(SIGCHLD, NULL, &old) == 0);
	CHECK(old.sa_flags & SA_RESETHAND && old.sa_sigaction == note);
	spw_guard_enter();
	raise(SIGCHLD);
	spw_guard_leave();
	CHECK(calls == 1);
	CHECK(sigaction(SIGCHLD, NULL, &old) == 0);
	CHECK(old.sa_handler == SIG_DFL && old.sa_flags & SA_RESETHAND);
	raise(SIGCHLD);
	CHECK(calls == 1);
}

static void
recurse(int sig)
{
	calls++;
	if (++depth < 3)
		raise(sig);
	depth--;
}

static void
test_nodefer(void)
{
	struct sigaction act = { .sa_flags = SA_NODEFER };

	act.sa_handler = recurse;
	CHECK(sigaction(SIGUSR1, &act, NULL) == 0);
	calls = depth = 0;
	spw_guard_enter();
	raise(SIGUSR1);
	spw_guard_leave();
	CHECK(calls == 3 && depth == 0);
}

static void
test_alternate_stack(void)
{
	stack_t stack = { .ss_sp = alternate, .ss_size = sizeof(alternate) };

	CHECK(sigaltstack(&stack, NULL) == 0);
	install(SIGUSR1, note, SA_ONSTACK);
	raise(SIGUSR1);
	CHECK(on_alternate);
	spw_guard_enter();
	raise(SIGUSR1);
	spw_guard_leave();
	CHECK(calls == 2 && on_alternate);
}

static void
test_jump(void)
{
	sigset_t set;

	calls = 0;
	for (volatile int i = 0; i < 1000; i++) {
		CHECK(signal(SIGUSR1, jump) != SIG_ERR);
		if (sigsetjmp(out, 1) == SIGUSR1) {
			calls++;
			CHECK(!spw_guard.busy && !spw_guard.pending);
			continue;
		}
		spw_guard_enter();
		raise(SIGUSR1);
		spw_guard_leave();
		CHECK(!"the handler jumps");
	}
	CHECK(calls == 1000);
	sigprocmask(SIG_SETMASK, NULL, &set);
	CHECK(sigismember(&set, SIGUSR1) == 0);
}

/* A fault of the thread itself cannot wait. */
static void
test_fault(void)
{
	volatile int *volatile nowhere = NULL;

	CHECK(signal(SIGSEGV, jump) != SIG_ERR);
	spw_guard_enter();
	if (sigsetjmp(out, 1) == 0) {
		*nowhere = 1;
		CHECK(!"a fault");
	}
	CHECK(!spw_guard.busy);
	signal(SIGSEGV, SIG_DFL);
}

static void
test_fork(void)
{
	sigset_t set;
	int status;

	install(SIGUSR1, note, 0);
	spw_guard_enter();
	raise(SIGUSR1);
	if (fork() == 0) {
		spw_signals_forked();
		sigprocmask(SIG_SETMASK, NULL, &set);
		CHECK(calls == 0 && !spw_guard.busy);
		CHECK(sigismember(&set, SIGUSR1) == 0);
		raise(SIGUSR1);
		_exit(calls == 1 ? 0 : 1);
	}
	spw_guard_leave();
	CHECK(calls == 1);
	CHECK(wait(&status) > 0 && status == 0);
}

/* A read that waits on a pipe ends or goes on as the flags say. */
static void
test_restart(int flags, int expected)
{
	struct itimerval soon = { .it_value = { 0, 20000 } };
	struct timespec pause = { 0, 100000000 };
	int ends[2], status;
	char c;

	install(SIGALRM, note, flags);
	CHECK(pipe(ends) == 0);
	if (fork() == 0) {
		nanosleep(&pause, NULL);
		_exit(write(ends[1], "x", 1) == 1 ? 0 : 1);
	}
	setitimer(ITIMER_REAL, &soon, NULL);
	errno = 0;
	CHECK(read(ends[0], &c, 1) == (expected ? -1 : 1));
	CHECK(errno == expected && calls == 1);
	CHECK(wait(&status) > 0 && status == 0);
	close(ends[0]);
	close(ends[1]);
}

static void
test_old_interfaces(void)
{
	struct sigaction act;
	sigset_t set;

	calls = 0;
	CHECK(sysv_signal(SIGUSR1, plain) != SIG_ERR);
	raise(SIGUSR1);
	CHECK(calls == 1 && signal(SIGUSR1, plain) == SIG_DFL);

	CHECK(siginterrupt(SIGUSR1, 1) == 0);
	sigaction(SIGUSR1, NULL, &act);
	CHECK(act.sa_handler == plain && !(act.sa_flags & SA_RESTART));
	CHECK(signal(SIGUSR1, plain) == plain);
	sigaction(SIGUSR1, NULL, &act);
	CHECK(!(act.sa_flags & SA_RESTART));
	CHECK(siginterrupt(SIGUSR1, 0) == 0);
	sigaction(SIGUSR1, NULL, &act);
	CHECK(act.sa_flags & SA_RESTART);

	CHECK(sigset(SIGUSR1, SIG_HOLD) == plain);
	CHECK(sigset(SIGUSR1, SIG_HOLD) == SIG_HOLD);
	raise(SIGUSR1);
	CHECK(calls == 1);
	CHECK(sigset(SIGUSR1, plain) == SIG_HOLD);
	CHECK(calls == 2);
	sigprocmask(SIG_SETMASK, NULL, &set);
	CHECK(sigismember(&set, SIGUSR1) == 0);
}

struct kernel_action {			/* what the kernel's own call takes */
	void (*handler)(int);
	unsigned long flags;
	void (*restorer)(void);
	unsigned long mask;
};

static long
by_number(int sig, const struct kernel_action *act, struct kernel_action *old)
{
	const long a[] = { sig, (long)act, (long)old, sizeof(act->mask) };
	long r = -1;

	CHECK(spw_signals_by_number(a, &r));
	return r;
}

/* A handler that was set past libc waits as well. */
static void
test_by_number(void)
{
	struct kernel_action act = { .handler = plain, .flags = SA_RESTART,
				     .mask = 1ul << (SIGHUP - 1) };
	struct kernel_action old = { 0 };
	const long threads[] = { 32, 0, 0, 8 }, short_mask[] = { 10, 0, 0, 4 };
	/* Where nothing is mapped; the kernel is to say so. */
	const long unmapped_act[] = { SIGUSR1, 0x10000, 0, 8 };
	const long unmapped_old[] = { SIGUSR1, 0, 0x10000, 8 };
	struct sigaction seen;
	long r;

	signal(SIGUSR1, SIG_IGN);
	CHECK(by_number(SIGUSR1, &act, &old) == 0 && old.handler == SIG_IGN);
	CHECK(by_number(SIGUSR1, NULL, &old) == 0);
	CHECK(old.handler == plain && old.mask == act.mask);
	CHECK((old.flags & (SA_RESTART | SA_SIGINFO)) == SA_RESTART);
	CHECK(sigaction(SIGUSR1, NULL, &seen) == 0);
	CHECK(seen.sa_handler == plain && sigismember(&seen.sa_mask, SIGHUP));
	calls = was_busy = 0;
	spw_guard_enter();
	raise(SIGUSR1);
	CHECK(calls == 0);
	spw_guard_leave();
	CHECK(calls == 1 && !was_busy);
	CHECK(by_number(SIGKILL, &act, NULL) == -1 && errno == EINVAL);
	CHECK(!spw_signals_by_number(threads, &r));
	CHECK(!spw_signals_by_number(short_mask, &r));
	CHECK(!spw_signals_by_number(unmapped_act, &r));
	CHECK(!spw_signals_by_number(unmapped_old, &r));
}

/* Timer ticks all over threads that are busy most of the time, while
 * another one sets handlers. */
static _Atomic int stop, ticks, bad;

static void
tick(int sig)
{
	int saved = errno;

	(void)sig;
	ticks++;
	bad += spw_guard.busy != 0;
	spw_guard_enter();		/* as a handler that writes does */
	spw_guard_leave();
	errno = saved;
}

static void *
keep_busy(void *unused)
{
	while (!stop) {
		spw_guard_enter();
		for (volatile int i = 0; i < 2000; i++)
			;
		spw_guard_leave();
	}
	return unused;
}

static void *
keep_setting(void *unused)
{
	while (!stop) {
		bad += signal(SIGALRM, tick) != tick;
		bad += sysv_signal(SIGUSR2, plain) == SIG_ERR;
	}
	return unused;
}

static void
test_storm(void)
{
	struct itimerval often = { { 0, 1000 }, { 0, 1000 } };
	struct timespec second = { 1, 0 };
	pthread_t threads[4];

	signal(SIGALRM, tick);
	setitimer(ITIMER_REAL, &often, NULL);
	for (int i = 0; i < 4; i++)
		pthread_create(&threads[i], NULL,
			       i ? keep_busy : keep_setting, NULL);
	while (nanosleep(&second, &second) < 0 && errno == EINTR)
		;
	stop = 1;
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	memset(&often, 0, sizeof(often));
	setitimer(ITIMER_REAL, &often, NULL);
	CHECK(bad == 0);
	CHECK(ticks > 100);
}

int
main(void)
{
	alarm(60);
	test_put_off();
	test_several();
	test_realtime();
	test_full_queue();
	test_oldact();
	test_reset();
	test_nodefer();
	test_alternate_stack();
	test_jump();
	test_fault();
	test_fork();
	test_restart(SA_RESTART, 0);
	test_restart(0, EINTR);
	test_old_interfaces();
	test_by_number();
	test_storm();
	return 0;
}
