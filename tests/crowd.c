/* SPDX-License-Identifier: BSD-3-Clause */
/* crowd.c -- several processes and threads on one file, told in plain words */

/*
 * usage: crowd BEHAVIOUR [NUMBER]
 *
 * Each behaviour works in the current directory, checks what POSIX promises
 * and prints what it saw. Plain and under Spillway it must print the same.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { WRITERS = 8, BLOCK = 4096 };

static void
die(const char *what)
{
	fprintf(stderr, "crowd: %s: %s\n", what, strerror(errno));
	exit(1);
}

static int
must_open(const char *path, int flags)
{
	int fd = open(path, flags, 0644);

	if (fd < 0)
		die(path);
	return fd;
}

static void
must_write(int fd, const void *buf, size_t n, off_t at)
{
	if (pwrite(fd, buf, n, at) != (ssize_t)n)
		die("pwrite");
}

static void
must_end(int n)
{
	for (int i = 0; i < n; i++) {
		int status;

		if (wait(&status) < 0 || status) {
			fprintf(stderr, "crowd: a child failed\n");
			exit(1);
		}
	}
}

static off_t
size_of(const char *path)
{
	struct stat st;

	if (stat(path, &st) < 0)
		die(path);
	return st.st_size;
}

/* Records of odd lengths, each filled with its writer's letter. */
static void
append_records(int who)
{
	int fd = must_open("log", O_WRONLY | O_CREAT | O_APPEND);
	char record[3000];

	for (int i = 0; i < 300; i++) {
		size_t n = 20 + (size_t)(i * 37 + who * 101) % 2900;

		memset(record, 'a' + who, n);
		snprintf(record, 20, "%c%06d%06zu", 'A' + who, i, n);
		if (write(fd, record, n) != (ssize_t)n)
			die("write");
	}
	close(fd);
}

static void
append(int unused)
{
	char head[21] = "", *all;
	int next[WRITERS] = { 0 }, fd;
	off_t size, at = 0;

	(void)unused;
	for (int who = 0; who < WRITERS; who++)
		if (fork() == 0) {
			append_records(who);
			_exit(0);
		}
	must_end(WRITERS);
	size = size_of("log");
	all = malloc((size_t)size);
	fd = must_open("log", O_RDONLY);
	if (!all || read(fd, all, (size_t)size) != size)
		die("read");
	while (at < size) {
		int who = all[at] - 'A', i;
		size_t n;

		memcpy(head, all + at, 20);
		if (who < 0 || who >= WRITERS ||
		    sscanf(head + 1, "%6d%6zu", &i, &n) != 2 ||
		    i != next[who]++) {
			printf("broken record at %ld\n", (long)at);
			exit(1);
		}
		for (size_t k = 20; k < n; k++)
			if (all[at + (off_t)k] != 'a' + who) {
				printf("torn record at %ld\n", (long)at);
				exit(1);
			}
		at += (off_t)n;
	}
	free(all);
	printf("%d writers, %ld bytes, every record whole and in order\n",
	       WRITERS, (long)size);
}

/* All write the same blocks; each block must be one writer's. */
static void
overlap(int unused)
{
	char block[BLOCK];
	int fd;

	(void)unused;
	for (int who = 0; who < WRITERS; who++)
		if (fork() == 0) {
			fd = must_open("shared", O_RDWR | O_CREAT);
			memset(block, 'a' + who, BLOCK);
			for (int round = 0; round < 200; round++)
				for (int b = 0; b < 8; b++)
					must_write(fd, block, BLOCK,
						   b * BLOCK);
			_exit(0);
		}
	must_end(WRITERS);
	fd = must_open("shared", O_RDONLY);
	for (int b = 0; b < 8; b++) {
		if (pread(fd, block, BLOCK, b * BLOCK) != BLOCK)
			die("pread");
		for (int k = 1; k < BLOCK; k++)
			if (block[k] != block[0]) {
				printf("mixed block\n");
				exit(1);
			}
	}
	printf("every block is one writer's\n");
}

/* A reader sees a completed write of another process at once. */
static void
visible(int unused)
{
	int there[2], back[2], fd;
	char c = 0;

	(void)unused;
	if (pipe(there) < 0 || pipe(back) < 0)
		die("pipe");
	fd = must_open("seen", O_RDWR | O_CREAT);
	if (fork() == 0) {
		int mine = must_open("seen", O_RDONLY);

		for (uint32_t i = 0; i < 2000; i++) {
			uint32_t got = 0;

			if (read(there[0], &c, 1) != 1 ||
			    pread(mine, &got, 4, (off_t)i * 1000) != 4 ||
			    got != i)
				_exit(1);
			if (write(back[1], &c, 1) != 1)
				_exit(1);
		}
		_exit(0);
	}
	for (uint32_t i = 0; i < 2000; i++) {
		must_write(fd, &i, 4, (off_t)i * 1000);
		if (write(there[1], &c, 1) != 1 ||
		    read(back[0], &c, 1) != 1) {
			printf("write %u was not seen\n", i);
			exit(1);
		}
	}
	must_end(1);
	printf("2000 writes seen at once, size %ld\n", (long)size_of("seen"));
}

