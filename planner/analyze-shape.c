/* SPDX-License-Identifier: BSD-3-Clause */
/* analyze-shape.c -- how numbers are distributed, and how far they step */

/* 192 numbers give the moments well enough to tell a uniform distribution
 * (kurtosis 1.8) from a normal one (3), and by mean and deviation an
 * exponential one (their ratio is 1) from other gamma distributions.
 */

#include "planner/analyze-parts.h"

#include <byteswap.h>
#include <math.h>

/* Numbers of a window: floats, for their distribution, and integers, where
 * only the steps matter.
 */
enum { FLOATS = 96, INTEGERS = 32 };

struct moments {
	double mean, variance, kurtosis;
	double skewness2;		/* its square */
	bool is_left;			/* and its sign */
	double steps;			/* mean square step / variance */
};

typedef double four __attribute__((vector_size(32)));

/* Sums of powers of the distance from a center, over all but the last 4 of a
 * window, which have no next.
 */
struct sums {
	double one, two, three, four, step, n;
};

/* The loops, for numbers as they are stored: NEXT4(v, i) reads four of them,
 * from number i of p on, as doubles.
 */
#define LOOPS(name, target, NEXT4)					\
target static double							\
name##_first(const uint8_t *p)						\
{									\
	four v;								\
									\
	NEXT4(v, 0);							\
	return v[0] + v[1] + v[2] + v[3];				\
}									\
target static void							\
name##_sums(const uint8_t *p, size_t n, double center, struct sums *s)	\
{									\
	four one = { 0 }, two = { 0 }, three = { 0 }, quad = { 0 };	\
	four step = { 0 }, v, next, d, d2;				\
	size_t i;							\
									\
	for (i = 0; i < n - 4; i += 4) {				\
		NEXT4(v, i);						\
		NEXT4(next, i + 1);					\
		d = v - center;						\
		d2 = d * d;						\
		one += d;						\
		two += d2;						\
		three += d2 * d;					\
		quad += d2 * d2;					\
		next -= v;						\
		step += next * next;					\
	}								\
	s->one += one[0] + one[1] + one[2] + one[3];			\
	s->two += two[0] + two[1] + two[2] + two[3];			\
	s->three += three[0] + three[1] + three[2] + three[3];		\
	s->four += quad[0] + quad[1] + quad[2] + quad[3];		\
	s->step += step[0] + step[1] + step[2] + step[3];		\
	s->n += (double)i;						\
}

typedef float floats __attribute__((vector_size(16)));

#define NEXT_F32(v, i) do {						\
	floats f;							\
									\
	memcpy(&f, p + (i) * 4, sizeof(f));				\
	v = WIDENED(f);							\
} while (0)
#define NEXT_F64(v, i) memcpy(&v, p + (i) * 8, sizeof(v))

/* The same for big-endian numbers. */
typedef uint32_t words __attribute__((vector_size(16)));
typedef uint32_t more_words __attribute__((vector_size(32)));
typedef uint64_t longs __attribute__((vector_size(32)));

#define SWAPPED(w) ((w) << 24 | ((w) & 0xff00) << 8 |			\
		    ((w) >> 8 & 0xff00) | (w) >> 24)
#define NEXT_B32(v, i) do {						\
	words w;							\
									\
	memcpy(&w, p + (i) * 4, sizeof(w));				\
	v = WIDENED((floats)TURNED(w));					\
} while (0)
#define NEXT_B64(v, i) do {						\
	more_words w;							\
									\
	memcpy(&w, p + (i) * 8, sizeof(w));				\
	TURN(v, w);							\
} while (0)

