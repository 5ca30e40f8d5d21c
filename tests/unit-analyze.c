/* SPDX-License-Identifier: BSD-3-Clause */
/* unit-analyze.c -- the analyzer tells kinds of data apart, nearly always */

/* Blocks end at an unreadable page, so a byte read too far is a crash. */

#include "tests/analyze-data.h"

#include <stdbool.h>

#define LARGEST ((size_t)1 << 20)
#define ROUNDS 60

static struct guarded block;

static struct spw_traits
analyze(size_t n, uint64_t offset, const struct spw_traits *label)
{
	struct spw_traits t;

	memset(&t, 0xff, sizeof(t));
	spw_analyze(guarded_buf(&block, n), n, offset, label, &t);
	CHECK(t.kind > SPW_DATA_UNKNOWN && t.kind < SPW_DATA_KINDS);
	CHECK(t.shape < SPW_SHAPES && t.format < SPW_FORMATS);
	CHECK(t.zeros <= 4 && t.steps <= 3 && t.is_big <= 1);
	return t;
}

/* Percent of the rounds in which all is as it should be, and in which the
 * distribution is.
 */
static void
test_class(const struct data_class *c, uint64_t seed, int *ret_kind,
	   int *ret_shape)
{
	int i, kind = 0, shape = 0;

	for (i = 0; i < ROUNDS; i++) {
		size_t n = (size_t)16384 << draw(&seed) % 7;
		struct spw_traits t;

		if (i % 3 == 0 && n > 16384)
			n -= 8 * (draw(&seed) % 500);
		memset(guarded_buf(&block, n), 0, n);
		c->fill(c, guarded_buf(&block, n), n, &seed);
		t = analyze(n, 4096, NULL);
		kind += t.kind == c->want.kind && t.width == c->want.width &&
			t.stride == c->want.stride &&
			t.is_big == c->want.is_big;
		shape += t.shape == c->want.shape;
	}
	*ret_kind = kind * 100 / ROUNDS;
	*ret_shape = shape * 100 / ROUNDS;
}

/* Noise has its way now and then: 90 of 100 for each, 97 for all. */
static void
test_classes(void)
{
	int kind, shape, kinds = 0, shapes = 0, shaped = 0;
	size_t i;

	for (i = 0; i < ARRAY_LEN(data_classes); i++) {
		const struct data_class *c = &data_classes[i];

		test_class(c, i + 1, &kind, &shape);
		printf("%-16s %3d%%", c->name, kind);
		CHECK(kind >= 90);
		kinds += kind;
		if (c->want.shape) {
			printf(" %3d%%", shape);
			CHECK(shape >= 90);
			shapes += shape;
			shaped++;
		}
		printf("\n");
	}
	printf("%-16s %3d%% %3d%%\n", "all",
	       kinds / (int)ARRAY_LEN(data_classes), shapes / shaped);
	CHECK(kinds >= 97 * (int)ARRAY_LEN(data_classes));
	CHECK(shapes >= 97 * shaped);
}

/* Any length is fine, also those with nothing to see. */
static void
test_lengths(void)
{
	uint64_t seed = 3;
	size_t n, c;

	for (c = 0; c < ARRAY_LEN(data_classes); c++)
		for (n = 0; n < 9000; n += n < 70 ? 1 : draw(&seed) % 600) {
			memset(guarded_buf(&block, n), 0, n);
			if (n >= 4096)
				data_classes[c].fill(&data_classes[c],
						     guarded_buf(&block, n), n,
						     &seed);
			(void)analyze(n, 0, NULL);
		}
	memset(guarded_buf(&block, 1023), 0, 1023);
	CHECK(analyze(1023, 0, NULL).kind == SPW_DATA_BYTES);
	CHECK(analyze(1023, 0, NULL).zeros == 4);
}

