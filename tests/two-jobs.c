/* SPDX-License-Identifier: BSD-3-Clause */
/* two-jobs.c -- two programs on one file, who take turns over two fifos */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { RECORD = 100, ROUNDS = 60, RECORDS = 2000, SIZE = 5000,
       STORM = 200 };

static int self;			/* 0 or 1 */
static int in, out;			/* the fifos */

static void
check(int fine, const char *what, int round)
{
	if (fine)
		return;
	fprintf(stderr, "program %d, round %d: %s\n", self, round, what);
	exit(1);
}

static void
wait_for_turn(void)
{
	char byte;

	check(read(in, &byte, 1) == 1, "the other one is gone", -1);
}

static void
pass_turn(void)
{
	check(write(out, "", 1) == 1, "nobody listens", -1);
}

static int
open_it(const char *path, int flags)
{
	int fd = open(path, flags | O_CREAT, 0666);

	check(fd >= 0, "open", -1);
	return fd;
}

/* Records of both, whole, while both run. */
static void
append(const char *path)
{
	char record[RECORD];
	int fd = open_it(path, O_WRONLY | O_APPEND);

	for (int i = 0; i < RECORDS; i++) {
		if (i == RECORDS / 2) {	/* both are in the middle of it */
			pass_turn();
			wait_for_turn();
		}
		memset(record, self ? 'b' : 'a', sizeof(record));
		record[RECORD - 1] = '\n';
		check(write(fd, record, RECORD) == RECORD, "short", i);
	}
	close(fd);
}

static void
put(int fd, int round)
{
	char text[SIZE];

	memset(text, 'A' + round % 26, sizeof(text));
	check(pwrite(fd, text, SIZE, round * 3000L) == SIZE, "short", round);
}

static void
look(int fd, int round)
{
	char text[SIZE];
	struct stat st;

	check(fstat(fd, &st) == 0 && st.st_size == round * 3000L + SIZE,
	      "another size", round);
	check(pread(fd, text, SIZE, round * 3000L) == SIZE, "no bytes", round);
	for (int i = 0; i < SIZE; i++)
		check(text[i] == 'A' + round % 26, "old bytes", round);
}

/* Each round one writes and the other one reads it; both keep it open. */
static void
talk(const char *path)
{
	int fd = open_it(path, O_RDWR);

	for (int i = 0; i < ROUNDS; i++) {
		if (i % 2 == self) {
			put(fd, i);
			pass_turn();
		} else {
			wait_for_turn();
			look(fd, i);
		}
	}
	close(fd);
}

/* The same, but who has its turn opens it anew and closes it. */
static void
turns(const char *path)
{
	for (int i = 0; i < ROUNDS; i++) {
		int fd;

		if (i % 2 != self)
			wait_for_turn();
		fd = open_it(path, O_RDWR);
		if (i % 2 == self)
			put(fd, i);
		else
			look(fd, i);
		close(fd);
		if (i % 2 == self)
			pass_turn();
	}
}

/* One has it open and has written; the other one truncates it by name. */
static void
cut(const char *path)
{
	struct stat st;

	for (int i = 0; i < ROUNDS; i++) {
		int fd;

		if (i % 2 != self) {
			wait_for_turn();
			if (i % 3)
				fd = open_it(path, O_WRONLY | O_TRUNC);
			else
				fd = truncate(path, 0) < 0 ? -1 : 0;
			check(fd >= 0, "cannot be cut", i);
			if (i % 3)
				close(fd);
			pass_turn();
			wait_for_turn();
			continue;
		}
		fd = open_it(path, O_RDWR);
		put(fd, i);
		pass_turn();
		wait_for_turn();
		check(fstat(fd, &st) == 0 && st.st_size == 0, "not cut", i);
		check(pwrite(fd, "x", 1, 0) == 1, "short", i);
		close(fd);
		pass_turn();
	}
}

/* How many of its own records one finds in the file. */
static int
count(const char *path, char mark)
{
	FILE *f = fopen(path, "r");
	char record[RECORD];
	int n = 0;

	check(f != NULL, "cannot be read", -1);
	while (fread(record, RECORD, 1, f) == 1) {
		for (int i = 1; i < RECORD - 1; i++)
			check(record[i] == record[0], "torn", n);
		n += record[0] == mark;
	}
	fclose(f);
	return n;
}

static void
storm_as(const char *path, char mark)
{
	char record[RECORD];

	srand((unsigned)mark);
	memset(record, mark, sizeof(record));
	record[RECORD - 1] = '\n';
	for (int i = 1; i <= STORM; i++) {
		int fd = open_it(path, O_WRONLY | O_APPEND);

		check(write(fd, record, RECORD) == RECORD, "short", i);
		if (rand() % 3 == 0)
			usleep((useconds_t)rand() % 2000);
		close(fd);
		if (rand() % 3 == 0)
			check(count(path, mark) == i, "lost", i);
	}
}

/* Two processes of each open, append and close without a turn, and look for
 * what they wrote before. */
static void
storm(const char *path)
{
	pid_t pid = fork();
	int status;

	check(pid >= 0, "fork", -1);
	storm_as(path, (char)('a' + 2 * self + !pid));
	if (!pid)
		exit(0);
	check(wait(&status) == pid && status == 0, "the child failed", -1);
}

/* Writes, says so and stays until it is killed. */
static void
linger(const char *path)
{
	int fd = open_it(path, O_RDWR);

	put(fd, 0);
	pass_turn();
	for (;;)
		pause();
}

static void
follow(const char *path)
{
	int fd = open_it(path, O_RDWR);

	look(fd, 0);
	put(fd, 1);
	look(fd, 1);
	close(fd);
}

int
main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*act)(const char *path);
	} forms[] = {
		{ "append", append }, { "cut", cut }, { "follow", follow },
		{ "linger", linger }, { "storm", storm }, { "talk", talk },
		{ "turns", turns },
	};

	if (argc != 4)
		return 2;
	self = argv[2][0] == '1';
	in = open(self ? "one" : "two", O_RDWR);
	out = open(self ? "two" : "one", O_RDWR);
	check(in >= 0 && out >= 0, "no fifos", -1);
	alarm(60);
	for (size_t i = 0; i < sizeof(forms) / sizeof(*forms); i++)
		if (!strcmp(argv[1], forms[i].name)) {
			forms[i].act(argv[3]);
			return 0;
		}
	return 2;
}
