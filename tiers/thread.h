/* SPDX-License-Identifier: BSD-3-Clause */
/* thread.h -- what every thread of the drainer does first */
#ifndef SPW_TIERS_THREAD_H
#define SPW_TIERS_THREAD_H

/* Where the drainer is a guest in a program, set before its first thread is
 * started: tells the host that the calling thread is not the program's. */
extern void (*spw_thread_tell)(void);

/* To be called by the thread. name: 15 letters at most. */
void spw_thread_begin(const char *name);

#endif
