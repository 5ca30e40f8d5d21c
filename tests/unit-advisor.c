/* SPDX-License-Identifier: BSD-3-Clause */
/* unit-advisor.c -- advice fits the data, the tiers and the weights */

/* Trials take the times of trial-made.c, so that no machine is too slow. */

#include "planner/advisor.h"
#include "tests/analyze-data.h"
#include "tests/trial-made.h"

#include <errno.h>
#include <sys/stat.h>

enum { BLOCK = 1 << 20 };

static const struct spw_weights async = { 1, 0, 0 }, archive = { 0, 1, 0 };
static uint8_t *data;
static struct spw_packer *packer;

static void
fill(const char *name, uint64_t seed)
{
	data_fill(name, seed, data, BLOCK);
}

static struct spw_advisor *
advisor(const struct spw_weights *w, const char *seed,
	const struct spw_codec_choice *pin)
{
	struct spw_advisor_setup setup = {
		.seed = seed, .weights = *w, .pins = pin, .n_pins = !!pin,
	};
	struct spw_advisor *a;

	CHECK(!spw_advisor_new(&setup, &a));
	return a;
}

static void
add(struct spw_advisor *a, uint64_t capacity, double bw,
    const struct spw_codec_choice *pin)
{
	CHECK(spw_advisor_add(a, &(struct spw_monitored){
		.capacity = capacity, .write_bw = bw, .read_bw = bw,
		.latency = 1e-4, .choices = spw_advisor_choices(a, pin, false),
	}) >= 0);
}

static void
add_home(struct spw_advisor *a, double bw)
{
	add(a, UINT64_MAX, bw, &(struct spw_codec_choice){ .id = 0 });
}

static struct spw_advice
ask(struct spw_advisor *a, uint64_t stream)
{
	struct spw_advice advice;
	uint64_t sum = 0;

	CHECK(!spw_advisor_ask(a, stream, data, BLOCK, BLOCK, NULL,
			       SPW_ADVISOR_TIERS, &advice));
	for (unsigned i = 0; i < advice.n; i++) {
		CHECK(i + 1 == advice.n ||
		      advice.piece[i].bytes % SPW_QUANTUM == 0);
		sum += advice.piece[i].bytes;
	}
	CHECK(sum == BLOCK);
	return advice;
}

/* Bytes stored of a piece at the start of the data, and they come back. */
static uint64_t
store(const struct spw_advised *piece)
{
	struct spw_object o = { .length = piece->bytes, .cut = UINT64_MAX };
	size_t room = spw_object_bound(0, BLOCK), need;
	uint8_t *object = aligned_alloc(64, (room + 63) / 64 * 64);
	struct spw_object_part part;
	uint8_t *back = malloc(BLOCK);
	uint64_t bad, payload;
	int64_t n;

	CHECK(object && back);
	n = spw_object_encode(packer, &o, &piece->pack, object, room, data);
	CHECK(n > 0 && !spw_object_parse(object, (size_t)n, &o, &need));
	spw_object_part(&o, 0, o.length, &part);
	CHECK(!spw_object_decode(packer, &o, &part, object + part.at, back,
				 &bad));
	CHECK(!memcmp(back, data, piece->bytes));
	payload = (uint64_t)n - o.payload_at;
	free(object);
	free(back);
	return payload;
}

/* Every kind of data can be packed as advised; what saves is packed, noise
 * is not, and what is stored is about what was expected.
 */
static void
test_kinds(void)
{
	struct spw_advisor *a = advisor(&async, NULL, NULL);

	add(a, UINT64_MAX, 2e6, NULL);
	for (size_t i = 0; i < ARRAY_LEN(data_classes); i++) {
		const struct data_class *c = &data_classes[i];
		struct spw_advice advice;
		uint64_t seed = i, stored;
		double off;

		c->fill(c, data, BLOCK, &seed);
		advice = ask(a, i);
		CHECK(advice.n == 1 && advice.piece[0].tier == 0);
		stored = store(&advice.piece[0]);
		off = ((double)stored - (double)advice.piece[0].expected.stored)
		      / BLOCK;
		printf("%-16s codec %u level %3d filter %u width %2u: "
		       "stored %5.1f %%, off by %+.1f\n", c->name,
		       advice.piece[0].pack.codec, advice.piece[0].pack.level,
		       advice.piece[0].pack.filter, advice.piece[0].pack.width,
		       100.0 * (double)stored / BLOCK, 100 * off);
		CHECK(fabs(off) < 0.1);
		CHECK((c->want.kind == SPW_DATA_PACKED) ==
		      !advice.piece[0].choice);
	}
	spw_advisor_free(a);
}

/* What shrinks to nothing is packed in the time that a trial would take, so
 * there is none; and what stores least there is known.
 */
