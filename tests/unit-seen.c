/* SPDX-License-Identifier: BSD-3-Clause */
/* unit-seen.c -- what was seen of a file before it changed does not count */
#include <errno.h>

#include "shm/gate.h"
#include "tests/counted.h"
#include "tests/one-lane.h"

static struct spw_file_seen
see(uint64_t ino, uint64_t size)
{
	return (struct spw_file_seen){
		.id = { 1, ino }, .size = size, .path = "/somewhere",
		.parted = atomic_load(&map.seg->parted),
	};
}

static uint32_t
open_file(const struct spw_file_seen *seen, int expected)
{
	uint32_t file = SPW_NONE;

	CHECK(spw_file_open(&me, seen, &file) == expected);
	return file;
}

static int
nothing(void *arg)
{
	(void)arg;
	return 0;
}

/* Another has it open, changes it and closes it after we looked. */
static void
changed(void (*change)(uint32_t file), uint64_t ino)
{
	struct spw_file_seen before = see(ino, 0), seen;
	uint32_t file = open_file(&before, 0);

	seen = see(ino, 0);
	change(file);
	spw_file_close(&me, file);
	(void)spw_file_reap(&me, file);
	CHECK(spw_file_find(&map, &seen.id) == SPW_NONE);
	CHECK(open_file(&seen, -ESTALE) == SPW_NONE);
	CHECK(spw_file_find(&map, &seen.id) == SPW_NONE);
	seen = see(ino, 5000);
	file = open_file(&seen, 0);
	CHECK(atomic_load(&map.files[file].size) == 5000);
	spw_file_close(&me, file);
}

static void
resize(uint32_t file)
{
	CHECK(spw_gate_resize(&me, file, 5000, nothing, NULL) == 0);
}

static void
dirty(uint32_t file)
{
	spw_file_flag(&map.files[file], SPW_FILE_DIRTIED);
}

static void
leave(uint32_t file)
{
	spw_file_bypass(&map, file, SPW_BYPASS_MMAP);
}

/* The record stays, as it does for one that was written; the kernel served
 * it to the end. */
static void
left(void)
{
	struct spw_file_seen before = see(4, 0), seen;
	uint32_t file = open_file(&before, 0);

	dirty(file);
	leave(file);
	seen = see(4, 0);
	spw_file_close(&me, file);
	CHECK(open_file(&seen, -ESTALE) == SPW_NONE);
	CHECK(atomic_load(&map.files[file].opens) == 0);
	seen = see(4, 5000);
	CHECK(open_file(&seen, 0) == file);
	CHECK(atomic_load(&map.files[file].size) == 5000);
	spw_file_close(&me, file);
	CHECK(spw_file_reap(&me, file));
}

/* Many open and close files that nobody changes: no reason to look again. */
static void
only_read(void)
{
	struct spw_file_seen seen = see(5, 10);
	uint32_t file = open_file(&seen, 0);

	spw_file_close(&me, file);
	CHECK(spw_file_find(&map, &seen.id) == SPW_NONE);
	file = open_file(&seen, 0);
	spw_file_close(&me, file);
}

/* The record of a file that is gone, and its number went to a new one. */
static void
reused(void)
{
	struct spw_file_seen seen = see(6, 0);
	uint32_t file;

	CHECK(!spw_file_is_known(&map, &seen));
	seen.btime = 1;
	file = open_file(&seen, 0);
	dirty(file);
	spw_file_close(&me, file);
	CHECK(spw_file_is_known(&map, &seen));
	seen.btime = 2;
	CHECK(!spw_file_is_known(&map, &seen));
	seen.btime = 1;
	spw_file_flag(&map.files[file], SPW_FILE_UNLINKED);
	CHECK(!spw_file_is_known(&map, &seen));
	CHECK(spw_file_reap(&me, file));
}

int
main(void)
{
	lane_begin();
	changed(resize, 1);
	changed(dirty, 2);
	changed(leave, 3);
	left();
	only_read();
	reused();
	lane_end();
	return failures != 0;
}
