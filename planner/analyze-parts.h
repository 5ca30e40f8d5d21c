/* SPDX-License-Identifier: BSD-3-Clause */
/* analyze-parts.h -- what the files of the analyzer share */

#ifndef SPW_PLANNER_ANALYZE_PARTS_H
#define SPW_PLANNER_ANALYZE_PARTS_H

#include "planner/analyze.h"

#include <stdbool.h>

#include "tiers/cpu.h"

#ifdef __x86_64__
#include <immintrin.h>

/* The bytes of numbers the other way round, in one step; of vectors of 32, and
 * of 16.
 */
#define SPW_TURNED_4(v) _mm256_shuffle_epi8((__m256i)(v),		\
	_mm256_setr_epi8(3, 2, 1, 0, 7, 6, 5, 4, 11, 10, 9, 8, 15, 14,	\
			 13, 12, 3, 2, 1, 0, 7, 6, 5, 4, 11, 10, 9, 8,	\
			 15, 14, 13, 12))
#define SPW_TURNED_4_OF_16(v) _mm_shuffle_epi8((__m128i)(v),		\
	_mm_setr_epi8(3, 2, 1, 0, 7, 6, 5, 4, 11, 10, 9, 8, 15, 14, 13,	\
		      12))
#define SPW_TURNED_8(v) _mm256_shuffle_epi8((__m256i)(v),		\
	_mm256_setr_epi8(7, 6, 5, 4, 3, 2, 1, 0, 15, 14, 13, 12, 11,	\
			 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0, 15, 14, 13,	\
			 12, 11, 10, 9, 8))
#endif

#ifdef __clang__
#define UNROLLED _Pragma("unroll")
#else
#define UNROLLED _Pragma("GCC unroll 16")
#endif

/* Two pieces of a block, a third of it apart: each new place costs a miss in
 * the caches and one in the page tables, each further line there much less.
 * Of a small block, both are its beginning.
 */
enum { WINDOW = 1024, SEEN = 256 };

struct spw_sample {
	const uint8_t *one, *two;	/* of WINDOW bytes */
};

/* 16 bytes of at most 16: two of them leave room in a byte, all do not. */
static inline unsigned int
spw_add_16(const uint8_t *p)
{
	uint64_t v[2], w;

	memcpy(v, p, sizeof(v));
	w = v[0] + v[1];
	w = (w & 0x00ff00ff00ff00ffu) + (w >> 8 & 0x00ff00ff00ff00ffu);
	return w * 0x0001000100010001u >> 48;
}

/* By the first bytes of a file. */
uint8_t spw_analyze_format(const uint8_t *p, size_t n);
bool spw_analyze_is_packed(uint8_t format);	/* its bytes do not shrink */

/* Bytes after which records, or elements, seem to start again; 0 for noise. */
unsigned int spw_analyze_stride(const struct spw_sample *s);

/* The width of numbers some bits of which are always the same, as the highest
 * are where all numbers lie below a power of two; 1: bytes, 0: there are none.
 */
unsigned int spw_analyze_fixed(const struct spw_sample *s, bool *ret_is_big);

/* Is every byte as frequent as the others? */
bool spw_analyze_is_random(const struct spw_sample *s);

/* The bytes of a record of floats of this width, by their exponents; 0: they
 * are all alike.
 */
unsigned int spw_analyze_record(const struct spw_sample *s,
				const struct spw_traits *t);

/* How 32 values, 16 of each window, look as numbers of 4 or 8 bytes: every
 * other one apart, since they may be halves.
 */
enum { SPW_LOOKED = 32 };

struct spw_half {
	unsigned int n;			/* other than 0 and -1 */
	unsigned int floats, integers;
	unsigned int changes, steps;	/* to the next; and small ones */
};

struct spw_look {
	struct spw_half half[2];
};

void spw_analyze_look(const struct spw_sample *s, unsigned int width,
		      bool is_big, struct spw_look *ret);

/* shape and steps from the numbers, whose kind and width t has. */
void spw_analyze_numbers(const struct spw_sample *s, struct spw_traits *t);

#endif
