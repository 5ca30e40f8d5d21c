/* SPDX-License-Identifier: BSD-3-Clause */
/* analyze-data.h -- data of every kind that the analyzer tells apart */

#ifndef SPW_TESTS_ANALYZE_DATA_H
#define SPW_TESTS_ANALYZE_DATA_H

#include <byteswap.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "planner/analyze.h"
#include "tests/guarded.h"

/* Random numbers between 0 and 1, and from each distribution. */

static double
unit(uint64_t *seed)
{
	return ((double)(draw(seed) >> 11) + 0.5) / 9007199254740992.0;
}

static double
normal(uint64_t *seed)
{
	return sqrt(-2 * log(unit(seed))) * cos(2 * M_PI * unit(seed));
}

static double
from_shape(enum spw_data_shape shape, unsigned int order, uint64_t *seed)
{
	double sum = 0;

	switch (shape) {
	case SPW_SHAPE_UNIFORM:
		return unit(seed);
	case SPW_SHAPE_NORMAL:
		return normal(seed);
	case SPW_SHAPE_EXPONENTIAL:
		return -log(unit(seed));
	default:
		while (order--)
			sum -= log(unit(seed));
		return sum;
	}
}

/* What a generator is told, and how each works: fill p with n bytes. */

struct data_class {
	const char *name;
	void (*fill)(const struct data_class *c, uint8_t *p, size_t n,
		     uint64_t *seed);
	struct spw_traits want;		/* kind, width, stride, shape, is_big */
};

static void
put_number(const struct data_class *c, uint8_t *p, size_t i, double f,
	   int64_t v)
{
	float f32 = (float)f;
	uint64_t bits = (uint64_t)v;
	uint32_t half;

	if (c->want.kind == SPW_DATA_FLOAT)
		memcpy(&bits, &f, 8);
	if (c->want.kind == SPW_DATA_FLOAT && c->want.width == 4) {
		memcpy(&half, &f32, 4);
		bits = half;
	}
	if (c->want.is_big)
		bits = bswap_64(bits) >> (64 - 8 * c->want.width);
	memcpy(p + i * c->want.width, &bits, c->want.width);
}

static void
fill_random(const struct data_class *c, uint8_t *p, size_t n, uint64_t *seed)
{
	size_t i;

	(void)c;
	for (i = 0; i < n; i++)
		p[i] = (uint8_t)draw(seed);
}

static void
fill_zero(const struct data_class *c, uint8_t *p, size_t n, uint64_t *seed)
{
	(void)c;
	(void)seed;
	memset(p, 0, n);
}

static void
fill_repeated(const struct data_class *c, uint8_t *p, size_t n, uint64_t *seed)
{
	size_t i, period = (size_t)1 << draw(seed) % 6;

	fill_random(c, p, period, seed);
	p[0] |= 1;
	for (i = period; i < n; i++)
		p[i] = p[i - period];
}

static void
fill_pages(const struct data_class *c, uint8_t *p, size_t n, uint64_t *seed)
{
	size_t i;

	fill_random(c, p, 4096, seed);
	for (i = 4096; i < n; i++)
		p[i] = p[i - 4096];
}

static void
fill_words(const struct data_class *c, uint8_t *p, size_t n, uint64_t *seed)
{
	size_t i, letters = 0;

	(void)c;
	for (i = 0; i < n; i++) {
		p[i] = (uint8_t)('a' + draw(seed) % 26);
		if (letters++ > draw(seed) % 12) {
			p[i] = draw(seed) % 10 ? ' ' : '\n';
			letters = 0;
		}
	}
}

static void
fill_table(const struct data_class *c, uint8_t *p, size_t n, uint64_t *seed)
{
	char line[100];
	size_t at, len;

	(void)c;
	for (at = 0; at < n; at += len) {
		len = (size_t)snprintf(line, sizeof(line),
				       "%d,%.6f,%.3e,\"%c\"\n",
				       (int)(at / 30), normal(seed),
				       unit(seed), (int)('A' + draw(seed) % 26));
		len = len < n - at ? len : n - at;
		memcpy(p + at, line, len);
	}
}

static void
fill_shape(const struct data_class *c, uint8_t *p, size_t n, uint64_t *seed)
{
	double scale = pow(10, 12 * unit(seed) - 6);
	unsigned int order = 2 + draw(seed) % 3;
	size_t i;

	for (i = 0; i < n / c->want.width; i++)
		put_number(c, p, i, scale * from_shape(c->want.shape, order,
						       seed), 0);
}

/* Waves and a little noise. */
static void
fill_field(const struct data_class *c, uint8_t *p, size_t n, uint64_t *seed)
{
	double a = 0.02 + 0.1 * unit(seed), noise = pow(10, -6 + 3 * unit(seed));
	double level = 10 * unit(seed);
	size_t i;

	for (i = 0; i < n / c->want.width; i++)
		put_number(c, p, i, level + sin(a * (double)i) +
			   cos(0.01 * (double)i) + noise * normal(seed), 0);
}

