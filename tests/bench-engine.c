/* SPDX-License-Identifier: BSD-3-Clause */
/* bench-engine.c -- what the planner's advice costs beside an oracle and others */

/* usage: bench-engine [FILE]...
 *
 * Packing and unpacking are real and measured in time of the thread: every way
 * on one block after the other, as a stream is drained, again in each of some
 * rounds, between which the engine works.  All contestants are charged the
 * same figures, a low one of the rounds, since what else runs here adds to
 * some.  The oracle, which knows the figures, would yet choose those that
 * noise made small; so it chooses by the even rounds and is charged by the odd
 * ones, and the other way round.  What the engine is told came of its choices
 * is measured when it makes them, as in a drainer.  Tiers are not real: they
 * take bytes / bandwidth + latency.  Trials, analysis, decisions and feedback
 * are measured as they happen, without what looking at the clock takes, and
 * count for the engine alone.
 *
 * Streams are data of the kinds that are generated, and pieces of the FILEs.
 */

#include "planner/advisor.h"
#include "planner/trial.h"
#include "planner/ways.h"
#include "tests/analyze-data.h"
#include "tiers/filter.h"

#include <fcntl.h>
#include <sys/stat.h>

enum { BLOCK = 1 << 20, BLOCKS = 8, STREAM = 64, SLOW = 80, QUICK = 200,
       MOST = 64, ROUNDS = 6, SLOW_ROUNDS = 2, LOOKS = 101 };

static const struct spw_weights async = { 1, 0, 0 };
static const struct spw_weights both_ways = { 0.5, 0, 0.5 };

struct figures {
	double pack, unpack;
	double half[2];			/* to pack, in even rounds and odd */
	uint64_t stored;
	unsigned rounds;
	double packs[ROUNDS], unpacks[ROUNDS];
};

struct stream {
	char name[40];
	uint8_t *data;
	bool is_steady;			/* all blocks are alike */
	struct spw_traits traits[BLOCKS];	/* as the advisor sees them */
	struct figures is[BLOCKS][SPW_CHOICES_MAX];
};

static struct spw_ways ways;
static struct stream streams[MOST];
static unsigned n_streams;
static struct spw_packer *packer;
static uint8_t *object, *back;
static size_t room;
static double clock_takes;		/* seconds to look at it */

static int
compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

/* That a part of them are below. */
static double
quantile(const double *of, size_t n, double part)
{
	double sorted[LOOKS];

	memcpy(sorted, of, n * sizeof(*of));
	qsort(sorted, n, sizeof(*sorted), compare);
	return sorted[(size_t)(part * (double)n)];
}

static void
measure_clock(void)
{
	double took[LOOKS], start;

	for (size_t i = 0; i < LOOKS; i++) {
		start = spw_trial_clock();
		took[i] = spw_trial_clock() - start;
	}
	clock_takes = quantile(took, LOOKS, 0.5);
}

/* Seconds that a block takes to be packed and unpacked. */
static void
pack_once(const uint8_t *data, const struct spw_object_pack *pack,
	  struct figures *ret)
{
	struct spw_object o = { .length = BLOCK, .cut = UINT64_MAX };
	double start = spw_trial_clock(), packed;
	struct spw_object_part part;
	uint64_t bad;
	size_t need;
	int64_t n = spw_object_encode(packer, &o, pack, object, room, data);

	packed = spw_trial_clock();
	CHECK(n > 0 && !spw_object_parse(object, (size_t)n, &o, &need));
	spw_object_part(&o, 0, o.length, &part);
	CHECK(!spw_object_decode(packer, &o, &part, object + part.at, back,
				 &bad));
	ret->unpack = spw_trial_clock() - packed;
	ret->pack = packed - start;
	ret->stored = (uint64_t)n;
}

static bool
is_measured(const struct stream *s, unsigned block, unsigned way)
{
	uint64_t fit = spw_ways_fit(&ways, &s->traits[block]);

	return way && fit >> way & 1 && ways.speed[way] >= SLOW &&
	       spw_codec_by_id(ways.at[way].codec);
}

