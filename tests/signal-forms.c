/* SPDX-License-Identifier: BSD-3-Clause */
/* signal-forms.c -- signals hit a program that writes; its handlers write */

/*
 * signal-forms CASE: works on files in the current directory, checks itself and
 * prints what does not depend on when the signals came.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/clocks.h"
#include "tests/forms.h"

enum { TICK_US = 1000, SECONDS = 2, MANY = 100, AT_MOST = 60 };

static int side;			/* what handlers write to */
static volatile sig_atomic_t ticks;
static sigjmp_buf top;

static void
set_timer(long us)
{
	struct itimerval it = { { 0, us }, { 0, us } };

	NEED(setitimer(ITIMER_REAL, &it, NULL) == 0);
}

static void
handle(int sig, void (*handler)(int), int flags)
{
	struct sigaction act = { .sa_flags = flags };

	act.sa_handler = handler;
	NEED(sigaction(sig, &act, NULL) == 0);
}

/* Every record whole and in its place: number, then its digits again. */
static void
check_records(int fd, long n, bool repeats)
{
	off_t size = lseek(fd, 0, SEEK_END);
	char line[17] = "";
	long at = 0, last = -1;

	NEED(size % 16 == 0);
	for (off_t off = 0; off < size; off += 16) {
		NEED(pread(fd, line, 16, off) == 16 && line[15] == '\n');
		at = strtol(line, NULL, 10);
		NEED(at == last + 1 || (repeats && at == last));
		last = at;
	}
	NEED(last == n - 1 || (repeats && last == n));
}

static void
put_record(int fd, long i)
{
	char line[32];

	snprintf(line, sizeof(line), "%015ld\n", i);
	NEED(write(fd, line, 16) == 16);
}

/* A busy machine has fewer ticks for us in the same time. */
static bool
goes_on(double end)
{
	return now() < end || (ticks <= MANY && now() < end + AT_MOST);
}

/* A handler that writes, opens, reads and closes. */
static void
work(int sig)
{
	int saved = errno, fd;
	char c;

	(void)sig;
	NEED(write(side, "x", 1) == 1);
	fd = open("small", O_RDWR | O_CREAT, 0644);
	NEED(fd >= 0 && pwrite(fd, "y", 1, ticks % 5000) == 1);
	NEED(pread(fd, &c, 1, ticks % 5000) == 1 && c == 'y');
	NEED(close(fd) == 0);
	ticks++;
	errno = saved;
}

static void
case_write(void)
{
	int fd = make("records", 0);
	double end = now() + SECONDS;
	long n = 0;

	side = make("side", O_APPEND);
	handle(SIGALRM, work, SA_RESTART);
	set_timer(TICK_US);
	while (goes_on(end))
		put_record(fd, n++);
	set_timer(0);
	check_records(fd, n, false);
	NEED(lseek(side, 0, SEEK_END) == ticks);
	printf("%s\n", ticks > MANY ? "many ticks" : "few ticks");
	NEED(ftruncate(fd, 0) == 0 && ftruncate(side, 0) == 0);
	NEED(unlink("small") == 0);
}

/* A handler that does not come back. */
static void
jump(int sig)
{
	ticks++;
	siglongjmp(top, sig);
}

static void
case_jump(void)
{
	int fd = make("records", O_APPEND);
	double end = now() + SECONDS;
	static volatile long n;

	handle(SIGALRM, jump, 0);
	set_timer(TICK_US);
	(void)sigsetjmp(top, 1);
	while (goes_on(end)) {
		put_record(fd, n);
		n++;
	}
	handle(SIGALRM, SIG_IGN, 0);
	set_timer(0);
	check_records(fd, n, true);
	printf("%s\n", ticks > MANY ? "many jumps" : "few jumps");
	NEED(ftruncate(fd, 0) == 0);
}

/* Threads that write while signals with values come to all of them. */
static _Atomic long sum, heard;
static _Atomic int stop;

static void
add_value(int sig, siginfo_t *info, void *context)
{
	(void)sig;
	(void)context;
	NEED(info->si_code == SI_QUEUE);
	NEED(write(side, "x", 1) == 1);
	sum += info->si_value.sival_int;
	heard++;
}

