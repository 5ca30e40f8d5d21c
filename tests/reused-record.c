/* SPDX-License-Identifier: BSD-3-Clause */
/* reused-record.c -- files that take the place of others in the segment */

/*
 * usage: reused-record
 *
 * Of each pair the first is synced, never written, and closed, so that its
 * record is free; one in two is removed as well. The second is written and
 * emptied before somebody asks for it to be home: there is nothing to bring.
 * What is written then is its own, and so are the times of the first.
 */
#include <err.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PAIRS = 20, LATER = 2853 };

static char bytes[7891];

static int
make(const char *kind, int number)
{
	char name[20];
	int fd;

	snprintf(name, sizeof(name), "%s%d", kind, number);
	fd = open(name, O_RDWR | O_CREAT | O_EXCL, 0644);
	if (fd < 0)
		err(1, "%s", name);
	return fd;
}

static void
first(int number)
{
	struct timespec ts[2] = { { 5, 5 }, { 7, 7 } };
	int fd = make("first", number);
	char name[20];

	if (fsync(fd) < 0)
		err(1, "fsync");
	close(fd);
	snprintf(name, sizeof(name), "first%d", number);
	if (number % 2 ? unlink(name) < 0
		       : utimensat(AT_FDCWD, name, ts, 0) < 0)
		err(1, "%s", name);
}

static void
second(int number)
{
	int fd = make("second", number);
	struct stat st;

	if (write(fd, bytes, sizeof(bytes)) != sizeof(bytes) ||
	    ftruncate(fd, 0) < 0 ||
	    fallocate(fd, FALLOC_FL_KEEP_SIZE, 0, 4096) < 0 ||
	    pwrite(fd, bytes, LATER, 0) != LATER || fstat(fd, &st) < 0)
		err(1, "second %d", number);
	printf("second %d has %lld bytes\n", number, (long long)st.st_size);
	close(fd);
}

int
main(void)
{
	struct stat st;
	char name[20];

	memset(bytes, 'x', sizeof(bytes));
	for (int i = 0; i < PAIRS; i++) {
		first(i);
		second(i);
	}
	for (int i = 0; i < PAIRS; i += 2) {
		snprintf(name, sizeof(name), "first%d", i);
		if (stat(name, &st) < 0)
			err(1, "%s", name);
		printf("%s: %lld.%ld\n", name, (long long)st.st_mtim.tv_sec,
		       st.st_mtim.tv_nsec);
	}
	return 0;
}
