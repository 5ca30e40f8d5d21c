/* SPDX-License-Identifier: BSD-3-Clause */
/* analyze-shape.c -- how numbers are distributed, and how far they step */

/* 256 numbers give the moments well enough to tell a uniform distribution
 * (kurtosis 1.8) from a normal one (3), and by mean and deviation an
 * exponential one (their ratio is 1) from other gamma distributions.
 */

#include "planner/analyze-parts.h"

#include <byteswap.h>
#include <math.h>

enum { PER_WINDOW = 128, NUMBERS = 2 * PER_WINDOW };

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

/* Numbers as they are stored, to double; a loop for each type. */
#define READ(N, T)							\
	for (i = 0; i < PER_WINDOW; i++) {				\
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
read_slowly(const struct spw_traits *t, const uint8_t *p, double *x)
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

/* The loops that matter, twice.  What is stored by vectors is loaded by
 * vectors of the same size: processors like that.
 */
#define LOOPS(name, target)						\
target static void							\
name##_read(const uint8_t *p, double *x)				\
{									\
	typedef float floats __attribute__((vector_size(16)));		\
	floats f;							\
	four d;								\
	size_t i;							\
									\
	for (i = 0; i < PER_WINDOW; i += 4) {				\
		memcpy(&f, p + i * 4, sizeof(f));			\
		d = __builtin_convertvector(f, four);			\
		memcpy(x + i, &d, sizeof(d));				\
	}								\
}									\
target static double							\
name##_mean(const double *x)						\
{									\
	four a = { 0 }, b = { 0 }, v, w;				\
	size_t i;							\
									\
	for (i = 0; i < NUMBERS; i += 8) {				\
		memcpy(&v, x + i, sizeof(v));				\
		memcpy(&w, x + i + 4, sizeof(w));			\
		a += v;							\
		b += w;							\
	}								\
	a += b;								\
	return (a[0] + a[1] + a[2] + a[3]) / NUMBERS;			\
}									\
target static void							\
name##_sums(const double *x, double mean, struct sums *s)		\
{									\
	four two = { 0 }, three = { 0 }, quad = { 0 }, step = { 0 };	\
	four v, next, d, d2;						\
	size_t i;							\
									\
	for (i = 0; i < PER_WINDOW - 4; i += 4) {			\
		memcpy(&v, x + i, sizeof(v));				\
		memcpy(&next, x + i + 1, sizeof(next));			\
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
	s->n += i;							\
}

LOOPS(plain, )
#ifdef __x86_64__
LOOPS(avx2, __attribute__((target("avx2"))))
#else
#define avx2_read plain_read
#define avx2_mean plain_mean
#define avx2_sums plain_sums
#endif

static void
read_window(const struct spw_traits *t, const uint8_t *p, double *x)
{
	if (t->kind != SPW_DATA_FLOAT || t->is_big)
		read_slowly(t, p, x);
	else if (t->width == 8)
		memcpy(x, p, PER_WINDOW * 8);
	else
		(spw_has_avx2() ? avx2_read : plain_read)(p, x);
}

/* False: not all of them are numbers, or all are the same. */
static bool
find_moments(const double *x, struct moments *ret)
{
	const bool avx2 = spw_has_avx2();
	struct sums s = { 0 };
	double m2, m3;

	ret->mean = avx2 ? avx2_mean(x) : plain_mean(x);
	(avx2 ? avx2_sums : plain_sums)(x, ret->mean, &s);
	(avx2 ? avx2_sums : plain_sums)(x + PER_WINDOW, ret->mean, &s);
	m2 = s.two / s.n;
	m3 = s.three / s.n;
	ret->variance = m2;
	ret->skewness2 = m3 * m3 / (m2 * m2 * m2);
	ret->is_left = m3 < 0;
	ret->kurtosis = s.four / s.n / (m2 * m2);
	ret->steps = s.step / s.n / m2;
	return isfinite(ret->kurtosis) && isfinite(ret->skewness2);
}

static bool
is_negative(const double *x)
{
	int i;

	for (i = 0; i < NUMBERS; i++)
		if (x[i] < 0)
			return true;
	return false;
}

/* A gamma distribution of order k has mean^2 / variance = k and the square of
 * its skewness is 4 / k; order 1 is the exponential one.  From k = 10 or so
 * it is as good as normal.
 */
static enum spw_data_shape
find_skewed(const double *x, const struct moments *m)
{
	double k = m->mean * m->mean / m->variance;
	double agreement = m->skewness2 * k / 4;

	if (m->is_left || agreement < 0.2 || agreement > 3 || is_negative(x))
		return SPW_SHAPE_OTHER;
	return k > 0.72 && k < 1.4 ? SPW_SHAPE_EXPONENTIAL : SPW_SHAPE_GAMMA;
}

static enum spw_data_shape
find_shape(const double *x, const struct moments *m)
{
	if (m->skewness2 > 0.3)
		return find_skewed(x, m);
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
	double x[NUMBERS];
	struct moments m;

	read_window(t, s->one, x);
	read_window(t, s->two, x + PER_WINDOW);
	if (!find_moments(x, &m)) {
		t->shape = is_float ? SPW_SHAPE_OTHER : SPW_SHAPE_UNKNOWN;
		return;
	}
	t->steps = find_steps(&m);
	if (is_float)
		t->shape = find_shape(x, &m);
}
