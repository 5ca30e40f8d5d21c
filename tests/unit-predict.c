/* SPDX-License-Identifier: BSD-3-Clause */
/* unit-predict.c -- costs are predicted well, and learned despite outliers */

#include "planner/predict.h"
#include "shm/sanitized.h"
#include "tests/clocks.h"
#include "tests/fit.h"
#include "tests/guarded.h"

#include <errno.h>
#include <math.h>
#include <string.h>

/* A made-up world: classes of streams, in which every choice has its speeds
 * and its fraction; streams differ from their class, blocks from their
 * stream.
 */
enum { CLASSES = 8, CHOICES = 12, STREAMS = 160, BLOCKS = 24,
       BLOCK = 1 << 20, SAMPLE = 16384 };

struct figures { double pack, unpack, stored; };	/* s a byte; fraction */

static struct spw_choice pool[CHOICES];
static struct figures class_is[CLASSES][CHOICES];
static struct figures stream_is[STREAMS][CHOICES];
static uint64_t state = 11;

static double
uniform(double lo, double hi)
{
	return lo + (hi - lo) * (double)(draw(&state) >> 11) * 0x1p-53;
}

static double
normal(double sigma)
{
	double sum = -6;

	for (int i = 0; i < 12; i++)
		sum += uniform(0, 1);
	return sigma * sum;
}

static struct spw_stream
stream_of(unsigned i)
{
	return (struct spw_stream){ .id = 1000 + i, .traits = i % CLASSES };
}

static void
make_world(void)
{
	double reading[CHOICES];

	for (unsigned c = 0; c < CHOICES; c++)
		pool[c] = (struct spw_choice){ .codec = (uint8_t)c,
					       .level = (int16_t)(c - 3) };
	for (unsigned c = 1; c < CHOICES; c++)
		reading[c] = exp(uniform(-1.5, 1.5)) * 1e-9;
	for (unsigned t = 0; t < CLASSES; t++) {
		double yields = uniform(0.05, 1);

		for (unsigned c = 1; c < CHOICES; c++) {
			double effort = (double)c / CHOICES;

			class_is[t][c] = (struct figures){
				exp(normal(0.4)) * 1e-9 * exp(5 * effort),
				exp(normal(0.3)) * reading[c],
				1 - yields * (0.3 + 0.6 * effort),
			};
		}
	}
	for (unsigned i = 0; i < STREAMS; i++) {
		double far = normal(0.2), speed = normal(0.2);

		for (unsigned c = 1; c < CHOICES; c++) {
			struct figures f = class_is[i % CLASSES][c];

			f.pack *= exp(speed + normal(0.15));
			f.unpack *= exp(speed + normal(0.15));
			f.stored *= exp(far + normal(0.08));
			f.stored = fmin(f.stored, 1);
			stream_is[i][c] = f;
		}
	}
}

/* A block as it is measured; `odd`: the machine was busy with others. */
static struct spw_observed
block_of(unsigned i, unsigned c, bool odd)
{
	const struct figures *f = &stream_is[i][c];
	double slow = odd ? uniform(5, 50) : 1;

	return (struct spw_observed){
		.bytes = BLOCK,
		.stored = (uint64_t)(BLOCK * f->stored * exp(normal(0.03))),
		.pack = BLOCK * f->pack * exp(normal(0.1)) * slow,
		.unpack = BLOCK * f->unpack * exp(normal(0.1)) * slow,
	};
}

/* Samples are slower and pack less well, all in the same way. */
static struct spw_observed
sample_of(unsigned i, unsigned c)
{
	const struct figures *f = &stream_is[i][c];

	return (struct spw_observed){
		.bytes = SAMPLE, .is_sample = true,
		.stored = (uint64_t)(SAMPLE * fmin(1, f->stored * 1.15 *
						   exp(normal(0.08)))),
		.pack = SAMPLE * f->pack * 1.4 * exp(normal(0.2)),
		.unpack = SAMPLE * f->unpack * 1.4 * exp(normal(0.2)),
	};
}

