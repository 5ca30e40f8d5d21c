/* SPDX-License-Identifier: BSD-3-Clause */
/* thread-forms.c -- threads with little stack, many of them, and cancelled */

/*
 * usage: thread-forms BEHAVIOUR
 *
 * Works in the current directory; 1 with a message when something is wrong.
 */
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <ucontext.h>
#include <unistd.h>

#include "tests/told.h"

enum { RECORD = 128, RECORDS = 4096, MANY = 1000, BLOCK = 4096 };

static char big[1 << 18];

static void
fail(const char *what)
{
	fprintf(stderr, "thread-forms: %s\n", what);
	exit(1);
}

static void
need(int yes, const char *what)
{
	if (!yes)
		told_die(what);
}

/* Everything on a file, none of it with much on the stack. */
static void *
all_calls(void *arg)
{
	static struct stat st;
	static struct iovec v[2] = { { big, 10 }, { big, 9000 } };
	const char *name = arg;
	int fd, copy;

	fd = open(name, O_RDWR | O_CREAT | O_TRUNC, 0644);
	need(fd >= 0, "open");
	need(write(fd, big, sizeof(big)) == sizeof(big), "write");
	for (int i = 0; i < 40; i++) {	/* more pieces than a block keeps */
		off_t at = sizeof(big) + BLOCK + i * 97;

		need(pwrite(fd, "x", 1, at) == 1, "pwrite");
		need(pread(fd, big, 90, at - 50) == 51, "pread");
	}
	need(writev(fd, v, 2) == 9010, "writev");
	need(lseek(fd, 0, SEEK_SET) == 0, "lseek");
	need(readv(fd, v, 2) == 9010, "readv");
	need(read(fd, big, sizeof(big)) > 0, "read");
	need(fstat(fd, &st) == 0 && stat(name, &st) == 0, "stat");
	copy = dup(fd);
	need(copy >= 0 && close(copy) == 0, "dup");
	need(ftruncate(fd, 5000) == 0, "ftruncate");
	need(fsync(fd) == 0, "fsync");
	need(fallocate(fd, 0, 0, 20000) == 0, "fallocate");
	need(lseek(fd, 0, SEEK_DATA) == 0, "lseek");
	need(rename(name, "renamed") == 0 && rename("renamed", name) == 0,
	     "rename");
	need(write(fd, "mapped", 6) == 6, "write");
	need(mmap(NULL, BLOCK, PROT_READ, MAP_SHARED, fd, 0) != MAP_FAILED,
	     "mmap");
	need(pwrite(fd, "end", 3, 19000) == 3, "pwrite");
	need(close(fd) == 0, "close");
	return NULL;
}

static void
run_with(size_t stack, char *name)
{
	pthread_attr_t attr;
	pthread_t t;

	pthread_attr_init(&attr);
	need(pthread_attr_setstacksize(&attr, stack) == 0, "stack size");
	need(pthread_create(&t, &attr, all_calls, name) == 0, "thread");
	pthread_join(t, NULL);
	pthread_attr_destroy(&attr);
}

/* The smallest there are; on the first everything has to be set up. */
static void
small(void)
{
	long least = sysconf(_SC_THREAD_STACK_MIN);

	run_with(least < 16384 ? 16384 : (size_t)least, "small");
	run_with(8 << 20, "large");
}

static void
on_own_stack(void)
{
	(void)all_calls((void *)"coroutine");
}