struct share {
	int fd, who;
};

static void *
thread_writes(void *arg)
{
	struct share *s = arg;
	char piece[1000];

	memset(piece, 'a' + s->who, sizeof(piece));
	for (int i = 0; i < 500; i++)
		must_write(s->fd, piece, sizeof(piece),
			   ((off_t)i * WRITERS + s->who) * 1000);
	return NULL;
}

static void
threads(int unused)
{
	pthread_t thread[WRITERS];
	struct share share[WRITERS];
	int fd = must_open("striped", O_RDWR | O_CREAT);
	char piece[1000];

	(void)unused;
	for (int i = 0; i < WRITERS; i++) {
		share[i] = (struct share){ fd, i };
		if (pthread_create(&thread[i], NULL, thread_writes,
				   &share[i]))
			die("thread");
	}
	for (int i = 0; i < WRITERS; i++)
		pthread_join(thread[i], NULL);
	for (int i = 0; i < 500 * WRITERS; i++) {
		if (pread(fd, piece, 1000, (off_t)i * 1000) != 1000 ||
		    piece[0] != 'a' + i % WRITERS ||
		    piece[999] != piece[0]) {
			printf("piece %d is wrong\n", i);
			exit(1);
		}
	}
	printf("%ld bytes in stripes\n", (long)size_of("striped"));
}

static void
truncation(int unused)
{
	int fd = must_open("cut", O_RDWR | O_CREAT);
	char big[100000], got[100];
	ssize_t n;

	(void)unused;
	memset(big, 'x', sizeof(big));
	must_write(fd, big, sizeof(big), 0);
	if (ftruncate(fd, 5000) < 0)
		die("ftruncate");
	printf("cut: %ld\n", (long)size_of("cut"));
	if (ftruncate(fd, 20000) < 0)
		die("ftruncate");
	n = pread(fd, got, sizeof(got), 4990);
	printf("around the cut: %zd bytes, %d of them x\n", n,
	       (int)(strrchr(got, 'x') - got) + 1);
	must_write(fd, "end", 3, 30000);
	n = pread(fd, got, 10, 29998);
	printf("beyond: %zd bytes, %d %d %.3s\n", n, got[0], got[1], got + 2);
	close(fd);
	fd = must_open("cut", O_RDWR | O_TRUNC);
	printf("emptied: %ld\n", (long)size_of("cut"));
	must_write(fd, "new", 3, 0);
	close(fd);
	printf("written: %ld\n", (long)size_of("cut"));
}

static void
names(int unused)
{
	int a = must_open("one", O_RDWR | O_CREAT), b;
	char got[10] = "";
	struct stat st;

	(void)unused;
	must_write(a, "first", 5, 0);
	b = must_open("two", O_RDWR | O_CREAT);
	must_write(b, "second", 6, 0);
	if (rename("two", "one") < 0)
		die("rename");
	must_write(a, "FIRST", 5, 0);	/* has no name any more */
	b = must_open("one", O_RDONLY);
	printf("by name: %zd %.6s\n", read(b, got, 9), got);
	printf("by descriptor: %zd %.5s\n", pread(a, got, 9, 0), got);
	if (link("one", "three") < 0 || unlink("one") < 0)
		die("link");
	b = must_open("three", O_RDWR);
	must_write(b, "third!!", 7, 0);
	if (stat("three", &st) < 0)
		die("stat");
	printf("linked: %ld bytes, %ld links\n", (long)st.st_size,
	       (long)st.st_nlink);
	if (unlink("three") < 0 || fstat(b, &st) < 0)
		die("unlink");
	printf("unlinked: %ld bytes, %ld links, %zd %.7s\n",
	       (long)st.st_size, (long)st.st_nlink, pread(b, got, 9, 0), got);
}

static void
sparse(int unused)
{
	static const off_t places[] = {
		0, 5000, 1 << 20, (off_t)1 << 32, (off_t)1 << 40,
	};
	int fd = must_open("sparse", O_RDWR | O_CREAT);
	char got[8];

	(void)unused;
	for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++)
		must_write(fd, "here", 4, places[i]);
	for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++) {
		if (pread(fd, got, 8, places[i]) < 4)
			die("pread");
		printf("at %ld: %.4s\n", (long)places[i], got);
	}
	printf("before the last: %d, size %ld\n",
	       pread(fd, got, 4, places[4] - 4) == 4 ? got[0] : -1,
	       (long)size_of("sparse"));
}

