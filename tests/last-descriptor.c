/* SPDX-License-Identifier: BSD-3-Clause */
/* last-descriptor.c -- files opened with the last descriptor there is */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { FILES = 100, LIMIT = 32, ROOM = 4 };

static void
die(const char *what)
{
	perror(what);
	exit(1);
}

/* Whether another process finds the file locked. */
static int
is_locked(int fd)
{
	struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
	int status = -1;
	pid_t pid = fork();

	if (pid == 0)
		_exit(fcntl(fd, F_GETLK, &lock) == 0 && lock.l_type == F_WRLCK);
	if (waitpid(pid, &status, 0) != pid)
		die("waitpid");
	return WIFEXITED(status) && WEXITSTATUS(status) == 1;
}

/* Written through one descriptor, read through the last one: 1 if it is not
 * what was written. */
static int
is_old(const char *name)
{
	int fd, last, n = 0, ballast[LIMIT], old;
	char buf[6] = "";

	/* As if another program had made it: nobody has seen it yet. */
	if (mknod(name, S_IFREG | 0644, 0) < 0)
		die(name);
	while (n < LIMIT && (fd = open("/dev/null", O_RDONLY)) >= 0)
		ballast[n++] = fd;
	close(ballast[--n]);
	last = open(name, O_RDONLY);
	for (int i = 0; i < ROOM; i++)
		close(ballast[--n]);
	fd = open(name, O_WRONLY);
	if (last < 0 || write(fd, "bytes", 5) != 5)
		die(name);
	old = pread(last, buf, 5, 0) != 5 || strcmp(buf, "bytes") != 0;
	close(fd);
	close(last);
	while (n)
		close(ballast[--n]);
	return old;
}

int
main(void)
{
	struct rlimit limit = { LIMIT, LIMIT };
	struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
	int old = 0, held = open("held", O_RDWR | O_CREAT | O_TRUNC, 0644);

	if (held < 0 || write(held, "held", 4) != 4 ||
	    fcntl(held, F_SETLK, &lock) < 0 ||
	    setrlimit(RLIMIT_NOFILE, &limit) < 0)
		die("held");
	for (int i = 0; i < FILES; i++) {
		char name[16];

		snprintf(name, sizeof(name), "f%d", i);
		old += is_old(name);
	}
	printf("%d of %d old, %s, wait %d\n", old, FILES,
	       is_locked(held) ? "locked" : "not locked",
	       (int)waitpid(-1, NULL, __WALL));
	return old != 0;
}
