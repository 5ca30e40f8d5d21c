/* SPDX-License-Identifier: BSD-3-Clause */
/* tier-bb.c -- nodes beside each other in one directory; files and names */

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "tests/guarded.h"
#include "tests/tier-kit.h"

enum { RAW = 5000 };

static char *place;
static void *buf;
static size_t len;			/* of an object with RAW bytes */

static struct spw_tier *
open_share(const char *owner, uint64_t capacity)
{
	struct spw_tier *t;

	CHECK(!kit_open("bb", place, owner, capacity, &t));
	return t;
}

static struct spw_tier *
look_at(const char *owner)
{
	struct spw_tier_setup setup = { .place = place, .owner = owner,
					.create = true, .look_only = true };
	struct spw_tier *t;

	CHECK(!spw_tier_bb.open(&setup, &t));
	return t;
}

static uint64_t
put(struct spw_tier *t, uint64_t seq)
{
	CHECK(kit_make(buf, seq, RAW) == len);
	return kit_put(t, buf, len);
}

static void
path_of(const char *owner, const char *name, char ret_path[PATH_MAX])
{
	CHECK(snprintf(ret_path, PATH_MAX, "%s/spillway-%u/%s/%s", place,
		       (unsigned)geteuid(), owner, name) < PATH_MAX);
}

/* Calls do_it with the path of each file whose name ends so; how many. */
static unsigned
files(const char *owner, const char *suffix, void (*do_it)(const char *path))
{
	char path[PATH_MAX];
	const struct dirent *e;
	unsigned n = 0;
	DIR *d;

	path_of(owner, "", path);
	d = opendir(path);
	CHECK(d);
	while ((e = readdir(d))) {
		const char *end = strrchr(e->d_name, '.');

		if (!end || strcmp(end, suffix))
			continue;
		n++;
		path_of(owner, e->d_name, path);
		if (do_it)
			do_it(path);
	}
	closedir(d);
	return n;
}

/* Two nodes write at once; each sees what the other has published. */
static void
test_nodes(void)
{
	struct spw_tier *a = open_share("node-a", 1 << 20), *b, *seen;
	uint64_t at[2][8];
	unsigned i;

	b = open_share("node-b", 1 << 20);
	for (i = 0; i < 8; i++) {
		at[0][i] = put(a, 100 + i);
		at[1][i] = put(b, 200 + i);
		seen = look_at("node-b");
		CHECK(kit_count(seen).whole == i + 1);
		kit_get(seen, at[1][i], buf, len);
		kit_check(buf, len, 200 + i, RAW);
		CHECK(!seen->ops->close(seen, false));
	}
	CHECK(kit_count(a).whole == 8 && kit_count(b).whole == 8);
	CHECK(files("node-a", ".object", NULL) == 8);
	CHECK(files("node-a", ".new", NULL) == 0);
	kit_get(a, at[0][3], buf, len);
	kit_check(buf, len, 103, RAW);
	CHECK(!a->ops->close(a, true));
	CHECK(kit_count(b).whole == 8);
	CHECK(!b->ops->close(b, true));
}

/* Who only looks changes nothing, and needs no lock. */
static void
test_looking(void)
{
	struct spw_tier *t = open_share("node", 1 << 20), *second, *seen;
	struct spw_transfer x = { .buf = buf, .len = len };
	char path[PATH_MAX];
	uint64_t at = put(t, 1);
	int fd;

	CHECK(kit_open("bb", place, "node", 1 << 20, &second) == -EBUSY);
	path_of("node", "00000001-00000001.new", path);
	fd = open(path, O_WRONLY | O_CREAT, 0600);
	CHECK(fd >= 0 && write(fd, "half", 4) == 4);
	close(fd);

	seen = look_at("node");
	CHECK(kit_count(seen).whole == 1);
	CHECK(seen->ops->submit(seen, &x) == -EROFS);
	CHECK(seen->ops->drop(seen, at) == -EROFS);
	CHECK(seen->ops->close(seen, true) == -EROFS);
	CHECK(files("node", ".new", NULL) == 1);

	CHECK(!t->ops->close(t, false));
	t = open_share("node", 1 << 20);
	CHECK(files("node", ".new", NULL) == 0);
	kit_get(t, at, buf, len);
	kit_check(buf, len, 1, RAW);
	CHECK(!t->ops->close(t, true));
}

/* A place means one object, whoever has the share open and however often. */
static void
test_places(void)
{
	uint64_t at[40];
	struct spw_tier *t;
	unsigned i, j;

	for (i = 0; i < ARRAY_LEN(at); i++) {
		t = open_share("again", 1 << 20);
		at[i] = put(t, 300 + i);
		for (j = 0; j < i; j++)
			CHECK(at[j] != at[i]);
		CHECK(!t->ops->close(t, false));
	}
	t = open_share("again", 1 << 20);
	for (i = 0; i < ARRAY_LEN(at); i++) {
		kit_get(t, at[i], buf, len);
		kit_check(buf, len, 300 + i, RAW);
	}
	CHECK(!t->ops->close(t, true));
}

