/* SPDX-License-Identifier: BSD-3-Clause */
/* append-cut.c -- one process appends to a log, another cuts it to nothing */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { CUTS = 1000, RECORD = 100 };

static void
append_for_ever(void)
{
	int fd = open("log", O_WRONLY | O_APPEND);
	char record[RECORD];

	memset(record, 'x', sizeof(record));
	while (write(fd, record, sizeof(record)) == RECORD)
		;
	_exit(1);
}

/* A log that starts with a hole was appended to at an end that was gone. */
int
main(void)
{
	int fd = open("log", O_CREAT | O_TRUNC | O_RDWR, 0644), bad = 0;
	pid_t pid = fork();

	if (pid == 0)
		append_for_ever();
	for (int i = 0; i < CUTS && fd >= 0; i++) {
		char first = 'x';

		if (ftruncate(fd, 0) < 0)
			perror("ftruncate");
		usleep(20);
		if (pread(fd, &first, 1, 0) == 1)
			bad += first != 'x';
	}
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	printf("%d of %d cuts were followed by a hole\n", bad, CUTS);
	return bad != 0;
}
