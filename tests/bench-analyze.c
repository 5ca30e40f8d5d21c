/* SPDX-License-Identifier: BSD-3-Clause */
/* bench-analyze.c -- what looking at 1 MiB costs beside packing it with lz4 */

/* Each kind of data lies in more blocks than the caches hold, so that the first
 * look at a block waits for the memory; the second one does not.  Eight blocks
 * are looked at and then packed, as runs are drained, and so that what else is
 * busy here slows both.  What is shown are medians.
 */

#include <errno.h>
#include <stdio.h>
#include <time.h>

#include "tests/analyze-data.h"
#include "tiers/codec.h"

enum { BLOCK = 1 << 20, BLOCKS = 96, RUN = 8 };

static uint8_t *blocks, *packed;

static double
now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec * 1e6 + (double)ts.tv_nsec / 1e3;
}

static int
compare(const void *a, const void *b)
{
	double d = *(const double *)a - *(const double *)b;

	return d > 0 ? 1 : d < 0 ? -1 : 0;
}

static double
median(double *took)
{
	qsort(took, BLOCKS, sizeof(*took), compare);
	return took[BLOCKS / 2];
}

static double
clock_cost(void)
{
	double took[BLOCKS], start;

	for (int i = 0; i < BLOCKS; i++) {
		start = now();
		took[i] = now() - start;
	}
	return median(took);
}

/* us a block, and what looking is of packing in percent. */
struct cost {
	double look, again, pack, share, share_again;
};

static double
look_at(size_t i, struct spw_traits *ret)
{
	double start = now();

	spw_analyze(blocks + i * BLOCK, BLOCK, i * BLOCK, NULL, ret);
	return now() - start;
}

static double
pack(const struct spw_codec *lz4, size_t i)
{
	double start = now();

	if (spw_codec_encode(lz4, spw_codec_ctx(lz4), 1, packed,
			     lz4->bound(BLOCK), blocks + i * BLOCK, BLOCK) < 0)
		exit(1);
	return now() - start;
}

static struct cost
measure(const struct spw_codec *lz4, double clock, struct spw_traits *ret)
{
	double look[BLOCKS], again[BLOCKS], packs[BLOCKS];
	double share[BLOCKS], share_again[BLOCKS];
	size_t i, k;

	for (k = 0; k < BLOCKS; k += RUN) {
		for (i = k; i < k + RUN; i++)
			look[i] = look_at(i, ret) - clock;
		for (i = k; i < k + RUN; i++)
			again[i] = look_at(i, ret) - clock;
		for (i = k; i < k + RUN; i++)
			packs[i] = pack(lz4, i) - clock;
	}
	for (i = 0; i < BLOCKS; i++) {
		share[i] = 100 * look[i] / packs[i];
		share_again[i] = 100 * again[i] / packs[i];
	}
	return (struct cost){ median(look), median(again), median(packs),
			      median(share), median(share_again) };
}

int
main(void)
{
	const struct spw_codec *lz4;
	double clock = clock_cost(), worst = 0, worst_again = 0;
	struct cost cost;
	struct spw_traits t;
	uint64_t seed = 1;

	(void)spw_codec_load(NULL);
	lz4 = spw_codec_by_name("lz4");
	if (!lz4) {
		printf("no lz4 here to compare the analyzer with\n");
		return 0;
	}
	blocks = malloc((size_t)BLOCKS * BLOCK);
	packed = malloc(lz4->bound(BLOCK));
	if (!blocks || !packed)
		return 1;
	memset(packed, 0, lz4->bound(BLOCK));
	printf("%-16s %8s %7s %7s %7s %8s  %s\n", "look at 1 MiB", "first us",
	       "of lz4", "then us", "of lz4", "lz4 us", "seen as");
	for (size_t c = 0; c < ARRAY_LEN(data_classes); c++) {
		const struct data_class *d = &data_classes[c];

		d->fill(d, blocks, BLOCK, &seed);
		for (size_t i = 1; i < BLOCKS; i++)
			memcpy(blocks + i * BLOCK, blocks, BLOCK);
		cost = measure(lz4, clock, &t);
		worst = fmax(worst, cost.share);
		worst_again = fmax(worst_again, cost.share_again);
		printf("%-16s %8.2f %6.2f%% %7.2f %6.2f%% %8.1f  %s %u/%u %s\n",
		       d->name, cost.look, cost.share, cost.again,
		       cost.share_again, cost.pack,
		       spw_data_kind_name(t.kind), t.width, t.stride,
		       spw_data_shape_name(t.shape));
	}
	printf("%-25s %6.2f%% %7s %6.2f%%\n", "largest share", worst, "",
	       worst_again);
	free(blocks);
	free(packed);
	return 0;
}
