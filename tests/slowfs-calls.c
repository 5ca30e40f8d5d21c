/* SPDX-License-Identifier: BSD-3-Clause */
/* slowfs-calls.c -- what single calls say on a slow mount with faults */

/*
 * usage: slowfs-calls DIR
 *
 * DIR is the root of a slow mount whose knobs are set on the way. Prints what
 * every call said.
 */
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "tests/told.h"

static char buf[8192] __attribute__((aligned(4096)));

static int
set(const char *text)
{
	return setxattr(".", "user.slowfs", text, strlen(text), 0);
}

/* Of a request of two knobs, both are set or none. */
static void
set_knobs(void)
{
	told_of = "knobs";
	TELL(set("short=300\neio-raed=*"));
	TELL(set("short"));
	TELL(set("short=many"));
	TELL(set("stalled=3"));
}

static void
shorten(const char *name, int flags)
{
	int fd = open(name, O_RDWR | O_CREAT | flags, 0644);

	told_of = name;
	TELL(pwrite(fd, buf, 8192, 0));
	TELL(set("short=512"));
	TELL(pwrite(fd, buf, 8192, 0));
	TELL(pwrite(fd, buf, 512, 8192));
	TELL(set("short=0\nenospc-after=4096"));
	TELL(pwrite(fd, buf, 8192, 0));
	TELL(pwrite(fd, buf, 512, 0));
	TELL(set("enospc-after=-1"));
	close(fd);
}

static void
vanish(void)
{
	struct stat st;
	int fd;

	told_of = "vanished";
	TELL(mkdir("gone", 0755));
	fd = open("gone/file", O_RDWR | O_CREAT, 0644);
	TELL(pwrite(fd, buf, 8192, 0));
	TELL(set("vanish=gone"));
	TELL(stat("gone/file", &st));
	TELL(stat("gone", &st));
	TELL(pwrite(fd, buf, 8192, 0));
	TELL(fsync(fd));
	TELL(open("gone/other", O_WRONLY | O_CREAT, 0644));
	TELL(set("vanish="));
	TELL(pwrite(fd, buf, 8192, 0));
	TELL(fsync(fd));
	TELL(stat("gone/file", &st));
	close(fd);
}

int
main(int argc, char **argv)
{
	if (argc < 2)
		return 2;
	if (chdir(argv[1]) < 0)
		told_die(argv[1]);
	told_begin();
	set_knobs();
	shorten("cached", 0);
	shorten("direct", O_DIRECT);
	vanish();
	return 0;
}
