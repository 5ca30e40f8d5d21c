/* SPDX-License-Identifier: BSD-3-Clause */
/* unit-lean.c -- a segment that a reader made has memory for blocks when one
 * is written, part by part, or says that there is none */
#include <errno.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "shm/blocks.h"
#include "shm/cache.h"
#include "shm/failpoint.h"
#include "tests/counted.h"
#include "tests/one-lane.h"

enum { LITTLE = 2 << 20, FILE_NO = 3, LEAP = 16 };

static const struct spw_target target = { .file = FILE_NO, .fd = -1 };

static uint64_t
memory(void)
{
	struct stat st;

	return stat(map.path, &st) < 0 ? UINT64_MAX
				       : (uint64_t)st.st_blocks * 512;
}

static int
parts(void)
{
	return __builtin_popcountll(atomic_load(&map.seg->indexed));
}

/* What lies further on cannot be reserved: as if /dev/shm were full. */
static void
allow(rlim_t bytes)
{
	struct rlimit limit;

	getrlimit(RLIMIT_FSIZE, &limit);
	limit.rlim_cur = bytes;
	setrlimit(RLIMIT_FSIZE, &limit);
}

static int64_t
put(uint64_t number)
{
	uint8_t block[SPW_BLOCK_SIZE];

	memset(block, (int)(number / LEAP) + 1, sizeof(block));
	return spw_cache_write(&me, &target, block, sizeof(block),
			       number << SPW_BLOCK_SHIFT);
}

static bool
is_found(uint64_t number)
{
	struct spw_key key = { FILE_NO, map.files[FILE_NO].gen, number };

	return spw_block_find(&me, &key) != SPW_NONE &&
	       spw_block_glance(&map, &key) != SPW_NONE;
}

static bool
is_right(uint64_t number)
{
	uint8_t block[SPW_BLOCK_SIZE];

	return spw_cache_read(&me, &target, block, sizeof(block),
			      number << SPW_BLOCK_SHIFT) == sizeof(block) &&
	       block[0] == (uint8_t)(number / LEAP + 1) &&
	       !memcmp(block, block + 1, sizeof(block) - 1);
}

/* Neither a block nor memory for one. */
static void
check_empty(void)
{
	CHECK(memory() < LITTLE);
	CHECK(!parts());
	CHECK(!spw_seg_ready(&map, SPW_POOL_BLOCKS));
	CHECK(!spw_seg_ready(&map, SPW_POOL_SLOTS));
	CHECK(!is_found(0));
}

/* Memory is there, and who got it has not said so: the next one does. */
static void
die_at(const char *point)
{
#ifdef SPW_FAILPOINTS
	int pid = fork(), status = 0;

	if (pid == 0) {
		if (spw_lane_claim(&map, SPW_NONE, &me) < 0)
			_exit(1);
		spw_failpoint_set(point);
		(void)put(0);
		_exit(1);
	}
	CHECK(waitpid(pid, &status, 0) == pid && WIFSIGNALED(status) &&
	      WTERMSIG(status) == SIGKILL);
	CHECK(spw_lane_adopt_all(&me) == 1);
	CHECK(!parts() && !is_found(0));
#else
	(void)point;
#endif
}

/* Blocks far from each other, up to the first for which there is no memory;
 * none that was written before is lost. */
static void
fill_up(void)
{
	uint64_t number = LEAP;
	int64_t r;

	allow(map.fixed.buckets_off);
	while ((r = put(number)) == SPW_BLOCK_SIZE && parts() == 2)
		number += LEAP;
	CHECK(r == -ENOMEM);
	CHECK(!is_found(number));
	for (uint64_t i = 0; i < number; i += LEAP)
		CHECK(is_found(i) && is_right(i));
	allow(RLIM_INFINITY);
	CHECK(put(number) == SPW_BLOCK_SIZE && is_right(number));
	CHECK(parts() == 3);
}

int
main(void)
{
	lane_begin_in((struct spw_seg_request){
		.bytes = 1 << 30, .below = 1 << 30, .made = SPW_MADE_TO_READ,
	});
	check_empty();
	allow(map.fixed.buckets_off);
	CHECK(put(0) == -ENOMEM);
	check_empty();
	allow(RLIM_INFINITY);
	die_at("pool-reserved:1");
	die_at("part-reserved:1");
	CHECK(put(0) == SPW_BLOCK_SIZE && is_found(0) && is_right(0));
	CHECK(parts() == 1);
	for (uint64_t i = LEAP; parts() == 1; i += LEAP)
		CHECK(put(i) == SPW_BLOCK_SIZE && is_right(i));
	CHECK(parts() == 2);
	fill_up();
	lane_end();
	return failures != 0;
}
