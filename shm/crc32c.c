/* SPDX-License-Identifier: BSD-3-Clause */
/* crc32c.c -- CRC-32C by the processor's instruction, or by tables */

/* The checksum is linear over GF(2).  Two things follow, and both are used:
 *
 * - A table entry is the xor of the entries of its single bits.  So the 2048
 *   entries of slicing-by-8 are spelled by the preprocessor from 64 numbers,
 *   and lie in read-only memory with nothing to initialise.
 *
 * - The crc32 instruction has a latency of three cycles but starts one each
 *   cycle.  Three lanes that lie one after the other are summed side by side;
 *   the first two sums are then moved over the bytes that follow them, which
 *   is a multiplication by a constant, and xored.
 */

#include "shm/crc32c.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>

#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>
#endif

#define ARRAY_LEN(a) (sizeof(a) / sizeof((a)[0]))

/* Portable: eight bytes a step.  slice[k][b] is the sum of byte b followed
 * by k zero bytes.
 */

#define BIT(b, i, v) (((b) >> (i)) & 1 ? (v) : 0u)
#define E1(b, v0, v1, v2, v3, v4, v5, v6, v7)				\
	(BIT(b, 0, v0) ^ BIT(b, 1, v1) ^ BIT(b, 2, v2) ^ BIT(b, 3, v3) ^ \
	 BIT(b, 4, v4) ^ BIT(b, 5, v5) ^ BIT(b, 6, v6) ^ BIT(b, 7, v7))
#define E4(b, ...)							\
	E1(b, __VA_ARGS__), E1((b) + 1, __VA_ARGS__),			\
	E1((b) + 2, __VA_ARGS__), E1((b) + 3, __VA_ARGS__)
#define E16(b, ...)							\
	E4(b, __VA_ARGS__), E4((b) + 4, __VA_ARGS__),			\
	E4((b) + 8, __VA_ARGS__), E4((b) + 12, __VA_ARGS__)
#define E64(b, ...)							\
	E16(b, __VA_ARGS__), E16((b) + 16, __VA_ARGS__),		\
	E16((b) + 32, __VA_ARGS__), E16((b) + 48, __VA_ARGS__)
#define E256(...)							\
	E64(0, __VA_ARGS__), E64(64, __VA_ARGS__),			\
	E64(128, __VA_ARGS__), E64(192, __VA_ARGS__)

static const uint32_t slice[8][256] = {
	{ E256(0xf26b8303, 0xe13b70f7, 0xc79a971f, 0x8ad958cf,
	       0x105ec76f, 0x20bd8ede, 0x417b1dbc, 0x82f63b78) },
	{ E256(0x13a29877, 0x274530ee, 0x4e8a61dc, 0x9d14c3b8,
	       0x3fc5f181, 0x7f8be302, 0xff17c604, 0xfbc3faf9) },
	{ E256(0xa541927e, 0x4f6f520d, 0x9edea41a, 0x38513ec5,
	       0x70a27d8a, 0xe144fb14, 0xc76580d9, 0x8b277743) },
	{ E256(0xdd45aab8, 0xbf672381, 0x7b2231f3, 0xf64463e6,
	       0xe964b13d, 0xd725148b, 0xaba65fe7, 0x52a0c93f) },
	{ E256(0x38116fac, 0x7022df58, 0xe045beb0, 0xc5670b91,
	       0x8f2261d3, 0x1ba8b557, 0x37516aae, 0x6ea2d55c) },
	{ E256(0xef306b19, 0xdb8ca0c3, 0xb2f53777, 0x6006181f,
	       0xc00c303e, 0x85f4168d, 0x0e045beb, 0x1c08b7d6) },
	{ E256(0x68032cc8, 0xd0065990, 0xa5e0c5d1, 0x4e2dfd53,
	       0x9c5bfaa6, 0x3d5b83bd, 0x7ab7077a, 0xf56e0ef4) },
	{ E256(0x493c7d27, 0x9278fa4e, 0x211d826d, 0x423b04da,
	       0x847609b4, 0x0d006599, 0x1a00cb32, 0x34019664) },
};

/* Little-endian on every machine; compilers make one load of it. */
static uint32_t
load32(const uint8_t *p)
{
	return p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 |
	       (uint32_t)p[3] << 24;
}

static uint32_t
sum_portable(uint32_t crc, const void *buf, size_t n)
{
	const uint8_t *p = buf;

	crc = ~crc;
	for (; n >= 8; p += 8, n -= 8) {
		uint32_t lo = load32(p) ^ crc, hi = load32(p + 4);

		crc = slice[7][lo & 255] ^ slice[6][lo >> 8 & 255] ^
		      slice[5][lo >> 16 & 255] ^ slice[4][lo >> 24] ^
		      slice[3][hi & 255] ^ slice[2][hi >> 8 & 255] ^
		      slice[1][hi >> 16 & 255] ^ slice[0][hi >> 24];
	}
	for (; n; p++, n--)
		crc = slice[0][(crc ^ *p) & 255] ^ crc >> 8;
	return ~crc;
}

#if defined(__x86_64__)

