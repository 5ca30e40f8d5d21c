/* SPDX-License-Identifier: BSD-3-Clause */
/* fork-forms.c -- every way to get a child, with files in its hands */

/*
 * fork-forms CASE: works on files in the current directory and prints what a
 * program can see of it. The output and the files must not depend on who
 * serves the files.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <pty.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/forms.h"

static void
wait_ok(pid_t pid)
{
	int status;

	NEED(waitpid(pid, &status, 0) == pid && status == 0);
}

/* One position, whoever writes. */
static void
share_position(pid_t (*how)(void))
{
	int fd = make("position", 0);
	pid_t pid;

	put(fd, "parent\n");
	pid = how();
	NEED(pid >= 0);
	if (pid == 0) {
		put(fd, "child\n");
		put(dup(fd), "its copy\n");
		close(fd);
		_exit(0);
	}
	wait_ok(pid);
	put(fd, "parent again\n");
	show(fd);
	NEED(wait(NULL) == -1 && errno == ECHILD);
}

static pid_t
by_syscall(void)
{
	return (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
}

static void
case_fork(void)
{
	share_position(fork);
}

static void
case_raw_fork(void)
{
	share_position(_Fork);
}

static void
case_syscall(void)
{
	share_position(by_syscall);
}

/* vfork's parent does not run before the child is done. */
static void
case_vfork(void)
{
	struct timespec pause = { 0, 50000000 };
	int fd = make("order", 0), status;
	pid_t pid;

	for (int i = 0; i < 3; i++) {
		pid = vfork();
		NEED(pid >= 0);
		if (pid == 0) {
			nanosleep(&pause, NULL);
			put(fd, "child\n");
			if (i == 0)
				execl("/bin/true", "true", NULL);
			if (i == 1)
				execl("/nowhere/true", "true", NULL);
			_exit(i);
		}
		put(fd, "parent\n");
		NEED(waitpid(pid, &status, 0) == pid);
		printf("%d\n", status);
	}
	show(fd);
}

/* Nor does it hear signals meanwhile. */
static volatile int alarms;

static void
count_alarm(int sig)
{
	(void)sig;
	alarms++;
}

static void
case_vfork_signal(void)
{
	struct timespec pause = { 1, 200000000 };
	int fd = make("quiet", 0);
	pid_t pid;

	signal(SIGALRM, count_alarm);
	alarm(1);
	pid = vfork();
	if (pid == 0) {
		signal(SIGALRM, SIG_DFL);
		nanosleep(&pause, NULL);
		put(fd, "child\n");
		_exit(0);
	}
	put(fd, alarms == 1 ? "parent heard it then\n" : "parent: ?\n");
	wait_ok(pid);
	show(fd);
}

static void
case_daemon(void)
{
	int fd = make("daemon", 0), ends[2];
	char c;

	put(fd, "before\n");
	NEED(pipe(ends) == 0);
	if (fork() == 0) {
		close(ends[0]);
		NEED(daemon(0, 0) == 0);
		put(fd, "daemon\n");
		put(fd, getsid(0) == getpid() ? "?\n" : "own session\n");
		NEED(chdir("/") == 0 && write(1, "lost\n", 5) == 5);
		close(fd);
		put(ends[1], "x");
		_exit(0);
	}
	close(ends[1]);
	NEED(read(ends[0], &c, 1) == 1 && read(ends[0], &c, 1) == 0);
	NEED(wait(NULL) > 0);
	put(fd, "after\n");
	show(fd);
}

static void
case_forkpty(void)
{
	int fd = make("pty", 0), master;
	pid_t pid = forkpty(&master, NULL, NULL, NULL);

	NEED(pid >= 0);
	if (pid == 0) {
		put(fd, isatty(1) ? "on a terminal\n" : "?\n");
		_exit(0);
	}
	wait_ok(pid);
	show(fd);
}

/* Handlers of the program do I/O on both sides, the child's first. */
static int log_fd, log_pipe[2];

static void
log_prepare(void)
{
	put(log_fd, "prepare\n");
}

static void
log_parent(void)
{
	char c;

	NEED(read(log_pipe[0], &c, 1) == 1);
	put(log_fd, "parent\n");
}

static void
log_child(void)
{
	put(log_fd, "child\n");
	put(log_pipe[1], "x");
}

static void
case_atfork(void)
{
	pid_t pid;

	log_fd = make("log", O_APPEND);
	NEED(pipe(log_pipe) == 0);
	NEED(pthread_atfork(log_prepare, log_parent, log_child) == 0);
	pid = fork();
	if (pid == 0)
		_exit(0);
	wait_ok(pid);
	show(log_fd);
}

/* Own memory, but not made by libc. */
static int
cloned(void *arg)
{
	int fd = *(int *)arg;

	put(fd, "clone\n");
	return 0;
}

/* At once with its parent, as if it were a thread. */
static int
beside(void *arg)
{
	for (int i = 0; i < 200000; i++)
		put(*(int *)arg, "c");
	return 0;
}

static void
case_clone(void)
{
	static char stack[65536] __attribute__((aligned(16)));
	int fd = make("clone", 0);
	pid_t pid;

	put(fd, "parent\n");
	pid = clone(cloned, stack + sizeof(stack), SIGCHLD, &fd);
	wait_ok(pid);
	put(fd, "parent\n");
	pid = clone(cloned, stack + sizeof(stack), CLONE_VM | CLONE_VFORK |
		    CLONE_FILES | SIGCHLD, &fd);
	wait_ok(pid);
	show(fd);
	fd = make("beside", O_APPEND);
	put(fd, "parent\n");
	pid = clone(beside, stack + sizeof(stack),
		    CLONE_VM | CLONE_FILES | SIGCHLD, &fd);
	NEED(pid > 0);
	beside(&fd);
	wait_ok(pid);
	printf("%ld\n", (long)lseek(fd, 0, SEEK_END));
}

/* Eight readers of what their parent wrote; every other one is killed. */
static void
case_readers(void)
{
	enum { SIZE = 1 << 20, STEP = 777 };
	struct timespec pause = { 0, 30000000 };
	unsigned char *data = malloc(SIZE), part[STEP];
	int fd = make("data", 0), status, good = 0, killed = 0;
	pid_t pids[8];

	for (int i = 0; i < SIZE; i++)
		data[i] = (unsigned char)(i * 31 + i / 4096);
	NEED(write(fd, data, SIZE) == SIZE);
	for (int k = 0; k < 8; k++) {
		pids[k] = fork();
		for (int round = 0; pids[k] == 0; round++) {
			for (int i = 0; i + STEP < SIZE; i += STEP) {
				NEED(pread(fd, part, STEP, i) == STEP);
				NEED(memcmp(part, data + i, STEP) == 0);
			}
			if (k % 2 == 0 && round == 2)
				_exit(0);
		}
	}
	nanosleep(&pause, NULL);
	for (int k = 1; k < 8; k += 2)
		NEED(kill(pids[k], SIGKILL) == 0);
	for (int k = 0; k < 8; k++) {
		NEED(waitpid(pids[k], &status, 0) == pids[k]);
		good += status == 0;
		killed += WIFSIGNALED(status);
	}
	free(data);
	printf("%d good, %d killed\n", good, killed);
	put(fd, "!");
	printf("%ld\n", (long)lseek(fd, 0, SEEK_CUR));
}

/* A step on from wherever the others are; 9 bytes in all. */
static void
step(int fd)
{
	char a[2], b[1];
	struct iovec two[] = { { a, sizeof(a) }, { b, sizeof(b) } };

	NEED(read(fd, b, 1) == 1);
	NEED(write(fd, "w", 1) == 1);
	NEED(readv(fd, two, 2) == 3);
	NEED(writev(fd, two, 2) == 3);
	NEED(lseek(fd, 1, SEEK_CUR) > 0);
}

/* Processes and threads move one position at once; in the middle of it the
 * kernel is called in, and at last the file is left to it. */
static void *
walk(void *at)
{
	int fd = *(int *)at;

	for (int i = 0; i < 3000; i++) {
		step(fd);
		if (i % 500 == 100)
			NEED(fallocate(fd, FALLOC_FL_KEEP_SIZE, 0, 10) == 0);
	}
	return NULL;
}

static void
case_steps(void)
{
	int fd = make("steps", 0);
	pthread_t thread;
	pid_t pid;

	NEED(ftruncate(fd, 1 << 20) == 0);
	for (int i = 0; i < 2; i++) {	/* alone in its process, and not */
		pid = fork();
		NEED(pid >= 0);
		if (i == 1)
			NEED(!pthread_create(&thread, NULL, walk, &fd));
		walk(&fd);
		if (i == 1)
			NEED(!pthread_join(thread, NULL));
		if (pid == 0)
			_exit(0);
		wait_ok(pid);
		printf("%ld\n", (long)lseek(fd, 0, SEEK_CUR));
	}
	pid = fork();
	NEED(pid >= 0);
	for (int i = 0; i < 3000; i++) {
		if (i == 1000 && pid)
			NEED(mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0) !=
			     MAP_FAILED);
		step(fd);
	}
	if (pid == 0)
		_exit(0);
	wait_ok(pid);
	printf("%ld\n", (long)lseek(fd, 0, SEEK_CUR));
	NEED(ftruncate(fd, 0) == 0);	/* who wrote what, nobody knows */
}

