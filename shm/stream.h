/* SPDX-License-Identifier: BSD-3-Clause */
/* stream.h -- copying a block past the processor's caches */

/*
 * A block that is written whole is next read by the drainer, on another
 * processor and later. Stored past the caches it costs a third to a half
 * less: nothing is fetched only to be overwritten, and what the program had
 * in the caches stays there.
 */
#ifndef SPW_SHM_STREAM_H
#define SPW_SHM_STREAM_H

#include "shm/layout.h"

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
