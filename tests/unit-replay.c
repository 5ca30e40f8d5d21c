/* SPDX-License-Identifier: BSD-3-Clause */
/* unit-replay.c -- objects of several tiers applied in order, once, by one */

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>

#include "planner/replay.h"
#include "shm/sys.h"
#include "shm/util.h"
#include "tests/guarded.h"
#include "tests/tier-kit.h"

enum { SIZE = 20000 };

static char *dir;
static char home[PATH_MAX];
static struct spw_replay_place places[2];
static struct spw_tier *tiers[2];
static struct spw_packer *packer;
static void *buf;
static uint64_t seq;

static void
make_home(void)
{
	char old[SIZE];
	int fd = open(home, O_RDWR | O_CREAT | O_TRUNC, 0600);

	memset(old, 'o', sizeof(old));
	CHECK(fd >= 0 && write(fd, old, SIZE) == SIZE);
	close(fd);
	seq = 0;
}

static void
open_tiers(void)
{
	for (int i = 0; i < 2; i++)
		CHECK(!kit_open(places[i].ops->kind, places[i].place, "job.1",
				64 << 20, &tiers[i]));
}

static void
close_tiers(void)
{
	for (int i = 0; i < 2; i++) {
		CHECK(!tiers[i]->ops->sync(tiers[i]));
		CHECK(!tiers[i]->ops->close(tiers[i], false));
	}
}

/* An object of the home file; the device has another number since. */
static uint64_t
put(int tier, char byte, uint64_t at, uint64_t n, struct spw_object o)
{
	static char raw[SIZE];
	struct statx stx;
	int64_t len;

	CHECK(!spw_sys_statx(AT_FDCWD, home, 0, STATX_BASIC_STATS |
			     STATX_BTIME, &stx));
	memset(raw, byte, sizeof(raw));
	o.dev = 0xdead;
	o.ino = stx.stx_ino;
	o.btime = stx.stx_btime.tv_sec * INT64_C(1000000000) +
		  stx.stx_btime.tv_nsec;
	o.offset = at;
	o.length = n;
	o.seq = o.seq ? o.seq : ++seq;
	o.file_size = o.file_size ? o.file_size : SIZE;
	o.cut = o.cut ? o.cut : UINT64_MAX;
	o.wtime = spw_file_time();
	o.path = home;
	o.path_len = (uint32_t)strlen(home);
	len = spw_object_encode(packer, &o, NULL, buf,
				spw_object_bound(o.path_len, n), raw);
	CHECK(len > 0);
	return kit_put(tiers[tier], buf, (size_t)len);
}

static void
home_is(uint64_t at, uint64_t n, char byte)
{
	char got[SIZE];
	int fd = open(home, O_RDONLY);

	CHECK(fd >= 0);
	CHECK(pread(fd, got, n, (off_t)at) == (ssize_t)n);
	for (uint64_t i = 0; i < n; i++)
		CHECK(got[i] == byte);
	close(fd);
}

static struct spw_replay *
start(void)
{
	struct spw_replay *r;

	CHECK(!spw_replay_open(places, 2, "job.1", false, &r));
	CHECK(r->nfiles == 1);
	return r;
}

static void
ends_empty(struct spw_replay *r)
{
	CHECK(!spw_replay_is_needed(r));
	CHECK(!spw_replay_close(r, true));
	CHECK(spw_replay_open(places, 2, "job.1", false, &r) == -ENOENT);
}