/* How well all streams from `from` on are known.  Speeds in bytes/s. */
static void
judge(struct spw_predictor *p, const char *when, unsigned from, double goal)
{
	struct fit pack = { 0 }, unpack = { 0 }, stored = { 0 };

	for (unsigned i = from; i < STREAMS; i++) {
		struct spw_stream s = stream_of(i);
		const struct spw_costs *costs = spw_predict_costs(p, &s);

		for (unsigned c = 1; c < CHOICES; c++) {
			const struct figures *f = &stream_is[i][c];

			fit_add(&pack, 1 / f->pack, 1 / costs->pack[c]);
			fit_add(&unpack, 1 / f->unpack, 1 / costs->unpack[c]);
			fit_add(&stored, f->stored, costs->stored[c] / 4096);
		}
	}
	printf("%-16s R2 of stored %.3f, pack %.3f, unpack %.3f\n", when,
	       fit_of(&stored), fit_of(&pack), fit_of(&unpack));
	CHECK(fit_of(&stored) >= goal && fit_of(&pack) >= goal);
	CHECK(fit_of(&unpack) >= goal);
}

static struct spw_predictor *
profiled(void)
{
	struct spw_predictor *p = spw_predict_new(pool, CHOICES);

	CHECK(p);
	for (unsigned t = 0; t < CLASSES; t++)
		for (unsigned c = 1; c < CHOICES; c++) {
			const struct figures *f = &class_is[t][c];

			CHECK(!spw_predict_tell(p, &(struct spw_known){
				.traits = t, .choice = pool[c], .weight = 4,
				.pack = exp(normal(0.1)) / f->pack,
				.unpack = exp(normal(0.1)) / f->unpack,
				.fraction = f->stored,
			}));
		}
	return p;
}

/* The first half of the streams comes and goes; each of the rest is tried
 * on samples and then seen for the first time.
 */
static void
test_fit(void)
{
	struct spw_predictor *p = profiled();

	for (unsigned i = 0; i < STREAMS / 2; i++) {
		struct spw_stream s = stream_of(i);

		for (unsigned k = 0; k < BLOCKS; k++) {
			unsigned c = 1 + (unsigned)(draw(&state) %
						    (CHOICES - 1));
			struct spw_observed o = sample_of(i, c);

			if (k < 4)
				spw_predict_learn(p, &s, c, &o);
			o = block_of(i, c, draw(&state) % 50 == 0);
			spw_predict_learn(p, &s, c, &o);
		}
	}
	for (unsigned i = STREAMS / 2; i < STREAMS; i++)
		for (unsigned c = 1; c < CHOICES; c += 2) {
			struct spw_stream s = stream_of(i);
			struct spw_observed o = sample_of(i, c);

			spw_predict_learn(p, &s, c, &o);
		}
	judge(p, "cold", STREAMS / 2, 0.85);
	for (unsigned i = STREAMS / 2; i < STREAMS; i++)
		for (unsigned k = 0; k < 5 * (CHOICES - 1); k++) {
			struct spw_stream s = stream_of(i);
			unsigned c = 1 + k % (CHOICES - 1);
			struct spw_observed o =
				block_of(i, c, draw(&state) % 50 == 0);

			spw_predict_learn(p, &s, c, &o);
		}
	judge(p, "after feedback", STREAMS / 2, 0.96);
	spw_predict_free(p);
}

static double
off_by(double a, double b)
{
	return fabs(log(a / b));
}

/* One block in eight is ten times as slow; the figures stay. */
static void
test_outliers(void)
{
	struct spw_predictor *p = profiled();
	struct spw_stream s = stream_of(3);
	double worst = 0;

	for (unsigned k = 0; k < 400; k++) {
		struct spw_observed o = block_of(3, 5, k % 8 == 7);

		spw_predict_learn(p, &s, 5, &o);
		if (k > 16)
			worst = fmax(worst,
				     off_by(spw_predict_costs(p, &s)->pack[5],
					    stream_is[3][5].pack));
	}
	printf("outliers: at most %.0f %% off\n", 100 * expm1(worst));
	CHECK(worst < log(1.3));
	spw_predict_free(p);
}

