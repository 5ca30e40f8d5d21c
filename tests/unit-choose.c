/* SPDX-License-Identifier: BSD-3-Clause */
/* unit-choose.c -- plans are as cheap as trying everything would find */

#include "planner/choose.h"
#include "planner/match.h"
#include "tests/guarded.h"

#include <errno.h>
#include <math.h>

/* Random instances against every way to share a few quanta among tiers and
 * choices, and against a table over larger tasks.  Neither uses anything of
 * the chooser but the formula of choose.h.
 */
#define INSTANCES 10000
#define ALIKE_INSTANCES 400
#define LARGE_INSTANCES 150
#define LARGE_QUANTA 400

struct instance {
	struct spw_tier_state tier[SPW_CHOOSE_TIERS];
	unsigned tiers;
	struct spw_costs costs;
	struct spw_weights w;
	bool overlap;
	uint64_t bytes;
};

static uint64_t state = 1;

static uint64_t
below(uint64_t n)
{
	return draw(&state) % n;
}

/* From 2^lo to 2^hi, and now and then the same number again: ties. */
static double
spread(double lo, double hi)
{
	double at = below(4) ? (double)below(1000) / 1000 : 0.5;

	return exp2(lo + at * (hi - lo));
}

static void
draw_weights(struct spw_weights *w)
{
	static const char *const names[] = { "async", "archive", "balanced",
					     "read-after-write" };
	char why[160];
	double a = (double)below(100), b = (double)below(100), c = 1;

	if (below(2)) {
		CHECK(!spw_weights_parse(names[below(4)], w, why,
					 sizeof(why)));
		return;
	}
	*w = (struct spw_weights){ a / (a + b + c), b / (a + b + c),
				   c / (a + b + c) };
}

static void
draw_tier(struct spw_tier_state *t, uint64_t bytes, bool is_home)
{
	t->available = below(8);
	t->free = below(5) ? below(bytes) : below(2) ? 0 :
		  UINT64_MAX;
	t->choices = below(3) ? SPW_CHOICES_ALL : draw(&state);
	if (is_home) {
		t->free = below(3) ? UINT64_MAX : below(bytes + 1);
		t->choices = SPW_CHOICES_RAW;
	}
	t->write_bw = spread(20, 33);
	t->read_bw = below(2) ? t->write_bw : spread(20, 33);
	t->latency = below(3) ? spread(-24, -6) : 0;
	t->queue = below(2) ? spread(10, 27) : 0;
	t->price = below(2) ? spread(-34, -22) : 0;
}

static void
draw_costs(struct spw_costs *costs, unsigned n)
{
	*costs = (struct spw_costs){ .version = 1, .n = n };
	costs->pack[0] = below(2) ? 0 : spread(-36, -33);
	costs->unpack[0] = costs->pack[0];
	costs->stored[0] = SPW_QUANTUM;
	for (unsigned c = 1; c < n; c++) {
		costs->pack[c] = below(12) ? spread(-33, -23) : INFINITY;
		costs->unpack[c] = spread(-33, -25);
		costs->stored[c] = (double)(1 + below(SPW_QUANTUM + 500));
	}
}

static void
draw_instance(struct instance *in, unsigned tiers, unsigned choices,
	      unsigned quanta)
{
	in->bytes = (1 + below(quanta)) * SPW_QUANTUM -
		    (below(2) ? below(SPW_QUANTUM) : 0);
	in->tiers = (unsigned)(1 + below(tiers));
	for (unsigned i = 0; i < in->tiers; i++)
		draw_tier(&in->tier[i], in->bytes, i + 1 == in->tiers);
	draw_costs(&in->costs, (unsigned)(1 + below(choices)));
	draw_weights(&in->w);
	in->overlap = !below(3);
}

