/* SPDX-License-Identifier: BSD-3-Clause */
/* bench-choose.c -- decisions a second: worked out, split, and from memory */

#include "planner/choose.h"
#include "tests/clocks.h"
#include "tests/guarded.h"

#include <math.h>

enum { ROUNDS = 9, STREAMS = 32, TASKS = 1024, FRESH = 200000,
       KEPT = 20000000 };

static struct spw_costs costs[STREAMS];
static struct { const struct spw_costs *costs; uint64_t bytes; } task[TASKS];
static struct spw_tier_state tiers[4];
static struct spw_chooser *ch;
static uint64_t state = 3;
static volatile double sink;

static double
uniform(double lo, double hi)
{
	return lo + (hi - lo) * (double)(draw(&state) >> 11) * 0x1p-53;
}

/* Codecs from fast and weak to slow and strong, on streams of all kinds. */
static void
make_costs(unsigned choices)
{
	for (unsigned i = 0; i < STREAMS; i++) {
		double yields = uniform(0, 1);

		costs[i] = (struct spw_costs){ .version = i + 1, .n = choices };
		costs[i].stored[0] = SPW_QUANTUM;
		for (unsigned c = 1; c < choices; c++) {
			double effort = (double)c / choices;

			costs[i].pack[c] = uniform(0.7, 1.4) * 1e-6 /
					   (5000 * pow(0.004, effort));
			costs[i].unpack[c] = uniform(0.7, 1.4) * 1e-6 / 2000;
			costs[i].stored[c] = floor(SPW_QUANTUM *
				(1 - yields * (0.4 + 0.5 * effort)));
		}
	}
}

/* Memory, a local disk, a burst buffer, home. */
static void
make_tiers(void)
{
	static const double bw[] = { 10e9, 1.2e9, 400e6, 100e6 };
	static const double latency[] = { 1e-6, 80e-6, 500e-6, 1e-3 };

	for (int i = 0; i < 4; i++)
		tiers[i] = (struct spw_tier_state){
			.available = true, .choices = SPW_CHOICES_ALL,
			.free = UINT64_C(64) << (30 + 2 * i),
			.write_bw = bw[i], .read_bw = bw[i],
			.latency = latency[i],
		};
	tiers[3].choices = SPW_CHOICES_RAW;
	tiers[3].free = UINT64_MAX;
}

/* Tasks of 4 KiB to 4 MiB; from `kinds` sizes, or any. */
static void
make_tasks(unsigned kinds)
{
	for (unsigned i = 0; i < TASKS; i++) {
		task[i].costs = &costs[draw(&state) % STREAMS];
		task[i].bytes = kinds ? UINT64_C(4096) << draw(&state) % kinds
				      : 1 + draw(&state) % (4 << 20);
	}
}

/* What becomes of the upper tiers while decisions are made. */
enum fill { ROOMY, FILLING, TIGHT };

/* Each plan takes its room; 64, 192 and 2048 MiB, then all is empty again. */
static void
fill_up(const struct spw_costs *of, const struct spw_plan *plan)
{
	struct spw_expected e;

	for (unsigned i = 0; i < plan->n; i++) {
		spw_choose_expect(ch, of, &plan->piece[i], &e);
		spw_choose_take(ch, plan->piece[i].tier, e.stored);
	}
	if (plan->piece[0].tier < 3)
		return;
	ch->free[0] = 64 << 20;
	ch->free[1] = 192 << 20;
	ch->free[2] = UINT64_C(2) << 30;
}

/* The two upper ones have 0 to 4 MiB left, which is how large tasks are. */
static void
make_tight(unsigned i)
{
	ch->free[0] = (i * UINT64_C(2654435761)) % (4 << 20);
	ch->free[1] = (i * UINT64_C(40503)) % (4 << 20);
}

static double
fresh(enum fill fill)
{
	struct spw_plan plan;
	double start = worked(), sum = 0;

	for (unsigned i = 0; i < FRESH; i++) {
		unsigned k = i % TASKS;

		if (fill == TIGHT)
			make_tight(i);
		CHECK(!spw_choose_solve(ch, task[k].costs, task[k].bytes,
					&plan));
		sum += plan.cost;
		if (fill == FILLING)
			fill_up(task[k].costs, &plan);
	}
	sink = sum;
	return FRESH / (worked() - start);
}

static double
kept(void)
{
	double start = worked();
	struct spw_chooser *our = ch;
	uint64_t sum = 0;
	unsigned n;

	for (unsigned i = 0; i < KEPT; i++) {
		unsigned k = i % TASKS;

		sum += spw_choose(our, task[k].costs, task[k].bytes,
				  &n)->choice;
	}
	sink = (double)sum;
	return KEPT / (worked() - start);
}

static int
compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

static void
show(const char *name, double *rate, double goal)
{
	qsort(rate, ROUNDS, sizeof(*rate), compare);
	printf("%-44s %8.1f", name, rate[ROUNDS / 2] / 1e6);
	if (goal > 0)
		printf("  >= %-5.0f %s", goal,
		       rate[ROUNDS / 2] >= goal * 1e6 ? "ok" : "MISSED");
	printf("\n");
}

static void
race_fresh(const char *name, unsigned choices, enum fill fill, double goal)
{
	double rate[ROUNDS];

	make_costs(choices);
	make_tasks(0);
	CHECK(!spw_choose_tiers(ch, tiers, 4));
	for (int i = 0; i < ROUNDS; i++)
		rate[i] = fresh(fill);
	show(name, rate, goal);
}

int
main(void)
{
	double rate[ROUNDS];

	ch = spw_choose_new();
	CHECK(ch);
	make_tiers();
	printf("%-44s %8s  %s\n", "million decisions a second, 4 tiers",
	       "median", "goal");
	race_fresh("worked out, 12 choices", 12, ROOMY, 5);
	race_fresh("the same while tiers fill up", 12, FILLING, 5);
	race_fresh("the same, tasks as large as what is left", 12, TIGHT, 0);
	race_fresh("worked out, 40 choices", 40, ROOMY, 0);
	race_fresh("the same while tiers fill up", 40, FILLING, 0);
	make_costs(12);
	make_tasks(11);
	CHECK(!spw_choose_tiers(ch, tiers, 4));
	for (int i = 0; i < ROUNDS; i++)
		rate[i] = kept();
	show("from memory, 32 streams, 11 sizes", rate, 300);
	spw_choose_free(ch);
	return 0;
}
