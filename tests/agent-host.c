/* SPDX-License-Identifier: BSD-3-Clause */
/* agent-host.c -- writes a file and looks for children it did not make */

/* agent-host FILE [_exit] */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile sig_atomic_t signals;

static void
count(int sig)
{
	(void)sig;
	signals++;
}

static void
fill(const char *name)
{
	int fd = open(name, O_WRONLY | O_CREAT | O_TRUNC, 0644);
	char line[32];

	if (fd < 0)
		exit(1);
	for (int i = 0; i < 100000; i++) {
		snprintf(line, sizeof(line), "%015d\n", i);
		if (write(fd, line, 16) != 16)
			exit(1);
	}
	if (close(fd) < 0)
		exit(1);
}

int
main(int argc, char **argv)
{
	int status;

	if (argc < 2)
		return 2;
	signal(SIGCHLD, count);
	fill(argv[1]);
	errno = 0;
	if (wait(&status) == -1 && errno == ECHILD && signals == 0)
		puts("no child, no signal");
	else
		printf("%d signals, %s\n", signals, strerror(errno));
	fflush(stdout);
	if (argc > 2 && strcmp(argv[2], "_exit") == 0)
		_exit(0);
	return 0;
}
