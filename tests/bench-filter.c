/* SPDX-License-Identifier: BSD-3-Clause */
/* bench-filter.c -- how fast the prefilters are, by each way */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tiers/filter-way.h"

enum { BLOCK = 1 << 20, TIMES = 40 };

static unsigned char *plain, *filtered;

static double
now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec * 1e9 + (double)ts.tv_nsec;
}

typedef int run(const struct spw_filter_way *way,
		const struct spw_filter_spec *f, void *dst, const void *src,
		size_t n);

/* GB/s; the fastest of several, since something else runs here as well. */
static double
measure(run *run, const struct spw_filter_way *way,
	const struct spw_filter_spec *f, void *dst, const void *src)
{
	double best = 0, start, speed;

	for (int i = 0; i < TIMES; i++) {
		start = now();
		if (run(way, f, dst, src, BLOCK) < 0)
			exit(1);
		speed = BLOCK / (now() - start);
		best = speed > best ? speed : best;
	}
	return best;
}

static void
line(const struct spw_filter_spec *f)
{
	const struct spw_filter_way *way;

	printf("%-20s %5u", spw_filter_name(f->id), f->width);
	for (size_t i = 0; (way = spw_filter_way(i)); i++)
		printf("  %5.1f %5.1f", measure(spw_filter_apply_by, way, f,
						filtered, plain),
		       measure(spw_filter_undo_by, way, f, plain, filtered));
	printf("\n");
}

int
main(void)
{
	static const uint8_t widths[] = { 1, 2, 4, 8, 12, 24, 32, 100 };
	const struct spw_filter_way *way;
	struct spw_filter_spec f;

	plain = malloc(BLOCK);
	filtered = malloc(BLOCK);
	if (!plain || !filtered)
		return 1;
	for (size_t i = 0; i < BLOCK; i++)
		plain[i] = (unsigned char)(i * 2654435761u >> 13);
	memset(filtered, 0, BLOCK);
	printf("%-20s %5s", "filter, 1 MiB", "width");
	for (size_t i = 0; (way = spw_filter_way(i)); i++)
		printf("  %-11s", way->name);
	printf("\n%-26s", "");
	for (size_t i = 0; spw_filter_way(i); i++)
		printf("  GB/s  undo ");
	printf("\n");
	for (f.id = 1; f.id < SPW_FILTERS; f.id++)
		for (size_t i = 0; i < sizeof(widths); i++) {
			f.width = widths[i];
			if (spw_filter_is_known(&f))
				line(&f);
		}
	free(plain);
	free(filtered);
	return 0;
}