/* The data changes for good: that is learned within some blocks. */
static void
test_change(void)
{
	struct spw_predictor *p = profiled();
	struct spw_stream s = stream_of(3);
	unsigned took = 0;

	for (unsigned k = 0; k < 50; k++) {
		struct spw_observed o = block_of(3, 5, false);

		o.stored = BLOCK / 2;
		spw_predict_learn(p, &s, 5, &o);
	}
	CHECK(off_by(spw_predict_costs(p, &s)->stored[5], 2048) < 0.05);
	while (off_by(spw_predict_costs(p, &s)->stored[5], 410) > 0.15) {
		struct spw_observed o = block_of(3, 5, false);

		o.stored = BLOCK / 10;
		spw_predict_learn(p, &s, 5, &o);
		CHECK(++took < 8);
	}
	CHECK(took >= 2);			/* not at the first */
	spw_predict_free(p);
}

/* What one choice shows is expected of the others; costs change their
 * version when they change, and only then.
 */
static void
test_stream(void)
{
	struct spw_predictor *p = profiled();
	struct spw_stream s = stream_of(0), other = { .id = 77, .traits = 99 };
	const struct spw_costs *costs = spw_predict_costs(p, &s);
	uint64_t version = costs->version;
	double before = costs->stored[9];
	struct spw_observed o = {
		.bytes = BLOCK, .pack = 1e-3, .unpack = 1e-3,
		.stored = (uint64_t)(BLOCK * class_is[0][5].stored / 2),
	};

	CHECK(costs->n == CHOICES && costs->stored[0] == 4096);
	CHECK(costs->pack[0] == 0);
	spw_predict_learn(p, &s, 5, &o);
	CHECK(spw_predict_costs(p, &s) == costs && costs->version != version);
	CHECK(costs->stored[9] < 0.8 * before);
	for (int i = 0; i < 200; i++)
		spw_predict_learn(p, &s, 5, &o);
	version = costs->version;
	for (int i = 0; i < 1000; i++)
		spw_predict_learn(p, &s, 5, &o);
	CHECK(costs->version == version);
	CHECK(spw_predict_evidence(p, &s, 5) > 10);
	CHECK(spw_predict_evidence(p, &s, 9) == 0);

	spw_predict_remove(p, 5);
	CHECK(isinf(costs->pack[5]) && costs->version != version);
	/* an unknown class leans on the others for times, once it was seen
	 * what it stores; an unknown pool on nothing */
	costs = spw_predict_costs(p, &other);
	CHECK(isinf(costs->pack[4]) && isinf(costs->pack[5]));
	o.is_sample = true;
	o.pack = o.unpack = 0;
	spw_predict_learn(p, &other, 4, &o);
	CHECK(isfinite(costs->pack[4]) && isfinite(costs->unpack[4]));
	CHECK(off_by(costs->stored[4], 4096.0 * o.stored / BLOCK) < 0.2);
	CHECK(isinf(costs->pack[3]));
	/* so does the next stream of that class */
	other.id++;
	costs = spw_predict_costs(p, &other);
	CHECK(isfinite(costs->pack[4]) && isinf(costs->pack[3]));
	o.is_sample = false;
	o.pack = o.unpack = 1e-3;
	spw_predict_free(p);
	p = spw_predict_new(pool, CHOICES);
	CHECK(p && isinf(spw_predict_costs(p, &s)->pack[4]));
	spw_predict_learn(p, &s, 4, &o);
	CHECK(off_by(spw_predict_costs(p, &s)->pack[4], 1e-3 / BLOCK) < 0.01);
	spw_predict_free(p);
}

