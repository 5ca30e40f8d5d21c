/* SPDX-License-Identifier: BSD-3-Clause */
/* codec-conformance.c -- every codec keeps the promises of tiers/codec.h */

/* Usage: codec-conformance [module directory].  All buffers end at an
 * unreadable page, so a byte read or written too far is a crash.
 */

#include <errno.h>
#include <string.h>

#include "tests/guarded.h"
#include "tiers/codec.h"

#define LARGEST ((size_t)1 << 20)
#define MARGIN 64			/* watched bytes before a buffer */

static struct guarded raw, packed, spoiled, unpacked;
static const struct spw_codec *codec;
static void *ctx;

/* Data of a kind, n bytes at the wall. */

enum kind { ZERO, RANDOM, TEXT, FLOATS, KINDS };

static void
fill_text(uint8_t *p, size_t n)
{
	static const char *const words[] = {
		"the ", "segment ", "of ", "a ", "file ", "is ", "cut ",
		"into ", "blocks, ", "and ", "each ", "drains ", "home.\n",
	};
	uint64_t seed = n;
	size_t at, len;

	for (at = 0; at < n; at += len) {
		const char *w = words[draw(&seed) % ARRAY_LEN(words)];

		len = strlen(w) < n - at ? strlen(w) : n - at;
		memcpy(p + at, w, len);
	}
}

/* A walk with small steps, as a field along a line. */
static void
fill_floats(uint8_t *p, size_t n)
{
	uint64_t seed = n;
	float v = 300;
	size_t at;

	for (at = 0; at + sizeof(v) <= n; at += sizeof(v)) {
		v += (float)(draw(&seed) % 2001) / 1000 - 1;
		memcpy(p + at, &v, sizeof(v));
	}
	memset(p + at, 0, n - at);
}

static const uint8_t *
make_data(enum kind kind, size_t n)
{
	uint8_t *p = guarded_buf(&raw, n);
	uint64_t seed = n;
	size_t i;

	switch (kind) {
	case ZERO:
		memset(p, 0, n);
		break;
	case RANDOM:
		for (i = 0; i < n; i++)
			p[i] = (uint8_t)draw(&seed);
		break;
	case TEXT:
		fill_text(p, n);
		break;
	default:
		fill_floats(p, n);
	}
	return p;
}

/* Coding into buffers of exactly the size that is told. */

static int64_t
encode(int level, size_t cap, const uint8_t *src, size_t n, uint8_t **ret_dst)
{
	uint8_t *dst = guarded_buf(&packed, cap);
	int64_t r;
	int i;

	memset(dst - MARGIN, 0x5a, MARGIN);
	r = spw_codec_encode(codec, ctx, level, dst, cap, src, n);
	for (i = 1; i <= MARGIN; i++)
		CHECK(dst[-i] == 0x5a);
	CHECK(r <= (int64_t)cap);
	*ret_dst = dst;
	return r;
}

static int
decode(size_t len, const uint8_t *src, size_t n)
{
	uint8_t *dst = guarded_buf(&unpacked, len);
	int r, i;

	memset(dst - MARGIN, 0x5a, MARGIN);
	r = spw_codec_decode(codec, ctx, dst, len, src, n);
	for (i = 1; i <= MARGIN; i++)
		CHECK(dst[-i] == 0x5a);
	return r;
}

static uint8_t *
copy_to_spoil(const uint8_t *src, size_t n)
{
	return memcpy(guarded_buf(&spoiled, n), src, n);
}

static void
expect(const uint8_t *src, size_t n, const uint8_t *data, size_t len)
{
	const uint8_t *own = copy_to_spoil(src, n);	/* at the wall */

	CHECK(decode(len, own, n) == 0);
	CHECK(!memcmp(guarded_buf(&unpacked, len), data, len));
}

static size_t
round_trip(int level, enum kind kind, size_t n)
{
	const uint8_t *data = make_data(kind, n);
	uint8_t *dst;
	int64_t r = encode(level, codec->bound(n), data, n, &dst);

	CHECK(r >= 0);
	expect(dst, (size_t)r, data, n);
	return (size_t)r;
}

static void
test_round_trips(void)
{
	static const size_t sizes[] = {
		0, 1, 2, 7, 255, 4097, 65536, 65537, 262144, 1000003, LARGEST,
	};
	size_t i;
	int kind;

	for (i = 0; i < ARRAY_LEN(sizes); i++)
		for (kind = 0; kind < KINDS; kind++) {
			round_trip(codec->min_level, kind, sizes[i]);
			round_trip(codec->default_level, kind, sizes[i]);
		}
}

static void
test_every_level(void)
{
	static const size_t sizes[] = { 0, 1, 1031, 65536 };
	size_t i;
	int level, kind;

	for (level = codec->min_level; level <= codec->max_level; level++)
		for (i = 0; i < ARRAY_LEN(sizes); i++)
			for (kind = 0; kind < KINDS; kind++)
				round_trip(level, kind, sizes[i]);
	round_trip(codec->max_level, FLOATS, 262144);
	round_trip(codec->max_level, RANDOM, 262144);
}

