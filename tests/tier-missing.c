/* SPDX-License-Identifier: BSD-3-Clause */
/* tier-missing.c -- a file that somebody took out of a share is missed */

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "shm/util.h"
#include "tests/guarded.h"
#include "tests/tier-kit.h"

enum { CAPACITY = 16 << 20, OBJECTS = 8, RAW = 300000 };

static const char *kind;
static const struct spw_tier_ops *ops;
static char *place;
static void *buf;

static struct spw_tier *
open_share(bool look_only)
{
	struct spw_tier_setup setup = {
		.place = place, .owner = "robbed", .capacity = CAPACITY,
		.create = !look_only, .look_only = look_only,
	};
	struct spw_tier *t;

	CHECK(ops->open(&setup, &t) == 0);
	return t;
}

static struct {
	unsigned whole, bad, missing;
	uint64_t places[OBJECTS];	/* of those that are missing */
	char where[PATH_MAX];		/* of the last one */
} seen;

static int
note(void *arg, const struct spw_tier_found *f)
{
	(void)arg;
	if (f->missing) {
		CHECK(f->err == -EBADMSG && !f->object);
		CHECK(seen.missing < OBJECTS);
		seen.places[seen.missing++] = f->place;
		CHECK(strlen(f->where) < sizeof(seen.where));
		strcpy(seen.where, f->where);
		return 0;
	}
	seen.whole += f->err == 0;
	seen.bad += f->err != 0;
	return 0;
}

static void
look(struct spw_tier *t)
{
	memset(&seen, 0, sizeof(seen));
	CHECK(ops->list(t, note, NULL) == 0);
}

static void
look_again(void)
{
	struct spw_tier *t = open_share(true);

	look(t);
	CHECK(ops->close(t, false) == 0);
}

static void
path_of(const char *name, char path[PATH_MAX])
{
	CHECK(snprintf(path, PATH_MAX, "%s/spillway-%u/robbed/%s", place,
		       (unsigned)geteuid(), name) < PATH_MAX);
}

/* A file of the share that holds objects, the first one by its name. */
static void
choose(char ret_name[NAME_MAX + 1])
{
	char path[PATH_MAX];
	const struct dirent *e;
	DIR *d;

	path_of("", path);
	d = opendir(path);
	CHECK(d);
	ret_name[0] = '\0';
	while ((e = readdir(d)))
		if ((strstr(e->d_name, ".log") ||
		     strstr(e->d_name, ".object")) &&
		    (!*ret_name || strcmp(e->d_name, ret_name) < 0))
			strcpy(ret_name, e->d_name);
	closedir(d);
	CHECK(*ret_name);
}

static void
take(const char *name)
{
	char path[PATH_MAX];

	path_of(name, path);
	CHECK(unlink(path) == 0);
}

static uint64_t
put(struct spw_tier *t, uint64_t seq)
{
	return kit_put(t, buf, kit_make(buf, seq, RAW));
}

static void
fill(struct spw_tier *t)
{
	uint64_t seq;

	for (seq = 1; seq <= OBJECTS; seq++)
		(void)put(t, seq);
	CHECK(ops->sync(t) == 0);
}

/* While nobody runs; it is told until it is given up. */
static void
test_taken(void)
{
	struct spw_tier *t = open_share(false);
	char name[NAME_MAX + 1];
	unsigned left;

	fill(t);
	CHECK(ops->close(t, false) == 0);
	look_again();
	CHECK(seen.whole == OBJECTS && !seen.bad && !seen.missing);
	choose(name);
	take(name);
	look_again();
	CHECK(seen.missing == 1 && strstr(seen.where, name));
	CHECK(seen.whole < OBJECTS && !seen.bad);
	left = seen.whole;
	t = open_share(false);
	look(t);
	CHECK(seen.missing == 1 && seen.whole == left);
	(void)put(t, 9);		/* not into a file of that name */
	CHECK(ops->sync(t) == 0);
	look(t);
	CHECK(seen.missing == 1 && seen.whole == left + 1);
	CHECK(ops->close(t, false) == 0);
	look_again();
	CHECK(seen.missing == 1 && seen.whole == left + 1);
	t = open_share(false);
	CHECK(ops->drop(t, seen.places[0]) == 0);
	CHECK(ops->sync(t) == 0);
	look(t);
	CHECK(!seen.missing && seen.whole == left + 1);
	CHECK(ops->close(t, false) == 0);
	look_again();
	CHECK(!seen.missing && seen.whole == left + 1);
}

static void
in_child(void (*work)(struct spw_tier *t))
{
	int status;
	pid_t pid = fork();

	CHECK(pid >= 0);
	if (pid == 0) {
		work(open_share(false));
		_exit(0);
	}
	CHECK(waitpid(pid, &status, 0) == pid && status == 0);
}

