/* SPDX-License-Identifier: BSD-3-Clause */
/* unit-crc32c.c -- known sums, the same by every way and in any pieces */

#include <string.h>

#include "shm/crc32c.h"
#include "tests/guarded.h"

/* The definition itself, a bit at a time. */
static uint32_t
by_definition(uint32_t crc, const uint8_t *p, size_t n)
{
	int bit;

	crc = ~crc;
	for (; n; p++, n--) {
		crc ^= *p;
		for (bit = 0; bit < 8; bit++)
			crc = crc >> 1 ^ (crc & 1 ? 0x82f63b78 : 0);
	}
	return ~crc;
}

/* The check value of the catalogues, and those of RFC 3720 B.4. */
static void
test_vectors(const struct spw_crc32c_way *way)
{
	uint8_t b[32];
	int i;

	CHECK(way->sum(0, "", 0) == 0);
	CHECK(way->sum(0, "123456789", 9) == 0xe3069283);
	memset(b, 0, sizeof(b));
	CHECK(way->sum(0, b, sizeof(b)) == 0x8a9136aa);
	memset(b, 0xff, sizeof(b));
	CHECK(way->sum(0, b, sizeof(b)) == 0x62a8ab43);
	for (i = 0; i < 32; i++)
		b[i] = (uint8_t)i;
	CHECK(way->sum(0, b, sizeof(b)) == 0x46dd794e);
	for (i = 0; i < 32; i++)
		b[i] = (uint8_t)(31 - i);
	CHECK(way->sum(0, b, sizeof(b)) == 0x113fdb5c);
}

/* Every length up to several short rounds, and around the long ones; the
 * buffer ends at a wall, so each length also has another alignment.
 */
static void
test_lengths(const struct spw_crc32c_way *way, const struct guarded *g)
{
	size_t n;

	for (n = 0; n <= 20000; n += n < 1300 ? 1 : 337) {
		const uint8_t *p = guarded_buf(g, n);

		CHECK(way->sum(0, p, n) == by_definition(0, p, n));
	}
	for (n = 4075; n <= 4085; n++) {
		const uint8_t *p = guarded_buf(g, n + 3 * 4080);

		CHECK(way->sum(7, p, n) == by_definition(7, p, n));
		CHECK(way->sum(7, p, n + 3 * 4080) ==
		      by_definition(7, p, n + 3 * 4080));
	}
}

static void
test_splits(const struct spw_crc32c_way *way, const struct guarded *g)
{
	const size_t n = 9000;
	const uint8_t *p = guarded_buf(g, n);
	uint32_t whole = way->sum(0, p, n), crc;
	uint64_t seed = 1;
	size_t at, len;
	int i;

	for (at = 0; at <= n; at++)
		CHECK(way->sum(way->sum(0, p, at), p + at, n - at) == whole);
	for (i = 0; i < 200; i++) {
		crc = 0;
		for (at = 0; at < n; at += len) {
			len = draw(&seed) % 700;
			len = len < n - at ? len : n - at;
			crc = way->sum(crc, p + at, len);
		}
		CHECK(crc == whole);
	}
}

static void
test_dispatch(const struct guarded *g)
{
	const uint8_t *p = guarded_buf(g, 16384);

	CHECK(spw_crc32c_way(0));
	CHECK(spw_crc32c(0, p, 16384) == spw_crc32c_way(0)->sum(0, p, 16384));
	CHECK(spw_crc32c(5, p, 16384) == by_definition(5, p, 16384));
}

int
main(void)
{
	struct guarded g = guarded_new(20000);
	const struct spw_crc32c_way *way;
	uint64_t seed = 42;
	size_t i;

	for (i = 0; i < g.room; i++)
		g.map[i] = (uint8_t)draw(&seed);
	for (i = 0; (way = spw_crc32c_way(i)); i++) {
		printf("%s\n", way->name);
		test_vectors(way);
		test_lengths(way, &g);
		test_splits(way, &g);
	}
	CHECK(!strcmp(spw_crc32c_way(i - 1)->name, "portable"));
	test_dispatch(&g);
	guarded_free(&g);
	return 0;
}