/* Of the turns of a round the shortest counts. */
static void
measure(struct stream *s, unsigned block, unsigned way, bool is_again)
{
	struct spw_object_pack pack =
		spw_ways_pack(&ways.at[way], &s->traits[block]);
	struct figures *f = &s->is[block][way], now;
	double *packs = &f->packs[f->rounds], *unpacks = &f->unpacks[f->rounds];

	pack_once(s->data + (size_t)block * BLOCK, &pack, &now);
	f->stored = now.stored;
	*packs = is_again ? SPW_MIN(*packs, now.pack) : now.pack;
	*unpacks = is_again ? SPW_MIN(*unpacks, now.unpack) : now.unpack;
}

/* Of the rounds from one on, in steps; where all blocks are alike, of all of
 * them, else an oracle would live on noise.
 */
static double
typical(const struct stream *s, unsigned block, unsigned way, unsigned from,
       unsigned step, bool unpacks)
{
	double took[BLOCKS * ROUNDS];
	size_t n = 0;

	for (unsigned i = 0; i < BLOCKS; i++) {
		const struct figures *f = &s->is[i][way];

		for (unsigned k = from; k < f->rounds; k += step)
			if (s->is_steady || i == block)
				took[n++] = unpacks ? f->unpacks[k]
						    : f->packs[k];
	}
	return quantile(took, n, 0.25);
}

static void
settle(struct stream *s, unsigned block, unsigned way)
{
	struct figures *f = &s->is[block][way];

	f->pack = typical(s, block, way, 0, 1, false);
	f->unpack = typical(s, block, way, 0, 1, true);
	for (unsigned h = 0; h < 2; h++)
		f->half[h] = f->rounds > h ? typical(s, block, way, h, 2, false)
					   : f->pack;
}

/* A round of all ways, slow ones in the first two alone.  The first turn of a
 * way is slower than those that follow; and blocks that are not alike have no
 * others to make up for what met them, so they get more turns.  A way that does
 * not fit is as raw, which costs a copy that everybody makes, so nothing.
 */
static void
measure_way(struct stream *s, unsigned way)
{
	const int turns = ways.speed[way] < QUICK ? 1 : s->is_steady ? 2 : 3;

	for (int turn = 0; turn < turns; turn++)
		for (unsigned i = 0; i < BLOCKS; i++)
			if (is_measured(s, i, way))
				measure(s, i, way, turn);
	for (unsigned i = 0; i < BLOCKS; i++)
		s->is[i][way].rounds += is_measured(s, i, way);
}

static void
measure_all(struct stream *s, int round)
{
	for (unsigned w = 1; w < ways.n; w++)
		if (round < SLOW_ROUNDS || ways.speed[w] >= QUICK)
			measure_way(s, w);
}

static void
settle_all(struct stream *s)
{
	for (unsigned i = 0; i < BLOCKS; i++)
		for (unsigned w = 1; w < ways.n; w++)
			if (s->is[i][w].rounds)
				settle(s, i, w);
}

/* One that nobody but a contestant would try is measured when it does. */
static const struct figures *
figures_of(struct stream *s, unsigned block, unsigned way)
{
	const struct spw_filter_spec filter = {
		ways.at[way].filter,
		spw_ways_pack(&ways.at[way], &s->traits[block]).width,
	};

	if (way && !s->is[block][way].rounds &&
	    (!filter.id || spw_filter_is_known(&filter))) {
		measure(s, block, way, false);
		s->is[block][way].rounds++;
		settle(s, block, way);
	}
	return &s->is[block][way];
}

static struct stream *
add_stream(const char *name)
{
	struct stream *s = &streams[n_streams++];

	CHECK(n_streams <= MOST);
	snprintf(s->name, sizeof(s->name), "%s", name);
	s->data = malloc((size_t)BLOCKS * BLOCK);
	CHECK(s->data);
	return s;
}

