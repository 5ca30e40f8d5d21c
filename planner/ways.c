/* SPDX-License-Identifier: BSD-3-Clause */
/* ways.c -- codecs times filters, and which filter suits what */

#include "planner/ways.h"
#include "tiers/filter.h"

/* In the order of use, and the speeds of codecs that each is worth it for:
 * behind a slow one they save little more than shuffle does, and behind the
 * quickest one little less than behind the next.  Where there is no room for
 * all, it is the last that go.
 */
static const struct { uint8_t id; uint16_t least, most; } filters[] = {
	{ SPW_FILTER_NONE, 0, UINT16_MAX },
	{ SPW_FILTER_COLUMNS, 0, UINT16_MAX },
	{ SPW_FILTER_SHUFFLE, 10, 600 },
	{ SPW_FILTER_BITSHUFFLE, 300, 600 },
	{ SPW_FILTER_DELTA_SHUFFLE, 100, 600 },
	{ SPW_FILTER_DELTA_BITSHUFFLE, 300, UINT16_MAX },
	{ SPW_FILTER_XOR_SHUFFLE, 300, 600 },
};
#define FILTERS (sizeof(filters) / sizeof(filters[0]))

static bool
is_worth(const struct spw_codec_choice *codec, size_t filter)
{
	return codec->speed >= filters[filter].least &&
	       codec->speed <= filters[filter].most &&
	       (codec->columns || filters[filter].id != SPW_FILTER_COLUMNS);
}

static bool
has(const struct spw_ways *ways, const struct spw_choice *way)
{
	for (unsigned i = 0; i < ways->n; i++)
		if (ways->at[i].codec == way->codec &&
		    ways->at[i].level == way->level &&
		    ways->at[i].filter == way->filter)
			return true;
	return false;
}

static void
add(struct spw_ways *ways, const struct spw_codec_choice *codec,
    uint8_t filter)
{
	struct spw_choice way = { .codec = codec->id, .level = codec->level,
				  .filter = filter };

	if (ways->n == SPW_CHOICES_MAX || has(ways, &way))
		return;
	ways->speed[ways->n] = codec->speed;
	ways->at[ways->n++] = way;
}

/* The slowest of the same codec would do; but who pins one wants it. */
static struct spw_codec_choice
pinned(const struct spw_codec_choice *pin)
{
	return (struct spw_codec_choice){
		.id = pin->id, .level = pin->level, .speed = UINT16_MAX,
	};
}

void
spw_ways_fill(struct spw_ways *ways, const struct spw_codec_choice *pins,
	      unsigned n_pins)
{
	const struct spw_codec_choice *codec;

	ways->n = 0;
	add(ways, spw_codec_pool(0), SPW_FILTER_NONE);
	for (unsigned i = 0; i < n_pins; i++)
		for (size_t f = 0; f < FILTERS && pins[i].id; f++) {
			struct spw_codec_choice pin = pinned(&pins[i]);

			add(ways, &pin, filters[f].id);
		}
	for (size_t f = 0; f < FILTERS; f++)
		for (size_t i = 1; (codec = spw_codec_pool(i)); i++)
			if (is_worth(codec, f))
				add(ways, codec, filters[f].id);
}

static bool
is_number(const struct spw_traits *t)
{
	return t->width == 2 || t->width == 4 || t->width == 8;
}

/* Neighbours in a record are no neighbours in value. */
static bool
suits(uint8_t filter, const struct spw_traits *t)
{
	switch (filter) {
	case SPW_FILTER_NONE:
		return true;
	case SPW_FILTER_SHUFFLE:
	case SPW_FILTER_BITSHUFFLE:
		return t->stride > 1 || is_number(t);
	case SPW_FILTER_COLUMNS:
		return t->kind == SPW_DATA_TEXT;
	default:
		return !t->stride && is_number(t);
	}
}

uint64_t
spw_ways_fit(const struct spw_ways *ways, const struct spw_traits *traits)
{
	uint64_t fit = 1;

	for (unsigned i = 1; i < ways->n; i++)
		if (suits(ways->at[i].filter, traits))
			fit |= UINT64_C(1) << i;
	return fit;
}

uint64_t
spw_ways_of(const struct spw_ways *ways, const struct spw_codec_choice *pin)
{
	uint64_t of = 1;

	for (unsigned i = 1; i < ways->n; i++)
		if (ways->at[i].codec == pin->id &&
		    ways->at[i].level == pin->level)
			of |= UINT64_C(1) << i;
	return of;
}

uint64_t
spw_ways_plain(const struct spw_ways *ways)
{
	uint64_t plain = 1;

	for (unsigned i = 1; i < ways->n; i++)
		if (ways->at[i].filter == SPW_FILTER_NONE)
			plain |= UINT64_C(1) << i;
	return plain;
}

/* A difference of swapped bytes is none. */
static uint8_t
filter_for(uint8_t filter, const struct spw_traits *t)
{
	if (t->is_big && filter == SPW_FILTER_DELTA_SHUFFLE)
		return SPW_FILTER_BIG_DELTA_SHUFFLE;
	if (t->is_big && filter == SPW_FILTER_DELTA_BITSHUFFLE)
		return SPW_FILTER_BIG_DELTA_BITSHUFFLE;
	return filter;
}

struct spw_object_pack
spw_ways_pack(const struct spw_choice *way, const struct spw_traits *traits)
{
	struct spw_object_pack pack = {
		.codec = way->codec, .level = way->level,
		.filter = filter_for(way->filter, traits),
	};
	bool whole = way->filter == SPW_FILTER_SHUFFLE ||
		     way->filter == SPW_FILTER_BITSHUFFLE;

	if (way->filter == SPW_FILTER_COLUMNS)
		pack.width = 1;
	else if (way->filter)
		pack.width = whole && traits->stride > 1 ? traits->stride
							 : traits->width;
	return pack;
}
