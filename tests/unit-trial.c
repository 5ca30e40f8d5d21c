/* SPDX-License-Identifier: BSD-3-Clause */
/* unit-trial.c -- a trial tells what packing gives, and took some time */

#include "planner/trial.h"
#include "tests/analyze-data.h"
#include "tiers/codec.h"
#include "tiers/filter.h"

#include <errno.h>
#include <time.h>

enum { PIECE = 16384 };

static uint8_t data[PIECE + 1];
static struct spw_trial trial;

/* What the codec itself makes of it, behind the filter. */
static uint64_t
stored_by(const struct spw_object_pack *pack)
{
	const struct spw_filter_spec filter = { pack->filter, pack->width };
	const struct spw_codec *codec = spw_codec_by_id(pack->codec);
	uint8_t filtered[PIECE], packed[PIECE];
	int64_t r;

	if (filter.id)
		CHECK(!spw_filter_apply(&filter, filtered, data, PIECE));
	r = spw_codec_encode(codec, spw_codec_ctx(codec), pack->level, packed,
			     PIECE - 1, filter.id ? filtered : data, PIECE);
	CHECK(r > 0 || r == -E2BIG);
	return r > 0 ? (uint64_t)r : PIECE;
}

static void
test_way(const struct spw_object_pack *pack, bool unpacks)
{
	struct spw_observed seen;
	bool shrinks = stored_by(pack) < PIECE;

	CHECK(!spw_trial(&trial, pack, data, PIECE, unpacks, &seen));
	CHECK(seen.bytes == PIECE && seen.stored == stored_by(pack));
	CHECK(seen.pack > 0 && !seen.is_sample);
	CHECK((seen.unpack > 0) == (unpacks && shrinks));
	if (shrinks && unpacks)
		CHECK(!memcmp(trial.back, data, PIECE));
}

static void
test_ways(void)
{
	const struct spw_codec_choice *c;

	for (size_t i = 1; (c = spw_codec_pool(i)); i++)
		for (uint8_t f = 0; f < 8; f++) {
			struct spw_object_pack pack = {
				.codec = c->id, .level = c->level, .filter = f,
				.width = f ? 4 : 0,
			};

			if (!spw_codec_by_id(c->id) ||
			    (f && !spw_filter_name(f)))
				continue;
			test_way(&pack, f % 2);
		}
}

static void
test_refused(void)
{
	struct spw_observed seen = { .bytes = 7 };
	struct spw_object_pack pack = { .codec = 250 };

	CHECK(spw_trial(&trial, &pack, data, PIECE, true, &seen) == -ENOTSUP);
	pack = (struct spw_object_pack){ .codec = SPW_CODEC_NONE,
					 .filter = 99, .width = 4 };
	CHECK(spw_trial(&trial, &pack, data, PIECE, true, &seen) == -ENOTSUP);
	pack.filter = 0;
	CHECK(spw_trial(&trial, &pack, data, 1, true, &seen) == -EINVAL);
	CHECK(spw_trial(&trial, &pack, data, SPW_TRIAL_MAX + 1, true, &seen) ==
	      -EINVAL);
	CHECK(seen.bytes == 7);
}

/* It counts what the thread works, not the time that passes. */
static void
test_clock(void)
{
	struct timespec pause = { 0, 300000000 };
	double start = spw_trial_clock();

	nanosleep(&pause, NULL);
	CHECK(spw_trial_clock() - start < 0.3);
	CHECK(spw_trial_clock() >= start);
}

int
main(void)
{
	(void)spw_codec_load(NULL);
	CHECK(!spw_trial_init(&trial));
	data_fill("i32 walk", 5, data, PIECE);
	test_ways();
	data_fill("random", 5, data, PIECE);
	test_ways();
	test_refused();
	test_clock();
	spw_trial_clear(&trial);
	spw_trial_clear(&trial);
	return 0;
}
