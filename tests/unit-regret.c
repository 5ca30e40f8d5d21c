/* SPDX-License-Identifier: BSD-3-Clause */
/* unit-regret.c -- what one slow trial or block costs, beside an oracle */

/* Streams of 64 MiB to one tier, as in bench-engine, with the times of
 * trial-made.c, on a slow machine and on a quick one, where a codec that ran not
 * just now takes far longer for a sample.  Each of the trials is held up once,
 * and each of the first blocks, as when others use the machine.  What was chosen
 * and what trials took is to stay near what an oracle chooses.
 */

#include "planner/advisor.h"
#include "planner/ways.h"
#include "tests/analyze-data.h"
#include "tests/trial-made.h"

enum { BLOCK = 1 << 20, BLOCKS = 3, STREAM = 64, SLOW = 80, FIRST = 4 };

#define GOAL 0.03

static const struct made_machine machines[] = {
	{ .pace = 3 }, { .pace = 0.45, .cold = 25e-6 },
};

static struct spw_ways ways;
static struct spw_packer *packer;
static uint8_t *object;
static size_t room;

static struct {
	const char *name;
	uint8_t *data;
	struct spw_traits traits[BLOCKS];
	uint64_t stored[BLOCKS][SPW_CHOICES_MAX];	/* 0: not known yet */
} at;

static struct spw_object_pack
pack_of(unsigned block, unsigned way)
{
	return spw_ways_pack(&ways.at[way], &at.traits[block]);
}

static uint64_t
stored_by(unsigned block, unsigned way)
{
	struct spw_object o = { .length = BLOCK, .cut = UINT64_MAX };
	struct spw_object_pack pack = pack_of(block, way);
	uint64_t *stored = &at.stored[block][way];

	if (!way)
		return BLOCK;
	if (!*stored)
		*stored = (uint64_t)spw_object_encode(
			packer, &o, &pack, object, room,
			at.data + (size_t)block * BLOCK);
	return *stored;
}

static double
time_of(unsigned block, unsigned way)
{
	const double parts = (double)BLOCK / SPW_TRIAL_MAX;
	struct spw_object_pack pack = pack_of(block, way);

	return way ? parts * made_time(&pack, SPW_TRIAL_MAX,
				       (double)stored_by(block, way) / parts)
		   : 0;
}

static double
cost_of(unsigned block, unsigned way, double bw)
{
	return time_of(block, way) + (double)stored_by(block, way) / bw;
}

static double
oracle(unsigned block, double bw)
{
	uint64_t fit = spw_ways_fit(&ways, &at.traits[block]);
	double best = cost_of(block, 0, bw);

	for (unsigned w = 1; w < ways.n; w++)
		if (fit >> w & 1 && ways.speed[w] >= SLOW &&
		    spw_codec_by_id(ways.at[w].codec))
			best = SPW_MIN(best, cost_of(block, w, bw));
	return best;
}

/* Trial and block are numbers from 1 on; 0: none of them is held up. */
static double
regret(double bw, unsigned slow_trial, unsigned slow_block)
{
	struct spw_advisor_setup setup = { .weights = { 1, 0, 0 } };
	double start = spw_trial_clock(), cost = 0, best = 0;
	struct spw_advisor *a;

	made_trials = 0;
	made_slow = slow_trial;
	CHECK(!spw_advisor_new(&setup, &a));
	CHECK(!spw_advisor_add(a, &(struct spw_monitored){
		.capacity = UINT64_MAX, .write_bw = bw, .read_bw = bw,
		.choices = SPW_CHOICES_ALL,
	}));
	for (unsigned i = 0; i < STREAM; i++) {
		const unsigned block = i % BLOCKS;
		struct spw_advice advice;
		unsigned way;

		CHECK(!spw_advisor_ask(a, 1, at.data + (size_t)block * BLOCK,
				       BLOCK, BLOCK, NULL, SPW_ADVISOR_TIERS,
				       &advice));
		made_cool();
		way = advice.piece[0].choice;
		spw_advisor_learn(a, &advice, 0, &(struct spw_observed){
			.bytes = BLOCK, .stored = stored_by(block, way),
			.pack = time_of(block, way) *
				(i + 1 == slow_block ? MADE_SLOWER : 1),
		});
		cost += cost_of(block, way, bw);
		best += oracle(block, bw);
	}
	spw_advisor_free(a);
	return (cost + spw_trial_clock() - start) / best - 1;
}

/* How many of them are worse than they may be. */
static unsigned
count_missed(double bw)
{
	double quiet = regret(bw, 0, 0), worst = quiet, r;
	unsigned trials = made_trials, missed = quiet > GOAL;

	for (unsigned i = 1; i <= trials + FIRST; i++) {
		r = i <= trials ? regret(bw, i, 0) : regret(bw, 0, i - trials);
		worst = SPW_MAX(worst, r);
		if (r > GOAL) {
			missed++;
			printf("  %s %u is slow: %.2f\n", i <= trials ? "trial"
			       : "block", i <= trials ? i : i - trials, 100 * r);
		}
	}
	printf("%s at %.0f MB/s: %.2f %% above the oracle, at most %.2f of %u "
	       "trials\n", at.name, bw / 1e6, 100 * quiet, 100 * worst, trials);
	return missed;
}

static unsigned
test_stream(const char *name)
{
	static const double bw[] = { 100e6, 400e6, 1500e6 };
	unsigned missed = 0;

	at.name = name;
	data_fill(name, 1, at.data, (size_t)BLOCKS * BLOCK);
	memset(at.stored, 0, sizeof(at.stored));
	for (unsigned i = 0; i < BLOCKS; i++)
		spw_analyze(at.data + (size_t)i * BLOCK, BLOCK, BLOCK, NULL,
			    &at.traits[i]);
	for (size_t k = 0; k < ARRAY_LEN(bw); k++)
		missed += count_missed(bw[k]);
	return missed;
}

int
main(void)
{
	static const char *const names[] = { "zeros", "words", "table",
		"i32 counter", "i32 walk", "f32 uniform", "f32 field" };
	unsigned missed = 0;

	if (spw_codec_load(NULL) == 1) {
		puts("no codec but none in this build");
		return 77;
	}
	spw_ways_fill(&ways, NULL, 0);
	room = spw_round_up(spw_object_bound(0, BLOCK), 64);
	object = aligned_alloc(64, room);
	at.data = malloc((size_t)BLOCKS * BLOCK);
	CHECK(object && at.data && !spw_packer_new(&packer));
	for (size_t m = 0; m < ARRAY_LEN(machines); m++) {
		made_machine = machines[m];
		printf("codecs %.2f times as slow as usual\n",
		       made_machine.pace);
		for (size_t i = 0; i < ARRAY_LEN(names); i++)
			missed += test_stream(names[i]);
	}
	printf("%u missed\n", missed);
	spw_packer_free(packer);
	free(object);
	free(at.data);
	return missed > 0;
}