/* Samples were not like the rest of their block, which one choice shows: then
 * others cannot store as little as the samples said either.
 */
static void
test_blame(void)
{
	struct spw_predictor *p = spw_predict_new(pool, CHOICES);
	const struct spw_stream s = { 1, 77 };
	const struct spw_costs *costs;
	struct spw_observed o = { .bytes = SAMPLE, .is_sample = true,
				  .pack = 1e-5 };

	o.stored = SAMPLE / 2;
	spw_predict_learn(p, &s, 2, &o);
	o.stored = SAMPLE / 10 * 6;
	spw_predict_learn(p, &s, 3, &o);
	o.stored = SAMPLE;
	spw_predict_learn(p, &s, 4, &o);
	costs = spw_predict_costs(p, &s);
	CHECK(off_by(costs->stored[3], 0.6 * 4096) < 0.02);
	o = (struct spw_observed){ .bytes = BLOCK, .stored = BLOCK / 4 * 3,
				   .pack = 1e-3 };
	spw_predict_learn(p, &s, 2, &o);
	costs = spw_predict_costs(p, &s);
	CHECK(off_by(costs->stored[2], 0.75 * 4096) < 0.02);
	CHECK(costs->stored[3] > 0.72 * 4096 && costs->stored[3] < 4096);
	CHECK(costs->stored[4] == 4096);
	spw_predict_free(p);
}

static int
check_news(const struct spw_known *known, void *arg)
{
	CHECK(off_by(known->pack, BLOCK / 1e-3) < 0.01);
	(*(int *)arg)++;
	return 0;
}

/* A sample takes three times as long, byte by byte, as the block that follows:
 * all that the class tells others, and the seed, is of the block.
 */
static void
test_guess(void)
{
	struct spw_predictor *p = spw_predict_new(pool, CHOICES);
	const struct spw_stream s = { 1, 77 }, other = { 2, 77 };
	struct spw_observed o = { .bytes = SAMPLE, .is_sample = true,
				  .stored = SAMPLE / 2,
				  .pack = 3e-3 * SAMPLE / BLOCK };
	int told = 0;

	spw_predict_learn(p, &s, 2, &o);
	o = (struct spw_observed){ .bytes = BLOCK, .stored = BLOCK / 2,
				   .pack = 1e-3 };
	spw_predict_learn(p, &s, 2, &o);
	CHECK(off_by(spw_predict_costs(p, &other)->pack[2], 1e-3 / BLOCK) <
	      0.15);
	CHECK(!spw_predict_learned(p, check_news, &told) && told == 1);
	spw_predict_free(p);
}

/* A file that gets easier to pack does so for choices that were seen long ago,
 * too; but what stays whole does not.
 */
static void
test_tide(void)
{
	struct spw_predictor *p = spw_predict_new(pool, CHOICES);
	const struct spw_stream s = { 5, 77 };
	struct spw_observed o = { .bytes = 1 << 20, .pack = 1e-3 };
	const struct spw_costs *costs;

	CHECK(p);
	o.stored = o.bytes / 10 * 7;
	spw_predict_learn(p, &s, 5, &o);
	spw_predict_learn(p, &s, 6, &o);
	o.stored = o.bytes;
	spw_predict_learn(p, &s, 7, &o);
	o.stored = o.bytes / 10 * 3;
	for (int i = 0; i < 12; i++)
		spw_predict_learn(p, &s, 5, &o);
	costs = spw_predict_costs(p, &s);
	printf("easier: %.0f, seen long ago %.0f, whole %.0f\n",
	       costs->stored[5], costs->stored[6], costs->stored[7]);
	CHECK(costs->stored[6] < 0.4 * SPW_QUANTUM);
	CHECK(costs->stored[7] > 0.97 * SPW_QUANTUM);
	o.stored = o.bytes / 10 * 7;
	for (int i = 0; i < 12; i++)
		spw_predict_learn(p, &s, 5, &o);
	CHECK(fabs(spw_predict_costs(p, &s)->stored[6] - 0.7 * SPW_QUANTUM) <
	      0.1 * SPW_QUANTUM);
	spw_predict_free(p);
}

