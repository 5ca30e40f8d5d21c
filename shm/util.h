/* SPDX-License-Identifier: BSD-3-Clause */
/* util.h -- rounding, checked sums, bounded text, the clock */
#ifndef SPW_SHM_UTIL_H
#define SPW_SHM_UTIL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <time.h>

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

/* The clock the kernel stamps files with: coarse, a few ns to read. */
static inline int64_t
spw_file_time(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_REALTIME_COARSE, &ts);
	return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

static inline int64_t
spw_now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC_COARSE, &ts);
	return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

/* A bounded string under construction; full says that something was cut. */
struct spw_text {
	char *at, *end;			/* end: last byte, kept for the NUL */
	bool full;
};

static inline struct spw_text
spw_text_on(char *buf, size_t cap)
{
	struct spw_text t = { buf, buf + cap - 1, false };

	buf[0] = '\0';
	return t;
}

static inline void
spw_text_add(struct spw_text *t, const char *s)
{
	while (*s && t->at < t->end)
		*t->at++ = *s++;
	*t->at = '\0';
	t->full |= *s != '\0';
}

static inline void
spw_text_num(struct spw_text *t, uint64_t n)
{
	char digits[24];
	char *p = digits + sizeof(digits) - 1;

	*p = '\0';
	do
		*--p = (char)('0' + n % 10);
	while (n /= 10);
	spw_text_add(t, p);
}

#endif
