/* SPDX-License-Identifier: BSD-3-Clause */
/* filter-vec.h -- the loops of the prefilters with vectors; included twice */

/* Whoever includes this defines
 *
 *   V        bytes of a vector, 16 or 32
 *   TARGET   an attribute for every function, or nothing
 *   WAY      the name of the struct spw_filter_way, and NAME, its text
 *   REST     the way for what is less than a vector
 *
 * The shuffle.  Interleaving the two halves of an array of 2^k bytes, a byte
 * from each in turn, moves each byte to the position whose bits are those of
 * the old position, rotated left by one.  16 elements of w = 2^b bytes have
 * positions eeeeb..b, and their planes have b..beeee; so 4 rounds shuffle, and
 * b rounds unshuffle.  Records of any width are taken 16 columns at a time,
 * as elements of 16 bytes that lie w apart.  With 32 bytes, the upper half of
 * each vector has the next 16 elements, and the halves never meet.
 */

#include <string.h>

#include "tiers/filter-way.h"

#ifdef __clang__
#define UNROLLED _Pragma("unroll")
#else
#define UNROLLED _Pragma("GCC unroll 16")
#endif
#define INLINE TARGET static inline __attribute__((always_inline))

typedef uint8_t vec __attribute__((vector_size(V)));
typedef uint8_t half __attribute__((vector_size(16)));

#if V == 32
#define LOW(a, b) __builtin_shufflevector(a, b, 0, 32, 1, 33, 2, 34, 3, 35, \
	4, 36, 5, 37, 6, 38, 7, 39, 16, 48, 17, 49, 18, 50, 19, 51, 20, 52, \
	21, 53, 22, 54, 23, 55)
#define HIGH(a, b) __builtin_shufflevector(a, b, 8, 40, 9, 41, 10, 42, 11, \
	43, 12, 44, 13, 45, 14, 46, 15, 47, 24, 56, 25, 57, 26, 58, 27, 59, \
	28, 60, 29, 61, 30, 62, 31, 63)
#else
#define LOW(a, b) __builtin_shufflevector(a, b, 0, 16, 1, 17, 2, 18, 3, 19, \
	4, 20, 5, 21, 6, 22, 7, 23)
#define HIGH(a, b) __builtin_shufflevector(a, b, 8, 24, 9, 25, 10, 26, 11, \
	27, 12, 28, 13, 29, 14, 30, 15, 31)
#endif

/* 16 bytes from each group of 16 elements; groups lie `apart`. */
INLINE void
load_groups(vec *v, const uint8_t *p, size_t apart)
{
#if V == 32
	half low, high;

	memcpy(&low, p, 16);
	memcpy(&high, p + apart, 16);
	*v = __builtin_shufflevector(low, high, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9,
		10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24,
		25, 26, 27, 28, 29, 30, 31);
#else
	(void)apart;
	memcpy(v, p, 16);
#endif
}

INLINE void
store_groups(uint8_t *p, size_t apart, const vec *v)
{
	memcpy(p, v, 16);
	if (V == 32)
		memcpy(p + apart, (const uint8_t *)v + 16, 16);
}

/* Interleave the halves of the w vectors, `rounds` times. */
INLINE void
interleave(vec v[16], int w, int rounds)
{
	vec t[16];
	int r, i;

	UNROLLED
	for (r = 0; r < rounds; r++) {
		UNROLLED
		for (i = 0; i < w / 2; i++) {
			t[2 * i] = LOW(v[i], v[i + w / 2]);
			t[2 * i + 1] = HIGH(v[i], v[i + w / 2]);
		}
		UNROLLED
		for (i = 0; i < w; i++)
			v[i] = t[i];
	}
}

/* Elements of 2, 4, 8 or 16 bytes.  Returns how many were done. */
INLINE size_t
shuffle_power(uint8_t *dst, size_t stride, const uint8_t *src, size_t m, int w)
{
	vec v[16];
	size_t i;
	int c;

	for (i = 0; i + V <= m; i += V) {
		UNROLLED
		for (c = 0; c < w; c++)
			load_groups(&v[c], src + i * w + c * 16, 16 * w);
		interleave(v, w, 4);
		UNROLLED
		for (c = 0; c < w; c++)
			memcpy(dst + c * stride + i, &v[c], V);
	}
	return i;
}

