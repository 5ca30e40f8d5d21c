/* SPDX-License-Identifier: BSD-3-Clause */
/* thread.h -- how threads of the drainer begin, and are waited for */
#ifndef SPW_TIERS_THREAD_H
#define SPW_TIERS_THREAD_H

#include <pthread.h>
#include <stdint.h>

/* Where the drainer is a guest in a program, set before its first thread is
 * started: tells the host that the calling thread is not the program's. */
extern void (*spw_thread_tell)(void);

/* To be called by the thread. name: 15 letters at most. */
void spw_thread_begin(const char *name);

/* As pthread_join, until spw_now_ms() has come; negative: for ever. 0, or
 * -ETIMEDOUT. Whatever is done to the clock of the day. */
int spw_thread_join(pthread_t thread, int64_t until_ms);

#endif