/* What k quanta cost on a tier under a choice; INFINITY: not allowed. */
static double
cost_of(const struct instance *in, unsigned l, unsigned c, uint64_t k)
{
	const struct spw_tier_state *t = &in->tier[l];
	double bytes = (double)(k * 4096);
	uint64_t keep = k * (c ? (uint64_t)in->costs.stored[c] : 4096);
	double pack = bytes * in->costs.pack[c];
	double unpack = bytes * in->costs.unpack[c];
	double put = (double)keep / t->write_bw;
	double get = (double)keep / t->read_bw;
	double wait = t->queue / t->write_bw;
	double busy = in->overlap ? fmax(pack, put) + SPW_SHADED * pack
				  : pack + put;

	if (!t->available || !(t->choices >> c & 1) || keep > t->free ||
	    (c && keep >= k * 4096) || isinf(pack))
		return INFINITY;
	return in->w.compress * (busy + wait + (double)keep * t->price) +
	       in->w.ratio * (put + wait + (double)keep * t->price) +
	       in->w.decompress * (unpack + get) + t->latency;
}

/* Everything: each tier takes any of the quanta left, under any choice. */
static double
try_all(const struct instance *in, unsigned l, uint64_t rest)
{
	double best = rest ? INFINITY : 0;

	if (!rest || l == in->tiers)
		return best;
	best = try_all(in, l + 1, rest);
	for (uint64_t k = 1; k <= rest; k++)
		for (unsigned c = 0; c < in->costs.n; c++) {
			double here = cost_of(in, l, c, k);

			if (!isinf(here))
				best = fmin(best, here +
					    try_all(in, l + 1, rest - k));
		}
	return best;
}

/* The same as a table: best[k], k quanta on the tiers seen so far. */
static double
try_table(const struct instance *in, uint64_t quanta)
{
	double best[LARGE_QUANTA + 1], next[LARGE_QUANTA + 1];

	for (uint64_t k = 0; k <= quanta; k++)
		best[k] = k ? INFINITY : 0;
	for (unsigned l = 0; l < in->tiers; l++) {
		memcpy(next, best, sizeof(next));
		for (uint64_t k = 1; k <= quanta; k++) {
			double here = INFINITY;

			for (unsigned c = 0; c < in->costs.n; c++)
				here = fmin(here, cost_of(in, l, c, k));
			for (uint64_t to = k; to <= quanta; to++)
				next[to] = fmin(next[to],
						best[to - k] + here);
		}
		memcpy(best, next, sizeof(best));
	}
	return best[quanta];
}

static void
must_be_sound(const struct instance *in, const struct spw_plan *plan,
	      uint64_t quanta)
{
	uint32_t used = 0;
	uint64_t sum = 0;
	double cost = 0;

	CHECK(plan->n >= 1 && plan->n <= in->tiers && plan->proven);
	for (unsigned i = 0; i < plan->n; i++) {
		const struct spw_piece *p = &plan->piece[i];

		CHECK(p->quanta && p->tier < in->tiers);
		CHECK(p->choice < in->costs.n && !(used >> p->tier & 1));
		used |= 1u << p->tier;
		sum += p->quanta;
		cost += cost_of(in, p->tier, p->choice, p->quanta);
	}
	CHECK(sum == quanta);
	CHECK(fabs(cost - plan->cost) <= 1e-9 * cost);
}

static bool
same_pieces(const struct spw_plan *plan, const struct spw_piece *p, unsigned n)
{
	if (!p || plan->n != n)
		return false;
	for (unsigned i = 0; i < n; i++)
		if (p[i].quanta != plan->piece[i].quanta ||
		    p[i].tier != plan->piece[i].tier ||
		    p[i].choice != plan->piece[i].choice)
			return false;
	return true;
}