/* Of a class that shrinks and takes its time, a stream that does not shrink: it
 * takes what others take that do not, whatever a short sample took.
 */
static void
test_whole(void)
{
	struct spw_predictor *p = spw_predict_new(pool, CHOICES);
	const struct spw_stream s = { 1, 78 };
	const struct spw_observed sample = {
		.bytes = SAMPLE, .stored = SAMPLE, .is_sample = true,
		.pack = SAMPLE / 400e6, .unpack = SAMPLE / 900e6,
	};
	struct spw_known k = {
		.traits = 77, .choice = pool[1], .weight = 4,
		.pack = 10e9, .unpack = 12e9, .fraction = 1,
	};
	const struct spw_costs *costs;

	CHECK(p && !spw_predict_tell(p, &k));
	k = (struct spw_known){
		.traits = 78, .choice = pool[1], .weight = 4,
		.pack = 300e6, .unpack = 800e6, .fraction = 0.7,
	};
	CHECK(!spw_predict_tell(p, &k));
	costs = spw_predict_costs(p, &s);
	CHECK(costs->pack[1] > 1 / 400e6);
	for (int i = 0; i < 3; i++)
		spw_predict_learn(p, &s, 1, &sample);
	costs = spw_predict_costs(p, &s);
	printf("what does not shrink: %.1f and %.1f GB/s\n",
	       1e-9 / costs->pack[1], 1e-9 / costs->unpack[1]);
	CHECK(costs->pack[1] < 1 / 7e9 && costs->unpack[1] < 1 / 7e9);
	spw_predict_free(p);
}

/* Nonsense neither enters nor hurts; memory is bounded. */
static void
test_nonsense(void)
{
	struct spw_predictor *p = spw_predict_new(pool, CHOICES);
	struct spw_known k = { .traits = 1, .choice = pool[2], .weight = 1,
			       .pack = 1e9, .unpack = 1e9, .fraction = 0.5 };
	struct spw_known bad[8];
	struct spw_stream s = { .id = 1, .traits = 1 };
	struct spw_observed o = { .bytes = 0, .stored = 9, .pack = NAN };

	for (int i = 0; i < 8; i++)
		bad[i] = k;
	bad[0].weight = 0;
	bad[1].weight = NAN;
	bad[2].pack = -1;
	bad[3].unpack = INFINITY;
	bad[4].fraction = 0;
	bad[5].fraction = NAN;
	bad[6].pack = 1e-300;
	bad[7].fraction = 3;
	for (int i = 0; i < 8; i++)
		CHECK(spw_predict_tell(p, &bad[i]) == -EINVAL);
	bad[0] = k;
	bad[0].choice.level = 99;
	CHECK(spw_predict_tell(p, &bad[0]) == -ENOENT);
	spw_predict_learn(p, &s, 2, &o);
	o = (struct spw_observed){ .bytes = 1, .stored = UINT64_MAX,
				   .pack = NAN, .unpack = INFINITY };
	spw_predict_learn(p, &s, 2, &o);
	spw_predict_learn(p, &s, CHOICES, &o);
	spw_predict_learn(p, &s, 0, &o);
	CHECK(isinf(spw_predict_costs(p, &s)->pack[2]));
	for (k.traits = 0; k.traits < 254; k.traits++)
		CHECK(!spw_predict_tell(p, &k));
	for (; k.traits < 1000; k.traits++)
		CHECK(spw_predict_tell(p, &k) == -ENOSPC || k.traits == 254);
	for (s.id = 0; s.id < 100000; s.id += 7) {
		s.traits = (uint32_t)s.id % 3000;
		CHECK(isfinite(spw_predict_costs(p, &s)->pack[2]));
	}
	CHECK(!spw_predict_new(pool, 0));
	CHECK(!spw_predict_new(pool, SPW_CHOICES_MAX + 1));
	spw_predict_free(p);
	spw_predict_free(NULL);
}

