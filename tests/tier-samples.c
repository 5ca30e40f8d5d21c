/* SPDX-License-Identifier: BSD-3-Clause */
/* tier-samples.c -- logs of old are read, gone on with and emptied */

/*
 * The samples are in tests/corpus/nvme: a file of the log, without the zeros
 * at its end, of a drainer that died. A sample is never made again: if this
 * test fails, the code is wrong. Given a directory, it writes the one of the
 * version that is written now, if it is not there.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "shm/util.h"
#include "tests/guarded.h"
#include "tests/tier-kit.h"

enum {
	LOG = 128 << 10,		/* bytes of the file */
	REST = 48 << 10,		/* what else counts */
	CAPACITY = LOG + REST,
	SEQS = 12,
	LATER = 3,			/* objects that are put in the end */
	VERSION_AT = 12, HEADS = 2, HEAD = 4096,
};

static const struct sample {
	const char *name;
	uint32_t version;
} samples[] = {
	{ "v1", 1 },
	{ "v2", 2 },
};

/* Synced all at once, the second one dropped, and the last two not synced. */
static const uint32_t raws[SEQS] = {
	0, 4096, 4096, 100, 9000, 4096, 4096, 1000, 4096, 4096, 30000, 4096,
};
enum { FIRST_UNSYNCED = 8, DROPPED = 2, KEPT = 9 };

static char *place;
static struct spw_tier *t;
static uint64_t places[SEQS];
static unsigned wholes;

static void
log_path(char ret_path[PATH_MAX])
{
	CHECK(snprintf(ret_path, PATH_MAX, "%s/spillway-%u/old/"
		       "nvme-00000000.log", place, (unsigned)geteuid()) <
	      PATH_MAX);
}

static void
open_share(void)
{
	CHECK(kit_open("nvme", place, "old", CAPACITY, &t) == 0);
}

/* They are under way at the same time. */
static void
put_together(uint64_t from, uint64_t to)
{
	struct spw_transfer x[SEQS] = { { 0 } };

	for (uint64_t seq = from; seq < to; seq++) {
		x[seq].buf = kit_buffer();
		x[seq].len = kit_make(x[seq].buf, seq, raws[seq]);
		CHECK(t->ops->submit(t, &x[seq]) == 0);
		places[seq] = x[seq].place;
	}
	for (uint64_t seq = from; seq < to; seq++)
		CHECK(t->ops->reap(t, true));
	for (uint64_t seq = from; seq < to; seq++) {
		CHECK(x[seq].err == 0);
		free(x[seq].buf);
	}
}

static void
copy_log(const char *to)
{
	static uint8_t bytes[LOG];
	char path[PATH_MAX];
	size_t n = LOG;
	int fd;

	log_path(path);
	fd = open(path, O_RDONLY);
	CHECK(fd >= 0 && read(fd, bytes, LOG) == LOG);
	CHECK(close(fd) == 0);
	while (!bytes[n - 1])
		n--;
	fd = open(to, O_WRONLY | O_CREAT | O_EXCL, 0644);
	CHECK(fd >= 0 || errno == EEXIST);
	if (fd < 0)
		return;
	CHECK(write(fd, bytes, n) == (ssize_t)n && close(fd) == 0);
}

static void
write_sample(const char *to)
{
	open_share();
	put_together(1, FIRST_UNSYNCED);
	CHECK(t->ops->sync(t) == 0);
	CHECK(t->ops->drop(t, places[DROPPED]) == 0);
	CHECK(t->ops->sync(t) == 0);
	put_together(FIRST_UNSYNCED, KEPT + 1);
	copy_log(to);
	CHECK(t->ops->close(t, true) == 0);
}