INLINE size_t
unshuffle_power(uint8_t *dst, const uint8_t *src, size_t stride, size_t m,
		int w, int rounds)
{
	vec v[16];
	size_t i;
	int c;

	for (i = 0; i + V <= m; i += V) {
		UNROLLED
		for (c = 0; c < w; c++)
			memcpy(&v[c], src + c * stride + i, V);
		interleave(v, w, rounds);
		UNROLLED
		for (c = 0; c < w; c++)
			store_groups(dst + i * w + c * 16, 16 * w, &v[c]);
	}
	return i;
}

/* The first column of the next 16, or w; the last 16 may overlap others. */
INLINE size_t
next_columns(size_t c, size_t w)
{
	return c + 16 >= w ? w : c + 32 > w ? w - 16 : c + 16;
}

/* Rows are read and written 16 bytes at a time, also where that is more than
 * an element: as long as the last row's are within the array.
 */
INLINE size_t
whole_rows(size_t m, size_t w)
{
	size_t beyond = w < 16 ? (16 - 1) / w : 0;

	return m > beyond ? (m - beyond) / V * V : 0;
}

TARGET static size_t
shuffle_any(uint8_t *dst, size_t stride, const uint8_t *src, size_t m,
	    size_t w)
{
	size_t i, k, c, columns = w < 16 ? w : 16, rows = whole_rows(m, w);
	vec v[16];

	for (i = 0; i < rows; i += V)
		for (c = 0; c < w; c = next_columns(c, w)) {
			UNROLLED
			for (k = 0; k < 16; k++)
				load_groups(&v[k], src + (i + k) * w + c,
					    16 * w);
			interleave(v, 16, 4);
			for (k = 0; k < columns; k++)
				memcpy(dst + (c + k) * stride + i, &v[k], V);
		}
	return rows;
}

/* A row of less than 16 bytes spills into the next, which comes later. */
TARGET static size_t
unshuffle_any(uint8_t *dst, const uint8_t *src, size_t stride, size_t m,
	      size_t w)
{
	size_t i, k, c, columns = w < 16 ? w : 16, rows = whole_rows(m, w);
	vec v[16];

	memset(v, 0, sizeof(v));
	for (i = 0; i < rows; i += V)
		for (c = 0; c < w; c = next_columns(c, w)) {
			for (k = 0; k < columns; k++)
				memcpy(&v[k], src + (c + k) * stride + i, V);
			interleave(v, 16, 4);
			for (k = 0; k < 16; k++)
				memcpy(dst + (i + k) * w + c, &v[k], 16);
			for (k = 0; V == 32 && k < 16; k++)
				memcpy(dst + (i + 16 + k) * w + c,
				       (uint8_t *)&v[k] + 16, 16);
		}
	return rows;
}

TARGET static void
shuffle(uint8_t *dst, size_t stride, const uint8_t *src, size_t m, size_t w)
{
	size_t i;

	switch (w) {
	case 1:
		memcpy(dst, src, m);
		return;
	case 2:
		i = shuffle_power(dst, stride, src, m, 2);
		break;
	case 4:
		i = shuffle_power(dst, stride, src, m, 4);
		break;
	case 8:
		i = shuffle_power(dst, stride, src, m, 8);
		break;
	default:
		i = shuffle_any(dst, stride, src, m, w);
	}
	REST.shuffle(dst + i, stride, src + i * w, m - i, w);
}

TARGET static void
unshuffle(uint8_t *dst, const uint8_t *src, size_t stride, size_t m, size_t w)
{
	size_t i;

	switch (w) {
	case 1:
		memcpy(dst, src, m);
		return;
	case 2:
		i = unshuffle_power(dst, src, stride, m, 2, 1);
		break;
	case 4:
		i = unshuffle_power(dst, src, stride, m, 4, 2);
		break;
	case 8:
		i = unshuffle_power(dst, src, stride, m, 8, 3);
		break;
	default:
		i = unshuffle_any(dst, src, stride, m, w);
	}
	REST.unshuffle(dst + i * w, src + i, stride, m - i, w);
}

