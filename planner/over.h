/* SPDX-License-Identifier: BSD-3-Clause */
/* over.h -- whether a program has ended but for threads of ours */
#ifndef SPW_PLANNER_OVER_H
#define SPW_PLANNER_OVER_H

#include <stdbool.h>

/* True when the first thread and all others have ended; what the first one
 * ended with. */
bool spw_is_over(int *ret_status);

#endif