static void
test_level_range(void)
{
	const uint8_t *data = make_data(TEXT, 100);
	uint8_t *dst;

	CHECK(codec->min_level <= codec->default_level);
	CHECK(codec->default_level <= codec->max_level);
	CHECK(encode(codec->min_level - 1, 1000, data, 100, &dst) == -EINVAL);
	CHECK(encode(codec->max_level + 1, 1000, data, 100, &dst) == -EINVAL);
}

static void
test_too_large(void)
{
	CHECK(spw_codec_encode(codec, ctx, codec->default_level, NULL, 0, NULL,
			       SPW_CODEC_MAX + 1) == -EINVAL);
	CHECK(spw_codec_decode(codec, ctx, NULL, SPW_CODEC_MAX + 1, NULL, 0) ==
	      -EBADMSG);
	CHECK(spw_codec_decode(codec, ctx, NULL, 0, NULL, SPW_CODEC_MAX + 1) ==
	      -EBADMSG);
}

/* Too little room is said, or the codec found a way to do with less. */
static void
squeeze(int level, const uint8_t *data, size_t n, size_t cap)
{
	uint8_t *dst;
	int64_t r = encode(level, cap, data, n, &dst);

	if (r == -E2BIG)
		return;
	CHECK(r >= 0);
	expect(dst, (size_t)r, data, n);
}

static void
test_no_room(int level)
{
	static const size_t sizes[] = { 0, 1, 1031, 65536, 262144 };
	size_t i, used;
	int kind;

	for (i = 0; i < ARRAY_LEN(sizes); i++)
		for (kind = 0; kind < KINDS; kind++) {
			size_t n = sizes[i];
			const uint8_t *data;

			used = round_trip(level, kind, n);
			data = make_data(kind, n);
			squeeze(level, data, n, 0);
			squeeze(level, data, n, 1);
			squeeze(level, data, n, used / 2);
			squeeze(level, data, n, used ? used - 1 : 0);
			squeeze(level, data, n, used);
		}
}

/* What the drainer relies on: cap = n - 1 tells that packing is of no use. */
static void
test_store_raw(int level)
{
	const uint8_t *data = make_data(RANDOM, 65536);
	uint8_t *dst;

	CHECK(encode(level, 65535, data, 65536, &dst) == -E2BIG);
}

static void
test_refused(int level, enum kind kind, size_t n)
{
	size_t used = round_trip(level, kind, n), cut, step = used / 200 + 1;
	uint8_t *dst = guarded_buf(&packed, codec->bound(n)), *more;

	if (n)
		CHECK(decode(n - 1, dst, used) == -EBADMSG);
	CHECK(decode(n + 1, dst, used) == -EBADMSG);
	for (cut = 1; cut <= used; cut += step)
		CHECK(decode(n, copy_to_spoil(dst, used - cut), used - cut) ==
		      -EBADMSG);
	if (used)
		CHECK(decode(n, copy_to_spoil(dst, 0), 0) == -EBADMSG);
	more = guarded_buf(&spoiled, used + 1);
	memcpy(more, dst, used);
	more[used] = 0;
	CHECK(decode(n, more, used + 1) == -EBADMSG);
}

static void
must_survive(size_t len, const uint8_t *src, size_t n)
{
	int r = decode(len, src, n);

	CHECK(r == 0 || r == -EBADMSG);
}

static void
test_flipped(int level, enum kind kind, size_t n, int times)
{
	size_t used = round_trip(level, kind, n), i;
	uint8_t *dst = guarded_buf(&packed, codec->bound(n)), *bad;
	uint64_t seed = n + (size_t)kind;

	bad = copy_to_spoil(dst, used);
	for (i = 0; i < 64 * 8 && i < used * 8; i++) {
		bad[i / 8] ^= (uint8_t)(1 << i % 8);
		must_survive(n, bad, used);
		bad[i / 8] ^= (uint8_t)(1 << i % 8);
	}
	for (; used && times > 0; times--) {
		i = draw(&seed) % (used * 8);
		bad[i / 8] ^= (uint8_t)(1 << i % 8);	/* they add up */
		must_survive(n, bad, used);
	}
	expect(dst, used, make_data(kind, n), n);	/* context still fine */
}

static void
test_garbage(void)
{
	uint64_t seed = 99;
	int i;

	for (i = 0; i < 3000; i++) {
		size_t n = draw(&seed) % 300, k;
		uint8_t *bad = guarded_buf(&spoiled, n);

		for (k = 0; k < n; k++)
			bad[k] = (uint8_t)draw(&seed);
		must_survive(draw(&seed) % 70000, bad, n);
	}
}

