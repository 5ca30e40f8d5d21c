/* SPDX-License-Identifier: BSD-3-Clause */
/* outlive.c -- a command that ends although a place it used does not answer */

/*
 * A process is not over before its last thread is, and some file systems let
 * nobody go who waits for them, killed or not. So the command is another
 * process, which says what its status is; it dies with us, and we as it does.
 */
#include "tools/outlive.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { LAST_MS = 3000 };		/* for what it does at its end */

/* Bytes read; 0: it is over. */
static ssize_t
hear(int fd, int *status)
{
	ssize_t n;

	do
		n = read(fd, status, sizeof(*status));
	while (n < 0 && errno == EINTR);
	return n;
}

static int
bury(pid_t pid)
{
	int status;

	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return EXIT_FAILURE;
	if (WIFEXITED(status))
		return WEXITSTATUS(status);
	(void)signal(WTERMSIG(status), SIG_DFL);
	(void)raise(WTERMSIG(status));
	return 128 + WTERMSIG(status);
}

static int
watch(pid_t pid, int fd)
{
	struct pollfd over = { .fd = fd, .events = POLLIN };
	int status, r;

	if (hear(fd, &status) != sizeof(status))
		return bury(pid);
	do
		r = poll(&over, 1, LAST_MS);
	while (r < 0 && errno == EINTR);
	return r ? bury(pid) : status;
}

/* Who reads what we write need not wait for a thread that is stuck. */
static void
close_output(void)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	for (int fd = STDIN_FILENO; null >= 0 && fd <= STDERR_FILENO; fd++)
		(void)dup2(null, fd);
}

int
spw_outlive(int (*call)(int argc, char **argv, char **envp), int argc,
	    char **argv, char **envp)
{
	pid_t parent = getpid(), pid;
	int ends[2], status;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return call(argc, argv, envp);
	(void)signal(SIGCHLD, SIG_DFL);	/* ignored, it would take the status */
	pid = fork();
	if (pid > 0) {
		close(ends[1]);
		return watch(pid, ends[0]);
	}
	close(ends[0]);
	if (pid == 0 && (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 ||
			 getppid() != parent))
		_exit(EXIT_FAILURE);
	status = call(argc, argv, envp);
	fflush(NULL);
	if (pid == 0)
		close_output();
	if (pid == 0 && write(ends[1], &status, sizeof(status)) < 0)
		return status;		/* it is heard of all the same */
	return status;
}
