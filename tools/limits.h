/* SPDX-License-Identifier: BSD-3-Clause */
/* limits.h -- as many open files as this process may have */
#ifndef SPW_TOOLS_LIMITS_H
#define SPW_TOOLS_LIMITS_H

#include <sys/resource.h>

/* Raises the limit as far as it goes and returns what it was, rlim_max 0 where
 * nobody knows. */
struct rlimit spw_limits_raise_files(void);

#endif