/* Children come while other threads open, write and close. */
static _Atomic int stop;

static void *
churn(void *name)
{
	for (int i = 0; !stop; i++) {
		int fd = make(name, O_CLOEXEC);

		put(fd, "churn\n");
		NEED(lseek(fd, 0, SEEK_CUR) == 6);
		close(fd);
	}
	return NULL;
}

static void
case_threads(void)
{
	static char names[3][8] = { "t1", "t2", "t3" };
	int fd = make("records", O_APPEND);
	pthread_t threads[3];

	for (int i = 0; i < 3; i++)
		NEED(pthread_create(&threads[i], NULL, churn, names[i]) == 0);
	for (int i = 0; i < 200; i++) {
		pid_t pid = i % 3 == 0 ? vfork() : i % 3 == 1 ? fork()
							      : _Fork();

		NEED(pid >= 0);
		if (pid == 0) {
			char line[32];

			snprintf(line, sizeof(line), "record %d\n", i);
			put(fd, line);
			_exit(0);
		}
		wait_ok(pid);
	}
	stop = 1;
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	printf("%ld\n", (long)lseek(fd, 0, SEEK_END));
}

/* The first thread has ended, and the others go on; a child opens files. */
static int outlived;
static pid_t sibling;

static void *
outlive(void *unused)
{
	struct timespec pause = { 0, 30000000 };

	for (int i = 0; i < 25; i++) {
		nanosleep(&pause, NULL);
		put(outlived, "still here\n");
	}
	wait_ok(sibling);
	NEED(fsync(outlived) == 0);	/* its name is gone */
	show(outlived);
	return unused;
}

