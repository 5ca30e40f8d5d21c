/* SPDX-License-Identifier: BSD-3-Clause */
/* bench-fsync.c -- how long an fsync takes after a small write, of many ranks */

/*
 * usage: bench-fsync DIR RANKS COUNT
 *
 * Each rank, a process, writes 4 KiB behind the last and syncs, COUNT times in
 * a file of its own. Prints the microseconds for one of all of them.
 */

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/clocks.h"

enum { SMALL = 4096, RANKS_MAX = 256 };

static int
open_file(const char *dir, int rank)
{
	char path[4096];

	snprintf(path, sizeof(path), "%s/rank-%d", dir, rank);
	return open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
}

/* Ready when it has synced once; goes when the other end is closed. */
static int
rank(const char *dir, int number, int count, int ready, int go)
{
	static char data[SMALL];
	int fd = open_file(dir, number);

	if (fd < 0 || write(fd, data, SMALL) != SMALL || fsync(fd) < 0 ||
	    write(ready, "", 1) != 1 || read(go, data, 1) != 0)
		return EXIT_FAILURE;
	while (count--) {
		data[0]++;
		if (write(fd, data, SMALL) != SMALL || fsync(fd) < 0)
			return EXIT_FAILURE;
	}
	return EXIT_SUCCESS;
}

int
main(int argc, char **argv)
{
	int ranks = argc == 4 ? atoi(argv[2]) : 0;
	int count = argc == 4 ? atoi(argv[3]) : 0;
	int ready[2], go[2], status, bad = 0;
	double start;
	char byte;

	if (ranks < 1 || ranks > RANKS_MAX || count < 1 || pipe(ready) < 0 ||
	    pipe(go) < 0)
		return EXIT_FAILURE;
	for (int i = 0; i < ranks; i++)
		if (fork() == 0) {
			close(go[1]);
			_exit(rank(argv[1], i, count, ready[1], go[0]));
		}
	close(ready[1]);
	for (int i = 0; i < ranks; i++)
		bad |= read(ready[0], &byte, 1) != 1;
	start = now();
	close(go[1]);
	for (int i = 0; i < ranks; i++)
		bad |= wait(&status) < 0 || status != 0;
	printf("%.0f\n", (now() - start) / ranks / count * 1e6);
	return bad ? EXIT_FAILURE : EXIT_SUCCESS;
}
