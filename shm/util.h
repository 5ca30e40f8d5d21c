/* SPDX-License-Identifier: BSD-3-Clause */
/* util.h -- rounding, checked sums, bounded text, the clock */
#ifndef SPW_SHM_UTIL_H
#define SPW_SHM_UTIL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <time.h>

#include "shm/clock.h"

#define SPW_LIKELY(x)	__builtin_expect(!!(x), 1)
#define SPW_UNLIKELY(x)	__builtin_expect(!!(x), 0)

#define SPW_MIN(a, b)	((a) < (b) ? (a) : (b))
#define SPW_MAX(a, b)	((a) > (b) ? (a) : (b))

static inline uint64_t
spw_round_up(uint64_t n, uint64_t to)	/* to: a power of two */
{
	return (n + to - 1) & ~(to - 1);
}

static inline void
spw_pause(void)
{
#if defined(__x86_64__)
	__builtin_ia32_pause();
#else
	__asm__ volatile("" ::: "memory");
#endif
}

/* Has the processor fetch the line of memory at p, to be written. */
static inline void
spw_call_up(const volatile void *p)
{
#if defined(__x86_64__)
	__asm__ volatile("prefetchw %0" : : "m"(*(const volatile char *)p));
#else
	__builtin_prefetch((const void *)p, 1);
#endif
}

/* The clock the kernel stamps files with: coarse, a few ns to read. */
static inline int64_t
spw_file_time(void)
{
	struct timespec ts;

	(void)spw_clock(CLOCK_REALTIME_COARSE, &ts);
	return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

/* Times of files as one number; beyond the years 1677 and 2262 the last one
 * that there is. */
static inline int64_t
spw_nanoseconds(const struct timespec *ts)
{
	int64_t ns;

	if (__builtin_mul_overflow((int64_t)ts->tv_sec, 1000000000, &ns) ||
	    __builtin_add_overflow(ns, (int64_t)ts->tv_nsec, &ns))
		return ts->tv_sec < 0 ? INT64_MIN : INT64_MAX;
	return ns;
}

static inline struct timespec
spw_timespec(int64_t ns)
{
	int64_t rest = ns % 1000000000;

	if (rest < 0)
		rest += 1000000000;
	return (struct timespec){ (time_t)((ns - rest) / 1000000000), rest };
}

static inline int64_t
spw_now_ms(void)
{
	struct timespec ts;

	(void)spw_clock(CLOCK_MONOTONIC_COARSE, &ts);
	return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}


/* The exact one, to measure with. */
static inline int64_t
spw_now_ns(void)
{
	struct timespec ts;

	(void)spw_clock(CLOCK_MONOTONIC, &ts);
	return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

#endif
