/* SPDX-License-Identifier: BSD-3-Clause */
/* deep.c -- a roomy stack for one call */
#include "interpose/deep.h"

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <ucontext.h>

#include "shm/sanitized.h"
#include "shm/sys.h"

enum { ROOM = 256 * 1024, MAIN = 4 << 20 };

struct call {
	void (*fn)(void *arg);
	void *arg;
	ucontext_t here, there;
};

/* makecontext hands ints on, so the pointer comes in halves. */
static void
begin(unsigned high, unsigned low)
{
	struct call *c = (struct call *)((uintptr_t)high << 32 | low);

	c->fn(c->arg);
}

static const char *top;			/* of the first thread's stack */

static __attribute__((constructor)) void
set_up(void)
{
	top = __builtin_frame_address(0);
}

/* One for signals may lie in the frame of a function. */
static bool
is_in_handler(void)
{
	stack_t ss;

	return spw_syscall(SYS_sigaltstack, 0, (long)&ss, 0, 0, 0, 0) == 0 &&
	       ss.ss_flags & SS_ONSTACK;
}

/* The main thread has what the user's limit gives it, but may be on a stack of
 * its own making: of a coroutine, or for signals. Sanitizers follow the stacks
 * of threads, not those of calls. */
static bool
has_room(void)
{
#if defined(SPW_WITH_ASAN) || defined(SPW_WITH_TSAN)
	return true;
#endif
	const char *here = __builtin_frame_address(0);

	return here < top && top - here < MAIN && !is_in_handler();
}

/* Away from the stack for signals, the kernel takes it for unused, and would
 * begin the next handler on top of those that are on it. So none begins there
 * but that of a fault. */
static unsigned long
block_handlers(void)
{
	unsigned long was, all = ~0ul;
	static const int faults[] = {
		SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS,
	};

	for (size_t i = 0; i < sizeof(faults) / sizeof(*faults); i++)
		all &= ~(1ul << (faults[i] - 1));
	(void)spw_syscall(SYS_rt_sigprocmask, SIG_SETMASK, (long)&all,
			  (long)&was, sizeof(was), 0, 0);
	return was;
}

static void
unblock_handlers(unsigned long was)
{
	(void)spw_syscall(SYS_rt_sigprocmask, SIG_SETMASK, (long)&was, 0,
			  sizeof(was), 0, 0);
}

static void
call_on_another(void (*fn)(void *arg), void *arg)
{
	struct call *c;
	char *stack = spw_sys_mmap(NULL, ROOM, PROT_READ | PROT_WRITE,
				   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (stack == MAP_FAILED) {
		fn(arg);
		return;
	}
	c = (struct call *)stack;	/* below what the stack will reach */
	*c = (struct call){ .fn = fn, .arg = arg };
	getcontext(&c->there);
	c->there.uc_stack.ss_sp = stack + sizeof(*c);
	c->there.uc_stack.ss_size = ROOM - sizeof(*c);
	c->there.uc_link = &c->here;
	makecontext(&c->there, (void (*)(void))begin, 2,
		    (unsigned)((uintptr_t)c >> 32), (unsigned)(uintptr_t)c);
	swapcontext(&c->here, &c->there);
	(void)spw_sys_munmap(stack, ROOM);
}

/* There and back with the mask of the way: switching sets a mask before it sets
 * the stack. */
static void
call_elsewhere(void (*fn)(void *arg), void *arg)
{
	bool in_handler = is_in_handler();
	unsigned long mask = in_handler ? block_handlers() : 0;

	call_on_another(fn, arg);
	if (in_handler)
		unblock_handlers(mask);
}

void
spw_deep_call(void (*fn)(void *arg), void *arg)
{
	if (has_room())
		fn(arg);
	else
		call_elsewhere(fn, arg);
}

void
spw_deep_call_in_handler(void (*fn)(void *arg), void *arg)
{
	if (!is_in_handler())
		fn(arg);
	else
		call_elsewhere(fn, arg);
}
