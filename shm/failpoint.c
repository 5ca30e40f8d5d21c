/* SPDX-License-Identifier: BSD-3-Clause */
/* failpoint.c -- dies or stops where SPILLWAY_FAILPOINT says, in test builds */
#include "shm/failpoint.h"

#ifdef SPW_FAILPOINTS
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "shm/sys.h"

static _Atomic(const char *) wanted;	/* NULL: not looked yet */
static _Atomic int passed;

void
spw_failpoint_set(const char *want)
{
	atomic_store(&passed, 0);
	atomic_store(&wanted, want);
}

void
spw_failpoint(const char *name)
{
	const char *want = atomic_load_explicit(&wanted, memory_order_relaxed);
	char *action;
	size_t n;

	if (!want) {
		want = secure_getenv("SPILLWAY_FAILPOINT");
		want = want ? want : "";
		atomic_store(&wanted, want);
	}
	if (!*want)
		return;
	n = strlen(name);
	if (strncmp(want, name, n) || want[n] != ':')
		return;
	if (++passed == strtol(want + n + 1, &action, 10))
		spw_sys_kill(spw_sys_getpid(),
			     strcmp(action, ":stop") ? SIGKILL : SIGSTOP);
}
#endif
