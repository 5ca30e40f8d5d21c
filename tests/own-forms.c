/* SPDX-License-Identifier: BSD-3-Clause */
/* own-forms.c -- libc and the loader read what was written just now */

/*
 * usage: own-forms CASE
 *
 * Works on files in the current directory and prints what libc finds there;
 * with and without Spillway the words and the files must be the same. The
 * object to load is named by the variable OBJECT.
 */
#include <dlfcn.h>
#include <mntent.h>
#include <stdlib.h>
#include <time.h>
#include <utmpx.h>

#include "tests/forms.h"

/* A table of mounts, read and added to. */
static void
case_mounts(void)
{
	struct mntent more = { "/dev/two", "/mnt/two", "xfs", "ro", 1, 2 };
	int fd = make("mounts", 0);
	struct mntent *m;
	FILE *table;

	put(fd, "/dev/one /mnt/one ext4 rw 0 0\n");
	table = setmntent("mounts", "r+");
	NEED(table != NULL);
	while ((m = getmntent(table)))
		printf("%s at %s\n", m->mnt_fsname, m->mnt_dir);
	NEED(addmntent(table, &more) == 0);
	NEED(endmntent(table) == 1 && endmntent(NULL) == 1);
	show(fd);
	NEED(setmntent("nowhere", "r") == NULL && errno == ENOENT);
}

static struct utmpx
login_of(const char *user)
{
	struct utmpx u = { .ut_type = USER_PROCESS, .ut_pid = 42,
			   .ut_line = "tty1" };

	memcpy(u.ut_user, user, strlen(user));
	return u;
}

/* Records of logins, which libc reads, adds to and changes. */
static void
case_logins(void)
{
	int fd = make("logins", 0);
	struct utmpx u = login_of("first"), *found;

	NEED(write(fd, &u, sizeof(u)) == sizeof(u));
	u = login_of("second");
	updwtmpx("logins", &u);
	NEED(pread(fd, &u, sizeof(u), sizeof(u)) == sizeof(u));
	printf("%.8s, %ld records\n", u.ut_user,
	       (long)lseek(fd, 0, SEEK_END) / (long)sizeof(u));
	NEED(utmpxname("logins") == 0);
	NEED(close(fd) == 0);
	setutxent();
	while ((found = getutxent()))
		printf("%.8s\n", found->ut_user);
	fd = open("logins", O_RDWR);
	u = login_of("third");
	NEED(pwrite(fd, &u, sizeof(u), 0) == sizeof(u));
	setutxent();
	found = getutxent();
	NEED(found != NULL);
	printf("%.8s\n", found->ut_user);
	endutxent();
}

static void
copy(const char *from, const char *to, int *ret_fd)
{
	int in = open(from, O_RDONLY);
	static char bytes[1 << 20];
	ssize_t n;

	*ret_fd = make(to, 0);
	NEED(in >= 0);
	while ((n = read(in, bytes, sizeof(bytes))) > 0)
		NEED(write(*ret_fd, bytes, (size_t)n) == n);
	close(in);
}

static void
load(const char *path)
{
	void *object = dlopen(path, RTLD_NOW | RTLD_LOCAL);

	printf("%s: %s\n", path, object ? "loaded" : dlerror());
}

/* Objects whose names do not tell what they are: one that is still open, and
 * one that is found along a path of the loader's. */
static void
case_objects(void)
{
	const char *from = getenv("OBJECT");
	int fd;

	NEED(from != NULL);
	copy(from, "plugin", &fd);
	load("./plugin");
	NEED(close(fd) == 0);
	copy(from, "found.module", &fd);
	NEED(close(fd) == 0);
	load("found.module");		/* in LD_LIBRARY_PATH */
	load("./missing");
}

/* One whose first bytes are in memory no more when it is closed. */
static void
case_evicted(void)
{
	static char bytes[1 << 20];
	int fd;

	NEED(getenv("OBJECT") != NULL);
	copy(getenv("OBJECT"), "found.module", &fd);
	for (int i = 0; i < 12; i++)
		NEED(write(fd, bytes, sizeof(bytes)) == sizeof(bytes));
	NEED(close(fd) == 0);
	load("found.module");
}

/* A time zone of one kind of time, as zic writes it. */
static void
case_zone(void)
{
	static const char zone[] = "TZif\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"
		"\0\0\0\0" "\0\0\0\0" "\0\0\0\0" "\0\0\0\0" "\0\0\0\1"
		"\0\0\0\4" "\0\0\x1c\x20\0\0" "TWO";
	char where[4096] = ":";
	time_t never = 0;
	struct tm tm;
	int fd = make("zone", 0);

	NEED(write(fd, zone, sizeof(zone)) == sizeof(zone));
	NEED(close(fd) == 0);
	NEED(getcwd(where + 1, sizeof(where) - 8) != NULL);
	strcat(where, "/zone");
	NEED(setenv("TZ", where, 1) == 0);
	tzset();
	NEED(localtime_r(&never, &tm) != NULL);
	printf("%d o'clock, %s\n", tm.tm_hour, tm.tm_zone);
}

int
main(int argc, char **argv)
{
	static const struct form forms[] = {
		{ "mounts", case_mounts }, { "logins", case_logins },
		{ "objects", case_objects }, { "evicted", case_evicted },
		{ "zone", case_zone },
		{ 0 },
	};

	alarm(60);
	return run_form(argc, argv, forms);
}