static uint64_t
load64(const uint8_t *p)
{
	uint64_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

/* One lane, without the inversions at both ends. */
__attribute__((target("sse4.2")))
static uint32_t
sum_lane(uint32_t crc, const uint8_t *p, size_t n)
{
	uint64_t c = crc;

	for (; n >= 8; p += 8, n -= 8)
		c = _mm_crc32_u64(c, load64(p));
	for (; n; p++, n--)
		c = _mm_crc32_u8((uint32_t)c, *p);
	return (uint32_t)c;
}

__attribute__((target("sse4.2")))
static uint32_t
sum_sse42(uint32_t crc, const void *buf, size_t n)
{
	return ~sum_lane(~crc, buf, n);
}

/* How a sum moves over z zero bytes: times x^(8z - 33) mod the polynomial,
 * bits reflected.  33 is what the product of reflected numbers (1) and the
 * crc32 instruction that reduces it (32) add by themselves.
 */
struct lanes {
	size_t len;		/* bytes per lane, a multiple of 8 */
	uint32_t over_one;	/* z = len */
	uint32_t over_two;	/* z = 2 * len */
};

/* 3 * 1360 = 4080: a page in one round and two words. */
static const struct lanes long_lanes = { 1360, 0x3f70cc6f, 0x5aa1f3cf };
static const struct lanes short_lanes = { 128, 0x0d3b6092, 0xb9e02b86 };

__attribute__((target("sse4.2,pclmul")))
static uint32_t
move(uint32_t crc, uint32_t constant)
{
	__m128i v = _mm_clmulepi64_si128(_mm_cvtsi32_si128((int)crc),
					 _mm_cvtsi32_si128((int)constant), 0);

	return (uint32_t)_mm_crc32_u64(0, (uint64_t)_mm_cvtsi128_si64(v));
}

__attribute__((target("sse4.2,pclmul")))
static uint32_t
sum_three(uint32_t crc, const uint8_t *p, const struct lanes *l)
{
	uint64_t a = crc, b = 0, c = 0;
	size_t i;

	for (i = 0; i < l->len; i += 8) {
		/* Lanes are too short for the processor to see where they go
		 * on, and what a device wrote is not in its caches: the next
		 * round is called up meanwhile. Behind the last there may be
		 * nothing, which does no harm. */
		if (i % 64 == 0) {
			__builtin_prefetch(p + 3 * l->len + i);
			__builtin_prefetch(p + 4 * l->len + i);
			__builtin_prefetch(p + 5 * l->len + i);
		}
		a = _mm_crc32_u64(a, load64(p + i));
		b = _mm_crc32_u64(b, load64(p + l->len + i));
		c = _mm_crc32_u64(c, load64(p + 2 * l->len + i));
	}
	return move((uint32_t)a, l->over_two) ^
	       move((uint32_t)b, l->over_one) ^ (uint32_t)c;
}

__attribute__((target("sse4.2,pclmul")))
static uint32_t
sum_pclmul(uint32_t crc, const void *buf, size_t n)
{
	const uint8_t *p = buf;
	size_t round;

	crc = ~crc;
	round = 3 * long_lanes.len;
	for (; n >= round; p += round, n -= round)
		crc = sum_three(crc, p, &long_lanes);
	round = 3 * short_lanes.len;
	for (; n >= round; p += round, n -= round)
		crc = sum_three(crc, p, &short_lanes);
	return ~sum_lane(crc, p, n);
}

/* Asked of the processor itself: the compiler's own answer is filled in by a
 * constructor, and we may be called before it.
 */
static bool
cpu_has(unsigned int bits)
{
	unsigned int a, b, c, d;

	return __get_cpuid(1, &a, &b, &c, &d) && (c & bits) == bits;
}

#define NEED_PCLMUL (bit_SSE4_2 | bit_PCLMUL)
#define NEED_SSE42 bit_SSE4_2

#else

static bool
cpu_has(unsigned int bits)
{
	return !bits;
}

#endif

static const struct {
	struct spw_crc32c_way way;
	unsigned int needs;		/* for cpu_has */
} ways[] = {
#if defined(__x86_64__)
	{ { "sse4.2+pclmul", sum_pclmul }, NEED_PCLMUL },
	{ { "sse4.2", sum_sse42 }, NEED_SSE42 },
#endif
	{ { "portable", sum_portable }, 0 },
};

const struct spw_crc32c_way *
spw_crc32c_way(size_t i)
{
	size_t k;

	for (k = 0; k < ARRAY_LEN(ways); k++)
		if (cpu_has(ways[k].needs) && i-- == 0)
			return &ways[k].way;
	return NULL;
}

/* Relaxed: every thread that finds NULL stores the same pointer, and what it
 * points to is constant.
 */
static _Atomic(const struct spw_crc32c_way *) chosen;

uint32_t
spw_crc32c(uint32_t crc, const void *buf, size_t n)
{
	const struct spw_crc32c_way *way =
		atomic_load_explicit(&chosen, memory_order_relaxed);

	if (!way) {
		way = spw_crc32c_way(0);
		atomic_store_explicit(&chosen, way, memory_order_relaxed);
	}
	return way->sum(crc, buf, n);
}
