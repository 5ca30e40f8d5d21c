/* SPDX-License-Identifier: BSD-3-Clause */
/* limits.c -- as many open files as this process may have */
#include "tools/limits.h"

struct rlimit
spw_limits_raise_files(void)
{
	struct rlimit was = { 0 }, most;

	if (getrlimit(RLIMIT_NOFILE, &was) == 0) {
		most.rlim_cur = most.rlim_max = was.rlim_max;
		(void)setrlimit(RLIMIT_NOFILE, &most);	/* fewer will do */
	}
	return was;
}