/* A file of so many MiB, each block telling its own number. */
static void
large(int mib)
{
	int fd = must_open("large", O_RDWR | O_CREAT);
	uint64_t block[BLOCK / 8], blocks = (uint64_t)mib * 256;

	for (uint64_t i = 0; i < blocks; i++) {
		for (int k = 0; k < BLOCK / 8; k++)
			block[k] = i * 1000 + (uint64_t)k;
		must_write(fd, block, BLOCK, (off_t)(i * BLOCK));
	}
	for (uint64_t i = 0; i < blocks; i++) {
		if (pread(fd, block, BLOCK, (off_t)(i * BLOCK)) != BLOCK ||
		    block[0] != i * 1000 || block[511] != i * 1000 + 511) {
			printf("block %lu is wrong\n", (unsigned long)i);
			exit(1);
		}
	}
	printf("%d MiB written and read\n", mib);
}

static void
small_files(int count)
{
	char path[32], text[64];
	long bytes = 0;

	for (int i = 0; i < count; i++) {
		int fd, n = snprintf(text, sizeof(text), "file %d\n", i);

		snprintf(path, sizeof(path), "d%d", i / 1000);
		if (i % 1000 == 0 && mkdir(path, 0755) < 0)
			die(path);
		snprintf(path, sizeof(path), "d%d/f%d", i / 1000, i);
		fd = must_open(path, O_WRONLY | O_CREAT | O_EXCL);
		if (write(fd, text, (size_t)n) != n || close(fd) < 0)
			die(path);
	}
	for (int i = 0; i < count; i += 7) {
		snprintf(path, sizeof(path), "d%d/f%d", i / 1000, i);
		bytes += size_of(path);
	}
	printf("%d files, every seventh together %ld bytes\n", count, bytes);
}

static void
open_files(int count)
{
	struct rlimit limit;
	char path[32], got[32];
	int *fds = calloc((size_t)count, sizeof(*fds));

	getrlimit(RLIMIT_NOFILE, &limit);
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &limit);
	for (int i = 0; i < count; i++) {
		snprintf(path, sizeof(path), "o%d", i);
		fds[i] = must_open(path, O_RDWR | O_CREAT);
		must_write(fds[i], path, strlen(path), i);
	}
	for (int i = 0; i < count; i++) {
		ssize_t n;

		snprintf(path, sizeof(path), "o%d", i);
		n = pread(fds[i], got, sizeof(got), i);
		if (n != (ssize_t)strlen(path) || memcmp(got, path, n)) {
			printf("%s is wrong\n", path);
			exit(1);
		}
	}
	free(fds);
	printf("%d files open at once\n", count);
}

/* Eight forked readers of what the parent writes; half of them are killed. */
static void
readers(int unused)
{
	int fd = must_open("read", O_RDWR | O_CREAT);
	char text[10000], got[10000];
	pid_t child[WRITERS];
	int dead = 0;

	(void)unused;
	memset(text, 'r', sizeof(text));
	must_write(fd, text, sizeof(text), 0);
	for (int i = 0; i < WRITERS; i++) {
		child[i] = fork();
		if (child[i] == 0)
			for (int n = 0;; n++) {
				if (pread(fd, got, sizeof(got), 0) !=
				    sizeof(got) || got[9999] != 'r')
					_exit(1);
				if (n > 2000 && i % 2)
					_exit(0);
			}
	}
	for (int i = 0; i < 200; i++)
		must_write(fd, text, sizeof(text), (off_t)i * 10000);
	for (int i = 0; i < WRITERS; i += 2)
		kill(child[i], SIGKILL);
	for (int i = 0; i < WRITERS; i++) {
		int status;

		waitpid(child[i], &status, 0);
		dead += WIFSIGNALED(status);
		if (WIFEXITED(status) && WEXITSTATUS(status)) {
			printf("a reader read something else\n");
			exit(1);
		}
	}
	must_write(fd, "end", 3, 2000000);
	printf("%d readers killed, size %ld\n", dead, (long)size_of("read"));
}

static const struct {
	const char *name;
	void (*run)(int);
} behaviours[] = {
	{ "append", append }, { "overlap", overlap }, { "visible", visible },
	{ "threads", threads }, { "truncation", truncation },
	{ "names", names }, { "sparse", sparse }, { "large", large },
	{ "small-files", small_files }, { "open-files", open_files },
	{ "readers", readers },
};

int
main(int argc, char **argv)
{
	if (argc >= 2)
		for (size_t i = 0; i < sizeof(behaviours) /
		     sizeof(*behaviours); i++)
			if (!strcmp(argv[1], behaviours[i].name)) {
				behaviours[i].run(argc > 2 ? atoi(argv[2])
							   : 0);
				return 0;
			}
	fputs("usage: crowd BEHAVIOUR [NUMBER]\n", stderr);
	return 2;
}
