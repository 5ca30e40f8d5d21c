/* SPDX-License-Identifier: BSD-3-Clause */
/* bench-predict.c -- how well costs are predicted, on generated data */

/* Every kind of data that the analyzer knows is a stream.  The profile sees
 * one block of another stream of the kind; then the stream itself is tried on
 * a sample, predicted (cold), packed some blocks long with every choice, and
 * predicted again (after feedback).  What was predicted is compared with the
 * next block.
 */

#include "planner/predict.h"
#include "shm/util.h"
#include "tests/analyze-data.h"
#include "tests/clocks.h"
#include "tests/fit.h"
#include "tiers/codec.h"
#include "tiers/filter.h"


enum { BLOCK = 512 << 10, SAMPLE = 4096, SAMPLES = 4, BLOCKS = 4,
       KINDS = ARRAY_LEN(data_classes), MOST = 32 };

static const struct { const char *name; int level; } codecs[] = {
	{ "lz4", 1 }, { "zstd", -1 }, { "zstd", 1 }, { "zstd", 3 },
	{ "brotli", 1 },
};
static const uint8_t filters[] = {
	SPW_FILTER_NONE, SPW_FILTER_SHUFFLE, SPW_FILTER_BITSHUFFLE,
	SPW_FILTER_DELTA_SHUFFLE,
};

static struct spw_choice pool[MOST];
static unsigned n_pool;
static uint8_t *stream, *mixed, *packed, *back;
static size_t packed_room;

static void
make_pool(void)
{
	pool[n_pool++] = (struct spw_choice){ .codec = SPW_CODEC_NONE };
	for (size_t i = 0; i < ARRAY_LEN(codecs); i++) {
		const struct spw_codec *codec =
			spw_codec_by_name(codecs[i].name);

		if (!codec)
			continue;
		packed_room = SPW_MAX(packed_room, codec->bound(BLOCK));
		for (size_t f = 0; f < ARRAY_LEN(filters); f++)
			pool[n_pool++] = (struct spw_choice){
				.codec = codec->id, .filter = filters[f],
				.level = (int16_t)codecs[i].level,
			};
	}
}

/* Numbers of the width that was found, records of the stride. */
static struct spw_filter_spec
filter_for(uint8_t id, const struct spw_traits *t)
{
	uint8_t width = t->width > 1 ? t->width : 4;

	if (t->stride && id != SPW_FILTER_DELTA_SHUFFLE)
		width = t->stride;
	return (struct spw_filter_spec){ id, id ? width : 0 };
}

static struct spw_observed
pack_once(const uint8_t *data, size_t n, unsigned c, const struct spw_traits *t)
{
	const struct spw_codec *codec = spw_codec_by_id(pool[c].codec);
	struct spw_filter_spec f = filter_for(pool[c].filter, t);
	struct spw_observed seen = { .bytes = n };
	void *ctx = spw_codec_ctx(codec);
	const uint8_t *from = f.id ? mixed : data;
	double start = worked();
	int64_t used;

	if (f.id)
		CHECK(!spw_filter_apply(&f, mixed, data, n));
	used = spw_codec_encode(codec, ctx, pool[c].level, packed,
				packed_room, from, n);
	seen.pack = worked() - start;
	CHECK(used > 0);
	seen.stored = (uint64_t)used;
	start = worked();
	CHECK(!spw_codec_decode(codec, ctx, f.id ? mixed : back, n, packed,
				(size_t)used));
	if (f.id)
		CHECK(!spw_filter_undo(&f, back, mixed, n));
	seen.unpack = worked() - start;
	CHECK(!memcmp(back, data, n));
	return seen;
}

/* The best of three: other programs run beside this one. */
static struct spw_observed
pack(const uint8_t *data, size_t n, unsigned c, const struct spw_traits *t)
{
	struct spw_observed best = pack_once(data, n, c, t);

	for (int i = 0; i < 2; i++) {
		struct spw_observed o = pack_once(data, n, c, t);

		best.pack = SPW_MIN(best.pack, o.pack);
		best.unpack = SPW_MIN(best.unpack, o.unpack);
	}
	return best;
}

struct fits { struct fit stored, pack, unpack; };

static void
compare(struct fits *fits, const struct spw_costs *costs, unsigned c,
	const struct spw_observed *seen)
{
	double n = (double)seen->bytes;

	fit_add(&fits->stored, SPW_MIN(1, (double)seen->stored / n),
		costs->stored[c] / SPW_QUANTUM);
	fit_add(&fits->pack, log(n / seen->pack), -log(costs->pack[c]));
	fit_add(&fits->unpack, log(n / seen->unpack), -log(costs->unpack[c]));
}