static void
test_zeros(void)
{
	struct spw_advisor *a = advisor(&async, NULL, NULL);
	struct spw_advice advice;
	uint64_t stored;

	if (!spw_codec_by_id(SPW_CODEC_ZSTD)) {
		spw_advisor_free(a);
		return;
	}
	CHECK(!spw_advisor_add(a, &(struct spw_monitored){
		.capacity = UINT64_MAX, .write_bw = 60e6, .read_bw = 60e6,
		.choices = SPW_CHOICES_ALL,
	}));
	fill("zeros", 1);
	advice = ask(a, 1);
	stored = store(&advice.piece[0]);
	CHECK(!advice.tried);
	printf("zeros: codec %u stores %llu bytes\n",
	       advice.piece[0].pack.codec, (unsigned long long)stored);
	CHECK(stored < 2048);		/* lz4: 4200 */
	spw_advisor_free(a);
}

/* Trials are for the first of a class; later ones know. */
static void
test_trials(void)
{
	struct spw_advisor *a = advisor(&async, NULL, NULL);
	struct spw_advice advice;
	unsigned tried = 0;

	add(a, UINT64_MAX, 20e6, NULL);
	fill("f64 field", 1);
	CHECK(ask(a, 1).tried);
	for (int i = 0; i < 200; i++)
		tried += ask(a, 1).tried;
	CHECK(tried > 0 && tried < 5);
	advice = ask(a, 2);
	CHECK(!advice.tried && advice.piece[0].choice);
	spw_advisor_free(a);
}

/* Blocks of a field may look like various distributions, but pack alike: one
 * sample of each class is enough to know that.
 */
static void
test_alike(void)
{
	enum { BLOCKS = 8 };
	struct spw_advisor *a = advisor(&async, NULL, NULL);
	uint8_t *field = malloc((size_t)BLOCKS * BLOCK);
	uint64_t classes[BLOCKS];
	unsigned n = 0, way = 0;

	CHECK(field);
	data_fill("f32 field", 80, field, (size_t)BLOCKS * BLOCK);
	add(a, UINT64_MAX, 100e6, NULL);
	for (unsigned i = 0, k; i < BLOCKS; i++) {
		unsigned trials = made_trials;
		struct spw_advice advice;

		memcpy(data, field + (size_t)i * BLOCK, BLOCK);
		advice = ask(a, 1);
		for (k = 0; k < n && classes[k] != advice.stream.traits; k++)
			;
		if (k < n)
			continue;
		classes[n++] = advice.stream.traits;
		if (n == 1)
			way = advice.piece[0].choice;
		CHECK(n == 1 || made_trials == trials + 1);
		CHECK(advice.piece[0].choice == way);
	}
	printf("a field of %u classes\n", n);
	CHECK(n > 1);
	free(field);
	spw_advisor_free(a);
}

/* Noise in the middle does not hide what can be made of the rest. */
static void
test_mixed(void)
{
	struct spw_advisor *a = advisor(&async, NULL, NULL);
	uint8_t *middle = malloc(BLOCK / 4);

	add(a, UINT64_MAX, 20e6, NULL);
	fill("random", 1);
	CHECK(middle);
	memcpy(middle, data, BLOCK / 4);
	fill("table", 1);
	memcpy(data + BLOCK / 8 * 3, middle, BLOCK / 4);
	CHECK(ask(a, 1).piece[0].choice);
	free(middle);
	spw_advisor_free(a);
}

/* A tier is slower than it was said to be: what was not worth a trial is. */
static void
test_slower(void)
{
	struct spw_advisor *knew = advisor(&async, NULL, NULL);
	struct spw_advisor *a = advisor(&async, NULL, NULL);
	const int64_t ms = 1000000;
	uint64_t want, stored;

	add(knew, UINT64_MAX, 10e6, NULL);
	add(a, UINT64_MAX, 2e9, NULL);
	fill("table", 1);
	want = ask(knew, 1).piece[0].expected.stored;
	CHECK(ask(a, 1).piece[0].expected.stored > want * 5 / 4);
	for (int64_t i = 1; i <= 8; i++)
		spw_monitor_done(spw_advisor_monitor(a), 0, SPW_MONITOR_WRITE,
				 BLOCK, i * 1000 * ms, (i * 1000 + 105) * ms,
				 0);
	stored = ask(a, 1).piece[0].expected.stored;
	printf("on a slow tier %ju, known before %ju\n", (uintmax_t)stored,
	       (uintmax_t)want);
	CHECK(stored <= want * 21 / 20);
	spw_advisor_free(knew);
	spw_advisor_free(a);
}

