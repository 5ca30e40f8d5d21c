/* SPDX-License-Identifier: BSD-3-Clause */
/* family.c -- processes that come, share files and go, in every way there is */

/*
 * `family SEED STEPS`: each takes up to STEPS steps, which the seed decides;
 * its children have half as many. All hold standard output: who reads it to its
 * end knows that the last one has ended.
 */
#include <fcntl.h>
#include <pthread.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { FILES = 6, OPEN = 4, MOST = 9000, NAP_US = 2000 };

static unsigned seed, steps;
static int fds[OPEN] = { -1, -1, -1, -1 };

static unsigned
below(unsigned n)
{
	seed = seed * 1103515245u + 12345u;
	return (seed >> 8) % n;
}

static int
open_one(void)
{
	int flags = O_CREAT | (below(4) ? O_RDWR : O_RDONLY);
	char name[16];

	flags |= below(3) ? 0 : O_APPEND;
	flags |= below(8) ? 0 : O_TRUNC;
	flags |= below(2) ? O_CLOEXEC : 0;
	snprintf(name, sizeof(name), "f%u", below(FILES));
	return open(name, flags, 0644);
}

/* Some have a descriptor that does not allow it: then nothing happens. */
static void
touch(void)
{
	int *fd = &fds[below(OPEN)];
	char buf[MOST];

	if (*fd < 0) {
		*fd = open_one();
		return;
	}
	switch (below(8)) {
	case 0:
		close(*fd);
		*fd = -1;
		break;
	case 1:
		(void)!pread(*fd, buf, 1 + below(MOST), below(50000));
		break;
	case 2:
		(void)!ftruncate(*fd, below(60000));
		break;
	case 3:
		(void)fsync(*fd);
		break;
	default:
		memset(buf, 'a' + (int)below(26), sizeof(buf));
		(void)!write(*fd, buf, 1 + below(MOST));
	}
}

static void *
touch_in_thread(void *unused)
{
	touch();
	return unused;
}

static void
use_thread(void)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, touch_in_thread, NULL) == 0)
		pthread_join(thread, NULL);
}

static void
await(pid_t pid)
{
	if (pid > 0 && below(3))	/* else it is somebody else's */
		(void)waitpid(pid, NULL, 0);
}

/* Another image: in this process, or a new one. */
static void
start_image(int (*how)(pid_t *pid, char **argv))
{
	char its_seed[16], its_steps[16];
	char *argv[] = { "family", its_seed, its_steps, NULL };
	pid_t pid = -1;

	snprintf(its_seed, sizeof(its_seed), "%u", below(1u << 20));
	snprintf(its_steps, sizeof(its_steps), "%u", steps / 2);
	(void)how(&pid, argv);
	await(pid);
}

static int
replace(pid_t *unused, char **argv)
{
	(void)unused;
	execve("/proc/self/exe", argv, environ);
	_exit(127);
}

static int
spawn(pid_t *pid, char **argv)
{
	return posix_spawn(pid, "/proc/self/exe", NULL, NULL, argv, environ);
}

static void
end(void)
{
	switch (below(5)) {
	case 0:
		_exit(0);
	case 1:
		pthread_exit(NULL);
	case 2:
		quick_exit(0);
	case 3:
		_Exit(0);
	default:
		exit(0);
	}
}

static void live(void);

static void
bear_child(void)
{
	unsigned its_seed = below(1u << 20);
	pid_t pid;

	switch (below(6)) {
	case 0:
		start_image(spawn);
		return;
	case 1:
		pid = vfork();
		if (pid == 0) {
			execlp("true", "true", (char *)NULL);
			_exit(127);
		}
		await(pid);
		return;
	case 2:
		(void)!system("echo x >>f0");
		return;
	default:
		pid = fork();
	}
	if (pid == 0) {
		seed = its_seed;
		steps /= 2;
		if (below(3) == 0)
			start_image(replace);
		live();
	}
	await(pid);
}

static void
live(void)
{
	for (unsigned n = below(steps + 1); n; n--)
		if (below(5) == 0 && steps > 3)
			bear_child();
		else if (below(20) == 0)
			use_thread();
		else if (below(15) == 0)
			usleep(below(NAP_US));
		else
			touch();
	end();
}

int
main(int argc, char **argv)
{
	if (argc != 3)
		return 2;
	seed = (unsigned)atoi(argv[1]) * 2654435761u;
	steps = (unsigned)atoi(argv[2]);
	live();
}