static void
finish_stream(struct stream *s)
{
	for (unsigned i = 0; i < BLOCKS; i++) {
		spw_analyze(s->data + (size_t)i * BLOCK, BLOCK, BLOCK, NULL,
			    &s->traits[i]);
		for (unsigned w = 0; w < ways.n; w++)
			s->is[i][w] = (struct figures){ .stored = BLOCK };
	}
}

static void
add_kinds(void)
{
	static const char *const names[] = {
		"zeros", "words", "table", "random", "i16 sound",
		"i32 counter", "i32 range", "i32 walk", "i64 clock",
		"f32 uniform", "f32 normal", "f64 exponential", "f64 gamma",
		"f32 field", "f64 field", "particles of 32", "points of 12",
	};

	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		for (size_t k = 0; k < ARRAY_LEN(data_classes); k++) {
			const struct data_class *c = &data_classes[k];
			struct stream *s;
			uint64_t seed = 77 + k;

			if (strcmp(c->name, names[i]))
				continue;
			s = add_stream(c->name);
			s->is_steady = true;
			c->fill(c, s->data, (size_t)BLOCKS * BLOCK, &seed);
			finish_stream(s);
		}
}

/* Blocks spread over the file. */
static void
add_file(const char *path)
{
	const char *slash = strrchr(path, '/');
	int fd = open(path, O_RDONLY);
	struct stream *s;
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0 || st.st_size < BLOCKS * BLOCK) {
		printf("%s is left out: missing, or below 8 MiB\n", path);
		return;
	}
	s = add_stream(slash ? slash + 1 : path);
	for (unsigned i = 0; i < BLOCKS; i++) {
		off_t at = st.st_size / BLOCKS / BLOCK * BLOCK * i;

		CHECK(pread(fd, s->data + (size_t)i * BLOCK, BLOCK, at) ==
		      BLOCK);
	}
	close(fd);
	finish_stream(s);
}

/* An advisor, and what it took so far. */
struct engine {
	struct spw_advisor *a;
	double seconds;
};

static double starts, n_starts;		/* seconds that advisors took to start */

static struct engine
engine_new(const struct spw_weights *w, const char *seed)
{
	struct spw_advisor_setup setup = { .weights = *w, .seed = seed };
	struct engine e = { .seconds = 0 };
	double start = spw_trial_clock();

	CHECK(!spw_advisor_new(&setup, &e.a));
	starts += spw_trial_clock() - start;
	n_starts++;
	return e;
}

static void
engine_add(struct engine *e, uint64_t capacity, double bw)
{
	CHECK(spw_advisor_add(e->a, &(struct spw_monitored){
		.capacity = capacity, .write_bw = bw, .read_bw = bw,
		.choices = SPW_CHOICES_ALL,
	}) >= 0);
}

/* After a look at the clock, so that the next one takes as long as was
 * measured, and waits for no code.
 */
static double
look(void)
{
	(void)spw_trial_clock();
	return spw_trial_clock();
}

static struct spw_advice
engine_ask(struct engine *e, struct stream *s, unsigned block, size_t n)
{
	struct spw_advice advice;
	double start = look();

	CHECK(!spw_advisor_ask(e->a, (uint64_t)(s - streams),
			       s->data + (size_t)block * BLOCK, n,
			       (uint64_t)BLOCK, NULL, SPW_ADVISOR_TIERS,
			       &advice));
	e->seconds += spw_trial_clock() - start - clock_takes;
	return advice;
}

static void
engine_learn(struct engine *e, const struct spw_advice *advice,
	     unsigned piece, const struct figures *f)
{
	double start = look();

	spw_advisor_learn(e->a, advice, piece, &(struct spw_observed){
		.bytes = BLOCK, .stored = f->stored, .pack = f->pack,
		.unpack = f->unpack,
	});
	e->seconds += spw_trial_clock() - start - clock_takes;
}

/* Part one: a stream and one tier, beside an oracle that knows everything. */

static double
cost_of(const struct figures *f, double bw)
{
	return f->pack + (double)f->stored / bw;
}

static double
cost_in(const struct figures *f, int half, double bw)
{
	return f->half[half] + (double)f->stored / bw;
}

