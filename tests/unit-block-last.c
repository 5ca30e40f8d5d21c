/* SPDX-License-Identifier: BSD-3-Clause */
/* unit-block-last.c -- the block a lane wrote last is used while it is one */

/*
 * A lane looks first at the block that it wrote last. That one was dropped
 * meanwhile, and another process took it for the same place in the file, and
 * died between giving it its key and linking it: it looks like the block, and
 * the index does not lead there.
 */
#include <signal.h>
#include <sys/wait.h>

#include "shm/blocks.h"
#include "tests/counted.h"
#include "tests/one-lane.h"

static const struct spw_key key = { 0, 1, 7 };

static uint32_t
lock_block(void)
{
	uint32_t idx;

	spw_guard_enter();
	if (!me.lane->nblocks)
		(void)spw_lane_stock_blocks(&me, 1);
	idx = spw_block_lock(&me, &key);
	CHECK(idx != SPW_NONE);
	CHECK(spw_block_find(&me, &key) == idx);
	return idx;
}

static void
unlock_block(uint32_t idx)
{
	spw_unlock(&map.blocks[idx].lock);
	spw_guard_leave();
}

/* As spw_block_lock does it for a new block, up to the link. */
static void
die_over(uint32_t idx)
{
	struct spw_block *b = &map.blocks[idx];
	struct spw_me mine;
	uint32_t got;

	if (spw_lane_claim(&map, SPW_NONE, &mine) < 0)
		_exit(1);
	do {
		if (!spw_pool_take(&mine, SPW_POOL_BLOCKS, 1, &got))
			_exit(1);
	} while (got != idx);
	spw_lock(&mine, SPW_LOCK_BLOCK, &b->lock);
	b->file = key.file;
	b->file_gen = key.file_gen;
	b->number = key.number;
	(void)raise(SIGKILL);
}

int
main(void)
{
	uint32_t idx;
	int status;

	lane_begin();
	idx = lock_block();
	unlock_block(idx);
	CHECK(lock_block() == idx);	/* the last one, and still it */
	spw_block_remove(&me, idx);
	spw_guard_leave();
	CHECK(spw_block_find(&me, &key) == SPW_NONE);
	if (fork() == 0)
		die_over(idx);
	CHECK(wait(&status) > 0 && WIFSIGNALED(status));
	unlock_block(lock_block());
	lane_end();
	return failures != 0;
}
