/* SPDX-License-Identifier: BSD-3-Clause */
/* unit-glance.c -- counting what is not home while blocks come and go */

/*
 * A block that is given back has no file: whoever counts without a lock must
 * not take the number of its file twice, once to check it and once to use it.
 */
#include <pthread.h>
#include <time.h>

#include "planner/chunks.h"
#include "planner/drain.h"
#include "tests/counted.h"
#include "tests/one-lane.h"
#include "tools/unhomed.h"

enum { BLOCKS = 64, SECONDS = 1 };

static _Atomic bool over;

static void
fill(void)
{
	for (uint32_t i = 0; i < BLOCKS; i++) {
		map.blocks[i].state = (struct spw_block_state){
			.slot = SPW_NONE, .moving_slot = SPW_NONE,
			.mask = SPW_NONE, .ndirty = 1,
			.dirty.r[0] = { 0, SPW_BLOCK_SIZE },
		};
		atomic_store(&map.owners[SPW_POOL_BLOCKS][i], SPW_IN_USE);
		atomic_store(&map.owners[SPW_POOL_CHUNKS][i], SPW_IN_USE);
		map.chunks[i].file_gen = map.files[0].gen;
		atomic_store(&map.chunks[i].below[0], 1);
	}
	atomic_store(&map.seg->pools[SPW_POOL_BLOCKS].ready, BLOCKS);
	atomic_store(&map.seg->pools[SPW_POOL_CHUNKS].ready, BLOCKS);
}

/* As link_block and take_out do it, under locks that the counters ignore. */
static void *
come_and_go(void *arg)
{
	for (uint32_t n = 0; !atomic_load(&over); n++)
		for (uint32_t i = 0; i < BLOCKS; i++) {
			map.blocks[i].file = n % 2 ? SPW_NONE : 0;
			map.chunks[i].file = n % 2 ? SPW_NONE : 0;
			atomic_signal_fence(memory_order_seq_cst);
		}
	return arg;
}

static void
count(void)
{
	struct spw_drain_left left;
	struct spw_unhomed *list;
	size_t n;

	spw_drainer_left(&map, &left);
	CHECK(left.bytes <= 2 * BLOCKS * SPW_BLOCK_SIZE);
	CHECK(spw_unhomed_list(&map, &list, &n) == 0);
	free(list);
}

int
main(void)
{
	time_t end = time(NULL) + SECONDS + 1;
	pthread_t thread;

	lane_begin();
	fill();
	CHECK(pthread_create(&thread, NULL, come_and_go, NULL) == 0);
	while (time(NULL) < end)
		count();
	atomic_store(&over, true);
	pthread_join(thread, NULL);
	lane_end();
	return failures != 0;
}
