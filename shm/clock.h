/* SPDX-License-Identifier: BSD-3-Clause */
/* clock.h -- the kernel's clocks, whatever else is preloaded */
#ifndef SPW_SHM_CLOCK_H
#define SPW_SHM_CLOCK_H

#include <time.h>

/* As clock_gettime of the C library, which another library in the program may
 * replace by one that shows a time of its own (libfaketime): files get the
 * kernel's time, and so do marks that processes compare. Not for a time that
 * is waited for by a function of the C library. */
extern int (*spw_clock)(clockid_t clock, struct timespec *ret_now);

#endif