static void
case_first_ends(void)
{
	struct timespec pause = { 0, 10000000 };
	pthread_t thread;

	outlived = make("outlived", 0);
	NEED(unlink("outlived") == 0);
	sibling = fork();
	NEED(sibling >= 0);
	close(sibling ? -1 : outlived);
	for (int i = 0; sibling == 0 && i < 60; i++) {
		int fd = open("other", O_RDWR | O_CREAT | O_APPEND, 0644);

		NEED(fd >= 0);
		put(fd, "other\n");
		nanosleep(&pause, NULL);
		close(fd);
	}
	if (sibling == 0)
		_exit(0);
	NEED(pthread_create(&thread, NULL, outlive, NULL) == 0);
	pthread_exit(NULL);
}

/* A family tree in which everybody appends. */
static void
case_tree(void)
{
	int fd = make("tree", O_APPEND);
	pid_t top = getpid(), pid;

	for (int level = 0; level < 5; level++) {
		pid = fork();
		NEED(pid >= 0);
		put(fd, "0123456789\n");
	}
	while (wait(NULL) > 0)
		;
	if (getpid() != top)
		_exit(0);
	printf("%ld\n", (long)lseek(fd, 0, SEEK_END));
}

int
main(int argc, char **argv)
{
	static const struct form forms[] = {
		{ "fork", case_fork }, { "_Fork", case_raw_fork },
		{ "syscall", case_syscall }, { "vfork", case_vfork },
		{ "vfork-signal", case_vfork_signal },
		{ "daemon", case_daemon }, { "forkpty", case_forkpty },
		{ "atfork", case_atfork }, { "clone", case_clone },
		{ "readers", case_readers }, { "threads", case_threads },
		{ "tree", case_tree }, { "steps", case_steps },
		{ "first-ends", case_first_ends },
		{ 0 },
	};

	alarm(60);
	return run_form(argc, argv, forms);
}
