/* SPDX-License-Identifier: BSD-3-Clause */
/* slowfs-rate.c -- how long requests of 1 MiB take, one or several at a time */

/*
 * usage: slowfs-rate read|write THREADS COUNT PREFIX
 *
 * Each thread moves COUNT pieces of 1 MiB from or to PREFIX and its number,
 * past the page cache. Prints the microseconds that all of it took, and
 * twelve times those of the quickest twelfth of it: on a busy machine, the
 * nearest to what it would have taken without the others.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define PIECE (1 << 20)

static int64_t *ends;			/* when each request was over, ns */
static unsigned long count;
static const char *prefix;
static int writes;
static int64_t begin;

static int64_t
now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * INT64_C(1000000000) + ts.tv_nsec;
}

_Noreturn static void
die(const char *what)
{
	fprintf(stderr, "%s: %s\n", what, strerror(errno));
	exit(1);
}

static void *
move(void *arg)
{
	unsigned long number = (unsigned long)arg, i;
	char name[4096];
	ssize_t n;
	void *buf;
	int fd;

	snprintf(name, sizeof(name), "%s%lu", prefix, number);
	fd = open(name, O_RDWR | O_CREAT | O_DIRECT, 0600);
	if (fd < 0 || posix_memalign(&buf, 4096, PIECE))
		die(name);
	memset(buf, 1, PIECE);
	for (i = 0; i < count; i++) {
		n = writes ? pwrite(fd, buf, PIECE, (off_t)i * PIECE) :
			     pread(fd, buf, PIECE, (off_t)i * PIECE);
		if (n != PIECE)
			die(name);
		ends[number * count + i] = now();
	}
	free(buf);
	close(fd);
	return NULL;
}

static int
by_time(const void *a, const void *b)
{
	int64_t d = *(const int64_t *)a - *(const int64_t *)b;

	return d < 0 ? -1 : d > 0;
}

static void
tell(unsigned long total)
{
	unsigned long part = total / 12, i;
	int64_t best = INT64_MAX;

	qsort(ends, total, sizeof(*ends), by_time);
	for (i = part; i < total; i++)
		if (ends[i] - ends[i - part] < best)
			best = ends[i] - ends[i - part];
	printf("%lld %lld\n", (long long)(ends[total - 1] - begin) / 1000,
	       (long long)best * 12 / 1000);
}

int
main(int argc, char **argv)
{
	unsigned long threads, i;
	pthread_t *t;

	if (argc != 5)
		return 2;
	writes = !strcmp(argv[1], "write");
	threads = strtoul(argv[2], NULL, 10);
	count = strtoul(argv[3], NULL, 10);
	prefix = argv[4];
	ends = calloc(threads * count, sizeof(*ends));
	t = calloc(threads, sizeof(*t));
	if (!ends || !t)
		die("memory");
	begin = now();
	for (i = 0; i < threads; i++)
		if (pthread_create(&t[i], NULL, move, (void *)i))
			die("thread");
	for (i = 0; i < threads; i++)
		pthread_join(t[i], NULL);
	free(t);
	tell(threads * count);
	return 0;
}