static double
oracle(struct stream *s, unsigned block, double bw)
{
	double cost = 0;

	for (int half = 0; half < 2; half++) {
		const struct figures *best = figures_of(s, block, 0), *f;

		for (unsigned w = 1; w < ways.n; w++) {
			f = &s->is[block][w];
			if (f->rounds &&
			    cost_in(f, half, bw) < cost_in(best, half, bw))
				best = f;
		}
		cost += cost_in(best, !half, bw) / 2;
	}
	return cost;
}

/* What an advisor that knew nothing chose, and what of its time it took. */
struct followed {
	uint8_t choice[STREAM];
	double overhead;
};

static struct followed
follow(struct stream *s, double bw)
{
	struct engine e = engine_new(&async, NULL);
	struct followed ret;

	engine_add(&e, UINT64_MAX, bw);
	for (unsigned i = 0; i < STREAM; i++) {
		const uint8_t *data = s->data + (size_t)(i % BLOCKS) * BLOCK;
		struct spw_advice advice =
			engine_ask(&e, s, i % BLOCKS, BLOCK);
		struct figures now = { .stored = BLOCK };

		ret.choice[i] = advice.piece[0].choice;
		if (ret.choice[i])
			pack_once(data, &advice.piece[0].pack, &now);
		engine_learn(&e, &advice, 0, &now);
	}
	ret.overhead = e.seconds;
	spw_advisor_free(e.a);
	return ret;
}

struct regret { double cost, best, overhead; };

static struct regret
charge(struct stream *s, const struct followed *f, double bw)
{
	struct regret r = { .overhead = f->overhead };

	for (unsigned i = 0; i < STREAM; i++) {
		const struct figures *is =
			figures_of(s, i % BLOCKS, f->choice[i]);

		r.cost += (cost_in(is, 0, bw) + cost_in(is, 1, bw)) / 2;
		r.best += oracle(s, i % BLOCKS, bw);
	}
	return r;
}

static int
compare_regrets(const void *a, const void *b)
{
	const struct regret *x = a, *y = b;
	double more = (x->cost + x->overhead) / x->best -
		      (y->cost + y->overhead) / y->best;

	return more < 0 ? -1 : more > 0;
}

static const double bandwidths[] = { 100e6, 400e6, 1500e6 };
enum { SPEEDS = ARRAY_LEN(bandwidths) };

/* Of some rounds the middle one, at each bandwidth. */
static void
follow_often(struct stream *s, struct regret ret[SPEEDS])
{
	struct followed f[SPEEDS][ROUNDS];
	struct regret r[ROUNDS];

	for (int i = 0; i < ROUNDS; i++) {
		measure_all(s, i);
		for (int k = 0; k < SPEEDS; k++)
			f[k][i] = follow(s, bandwidths[k]);
	}
	settle_all(s);
	for (int k = 0; k < SPEEDS; k++) {
		for (int i = 0; i < ROUNDS; i++)
			r[i] = charge(s, &f[k][i], bandwidths[k]);
		qsort(r, ROUNDS, sizeof(*r), compare_regrets);
		ret[k] = r[ROUNDS / 2];
	}
}

static void
beside_oracle(void)
{
	struct regret all[SPEEDS] = { { .cost = 0 } };
	double worst = 0;

	printf("percent above an oracle, streams of %d MiB, cold: choice, and "
	       "with all it took\n%-18s %16s %16s %16s\n", STREAM, "tier",
	       "100 MB/s", "400 MB/s", "1500 MB/s");
	for (unsigned i = 0; i < n_streams; i++) {
		struct regret r[SPEEDS];

		printf("%-18s", streams[i].name);
		follow_often(&streams[i], r);
		for (int k = 0; k < SPEEDS; k++) {
			double more = (r[k].cost + r[k].overhead) / r[k].best -
				      1;

			printf(" %7.2f %7.2f ",
			       100 * (r[k].cost / r[k].best - 1), 100 * more);
			worst = SPW_MAX(worst, more);
			all[k].cost += r[k].cost;
			all[k].best += r[k].best;
			all[k].overhead += r[k].overhead;
		}
		printf("\n");
	}
	printf("%-18s", "all");
	for (int k = 0; k < SPEEDS; k++)
		printf(" %7.2f %7.2f ", 100 * (all[k].cost / all[k].best - 1),
		       100 * ((all[k].cost + all[k].overhead) / all[k].best -
			      1));
	printf("\nworst %.2f (goal <= 3); the start of an advisor, once for a "
	       "drainer, took %.2f ms\n\n", 100 * worst,
	       1e3 * starts / n_starts);
}

