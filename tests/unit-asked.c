/* SPDX-License-Identifier: BSD-3-Clause */
/* unit-asked.c -- who waits for a file does not wait for what has its record next */
#include "shm/gate.h"
#include "tests/counted.h"
#include "tests/one-lane.h"

enum { PATIENCE_S = 20, FIRST = 1, SECOND = 2 };

static uint32_t file;

static uint32_t
open_file(uint64_t ino)
{
	struct spw_file_seen seen = {
		.id = { 1, ino }, .path = "/somewhere",
		.parted = atomic_load(&map.seg->parted),
	};
	uint32_t opened = SPW_NONE;

	CHECK(spw_file_open(&me, &seen, &opened) == 0);
	return opened;
}

/* In the place of a drainer: the file is home, and its record another's. */
static int
bring_home(struct spw_map *m)
{
	struct spw_file *f = &m->files[file];

	if (f->ino != FIRST)
		return 0;
	atomic_store(&f->done, atomic_load(&f->asked));
	atomic_fetch_and(&f->flags, ~(uint32_t)SPW_FILE_UNSETTLED);
	CHECK(spw_file_reap(&me, file));
	CHECK(open_file(SECOND) == file);
	return 0;
}

int
main(void)
{
	lane_begin();
	file = open_file(FIRST);
	spw_file_flag(&map.files[file], SPW_FILE_UNSETTLED | SPW_FILE_DIRTIED);
	spw_file_close(&me, file);
	spw_gate_need_drainer = bring_home;
	alarm(PATIENCE_S);
	CHECK(spw_gate_settle(&me, file) == 0);
	CHECK(map.files[file].ino == SECOND);
	spw_file_close(&me, file);
	lane_end();
	return failures != 0;
}
