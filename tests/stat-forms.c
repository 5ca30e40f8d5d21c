/* SPDX-License-Identifier: BSD-3-Clause */
/* stat-forms.c -- one file through every stat-like call; prints what they say */

/*
 * Times are printed as relations, so that two runs can be compared: whether
 * mtime lies between the clock before and after the last change, and whether
 * ctime is the same, as far as clocks that tick say so.
 */
#include <err.h>
#include <fcntl.h>
#include <fts.h>
#include <ftw.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { TICK = 20000000 };		/* ns */

static const char *name;
static int fd;
static int64_t before, after;		/* clock around the last change */

static int64_t
ns(const struct timespec *ts)
{
	return (int64_t)ts->tv_sec * 1000000000 + ts->tv_nsec;
}

/* A write is stamped with the coarse clock; some kernels use a finer one. */
static int64_t
now(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return ns(&ts);
}

static void
show(const char *form, const struct stat *st)
{
	int64_t m = ns(&st->st_mtim), c = ns(&st->st_ctim);

	printf("%s: %s size %lld, blocks %s, mtime %s, ctime %s\n", form,
	       S_ISREG(st->st_mode) ? "file" : "other",
	       (long long)st->st_size,
	       st->st_blocks == 0 ? "none" :
	       st->st_blocks * 512 < st->st_size ? "fewer" : "enough",
	       m < before ? "early" : m > after ? "late" : "right",
	       c < m ? "before it" : c < m + TICK ? "with it" : "later");
}

static void
show_statx(const char *form, int dir, const char *path, int flags,
	   unsigned mask)
{
	struct statx x;
	struct stat st = { 0 };

	if (statx(dir, path, flags, mask, &x) < 0)
		err(1, "statx");
	if ((x.stx_mask & mask & STATX_BASIC_STATS) !=
	    (mask & STATX_BASIC_STATS))
		printf("%s: mask is %x\n", form, x.stx_mask);
	st.st_mode = x.stx_mode;
	st.st_size = (off_t)x.stx_size;
	st.st_blocks = (blkcnt_t)x.stx_blocks;
	st.st_mtim = (struct timespec){ x.stx_mtime.tv_sec,
					x.stx_mtime.tv_nsec };
	st.st_ctim = (struct timespec){ x.stx_ctime.tv_sec,
					x.stx_ctime.tv_nsec };
	show(form, &st);
}

/* The names that programs built before glibc 2.33 call. They can no longer be
 * linked with, but a reference with their version can. */
#if defined(__x86_64__)
#define OLD(name) __asm__(".symver " #name "," #name "@GLIBC_2.2.5")
#define OLD_AT(name) __asm__(".symver " #name "," #name "@GLIBC_2.4")
#elif defined(__aarch64__)
#define OLD(name) __asm__(".symver " #name "," #name "@GLIBC_2.17")
#define OLD_AT(name) OLD(name)
#endif

#ifdef OLD
int __xstat(int ver, const char *path, struct stat *st);
int __xstat64(int ver, const char *path, struct stat64 *st);
int __lxstat(int ver, const char *path, struct stat *st);
int __fxstat(int ver, int fd, struct stat *st);
int __fxstatat(int ver, int dir, const char *path, struct stat *st,
	       int flags);
OLD(__xstat);
OLD(__xstat64);
OLD(__lxstat);
OLD(__fxstat);
OLD_AT(__fxstatat);

static void
show_old(void)
{
#ifdef __x86_64__
	const int ver = 1;
#else
	const int ver = 0;
#endif
	struct stat st;
	struct stat64 st64;

	if (__xstat(ver, name, &st) == 0)
		show("__xstat", &st);
	if (__xstat64(ver, name, &st64) == 0)
		printf("__xstat64: size %lld\n", (long long)st64.st_size);
	if (__lxstat(ver, name, &st) == 0)
		show("__lxstat", &st);
	if (__fxstat(ver, fd, &st) == 0)
		show("__fxstat", &st);
	if (__fxstatat(ver, AT_FDCWD, name, &st, 0) == 0)
		show("__fxstatat", &st);
}
#else
static void
show_old(void)
{
}
#endif

