/* SPDX-License-Identifier: BSD-3-Clause */
/* analyze.c -- what kind of data a block holds */

/* In this order, each only if those before did not settle it: what the caller
 * knows, the signature of a packed format, zeros, text, and then numbers,
 * found by the distance after which bytes return (analyze-stride.c) and by
 * what the values would be as numbers of that size.
 */

#include "planner/analyze.h"

#include <byteswap.h>

#include "planner/analyze-parts.h"

enum { PAGE = 4096, LINE = 64 };

/* Below this, windows and what is compared with them do not fit. */
enum { ROOM = 4 * PAGE };

/* Ask for half of each window, so that it is there when it is read. */
static void
ask(const struct spw_sample *s, size_t from)
{
	size_t i;

	for (i = from; i < from + WINDOW / 2; i += LINE) {
		__builtin_prefetch(s->one + i);
		__builtin_prefetch(s->two + i);
	}
}

/* Two windows, at a quarter and at five eighths.  Numbers of 8 bytes will want
 * their other halves as well.
 */
static void
take(const uint8_t *p, size_t n, struct spw_sample *ret)
{
	ret->one = ret->two = p;
	if (n < WINDOW)
		return;
	if (n >= ROOM) {
		ret->one += n / 4 / LINE * LINE;
		ret->two += n / 8 * 5 / LINE * LINE;
		__builtin_prefetch(ret->one + PAGE);
	}
	__builtin_prefetch(p);
	ask(ret, 0);
}

/* Zeros at four places, none of which is read for this alone. */
static uint8_t
count_zeros(const uint8_t *p, size_t n, const struct spw_sample *s)
{
	const uint8_t *places[4] = { p, s->one, s->two, s->one };
	uint64_t v[2];
	uint8_t i, zeros = 0;

	if (n < sizeof(v))
		return 0;
	if (n >= ROOM)
		places[3] += PAGE;
	for (i = 0; i < 4; i++) {
		memcpy(v, places[i], sizeof(v));
		zeros += !(v[0] | v[1]);
	}
	return zeros;
}

/* Is each window its first 64 bytes, again and again, and both the same? */
static bool
is_pattern(const struct spw_sample *s)
{
	return !memcmp(s->one, s->two, LINE) &&
	       !memcmp(s->one, s->one + LINE, SEEN) &&
	       !memcmp(s->two, s->two + LINE, SEEN);
}

/* Does each window come again a page later? */
static bool
is_pages(const struct spw_sample *s, size_t n)
{
	return n >= ROOM && !memcmp(s->one, s->one + PAGE, LINE) &&
	       !memcmp(s->two, s->two + PAGE, LINE);
}

/* Of n bytes, a multiple of 16 and at most 255 * 16. */
struct letters {
	unsigned int control;		/* that no text has */
	unsigned int ascii;		/* that print, and ends of lines */
	unsigned int blank;
	unsigned int alnum;
};

static void
count_letters(const uint8_t *p, size_t n, struct letters *ret)
{
	typedef uint8_t vec __attribute__((vector_size(16)));
	vec v, low, controls = { 0 }, ascii = { 0 }, blanks = { 0 };
	vec alnums = { 0 };
	size_t i;

	for (i = 0; i < n; i += 16) {
		memcpy(&v, p + i, 16);
		low = v | 32;			/* a capital made small */
		blanks -= (vec)(v == 9) | (vec)(v == 10) | (vec)(v == 32);
		controls -= (vec)(v < 32) & ~(vec)(v == 9) & ~(vec)(v == 10) &
			    ~(vec)(v == 13);
		ascii -= (vec)(v - 32 < 95) | (vec)(v == 10);
		alnums -= (vec)(v - '0' < 10) | (vec)(low - 'a' < 26);
	}
	*ret = (struct letters){ .control = 0 };
	for (i = 0; i < 16; i++) {
		ret->control += controls[i];
		ret->ascii += ascii[i];
		ret->blank += blanks[i];
		ret->alnum += alnums[i];
	}
}

/* Letters of several bytes, each with the bytes that its first one asks for.
 * What is cut at either end is not looked at.
 */
