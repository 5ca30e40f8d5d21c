/* SPDX-License-Identifier: BSD-3-Clause */
/* clocks.h -- seconds that passed, and seconds this thread worked */

#ifndef SPW_TESTS_CLOCKS_H
#define SPW_TESTS_CLOCKS_H

#include <time.h>

static inline double
read_clock(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

static inline double
now(void)
{
	return read_clock(CLOCK_MONOTONIC);
}

static inline double
worked(void)
{
	return read_clock(CLOCK_THREAD_CPUTIME_ID);
}

#endif
