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
#include <sys/uio.h>
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

/* Who was told while it was broken is not told again when it is well, though
 * others asked and the same bytes failed again for them. */
static void
tell_each_once(char **argv)
{
	struct iovec one = { buf, 10 };
	int a, b;

	told_of = "once";
	a = open("once", O_RDWR | O_CREAT | O_TRUNC, 0644);
	b = open("once", O_RDWR);
	set(argv[1], argv[2]);
	TELL(write(a, buf, sizeof(buf)));
	TELL(fsync(a));
	TELL(fsync(b));			/* the same bytes once more */
	TELL(preadv2(b, &one, 1, 0, RWF_NOWAIT));	/* wants them home */
	set(argv[1], argv[3]);
	TELL(fsync(a));
	TELL(fsync(b));
	TELL(close(a));
	TELL(close(b));
}

/* Nobody had it open when it failed, and it is well by now. */
static void
tell_next(char **argv)
{
	volatile int a, b;		/* over the jumps of TELL */

	told_of = "next";
	a = open("next", O_RDWR | O_CREAT | O_TRUNC, 0644);
	set(argv[1], argv[2]);
	TELL(write(a, buf, sizeof(buf)));
	TELL(close(a));			/* not tried yet */
	usleep(700000);
	set(argv[1], argv[3]);
	usleep(3000000);		/* home, and idle for long */
	a = open("next", O_RDWR);
	b = open("next", O_RDWR);
	TELL(fsync(a));
	TELL(fsync(a));
	TELL(close(b));			/* opened before a was told */
	b = open("next", O_RDWR);
	TELL(close(b));			/* and after */
	TELL(close(a));
}

/* A write to a full disk says so; other errors wait. */
static void
tell_writer(char **argv)
{
	int a, b;

	told_of = "writer";
	a = open("writer", O_RDWR | O_CREAT | O_TRUNC, 0644);
	b = open("writer", O_RDWR);
	set(argv[1], argv[2]);
	TELL(write(a, buf, sizeof(buf)));
	usleep(600000);
	TELL(write(a, buf, 100));
	set(argv[1], argv[3]);
	TELL(fsync(a));
	TELL(write(b, buf, 100));	/* there is room by now */
	TELL(close(b));
	TELL(close(a));
}

int
main(int argc, char **argv)
{
	int a, b, c;

	if (argc < 4)
		return 2;
	memset(buf, 'e', sizeof(buf));
	tell_each_once(argv);
	tell_next(argv);
	tell_writer(argv);
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
	usleep(2000000);		/* the drainer meets the error */
	TELL(close(a));			/* told here */
	c = open("later", O_RDONLY);
	TELL(close(c));			/* somebody was told: not again */
	set(argv[1], argv[3]);
	return 0;
}
