/* SPDX-License-Identifier: BSD-3-Clause */
/* append-extend.c -- some append to a file that another one makes longer */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { TIMES = 3000, APPENDERS = 2, RECORD = 50000, PIECE = 100 };

static long at[TIMES];

static void
append_for_ever(void)
{
	int fd = open("log", O_WRONLY | O_APPEND);
	static char record[RECORD];

	memset(record, 'a', sizeof(record));
	for (;;) {
		if (write(fd, record, sizeof(record)) != RECORD)
			_exit(1);
		usleep(1);
	}
}

/* Behind what was the end a moment ago. The appender's record may have come
 * first and is overwritten then; what comes later lies behind. */
static void
extend(int fd, int i)
{
	char piece[PIECE];
	struct stat st;

	if (fstat(fd, &st) < 0)
		perror("fstat");
	if (st.st_size > 100000000L && ftruncate(fd, 0) == 0)
		st.st_size = 0;
	at[i] = st.st_size;
	memset(piece, 'e', sizeof(piece));
	if (pwrite(fd, piece, sizeof(piece), at[i]) != PIECE)
		perror("pwrite");
}

static int
is_whole(int fd, int i)
{
	char piece[PIECE];

	if (pread(fd, piece, sizeof(piece), at[i]) != PIECE)
		return 0;
	for (int k = 0; k < PIECE; k++)
		if (piece[k] != 'e')
			return 0;
	return 1;
}

int
main(void)
{
	int fd = open("log", O_CREAT | O_TRUNC | O_RDWR, 0644), bad = 0;
	pid_t pids[APPENDERS];

	for (int i = 0; i < APPENDERS; i++) {
		pids[i] = fork();
		if (pids[i] == 0)
			append_for_ever();
	}
	for (int i = 0; i < TIMES && fd >= 0; i++) {
		extend(fd, i);
		usleep(50);
		bad += !is_whole(fd, i);
	}
	for (int i = 0; i < APPENDERS; i++) {
		kill(pids[i], SIGKILL);
		waitpid(pids[i], NULL, 0);
	}
	printf("%d of %d writes were appended over\n", bad, TIMES);
	return bad != 0;
}
