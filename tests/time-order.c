/* SPDX-License-Identifier: BSD-3-Clause */
/* time-order.c -- whether times of files tell which was changed before which */

/*
 * usage: time-order
 *
 * Works in the current directory and counts what should not be seen. The last
 * line is up to the kernel: those before 6.13 show no change that comes soon
 * after the last.
 */
#include <err.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

enum { ROUNDS = 200 };

static int backwards, older, by_itself, unchanged;

static int64_t
mtime_of(int fd)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		err(1, "fstat");
	return (int64_t)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec;
}

static int
make(const char *name, int flags)
{
	int fd = open(name, O_RDWR | O_CREAT | flags, 0644);

	if (fd < 0)
		err(1, "%s", name);
	return fd;
}

static void
put(int fd, off_t at)
{
	if (pwrite(fd, "0123456789", 10, at) != 10)
		err(1, "pwrite");
}

static void
write_and_look(void)
{
	int fd = make("one", O_TRUNC);
	int64_t before = mtime_of(fd), after;

	for (int i = 0; i < 3; i++) {
		put(fd, i * 5000);
		after = mtime_of(fd);
		backwards += after < before;
		unchanged += after == before;
		before = after;
	}
	close(fd);
}

/* The first is the kernel's work, the second ours. */
static void
one_after_another(void)
{
	int first = make("first", O_TRUNC), second = make("second", 0);
	int64_t before = mtime_of(first);

	put(second, 0);
	older += mtime_of(second) < before;
	close(first);
	close(second);
}

/* And the other way round: it was looked at, so ours is later than the clock. */
static void
kernel_after_us(void)
{
	int first = make("first", O_TRUNC), second;
	int64_t before = mtime_of(first);

	put(first, 0);
	second = make("second", O_TRUNC);
	before = mtime_of(first);
	older += mtime_of(second) < before;
	close(first);
	close(second);
}

static void
set(int fd, int64_t seconds, long ns)
{
	struct timespec ts[2] = { { 0, UTIME_OMIT }, { seconds, ns } };

	if (futimens(fd, ts) < 0)
		err(1, "futimens");
}

/* By the program: to now, and to another time before a write. */
static void
set_and_look(void)
{
	int fd = make("set", 0);
	int64_t before;

	put(fd, 0);
	before = mtime_of(fd);
	set(fd, 0, UTIME_NOW);
	backwards += mtime_of(fd) < before;
	unchanged += mtime_of(fd) == before;
	before = mtime_of(fd);
	set(fd, 7, 7);
	put(fd, 0);
	unchanged += mtime_of(fd) == before;
	close(fd);
}

/* Looked at when nobody had it open. */
static void
close_and_look(void)
{
	int fd = make("closed", 0);
	struct stat before, after;

	put(fd, 0);
	close(fd);
	if (stat("closed", &before) < 0)
		err(1, "stat");
	fd = make("closed", 0);
	put(fd, 0);
	close(fd);
	if (stat("closed", &after) < 0)
		err(1, "stat");
	unchanged += after.st_mtim.tv_nsec == before.st_mtim.tv_nsec;
}

static void
cut(void)
{
	int fd = make("cut", O_TRUNC);
	int64_t before;

	put(fd, 10000);
	(void)mtime_of(fd);
	if (ftruncate(fd, 3000) < 0)
		err(1, "ftruncate");
	before = mtime_of(fd);
	if (fsync(fd) < 0)
		err(1, "fsync");
	by_itself += mtime_of(fd) != before;
	close(fd);
}

/* While the time of the write before is on its way home, or not. */
static void
cut_again(int fd, int round)
{
	int64_t before;

	put(fd, 100);
	before = mtime_of(fd);
	usleep(round % 40 * 60);
	if (ftruncate(fd, 110) < 0)
		err(1, "ftruncate");
	unchanged += mtime_of(fd) == before;
}

int
main(void)
{
	for (int i = 0; i < ROUNDS; i++) {
		write_and_look();
		one_after_another();
	}
	for (int i = 0; i < ROUNDS; i++) {
		usleep(50);
		kernel_after_us();
		set_and_look();
		close_and_look();
	}
	for (int i = 0; i < ROUNDS / 20; i++)
		cut();
	for (int i = 0, fd = make("again", 0); i < 8 * ROUNDS; i++)
		cut_again(fd, i);
	printf("a write set the time back: %d\n", backwards);
	printf("written later but older: %d\n", older);
	printf("changed by itself: %d\n", by_itself);
	printf("unchanged by a write or a cut: %d\n", unchanged);
	return 0;
}