/* Part two: a thousand tasks of many streams. */

static void
thousand_tasks(void)
{
	struct engine e = engine_new(&async, NULL);
	double work = 0, cold = 0;

	engine_add(&e, UINT64_MAX, 400e6);
	for (unsigned i = 0; i < 1000; i++) {
		struct stream *s = &streams[i % n_streams];
		struct spw_advice advice =
			engine_ask(&e, s, i / n_streams % BLOCKS, BLOCK);
		const struct figures *f = figures_of(
			s, i / n_streams % BLOCKS, advice.piece[0].choice);

		engine_learn(&e, &advice, 0, f);
		work += cost_of(f, 400e6);
		if (i + 1 == n_streams)
			cold = e.seconds;
	}
	printf("1000 tasks of 1 MiB, %u streams, 400 MB/s: decision, analysis, "
	       "trials and feedback\n", n_streams);
	printf("%.2f %% of the time (goal <= 1), of which first trials %.2f\n\n",
	       100 * e.seconds / work, 100 * cold / work);
	spw_advisor_free(e.a);
}

/* Part three: memory, a local disk and a burst buffer that fill up, as much a
 * process as in HCompress V-B4: of 320 parts of data 64, 192 and 2048 fit.
 * Speeds are the shares of one of 40 processes on a node.
 */
enum { TIERS = 3, TASKS = 320 };
static const double speed[TIERS] = { 1500e6, 50e6, 12e6 };
static const uint64_t size[TIERS] = { 64 << 20, 192 << 20,
				      UINT64_C(2048) << 20 };

struct mix { const char *name; const char *of[8]; };

static const struct mix mixes[] = {
	{ "compressible", { "zeros", "i32 counter", "i64 clock", "i32 walk",
			    "table", "i32 range" } },
	{ "particles, fields", { "particles of 32", "f32 field", "f64 field",
				 "points of 12" } },
	{ "distributions", { "f32 uniform", "f32 normal", "f64 exponential",
			     "f64 gamma" } },
	{ "half of it noise", { "random", "table", "random", "i32 walk" } },
	{ "noise", { "random" } },
};

static struct stream *
of_mix(const struct mix *m, unsigned i)
{
	unsigned n = 0;

	while (n < 8 && m->of[n])
		n++;
	for (unsigned k = 0; k < n_streams; k++)
		if (!strcmp(streams[k].name, m->of[i % n]))
			return &streams[k];
	CHECK(!"no such stream");
	return NULL;
}

/* The first tier with room, as without a planner. */
static double
put_first(uint64_t left[TIERS], uint64_t stored)
{
	for (int t = 0; t < TIERS; t++)
		if (left[t] >= stored) {
			left[t] -= stored;
			return (double)stored / speed[t];
		}
	CHECK(!"all tiers are full");
	return 0;
}

/* Seconds for all tasks under one way, read back too or not. */
static double
single(const struct mix *m, unsigned way, size_t n, bool reads)
{
	uint64_t left[TIERS] = { size[0], size[1], size[2] };
	double share = (double)n / BLOCK, sum = 0;

	for (unsigned i = 0; i < TASKS; i++) {
		const struct figures *f =
			figures_of(of_mix(m, i), i % BLOCKS, way);
		double moved = put_first(left, (uint64_t)((double)f->stored *
							  share));

		sum += share * f->pack + moved;
		if (reads)
			sum += share * f->unpack + moved;
	}
	return sum;
}

