/* SPDX-License-Identifier: BSD-3-Clause */
/* unit-synced.c -- who waits for fsync is woken by his answer, and no other */
#include <pthread.h>

#include "shm/gate.h"
#include "tests/counted.h"
#include "tests/one-lane.h"

enum { TRIES = 20, BIT = 5, WAITERS = 3 };

struct waiter {
	pthread_t thread;
	struct spw_me me;
	uint32_t file;
	_Atomic bool over;
};

/* The last one has a bit of his own. */
static struct waiter waiters[WAITERS] = {
	{ .file = BIT }, { .file = BIT + 32 }, { .file = BIT + 1 },
};
static _Atomic unsigned looks;		/* by those who waited for long */

static int
look(struct spw_map *m)
{
	(void)m;
	looks++;
	return 0;
}

static void *
wait_for_answer(void *arg)
{
	struct waiter *w = arg;

	CHECK(spw_lane_claim(&map, SPW_NONE, &w->me) == 0);
	CHECK(spw_gate_sync(&w->me, w->file) == 0);
	spw_lane_release(&w->me);
	w->over = true;
	return NULL;
}

static void
begin(struct waiter *w)
{
	const struct spw_file *f = &map.files[w->file];
	uint32_t before = atomic_load(&f->sync_asked);

	w->over = false;
	CHECK(!pthread_create(&w->thread, NULL, wait_for_answer, w));
	while (atomic_load(&f->sync_asked) == before)
		usleep(100);
}

static uint32_t
answer(const struct waiter *w)
{
	return spw_gate_synced(&map, w->file,
			       atomic_load(&map.files[w->file].sync_asked), 0);
}

/* Two are told together, the third alone. True: nobody had to look. */
static bool
are_told(void)
{
	looks = 0;
	for (int i = 0; i < WAITERS; i++)
		begin(&waiters[i]);
	usleep(5000);			/* mostly they sleep by then */
	spw_gate_tell_synced(&map, answer(&waiters[0]) | answer(&waiters[1]));
	pthread_join(waiters[0].thread, NULL);
	pthread_join(waiters[1].thread, NULL);
	CHECK(!waiters[2].over);
	spw_gate_tell_synced(&map, answer(&waiters[2]));
	pthread_join(waiters[2].thread, NULL);
	return !looks;
}

int
main(void)
{
	bool told = false;

	lane_begin();
	spw_gate_need_drainer = look;
	atomic_store(&map.seg->durable, 1);
	atomic_store(&map.seg->wake, SPW_DRAINER_AWAKE);
	for (int i = 0; i < TRIES && !told; i++)
		told = are_told();
	CHECK(told);
	lane_end();
	return failures != 0;
}