/* As its drainer left it. */
static void
lay_out(const char *sample)
{
	static uint8_t bytes[LOG];
	char path[PATH_MAX];
	ssize_t n;
	int fd;

	open_share();
	CHECK(t->ops->close(t, false) == 0);
	fd = open(sample, O_RDONLY);
	if (fd < 0)
		fprintf(stderr, "%s: not there\n", sample);
	CHECK(fd >= 0);
	n = read(fd, bytes, LOG);
	CHECK(n > 0 && close(fd) == 0);
	log_path(path);
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL, 0600);
	CHECK(fd >= 0 && write(fd, bytes, (size_t)n) == n);
	CHECK(ftruncate(fd, LOG) == 0 && close(fd) == 0);
}

/* The highest of its heads. */
static uint32_t
version_now(void)
{
	uint32_t version, highest = 0;
	char path[PATH_MAX];
	int fd;

	log_path(path);
	fd = open(path, O_RDONLY);
	CHECK(fd >= 0);
	for (int i = 0; i < HEADS; i++) {
		CHECK(pread(fd, &version, sizeof(version),
			    i * HEAD + VERSION_AT) == sizeof(version));
		highest = SPW_MAX(highest, version);
	}
	CHECK(close(fd) == 0);
	return highest;
}

static int
note(void *arg, const struct spw_tier_found *f)
{
	static void *buf;
	uint64_t seq;

	(void)arg;
	if (!buf)
		buf = kit_buffer();
	CHECK(f->err == 0 && f->object);
	seq = f->object->seq;
	CHECK(seq > 0 && seq < SEQS && !places[seq]);
	CHECK(f->len == kit_make(buf, seq, raws[seq]));
	places[seq] = f->place;
	wholes++;
	return 0;
}

/* So many objects, none of them damaged, and every byte of each is right. */
static void
check_all(unsigned n)
{
	void *buf = kit_buffer();

	memset(places, 0, sizeof(places));
	wholes = 0;
	CHECK(t->ops->list(t, note, NULL) == 0);
	CHECK(wholes == n);
	for (uint64_t seq = 1; seq < SEQS; seq++) {
		size_t len = kit_make(buf, seq, raws[seq]);

		if (!places[seq])
			continue;
		kit_get(t, places[seq], buf, len);
		kit_check(buf, len, seq, raws[seq]);
	}
	free(buf);
}

static void
reopen(void)
{
	CHECK(t->ops->close(t, false) == 0);
	open_share();
}

/* What it has is read, and something is put behind it and dropped in it; when
 * nothing is left it becomes one of today. */
static void
check_sample(const char *path, const struct sample *s)
{
	lay_out(path);
	CHECK(version_now() == s->version);
	open_share();
	check_all(KEPT - 1);
	CHECK(!places[DROPPED]);
	put_together(KEPT + 1, SEQS);
	CHECK(t->ops->sync(t) == 0);
	check_all(SEQS - 2);
	reopen();
	check_all(SEQS - 2);
	CHECK(version_now() == s->version);
	CHECK(t->ops->drop(t, places[KEPT]) == 0);
	CHECK(t->ops->drop(t, places[1]) == 0);
	reopen();
	check_all(SEQS - 4);
	for (uint64_t seq = 1; seq < SEQS; seq++)
		if (places[seq])
			CHECK(t->ops->drop(t, places[seq]) == 0);
	CHECK(t->ops->sync(t) == 0);
	check_all(0);
	put_together(1, 3);
	CHECK(t->ops->sync(t) == 0);
	check_all(2);
	CHECK(version_now() == samples[ARRAY_LEN(samples) - 1].version);
	CHECK(t->ops->close(t, true) == 0);
	printf("%s\n", s->name);
}

int
main(int argc, char **argv)
{
	const char *srcdir = getenv("srcdir");
	char *dir = kit_directory("."), path[PATH_MAX];

	place = realpath(dir, NULL);
	CHECK(place);
	if (argc > 1)
		write_sample(argv[1]);
	for (size_t i = 0; argc == 1 && i < ARRAY_LEN(samples); i++) {
		CHECK(snprintf(path, sizeof(path), "%s/tests/corpus/nvme/%s",
			       srcdir ? srcdir : ".", samples[i].name) <
		      PATH_MAX);
		check_sample(path, &samples[i]);
	}
	kit_remove(dir);
	free(place);
	return 0;
}
