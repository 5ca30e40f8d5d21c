/* SPDX-License-Identifier: BSD-3-Clause */
/* time-forms.c -- sets times by every call there is; prints what stat says */
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>
#include <utime.h>

static const char *name;
static int fd;

static void
more(void)				/* bytes that are not home */
{
	if (write(fd, "0123456789", 10) != 10)
		err(1, "write");
}

/* now: mtime must be the clock's, so only its place is printed. */
static void
show(const char *form, int r, int now)
{
	int e = errno;
	struct timespec clock;
	struct stat st;

	if (fstat(fd, &st) < 0)
		err(1, "fstat");
	clock_gettime(CLOCK_REALTIME, &clock);
	if (r < 0)
		printf("%s: %s, ", form, strerror(e));
	if (now)
		printf("%s: %s\n", form,
		       llabs((long long)(clock.tv_sec - st.st_mtim.tv_sec)) < 5
		       ? "now" : "another time");
	else
		printf("%s: atime %lld.%09ld mtime %lld.%09ld ctime %s\n",
		       form, (long long)st.st_atim.tv_sec,
		       st.st_atim.tv_nsec, (long long)st.st_mtim.tv_sec,
		       st.st_mtim.tv_nsec,
		       llabs((long long)(clock.tv_sec - st.st_ctim.tv_sec)) < 5
		       ? "now" : "another time");
}

static void
set_by_path(void)
{
	struct timespec ts[2] = { { 1000000001, 11 }, { 1000000002, 22 } };
	struct timeval tv[2] = { { 1100000001, 33 }, { 1100000002, 44 } };
	struct utimbuf ub = { 1200000001, 1200000002 };
	int dir = open(".", O_RDONLY | O_DIRECTORY);

	show("utimensat", utimensat(AT_FDCWD, name, ts, 0), 0);
	more();
	show("written", 0, 1);
	show("utimes", utimes(name, tv), 0);
	more();
	show("utime", utime(name, &ub), 0);
	more();
	show("lutimes", lutimes(name, tv), 0);
	more();
	show("futimesat", futimesat(dir, name, tv), 0);
	show("utimensat in a directory", utimensat(dir, name, ts, 0), 0);
	close(dir);
}

static void
set_by_fd(void)
{
	struct timespec ts[2] = { { 1300000001, 55 }, { 1300000002, 66 } };
	struct timeval tv[2] = { { 1400000001, 77 }, { 1400000002, 88 } };

	more();
	show("futimens", futimens(fd, ts), 0);
	more();
	show("futimes", futimes(fd, tv), 0);
	more();
	show("futimesat of itself", futimesat(fd, NULL, tv), 0);
	more();
	show("utimensat of itself", utimensat(fd, "", ts, AT_EMPTY_PATH), 0);
}

static void
set_specially(void)
{
	struct timespec keep[2] = { { 1500000001, 1 }, { 0, UTIME_OMIT } };
	struct timespec now[2] = { { 0, UTIME_OMIT }, { 0, UTIME_NOW } };
	struct timespec none[2] = { { 0, UTIME_OMIT }, { 0, UTIME_OMIT } };
	struct timespec bad[2] = { { 1, 1 }, { 1, 1000000000 } };
	struct timespec old[2] = { { -100, 5 }, { -100, 7 } };
	struct timespec future[2] = { { 4000000000, 1 }, { 4000000000, 2 } };

	show("futimens atime only", futimens(fd, keep), 0);
	show("futimens nothing", futimens(fd, none), 0);
	show("futimens wrong", futimens(fd, bad), 0);
	show("before 1970", futimens(fd, old), 0);
	show("future", futimens(fd, future), 0);
	more();
	show("futimens now", futimens(fd, now), 1);
	show("utimes now", utimes(name, NULL), 1);
	show("nobody there", utimensat(AT_FDCWD, "nobody", future, 0), 1);
}

/* Emptying is a change, whether there was anything or not. */
static void
empty(const char *form, int flags)
{
	struct timespec old[2] = { { 1550000001, 1 }, { 1550000002, 2 } };
	int other;

	show("before it", futimens(fd, old), 0);
	other = open(name, flags);
	show(form, other, 1);
	close(other);
}

int
main(int argc, char **argv)
{
	struct timespec last[2] = { { 1600000001, 9 }, { 1600000002, 8 } };

	name = argc > 1 ? argv[1] : "file";
	fd = open(name, O_RDWR | O_CREAT | O_EXCL, 0644);
	if (fd < 0)
		err(1, "%s", name);
	more();
	set_by_path();
	set_by_fd();
	set_specially();
	more();
	empty("emptied", O_WRONLY | O_TRUNC);
	empty("emptied again", O_WRONLY | O_TRUNC);
	empty("emptied by a reader", O_RDONLY | O_TRUNC);
	more();
	show("last", futimens(fd, last), 0);
	if (fsync(fd) < 0)
		err(1, "fsync");
	show("after fsync", 0, 0);
	close(fd);
	return fflush(stdout) || ferror(stdout);
}