static double
planned(const struct mix *m, size_t n, bool reads, double *ret_overhead)
{
	struct engine e = engine_new(reads ? &both_ways : &async, NULL);
	double sum = 0;

	for (int t = 0; t < TIERS; t++)
		engine_add(&e, size[t], speed[t]);
	for (unsigned i = 0; i < TASKS; i++) {
		struct stream *s = of_mix(m, i);
		struct spw_advice advice = engine_ask(&e, s, i % BLOCKS, n);

		for (unsigned p = 0; p < advice.n; p++) {
			const struct spw_advised *at = &advice.piece[p];
			const struct figures *f =
				figures_of(s, i % BLOCKS, at->choice);
			double share = (double)at->bytes / BLOCK;
			double stored = (double)f->stored * share;
			double moved = stored / speed[at->tier];

			engine_learn(&e, &advice, p, f);
			spw_monitor_hold(spw_advisor_monitor(e.a), at->tier,
					 (uint64_t)stored);
			sum += share * f->pack + moved;
			if (reads)
				sum += share * f->unpack + moved;
		}
	}
	*ret_overhead = e.seconds;
	spw_advisor_free(e.a);
	return sum + e.seconds;
}

/* The best codec, without a filter as others have them, on all tiers. */
static double
best_single(const struct mix *m, size_t n, bool reads, unsigned *ret_way)
{
	double best = INFINITY;

	for (unsigned w = 1; w < ways.n; w++) {
		double sum;

		if (ways.at[w].filter || ways.speed[w] < SLOW ||
		    !spw_codec_by_id(ways.at[w].codec))
			continue;
		sum = single(m, w, n, reads);
		if (sum < best) {
			best = sum;
			*ret_way = w;
		}
	}
	return best;
}

static void
fill_tiers(size_t n, bool reads)
{
	printf("%d tasks of %zu KiB, %s; 64, 192 and 2048 MiB at %.0f, %.0f "
	       "and %.0f MB/s\n", TASKS, n >> 10, reads ? "written and read" :
	       "written", speed[0] / 1e6, speed[1] / 1e6, speed[2] / 1e6);
	printf("%-18s %9s %9s %-10s %9s %9s %9s %9s\n", "", "none s",
	       "single s", "", "engine s", "of it own", "to none",
	       "to single");
	for (size_t i = 0; i < ARRAY_LEN(mixes); i++) {
		const struct mix *m = &mixes[i];
		double none = single(m, 0, n, reads), best, ours, own;
		unsigned way = 0;
		char name[24];

		best = best_single(m, n, reads, &way);
		ours = planned(m, n, reads, &own);
		snprintf(name, sizeof(name), "%s %d",
			 spw_codec_by_id(ways.at[way].codec)->name,
			 ways.at[way].level);
		printf("%-18s %9.3f %9.3f %-10s %9.3f %9.4f %8.2fx %8.2fx%s\n",
		       m->name, none, best, name, ours, own, none / ours,
		       best / ours, ours > 1.03 * SPW_MIN(none, best)
		       ? " MISSED" : "");
	}
	printf(reads ? "goal: compressible >= 1.4x any single codec; never "
	       "below 0.97x\n\n" : "goal: compressible >= 6x none and >= "
	       "1.72x the best single codec; never below 0.97x\n\n");
}

int
main(int argc, char **argv)
{
	if (spw_codec_load(NULL) == 1) {
		printf("engine: left out, no codec but none here\n");
		return 0;
	}
	spw_ways_fill(&ways, NULL, 0);
	room = spw_round_up(spw_object_bound(0, BLOCK), 64);
	object = aligned_alloc(64, room);
	back = malloc(BLOCK);
	CHECK(object && back && !spw_packer_new(&packer));
	measure_clock();
	add_kinds();
	for (int i = 1; i < argc; i++)
		add_file(argv[i]);
	beside_oracle();
	thousand_tasks();
	fill_tiers(BLOCK, false);
	fill_tiers(BLOCK / 2, true);
	for (unsigned i = 0; i < n_streams; i++)
		free(streams[i].data);
	spw_packer_free(packer);
	free(object);
	free(back);
	return 0;
}
