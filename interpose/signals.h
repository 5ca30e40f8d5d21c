/* SPDX-License-Identifier: BSD-3-Clause */
/* signals.h -- handlers wait while a thread holds locks of the segment */
#ifndef SPW_INTERPOSE_SIGNALS_H
#define SPW_INTERPOSE_SIGNALS_H

#include <stdbool.h>

/* Sends the thread the signals that came while it was busy. */
void spw_signals_deliver(void);

/* In a forked child: what the parent's thread was owed is not ours. */
void spw_signals_forked(void);

/* syscall(SYS_rt_sigaction, a[0], ...), as libc returns from it. False: it is
 * for the kernel. */
bool spw_signals_by_number(const long *a, long *ret);

#endif
