/* SPDX-License-Identifier: BSD-3-Clause */
/* failpoint.c -- dies where SPILLWAY_FAILPOINT says, in test builds only */
#include "shm/failpoint.h"

#ifdef SPW_FAILPOINTS
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "shm/sys.h"

static _Atomic int passed;

void
spw_failpoint(const char *name)
{
	const char *want = secure_getenv("SPILLWAY_FAILPOINT");
	size_t n = strlen(name);

	if (!want || strncmp(want, name, n) || want[n] != ':')
		return;
	if (++passed == atoi(want + n + 1))
		spw_sys_kill(spw_sys_getpid(), SIGKILL);
}
#endif
