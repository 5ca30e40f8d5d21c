/* SPDX-License-Identifier: BSD-3-Clause */
/* analyze.c -- what kind of data a block holds */

/* In this order, each only if those before did not settle it: what the caller
 * knows, the signature of a packed format, zeros, text, and then numbers,
 * found by the distance after which bytes return (analyze-stride.c) and by
 * what the values would be as numbers of that size (analyze-look.c).
 */

#include "planner/analyze.h"

#include "planner/analyze-parts.h"

enum { PAGE = 4096, LINE = 64 };

/* Below this, windows and what is compared with them do not fit. */
enum { ROOM = 4 * PAGE };

/* Ask for what is looked at of each window, so that it is there when it is
 * read: 96 numbers of 8 bytes.  Not inline, a compiler may take it for a
 * function that does nothing.
 */
static inline __attribute__((always_inline)) void
ask(const struct spw_sample *s)
{
	size_t i;

	for (i = LINE; i < WINDOW / 4 * 3; i += LINE) {
		__builtin_prefetch(s->one + i);
		__builtin_prefetch(s->two + i);
	}
}

/* Two windows, at a quarter and at five eighths, whole pages apart.  Of each
 * the first line is asked for at once: what is asked for besides, before the
 * page is found, has it looked up again.  So the rest is asked for when these
 * are there.
 */
static void
take(const uint8_t *p, size_t n, struct spw_sample *ret)
{
	ret->one = ret->two = p;
	if (n < WINDOW)
		return;
	if (n >= ROOM) {
		ret->one += n / 4 / LINE * LINE;
		ret->two = ret->one + n / 8 * 3 / PAGE * PAGE;
	}
	__builtin_prefetch(ret->one);
	__builtin_prefetch(ret->two);
}

static bool
is_zero(const uint8_t *p)
{
	uint64_t v[2];

	memcpy(v, p, sizeof(v));
	return !(v[0] | v[1]);
}

/* Zeros at four places, two in each window. */
static uint8_t
count_zeros(const struct spw_sample *s, size_t n)
{
	const size_t next = n >= WINDOW ? SEEN : 0;

	if (n < 16)
		return 0;
	return is_zero(s->one) + is_zero(s->two) + is_zero(s->one + next) +
	       is_zero(s->two + next);
}

/* Is each window its first 64 bytes, again and again, and both the same? */
static bool
is_pattern(const struct spw_sample *s)
{
	return !memcmp(s->one, s->two, LINE) &&
	       !memcmp(s->one, s->one + LINE, SEEN) &&
	       !memcmp(s->two, s->two + LINE, SEEN);
}

/* Does each window come again a page later?  Then they are the same, and for
 * most data no other page has to be looked up.
 */
static bool
is_pages(const struct spw_sample *s, size_t n)
{
	return n >= ROOM && !memcmp(s->one, s->two, LINE) &&
	       !memcmp(s->one, s->one + PAGE, LINE) &&
	       !memcmp(s->two, s->two + PAGE, LINE);
}

/* Of n bytes, a multiple of 16 and at most 16 * 16. */
struct letters {
	unsigned int ascii;		/* that print, and ends of lines */
	unsigned int blank;
	unsigned int alnum;
};

typedef uint8_t bytes __attribute__((vector_size(16)));

/* Those that no text has. */
static unsigned int
count_controls(const uint8_t *p, size_t n)
{
	bytes v, controls = { 0 };

	for (size_t i = 0; i < n; i += 16) {
		memcpy(&v, p + i, 16);
		controls -= (bytes)(v < 32) & ~(bytes)(v == 9) &
			    ~(bytes)(v == 10) & ~(bytes)(v == 13);
	}
	return spw_add_16((const uint8_t *)&controls);
}