/* A fast tier is not worth packing for, a slow one is; home takes raw. */
static void
test_tiers(void)
{
	struct spw_advisor *a = advisor(&async, NULL, NULL);
	struct spw_advice advice;

	add(a, UINT64_MAX, 50e9, NULL);
	add(a, UINT64_MAX, 10e6, NULL);
	add_home(a, 5e6);
	fill("table", 1);
	advice = ask(a, 1);
	CHECK(advice.n == 1 && !advice.piece[0].tier);
	CHECK(!advice.piece[0].choice);
	CHECK(!spw_advisor_ask(a, 1, data, BLOCK, 0, NULL, 2, &advice));
	CHECK(advice.piece[0].tier == 1 && advice.piece[0].choice);
	CHECK(!spw_advisor_ask(a, 1, data, BLOCK, 0, NULL, 4, &advice));
	CHECK(advice.piece[0].tier == 2 && !advice.piece[0].choice);
	CHECK(spw_advisor_ask(a, 1, data, BLOCK, 0, NULL, 0, &advice) ==
	      -ENOSPC);
	CHECK(spw_advisor_ask(a, 1, data, 0, 0, NULL, 7, &advice) == -EINVAL);
	spw_advisor_free(a);
}

/* What does not fit into a tier goes on to the next. */
static void
test_split(void)
{
	struct spw_advisor *a = advisor(&async, NULL, NULL);
	struct spw_advice advice;

	add(a, BLOCK / 4, 1e9, NULL);
	add(a, BLOCK / 4, 5e8, NULL);
	add_home(a, 1e6);
	fill("random", 1);
	advice = ask(a, 1);
	CHECK(advice.n == 3);
	spw_monitor_hold(spw_advisor_monitor(a), 0, BLOCK / 4);
	advice = ask(a, 1);
	CHECK(advice.n == 2 && advice.piece[0].tier == 1);
	spw_advisor_free(a);
}

/* Nor do trials of the second best, which are due now and then, need a plan. */
static void
test_full(void)
{
	struct spw_advisor *a = advisor(&async, NULL, NULL);
	struct spw_advice advice;

	add(a, BLOCK * 2, 50e6, NULL);
	fill("f32 field", 1);
	(void)ask(a, 1);
	spw_monitor_hold(spw_advisor_monitor(a), 0, BLOCK * 2);
	for (int i = 0; i < 20; i++)
		CHECK(spw_advisor_ask(a, 1, data, BLOCK, BLOCK, NULL,
				      SPW_ADVISOR_TIERS, &advice) == -ENOSPC);
	spw_advisor_free(a);
}

static void
test_share_of(const char *name, double bw)
{
	struct spw_advisor *a = advisor(&async, NULL, NULL);
	double start = spw_trial_clock(), took, all;
	struct spw_advice advice;

	add(a, UINT64_MAX, bw, NULL);
	fill(name, 1);
	advice = ask(a, 1);
	took = spw_trial_clock() - start;
	all = 64 * (advice.piece[0].expected.pack +
		    advice.piece[0].expected.write);
	printf("%s at %.0f MB/s: %.0f us for the first answer, 64 MiB of it "
	       "take %.0f\n", name, bw / 1e6, 1e6 * took, 1e6 * all);
	CHECK(took < 0.01 * all);
	spw_advisor_free(a);
}

/* Trials take a share of the time that data like this takes, so that where a
 * tier is quick, there are few; what is the same all over needs two.
 */
static void
test_share(void)
{
	static const char *const names[] = { "zeros", "i32 walk", "table",
					     "f32 field" };
	static const double bw[] = { 20e6, 300e6, 1500e6, 4000e6 };

	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		for (size_t k = 0; k < ARRAY_LEN(bw); k++)
			test_share_of(names[i], bw[k]);
}

/* A pinned tier takes its codec or nothing, also a level that nobody else
 * would choose.
 */
static void
test_pin(void)
{
	const struct spw_codec_choice pin = { .id = SPW_CODEC_ZSTD, .level = 7 };
	struct spw_advisor *a = advisor(&async, NULL, &pin);
	struct spw_advice advice;

	if (!spw_codec_by_id(SPW_CODEC_ZSTD)) {
		spw_advisor_free(a);
		return;
	}
	add(a, UINT64_MAX, 1e6, &pin);
	fill("table", 1);
	advice = ask(a, 1);
	CHECK(advice.piece[0].pack.codec == SPW_CODEC_ZSTD);
	CHECK(advice.piece[0].pack.level == 7);
	fill("random", 1);
	CHECK(!ask(a, 2).piece[0].choice);
	spw_advisor_free(a);
}