static int
visit(const char *path, const struct stat *st, int type, struct FTW *at)
{
	(void)at;
	if (type == FTW_F && strcmp(path, name) == 0)
		show("nftw", st);
	return 0;
}

static int
visit_old(const char *path, const struct stat *st, int type)
{
	if (type == FTW_F && strcmp(path, name) == 0)
		show("ftw", st);
	return 0;
}

static void
show_walks(void)
{
	char *const start[] = { (char *)name, NULL };
	FTS *fts = fts_open(start, FTS_PHYSICAL | FTS_NOCHDIR, NULL);
	FTSENT *e;

	while (fts && (e = fts_read(fts)))
		show("fts_read", e->fts_statp);
	if (fts)
		fts_close(fts);
	nftw(name, visit, 4, FTW_PHYS);
	ftw(name, visit_old, 4);
}

static void
show_all(const char *what)
{
	struct stat st;
	struct stat64 st64;

	printf("-- %s\n", what);
	if (stat(name, &st) == 0)
		show("stat", &st);
	if (lstat(name, &st) == 0)
		show("lstat", &st);
	if (fstat(fd, &st) == 0)
		show("fstat", &st);
	if (fstatat(AT_FDCWD, name, &st, AT_SYMLINK_NOFOLLOW) == 0)
		show("fstatat", &st);
	if (fstatat(fd, "", &st, AT_EMPTY_PATH) == 0)
		show("fstatat of itself", &st);
	if (stat64(name, &st64) == 0)
		printf("stat64: size %lld\n", (long long)st64.st_size);
	if (fstat64(fd, &st64) == 0)
		printf("fstat64: size %lld\n", (long long)st64.st_size);
	show_statx("statx", AT_FDCWD, name, 0, STATX_BASIC_STATS);
	show_statx("statx of itself", fd, "", AT_EMPTY_PATH, STATX_ALL);
	show_old();
	show_walks();
	fflush(stdout);
}

static void
put(size_t n, off_t at)
{
	char *buf = malloc(n);

	memset(buf, 'x', n);
	before = now(CLOCK_REALTIME_COARSE);
	if (pwrite(fd, buf, n, at) != (ssize_t)n)
		err(1, "pwrite");
	after = now(CLOCK_REALTIME);
	free(buf);
}

static void
cut(off_t size)
{
	before = now(CLOCK_REALTIME_COARSE);
	if (ftruncate(fd, size) < 0)
		err(1, "ftruncate");
	after = now(CLOCK_REALTIME);
}

int
main(int argc, char **argv)
{
	struct stat st;

	name = argc > 1 ? argv[1] : "file";
	before = now(CLOCK_REALTIME_COARSE);
	fd = open(name, O_RDWR | O_CREAT | O_EXCL, 0644);
	if (fd < 0)
		err(1, "%s", name);
	after = now(CLOCK_REALTIME);
	show_all("empty");
	put(1, 0);
	show_all("one byte");
	put(4096, 4096);
	show_all("a block further on");
	put(100000, 8192);
	show_all("many blocks");
	if (fsync(fd) < 0)
		err(1, "fsync");
	show_all("after fsync");
	cut(5000);
	show_all("cut");
	put(10, 5000);
	show_all("longer again");
	cut(70000);
	show_all("grown by a hole");
	put(10, 1ll << 40);
	if (stat(name, &st) == 0)
		show("sparse", &st);
	if (fork() == 0) {
		put(4096, (1ll << 40) + 10);
		_exit(0);
	}
	wait(NULL);
	if (stat(name, &st) == 0)
		printf("a child wrote: size %lld\n", (long long)st.st_size);
	cut(0);
	show_all("empty again");
	close(fd);
	fd = -1;
	if (stat(name, &st) == 0)
		show("closed", &st);
	return fflush(stdout) || ferror(stdout);
}
