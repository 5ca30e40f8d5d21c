/* SPDX-License-Identifier: BSD-3-Clause */
/* size.c -- read numbers, sizes, durations and booleans, one way for all */

#include "shm/size.h"

#include <errno.h>
#include <string.h>

struct unit {
	const char *name;
	uint64_t scale;
};

/* The text of a number, before it is multiplied by its unit. */
struct figure {
	uint64_t whole;
	const char *tenths;		/* digits after the point */
	size_t n_tenths;
};

static bool
is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static char
lower(char c)
{
	return c >= 'A' && c <= 'Z' ? c + ('a' - 'A') : c;
}

bool
spw_size_same_word(const char *s, size_t n, const char *word)
{
	for (size_t i = 0; i < n; i++)
		if (!word[i] || lower(s[i]) != lower(word[i]))
			return false;
	return !word[n];
}

/* Digits at s; stops at the first other byte. */
static int
scan_digits(const char *s, size_t n, size_t *ret_used, uint64_t *ret_value)
{
	uint64_t v = 0;
	size_t i;

	for (i = 0; i < n && is_digit(s[i]); i++)
		if (__builtin_mul_overflow(v, 10, &v)
		    || __builtin_add_overflow(v, s[i] - '0', &v))
			return -ERANGE;
	if (!i)
		return -EINVAL;
	*ret_used = i;
	*ret_value = v;
	return 0;
}

static int
scan_figure(const char *s, size_t n, size_t *ret_used, struct figure *ret)
{
	struct figure f = { 0 };
	size_t used, i;
	int r;

	r = scan_digits(s, n, &used, &f.whole);
	if (r < 0)
		return r;
	if (used < n && s[used] == '.') {
		f.tenths = s + used + 1;
		for (i = used + 1; i < n && is_digit(s[i]); i++)
			f.n_tenths++;
		if (!f.n_tenths)
			return -EINVAL;
		used = i;
	}
	*ret_used = used;
	*ret = f;
	return 0;
}

/*
 * The fraction is worked from its last digit: x = (digit * scale + x) / 10.
 * Rounding down at each step equals rounding down once, since what is added
 * is whole; so 0.1G is exact to the byte without wider arithmetic.  The
 * largest scale is 2^60, and 9 * 2^60 + 2^60 still fits.
 */
static int
apply_scale(const struct figure *f, uint64_t scale, uint64_t *ret_value)
{
	uint64_t x = 0, v;

	for (size_t i = f->n_tenths; i--;)
		x = ((uint64_t)(f->tenths[i] - '0') * scale + x) / 10;
	if (__builtin_mul_overflow(f->whole, scale, &v)
	    || __builtin_add_overflow(v, x, &v))
		return -ERANGE;
	*ret_value = v;
	return 0;
}

static bool
is_zero(const struct figure *f)
{
	return !f->whole && !f->n_tenths;
}

int
spw_size_number(const char *s, size_t n, uint64_t *ret_value)
{
	uint64_t v;
	size_t used;
	int r;

	r = scan_digits(s, n, &used, &v);
	if (r < 0)
		return r;
	if (used != n)
		return -EINVAL;
	*ret_value = v;
	return 0;
}

/* What follows the number in a size: G, Gi, GiB, GB or B. */
static int
size_unit(const char *s, size_t n, uint64_t *ret_scale)
{
	static const char letters[] = "kmgtpe";
	const char *p = n ? memchr(letters, lower(s[0]), 6) : NULL;
	uint64_t scale = 1, base;

	if (n == 1 && s[0] == 'B') {
		*ret_scale = 1;
		return 0;
	}
	if (!p)
		return -EINVAL;
	s++;
	n--;
	if (n == 0 || (n == 1 && s[0] == 'i')
	    || (n == 2 && s[0] == 'i' && s[1] == 'B'))
		base = 1024;
	else if (n == 1 && s[0] == 'B')
		base = 1000;
	else
		return -EINVAL;
	for (int power = p - letters; power >= 0; power--)
		scale *= base;
	*ret_scale = scale;
	return 0;
}

int
spw_size_bytes(const char *s, size_t n, uint64_t *ret_bytes)
{
	struct figure f;
	uint64_t scale = 1;
	size_t used;
	int r;

	r = scan_figure(s, n, &used, &f);
	if (r < 0)
		return r;
	if (used == n && !is_zero(&f))
		return -EDOM;
	if (used < n)
		r = size_unit(s + used, n - used, &scale);
	return r < 0 ? r : apply_scale(&f, scale, ret_bytes);
}

static int
duration_unit(const char *s, size_t n, uint64_t *ret_scale)
{
	static const struct unit units[] = {
		{ "ns", 1 }, { "us", 1000 }, { "ms", 1000000 },
		{ "s", 1000000000 }, { "m", 60000000000 },
		{ "min", 60000000000 }, { "h", 3600000000000 },
		{ "d", 86400000000000 },
	};

	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++)
		if (n == strlen(units[i].name)
		    && !memcmp(s, units[i].name, n)) {
			*ret_scale = units[i].scale;
			return 0;
		}
	return -EINVAL;
}

int
spw_size_duration(const char *s, size_t n, uint64_t *ret_ns)
{
	struct figure f;
	uint64_t scale = 1;
	size_t used;
	int r;

	if (spw_size_same_word(s, n, "none")) {
		*ret_ns = SPW_DURATION_NONE;
		return 0;
	}
	r = scan_figure(s, n, &used, &f);
	if (r < 0)
		return r;
	if (used == n && !is_zero(&f))
		return -EDOM;
	if (used < n)
		r = duration_unit(s + used, n - used, &scale);
	return r < 0 ? r : apply_scale(&f, scale, ret_ns);
}

int
spw_size_percent(const char *s, size_t n, unsigned *ret_percent)
{
	uint64_t v;
	int r;

	if (!n || s[n - 1] != '%')
		return -EINVAL;
	r = spw_size_number(s, n - 1, &v);
	if (r < 0)
		return r;
	if (v < 1 || v > 100)
		return -ERANGE;
	*ret_percent = v;
	return 0;
}

int
spw_size_boolean(const char *s, size_t n, bool *ret_value)
{
	static const char *const words[] = {
		"no", "yes", "false", "true", "off", "on", "0", "1",
	};

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (spw_size_same_word(s, n, words[i])) {
			*ret_value = i & 1;
			return 0;
		}
	return -EINVAL;
}
