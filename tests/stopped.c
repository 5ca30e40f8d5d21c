/* SPDX-License-Identifier: BSD-3-Clause */
/* stopped.c -- one process stops in the middle of its work, another goes on */

/*
 * `stopped all POINT` starts both, and tells what became of it in lines that a
 * script answers: the first works until it stops at the failpoint, or is
 * stopped so many microseconds after:N, and is then continued or killed; the
 * other writes, syncs and closes meanwhile, has threads that begin to, and
 * starts a process that does. `stopped many` opens many files, all by itself.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
	BLOCK = 4096, ANSWER_MS = 10000, SMALL = 20, MANY = 300,
	THREADS = 20,			/* more than there are lanes at first */
	APART = 16,			/* blocks, from where threads write */
};

static void
must(bool good, const char *what)
{
	if (good)
		return;
	perror(what);
	exit(1);
}

static int
open_new(const char *name, int flags)
{
	int fd = open(name, O_RDWR | O_CREAT | flags, 0644);

	must(fd >= 0, name);
	return fd;
}

static void
put(int fd, int letter, size_t n, off_t off)
{
	char buf[2 * BLOCK];

	memset(buf, letter, sizeof(buf));
	must(pwrite(fd, buf, n, off) == (ssize_t)n, "pwrite");
}

static void
append(int fd, int i)
{
	char line[64];
	int n = snprintf(line, sizeof(line), "line %d\n", i);

	must(write(fd, line, (size_t)n) == n, "append");
}

/* Passes by all points that a program can, most of them often. */
static int
work(void)
{
	int fd = open_new("blocks", O_TRUNC);
	int log = open_new("log", O_APPEND);
	char buf[BLOCK], name[32];

	for (int i = 0; i < 64; i++)
		put(fd, 'a' + i % 26, BLOCK, (off_t)i * BLOCK);
	for (int i = 0; i < 64; i++)
		put(fd, 'A' + i % 26, 100 + (size_t)i, (off_t)i * BLOCK + 50);
	for (int i = 0; i < 300; i++)
		append(log, i);
	for (int i = 0; i < 64; i++)
		must(pread(fd, buf, BLOCK, (off_t)i * BLOCK) == BLOCK, "pread");
	for (int i = 0; i < 5; i++) {
		must(ftruncate(fd, 50 * BLOCK + 100 - 10 * i) == 0, "cut");
		put(fd, 'z', 2 * BLOCK, (off_t)(50 + i) * BLOCK + 77);
	}
	for (int i = 0; i < SMALL; i++) {
		int small;

		snprintf(name, sizeof(name), "small.%d", i);
		small = open_new(name, 0);
		put(small, 's', 1000, 0);
		must(close(small) == 0, "close");
		if (i % 3 == 0)
			must(unlink(name) == 0, "unlink");
	}
	must(close(fd) == 0 && close(log) == 0, "close");
	return 0;
}

static int
open_many(void)
{
	char name[32];

	for (int i = 0; i < MANY; i++) {
		int fd;

		snprintf(name, sizeof(name), "many.%d", i);
		fd = open_new(name, 0);
		put(fd, 'm', 10, 0);
		must(close(fd) == 0 && unlink(name) == 0, name);
	}
	return 0;
}

static int
join_in(void)
{
	int fd = open_new("joined", 0);

	put(fd, 'j', BLOCK, 0);
	must(fsync(fd) == 0 && close(fd) == 0, "joined");
	return 0;
}

struct crew {
	pthread_barrier_t all_have_written;
	int fd;
	_Atomic int next;
};

static void *
write_apart(void *arg)
{
	struct crew *c = arg;

	put(c->fd, 't', BLOCK, (off_t)(APART + c->next++) * BLOCK);
	(void)pthread_barrier_wait(&c->all_have_written);
	return NULL;
}

/* Each needs a lane of its own, since none of them ends before the last. */
static void
write_in_threads(int fd)
{
	struct crew c = { .fd = fd };
	pthread_t threads[THREADS];

	(void)pthread_barrier_init(&c.all_have_written, NULL, THREADS);
	for (int i = 0; i < THREADS; i++)
		must(pthread_create(&threads[i], NULL, write_apart, &c) == 0,
		     "pthread_create");
	for (int i = 0; i < THREADS; i++)
		must(pthread_join(threads[i], NULL) == 0, "pthread_join");
	(void)pthread_barrier_destroy(&c.all_have_written);
}