TARGET static void
turn_bits(uint8_t *p, size_t n)
{
	typedef uint64_t rows __attribute__((vector_size(V)));
	rows v, t;
	size_t i;

	for (i = 0; i + V <= n; i += V) {
		memcpy(&v, p + i, V);
		t = (v ^ v >> 7) & 0x00aa00aa00aa00aau;
		v ^= t ^ t << 7;
		t = (v ^ v >> 14) & 0x0000cccc0000ccccu;
		v ^= t ^ t << 14;
		t = (v ^ v >> 28) & 0x00000000f0f0f0f0u;
		v ^= t ^ t << 28;
		memcpy(p + i, &v, V);
	}
	REST.turn_bits(p + i, n - i);
}

/* Each byte changes places with the one beside it, then each pair with the pair
 * beside it, ...
 */
#define SWAP(N, step)							\
INLINE size_t								\
swap##N(uint8_t *dst, const uint8_t *src, size_t n)			\
{									\
	typedef uint##N##_t whole __attribute__((vector_size(V)));	\
	whole v;							\
	size_t i;							\
									\
	for (i = 0; i + V <= n; i += V) {				\
		memcpy(&v, src + i, V);					\
		step;							\
		memcpy(dst + i, &v, V);					\
	}								\
	return i;							\
}

#define BYTES(v, mask) (((v) & (mask)) << 8 | ((v) >> 8 & (mask)))
#define PAIRS(v, mask) (((v) & (mask)) << 16 | ((v) >> 16 & (mask)))

SWAP(16, v = v << 8 | v >> 8)
SWAP(32, v = BYTES(v, 0x00ff00ffu); v = v << 16 | v >> 16)
SWAP(64, v = BYTES(v, 0x00ff00ff00ff00ffu);
     v = PAIRS(v, 0x0000ffff0000ffffu); v = v << 32 | v >> 32)

TARGET static void
swap(uint8_t *dst, const uint8_t *src, size_t m, size_t w)
{
	size_t n = m * w, i = w == 2 ? swap16(dst, src, n) :
			      w == 4 ? swap32(dst, src, n) :
				       swap64(dst, src, n);

	REST.swap(dst + i, src + i, (n - i) / w, w);
}

/* Differences.  The first element needs *prev and goes the portable way; from
 * there on the vector of elements before is the same memory, one element
 * earlier.  A comparison yields 0 or -1: folding as in filter-portable.c.
 */
#define DIFFERENCES(N)							\
typedef int##N##_t vec_i##N __attribute__((vector_size(V)));		\
TARGET static size_t							\
delta##N(uint8_t *dst, const uint8_t *src, size_t m)			\
{									\
	vec_u##N v, before;						\
	size_t i;							\
									\
	for (i = 1; i + V / (N / 8) <= m; i += V / (N / 8)) {		\
		memcpy(&v, src + i * (N / 8), V);			\
		memcpy(&before, src + (i - 1) * (N / 8), V);		\
		v -= before;						\
		v = (v + v) ^ (vec_u##N)((vec_i##N)v < 0);		\
		memcpy(dst + i * (N / 8), &v, V);			\
	}								\
	return i;							\
}									\
TARGET static size_t							\
xor##N(uint8_t *dst, const uint8_t *src, size_t m)			\
{									\
	vec_u##N v, before;						\
	size_t i;							\
									\
	for (i = 1; i + V / (N / 8) <= m; i += V / (N / 8)) {		\
		memcpy(&v, src + i * (N / 8), V);			\
		memcpy(&before, src + (i - 1) * (N / 8), V);		\
		v ^= before;						\
		memcpy(dst + i * (N / 8), &v, V);			\
	}								\
	return i;							\
}

/* Sums.  In 16 bytes, each element takes on the sum of those before it in
 * steps of 1, 2, 4 and 8 elements, and then the last one of the 16 bytes
 * before.
 */
#define UP1(x) __builtin_shufflevector((half){ 0 }, (half)(x), 15, 16, 17, \
	18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30)
