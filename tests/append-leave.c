/* SPDX-License-Identifier: BSD-3-Clause */
/* append-leave.c -- some append records to files that the kernel takes over */
#include <err.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

enum { FILES = 150, APPENDERS = 3, RECORDS = 12, PARTS = 40, PART = 2500 };

/* All of one letter, in parts, of which a batch of blocks takes some. */
static void
append(int fd, char letter)
{
	static char part[PART];
	struct iovec v[PARTS];
	ssize_t n;

	memset(part, letter, sizeof(part));
	for (int i = 0; i < PARTS; i++)
		v[i] = (struct iovec){ part, sizeof(part) };
	for (int i = 0; i < RECORDS; i++) {
		n = writev(fd, v, PARTS);
		if (n != (ssize_t)PARTS * PART)
			errx(1, "%zd bytes were written", n);
	}
}

/* From now on the kernel's. */
static void
take_over(int fd)
{
	void *p;

	usleep((useconds_t)rand() % 1500);
	p = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0);
	if (p == MAP_FAILED)
		err(1, "mmap");
	munmap(p, 4096);
}

static void
check(int fd)
{
	static char record[PARTS * PART];
	int n = 0;

	while (pread(fd, record, sizeof(record),
		     (off_t)n * (off_t)sizeof(record)) == sizeof(record)) {
		for (size_t i = 1; i < sizeof(record); i++)
			if (record[i] != record[0])
				errx(1, "record %d is torn", n);
		n++;
	}
	if (n != APPENDERS * RECORDS)
		errx(1, "%d records", n);
}

static void
one_file(void)
{
	int fd, status;

	(void)unlink("log");
	fd = open("log", O_CREAT | O_RDWR | O_APPEND, 0644);
	if (fd < 0)
		err(1, "log");
	for (int i = 0; i < APPENDERS; i++)
		if (fork() == 0) {
			append(fd, (char)('a' + i));
			_exit(0);
		}
	take_over(fd);
	for (int i = 0; i < APPENDERS; i++)
		if (wait(&status) < 0 || status)
			exit(1);
	check(fd);
	close(fd);
}

int
main(void)
{
	srand(1);
	for (int i = 0; i < FILES; i++)
		one_file();
	puts("whole records");
	return 0;
}