/* What lies below it is not there. */
static char *
make_stack(size_t size)
{
	char *stack = mmap(NULL, 17 * size, PROT_NONE,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	need(stack != MAP_FAILED, "mmap");
	stack += 16 * size;
	need(mprotect(stack, size, PROT_READ | PROT_WRITE) == 0, "mprotect");
	return stack;
}

/* The first thread, on a stack that it made. */
static void
coroutine(void)
{
	static ucontext_t here, there;

	need(getcontext(&there) == 0, "getcontext");
	there.uc_stack.ss_size = 16384;
	there.uc_stack.ss_sp = make_stack(there.uc_stack.ss_size);
	there.uc_link = &here;
	makecontext(&there, on_own_stack, 0);
	need(swapcontext(&here, &there) == 0, "swapcontext");
}

static void *
one_of_many(void *arg)
{
	char mine[RECORD], seen[RECORD];
	long no = (long)arg;
	int fd = open("many", O_RDWR);

	memset(mine, (int)no, sizeof(mine));
	need(fd >= 0, "open");
	need(pwrite(fd, mine, RECORD, no * RECORD) == RECORD, "pwrite");
	need(pread(fd, seen, RECORD, no * RECORD) == RECORD, "pread");
	if (memcmp(mine, seen, RECORD))
		fail("a thread reads other bytes than it wrote");
	need(close(fd) == 0, "close");
	return NULL;
}

static void
many(void)
{
	static pthread_t threads[MANY];
	pthread_attr_t attr;
	int fd = open("many", O_RDWR | O_CREAT | O_TRUNC, 0644);

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 65536);
	for (int round = 0; round < 2; round++) {
		for (long i = 0; i < MANY; i++)
			need(pthread_create(&threads[i], &attr, one_of_many,
					    (void *)i) == 0, "thread");
		for (long i = 0; i < MANY; i++)
			pthread_join(threads[i], NULL);
	}
	for (long i = 0; i < MANY; i++) {
		char c;

		need(pread(fd, &c, 1, i * RECORD + RECORD / 2) == 1, "pread");
		if (c != (char)i)
			fail("a record is missing");
	}
	close(fd);
}

static int shared = -1;

/* Records of one letter each, again and again, and reads between. */
static void *
scribble(void *arg)
{
	char record[RECORD];
	long letter = (long)arg;
	int type;

	pthread_setcanceltype(letter & 1 ? PTHREAD_CANCEL_ASYNCHRONOUS
					 : PTHREAD_CANCEL_DEFERRED, &type);
	for (unsigned i = (unsigned)letter; ; i++) {
		off_t at = (off_t)(i * 7919u % RECORDS) * RECORD;

		memset(record, (int)letter, sizeof(record));
		(void)!pwrite(shared, record, RECORD, at);
		(void)!pread(shared, record, RECORD, at);
	}
	return NULL;
}

static void
cancelled(void)
{
	static char all[RECORDS * RECORD];
	pthread_t t[4];

	shared = open("cancelled", O_RDWR | O_CREAT | O_TRUNC, 0644);
	memset(all, 'z', sizeof(all));
	need(write(shared, all, sizeof(all)) == sizeof(all), "write");
	for (int round = 0; round < 60; round++) {
		for (long i = 0; i < 4; i++)
			need(pthread_create(&t[i], NULL, scribble,
					    (void *)('a' + i)) == 0,
			     "thread");
		usleep(500 + (unsigned)round * 37);
		for (int i = 0; i < 4; i++)
			pthread_cancel(t[i]);
		for (int i = 0; i < 4; i++)
			pthread_join(t[i], NULL);
		need(pwrite(shared, all, RECORD, round * RECORD) == RECORD,
		     "pwrite after a cancellation");
	}
	need(pread(shared, all, sizeof(all), 0) == sizeof(all), "pread");
	for (int i = 0; i < RECORDS; i++)
		for (int k = 1; k < RECORD; k++)
			if (all[i * RECORD + k] != all[i * RECORD])
				fail("a record is torn");
	memset(all, 'z', sizeof(all));
	need(pwrite(shared, all, sizeof(all), 0) == sizeof(all), "pwrite");
	need(fsync(shared) == 0, "fsync");
	close(shared);
}

/* Calls that are made behind our back's closed gates are cancelled before
 * or after. */
static void *
resize(void *arg)
{
	const char *name = arg;

	for (unsigned i = 0; ; i++) {
		int fd = open(name, O_RDWR | O_TRUNC);

		(void)!write(fd, big, 10000);
		(void)!ftruncate(fd, i % 5000);
		(void)!fallocate(fd, 0, 0, 9000);
		(void)fdatasync(fd);
		close(fd);
	}
	return NULL;
}

