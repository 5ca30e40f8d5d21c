/* SPDX-License-Identifier: BSD-3-Clause */
/* home-errors.c -- who is told of a write-back error, and how often */

/*
 * usage: home-errors CONTROL FAULT HEAL
 *
 * Writes into the current directory, a file system whose faults are set by
 * writing FAULT into the file CONTROL, and ended by writing HEAL. Prints what
 * every call said.
 */
#include <fcntl.h>
#include <unistd.h>

#include "tests/told.h"

static char buf[200000];

static void
set(const char *control, const char *text)
{
	int fd = open(control, O_WRONLY | O_TRUNC | O_CREAT, 0644);

	if (fd < 0 || write(fd, text, strlen(text)) < 0 || close(fd) < 0)
		told_die(control);
	usleep(50000);
}

int
main(int argc, char **argv)
{
	int a, b, c;

	if (argc < 4)
		return 2;
	memset(buf, 'e', sizeof(buf));
	told_of = "errors";
	a = open("errors", O_RDWR | O_CREAT | O_TRUNC, 0644);
	b = open("errors", O_RDWR);
	set(argv[1], argv[2]);
	TELL(write(a, buf, sizeof(buf)));
	TELL(fsync(a));			/* told here */
	TELL(fsync(a));			/* still not home */
	usleep(700000);			/* tried again: no news */
	TELL(pread(b, buf, 10, 199990));
	set(argv[1], argv[3]);
	TELL(fsync(a));			/* healed: the bytes went home */
	TELL(fsync(a));
	TELL(fsync(b));			/* told once, though all is home */
	TELL(fsync(b));
	TELL(close(a));
	TELL(close(b));

	told_of = "later";
	a = open("later", O_RDWR | O_CREAT | O_TRUNC, 0644);
	set(argv[1], argv[2]);
	TELL(write(a, buf, sizeof(buf)));
	usleep(600000);			/* the drainer meets the error */
	TELL(close(a));			/* told here */
	c = open("later", O_RDONLY);
	TELL(close(c));			/* somebody was told: not again */
	set(argv[1], argv[3]);
	return 0;
}
