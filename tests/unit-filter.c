/* SPDX-License-Identifier: BSD-3-Clause */
/* unit-filter.c -- filters do what they are defined as, and come undone */

/* All buffers end at an unreadable page, so a byte read or written too far is
 * a crash; a margin before them is watched.
 */

#include <errno.h>
#include <string.h>

#include "tests/guarded.h"
#include "tiers/filter-way.h"

#define LARGEST 70000u
#define MARGIN 64

static struct guarded plain, filtered, back, wanted;

/* The definition itself, a byte or a bit at a time. */

static void
define_delta(uint8_t *dst, const uint8_t *src, size_t m, size_t w, bool is_xor)
{
	uint64_t before = 0, v, d;
	size_t i, k;

	for (i = 0; i < m; i++, before = v) {
		for (v = 0, k = 0; k < w; k++)
			v |= (uint64_t)src[i * w + k] << 8 * k;
		d = is_xor ? v ^ before : v - before;
		if (!is_xor && d >> (8 * w - 1) & 1)
			d = ~(d << 1);		/* -1 is 1, -2 is 3 */
		else if (!is_xor)
			d <<= 1;
		for (k = 0; k < w; k++)
			dst[i * w + k] = (uint8_t)(d >> 8 * k);
	}
}

static void
define_swap(uint8_t *dst, const uint8_t *src, size_t m, size_t w)
{
	size_t i;

	for (i = 0; i < m * w; i++)
		dst[i] = src[i / w * w + w - 1 - i % w];
}

static void
define_shuffle(uint8_t *dst, const uint8_t *src, size_t m, size_t w)
{
	size_t i;

	for (i = 0; i < m * w; i++)
		dst[i % w * m + i / w] = src[i];
}

static void
define_bitshuffle(uint8_t *dst, const uint8_t *src, size_t m, size_t w)
{
	size_t i, c, b;

	memset(dst, 0, m * w);
	for (i = 0; i < m; i++)
		for (c = 0; c < w; c++)
			for (b = 0; b < 8; b++)
				dst[(c * 8 + b) * (m / 8) + i / 8] |=
					(src[i * w + c] >> b & 1) << i % 8;
}

/* A byte of text, and where it stands. */
struct letter {
	size_t line, field, nth;
	uint8_t is;
};

static int
compare_letters(const void *a, const void *b)
{
	const struct letter *x = a, *y = b;

	if (x->field != y->field)
		return x->field < y->field ? -1 : 1;
	if (x->nth != y->nth)
		return x->nth < y->nth ? -1 : 1;
	return x->line < y->line ? -1 : x->line > y->line;
}

static void
define_columns(uint8_t *dst, const uint8_t *src, size_t n)
{
	static struct letter letters[32768];
	struct letter at = { 0, 0, 0, 0 };
	size_t i, text = 0;
	bool is_blank = true;

	for (i = 0; i < n; i++) {
		at.is = src[i];
		letters[i] = at;
		at.nth++;
		if (strchr(",.:;\t\n", at.is) ? at.is : at.is == ' ' && !is_blank) {
			at.field++;
			at.nth = 0;
		}
		is_blank = !at.nth || (is_blank && at.is == ' ');
		if (at.is == '\n') {
			at = (struct letter){ at.line + 1, 0, 0, 0 };
			text = i + 1;
		}
	}
	if (at.line > 3700)
		return;
	qsort(letters, text, sizeof(*letters), compare_letters);
	for (i = 0; i < text; i++)
		dst[i] = letters[i].is;
}

static void
define(const struct spw_filter_spec *f, uint8_t *dst, const uint8_t *src,
       size_t n)
{
	static uint8_t between[LARGEST], swapped[LARGEST];
	const bool is_bits = f->id == SPW_FILTER_BITSHUFFLE ||
			     f->id == SPW_FILTER_DELTA_BITSHUFFLE ||
			     f->id == SPW_FILTER_BIG_DELTA_BITSHUFFLE;
	size_t m = n / f->width;

	if (is_bits)
		m = m / 8 * 8;
	memcpy(dst, src, n);
	switch (f->id) {
	case SPW_FILTER_COLUMNS:
		for (m = 0; m < n; m += 32768)
			define_columns(dst + m, src + m,
				       n - m < 32768 ? n - m : 32768);
		return;
	case SPW_FILTER_DELTA:
	case SPW_FILTER_XOR:
		define_delta(dst, src, m, f->width, f->id == SPW_FILTER_XOR);
		return;
	case SPW_FILTER_BIG_DELTA_SHUFFLE:
	case SPW_FILTER_BIG_DELTA_BITSHUFFLE:
		define_swap(swapped, src, m, f->width);
		src = swapped;
		/* fall through */
	case SPW_FILTER_DELTA_SHUFFLE:
	case SPW_FILTER_XOR_SHUFFLE:
	case SPW_FILTER_DELTA_BITSHUFFLE:
		define_delta(between, src, m, f->width,
			     f->id == SPW_FILTER_XOR_SHUFFLE);
		src = between;
	}
	if (is_bits)
		define_bitshuffle(dst, src, m, f->width);
	else
		define_shuffle(dst, src, m, f->width);
}

