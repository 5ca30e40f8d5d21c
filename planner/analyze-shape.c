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

/* Sums of powers, over all but the last 4 of a window, which have no next. */
struct sums {
	double two, three, four, step, n;
};

/* The loops, for numbers as they are stored: NEXT4(v, i) reads four of them,
 * from number i of p on, as doubles.
 */
#define LOOPS(name, target, NEXT4)					\
target static double							\
name##_total(const uint8_t *p, size_t n)				\
{									\
	four a = { 0 }, b = { 0 }, v;					\
	size_t i;							\
									\
	for (i = 0; i < n; i += 8) {					\
		NEXT4(v, i);						\
		a += v;							\
		NEXT4(v, i + 4);					\
		b += v;							\
	}								\
	a += b;								\
	return a[0] + a[1] + a[2] + a[3];				\
}									\
target static void							\
name##_sums(const uint8_t *p, size_t n, double mean, struct sums *s)	\
{									\
	four two = { 0 }, three = { 0 }, quad = { 0 }, step = { 0 };	\
	four v, next, d, d2;						\
	size_t i;							\
									\
	for (i = 0; i < n - 4; i += 4) {				\
		NEXT4(v, i);						\
		NEXT4(next, i + 1);					\
		d = v - mean;						\
		d2 = d * d;						\
		two += d2;						\
		three += d2 * d;					\
		quad += d2 * d2;					\
		next -= v;						\
		step += next * next;					\
	}								\
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
	v = __builtin_convertvector(f, four);				\
} while (0)
#define NEXT_F64(v, i) memcpy(&v, p + (i) * 8, sizeof(v))

LOOPS(plain_f32, , NEXT_F32)
LOOPS(plain_f64, , NEXT_F64)
#ifdef __x86_64__
LOOPS(avx2_f32, __attribute__((target("avx2"))), NEXT_F32)
LOOPS(avx2_f64, __attribute__((target("avx2"))), NEXT_F64)
#endif

static const struct way {
	double (*total)(const uint8_t *p, size_t n);
	void (*sums)(const uint8_t *p, size_t n, double mean, struct sums *s);
} plain[2] = {
	{ plain_f32_total, plain_f32_sums },
	{ plain_f64_total, plain_f64_sums },
}
#ifdef __x86_64__
, avx2[2] = {
	{ avx2_f32_total, avx2_f32_sums },
	{ avx2_f64_total, avx2_f64_sums },
}
#endif
;

static const struct way *
choose(bool is_double)
{
#ifdef __x86_64__
	if (spw_has_avx2())
		return &avx2[is_double];
#endif
	return &plain[is_double];
}

/* What is no float of this machine is made one first. */
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

	if (t->kind == SPW_DATA_FLOAT && t->width == 4)
		READ(32, float)
	else if (t->kind == SPW_DATA_FLOAT)
		READ(64, double)
	else if (t->width == 2)
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
	bool is_double;
};

/* False: not all of them are numbers, or all are the same. */
static bool
find_moments(const struct numbers *in, struct moments *ret)
{
	const struct way *way = choose(in->is_double);
	struct sums s = { 0 };
	double m2, m3;

	ret->mean = (way->total(in->one, in->n) +
		     way->total(in->two, in->n)) / (2 * (double)in->n);
	way->sums(in->one, in->n, ret->mean, &s);
	way->sums(in->two, in->n, ret->mean, &s);
	m2 = s.two / s.n;
	m3 = s.three / s.n;
	ret->variance = m2;
	ret->skewness2 = m3 * m3 / (m2 * m2 * m2);
	ret->is_left = m3 < 0;
	ret->kurtosis = s.four / s.n / (m2 * m2);
	ret->steps = s.step / s.n / m2;
	return isfinite(ret->kurtosis) && isfinite(ret->skewness2);
}

/* By the highest bit, which is the sign in both kinds. */
static bool
is_negative(const struct numbers *in)
{
	const size_t width = in->is_double ? 8 : 4;
	unsigned int sign = 0;
	size_t i;

	for (i = width - 1; i < in->n * width; i += width)
		sign |= in->one[i] | in->two[i];
	return sign & 0x80;
}

/* A gamma distribution of order k has mean^2 / variance = k and the square of
 * its skewness is 4 / k; order 1 is the exponential one.  From k = 10 or so
 * it is as good as normal.
 */
static enum spw_data_shape
find_skewed(const struct numbers *in, const struct moments *m)
{
	double k = m->mean * m->mean / m->variance;
	double agreement = m->skewness2 * k / 4;

	if (m->is_left || agreement < 0.2 || agreement > 3 || is_negative(in))
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
			      t->width == 8 };
	double x[2 * FLOATS];
	struct moments m;

	if (!is_float || t->is_big) {
		make_doubles(t, s->one, x, in.n);
		make_doubles(t, s->two, x + in.n, in.n);
		in = (struct numbers){ (uint8_t *)x, (uint8_t *)(x + in.n),
				       in.n, true };
	}
	if (!find_moments(&in, &m)) {
		t->shape = is_float ? SPW_SHAPE_OTHER : SPW_SHAPE_UNKNOWN;
		return;
	}
	t->steps = find_steps(&m);
	if (is_float)
		t->shape = find_shape(&in, &m);
}