static bool
is_utf8(const uint8_t *p, size_t n)
{
	size_t i = 0, more;

	while (i < 3 && (p[i] & 0xc0) == 0x80)
		i++;
	for (; i + 4 <= n; i += 1 + more) {
		more = p[i] < 0x80 ? 0 : p[i] < 0xc2 ? 4 : p[i] < 0xe0 ? 1 :
		       p[i] < 0xf0 ? 2 : p[i] < 0xf5 ? 3 : 4;
		if (more == 4)
			return false;
		for (size_t k = 1; k <= more; k++)
			if ((p[i + k] & 0xc0) != 0x80)
				return false;
	}
	return true;
}

/* Bytes that no text has are rare in text.  The rest are those of ASCII, and
 * words end somewhere or are most of it; or they are letters of others.
 */
static bool
is_text(const uint8_t *p, size_t n)
{
	struct letters l;

	count_letters(p, n, &l);
	if (l.control * 64 > n)
		return false;
	if (l.ascii * 4 < n * 3)
		return is_utf8(p, n);
	return l.blank || l.alnum * 2 >= n;
}

/* How values look as numbers: every other one, since they may be halves. */
struct half {
	unsigned int n;			/* other than 0 and -1 */
	unsigned int floats, integers;
	unsigned int changes, steps;	/* from the last; and small ones */
};

struct look {
	struct half half[2];
};

enum { LOOKED = 8 };			/* values of a half in each window */

static uint64_t
value_at(const uint8_t *p, unsigned int width, bool is_big)
{
	uint64_t v64;
	uint32_t v32;

	if (width == 4) {
		memcpy(&v32, p, 4);
		return is_big ? bswap_32(v32) : v32;
	}
	memcpy(&v64, p, 8);
	return is_big ? bswap_64(v64) : v64;
}

/* The exponent of a float; 0 for none that measurements have. */
static unsigned int
exponent(uint64_t v, unsigned int width)
{
	unsigned int e = width == 4 ? v >> 23 & 0xff : v >> 52 & 0x7ff;

	if (width == 4)
		return e >= 24 && e <= 230 ? e : 0;
	return e >= 723 && e <= 1323 ? e : 0;
}

/* As a signed number of that width, is it within 2^bits of 0? */
static bool
is_within(uint64_t v, unsigned int width, unsigned int bits)
{
	v += UINT64_C(1) << bits;
	if (width == 4)
		v = (uint32_t)v;
	return v < UINT64_C(2) << bits;
}

/* Integers lie far from the limits of their width, or near each other.  The
 * exponents they would have as floats go to e.  Returns the largest.
 */
static inline __attribute__((always_inline)) unsigned int
look_at_half(const uint8_t *p, unsigned int width, bool is_big,
	     struct half *h, unsigned int e[LOOKED])
{
	const unsigned int far = width * 8 - 5;
	const uint64_t first = value_at(p, width, is_big);
	unsigned int k, n = 0, integers = 0, changes = 0, steps = 0;
	unsigned int largest = 0;
	uint64_t v, last = first;

	for (k = 0; k < LOOKED; k++, last = v) {
		bool counts, is_near;

		v = value_at(p + 2 * k * width, width, is_big);
		e[k] = exponent(v, width);
		largest = e[k] > largest ? e[k] : largest;
		changes += v != last;
		steps += v != last && is_within(v - last, width, 11);
		counts = v == 1 || !is_within(v, width, 0);
		is_near = is_within(v - first, width, far);
		n += counts;
		integers += counts && (is_near || is_within(v, width, far));
	}
	h->n += n;
	h->integers += integers;
	h->changes += changes;
	h->steps += steps;
	return largest;
}

/* Floats lie within some powers of two below the largest.  Width and order
 * are constant where this is called.
 */
static inline __attribute__((always_inline)) void
look_at(const struct spw_sample *s, unsigned int width, bool is_big,
	struct look *ret)
{
	unsigned int e[2][2 * LOOKED], i, k, most_of, largest = 0;

