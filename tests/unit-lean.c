/* SPDX-License-Identifier: BSD-3-Clause */
/* unit-lean.c -- a segment that a reader made has memory for blocks when one
 * is written, part by part, or says that there is none */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
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

/* What lies further on cannot be reserved: as if /dev/shm were full. For good,
 * so by a child. The segment is smaller than 4 GiB. */
static void
allow(uint64_t bytes)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
			 offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_fallocate, 0, 6),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
			 offsetof(struct seccomp_data, args[2])),
		BPF_STMT(BPF_MISC | BPF_TAX, 0),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
			 offsetof(struct seccomp_data, args[3])),
		BPF_STMT(BPF_ALU | BPF_ADD | BPF_X, 0),
		BPF_JUMP(BPF_JMP | BPF_JGT | BPF_K, (uint32_t)bytes, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSPC),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = {
		.len = sizeof(code) / sizeof(*code), .filter = code,
	};

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) < 0)
		_exit(77);
}

static int64_t
put(uint64_t number)
{
	uint8_t block[SPW_BLOCK_SIZE];
	struct spw_source src = { block, sizeof(block), NULL };

	memset(block, (int)(number / LEAP) + 1, sizeof(block));
	return spw_cache_write(&me, &target, &src, sizeof(block),
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

/* By a child with a lane of its own, which it leaves behind. */
static int
by_child(void (*work)(void *arg), void *arg)
{
	int pid = fork(), status = -1;

	if (pid == 0) {
		if (spw_lane_claim(&map, SPW_NONE, &me) < 0)
			_exit(1);
		work(arg);
		_exit(0);
	}
	CHECK(waitpid(pid, &status, 0) == pid);
	CHECK(spw_lane_adopt_all(&me) == 1);
	return status;
}

#ifdef SPW_FAILPOINTS
static void
put_with(void *point)
{
	spw_failpoint_set(point);
	(void)put(0);
}

/* A record that begins in the block before. */
static int64_t
cross(uint64_t number)
{
	static const uint8_t record[100];
	struct spw_source src = { record, sizeof(record), NULL };

	return spw_cache_write(&me, &target, &src, sizeof(record),
			       (number << SPW_BLOCK_SHIFT) - 50);
}

static void
cross_and_die(void *number)
{
	spw_failpoint_set("block-redo:1");
	(void)cross(*(uint64_t *)number);
}
#endif

/* Memory is there, and who got it has not said so: the next one does. */
static void
die_at(const char *point)
{
#ifdef SPW_FAILPOINTS
	int status = by_child(put_with, (void *)point);

	CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	CHECK(!parts() && !is_found(0));
#else
	(void)point;
#endif
}

/* Who dies between two blocks of a record did not wait for memory there: it was
 * there for both. */
static void
check_crossing(uint64_t number)
{
#ifdef SPW_FAILPOINTS
	int before, at_death;

	do {
		number += LEAP;
		CHECK(put(number - 1) == SPW_BLOCK_SIZE);
		before = parts();
		CHECK(WIFSIGNALED(by_child(cross_and_die, &number)));
		at_death = parts();
		CHECK(cross(number) == 100 && parts() == at_death);
	} while (at_death == before && number < 1000 * LEAP);
	CHECK(at_death > before);
#else
	(void)number;
#endif
}

struct filling {
	uint64_t to;			/* the first that is not there */
	int64_t r;			/* what was said of it */
};

static void
put_until_full(void *arg)
{
	struct filling *f = arg;

	if (f->to)			/* over itself: slots are at hand then */
		(void)put(f->to);
	allow(map.fixed.buckets_off);
	while ((f->r = put(f->to)) == SPW_BLOCK_SIZE && parts() == 2)
		f->to += LEAP;
}

/* Blocks far from each other, from one on up to the first for which there is no
 * memory; none that was written before is lost. */
static uint64_t
fill_up(uint64_t from)
{
	struct filling *f = mmap(NULL, sizeof(*f), PROT_READ | PROT_WRITE,
				 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	uint64_t to;
	int status;

	CHECK(f != MAP_FAILED);
	f->to = from;
	status = by_child(put_until_full, f);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 77) {
		puts("SKIP: no filter of system calls is to be had");
		exit(77);
	}
	CHECK(status == 0 && f->r == -ENOMEM);
	to = f->to;
	munmap(f, sizeof(*f));
	CHECK(!is_found(to));
	for (uint64_t i = 0; i < to; i += LEAP)
		CHECK(is_found(i) && is_right(i));
	return to;
}

int
main(void)
{
	uint64_t full;

	lane_begin_in((struct spw_seg_request){
		.bytes = 1 << 30, .below = 1 << 30, .made = SPW_MADE_TO_READ,
	});
	check_empty();
	CHECK(fill_up(0) == 0);
	check_empty();
	die_at("pool-reserved:1");
	die_at("part-reserved:1");
	CHECK(put(0) == SPW_BLOCK_SIZE && is_found(0) && is_right(0));
	CHECK(parts() == 1);
	for (uint64_t i = LEAP; parts() == 1; i += LEAP)
		CHECK(put(i) == SPW_BLOCK_SIZE && is_right(i));
	CHECK(parts() == 2);
	full = fill_up(LEAP);
	CHECK(put(full) == SPW_BLOCK_SIZE && is_right(full));
	CHECK(parts() == 3);
	check_crossing(full);
	lane_end();
	return failures != 0;
}