static void
test_formats(void)
{
	static const struct { const char *bytes; uint8_t n, format; } files[] = {
#define F(bytes, format) { bytes, sizeof(bytes) - 1, SPW_FORMAT_##format }
		F("\x89HDF\r\n\x1a\n", HDF5), F("CDF\1", NETCDF),
		F("CDF\2", NETCDF), F("CDF\5", NETCDF), F("CDF\3", UNKNOWN),
		F("SIMPLE  =", FITS), F("\x93NUMPY", NPY), F("II*\0", TIFF),
		F("MM\0*", TIFF), F("II+\0", TIFF), F("GRIB", GRIB),
		F("PAR1", PARQUET), F("Obj\1", AVRO), F("root\0", ROOT),
		F("SQLite format 3\0", SQLITE), F("\x7f" "ELF", ELF),
		F("%PDF-", PDF), F("\x1f\x8b\x08", GZIP),
		F("\x1f\x8b\x07", UNKNOWN), F("BZh", BZIP2),
		F("\xfd" "7zXZ\0", XZ), F("\x28\xb5\x2f\xfd", ZSTD),
		F("\x04\x22\x4d\x18", LZ4), F("PK\3\4", ZIP),
		F("7z\xbc\xaf\x27\x1c", 7Z), F("\x89PNG\r\n\x1a\n", PNG),
		F("\xff\xd8\xff", JPEG), F("GIF87a", GIF), F("GIF89a", GIF),
		F("RIFF0000WEBP", WEBP), F("RIFF0000WAVE", UNKNOWN),
#undef F
	};
	uint64_t seed = 5;
	unsigned int seen = 0;
	struct spw_traits t;
	size_t i;

	for (i = 0; i < ARRAY_LEN(files); i++) {
		uint8_t *p = guarded_buf(&block, 65536);

		fill_range(&data_classes[8], p, 65536, &seed);
		memcpy(p, files[i].bytes, files[i].n);
		t = analyze(65536, 0, NULL);
		CHECK(t.format == files[i].format);
		CHECK((t.kind == SPW_DATA_PACKED) ==
		      (t.format >= SPW_FORMAT_GZIP));
		CHECK(!analyze(65536, 4096, NULL).format);
		p = guarded_buf(&block, files[i].n - 1u);
		memmove(p, guarded_buf(&block, 65536), files[i].n - 1u);
		CHECK(!analyze(files[i].n - 1u, 0, NULL).format);
		seen |= 1u << files[i].format;
	}
	CHECK(seen == (1u << SPW_FORMATS) - 1);
	for (i = 256; i <= 4096; i *= 2) {
		uint8_t *p = guarded_buf(&block, 65536);

		memset(p, ' ', 65536);
		memcpy(p + i, "\x89HDF\r\n\x1a\n", 8);
		CHECK((analyze(65536, 0, NULL).format == SPW_FORMAT_HDF5) ==
		      (i >= 512 && i <= 2048));
	}
}

/* What is known beats what is seen. */
static void
test_labels(void)
{
	struct spw_traits label = {
		.kind = SPW_DATA_FLOAT, .width = 8,
		.format = SPW_FORMAT_HDF5,
	};
	uint8_t *p = guarded_buf(&block, 65536);
	uint64_t seed = 9;
	struct spw_traits t;

	fill_random(NULL, p, 65536, &seed);
	t = analyze(65536, 0, &label);
	CHECK(t.kind == SPW_DATA_FLOAT && t.width == 8 && !t.stride);
	CHECK(t.format == SPW_FORMAT_HDF5);
	CHECK(t.shape == SPW_SHAPE_OTHER);	/* no such numbers */
	label.stride = 24;
	CHECK(analyze(65536, 0, &label).stride == 24);
	label.width = 3;			/* nonsense does no harm */
	CHECK(analyze(65536, 0, &label).width == 3);
	label = (struct spw_traits){ .format = SPW_FORMAT_GZIP };
	CHECK(analyze(65536, 1 << 20, &label).kind == SPW_DATA_PACKED);
	label = (struct spw_traits){ .format = SPW_FORMAT_NETCDF };
	t = analyze(65536, 1 << 20, &label);
	CHECK(t.kind == SPW_DATA_PACKED && t.format == SPW_FORMAT_NETCDF);
}