	memset(ret, 0, sizeof(*ret));
	for (i = 0; i < 4; i++) {
		most_of = look_at_half((i < 2 ? s->one : s->two) +
				       i % 2 * width, width, is_big,
				       &ret->half[i % 2],
				       &e[i % 2][i / 2 * LOOKED]);
		largest = most_of > largest ? most_of : largest;
	}
	for (i = 0; i < 2; i++)
		for (k = 0; k < 2 * LOOKED; k++)
			ret->half[i].floats += e[i][k] &&
					       e[i][k] + 24 >= largest;
}

static bool
most(unsigned int part, unsigned int all)
{
	return part * 2 > all;
}

static bool
nearly_all(unsigned int part, unsigned int all)
{
	return part * 3 >= all * 2;
}

/* The kind of numbers, if that is what they are.  Counters from a large number
 * on look like floats, but floats seldom take such small steps.
 */
static uint8_t
kind_of(const struct look *l)
{
	const struct half *a = &l->half[0], *b = &l->half[1];
	const unsigned int n = a->n + b->n;

	if (most(a->floats + b->floats, n) &&
	    !most(a->steps + b->steps, a->changes + b->changes))
		return SPW_DATA_FLOAT;
	if (most(a->integers + b->integers, n))
		return SPW_DATA_INTEGER;
	return 0;
}

/* Noise has one in eight exponents near the largest. */
static bool
is_float(const struct look *l)
{
	return nearly_all(l->half[0].floats + l->half[1].floats, 4 * LOOKED);
}

/* Are both halves of 8 bytes numbers of their own?  A high half that stays
 * the same is no number.
 */
static bool
is_halves(const struct look *l)
{
	const struct half *h;
	int i;

	for (i = 0; i < 2; i++) {
		h = &l->half[i];
		if (!h->changes || h->n * 4 < l->half[0].n + l->half[1].n ||
		    (!nearly_all(h->floats, h->n) &&
		     !nearly_all(h->integers, h->n)))
			return false;
	}
	return true;
}

/* Numbers of 4 or 8 bytes, by stride and value.  A stride of 8 was taken
 * because one of 4 had little to say for it, so those are not halves.
 */
static inline __attribute__((always_inline)) void
find_numbers(const struct spw_sample *s, unsigned int stride, bool is_big,
	     struct spw_traits *t)
{
	struct look look;

	t->is_big = is_big;
	t->kind = SPW_DATA_UNKNOWN;
	if (stride != 8) {
		look_at(s, 4, is_big, &look);
		t->width = 4;
		t->kind = kind_of(&look);
		if (stride % 8 || is_halves(&look))
			return;
	}
	look_at(s, 8, is_big, &look);
	if (!kind_of(&look))
		return;
	t->width = 8;
	t->kind = kind_of(&look);
}

/* The high byte of a number returns more often than the low one.  If it has
 * 4 bytes or 8 does not matter, as long as those in the middle are not asked.
 */
static bool
is_big_endian(const struct spw_sample *s, unsigned int stride,
	      unsigned int bytes)
{
	const unsigned int width = stride % 8 == 0 ? 8 : stride % 4 ? 2 : 4;
	const uint8_t *p = s->one, *high = p + width - 1;
	unsigned int i, first = 0, last = 0;

	for (i = 0; i < bytes; i += width) {
		first += p[i] == p[i + stride];
		last += high[i] == high[i + stride];
	}
	return first > last;
}

/* Floats of either order are floats; integers are what their bytes say.  A few
 * of these tell which order is to be tried first.
 */
static void
find_either(const struct spw_sample *s, unsigned int stride,
	    struct spw_traits *t)
{
	if (is_big_endian(s, stride, SEEN / 8)) {
		find_numbers(s, stride, true, t);
		if (t->kind == SPW_DATA_FLOAT)
			return;
	}
	find_numbers(s, stride, false, t);
	if (t->kind != SPW_DATA_FLOAT && is_big_endian(s, stride, SEEN / 2))
		find_numbers(s, stride, true, t);
}

/* In what looks like noise, exponents may still be those of numbers. */
static void
find_floats(const struct spw_sample *s, struct spw_traits *t)
{
	struct look look;

	t->kind = SPW_DATA_FLOAT;
	t->width = 8;
	look_at(s, 8, false, &look);
	if (is_float(&look))
		return;
	t->width = 4;
	look_at(s, 4, false, &look);
	if (is_float(&look))
		return;
	t->kind = SPW_DATA_PACKED;
	t->width = 0;
}