static void
show(const char *when, const struct fits *fits, double goal)
{
	double stored = fit_of(&fits->stored), put = fit_of(&fits->pack);
	double get = fit_of(&fits->unpack);

	printf("%-28s %8.3f %8.3f %8.3f  >= %-5.2f %s\n", when, stored, put,
	       get, goal, stored >= goal && put >= goal && get >= goal
	       ? "ok" : "MISSED");
}

/* Pieces of whole records spread over the block, together, as the explorer
 * takes them.  Returns their bytes.
 */
static size_t
gather(const struct spw_traits *t, uint8_t *to)
{
	size_t unit = SPW_MAX(t->stride, 8), len = SAMPLE - SAMPLE % unit;

	for (size_t i = 0; i < SAMPLES; i++) {
		size_t at = BLOCK / SAMPLES * i + (BLOCK / SAMPLES - len) / 2;

		memcpy(to + i * len, stream + at - at % unit, len);
	}
	return SAMPLES * len;
}

/* Every third choice on a sample. */
static void
try_samples(struct spw_predictor *p, const struct spw_stream *s,
	    const struct spw_traits *t)
{
	uint8_t sample[SAMPLES * SAMPLE];
	size_t n = gather(t, sample);

	for (unsigned c = 1; c < n_pool; c += 3) {
		struct spw_observed o = pack(sample, n, c, t);

		o.is_sample = true;
		spw_predict_learn(p, s, c, &o);
	}
}

static void
profile(struct spw_predictor *p, unsigned kind)
{
	const struct data_class *k = &data_classes[kind];
	uint64_t seed = 1000 + kind;
	struct spw_traits t;

	k->fill(k, stream, BLOCK, &seed);
	spw_analyze(stream, BLOCK, 1 << 20, NULL, &t);
	for (unsigned c = 1; c < n_pool; c++) {
		struct spw_observed o = pack(stream, BLOCK, c, &t);

		CHECK(!spw_predict_tell(p, &(struct spw_known){
			.traits = spw_traits_key(&t), .choice = pool[c],
			.weight = 4, .pack = BLOCK / o.pack,
			.unpack = BLOCK / o.unpack,
			.fraction = SPW_MIN(2, (double)o.stored / BLOCK),
		}));
	}
	try_samples(p, &(struct spw_stream){ .id = 1000 + kind,
					     .traits = spw_traits_key(&t) },
		    &t);
}

static void
follow(struct spw_predictor *p, unsigned kind, struct fits *cold,
       struct fits *after)
{
	const struct data_class *k = &data_classes[kind];
	uint64_t seed = 2000 + kind;
	struct spw_stream s = { .id = kind };
	struct spw_traits t;

	k->fill(k, stream, (BLOCKS + 1) * BLOCK, &seed);
	spw_analyze(stream, BLOCK, 1 << 20, NULL, &t);
	s.traits = spw_traits_key(&t);
	try_samples(p, &s, &t);
	for (unsigned b = 0; b <= BLOCKS; b++)
		for (unsigned c = 1; c < n_pool; c++) {
			struct spw_observed o =
				pack(stream + b * BLOCK, BLOCK, c, &t);

			if (!b || b == BLOCKS)
				compare(b ? after : cold,
					spw_predict_costs(p, &s), c, &o);
			if (b)			/* cold stays cold */
				spw_predict_learn(p, &s, c, &o);
		}
}

int
main(void)
{
	struct fits cold = { .stored = { 0 } }, after = cold;
	struct spw_predictor *p;

	(void)spw_codec_load(NULL);
	make_pool();
	p = spw_predict_new(pool, n_pool);
	stream = malloc((BLOCKS + 1) * BLOCK);
	mixed = malloc(BLOCK);
	back = malloc(BLOCK);
	packed = malloc(packed_room + 1);
	CHECK(p && stream && mixed && back && packed && n_pool > 1);
	for (unsigned k = 0; k < KINDS; k++)
		profile(p, k);
	for (unsigned k = 0; k < KINDS; k++)
		follow(p, k, &cold, &after);
	printf("R2 of predictions, %u kinds of data, %u choices\n",
	       (unsigned)KINDS, n_pool - 1);
	printf("%-28s %8s %8s %8s  %s\n", "", "stored", "ln pack",
	       "ln unpack", "goal");
	show("cold, profile and samples", &cold, 0.85);
	show("after feedback", &after, 0.96);
	spw_predict_free(p);
	free(stream);
	free(mixed);
	free(back);
	free(packed);
	return 0;
}