static void
test_zeros(void)
{
	uint8_t *p = guarded_buf(&block, LARGEST);
	struct spw_traits a, b;
	uint64_t seed = 11;

	fill_random(NULL, p, LARGEST, &seed);
	CHECK(analyze(LARGEST, 0, NULL).zeros == 0);
	memset(p + LARGEST / 2, 0, LARGEST / 2);
	a = analyze(LARGEST, 0, NULL);
	CHECK(a.zeros == 2 && a.kind != SPW_DATA_ZERO);
	memset(p, 0, LARGEST / 2);
	CHECK(analyze(LARGEST, 0, NULL).kind == SPW_DATA_ZERO);
	b = analyze(LARGEST, 0, NULL);
	CHECK(b.zeros == 4);
	CHECK(spw_traits_key(&a) != spw_traits_key(&b));
	a = analyze(LARGEST, 0, NULL);
	CHECK(spw_traits_key(&a) == spw_traits_key(&b));
	p[3] = 1;
	CHECK(analyze(LARGEST, 1 << 20, NULL).kind != SPW_DATA_ZERO);
}

/* Records of floats and nothing else: places in a box and velocities, or
 * fields each of a size of its own.  Several of them in one are as good.
 */
static void
fill_fields(uint8_t *p, size_t n, unsigned int width, unsigned int fields,
	    bool is_box, uint64_t *seed)
{
	for (size_t i = 0; i < n / width; i++) {
		unsigned int k = i % fields;
		double v = is_box ? k < fields / 2 ? unit(seed)
						   : 300 * normal(seed)
				  : pow(10, 2 * k) * (1 + normal(seed));
		float f = (float)v;

		if (width == 4)
			memcpy(p + i * 4, &f, 4);
		else
			memcpy(p + i * 8, &v, 8);
	}
}

static void
test_records(void)
{
	static const struct { unsigned int width, fields; bool is_box; } r[] = {
		{ 8, 6, true }, { 4, 6, true }, { 8, 4, false },
		{ 4, 3, false }, { 4, 5, false }, { 8, 7, false },
	};
	uint64_t seed = 17;

	for (size_t i = 0; i < ARRAY_LEN(r); i++) {
		const unsigned int stride = r[i].width * r[i].fields;
		int right = 0;

		for (int k = 0; k < ROUNDS; k++) {
			struct spw_traits t;

			fill_fields(guarded_buf(&block, 65536), 65536,
				    r[i].width, r[i].fields, r[i].is_box,
				    &seed);
			t = analyze(65536, 4096, NULL);
			right += t.kind == SPW_DATA_FLOAT &&
				 t.width == r[i].width && t.stride &&
				 t.stride % stride == 0;
		}
		printf("floats of %-6u %3d%%\n", stride, right * 100 / ROUNDS);
		CHECK(right * 100 >= 80 * ROUNDS);
	}
}

/* Text need not have blanks, nor be English. */
static void
test_text(void)
{
	static const char *const some[] = {
		"{\"id\":17,\"name\":\"pump\",\"ok\":true,\"v\":0.8127},",
		"ACGTTGCATGCCGATTAGC", "c2FtcGxlIG9mIGJhc2U2NA", "6fd3e2b17a90",
		"\xd1\x82\xd0\xb5\xd0\xba\xd1\x81\xd1\x82 1 ",
		"\xe6\x96\x87\xe5\xad\x97\xef\xbc\x8c\xe5\xad\x98 2",
	};
	uint8_t *p = guarded_buf(&block, 65536);
	uint64_t seed = 19;

	for (size_t i = 0; i < ARRAY_LEN(some); i++) {
		size_t at = 0, k;

		/* letters left out, so that it is no pattern */
		while (at < 65536)
			for (k = 0; some[i][k] && at < 65536; k++)
				if (some[i][k] & 0x80 || draw(&seed) % 9)
					p[at++] = (uint8_t)some[i][k];
		CHECK(analyze(65536, 4096, NULL).kind == SPW_DATA_TEXT);
	}
}

