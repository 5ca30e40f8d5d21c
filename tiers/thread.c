/* SPDX-License-Identifier: BSD-3-Clause */
/* thread.c -- what every thread of the drainer does first */
#include "tiers/thread.h"

#include <pthread.h>
#include <stddef.h>

void (*spw_thread_tell)(void);

void
spw_thread_begin(const char *name)
{
	(void)pthread_setname_np(pthread_self(), name);
	if (spw_thread_tell)
		spw_thread_tell();
}