static void
agree(struct spw_chooser *ch, const struct instance *in, double wanted)
{
	uint64_t quanta = (in->bytes + 4095) / 4096;
	const struct spw_piece *kept;
	struct spw_plan plan;
	unsigned n;
	int r;

	spw_choose_weigh(ch, &in->w, in->overlap);
	CHECK(!spw_choose_tiers(ch, in->tier, in->tiers));
	r = spw_choose_solve(ch, &in->costs, in->bytes, &plan);
	CHECK(r == (isinf(wanted) ? -ENOSPC : 0));
	kept = spw_choose(ch, &in->costs, in->bytes, &n);
	CHECK(!kept == (r < 0));
	if (r < 0)
		return;
	must_be_sound(in, &plan, quanta);
	CHECK(fabs(plan.cost - wanted) <= 1e-9 * wanted);
	CHECK(same_pieces(&plan, kept, n));
	CHECK(spw_choose(ch, &in->costs, in->bytes, &n) == kept);
}

static void
test_oracle(struct spw_chooser *ch)
{
	unsigned split = 0, confined = 0, refused = 0;
	struct instance in;
	struct spw_plan plan;

	for (int i = 0; i < INSTANCES; i++) {
		draw_instance(&in, 5, 5, 9);
		agree(ch, &in, try_all(&in, 0, (in.bytes + 4095) / 4096));
		if (spw_choose_solve(ch, &in.costs, in.bytes, &plan) < 0) {
			refused++;
			continue;
		}
		split += plan.n > 1;
		confined += plan.confined;
	}
	printf("%d instances: %u split, %u confined, %u refused\n", INSTANCES,
	       split, confined, refused);
	CHECK(split > INSTANCES / 10 && confined > INSTANCES / 5);
	CHECK(refused > INSTANCES / 50 && refused < INSTANCES / 2);
}

static void
test_table(struct spw_chooser *ch)
{
	struct instance in;

	for (int i = 0; i < LARGE_INSTANCES; i++) {
		draw_instance(&in, 8, 12, LARGE_QUANTA);
		agree(ch, &in, try_table(&in, (in.bytes + 4095) / 4096));
	}
	for (int i = 0; i < 20; i++) {		/* all that can be named */
		draw_instance(&in, SPW_CHOOSE_TIERS, SPW_CHOICES_MAX, 60);
		agree(ch, &in, try_table(&in, (in.bytes + 4095) / 4096));
	}
}

/* Many tiers, small and much alike, so that the search has to look ahead and to
 * remember what it has matched.
 */
static void
draw_alike(struct instance *in)
{
	draw_instance(in, 1, 5, 40);
	in->bytes = (20 + below(20)) * SPW_QUANTUM;
	in->tiers = (unsigned)(6 + below(SPW_CHOOSE_TIERS - 5));
	for (unsigned i = 0; i < in->tiers; i++) {
		struct spw_tier_state *t = &in->tier[i];

		draw_tier(t, in->bytes, false);
		t->available = true;
		t->free = SPW_QUANTUM + below(in->bytes / 4);
		t->choices = SPW_CHOICES_ALL;
		t->write_bw = t->read_bw = spread(30, 30.1);
		t->latency = spread(-19, -18);
		t->queue = t->price = 0;
	}
}

static void
test_alike(struct spw_chooser *ch)
{
	unsigned hard = 0;
	struct instance in;

	for (int i = 0; i < ALIKE_INSTANCES; i++) {
		draw_alike(&in);
		agree(ch, &in, try_table(&in, in.bytes / SPW_QUANTUM));
		hard += ch->search->is_hard;
	}
	printf("%d alike: %u hard\n", ALIKE_INSTANCES, hard);
	CHECK(hard > ALIKE_INSTANCES / 2);
}

/* A plan from memory is the plan that would be worked out now, whatever
 * happened to the tiers in between.
 */