static void
fill_counter(const struct data_class *c, uint8_t *p, size_t n, uint64_t *seed)
{
	int64_t v = draw(seed) % 2 ? 0 : 1000000000 +
		(int64_t)(draw(seed) % 800000000);
	unsigned int gap = 1 + draw(seed) % 16;
	size_t i;

	for (i = 0; i < n / c->want.width; i++) {
		put_number(c, p, i, 0, v);
		v += 1 + (int64_t)(draw(seed) % gap);
	}
}

/* Nanoseconds since 1970, some 10 microseconds apart. */
static void
fill_clock(const struct data_class *c, uint8_t *p, size_t n, uint64_t *seed)
{
	int64_t v = 1700000000000000000 + (int64_t)(draw(seed) >> 16);
	size_t i;

	for (i = 0; i < n / c->want.width; i++) {
		put_number(c, p, i, 0, v);
		v += (int64_t)(draw(seed) % 20000);
	}
}

static void
fill_walk(const struct data_class *c, uint8_t *p, size_t n, uint64_t *seed)
{
	int64_t v = 0;
	size_t i;

	for (i = 0; i < n / c->want.width; i++) {
		put_number(c, p, i, 0, v);
		v += (int64_t)(draw(seed) % 401) - 200;
	}
}

static void
fill_range(const struct data_class *c, uint8_t *p, size_t n, uint64_t *seed)
{
	int64_t range = (int64_t)1 << (6 + draw(seed) %
				       (c->want.width * 8u - 10));
	size_t i;

	for (i = 0; i < n / c->want.width; i++)
		put_number(c, p, i, 0, (int64_t)(draw(seed) %
						 (uint64_t)range));
}

/* As large as their width allows, and none below 0. */
static void
fill_wide(const struct data_class *c, uint8_t *p, size_t n, uint64_t *seed)
{
	double most = ldexp(0.75 + 0.25 * unit(seed), 8 * c->want.width - 1);
	size_t i;

	for (i = 0; i < n / c->want.width; i++)
		put_number(c, p, i, 0, (int64_t)(most * unit(seed)));
}

/* Small ones around 0. */
static void
fill_signed(const struct data_class *c, uint8_t *p, size_t n, uint64_t *seed)
{
	double most = pow(10, 1 + 3.5 * unit(seed));
	bool is_even = draw(seed) % 2;
	size_t i;

	for (i = 0; i < n / c->want.width; i++)
		put_number(c, p, i, 0, llrint(most * (is_even
			? 2 * unit(seed) - 1 : 0.4 * normal(seed))));
}

/* A tone and some hiss. */
static void
fill_sound(const struct data_class *c, uint8_t *p, size_t n, uint64_t *seed)
{
	double loud = 500 + 8000 * unit(seed), pitch = 0.01 + 0.05 * unit(seed);
	size_t i;

	for (i = 0; i < n / c->want.width; i++)
		put_number(c, p, i, 0, (int64_t)(loud * sin(pitch * (double)i) +
						 loud * 0.02 * normal(seed)));
}

/* Records. */

static void
fill_particles(const struct data_class *c, uint8_t *p, size_t n,
	       uint64_t *seed)
{
	struct {
		float d[3];
		int32_t cell;
		float u[3], q;
	} r;
	size_t i, k;

	(void)c;
	for (i = 0; (i + 1) * sizeof(r) <= n; i++) {
		for (k = 0; k < 3; k++) {
			r.d[k] = (float)(2 * unit(seed) - 1);
			r.u[k] = (float)(0.1 * normal(seed));
		}
		r.cell = (int32_t)(i / 64);
		r.q = 1e-3f;
		memcpy(p + i * sizeof(r), &r, sizeof(r));
	}
}

static void
fill_events(const struct data_class *c, uint8_t *p, size_t n, uint64_t *seed)
{
	struct {
		double time;
		int64_t id;
		double value;
	} r = { 0, 0, 0 };
	size_t i;

	(void)c;
	for (i = 0; (i + 1) * sizeof(r) <= n; i++) {
		r.time += unit(seed);
		r.id++;
		r.value += normal(seed);
		memcpy(p + i * sizeof(r), &r, sizeof(r));
	}
}

static void
fill_points(const struct data_class *c, uint8_t *p, size_t n, uint64_t *seed)
{
	float r[3];
	size_t i;

	(void)c;
	for (i = 0; (i + 1) * sizeof(r) <= n; i++) {
		r[0] = (float)(100 + unit(seed));
		r[1] = (float)(-3000 - 40 * unit(seed));
		r[2] = (float)(0.001 * unit(seed) + 0.01);
		memcpy(p + i * sizeof(r), r, sizeof(r));
	}
}

/* 37 bytes: a name, a flag, a number, and noise. */
static void
fill_rows(const struct data_class *c, uint8_t *p, size_t n, uint64_t *seed)
{
	uint8_t r[37];
	int32_t id;
	size_t i;

	(void)c;
	for (i = 0; (i + 1) * sizeof(r) <= n; i++) {
		memcpy(r, "sensor\0\1\2\3", 10);
		id = (int32_t)i;
		memcpy(r + 10, &id, 4);
		r[14] = draw(seed) % 2;
		fill_random(c, r + 15, 22, seed);
		memcpy(p + i * sizeof(r), r, sizeof(r));
	}
}

