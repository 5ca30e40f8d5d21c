/* SPDX-License-Identifier: BSD-3-Clause */
/* unit-ways.c -- which ways to pack there are, and which are lost to pins */

#include "planner/ways.h"
#include "tests/guarded.h"
#include "tiers/filter.h"

static struct spw_ways ways;

static bool
has(uint8_t codec, int level, uint8_t filter)
{
	for (unsigned i = 0; i < ways.n; i++)
		if (ways.at[i].codec == codec && ways.at[i].level == level &&
		    ways.at[i].filter == filter)
			return true;
	return false;
}

/* Every choice of a codec without a filter, and the one for columns with it. */
static void
check_pool(void)
{
	const struct spw_codec_choice *c;

	for (size_t i = 0; (c = spw_codec_pool(i)); i++) {
		CHECK(has(c->id, c->level, SPW_FILTER_NONE));
		CHECK(!c->columns || has(c->id, c->level, SPW_FILTER_COLUMNS));
	}
}

/* Nothing is lost. */
static void
test_pool(void)
{
	spw_ways_fill(&ways, NULL, 0);
	CHECK(ways.at[0].codec == SPW_CODEC_NONE);
	CHECK(ways.n < SPW_CHOICES_MAX);
	check_pool();
}

/* Pins of levels that nobody chooses take the room of the pool's last. */
static void
test_pins(void)
{
	const struct spw_codec_choice pins[] = {
		{ .id = SPW_CODEC_ZSTD, .level = 5 },
		{ .id = SPW_CODEC_LZ4, .level = 9 },
	};

	spw_ways_fill(&ways, pins, 2);
	CHECK(ways.n <= SPW_CHOICES_MAX);
	for (unsigned i = 0; i < 2; i++)
		for (uint8_t f = 0; f < SPW_FILTERS; f++)
			CHECK(has(pins[i].id, pins[i].level, f) ==
			      (f != SPW_FILTER_DELTA && f != SPW_FILTER_XOR &&
			       f < SPW_FILTER_BIG_DELTA_SHUFFLE));
	check_pool();
	if (spw_codec_by_name("zstd"))
		CHECK(has(SPW_CODEC_ZSTD, 1, SPW_FILTER_DELTA_SHUFFLE));
}

/* Differences are taken in the order of bytes that numbers have. */
static void
test_order(void)
{
	static const uint8_t deltas[][2] = {
		{ SPW_FILTER_DELTA_SHUFFLE, SPW_FILTER_BIG_DELTA_SHUFFLE },
		{ SPW_FILTER_DELTA_BITSHUFFLE,
		  SPW_FILTER_BIG_DELTA_BITSHUFFLE },
		{ SPW_FILTER_XOR_SHUFFLE, SPW_FILTER_XOR_SHUFFLE },
		{ SPW_FILTER_SHUFFLE, SPW_FILTER_SHUFFLE },
	};
	struct spw_traits t = { .kind = SPW_DATA_INTEGER, .width = 4 };
	uint64_t fit = spw_ways_fit(&ways, &t);

	for (size_t i = 0; i < ARRAY_LEN(deltas); i++)
		for (t.is_big = 0; t.is_big < 2; t.is_big++) {
			struct spw_choice way = { .filter = deltas[i][0] };
			struct spw_object_pack pack = spw_ways_pack(&way, &t);

			CHECK(pack.filter == deltas[i][t.is_big]);
			CHECK(pack.width == 4);
			CHECK(spw_ways_fit(&ways, &t) == fit);
		}
}

int
main(void)
{
	(void)spw_codec_load(NULL);
	test_pool();
	test_pins();
	test_order();
	return 0;
}
