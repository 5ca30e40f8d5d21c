/* SPDX-License-Identifier: BSD-3-Clause */
/* stream.h -- copying blocks that are in memory and not in the caches */

/*
 * A block that is written whole is next read by the drainer, on another
 * processor and later. Stored past the caches it costs a third to a half
 * less: nothing is fetched only to be overwritten, and what the program had
 * in the caches stays there.
 *
 * So who reads it fetches it from memory. As one string, which the processor
 * knows the length of, that took 135 to 145 ns for 4 KiB, and 180 to 200 as the
 * loop of vectors that libc has for it.
 */
#ifndef SPW_SHM_STREAM_H
#define SPW_SHM_STREAM_H

#include "shm/glance.h"
#include "shm/layout.h"

enum { SPW_STREAM_STRING = 1024 };	/* bytes from which on it pays */

/* Like spw_glance_copy, for what a reader asked for. */
static inline void
spw_stream_out(void *to, const void *from, size_t n)
{
#if defined(__x86_64__)
	if (n >= SPW_STREAM_STRING) {
		size_t words = n / 8;

		__asm__ volatile("rep movsq"
				 : "+D"(to), "+S"(from), "+c"(words)
				 : : "memory");
		n %= 8;
	}
#endif
	spw_glance_copy(to, from, n);
}

#if defined(__SSE2__)
#include <emmintrin.h>

static inline void
spw_stream_block(uint8_t *slot, const uint8_t *from)
{
	__m128i *to = (__m128i *)slot;
	const __m128i *at = (const __m128i *)from;

	for (const __m128i *end = to + SPW_BLOCK_SIZE / sizeof(*to); to < end;
	     to += 4, at += 4) {
		__m128i a = _mm_loadu_si128(at);
		__m128i b = _mm_loadu_si128(at + 1);
		__m128i c = _mm_loadu_si128(at + 2);
		__m128i d = _mm_loadu_si128(at + 3);

		_mm_stream_si128(to, a);
		_mm_stream_si128(to + 1, b);
		_mm_stream_si128(to + 2, c);
		_mm_stream_si128(to + 3, d);
	}
}

/* Such stores keep no order: before anything may lead a reader there. */
static inline void
spw_stream_end(void)
{
	_mm_sfence();
}

#else

static inline void
spw_stream_block(uint8_t *slot, const uint8_t *from)
{
	memcpy(slot, from, SPW_BLOCK_SIZE);
}

static inline void
spw_stream_end(void)
{
}

#endif
#endif