#define WANT(k, w, s, sh, big) { .kind = SPW_DATA_##k, .width = w, \
	.stride = s, .shape = SPW_SHAPE_##sh, .is_big = big }

static const struct data_class data_classes[] = {
	{ "zeros", fill_zero, WANT(ZERO, 0, 0, UNKNOWN, 0) },
	{ "repeated", fill_repeated, WANT(REPEATED, 0, 0, UNKNOWN, 0) },
	{ "pages", fill_pages, WANT(REPEATED, 0, 0, UNKNOWN, 0) },
	{ "words", fill_words, WANT(TEXT, 0, 0, UNKNOWN, 0) },
	{ "table", fill_table, WANT(TEXT, 0, 0, UNKNOWN, 0) },
	{ "random", fill_random, WANT(PACKED, 0, 0, UNKNOWN, 0) },
	{ "i16 sound", fill_sound, WANT(INTEGER, 2, 0, UNKNOWN, 0) },
	{ "i16 range", fill_range, WANT(INTEGER, 2, 0, UNKNOWN, 0) },
	{ "i32 counter", fill_counter, WANT(INTEGER, 4, 0, UNKNOWN, 0) },
	{ "i32 range", fill_range, WANT(INTEGER, 4, 0, UNKNOWN, 0) },
	{ "i32 walk", fill_walk, WANT(INTEGER, 4, 0, UNKNOWN, 0) },
	{ "i64 counter", fill_counter, WANT(INTEGER, 8, 0, UNKNOWN, 0) },
	{ "i64 range", fill_range, WANT(INTEGER, 8, 0, UNKNOWN, 0) },
	{ "i64 clock", fill_clock, WANT(INTEGER, 8, 0, UNKNOWN, 0) },
	{ "f32 uniform", fill_shape, WANT(FLOAT, 4, 0, UNIFORM, 0) },
	{ "f32 normal", fill_shape, WANT(FLOAT, 4, 0, NORMAL, 0) },
	{ "f32 exponential", fill_shape, WANT(FLOAT, 4, 0, EXPONENTIAL, 0) },
	{ "f32 gamma", fill_shape, WANT(FLOAT, 4, 0, GAMMA, 0) },
	{ "f64 uniform", fill_shape, WANT(FLOAT, 8, 0, UNIFORM, 0) },
	{ "f64 normal", fill_shape, WANT(FLOAT, 8, 0, NORMAL, 0) },
	{ "f64 exponential", fill_shape, WANT(FLOAT, 8, 0, EXPONENTIAL, 0) },
	{ "f64 gamma", fill_shape, WANT(FLOAT, 8, 0, GAMMA, 0) },
	{ "f32 field", fill_field, WANT(FLOAT, 4, 0, UNKNOWN, 0) },
	{ "f64 field", fill_field, WANT(FLOAT, 8, 0, UNKNOWN, 0) },
	{ "f32 big-endian", fill_shape, WANT(FLOAT, 4, 0, NORMAL, 1) },
	{ "f64 big-endian", fill_shape, WANT(FLOAT, 8, 0, UNIFORM, 1) },
	{ "i32 big-endian", fill_counter, WANT(INTEGER, 4, 0, UNKNOWN, 1) },
	{ "particles of 32", fill_particles, WANT(FLOAT, 4, 32, UNKNOWN, 0) },
	{ "events of 24", fill_events, WANT(FLOAT, 8, 24, UNKNOWN, 0) },
	{ "points of 12", fill_points, WANT(FLOAT, 4, 12, UNKNOWN, 0) },
	{ "rows of 37", fill_rows, WANT(BYTES, 0, 37, UNKNOWN, 0) },
	{ "i16 wide", fill_wide, WANT(INTEGER, 2, 0, UNKNOWN, 0) },
	{ "i32 big wide", fill_wide, WANT(INTEGER, 4, 0, UNKNOWN, 1) },
	{ "i32 signed", fill_signed, WANT(INTEGER, 4, 0, UNKNOWN, 0) },
	{ "i64 signed", fill_signed, WANT(INTEGER, 8, 0, UNKNOWN, 0) },
	{ "i32 big signed", fill_signed, WANT(INTEGER, 4, 0, UNKNOWN, 1) },
	{ "i64 big signed", fill_signed, WANT(INTEGER, 8, 0, UNKNOWN, 1) },
};

#undef WANT

/* n bytes of the class with this name, which there is. */
static inline void
data_fill(const char *name, uint64_t seed, uint8_t *to, size_t n)
{
	const struct data_class *c = data_classes;

	while (strcmp(c->name, name))
		CHECK(++c < data_classes + ARRAY_LEN(data_classes));
	c->fill(c, to, n, &seed);
}

#endif
