/* SPDX-License-Identifier: BSD-3-Clause */
/* bench-spill.c -- how long a program takes that writes more than fits in memory */

/*
 * usage: bench-spill MOUNT TASKS KIB write|both KIND...
 *
 * Tasks of KIB are written into one file for each KIND of data (of
 * analyze-data.h), in turns, below MOUNT, a slowfs, which stands still
 * meanwhile, so that everything goes to memory and tiers. With `both` they are
 * read back and compared. Prints the seconds; then removes the files, so that
 * nothing has to get home.
 */

#include <fcntl.h>
#include <sys/xattr.h>

#include "tests/analyze-data.h"
#include "tests/clocks.h"

enum { OF_KIND = 8 << 20, KINDS = 8 };

struct kind {
	uint8_t *data;			/* OF_KIND bytes, again and again */
	char path[4096];
	int fd;
};

static struct kind kinds[KINDS];

static void
stall(const char *mount, const char *what)
{
	CHECK(!setxattr(mount, "user.slowfs", what, strlen(what), 0));
}

static void
prepare(struct kind *k, const char *mount, const char *name)
{
	k->data = malloc(OF_KIND);
	CHECK(k->data);
	data_fill(name, 4711, k->data, OF_KIND);
	snprintf(k->path, sizeof(k->path), "%s/%s", mount, name);
	k->fd = open(k->path, O_RDWR | O_CREAT | O_TRUNC, 0600);
	CHECK(k->fd >= 0);
}

/* Task i of n bytes, in its turn. */
static void
move(unsigned n_kinds, size_t i, size_t n, uint8_t *back)
{
	const struct kind *k = &kinds[i % n_kinds];
	size_t at = i / n_kinds * n;
	uint8_t *data = k->data + at % OF_KIND;

	if (!back) {
		CHECK(pwrite(k->fd, data, n, (off_t)at) == (ssize_t)n);
		return;
	}
	CHECK(pread(k->fd, back, n, (off_t)at) == (ssize_t)n);
	CHECK(!memcmp(back, data, n));
}

int
main(int argc, char **argv)
{
	size_t tasks = argc > 5 ? strtoul(argv[2], NULL, 10) : 0;
	size_t n = argc > 5 ? strtoul(argv[3], NULL, 10) << 10 : 0;
	unsigned n_kinds = argc > 5 ? (unsigned)argc - 5 : 0;
	uint8_t *back = malloc(n + 1);
	double start;

	CHECK(tasks && n && !(OF_KIND % n) && n_kinds <= KINDS && back);
	for (unsigned i = 0; i < n_kinds; i++)
		prepare(&kinds[i], argv[1], argv[5 + i]);
	stall(argv[1], "stall=*");
	start = now();
	for (size_t i = 0; i < tasks; i++)
		move(n_kinds, i, n, NULL);
	for (size_t i = 0; i < tasks && !strcmp(argv[4], "both"); i++)
		move(n_kinds, i, n, back);
	printf("%.3f\n", now() - start);
	stall(argv[1], "stall=");
	for (unsigned i = 0; i < n_kinds; i++) {
		CHECK(!unlink(kinds[i].path) && !close(kinds[i].fd));
		free(kinds[i].data);
	}
	free(back);
	return 0;
}