static void
test_memory(struct spw_chooser *ch)
{
	struct instance in;
	struct spw_plan plan;

	for (int i = 0; i < 300; i++) {
		draw_instance(&in, 5, 6, 300);
		spw_choose_weigh(ch, &in.w, in.overlap);
		CHECK(!spw_choose_tiers(ch, in.tier, in.tiers));
		for (int k = 0; k < 200; k++) {
			uint64_t bytes = (1 + below(6)) << 17;
			unsigned t = (unsigned)below(in.tiers);
			const struct spw_piece *kept;
			unsigned n;
			int r;

			switch (below(5)) {
			case 0:
				spw_choose_give(ch, t, below(1 << 20));
				break;
			case 1:
				in.tier[t].queue = spread(10, 27);
				in.tier[t].free = below(3 << 20);
				CHECK(!spw_choose_tiers(ch, in.tier,
							in.tiers));
				break;
			case 2:
				in.costs.version++;
				in.costs.pack[in.costs.n - 1] =
					spread(-33, -23);
				break;
			default:
				spw_choose_take(ch, t, below(1 << 18));
			}
			kept = spw_choose(ch, &in.costs, bytes, &n);
			r = spw_choose_solve(ch, &in.costs, bytes, &plan);
			CHECK(!kept == (r < 0));
			CHECK(r < 0 || same_pieces(&plan, kept, n));
		}
	}
}

/* Tiers that cost the same are the worst case of the search. */
static void
test_worst(struct spw_chooser *ch)
{
	struct instance in = { .tiers = SPW_CHOOSE_TIERS };
	struct spw_plan plan;

	draw_costs(&in.costs, 12);
	for (unsigned i = 0; i < in.tiers; i++)
		in.tier[i] = (struct spw_tier_state){
			.available = true, .choices = SPW_CHOICES_ALL,
			.free = 100000 + 4096 * below(9), .write_bw = 1e9,
			.read_bw = 1e9, .latency = 1e-3 + 1e-5 * i,
		};
	CHECK(!spw_choose_tiers(ch, in.tier, in.tiers));
	for (uint64_t bytes = 4096; bytes < 17 * 100000; bytes += 4096) {
		CHECK(!spw_choose_solve(ch, &in.costs, bytes, &plan));
		CHECK(plan.proven);
	}
}

static void
test_edges(struct spw_chooser *ch)
{
	struct spw_tier_state home = {
		.available = true, .free = UINT64_MAX, .write_bw = 1e8,
		.choices = SPW_CHOICES_RAW, .read_bw = 1e8,
	};
	struct spw_costs costs = { .version = 7, .n = 2, .pack = { 0, 1e-12 },
				   .unpack = { 0, 1e-12 },
				   .stored = { 4096, 1 } };
	struct spw_expected e;
	struct spw_plan plan = { .n = 9 };
	unsigned n;

	CHECK(!spw_choose_tiers(ch, NULL, 0));
	CHECK(spw_choose_solve(ch, &costs, 1, &plan) == -ENOSPC);
	CHECK(plan.n == 9);
	CHECK(!spw_choose_tiers(ch, &home, 1));
	CHECK(spw_choose_solve(ch, &costs, UINT64_MAX, &plan) == -EINVAL);
	CHECK(spw_choose_solve(ch, &costs, 0, &plan) == -EINVAL);
	CHECK(!spw_choose(ch, &costs, UINT64_MAX, &n));
	CHECK(!spw_choose(ch, &costs, 0, &n));
	CHECK(!spw_choose_solve(ch, &costs, SPW_CHOOSE_MOST, &plan));
	CHECK(plan.n == 1 && plan.piece[0].choice == 0);
	CHECK(!spw_choose_solve(ch, &costs, 1, &plan));
	CHECK(plan.piece[0].quanta == 1 && plan.piece[0].choice == 0);
	spw_choose_expect(ch, &costs, &plan.piece[0], &e);
	CHECK(e.stored == 4096 && e.pack == 0);
	CHECK(fabs(e.write - 4096e-8) < 1e-12);

	home.choices = SPW_CHOICES_ALL;		/* now packing pays */
	CHECK(!spw_choose_tiers(ch, &home, 1));
	CHECK(!spw_choose_solve(ch, &costs, 1 << 20, &plan));
	CHECK(plan.piece[0].choice == 1);
	spw_choose_expect(ch, &costs, &plan.piece[0], &e);
	CHECK(e.stored == 256);

	home.write_bw = 0;
	CHECK(spw_choose_tiers(ch, &home, 1) == -EINVAL);
	home.write_bw = NAN;
	CHECK(spw_choose_tiers(ch, &home, 1) == -EINVAL);
	home.write_bw = 1e8;
	home.latency = -1;
	CHECK(spw_choose_tiers(ch, &home, 1) == -EINVAL);
	CHECK(spw_choose_tiers(ch, &home, SPW_CHOOSE_TIERS + 1) == -EINVAL);
	CHECK(!spw_choose_solve(ch, &costs, 1 << 20, &plan));
	spw_choose_free(NULL);
}