/* A tier without filters packs numbers as they are, pinned or not. */
static void
test_plain(void)
{
	const struct spw_codec_choice pin = { .id = SPW_CODEC_LZ4, .level = 1 };

	for (int pinned = 0; pinned < 2; pinned++) {
		struct spw_advisor *a =
			advisor(&async, NULL, pinned ? &pin : NULL);
		struct spw_advice advice;

		CHECK(spw_advisor_add(a, &(struct spw_monitored){
			.capacity = UINT64_MAX, .write_bw = 1e6,
			.read_bw = 1e6, .choices = spw_advisor_choices(
				a, pinned ? &pin : NULL, true),
		}) >= 0);
		fill("i64 clock", 1);
		advice = ask(a, 1);
		CHECK(!advice.piece[0].pack.filter);
		CHECK(pinned || advice.piece[0].choice);
		spw_advisor_free(a);
	}
}

/* Who wants space gets it, from the next question on. */
static void
test_weights(void)
{
	struct spw_advisor *a = advisor(&async, NULL, NULL);
	uint64_t quick, small;

	add(a, UINT64_MAX, 800e6, NULL);	/* raw is best by far */
	fill("table", 1);
	quick = ask(a, 1).piece[0].expected.stored;
	spw_advisor_weigh(a, &archive);
	small = ask(a, 1).piece[0].expected.stored;
	spw_advisor_weigh(a, &async);
	CHECK(ask(a, 1).piece[0].expected.stored == quick);
	spw_advisor_free(a);
	a = advisor(&archive, NULL, NULL);
	add(a, UINT64_MAX, 200e6, NULL);
	CHECK(ask(a, 1).piece[0].expected.stored <= small);
	printf("async stores %ju, archive %ju\n", (uintmax_t)quick,
	       (uintmax_t)small);
	CHECK(small < quick);
	spw_advisor_free(a);
}

/* What turns out badly is not advised again. */
static void
test_learn(void)
{
	struct spw_advisor *a = advisor(&async, NULL, NULL);
	struct spw_advice first, then;

	add(a, UINT64_MAX, 50e6, NULL);
	fill("table", 1);
	first = ask(a, 1);
	for (int i = 0; i < 8; i++)
		spw_advisor_learn(a, &first, 0, &(struct spw_observed){
			.bytes = BLOCK, .stored = BLOCK, .pack = 1,
		});
	then = ask(a, 1);
	CHECK(first.piece[0].choice);
	CHECK(then.piece[0].choice != first.piece[0].choice);
	spw_advisor_free(a);
}

static void
write_text(const char *path, const char *text)
{
	FILE *f = fopen(path, "w");

	CHECK(f && fputs(text, f) >= 0 && !fclose(f));
}

/* What was learned outlives the advisor; a damaged seed is said once, and
 * made anew.
 */
static void
test_seed(void)
{
	char dir[] = "unit-advisor.XXXXXX", path[64], lock[80];
	char damaged[80];
	struct spw_seed_note note;
	struct spw_advisor *a;
	struct spw_advice advice;

	CHECK(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/seed.json", dir);
	snprintf(lock, sizeof(lock), "%s.lock", path);
	snprintf(damaged, sizeof(damaged), "%s.damaged", path);
	write_text(path, "{ \"spillway-seed\": ");
	a = advisor(&async, path, NULL);
	CHECK(spw_advisor_note(a, 0) && strstr(spw_advisor_note(a, 0), path));
	add(a, UINT64_MAX, 20e6, NULL);
	fill("f32 field", 1);
	advice = ask(a, 1);
	spw_advisor_learn(a, &advice, 0, &(struct spw_observed){
		.bytes = BLOCK, .stored = advice.piece[0].expected.stored,
		.pack = advice.piece[0].expected.pack,
	});
	CHECK(advice.tried && advice.piece[0].choice);
	if (spw_advisor_save(a, &note) == -EOPNOTSUPP)
		printf("no JSON in this build\n");
	else {
		CHECK(!note.text[0]);
		spw_advisor_free(a);
		a = advisor(&async, path, NULL);
		CHECK(!spw_advisor_note(a, 0));
		add(a, UINT64_MAX, 20e6, NULL);
		CHECK(!ask(a, 9).tried);
		CHECK(ask(a, 9).piece[0].choice);
	}
	spw_advisor_free(a);
	CHECK(!unlink(path));
	(void)unlink(lock);
	(void)unlink(damaged);		/* there if the build has JSON */
	CHECK(!rmdir(dir));
}

int
main(void)
{
	if (spw_codec_load(NULL) == 1) {
		puts("no codec but none in this build");
		return 77;
	}
	data = malloc(BLOCK);
	CHECK(data && !spw_packer_new(&packer));
	test_kinds();
	test_zeros();
	test_trials();
	test_alike();
	test_mixed();
	test_slower();
	test_tiers();
	test_split();
	test_full();
	test_share();
	test_pin();
	test_plain();
	test_weights();
	test_learn();
	test_seed();
	spw_packer_free(packer);
	free(data);
	spw_advisor_free(NULL);
	return 0;
}