static void
cut(const char *path)
{
	CHECK(!truncate(path, (off_t)len - 1));
}

static void
garble(const char *path)
{
	int fd = open(path, O_WRONLY);

	CHECK(fd >= 0 && pwrite(fd, "x", 1, 40) == 1);
	close(fd);
}

static void
take_away(const char *path)
{
	CHECK(!unlink(path));
}

static void
test_damage(void)
{
	struct spw_tier *t = open_share("hurt", 1 << 20);
	struct spw_transfer x = { .up = true, .buf = buf, .len = len };
	struct kit_count c;

	x.place = put(t, 1);
	files("hurt", ".object", cut);
	c = kit_count(t);
	CHECK(c.whole == 0 && c.bad == 1 && c.bytes == len - 1);
	CHECK(!t->ops->submit(t, &x));
	CHECK(t->ops->reap(t, true) == &x && x.err == -ENODATA);
	files("hurt", ".object", garble);
	c = kit_count(t);
	CHECK(c.whole == 0 && c.bad == 1);
	files("hurt", ".object", take_away);
	c = kit_count(t);
	CHECK(c.whole == 0 && c.bad == 0);
	CHECK(!t->ops->submit(t, &x));
	CHECK(t->ops->reap(t, true) == &x && x.err == -ENOENT);
	CHECK(t->ops->drop(t, x.place) == -ENOENT);
	CHECK(!t->ops->close(t, true));
}

/* More than are held open until a sync; one of them dropped before. */
static void
test_many(void)
{
	struct spw_tier *t = open_share("many", 1 << 20);
	struct spw_tier_space space;
	uint64_t at[150];
	unsigned i;

	for (i = 0; i < ARRAY_LEN(at); i++)
		at[i] = put(t, i);
	CHECK(!t->ops->drop(t, at[7]));
	t->ops->space(t, &space);
	CHECK(space.live == 149 * len && space.used == 150 * len);
	CHECK(!t->ops->sync(t));
	t->ops->space(t, &space);
	CHECK(space.live == 149 * len && space.used == 149 * len);
	CHECK(kit_count(t).whole == 149);
	CHECK(!t->ops->close(t, false));
	t = open_share("many", 1 << 20);
	t->ops->space(t, &space);
	CHECK(space.live == 149 * len && space.used == 149 * len);
	CHECK(!t->ops->close(t, true));
}

/* A directory that somebody else could have prepared is refused. */
static void
test_strangers(void)
{
	char path[PATH_MAX], other[PATH_MAX];
	struct spw_tier *t;

	CHECK(snprintf(path, sizeof(path), "%s/spillway-%u", place,
		       (unsigned)geteuid()) < PATH_MAX);
	CHECK(snprintf(other, sizeof(other), "%s/elsewhere", place) <
	      PATH_MAX);
	CHECK(!mkdir(other, 0700) && !symlink(other, path));
	CHECK(kit_open("bb", place, "x", 1 << 20, &t) == -EPERM);
	CHECK(!unlink(path) && !mkdir(path, 0700) && !chmod(path, 0777));
	CHECK(kit_open("bb", place, "x", 1 << 20, &t) == -EPERM);
	CHECK(!rmdir(path) && !rmdir(other));
	CHECK(kit_open("bb", place, "../x", 1 << 20, &t) == -EINVAL);
	CHECK(kit_open("bb", place, "", 1 << 20, &t) == -EINVAL);
}

/* Two who leave one share: whoever is the last removes it, and for the other
 * it is as well gone. */
static void
come_and_leave(void)
{
	enum { ROUNDS = 1500 };
	struct spw_tier *t;
	int i, r;

	for (i = 0; i < ROUNDS; i++) {
		r = kit_open("bb", place, "leave", 1 << 20, &t);
		CHECK(r == 0 || r == -EBUSY || r == -ENOENT);
		if (r == 0)
			CHECK(!t->ops->close(t, true));
	}
}

static void
test_leaving(void)
{
	pid_t pid = fork();
	int status;

	CHECK(pid >= 0);
	come_and_leave();
	if (pid == 0)
		_exit(0);
	CHECK(waitpid(pid, &status, 0) == pid && status == 0);
}

int
main(void)
{
	place = kit_directory(".");
	CHECK(place);
	buf = kit_buffer();
	len = kit_make(buf, 0, RAW);
	test_nodes();
	test_looking();
	test_places();
	test_damage();
	test_many();
	test_leaving();
	kit_half_discarded("bb", place);
	CHECK(rmdir(place) == 0);	/* nothing is left of any share */
	CHECK(!mkdir(place, 0700));
	test_strangers();
	kit_remove(place);
	free(buf);
	return 0;
}