static void
cancelled_resizing(void)
{
	int fd = open("resized", O_RDWR | O_CREAT | O_TRUNC, 0644);
	pthread_t t[2];

	for (int round = 0; round < 40; round++) {
		for (int i = 0; i < 2; i++)
			need(pthread_create(&t[i], NULL, resize,
					    (void *)"resized") == 0, "thread");
		usleep(300 + (unsigned)round * 61);
		for (int i = 0; i < 2; i++)
			pthread_cancel(t[i]);
		for (int i = 0; i < 2; i++)
			pthread_join(t[i], NULL);
		need(ftruncate(fd, 100) == 0, "ftruncate");
		need(pwrite(fd, big, 200, 0) == 200, "pwrite");
	}
	need(ftruncate(fd, 0) == 0, "ftruncate");
	need(pwrite(fd, "over", 4, 0) == 4, "pwrite");
	close(fd);
}

static void *
write_last(void *name)
{
	int fd;

	usleep(300000);
	fd = open(name, O_WRONLY | O_CREAT | O_TRUNC, 0644);
	need(write(fd, "last", 4) == 4, "write");
	printf("the last one\n");	/* and libc ends the program */
	return NULL;
}

static void
first_ends(void)
{
	pthread_t t;

	need(pthread_create(&t, NULL, write_last, (void *)"last") == 0,
	     "thread");
	pthread_detach(t);
	pthread_exit(NULL);
}

/* A log whose number stands for one file after another, while threads write
 * to it: each record is in one of them, once. */
enum { LOG = 500, LOGS = 5, TURNS = 400, WRITERS = 3 };

static _Atomic int turns_over;

static const char *
log_name(int n)
{
	static _Thread_local char name[] = "log0";

	name[3] = (char)('0' + n);
	return name;
}

static void *
keep_log(void *arg)
{
	uint32_t record[2] = { (uint32_t)(uintptr_t)arg, 0 };

	for (; !turns_over; record[1]++)
		need(write(LOG, record, sizeof(record)) == sizeof(record),
		     "write");
	return (void *)(uintptr_t)record[1];
}

static void
turn_log(int turn)
{
	int fd = open(log_name(turn % LOGS), O_RDWR | O_CREAT | O_APPEND, 0644);

	need(fd >= 0 && dup2(fd, LOG) == LOG && close(fd) == 0, "dup2");
}

static void
count_records(int n, uint32_t *counts)
{
	uint32_t record[2];
	FILE *fp = fopen(log_name(n), "r");

	need(fp != NULL, "fopen");
	while (fread(record, sizeof(record), 1, fp) == 1) {
		if (record[0] >= WRITERS)
			fail("a record of nobody");
		counts[record[0]]++;
	}
	fclose(fp);
	need(unlink(log_name(n)) == 0, "unlink");
}

static void
turned(void)
{
	uint32_t counts[WRITERS] = { 0 };
	pthread_t t[WRITERS];

	turn_log(0);
	for (uintptr_t i = 0; i < WRITERS; i++)
		need(pthread_create(&t[i], NULL, keep_log, (void *)i) == 0,
		     "thread");
	for (int turn = 1; turn < TURNS; turn++)
		turn_log(turn);
	turns_over = 1;
	for (int i = 0; i < WRITERS; i++) {
		void *wrote;

		pthread_join(t[i], &wrote);
		counts[i] -= (uint32_t)(uintptr_t)wrote;
	}
	for (int i = 0; i < LOGS; i++)
		count_records(i, counts);
	for (int i = 0; i < WRITERS; i++)
		if (counts[i])
			fail("records are missing, or there twice");
	close(LOG);
}

int
main(int argc, char **argv)
{
	static const struct { const char *name; void (*run)(void); } all[] = {
		{ "small", small }, { "coroutine", coroutine },
		{ "many", many },
		{ "cancelled", cancelled },
		{ "cancelled-resizing", cancelled_resizing },
		{ "first-ends", first_ends }, { "turned", turned },
	};

	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
		if (argc < 2 || strcmp(argv[1], all[i].name) == 0)
			all[i].run();
	puts("fine");
	return 0;
}
