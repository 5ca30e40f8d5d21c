/* SPDX-License-Identifier: BSD-3-Clause */
/* unit-names.c -- a record always knows a path; reused numbers get a new one */
#include "shm/names.h"

#include "tests/counted.h"
#include "tests/one-lane.h"

static uint32_t
open_file(uint64_t ino, int64_t born, const char *path)
{
	struct spw_file_seen seen = {
		.id = { 1, ino }, .btime = born, .path = path,
		.parted = atomic_load(&map.seg->parted),
	};
	uint32_t file = SPW_NONE;

	CHECK(spw_file_open(&me, &seen, &file) == 0);
	return file;
}

static bool
knows(uint32_t file, const char *first, const char *other)
{
	const struct spw_file *f = &map.files[file];
	char buf[SPW_FILE_PATH];
	uint32_t n = spw_name_copy(f, 0, buf);
	bool same = n ? first && strcmp(buf, first) == 0 : !first;

	n = spw_name_copy(f, 1, buf);
	return same && (n ? other && strcmp(buf, other) == 0 : !other);
}

static void
short_names(void)
{
	uint32_t file = open_file(10, 1, "/dir/a");
	uint32_t gen = map.files[file].gen;

	CHECK(knows(file, "/dir/a", NULL));
	CHECK(!spw_name_has_other(&map.files[file], "/dir/a"));
	CHECK(spw_name_add(&me, file, gen, "/dir/b"));
	CHECK(knows(file, "/dir/a", "/dir/b"));
	CHECK(spw_name_has_other(&map.files[file], "/dir/a"));
	spw_name_set(&me, file, gen, "/dir/b");
	CHECK(knows(file, "/dir/b", NULL));
	CHECK(spw_name_add(&me, file, gen, "/dir/b"));
	CHECK(knows(file, "/dir/b", NULL));
	spw_name_remove(&me, file, gen, "/dir/b");	/* the only one */
	CHECK(knows(file, "/dir/b", NULL));
	CHECK(spw_name_add(&me, file, gen, "/dir/c"));
	spw_name_remove(&me, file, gen, "/dir/b");
	CHECK(knows(file, NULL, "/dir/c"));
	CHECK(spw_name_add(&me, file, gen, "/dir/d"));
	CHECK(knows(file, "/dir/d", "/dir/c"));
	spw_name_set(&me, file, gen, "/elsewhere");
	CHECK(knows(file, "/elsewhere", NULL));
	spw_name_set(&me, file, gen + 1, "/not/ours");
	CHECK(spw_name_add(&me, file, gen + 1, "/not/ours"));
	CHECK(knows(file, "/elsewhere", NULL));
	spw_file_close(&me, file);
}

/* Two that fill the buffer to its last byte, and one byte more. */
static void
long_names(void)
{
	char a[SPW_FILE_PATH + 8], b[SPW_FILE_PATH + 8];
	uint32_t file, gen, half = SPW_FILE_PATH / 2;

	memset(a, 'a', sizeof(a));
	memset(b, 'b', sizeof(b));
	a[0] = b[0] = '/';
	a[half + 9] = '\0';
	b[half - 11] = '\0';
	file = open_file(11, 1, a);
	gen = map.files[file].gen;
	CHECK(spw_name_add(&me, file, gen, b));
	CHECK(knows(file, a, b));
	spw_name_set(&me, file, gen, a);
	b[half - 11] = 'b';
	b[half - 10] = '\0';
	CHECK(!spw_name_add(&me, file, gen, b));
	CHECK(knows(file, a, NULL));
	spw_name_set(&me, file, gen, b);
	CHECK(knows(file, b, NULL));
	b[half - 10] = 'b';
	b[SPW_FILE_PATH - 1] = '\0';
	spw_name_set(&me, file, gen, b);
	CHECK(knows(file, b, NULL));
	CHECK(!spw_name_add(&me, file, gen, "/a"));
	spw_name_set(&me, file, gen, "/a");
	CHECK(knows(file, "/a", NULL));
	b[SPW_FILE_PATH - 1] = 'b';
	b[SPW_FILE_PATH] = '\0';
	CHECK(!spw_name_add(&me, file, gen, b));
	spw_name_set(&me, file, gen, b);
	spw_name_set(&me, file, gen, "");
	CHECK(knows(file, "/a", NULL));
	spw_file_close(&me, file);
}

static void
reused_numbers(void)
{
	struct spw_file_id id = { 1, 12 };
	uint32_t old = open_file(12, 100, "/old"), new;

	spw_file_flag(&map.files[old], SPW_FILE_DIRTIED);
	CHECK(open_file(12, 100, "/old") == old);
	spw_file_close(&me, old);
	new = open_file(12, 200, "/new");
	CHECK(new != old);
	CHECK(spw_file_find(&map, &id) == new);
	CHECK(atomic_load(&map.files[old].flags) & SPW_FILE_UNLINKED);
	CHECK(!spw_file_reap(&me, old));	/* still open */
	spw_file_close(&me, old);
	CHECK(spw_file_reap(&me, old));
	CHECK(!spw_file_reap(&me, old));	/* once only */
	CHECK(spw_file_find(&map, &id) == new);
	/* Without birth times, the lost name tells. */
	spw_file_flag(&map.files[new], SPW_FILE_DIRTIED | SPW_FILE_UNLINKED);
	CHECK(open_file(12, 0, "/again") == new);
	spw_file_close(&me, new);
	spw_file_close(&me, new);
	old = new;
	new = open_file(12, 0, "/again");
	CHECK(new != old && knows(new, "/again", NULL));
}

int
main(void)
{
	lane_begin();
	short_names();
	long_names();
	reused_numbers();
	lane_end();
	return failures != 0;
}