/* Packed by the versions named in the comments; has to stay readable. */
static const struct sample {
	const char *codec;
	size_t n;
	uint8_t bytes[64];
} samples[] = {
#include "tests/codec-samples.h"
};

static void
test_sample(void)
{
	static const char text[] = "spillway spillway spillway spillway";
	size_t i, seen = 0;

	for (i = 0; i < ARRAY_LEN(samples); i++) {
		if (strcmp(samples[i].codec, codec->name))
			continue;
		expect(samples[i].bytes, samples[i].n, (const uint8_t *)text,
		       sizeof(text) - 1);
		seen++;
	}
	CHECK(seen == 1);
}

static void
test_codec(void)
{
	static const int kinds[] = { ZERO, RANDOM, TEXT, FLOATS };
	size_t i;

	test_level_range();
	test_too_large();
	test_sample();
	test_round_trips();
	test_every_level();
	test_no_room(codec->min_level);
	test_no_room(codec->default_level);
	test_store_raw(codec->min_level);
	test_store_raw(codec->max_level);
	for (i = 0; i < ARRAY_LEN(kinds); i++) {
		test_refused(codec->default_level, kinds[i], 0);
		test_refused(codec->default_level, kinds[i], 1);
		test_refused(codec->default_level, kinds[i], 1031);
		test_refused(codec->min_level, kinds[i], 65536);
		test_flipped(codec->default_level, kinds[i], 1031, 500);
		test_flipped(codec->default_level, kinds[i], 65536, 300);
		test_flipped(codec->max_level, kinds[i], 4096, 300);
	}
	test_garbage();
}

static void
test_registry(void)
{
	static const char *const names[] = {
		"none", "lz4", "zstd", "brotli", "deflate", "lzma",
	};
	const struct spw_codec_slot *slot;
	size_t i;

	for (i = 0; (slot = spw_codec_slot(i)); i++) {
		CHECK(i < ARRAY_LEN(names));	/* a new one belongs there */
		CHECK(slot->id == i);	/* pinned: stored in objects */
		CHECK(!strcmp(slot->name, names[i]));
		CHECK(slot->finding.text[0]);
		CHECK(spw_codec_by_id(slot->id) == slot->codec);
		CHECK(spw_codec_by_name(slot->name) == slot->codec);
		if (slot->codec)
			CHECK(slot->codec->id == i &&
			      !strcmp(slot->codec->name, names[i]));
	}
	CHECK(i == ARRAY_LEN(names));
	CHECK(!spw_codec_by_id(255));
	CHECK(!spw_codec_by_name("lz5"));
}

/* Each choice once, and every codec that is there in it, once for columns. */
static void
test_pool(void)
{
	const struct spw_codec_choice *c, *other;
	unsigned int seen = 0, columns = 0;
	size_t i, k;

	for (i = 0; (c = spw_codec_pool(i)); i++) {
		CHECK(c->id < SPW_CODECS);
		seen |= 1u << c->id;
		CHECK(!c->columns || !(columns >> c->id & 1));
		columns |= (unsigned int)c->columns << c->id;
		for (k = 0; k < i; k++) {
			other = spw_codec_pool(k);
			CHECK(other->id != c->id || other->level != c->level);
		}
		codec = spw_codec_by_id(c->id);
		CHECK(codec && c->level >= codec->min_level &&
		      c->level <= codec->max_level);
	}
	for (i = 0; i < SPW_CODECS; i++) {
		CHECK((seen >> i & 1) == !!spw_codec_by_id((uint8_t)i));
		CHECK((columns >> i & 1) == (i && seen >> i & 1));
	}
	CHECK(spw_codec_pool(0)->id == SPW_CODEC_NONE);
}

int
main(int argc, char **argv)
{
	const struct spw_codec_slot *slot;
	int absent = 0;
	size_t i;

	raw = guarded_new(LARGEST + MARGIN);
	packed = guarded_new(LARGEST * 2);
	spoiled = guarded_new(LARGEST * 2);
	unpacked = guarded_new(LARGEST + MARGIN);
	CHECK(spw_codec_by_id(SPW_CODEC_NONE) == &spw_codec_none);
	CHECK(spw_codec_load(argc > 1 ? argv[1] : NULL) >= 1);
	test_registry();
	test_pool();
	for (i = 0; (slot = spw_codec_slot(i)); i++) {
		codec = slot->codec;
		absent += !codec;
		printf("%s%s: %s\n", codec ? "" : "SKIP: codec-conformance: ",
		       slot->name, slot->finding.text);
		fflush(stdout);
		if (!codec)
			continue;
		ctx = codec->ctx_new();
		CHECK(ctx);
		test_codec();
		codec->ctx_free(ctx);
		codec->ctx_free(NULL);
	}
	guarded_free(&raw);
	guarded_free(&packed);
	guarded_free(&spoiled);
	guarded_free(&unpacked);
	return absent ? 77 : 0;		/* those present were tested */
}