static void
test_weights(void)
{
	static const char *const bad[] = {
		"", "fast", "Async", "0.5,0.5", "0.5,0.5,0.5", "1,0,0,0",
		"0.3,0.4,0.2", "-0.5,1,0.5", "1.5,0,-0.5", "nan,0,1", "1,0,",
		"inf,0,0", ",,", "1 ,0,0", "1,0,0 ", "2,0,0", "0,0,0",
		"1e400,0,0",
	};
	const struct spw_weights before = { 0.1, 0.2, 0.7 };
	struct spw_weights w = before;
	char why[160];

	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		why[0] = '\0';
		CHECK(spw_weights_parse(bad[i], &w, why, sizeof(why))
		      == -EINVAL);
		CHECK(why[0] && !strchr(why, '\n'));
		CHECK(!memcmp(&w, &before, sizeof(w)));
	}
	CHECK(spw_weights_parse("0.5,0.5,0.5", &w, why, sizeof(why)) < 0);
	CHECK(!strcmp(why, "weights 0.5,0.5,0.5 add up to 1.5, not to 1"));
	CHECK(!spw_weights_parse("0.333,0.333,0.333", &w, why, sizeof(why)));
	CHECK(fabs(w.compress + w.ratio + w.decompress - 1) < 1e-15);
	CHECK(!spw_weights_parse("0,1,0", &w, why, sizeof(why)));
	CHECK(w.ratio == 1);
	for (size_t i = 0; spw_weights_name(i); i++) {
		CHECK(!spw_weights_parse(spw_weights_name(i), &w, why,
					 sizeof(why)));
		CHECK(!spw_weights_check(&w, why, sizeof(why)));
	}
}

/* What each preset is for, on a fast and a slow tier. */
static void
test_presets(struct spw_chooser *ch)
{
	struct spw_tier_state tier = {
		.available = true, .free = UINT64_MAX, .write_bw = 2e9,
		.choices = SPW_CHOICES_ALL, .read_bw = 2e9,
	};
	struct spw_costs costs = {	/* raw, fast, strong but slow */
		.version = 9, .n = 3, .pack = { 0, 2e-10, 1e-7 },
		.unpack = { 0, 2e-9, 2e-9 }, .stored = { 4096, 2048, 1024 },
	};
	static const struct { const char *preset; double bw; int choice; }
	cases[] = {
		{ "async", 2e9, 1 }, { "async", 20e9, 0 },
		{ "async", 1e6, 2 }, { "archive", 20e9, 2 },
		{ "read-after-write", 2e9, 0 },
		{ "read-after-write", 2e8, 1 }, { "balanced", 2e9, 0 },
	};
	struct spw_weights w;
	struct spw_plan plan;
	char why[160];

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		CHECK(!spw_weights_parse(cases[i].preset, &w, why,
					 sizeof(why)));
		spw_choose_weigh(ch, &w, false);
		tier.write_bw = tier.read_bw = cases[i].bw;
		CHECK(!spw_choose_tiers(ch, &tier, 1));
		CHECK(!spw_choose_solve(ch, &costs, 1 << 20, &plan));
		CHECK(plan.piece[0].choice == cases[i].choice);
	}
}

int
main(void)
{
	struct spw_chooser *ch = spw_choose_new();

	CHECK(ch);
	test_oracle(ch);
	test_table(ch);
	test_alike(ch);
	test_memory(ch);
	test_worst(ch);
	test_edges(ch);
	test_presets(ch);
	test_weights();
	spw_choose_free(ch);
	return 0;
}
