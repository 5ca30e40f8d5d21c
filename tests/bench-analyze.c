/* SPDX-License-Identifier: BSD-3-Clause */
/* bench-analyze.c -- what looking at 1 MiB costs beside packing it with lz4 */

/* Each kind of data lies in more blocks than the caches hold, and all of them
 * are looked at, then packed, in turn, so both begin with bytes from memory.
 * What is shown is the median.
 */

#include <errno.h>
#include <stdio.h>
#include <time.h>

#include "tests/analyze-data.h"
#include "tiers/codec.h"

enum { BLOCK = 1 << 20, BLOCKS = 96 };

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

/* us a block */
static double
look(struct spw_traits *ret)
{
	double took[BLOCKS], start;

	for (int i = 0; i < BLOCKS; i++) {
		start = now();
		spw_analyze(blocks + (size_t)i * BLOCK, BLOCK, 0, NULL, ret);
		took[i] = now() - start;
	}
	return median(took);
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

static double
pack(const struct spw_codec *lz4)
{
	double took[BLOCKS], start;

	for (int i = 0; i < BLOCKS; i++) {
		start = now();
		if (spw_codec_encode(lz4, spw_codec_ctx(lz4), 1, packed,
				     lz4->bound(BLOCK),
				     blocks + (size_t)i * BLOCK, BLOCK) < 0)
			exit(1);
		took[i] = now() - start;
	}
	return median(took);
}

int
main(void)
{
	const struct spw_codec *lz4;
	double looked, packing, clock = clock_cost(), worst = 0;
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
	printf("%-16s %9s %9s %7s  %s\n", "1 MiB of", "look us", "lz4 us",
	       "share", "seen as");
	for (size_t c = 0; c < ARRAY_LEN(data_classes); c++) {
		const struct data_class *d = &data_classes[c];

		d->fill(d, blocks, BLOCK, &seed);
		for (size_t i = 1; i < BLOCKS; i++)
			memcpy(blocks + i * BLOCK, blocks, BLOCK);
		looked = look(&t) - clock;
		packing = pack(lz4) - clock;
		if (looked / packing > worst)
			worst = looked / packing;
		printf("%-16s %9.2f %9.1f %6.2f%%  %s %u/%u %s\n", d->name,
		       looked, packing, 100 * looked / packing,
		       spw_data_kind_name(t.kind), t.width, t.stride,
		       spw_data_shape_name(t.shape));
	}
	printf("%-36s %6.2f%%\n", "largest share", 100 * worst);
	free(blocks);
	free(packed);
	return 0;
}