#ifdef SPW_WITH_TSAN
enum { RATE = 50000 };			/* whatever else the machine does */
#else
enum { RATE = 200000 };			/* ten times what HCompress has */
#endif

static void
test_rate(void)
{
	enum { EVENTS = 100000 };
	struct spw_predictor *p = profiled();
	static struct spw_observed o[1024];
	double start;

	for (unsigned i = 0; i < 1024; i++)
		o[i] = block_of(i % STREAMS, 1 + i % (CHOICES - 1), false);
	start = worked();
	for (unsigned i = 0; i < EVENTS; i++) {
		struct spw_stream s = stream_of(i % 1024 % STREAMS);

		spw_predict_learn(p, &s, 1 + i % 1024 % (CHOICES - 1),
				  &o[i % 1024]);
	}
	start = EVENTS / (worked() - start);
	printf("feedback: %.1f million events a second\n", start / 1e6);
	CHECK(start > RATE);
	spw_predict_free(p);
}

/* A guess makes a choice known, and counts for nothing once a block was seen;
 * one that took less tells that the first was held up.
 */
static void
test_hoped(void)
{
	struct spw_predictor *p = spw_predict_new(pool, CHOICES);
	struct spw_stream s = { .id = 1, .traits = 5 };
	const struct spw_costs *costs = spw_predict_costs(p, &s);
	struct spw_observed o = {
		.bytes = BLOCK, .stored = BLOCK / 1000, .pack = 1e-6,
	};

	CHECK(isinf(costs->pack[3]));
	spw_predict_guess(p, &s, 3, &o);
	CHECK(fabs(costs->pack[3] * BLOCK / 1e-6 - 1) < 0.02);
	o.pack = 300e-6;
	spw_predict_learn(p, &s, 3, &o);
	CHECK(fabs(costs->pack[3] * BLOCK / 300e-6 - 1) < 0.02);
	o.pack = 100e-6;
	spw_predict_learn(p, &s, 3, &o);
	CHECK(costs->pack[3] * BLOCK < 120e-6);
	spw_predict_guess(p, &s, 3, &o);	/* too late */
	CHECK(costs->pack[3] * BLOCK > 100e-6);
	spw_predict_free(p);
}

/* What is known of one class of a stream is a start for another. */
static void
test_inherited(void)
{
	struct spw_predictor *p = spw_predict_new(pool, CHOICES);
	struct spw_stream one = { .id = 1, .traits = 5 }, other = one;
	const struct spw_costs *costs;
	struct spw_observed o = {
		.bytes = BLOCK, .stored = BLOCK / 4, .pack = 1e-3,
	};

	other.traits = 6;
	for (int i = 0; i < 20; i++)
		spw_predict_learn(p, &one, 3, &o);
	CHECK(isinf(spw_predict_costs(p, &other)->pack[3]));
	spw_predict_inherit(p, &other, &one);
	costs = spw_predict_costs(p, &other);
	CHECK(fabs(costs->pack[3] * BLOCK / 1e-3 - 1) < 0.05);
	CHECK(fabs(costs->stored[3] / 1024 - 1) < 0.05);
	CHECK(isinf(costs->pack[4]));
	for (int i = 0; i < 3; i++) {		/* its own tell more */
		o.stored = BLOCK / 2;
		spw_predict_learn(p, &other, 3, &o);
	}
	CHECK(costs->stored[3] > 1500);
	spw_predict_free(p);
}

int
main(void)
{
	make_world();
	test_fit();
	test_outliers();
	test_change();
	test_stream();
	test_blame();
	test_guess();
	test_hoped();
	test_inherited();
	test_tide();
	test_whole();
	test_nonsense();
	test_rate();
	return 0;
}
