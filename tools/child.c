/* SPDX-License-Identifier: BSD-3-Clause */
/* child.c -- the program of a run: started, waited for, told of signals */
#include "tools/child.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "shm/util.h"

enum { HOLD_US = 20000 };

static const int taken[] = {
	SIGCHLD, SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGTSTP,
	SIGCONT,
};

int
spw_child_prepare(struct spw_child *c)
{
	struct sigaction plain = { .sa_handler = SIG_DFL }, old;
	sigset_t blocked;

	memset(c, 0, sizeof(*c));
	sigemptyset(&c->waited);
	for (size_t i = 0; i < sizeof(taken) / sizeof(*taken); i++)
		sigaddset(&c->waited, taken[i]);
	blocked = c->waited;
	/* Nobody listening is no reason to leave bytes behind, nor is a file
	 * that cannot grow. */
	sigaddset(&blocked, SIGPIPE);
	sigaddset(&blocked, SIGXFSZ);
	sigprocmask(SIG_BLOCK, &blocked, &c->before);
	/* Ignored, the kernel would not keep the exit status. */
	sigaction(SIGCHLD, &plain, &old);
	c->ignores_chld = old.sa_handler == SIG_IGN;
	c->limits = spw_limits_raise();
	return pipe2(c->report, O_CLOEXEC) < 0 ? -errno : 0;
}

void
spw_child_restore(const struct spw_child *c)
{
	if (c->ignores_chld)
		signal(SIGCHLD, SIG_IGN);
	sigprocmask(SIG_SETMASK, &c->before, NULL);
	spw_limits_restore(&c->limits);
}

static void
become(const struct spw_child *c, int report, const char *path, char **argv,
       char **envp)
{
	int err;

	spw_child_restore(c);
	execve(path, argv, envp);
	if (errno == ENOEXEC) {		/* a script without #!, as execvp */
		size_t n = 0;

		while (argv[n])
			n++;
		char *shell[n + 2];

		shell[0] = "sh";
		shell[1] = (char *)path;
		memcpy(shell + 2, argv + 1, n * sizeof(*argv));
		execve("/bin/sh", shell, envp);
	}
	err = errno;
	(void)!write(report, &err, sizeof(err));	/* else: no report */
	_exit(127);
}

int
spw_child_start(struct spw_child *c, const char *path, char **argv,
		char **envp)
{
	const int *report = c->report;
	int err = 0;
	ssize_t n;

	c->pid = fork();
	if (c->pid < 0) {
		err = errno;
		close(report[0]);
		close(report[1]);
		return -err;
	}
	if (c->pid == 0)
		become(c, report[1], path, argv, envp);
	close(report[1]);
	do
		n = read(report[0], &err, sizeof(err));
	while (n < 0 && errno == EINTR);
	close(report[0]);
	if (n != sizeof(err))
		return 0;		/* exec closed the pipe */
	(void)waitpid(c->pid, NULL, 0);
	return -err;
}

static void
stop_as_well(void)
{
	kill(getpid(), SIGSTOP);
}

static void
look(struct spw_child *c)
{
	int status;

	while (!c->ended && waitpid(c->pid, &status, WNOHANG | WUNTRACED) ==
	       c->pid) {
		if (WIFSTOPPED(status)) {
			/* SIGSTOP is a debugger's or an operator's; the
			 * terminal's stop is the whole job's. */
			if (WSTOPSIG(status) != SIGSTOP)
				stop_as_well();
			continue;
		}
		c->ended = true;
		c->status = WIFSIGNALED(status) ? 128 + WTERMSIG(status)
						: WEXITSTATUS(status);
	}
}

static int
wait_signal(const struct spw_child *c, int64_t us, siginfo_t *info)
{
	struct timespec ts = { us / 1000000, us % 1000000 * 1000 };
	int sig = sigtimedwait(&c->waited, info, &ts);

	return sig < 0 ? 0 : sig;
}

/* A process that ends of the same signal, sent to its whole group, does not
 * need to hear it from us. */
static void
pass_on(struct spw_child *c, int sig)
{
	struct timespec ts = { 0, HOLD_US * 1000 };
	siginfo_t info;
	sigset_t chld;

	sigemptyset(&chld);
	sigaddset(&chld, SIGCHLD);
	if (sig != SIGCONT)
		(void)sigtimedwait(&chld, &info, &ts);
	look(c);
	if (!c->ended)
		kill(c->pid, sig);
}

int
spw_child_step(struct spw_child *c, int64_t us)
{
	siginfo_t info;
	int sig;

	look(c);
	if (c->ended && us == 0)
		return 0;
	sig = wait_signal(c, us, &info);
	if (sig == SIGTERM && !c->told)
		c->told = spw_now_ms();
	if (sig == SIGCHLD) {
		look(c);
		return 0;
	}
	if (sig && c->ended) {
		if (sig == SIGTSTP)
			stop_as_well();
		return sig;
	}
	if (sig && info.si_code != SI_KERNEL && info.si_pid != c->pid)
		pass_on(c, sig);
	return 0;
}

/* The loader maps what is preloaded before it maps the C library. */
static bool
is_c_library(const char *line)
{
	return strstr(line, "/libc.so") || strstr(line, "/ld-musl");
}

int
spw_child_has_library(const struct spw_child *c)
{
	char path[32], line[4096 + 128];
	bool found = false, loaded = false;
	FILE *maps;

	snprintf(path, sizeof(path), "/proc/%d/maps", (int)c->pid);
	maps = fopen(path, "re");
	if (!maps)
		return -1;
	while (!found && fgets(line, sizeof(line), maps)) {
		found = strstr(line, "libspillway.so") != NULL;
		loaded = loaded || is_c_library(line);
	}
	fclose(maps);
	return found ? 1 : loaded ? 0 : -1;
}
