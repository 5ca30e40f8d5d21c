/* SPDX-License-Identifier: BSD-3-Clause */
/* bench-tier.c -- how fast a tier takes objects and gives them back */

/*
 * usage: bench-tier KIND DIR MIB write|read|sync
 *
 * Past the page cache, where a tier can. write: objects of 1 MiB until MIB are
 * in, then a sync; MB/s over all of it.
 * read: the same, and then reads them back from the device; MB/s of that.
 * sync: objects of 4 KiB, a sync after each; microseconds for one.
 */

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "shm/util.h"
#include "tests/clocks.h"
#include "tests/guarded.h"
#include "tiers/object.h"
#include "tiers/tier.h"

enum { DEPTH = 16, RAW = 1 << 20, SMALL = 4096, SYNCS = 200 };

static const struct spw_tier_ops *ops;
static struct spw_tier *tier;
static struct spw_transfer transfers[DEPTH];
static uint64_t *places;
static size_t stored;

static void
make_objects(uint64_t raw)
{
	static const char path[] = "/a/checkpoint/of/some/length.h5";
	const struct spw_object_pack pack = { 0 };
	struct spw_object o = {
		.length = raw,
		.cut = UINT64_MAX,
		.path = path,
		.path_len = sizeof(path) - 1,
	};
	size_t cap = spw_round_up(spw_object_bound(o.path_len, raw),
				  SPW_TIER_ALIGN);
	uint64_t *src = malloc(raw), seed = 1, i;
	struct spw_packer *packer;

	CHECK(src && spw_packer_new(&packer) == 0);
	for (i = 0; i < raw / 8; i++)
		src[i] = draw(&seed);
	for (i = 0; i < DEPTH; i++) {
		int64_t n;

		transfers[i].buf = aligned_alloc(SPW_TIER_ALIGN, cap);
		o.seq = i + 1;
		n = spw_object_encode(packer, &o, &pack, transfers[i].buf, cap,
				      src);
		CHECK(n > 0);
		stored = transfers[i].len = (size_t)n;
	}
	spw_packer_free(packer);
	free(src);
}

/* Keeps DEPTH under way until n are over. */
static void
move_all(uint64_t n, bool up)
{
	uint64_t begun = 0, over = 0;
	struct spw_transfer *x;

	while (over < n) {
		if (begun < n && begun < DEPTH) {
			x = &transfers[begun];
		} else {
			x = ops->reap(tier, true);
			CHECK(x && x->err == 0);
			if (!up)
				places[(uintptr_t)x->user] = x->place;
			over++;
		}
		if (begun == n)
			continue;
		x->up = up;
		x->at = 0;
		x->len = stored;
		x->user = (void *)(uintptr_t)begun;
		if (up)
			x->place = places[begun];
		CHECK(ops->submit(tier, x) == 0);
		begun++;
	}
}

static double
rate(uint64_t n, bool up)
{
	double start = now();

	move_all(n, up);
	if (!up)
		CHECK(ops->sync(tier) == 0);
	return (double)(n * RAW) / 1e6 / (now() - start);
}

static double
sync_time(void)
{
	double start;
	int i;

	move_all(DEPTH, false);
	CHECK(ops->sync(tier) == 0);
	start = now();
	for (i = 0; i < SYNCS; i++) {
		CHECK(ops->submit(tier, &transfers[0]) == 0);
		CHECK(ops->reap(tier, true)->err == 0);
		CHECK(ops->sync(tier) == 0);
	}
	return (now() - start) / SYNCS * 1e6;
}

int
main(int argc, char **argv)
{
	struct spw_tier_setup setup = { .owner = "bench", .io = "direct",
					.create = true };
	double figure;
	uint64_t n;

	if (argc != 5) {
		fprintf(stderr, "usage: bench-tier KIND DIR MIB "
			"write|read|sync\n");
		return 2;
	}
	ops = spw_tier_by_kind(argv[1]);
	CHECK(ops);
	n = strtoull(argv[3], NULL, 10);
	setup.place = argv[2];
	setup.capacity = (n + n / 4 + 256) << 20;
	CHECK(ops->open(&setup, &tier) == 0);
	make_objects(strcmp(argv[4], "sync") ? RAW : SMALL);
	places = calloc(SPW_MAX(n, (uint64_t)DEPTH), sizeof(*places));
	CHECK(places);
	if (!strcmp(argv[4], "sync"))
		figure = sync_time();
	else
		figure = rate(n, false);
	if (!strcmp(argv[4], "read"))
		figure = rate(n, true);
	CHECK(ops->close(tier, true) == 0);
	printf("%.1f\n", figure);
	return 0;
}
