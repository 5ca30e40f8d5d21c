/* SPDX-License-Identifier: BSD-3-Clause */
/* filter-way.h -- the loops inside of the prefilters, for a kind of machine */

#ifndef SPW_TIERS_FILTER_WAY_H
#define SPW_TIERS_FILTER_WAY_H

#include "tiers/filter.h"

/* One set of loops.  All give the same result.  m counts elements of w bytes;
 * w is any for the shuffles, and 1, 2, 4 or 8 for the differences.
 */
struct spw_filter_way {
	const char *name;	/* "avx2", "sse2", "portable" */

	/* Byte c of element i to dst[c * stride + i], and back. */
	void (*shuffle)(uint8_t *dst, size_t stride, const uint8_t *src,
			size_t m, size_t w);
	void (*unshuffle)(uint8_t *dst, const uint8_t *src, size_t stride,
			  size_t m, size_t w);

	/* In each 8 bytes, bit b of byte k becomes bit k of byte b; twice is
	 * nothing.  n is a multiple of 8.
	 */
	void (*turn_bits)(uint8_t *p, size_t n);

	/* The bytes of each element the other way round; w is 2, 4 or 8, and
	 * dst may be src.
	 */
	void (*swap)(uint8_t *dst, const uint8_t *src, size_t m, size_t w);

	/* *prev is the element before the first; it is set to the last one,
	 * as it was in the unfiltered data.  The undoing ones also take dst
	 * equal to src.
	 */
	void (*delta)(uint8_t *dst, const uint8_t *src, size_t m, size_t w,
		      uint64_t *prev);
	void (*undelta)(uint8_t *dst, const uint8_t *src, size_t m, size_t w,
			uint64_t *prev);
	void (*xor)(uint8_t *dst, const uint8_t *src, size_t m, size_t w,
		    uint64_t *prev);
	void (*unxor)(uint8_t *dst, const uint8_t *src, size_t m, size_t w,
		      uint64_t *prev);
};

/* The ways this machine can go, fastest first; NULL past the last.  Filters
 * go by number 0, and there always is one.
 */
const struct spw_filter_way *spw_filter_way(size_t i);

/* As spw_filter_apply and spw_filter_undo, by that way. */
int spw_filter_apply_by(const struct spw_filter_way *way,
			const struct spw_filter_spec *f, void *dst,
			const void *src, size_t n);
int spw_filter_undo_by(const struct spw_filter_way *way,
		       const struct spw_filter_spec *f, void *dst,
		       const void *src, size_t n);

/* Vectors of 16 bytes, in the order of little-endian machines, are there for
 * every compiler that can name a permutation of them.
 */
#if defined(__has_builtin) && defined(__BYTE_ORDER__)
#if __has_builtin(__builtin_shufflevector) && \
	__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define SPW_FILTER_VECTORS 1
#endif
#endif

extern const struct spw_filter_way spw_filter_portable;
#ifdef SPW_FILTER_VECTORS
extern const struct spw_filter_way spw_filter_vec16;
#ifdef __x86_64__
extern const struct spw_filter_way spw_filter_avx2;
#endif
#endif

#endif
