/* SPDX-License-Identifier: BSD-3-Clause */
/* few-calls.c -- a program that needs few system calls */

/* It writes files, reads them back, and tells what it saw; ends with 7. */
#include <stdlib.h>
#include <sys/stat.h>

#include "tests/forms.h"

enum { PIECES = 200, PIECE = 777, RECORDS = 50, RECORD = 100 };

static char buf[PIECE + PIECES];

static void
write_pieces(int fd)
{
	for (int i = 0; i < PIECES; i++) {
		memset(buf, 'a' + i % 26, sizeof(buf));
		NEED(write(fd, buf, (size_t)(PIECE + i)) == PIECE + i);
	}
}

static void
append_records(const char *name)
{
	int fd = open(name, O_WRONLY | O_CREAT | O_APPEND, 0600);

	NEED(fd >= 0);
	for (int i = 0; i < RECORDS; i++)
		NEED(write(fd, buf, RECORD) == RECORD);
	NEED(close(fd) == 0);
}

static void
tell_size(const char *name)
{
	int fd = open(name, O_RDONLY);
	long bytes = 0, n;
	struct stat st;

	NEED(fd >= 0 && stat(name, &st) == 0);
	while ((n = read(fd, buf, sizeof(buf))) > 0)
		bytes += n;
	printf("%s: %ld bytes, read %ld\n", name, (long)st.st_size, bytes);
	close(fd);
}

int
main(void)
{
	int fd = open("pieces", O_RDWR | O_CREAT | O_TRUNC, 0644);

	NEED(fd >= 0);
	write_pieces(fd);
	NEED(lseek(fd, 1000, SEEK_SET) == 1000 && read(fd, buf, 900) == 900);
	printf("%c to %c\n", buf[0], buf[899]);
	append_records("records");
	tell_size("pieces");
	tell_size("records");
	NEED(close(fd) == 0);
	return 7;
}