static void *
write_on(void *name)
{
	int fd = make(name, 0);
	long n = 0;

	while (!stop)
		put_record(fd, n++);
	check_records(fd, n, false);
	NEED(ftruncate(fd, 0) == 0 && close(fd) == 0);
	return NULL;
}

static void
case_values(void)
{
	static char names[3][8] = { "t1", "t2", "t3" };
	struct sigaction act = { .sa_flags = SA_SIGINFO | SA_RESTART };
	struct timespec moment = { 0, 100000 };
	pthread_t threads[3];
	long sent = 0;

	side = make("side", O_APPEND);
	act.sa_sigaction = add_value;
	NEED(sigaction(SIGRTMIN + 2, &act, NULL) == 0);
	for (int i = 0; i < 3; i++)
		NEED(pthread_create(&threads[i], NULL, write_on,
				    names[i]) == 0);
	for (int i = 1; i <= 5000; i++) {
		union sigval value = { .sival_int = i };

		while ((i % 2 ? sigqueue(getpid(), SIGRTMIN + 2, value)
			: pthread_sigqueue(threads[i % 3], SIGRTMIN + 2,
					   value)) != 0)
			nanosleep(&moment, NULL);
		sent += i;
		if (i % 16 == 0)
			nanosleep(&moment, NULL);
	}
	for (int i = 0; i < 1000 && heard < 5000; i++)
		nanosleep(&moment, NULL);
	stop = 1;
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	printf("%ld heard, sum %s\n", heard, sum == sent ? "right" : "wrong");
	printf("%ld written\n", (long)lseek(side, 0, SEEK_END));
}

/* What waits is interrupted, or not, as without us. */
static void
note(int sig)
{
	(void)sig;
	ticks++;
}

static void
case_wait(void)
{
	struct timespec pause = { 0, 200000000 };
	int fd = make("waiting", 0), ends[2], go[2];
	char c;

	NEED(pipe(ends) == 0 && pipe(go) == 0);
	NEED(write(fd, "x", 1) == 1);
	for (int flags = 0; flags <= SA_RESTART; flags += SA_RESTART) {
		pid_t pid = fork();

		if (pid == 0) {	/* never before a signal has come */
			if (flags)
				nanosleep(&pause, NULL);
			else
				NEED(read(go[0], &c, 1) == 1);
			_exit(write(ends[1], "x", 1) == 1 ? 0 : 1);
		}
		handle(SIGALRM, note, flags);
		set_timer(50000);
		errno = 0;
		printf("read %zd", read(ends[0], &c, 1));
		set_timer(0);
		printf(" %s\n", strerror(errno));
		NEED(flags || write(go[1], "x", 1) == 1);
		NEED(wait(NULL) == pid);
		if (!flags)
			NEED(read(ends[0], &c, 1) == 1);
	}
	NEED(write(fd, "y", 1) == 1);
	printf("%ld\n", (long)lseek(fd, 0, SEEK_CUR));
}

/* A handler that ends the process, in the middle of writing. */
static void
leave(int sig)
{
	_exit(40 + (sig == SIGALRM));
}

static void
case_exit(void)
{
	int fd = make("records", 0), status;
	off_t size;
	pid_t pid;

	for (int i = 0; i < 20; i++) {
		pid = fork();
		if (pid == 0) {
			handle(SIGALRM, leave, 0);
			set_timer(TICK_US + 100 * i);
			for (long n = 0;; n++)
				put_record(fd, n);
		}
		NEED(waitpid(pid, &status, 0) == pid);
		NEED(WIFEXITED(status) && WEXITSTATUS(status) == 41);
		size = lseek(fd, 0, SEEK_CUR);
		NEED(size % 16 == 0 && size == lseek(fd, 0, SEEK_END));
		NEED(ftruncate(fd, 0) == 0 && lseek(fd, 0, SEEK_SET) == 0);
	}
	printf("done\n");
}

int
main(int argc, char **argv)
{
	static const struct form forms[] = {
		{ "write", case_write }, { "jump", case_jump },
		{ "values", case_values }, { "wait", case_wait },
		{ "exit", case_exit },
		{ 0 },
	};

	return run_form(argc, argv, forms);
}