/* Its owner was killed after a sync. */
static void
test_killed(void)
{
	char name[NAME_MAX + 1];

	in_child(fill);
	choose(name);
	take(name);
	look_again();
	CHECK(seen.missing == 1 && strstr(seen.where, name));
}

/* What we remove ourselves is not missed: not by ourselves, not by those who
 * come after our death, not while we are at it. */
static void
use(struct spw_tier *t)
{
	uint64_t at[OBJECTS], seq = 100;
	unsigned i, round;

	for (round = 0; round < 12; round++) {
		for (i = 0; i < OBJECTS; i++)
			at[i] = put(t, seq++);
		if (round % 3)
			CHECK(ops->sync(t) == 0);
		for (i = 0; i < OBJECTS; i++)
			CHECK(ops->drop(t, at[i]) == 0);
		look_again();
		CHECK(!seen.missing && !seen.bad);
		if (round % 2)
			CHECK(ops->sync(t) == 0);
		look_again();
		CHECK(!seen.missing && !seen.bad && !seen.whole);
	}
}

static void
test_used(void)
{
	struct spw_tier *t;

	in_child(use);
	look_again();
	CHECK(!seen.missing && !seen.bad && !seen.whole);
	t = open_share(false);
	look(t);
	CHECK(!seen.missing && !seen.bad && !seen.whole);
	use(t);
	CHECK(ops->close(t, true) == 0);
}

/* Of an older release, and what has happened to it since. */
static void
test_old(void)
{
	struct spw_tier *t = open_share(false);
	char name[NAME_MAX + 1], roll[32];

	fill(t);
	CHECK(ops->close(t, false) == 0);
	CHECK(snprintf(roll, sizeof(roll), "%s.roll", kind) < 32);
	take(roll);
	look_again();
	CHECK(seen.whole == OBJECTS && !seen.bad && !seen.missing);
	t = open_share(false);
	CHECK(ops->sync(t) == 0);
	CHECK(ops->close(t, false) == 0);
	choose(name);
	take(name);
	look_again();
	CHECK(seen.missing == 1 && strstr(seen.where, name));
	take(roll);
	look_again();
	CHECK(!seen.missing && !seen.bad);
	t = open_share(false);
	CHECK(ops->close(t, true) == 0);
}

/* A roll that somebody garbled is told, and all objects are there. */
static void
garble(const char *name, size_t at)
{
	char path[PATH_MAX];
	int fd;

	path_of(name, path);
	fd = open(path, O_RDWR);
	CHECK(fd >= 0 && pwrite(fd, "!", 1, (off_t)at) == 1);
	close(fd);
}

static void
test_roll_garbled(void)
{
	char path[PATH_MAX], roll[32];
	struct spw_tier *t = open_share(false);
	size_t at;

	fill(t);
	CHECK(ops->close(t, false) == 0);
	CHECK(snprintf(roll, sizeof(roll), "%s.roll", kind) < 32);
	for (at = 0; at < 32; at += 5) {
		garble(roll, at);
		look_again();
		CHECK(seen.whole == OBJECTS && seen.bad + seen.missing == 1);
	}
	path_of(roll, path);
	CHECK(unlink(path) == 0 && mkfifo(path, 0600) == 0);
	look_again();
	CHECK(seen.whole == OBJECTS && seen.bad == 1 && !seen.missing);
	t = open_share(false);
	(void)put(t, 9);
	CHECK(ops->sync(t) == 0);
	look(t);
	CHECK(seen.whole == OBJECTS + 1 && seen.bad == 1);
	CHECK(ops->drop(t, UINT64_MAX) == 0 && ops->sync(t) == 0);
	CHECK(ops->close(t, false) == 0);
	look_again();
	CHECK(seen.whole == OBJECTS + 1 && !seen.bad && !seen.missing);
}

static void
run(const char *name, void (*test)(void))
{
	kit_run(kind, name, test, &place);
}

int
main(void)
{
	static const char *const kinds[] = { "nvme", "bb", "pmem" };
	size_t i;

	buf = kit_buffer();
	for (i = 0; i < ARRAY_LEN(kinds); i++) {
		kind = kinds[i];
		ops = spw_tier_by_kind(kind);
		CHECK(ops);
		if (!kit_is_to_be_had(kind, CAPACITY))
			continue;
		run("taken", test_taken);
		run("taken after a kill", test_killed);
		run("used", test_used);
		run("of an older release", test_old);
		run("the roll garbled", test_roll_garbled);
	}
	return 0;
}
