/* SPDX-License-Identifier: BSD-3-Clause */
/* limits.h -- what a drainer needs more of than the program may have */
#ifndef SPW_TOOLS_LIMITS_H
#define SPW_TOOLS_LIMITS_H

#include <sys/resource.h>

struct spw_limits {
	struct rlimit files, size;	/* as they were; rlim_max 0: unknown */
};

/* As many open files, and files as large, as the system allows us. */
void spw_limits_raise(struct spw_limits *ret_before);

void spw_limits_restore(const struct spw_limits *before);

#endif