static pid_t
start(const char *role, const char *arg)
{
	pid_t pid = fork();

	must(pid >= 0, "fork");
	if (pid)
		return pid;
	execl("/proc/self/exe", "stopped", role, arg, (char *)NULL);
	_exit(127);
}

static int
status_of(pid_t pid)
{
	int status;

	must(waitpid(pid, &status, 0) == pid, "waitpid");
	return status;
}

/* One file all the time, and with `files` another, opened and closed: which of
 * the places of files the one who is stopped holds is chance. */
static int
write_beside(const char *files)
{
	int fd = open_new("beside", 0);
	char line[16];

	put(fd, '0', BLOCK, 0);
	must(fsync(fd) == 0, "fsync");
	for (int i = 1; write(1, ".", 1) == 1 && read(0, line, 1) == 1; i++) {
		for (int k = 0; k < 4; k++)
			put(fd, '0' + i, BLOCK, (off_t)k * BLOCK);
		write_in_threads(fd);
		must(fsync(fd) == 0, "fsync");
		if (*files) {
			int other = open_new("other", 0);

			must(status_of(start("joins", "")) == 0, "joins");

			put(other, '0' + i, 2 * BLOCK, 0);
			must(fsync(other) == 0 && close(other) == 0, "other");
		}
	}
	must(close(fd) == 0, "close");
	return 0;
}

struct beside {
	pid_t pid;
	int to, from;
};

static void
start_beside(struct beside *b, const char *files)
{
	int to[2], from[2], in = dup(0), out = dup(1);

	must(pipe2(to, O_CLOEXEC) == 0 && pipe2(from, O_CLOEXEC) == 0, "pipe");
	must(dup2(to[0], 0) == 0 && dup2(from[1], 1) == 1, "dup2");
	b->pid = start("beside", files);
	must(dup2(in, 0) == 0 && dup2(out, 1) == 1, "dup2");
	close(in);
	close(out);
	close(to[0]);
	close(from[1]);
	b->to = to[1];
	b->from = from[0];
}

/* It has done what it was told last. */
static bool
has_answered(const struct beside *b)
{
	struct pollfd p = { b->from, POLLIN, 0 };
	char c;

	return poll(&p, 1, ANSWER_MS) == 1 && read(b->from, &c, 1) == 1;
}

static void
tell(const char *what)
{
	puts(what);
	fflush(stdout);
}

/* Starts the one that is to be stopped; what became of it. */
static pid_t
start_work(const char *point, int *ret_status)
{
	char want[64];
	int after;
	pid_t pid;

	snprintf(want, sizeof(want), "%s:stop", point);
	must(setenv("SPILLWAY_FAILPOINT", want, 1) == 0, "setenv");
	pid = start("work", "");
	if (sscanf(point, "after:%d", &after) == 1) {
		usleep((unsigned)after);
		(void)kill(pid, SIGSTOP);
	}
	must(waitpid(pid, ret_status, WUNTRACED) == pid, "waitpid");
	return pid;
}

static int
do_all(const char *point, const char *files)
{
	char line[16] = "";
	struct beside b;
	int status;
	pid_t pid;

	start_beside(&b, files);
	must(has_answered(&b), "no start");
	pid = start_work(point, &status);
	if (WIFSTOPPED(status)) {
		must(write(b.to, "\n", 1) == 1, "write");
		tell(has_answered(&b) ? "went on" : "held up");
		must(fgets(line, sizeof(line), stdin) != NULL, "fgets");
		kill(pid, *line == 'k' ? SIGKILL : SIGCONT);
		status = status_of(pid);
	} else {
		tell("missed");
	}
	close(b.to);
	must(status_of(b.pid) == 0, "beside");
	return *line != 'k' && status != 0;
}

int
main(int argc, char **argv)
{
	const char *role = argc > 1 ? argv[1] : "";
	const char *arg = argc > 2 ? argv[2] : "";

	if (!strcmp(role, "work"))
		return work();
	if (!strcmp(role, "many"))
		return open_many();
	if (!strcmp(role, "joins"))
		return join_in();
	if (!strcmp(role, "beside"))
		return write_beside(arg);
	return argc > 2 ? do_all(arg, argc > 3 ? argv[3] : "") : 2;
}