/* In the order of their numbers, wherever they lie. */
static void
test_order(void)
{
	struct spw_replay *r, *second;
	struct stat st;

	make_home();
	open_tiers();
	put(0, 'a', 0, 10000, (struct spw_object){ 0 });
	put(1, 'b', 5000, 10000, (struct spw_object){ 0 });
	put(0, 'c', 9000, 2000, (struct spw_object){ 0 });
	put(1, 'd', 1000, 10, (struct spw_object){ .cut = 12000,
						    .file_size = 16000 });
	close_tiers();
	r = start();
	CHECK(spw_replay_open(places, 2, "job.1", false, &second) == -EBUSY);
	CHECK(!spw_replay_open(places, 2, "job.1", true, &second));
	CHECK(second->bytes == r->bytes && r->bytes == 22010);
	CHECK(!spw_replay_close(second, false));
	CHECK(!spw_replay_bring(r, 0, false, NULL));
	home_is(0, 1000, 'a');
	home_is(1000, 10, 'd');
	home_is(1010, 3990, 'a');
	home_is(5000, 4000, 'b');
	home_is(9000, 2000, 'c');
	home_is(11000, 1000, 'b');
	home_is(12000, 4000, 0);
	CHECK(!stat(home, &st) && st.st_size == 16000);
	ends_empty(r);
}

/* A recovery that was cut short after its mark is not begun again: what is
 * left may be all but the newest. */
static void
test_mark(void)
{
	struct spw_replay *r;

	make_home();
	open_tiers();
	put(0, 'a', 0, 1000, (struct spw_object){ 0 });
	put(1, 0, 0, 0, (struct spw_object){ .seq = 2,
					     .flags = SPW_OBJECT_HOME });
	close_tiers();
	r = start();
	CHECK(!spw_replay_is_needed(r) && r->bytes == 0);
	CHECK(!spw_replay_bring(r, 0, false, NULL));
	home_is(0, 1000, 'o');
	ends_empty(r);

	open_tiers();
	put(0, 'a', 0, 1000, (struct spw_object){ .seq = 3 });
	put(1, 0, 0, 0, (struct spw_object){ .seq = 2,
					     .flags = SPW_OBJECT_HOME });
	close_tiers();
	r = start();
	CHECK(r->bytes == 1000);
	CHECK(!spw_replay_bring(r, 0, false, NULL));
	home_is(0, 1000, 'a');
	home_is(1000, 1000, 'o');
	ends_empty(r);
}

/* Somebody has changed it long after; and it may be another file. */
static void
test_others(void)
{
	struct timespec later[2] = { { 0, UTIME_OMIT },
				     { time(NULL) + 3600, 0 } };
	struct spw_replay *r;
	char aside[PATH_MAX + 8];

	make_home();
	open_tiers();
	put(0, 'a', 0, 1000, (struct spw_object){ 0 });
	close_tiers();
	CHECK(!utimensat(AT_FDCWD, home, later, 0));
	r = start();
	CHECK(spw_replay_bring(r, 0, false, NULL) == -EEXIST);
	home_is(0, 1000, 'o');
	snprintf(aside, sizeof(aside), "%s.aside", home);
	CHECK(!rename(home, aside));
	make_home();
	CHECK(!spw_replay_bring(r, 0, true, NULL));
	home_is(0, 1000, 'o');
	CHECK(!rename(aside, home));
	home_is(0, 1000, 'a');
	ends_empty(r);
	open_tiers();
	put(0, 'b', 0, 1000, (struct spw_object){ 0 });
	close_tiers();
	CHECK(!unlink(home));
	r = start();
	CHECK(spw_replay_bring(r, 0, false, NULL) == -ENOENT);
	CHECK(spw_replay_is_needed(r));
	CHECK(!spw_replay_close(r, true));
	r = start();
	CHECK(!spw_replay_close(r, false));
}

int
main(void)
{
	char place[2][PATH_MAX];

	dir = kit_directory(".");
	CHECK(dir);
	CHECK(realpath(dir, place[0]));
	CHECK((size_t)snprintf(home, sizeof(home), "%s/home", place[0]) <
	      sizeof(home));
	buf = kit_buffer();
	CHECK(!spw_packer_new(&packer));
	for (int i = 0; i < 2; i++) {
		*strrchr(strcpy(place[i], home), '/') = '\0';
		strcat(place[i], i ? "/two" : "/one");
		CHECK(!mkdir(place[i], 0700));
		places[i] = (struct spw_replay_place){
			spw_tier_by_kind(i ? "bb" : "nvme"), place[i],
		};
	}
	test_order();
	test_mark();
	test_others();
	kit_remove(dir);
	return 0;
}