#define ALL_LOOPS(name, target)						\
	LOOPS(name##_f32, target, NEXT_F32)				\
	LOOPS(name##_f64, target, NEXT_F64)				\
	LOOPS(name##_b32, target, NEXT_B32)				\
	LOOPS(name##_b64, target, NEXT_B64)

#define WIDENED(f) __builtin_convertvector(f, four)
#define TURNED(w) SWAPPED(w)
#define TURN(v, w) do {							\
	longs l = (longs)SWAPPED(w);					\
									\
	v = (four)(l >> 32 | l << 32);					\
} while (0)
ALL_LOOPS(plain, )
#ifdef __x86_64__
#undef WIDENED
#undef TURNED
#undef TURN
#define WIDENED(f) (four)_mm256_cvtps_pd((__m128)(f))	/* in one step */
#define TURNED(w) SPW_TURNED_4_OF_16(w)
#define TURN(v, w) (v) = (four)SPW_TURNED_8(w)
ALL_LOOPS(avx2, __attribute__((target("avx2"))))
#endif

static const struct way {
	double (*first)(const uint8_t *p);
	void (*sums)(const uint8_t *p, size_t n, double center,
		     struct sums *s);
} plain[2][2] = {			/* is_big, is_double */
	{ { plain_f32_first, plain_f32_sums },
	  { plain_f64_first, plain_f64_sums } },
	{ { plain_b32_first, plain_b32_sums },
	  { plain_b64_first, plain_b64_sums } },
}
#ifdef __x86_64__
, avx2[2][2] = {
	{ { avx2_f32_first, avx2_f32_sums },
	  { avx2_f64_first, avx2_f64_sums } },
	{ { avx2_b32_first, avx2_b32_sums },
	  { avx2_b64_first, avx2_b64_sums } },
}
#endif
;

static const struct way *
choose(bool is_big, bool is_double)
{
#ifdef __x86_64__
	if (spw_has_avx2())
		return &avx2[is_big][is_double];
#endif
	return &plain[is_big][is_double];
}

/* What is no float is made one first. */
#define READ(N, T)							\
	for (i = 0; i < n; i++) {					\
		uint##N##_t bits;					\
		T v;							\
									\
		memcpy(&bits, p + i * (N / 8), sizeof(bits));		\
		if (t->is_big)						\
			bits = bswap_##N(bits);				\
		memcpy(&v, &bits, sizeof(v));				\
		x[i] = (double)v;					\
	}

static void
make_doubles(const struct spw_traits *t, const uint8_t *p, double *x, size_t n)
{
	size_t i;

	if (t->width == 2)
		READ(16, int16_t)
	else if (t->width == 4)
		READ(32, int32_t)
	else
		READ(64, int64_t)
}

/* n numbers in each of two places. */
struct numbers {
	const uint8_t *one, *two;
	size_t n;
	bool is_double, is_big;
};

/* False: not all of them are numbers, or all are the same.  The center is one
 * of eight numbers, near enough to the mean for the sums to be exact.
 */
static bool
find_moments(const struct numbers *in, struct moments *ret)
{
	const struct way *way = choose(in->is_big, in->is_double);
	double center = (way->first(in->one) + way->first(in->two)) / 8;
	double d, d2, m2, m3, m4;
	struct sums s = { 0 };

	way->sums(in->one, in->n, center, &s);
	way->sums(in->two, in->n, center, &s);
	d = s.one / s.n;
	d2 = d * d;
	m2 = s.two / s.n - d2;
	m3 = s.three / s.n - 3 * d * (s.two / s.n) + 2 * d * d2;
	m4 = s.four / s.n - 4 * d * (s.three / s.n) + 6 * d2 * (s.two / s.n) -
	     3 * d2 * d2;
	ret->mean = center + d;
	ret->variance = m2;
	ret->skewness2 = m3 * m3 / (m2 * m2 * m2);
	ret->is_left = m3 < 0;
	ret->kurtosis = m4 / (m2 * m2);
	ret->steps = s.step / s.n / m2;
	return m2 > 0 && isfinite(ret->kurtosis) && isfinite(ret->skewness2);
}

/* By the highest bit, which is the sign in both kinds. */
static bool
is_negative(const struct numbers *in)
{
	typedef uint64_t vec __attribute__((vector_size(16)));
	const uint64_t little = in->is_double ? UINT64_C(1) << 63
					      : UINT64_C(0x8000000080000000);
	const uint64_t signs = in->is_big ? bswap_64(little) : little;
	const size_t bytes = in->n * (in->is_double ? 8 : 4);
	vec one, two, all = { 0 };
	size_t i;

	for (i = 0; i < bytes; i += sizeof(all)) {
		memcpy(&one, in->one + i, sizeof(one));
		memcpy(&two, in->two + i, sizeof(two));
		all |= one | two;
	}
	return (all[0] | all[1]) & signs;
}

/* A gamma distribution of order k has mean^2 / variance = k and the square of
 * its skewness is 4 / k; order 1 is the exponential one.  From k = 10 or so
 * it is as good as normal.  What seems to be far below 1 are numbers of
 * several sizes.
 */
static enum spw_data_shape
find_skewed(const struct numbers *in, const struct moments *m)
{
	double k = m->mean * m->mean / m->variance;
	double agreement = m->skewness2 * k / 4;

	if (m->is_left || k < 0.25 || agreement < 0.2 || agreement > 3 ||
	    is_negative(in))
		return SPW_SHAPE_OTHER;
	return k > 0.72 && k < 1.4 ? SPW_SHAPE_EXPONENTIAL : SPW_SHAPE_GAMMA;
}

static enum spw_data_shape
find_shape(const struct numbers *in, const struct moments *m)
{
	if (m->skewness2 > 0.3)
		return find_skewed(in, m);
	if (m->kurtosis < 2.3)
		return m->kurtosis > 1.4 ? SPW_SHAPE_UNIFORM : SPW_SHAPE_OTHER;
	return m->kurtosis < 4.5 ? SPW_SHAPE_NORMAL : SPW_SHAPE_OTHER;
}

/* The mean square step of independent numbers is twice their variance. */
static uint8_t
find_steps(const struct moments *m)
{
	return m->steps > 0.6 ? 1 : m->steps > 0.02 ? 2 : 3;
}

void
spw_analyze_numbers(const struct spw_sample *s, struct spw_traits *t)
{
	const bool is_float = t->kind == SPW_DATA_FLOAT;
	struct numbers in = { s->one, s->two, is_float ? FLOATS : INTEGERS,
			      t->width == 8, t->is_big };
	double x[2 * INTEGERS];
	struct moments m;

	if (!is_float) {
		make_doubles(t, s->one, x, in.n);
		make_doubles(t, s->two, x + in.n, in.n);
		in = (struct numbers){ (uint8_t *)x, (uint8_t *)(x + in.n),
				       in.n, true, false };
	}
	if (!find_moments(&in, &m)) {
		t->shape = is_float ? SPW_SHAPE_OTHER : SPW_SHAPE_UNKNOWN;
		return;
	}
	t->steps = find_steps(&m);
	if (is_float)
		t->shape = find_shape(&in, &m);
}