static void
count_letters(const uint8_t *p, size_t n, struct letters *ret)
{
	bytes v, low, ascii = { 0 }, blanks = { 0 }, alnums = { 0 };
	size_t i;

	for (i = 0; i < n; i += 16) {
		memcpy(&v, p + i, 16);
		low = v | 32;			/* a capital made small */
		blanks -= (bytes)(v == 9) | (bytes)(v == 10) |
			  (bytes)(v == 32);
		ascii -= (bytes)(v - 32 < 95) | (bytes)(v == 10);
		alnums -= (bytes)(v - '0' < 10) | (bytes)(low - 'a' < 26);
	}
	ret->ascii = spw_add_16((const uint8_t *)&ascii);
	ret->blank = spw_add_16((const uint8_t *)&blanks);
	ret->alnum = spw_add_16((const uint8_t *)&alnums);
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

	if (count_controls(p, n) * 64 > n)
		return false;
	count_letters(p, n, &l);
	if (l.ascii * 4 < n * 3)
		return is_utf8(p, n);
	return l.blank || l.alnum * 2 >= n;
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
kind_of(const struct spw_look *l)
{
	const struct spw_half *a = &l->half[0], *b = &l->half[1];
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
is_float(const struct spw_look *l)
{
	return nearly_all(l->half[0].floats + l->half[1].floats,
			  SPW_LOOKED);
}

/* Are both halves of 8 bytes numbers of their own?  A high half that stays
 * the same is no number.
 */
static bool
is_halves(const struct spw_look *l)
{
	const struct spw_half *h;
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
static void
find_numbers(const struct spw_sample *s, unsigned int stride, bool is_big,
	     struct spw_traits *t)
{
	struct spw_look look;

	t->is_big = is_big;
	t->kind = SPW_DATA_UNKNOWN;
	if (stride != 8) {
		spw_analyze_look(s, 4, is_big, &look);
		t->width = 4;
		t->kind = kind_of(&look);
		if (stride % 8 || is_halves(&look))
			return;
	}
	spw_analyze_look(s, 8, is_big, &look);
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
	const bool is_first = is_big_endian(s, stride, SEEN / 8);
	struct spw_traits big = *t;

	if (is_first) {
		find_numbers(s, stride, true, &big);
		if (big.kind == SPW_DATA_FLOAT) {
			*t = big;
			return;
		}
	}
	find_numbers(s, stride, false, t);
	if (t->kind == SPW_DATA_FLOAT || !is_big_endian(s, stride, SEEN / 2))
		return;
	if (!is_first)
		find_numbers(s, stride, true, &big);
	*t = big;
}

/* What has no byte that returns may be integers of nearly all sizes. */
static void
find_wide(const struct spw_sample *s, struct spw_traits *t)
{
	bool is_big = false;
	const unsigned int width = spw_analyze_fixed(s, &is_big);

	t->kind = SPW_DATA_INTEGER;
	t->width = (uint8_t)width;
	t->is_big = is_big;
	if (width > 1)
		return;
	t->kind = spw_analyze_is_random(s) ? SPW_DATA_PACKED : SPW_DATA_BYTES;
	t->width = 0;
}

/* In what looks like noise, exponents may still be those of numbers. */
static void
find_floats(const struct spw_sample *s, struct spw_traits *t)
{
	struct spw_look look;

	t->kind = SPW_DATA_FLOAT;
	t->width = 8;
	spw_analyze_look(s, 8, false, &look);
	if (is_float(&look))
		return;
	t->width = 4;
	spw_analyze_look(s, 4, false, &look);
	if (is_float(&look))
		return;
	find_wide(s, t);
}

/* Of all numbers of this width in the first halves of the windows that are not
 * 0: are they floats?
 */
static bool
is_sparse(const struct spw_sample *s, unsigned int width)
{
	struct spw_sample at = *s;
	struct spw_look look;
	unsigned int i, n = 0, floats = 0;

	for (i = 0; i < WINDOW / 2; i += SPW_LOOKED / 2 * width) {
		at.one = s->one + i;
		at.two = s->two + i;
		spw_analyze_look(&at, width, false, &look);
		n += look.half[0].n + look.half[1].n;
		floats += look.half[0].floats + look.half[1].floats;
	}
	return n >= 6 && nearly_all(floats, n);
}

/* Where most numbers are 0, or are none, every byte is as good as the next. */
static void
find_sparse(const struct spw_sample *s, struct spw_traits *t)
{
	t->width = is_sparse(s, 4) ? 4 : is_sparse(s, 8) ? 8 : 0;
	if (t->width)
		t->kind = SPW_DATA_FLOAT;
}

static void
find_kind(const struct spw_sample *s, struct spw_traits *t)
{
	unsigned int stride = spw_analyze_stride(s);

	if (!stride) {
		find_floats(s, t);
		return;
	}
	if (stride == 2) {
		t->kind = SPW_DATA_INTEGER;
		t->width = 2;
		t->is_big = is_big_endian(s, stride, SEEN / 2);
	}
	if (stride % 4 == 0)
		find_either(s, stride, t);
	if (stride == 1)
		find_sparse(s, t);
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
find_simple(const struct spw_sample *s, const uint8_t *p, size_t n,
	    struct spw_traits *t)
{
	t->kind = SPW_DATA_UNKNOWN;
	if (spw_analyze_is_packed(t->format))
		t->kind = SPW_DATA_PACKED;
	else if (n < WINDOW)
		t->kind = SPW_DATA_BYTES;
	else if (is_pattern(s))
		t->kind = t->zeros == 4 && is_zero(p) ? SPW_DATA_ZERO
						      : SPW_DATA_REPEATED;
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
	t.zeros = count_zeros(&s, n);
	if (t.zeros == 4)
		__builtin_prefetch(data);	/* find_simple looks there */
	if (n >= WINDOW)
		ask(&s);
	if (!is_known && !find_simple(&s, data, n, &t))
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