static void
find_kind(const struct spw_sample *s, struct spw_traits *t)
{
	unsigned int stride = spw_analyze_stride(s);

	if (!stride) {
		find_floats(s, t);
		return;
	}
	if (stride == 8)
		ask(s, WINDOW / 2);
	if (stride == 2) {
		t->kind = SPW_DATA_INTEGER;
		t->width = 2;
		t->is_big = is_big_endian(s, stride, SEEN / 2);
	}
	if (stride % 4 == 0)
		find_either(s, stride, t);
	if (!t->kind) {
		t->kind = SPW_DATA_BYTES;
		t->width = t->is_big = 0;
	}
	if (stride > 1 && stride != t->width)
		t->stride = (uint8_t)stride;
}

static bool
take_label(const struct spw_traits *label, struct spw_traits *t)
{
	if (!label)
		return false;
	t->format = label->format;
	t->kind = label->kind;
	t->width = label->width;
	t->stride = label->stride;
	t->is_big = label->is_big;
	return t->kind != SPW_DATA_UNKNOWN;
}

/* What needs no numbers; false: look on. */
static bool
find_simple(const struct spw_sample *s, size_t n, struct spw_traits *t)
{
	t->kind = SPW_DATA_UNKNOWN;
	if (spw_analyze_is_packed(t->format))
		t->kind = SPW_DATA_PACKED;
	else if (n < WINDOW)
		t->kind = SPW_DATA_BYTES;
	else if (is_pattern(s))
		t->kind = t->zeros == 4 ? SPW_DATA_ZERO : SPW_DATA_REPEATED;
	else if (is_pages(s, n))
		t->kind = SPW_DATA_REPEATED;
	else if (is_text(s->one, 128) && is_text(s->two, 128))
		t->kind = SPW_DATA_TEXT;
	return t->kind;
}

/* Numbers one after the other, of a type that there is. */
static bool
is_array(const struct spw_traits *t)
{
	if (t->stride && t->stride != t->width)
		return false;
	if (t->kind == SPW_DATA_INTEGER && t->width == 2)
		return true;
	return (t->kind == SPW_DATA_INTEGER || t->kind == SPW_DATA_FLOAT) &&
	       (t->width == 4 || t->width == 8);
}

/* Floats of no one distribution, one unlike the next: fields of records. */
static void
find_record(const struct spw_sample *s, struct spw_traits *t)
{
	unsigned int stride = spw_analyze_record(s, t);

	if (!stride)
		return;
	t->stride = (uint8_t)stride;
	t->shape = SPW_SHAPE_UNKNOWN;
	t->steps = 0;
}

void
spw_analyze(const void *data, size_t n, uint64_t offset,
	    const struct spw_traits *label, struct spw_traits *ret_traits)
{
	struct spw_traits t = { 0 };
	struct spw_sample s;
	const bool is_known = take_label(label, &t);

	take(data, n, &s);
	if (!offset && !t.format)
		t.format = spw_analyze_format(data, n);
	t.zeros = count_zeros(data, n, &s);
	if (!is_known && !find_simple(&s, n, &t))
		find_kind(&s, &t);
	if (n >= WINDOW && is_array(&t))
		spw_analyze_numbers(&s, &t);
	if (!is_known && t.shape == SPW_SHAPE_OTHER && t.steps == 1)
		find_record(&s, &t);
	*ret_traits = t;
}

const char *
spw_data_kind_name(unsigned int kind)
{
	static const char *const names[SPW_DATA_KINDS] = {
		"unknown", "bytes", "zero", "repeated", "text", "packed",
		"integer", "float",
	};

	return kind < SPW_DATA_KINDS ? names[kind] : "?";
}

const char *
spw_data_shape_name(unsigned int shape)
{
	static const char *const names[SPW_SHAPES] = {
		"unknown", "other", "uniform", "normal", "exponential",
		"gamma",
	};

	return shape < SPW_SHAPES ? names[shape] : "?";
}
