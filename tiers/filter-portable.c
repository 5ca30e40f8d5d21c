/* SPDX-License-Identifier: BSD-3-Clause */
/* filter-portable.c -- the loops of the prefilters in plain C */

#include <byteswap.h>
#include <endian.h>
#include <string.h>

#include "tiers/filter-way.h"

/* Little-endian on every machine; with a constant w one load or store. */
static inline uint64_t
load(const uint8_t *p, size_t w)
{
	uint64_t v = 0;

	memcpy(&v, p, w);
	return le64toh(v);
}

static inline void
store(uint8_t *p, size_t w, uint64_t v)
{
	v = htole64(v);
	memcpy(p, &v, w);
}

static void
shuffle(uint8_t *dst, size_t stride, const uint8_t *src, size_t m, size_t w)
{
	size_t i, c;

	for (c = 0; c < w; c++)
		for (i = 0; i < m; i++)
			dst[c * stride + i] = src[i * w + c];
}

static void
unshuffle(uint8_t *dst, const uint8_t *src, size_t stride, size_t m, size_t w)
{
	size_t i, c;

	for (c = 0; c < w; c++)
		for (i = 0; i < m; i++)
			dst[i * w + c] = src[c * stride + i];
}

/* Eight bytes are a matrix of 8 rows.  Its halves, quarters and single bits
 * across the diagonal change places.
 */
static void
turn_bits(uint8_t *p, size_t n)
{
	uint64_t v, t;
	size_t i;

	for (i = 0; i < n; i += 8) {
		v = load(p + i, 8);
		t = (v ^ v >> 7) & 0x00aa00aa00aa00aau;
		v ^= t ^ t << 7;
		t = (v ^ v >> 14) & 0x0000cccc0000ccccu;
		v ^= t ^ t << 14;
		t = (v ^ v >> 28) & 0x00000000f0f0f0f0u;
		v ^= t ^ t << 28;
		store(p + i, 8, v);
	}
}

/* The loops below are compiled for each width, and chosen once a call. */
#define FOR_WIDTH(w, loop)			\
	switch (w) {				\
	case 1: loop(1); break;			\
	case 2: loop(2); break;			\
	case 4: loop(4); break;			\
	default: loop(8); break;		\
	}

/* The difference d of W bytes, its sign moved to the lowest bit. */
#define SIGN(W, d) ((d) >> (8 * (W) - 1) & 1)
#define FOLD(W, d) ((d) << 1 ^ (0 - SIGN(W, d)))
#define CUT(W, v) ((v) & ~(uint64_t)0 >> (64 - 8 * (W)))
#define UNFOLD(v) ((v) >> 1 ^ (0 - ((v) & 1)))

static void
swap(uint8_t *dst, const uint8_t *src, size_t m, size_t w)
{
	uint64_t v;
	size_t i;

#define LOOP(W)							\
	for (i = 0; i < m; i++) {				\
		v = bswap_64(load(src + i * (W), W));		\
		store(dst + i * (W), W, v >> (64 - 8 * (W)));	\
	}
	FOR_WIDTH(w, LOOP)
#undef LOOP
}

static void
delta(uint8_t *dst, const uint8_t *src, size_t m, size_t w, uint64_t *prev)
{
	uint64_t last = *prev, v, d;
	size_t i;

#define LOOP(W)						\
	for (i = 0; i < m; i++) {			\
		v = load(src + i * (W), W);		\
		d = v - last;				\
		store(dst + i * (W), W, FOLD(W, d));	\
		last = v;				\
	}
	FOR_WIDTH(w, LOOP)
#undef LOOP
	*prev = last;
}

static void
undelta(uint8_t *dst, const uint8_t *src, size_t m, size_t w, uint64_t *prev)
{
	uint64_t last = *prev, v;
	size_t i;

#define LOOP(W)						\
	for (i = 0; i < m; i++) {			\
		v = load(src + i * (W), W);		\
		last += UNFOLD(v);			\
		store(dst + i * (W), W, last);		\
	}						\
	last = CUT(W, last)
	FOR_WIDTH(w, LOOP)
#undef LOOP
	*prev = last;
}

static void
xor(uint8_t *dst, const uint8_t *src, size_t m, size_t w, uint64_t *prev)
{
	uint64_t last = *prev, v;
	size_t i;

#define LOOP(W)						\
	for (i = 0; i < m; i++) {			\
		v = load(src + i * (W), W);		\
		store(dst + i * (W), W, v ^ last);	\
		last = v;				\
	}
	FOR_WIDTH(w, LOOP)
#undef LOOP
	*prev = last;
}

static void
unxor(uint8_t *dst, const uint8_t *src, size_t m, size_t w, uint64_t *prev)
{
	uint64_t last = *prev;
	size_t i;

#define LOOP(W)						\
	for (i = 0; i < m; i++) {			\
		last ^= load(src + i * (W), W);		\
		store(dst + i * (W), W, last);		\
	}
	FOR_WIDTH(w, LOOP)
#undef LOOP
	*prev = last;
}

const struct spw_filter_way spw_filter_portable = {
	.name = "portable",
	.shuffle = shuffle,
	.unshuffle = unshuffle,
	.turn_bits = turn_bits,
	.swap = swap,
	.delta = delta,
	.undelta = undelta,
	.xor = xor,
	.unxor = unxor,
};
