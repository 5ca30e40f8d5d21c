/* SPDX-License-Identifier: BSD-3-Clause */
/* limits.h -- what a drainer needs more of than the program may have */
#ifndef SPW_TOOLS_LIMITS_H
#define SPW_TOOLS_LIMITS_H

#include <sys/resource.h>

struct spw_limits {			/* cur above max: nobody knows */
	struct rlimit files, size;
};

/* As many open files, and files as large, as the system allows us; returns
 * what it was before. */
struct spw_limits spw_limits_raise(void);

void spw_limits_restore(const struct spw_limits *before);

#endif