/* Numbers of 16 bits whose high byte is one of two dozen. */
static void
test_faint(void)
{
	uint8_t *p = guarded_buf(&block, 65536);
	uint64_t seed = 23;
	int right = 0;

	for (int k = 0; k < ROUNDS; k++) {
		struct spw_traits t;

		for (size_t i = 0; i < 65536; i += 2) {
			int16_t v = (int16_t)((int)(draw(&seed) % 6001) - 3000);

			memcpy(p + i, &v, 2);
		}
		t = analyze(65536, 4096, NULL);
		right += t.kind == SPW_DATA_INTEGER && t.width == 2;
	}
	printf("16 bits, faint   %3d%%\n", right * 100 / ROUNDS);
	CHECK(right * 100 >= 90 * ROUNDS);
}

/* Floats most of which are 0, and small integers in bytes, which are not yet
 * compressed.
 */
static void
test_sparse(void)
{
	uint8_t *p = guarded_buf(&block, 65536);
	uint64_t seed = 29;
	int right[9] = { 0 };

	for (int k = 0; k < 3 * ROUNDS; k++) {
		const unsigned int width = k % 3 ? k % 3 * 4 : 1;
		struct spw_traits t;

		for (size_t i = 0; i < 65536; i += width) {
			double v = draw(&seed) % 8 ? 0 : unit(&seed);
			float f = (float)v;

			if (width == 1)
				p[i] = (uint8_t)(20 * normal(&seed));
			else
				memcpy(p + i, width == 8 ? (void *)&v : &f,
				       width);
		}
		t = analyze(65536, 4096, NULL);
		right[width] += t.kind == (width == 1 ? SPW_DATA_BYTES
						      : SPW_DATA_FLOAT) &&
				t.width == (width == 1 ? 0 : width);
	}
	printf("few floats of 4, of 8, small bytes: %d%% %d%% %d%%\n",
	       right[4] * 100 / ROUNDS, right[8] * 100 / ROUNDS,
	       right[1] * 100 / ROUNDS);
	CHECK(right[4] * 100 >= 90 * ROUNDS && right[8] * 100 >= 90 * ROUNDS);
	CHECK(right[1] * 100 >= 90 * ROUNDS);
}

/* Numbers that hardly move are told from those that jump. */
static void
test_steps(void)
{
	uint8_t *p = guarded_buf(&block, 65536);
	const struct data_class f32 = { .want = { .kind = SPW_DATA_FLOAT,
						  .width = 4,
						  .shape = SPW_SHAPE_NORMAL } };
	uint64_t seed = 13;

	fill_field(&f32, p, 65536, &seed);
	CHECK(analyze(65536, 0, NULL).steps == 3);
	fill_shape(&f32, p, 65536, &seed);
	CHECK(analyze(65536, 0, NULL).steps == 1);
}

static void
test_names(void)
{
	unsigned int i;

	for (i = 0; i < SPW_DATA_KINDS; i++)
		CHECK(spw_data_kind_name(i)[0] != '?');
	for (i = 0; i < SPW_SHAPES; i++)
		CHECK(spw_data_shape_name(i)[0] != '?');
	for (i = 0; i < SPW_FORMATS; i++)
		CHECK(spw_data_format_name(i)[0] != '?');
	CHECK(!strcmp(spw_data_format_name(SPW_FORMAT_WEBP), "webp"));
	CHECK(!strcmp(spw_data_kind_name(SPW_DATA_FLOAT), "float"));
	CHECK(!strcmp(spw_data_shape_name(SPW_SHAPE_GAMMA), "gamma"));
	CHECK(spw_data_kind_name(SPW_DATA_KINDS)[0] == '?');
	CHECK(spw_data_shape_name(SPW_SHAPES)[0] == '?');
	CHECK(spw_data_format_name(SPW_FORMATS)[0] == '?');
}

int
main(void)
{
	block = guarded_new(LARGEST);
	test_names();
	test_formats();
	test_labels();
	test_zeros();
	test_steps();
	test_records();
	test_text();
	test_faint();
	test_sparse();
	test_lengths();
	test_classes();
	guarded_free(&block);
	return 0;
}
