/* SPDX-License-Identifier: BSD-3-Clause */
/* thread.c -- how threads of the drainer begin, and are waited for */
#include "tiers/thread.h"

#include <errno.h>
#include <stddef.h>

#include "shm/sys.h"
#include "shm/util.h"

void (*spw_thread_tell)(void);

void
spw_thread_begin(const char *name)
{
	(void)pthread_setname_np(pthread_self(), name);
	if (spw_thread_tell)
		spw_thread_tell();
}

/* The joins of libc that end by themselves go by the clock of the day, or are
 * too new. Looks seldom where it has taken long. */
int
spw_thread_join(pthread_t thread, int64_t until_ms)
{
	int64_t pause_us = 50;
	int r;

	if (until_ms < 0)
		return -pthread_join(thread, NULL);
	while ((r = pthread_tryjoin_np(thread, NULL)) == EBUSY) {
		if (spw_now_ms() >= until_ms)
			return -ETIMEDOUT;
		spw_sys_sleep_us(pause_us);
		pause_us = SPW_MIN(pause_us + pause_us / 8, 2000);
	}
	return -r;
}
