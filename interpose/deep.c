/* SPDX-License-Identifier: BSD-3-Clause */
/* deep.c -- a roomy stack for one call */
#include "interpose/deep.h"

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

	return here < top && top - here < MAIN;
}

void
spw_deep_call(void (*fn)(void *arg), void *arg)
{
	struct call *c;
	char *stack;

	if (has_room()) {
		fn(arg);
		return;
	}
	stack = spw_sys_mmap(NULL, ROOM, PROT_READ | PROT_WRITE,
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