static uint8_t *
watched(const struct guarded *g, size_t n)
{
	uint8_t *p = guarded_buf(g, n);

	memset(p - MARGIN, 0x5a, MARGIN + n);
	return p;
}

static void
check_margin(const uint8_t *p)
{
	int i;

	for (i = 1; i <= MARGIN; i++)
		CHECK(p[-i] == 0x5a);
}

/* By every way the same, and back. */
static void
check_filter(const struct spw_filter_spec *f, size_t n, bool by_definition)
{
	const struct spw_filter_way *way;
	const uint8_t *src = guarded_buf(&plain, n);
	uint8_t *want = guarded_buf(&wanted, n), *out, *undone;
	size_t i;

	if (by_definition)
		define(f, want, src, n);
	else
		CHECK(!spw_filter_apply_by(&spw_filter_portable, f, want, src,
					   n));
	for (i = 0; (way = spw_filter_way(i)); i++) {
		out = watched(&filtered, n);
		undone = watched(&back, n);
		CHECK(!spw_filter_apply_by(way, f, out, src, n));
		check_margin(out);
		CHECK(!memcmp(out, want, n));
		CHECK(!spw_filter_undo_by(way, f, undone, out, n));
		check_margin(undone);
		CHECK(!memcmp(undone, src, n));
	}
}

static void
fill(uint64_t seed)
{
	size_t i;

	for (i = 0; i < plain.room; i++)
		plain.map[i] = (uint8_t)draw(&seed);
}

/* Every filter and width, at lengths around the sizes of vectors and chunks
 * and at random ones.
 */
static void
test_widths(void)
{
	uint64_t seed = 7;
	struct spw_filter_spec f;
	unsigned int id, width;
	size_t n, k;

	for (id = 1; id < SPW_FILTERS; id++)
		for (width = 1; width < 256; width++) {
			f = (struct spw_filter_spec){ id, width };
			if (!spw_filter_is_known(&f))
				continue;
			for (n = 0; n < 600; n += 1 + draw(&seed) % 90)
				check_filter(&f, n, true);
			for (k = 0; k < 3; k++)
				check_filter(&f, 8192 - 3 + draw(&seed) % 7,
					     false);
			for (k = 0; k < 3; k++)
				check_filter(&f, draw(&seed) % (LARGEST + 1),
					     false);
		}
}

/* The widths of numbers, at every length up to several rounds. */
static void
test_lengths(void)
{
	static const uint8_t widths[] = { 2, 4, 8, 12, 32 };
	struct spw_filter_spec f;
	size_t n, k;

	for (f.id = 1; f.id < SPW_FILTERS; f.id++)
		for (k = 0; k < ARRAY_LEN(widths); k++) {
			f.width = widths[k];
			for (n = 0; n <= 1100 && spw_filter_is_known(&f); n++)
				check_filter(&f, n, true);
		}
}

/* Text of few letters, so that there are lines and fields of every kind, and
 * now and then more lines than are put in columns.
 */
static void
test_columns(void)
{
	static const struct spw_filter_spec f = { SPW_FILTER_COLUMNS, 1 };
	static const char letters[] = "\n\n\t,.:; 01 23 4567e-++--\"xyzxyz";
	uint64_t seed = 11;
	unsigned round;
	size_t i, few;

	for (round = 0; round < 60; round++) {
		few = 1 + draw(&seed) % (sizeof(letters) - 1);
		for (i = 0; i < plain.room; i++)
			plain.map[i] = (uint8_t)letters[draw(&seed) % 7 ?
				sizeof(letters) - 2 - draw(&seed) % few :
				draw(&seed) % (sizeof(letters) - 1)];
		for (i = 0; i < 200; i += 1 + draw(&seed) % 7)
			check_filter(&f, i, true);
		check_filter(&f, 32768 - 3 + draw(&seed) % 7, true);
		check_filter(&f, draw(&seed) % (LARGEST + 1), true);
	}
	memset(plain.map, '\n', plain.room);
	check_filter(&f, LARGEST, true);
	check_filter(&f, 3700, true);
}

/* A table as it is stored for good; and bytes that no table became are undone
 * without a look past their end.
 */