#define UP2(x) __builtin_shufflevector((half){ 0 }, (half)(x), 14, 15, 16, \
	17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29)
#define UP4(x) __builtin_shufflevector((half){ 0 }, (half)(x), 12, 13, 14, \
	15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27)
#define UP8(x) __builtin_shufflevector((half){ 0 }, (half)(x), 8, 9, 10, 11, \
	12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23)
#define LAST8(x) __builtin_shufflevector(x, x, 15, 15, 15, 15, 15, 15, 15, \
	15, 15, 15, 15, 15, 15, 15, 15, 15)
#define LAST16(x) __builtin_shufflevector(x, x, 7, 7, 7, 7, 7, 7, 7, 7)
#define LAST32(x) __builtin_shufflevector(x, x, 3, 3, 3, 3)
#define LAST64(x) __builtin_shufflevector(x, x, 1, 1)

#define SUM(name, N, unfold, op)					\
TARGET static size_t							\
name##N(uint8_t *dst, const uint8_t *src, size_t m, uint64_t prev)	\
{									\
	half_u##N v, last = (half_u##N){ 0 } + (uint##N##_t)prev;	\
	size_t i;							\
									\
	for (i = 0; i + 128 / N <= m; i += 128 / N) {			\
		memcpy(&v, src + i * (N / 8), 16);			\
		v = unfold;						\
		if (N == 8)						\
			v = v op (half_u##N)UP1(v);			\
		if (N <= 16)						\
			v = v op (half_u##N)UP2(v);			\
		if (N <= 32)						\
			v = v op (half_u##N)UP4(v);			\
		v = v op (half_u##N)UP8(v);				\
		v = v op last;						\
		last = LAST##N(v);						\
		memcpy(dst + i * (N / 8), &v, 16);			\
	}								\
	return i;							\
}

#define WIDTH(N)							\
typedef uint##N##_t vec_u##N __attribute__((vector_size(V)));		\
typedef uint##N##_t half_u##N __attribute__((vector_size(16)));		\
DIFFERENCES(N)								\
SUM(undelta, N, v >> 1 ^ (0 - (v & 1)), +)				\
SUM(unxor, N, v, ^)

WIDTH(8)
WIDTH(16)
WIDTH(32)
WIDTH(64)

#define BY_WIDTH(w, name, ...)						\
	((w) == 1 ? name##8(__VA_ARGS__) :				\
	 (w) == 2 ? name##16(__VA_ARGS__) :				\
	 (w) == 4 ? name##32(__VA_ARGS__) : name##64(__VA_ARGS__))

/* The first element, the vectors, the rest. */
#define FORWARD(name)							\
TARGET static void							\
name(uint8_t *dst, const uint8_t *src, size_t m, size_t w, uint64_t *prev) \
{									\
	size_t i;							\
									\
	if (!m)								\
		return;							\
	REST.name(dst, src, 1, w, prev);			\
	i = BY_WIDTH(w, name, dst, src, m);				\
	if (i > 1) {							\
		*prev = 0;						\
		memcpy(prev, src + (i - 1) * w, w);			\
	}								\
	REST.name(dst + i * w, src + i * w, m - i, w, prev); \
}

#define BACKWARD(name)							\
TARGET static void							\
name(uint8_t *dst, const uint8_t *src, size_t m, size_t w, uint64_t *prev) \
{									\
	size_t i = BY_WIDTH(w, name, dst, src, m, *prev);		\
									\
	if (i > 0) {							\
		*prev = 0;						\
		memcpy(prev, dst + (i - 1) * w, w);			\
	}								\
	REST.name(dst + i * w, src + i * w, m - i, w, prev); \
}

FORWARD(delta)
FORWARD(xor)
BACKWARD(undelta)
BACKWARD(unxor)

const struct spw_filter_way WAY = {
	.name = NAME,
	.shuffle = shuffle,
	.unshuffle = unshuffle,
	.turn_bits = turn_bits,
	.swap = swap,
	.delta = delta,
	.undelta = undelta,
	.xor = xor,
	.unxor = unxor,
};
