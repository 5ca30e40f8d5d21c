/* SPDX-License-Identifier: BSD-3-Clause */
/* tier-apart.c -- transfers say when they were over, however late one looks */

#include "shm/util.h"
#include "tests/guarded.h"
#include "tests/tier-kit.h"
#include "tiers/apart.h"

enum { PUTS = 4, RAW = 5000, LATE_US = 1000000, CAPACITY = 64 << 20 };

int
main(void)
{
	char *dir = kit_directory("."), *place = realpath(dir, NULL);
	struct spw_tier_setup setup = {
		.place = place, .owner = "apart", .create = true,
		.capacity = CAPACITY,
	};
	struct spw_transfer put[PUTS] = { { .up = false } };
	int64_t began = spw_now_ns(), before;
	unsigned seen = 0;
	struct spw_apart *a;
	struct spw_bell *b;

	CHECK(place && !spw_bell_new(&b));
	CHECK(!spw_apart_open(b, spw_tier_by_kind("bb"), &setup, &a));
	for (unsigned i = 0; i < PUTS; i++) {
		put[i].buf = kit_buffer();
		put[i].len = kit_make(put[i].buf, i + 1, RAW);
		spw_apart_move(a, &put[i], false);
	}
	usleep(LATE_US);
	before = spw_now_ns() - LATE_US / 2 * INT64_C(1000);
	for (struct spw_transfer *x; (x = spw_apart_reap(a)); seen++) {
		CHECK(!x->err && x->ended > began && x->ended < before);
		free(x->buf);
	}
	CHECK(seen == PUTS);
	CHECK(!spw_apart_close(a, true));
	spw_bell_free(b);
	free(place);
	kit_remove(dir);
	return 0;
}