static void
test_table(void)
{
	static const char table[] = "1,-0.5, a\n2,1.25,  b\n30,7\n\n4 x,";
	static const char columns[] = "123\n,,0,-170.\n.52,5,  a \nb\n4 x,";
	static const struct spw_filter_spec f = { SPW_FILTER_COLUMNS, 1 };
	uint64_t seed = 5;
	char out[sizeof(table)];
	size_t n;

	CHECK(sizeof(table) == sizeof(columns));
	CHECK(!spw_filter_apply(&f, out, table, sizeof(table)));
	CHECK(!memcmp(out, columns, sizeof(table)));
	CHECK(!spw_filter_undo(&f, out, columns, sizeof(table)));
	CHECK(!memcmp(out, table, sizeof(table)));
	for (int i = 0; i < 2000; i++) {
		uint8_t *garbage, *undone;

		n = draw(&seed) % (i % 50 ? 300 : LARGEST);
		garbage = guarded_buf(&plain, n);
		undone = watched(&back, n);
		for (size_t k = 0; k < n; k++)
			garbage[k] = "\n, x"[draw(&seed) % 5];
		CHECK(!spw_filter_undo(&f, undone, garbage, n));
		check_margin(undone);
	}
}

/* Small steps up and down become small numbers. */
static void
test_folding(void)
{
	static const int16_t values[] = { 0, -1, 0, -2, 0, 32767, -32768, 5 };
	static const uint16_t folded[] = {
		0, 1, 2, 3, 4, 65534, 2, 65525,
	};
	const struct spw_filter_spec f = { SPW_FILTER_DELTA, 2 };
	uint16_t out[8];

	CHECK(!spw_filter_apply(&f, out, values, sizeof(values)));
	CHECK(!memcmp(out, folded, sizeof(folded)));
}

static void
test_known(void)
{
	static const uint8_t counts[] = {
		1, 254, 255, 4, 4, 3, 3, 4, 1, 3, 3,
	};
	struct spw_filter_spec f;
	unsigned int id, width, count;
	uint8_t a = 1, b = 2;

	CHECK(ARRAY_LEN(counts) == SPW_FILTERS);
	for (id = 0; id < 256; id++) {
		for (count = 0, width = 0; width < 256; width++) {
			f = (struct spw_filter_spec){ id, width };
			if (spw_filter_is_known(&f)) {
				count++;
				continue;
			}
			CHECK(spw_filter_apply(&f, &a, &b, 1) == -EINVAL);
			CHECK(spw_filter_undo(&f, &a, &b, 1) == -EINVAL);
		}
		CHECK(count == (id < SPW_FILTERS ? counts[id] : 0));
		CHECK(!!spw_filter_name(id) == (id < SPW_FILTERS));
	}
	CHECK(a == 1);
	CHECK(!strcmp(spw_filter_name(SPW_FILTER_XOR_SHUFFLE),
		      "xor-delta+shuffle"));
	f = (struct spw_filter_spec){ SPW_FILTER_NONE, 0 };
	CHECK(!spw_filter_apply(&f, &a, &b, 1) && a == 2);
}

/* As it was stored at first; has to stay readable.  37 bytes: nine elements
 * of 4 and a rest.
 */
static const uint8_t sample[37] = {
	0x10, 0x27, 0x00, 0x3f, 0x1a, 0x27, 0x00, 0x3f, 0x09, 0x27, 0x00, 0x3f,
	0xf0, 0x26, 0x00, 0x3f, 0x00, 0x00, 0x80, 0xbf, 0xff, 0xff, 0xff, 0xff,
	0x01, 0x02, 0x03, 0x04, 0x05, 0x06, 0x07, 0x08, 0x88, 0x77, 0x66, 0x55,
	0xee,
};

static const struct golden {
	struct spw_filter_spec f;
	uint8_t bytes[sizeof(sample)];
} goldens[] = {
#include "tests/filter-samples.h"
};

static void
test_samples(void)
{
	const struct spw_filter_way *way;
	uint8_t out[sizeof(sample)];
	unsigned int seen = 0;
	size_t i, k;

	for (i = 0; i < ARRAY_LEN(goldens); i++)
		for (k = 0; (way = spw_filter_way(k)); k++) {
			const struct golden *g = &goldens[i];

			CHECK(!spw_filter_apply_by(way, &g->f, out, sample,
						   sizeof(out)));
			CHECK(!memcmp(out, g->bytes, sizeof(out)));
			CHECK(!spw_filter_undo_by(way, &g->f, out, g->bytes,
						  sizeof(out)));
			CHECK(!memcmp(out, sample, sizeof(out)));
			seen |= 1u << g->f.id;
		}
	CHECK(seen == (1u << SPW_FILTERS) - 1);
}

int
main(void)
{
	const struct spw_filter_way *way;
	size_t i;

	plain = guarded_new(LARGEST + MARGIN);
	filtered = guarded_new(LARGEST + MARGIN);
	back = guarded_new(LARGEST + MARGIN);
	wanted = guarded_new(LARGEST + MARGIN);
	for (i = 0; (way = spw_filter_way(i)); i++)
		printf("%s\n", way->name);
	CHECK(spw_filter_way(i - 1) == &spw_filter_portable);
	fill(42);
	test_known();
	test_folding();
	test_samples();
	test_lengths();
	test_widths();
	test_columns();
	test_table();
	guarded_free(&plain);
	guarded_free(&filtered);
	guarded_free(&back);
	guarded_free(&wanted);
	return 0;
}
