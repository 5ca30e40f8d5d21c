/* SPDX-License-Identifier: BSD-3-Clause */
/* unit-beside.c -- notes beside files: of each file and share its own, by
 * whom they count, and nothing is left of them */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "planner/beside.h"
#include "tests/guarded.h"

static char place[] = "unit-beside.XXXXXX";

static int
make(const char *name)
{
	int fd = open(name, O_RDWR | O_CREAT, 0600);

	CHECK(fd >= 0);
	return fd;
}

/* Names in the directory, without . and .. */
static int
count_names(void)
{
	DIR *dir = opendir(".");
	int n = -2;

	CHECK(dir);
	while (readdir(dir))
		n++;
	closedir(dir);
	return n;
}

static void
test_each_its_own(int a, int b)
{
	CHECK(spw_beside_get(a, "one") == 0);
	CHECK(spw_beside_set(a, "one", 0) == 0 && count_names() == 2);
	CHECK(spw_beside_set(a, "one", 5) == 0);
	CHECK(spw_beside_set(b, "one", UINT64_MAX) == 0);
	CHECK(spw_beside_set(a, "two", 7) == 0 && count_names() == 4);
	CHECK(spw_beside_set(a, "one", 6) == 0);
	CHECK(spw_beside_get(a, "one") == 6 && spw_beside_get(a, "two") == 7);
	CHECK(spw_beside_get(b, "one") == UINT64_MAX &&
	      spw_beside_get(b, "two") == 0);
	CHECK(spw_beside_set(a, "one", 0) == 0 && count_names() == 4);
	CHECK(spw_beside_get(a, "one") == 0 &&
	      spw_beside_get(b, "one") == UINT64_MAX);
	CHECK(spw_beside_set(b, "one", 0) == 0 && count_names() == 3);
	CHECK(spw_beside_set(a, "two", 0) == 0 && count_names() == 2);
}

/* What was being written when its writer was killed goes as well; a link to
 * something else under that name is no reason to write there. */
static void
test_leftover(int a, int b)
{
	const char *new = ".spillway-home.one.new";
	char byte;

	CHECK(pwrite(b, "b", 1, 0) == 1 && link("b", new) == 0);
	CHECK(spw_beside_set(a, "one", 5) == 0 && count_names() == 3);
	CHECK(pread(b, &byte, 1, 0) == 1 && byte == 'b');
	close(make(new));
	CHECK(spw_beside_set(a, "one", 0) == 0 && count_names() == 2);
}

/* Nobody waits for a writer of a pipe, nor believes a link. */
static void
test_strange(int a)
{
	const char *name = ".spillway-home.one";

	CHECK(mkfifo(name, 0600) == 0);
	alarm(20);
	CHECK(spw_beside_get(a, "one") == 0);
	CHECK(spw_beside_set(a, "one", 5) == -EPERM);
	alarm(0);
	CHECK(unlink(name) == 0 && symlink("a", name) == 0);
	CHECK(spw_beside_set(a, "one", 5) == -ELOOP);
	CHECK(unlink(name) == 0 && mkdir(name, 0700) == 0);
	CHECK(spw_beside_set(a, "one", 5) < 0);
	CHECK(rmdir(name) == 0 && count_names() == 2);
}

/* As anybody can put it into a directory that all may write to. */
static void
test_foreign(int a)
{
	char line[64];
	struct stat st;
	int fd;

	if (geteuid() != 0)
		return;			/* nobody else's can be made */
	CHECK(fstat(a, &st) == 0);
	snprintf(line, sizeof(line), "%llu 9\n",
		 (unsigned long long)st.st_ino);
	fd = make(".spillway-home.one");
	CHECK(write(fd, line, strlen(line)) == (ssize_t)strlen(line));
	CHECK(spw_beside_get(a, "one") == 9);
	CHECK(fchown(fd, 12345, 12345) == 0);
	CHECK(spw_beside_get(a, "one") == 0);
	close(fd);
	CHECK(unlink(".spillway-home.one") == 0);
}

/* A name that does not fit is nobody else's that begins like it. */
static void
test_long(int a)
{
	char share[NAME_MAX + 1];

	memset(share, 's', sizeof(share));
	share[NAME_MAX - 15 - 4] = '\0';
	CHECK(spw_beside_set(a, share, 5) == 0 &&
	      spw_beside_get(a, share) == 5);
	CHECK(spw_beside_set(a, share, 0) == 0);
	share[NAME_MAX - 15 - 4] = 's';
	share[NAME_MAX] = '\0';
	CHECK(spw_beside_set(a, share, 5) == -ENAMETOOLONG);
	CHECK(spw_beside_get(a, share) == 0 && count_names() == 2);
}

int
main(void)
{
	int a, b;

	CHECK(mkdtemp(place) && chdir(place) == 0);
	a = make("a");
	b = make("b");
	test_each_its_own(a, b);
	test_leftover(a, b);
	test_strange(a);
	test_foreign(a);
	test_long(a);
	CHECK(unlink("a") == 0 && unlink("b") == 0 && chdir("..") == 0);
	return rmdir(place) != 0;
}
