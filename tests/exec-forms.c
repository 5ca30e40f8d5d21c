/* SPDX-License-Identifier: BSD-3-Clause */
/* exec-forms.c -- every way to start another image, with files in its hands */

/*
 * exec-forms CASE: works on files in the current directory and prints what a
 * program can see of it. The program starts itself again as `exec-forms - ...`.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/forms.h"

static char *self;			/* path of this program */
static char number[16];			/* of a descriptor, for the image */

static int
make_numbered(const char *name, int flags)
{
	int fd = make_as(name, flags, 0755);

	snprintf(number, sizeof(number), "%d", fd);
	return fd;
}

static void
wait_status(pid_t pid)
{
	int status;

	NEED(pid > 0 && waitpid(pid, &status, 0) == pid);
	printf("status %x\n", status);
}

/* What the new image does: write to the descriptor and show it. */
static int
go_on(int argc, char **argv)
{
	int fd = argc > 2 ? atoi(argv[2]) : -1;

	for (int i = 3; i < argc; i++)
		printf("%s ", argv[i]);
	printf("word=%s\n", getenv("WORD") ? getenv("WORD") : "-");
	if (fd >= 0 && fcntl(fd, F_GETFD) < 0) {
		printf("closed: %s\n", strerror(errno));
	} else if (fd >= 0) {
		put(fd, "new image\n");
		show(fd);
	}
	return 0;
}

/* The same process goes on in another image. */
static void
case_replace(void)
{
	int fd = make_numbered("kept", 0);

	put(fd, "old image\n");
	execl(self, self, "-", number, "replaced", NULL);
	NEED(!"exec");
}

static void
case_cloexec(void)
{
	put(make_numbered("gone", O_CLOEXEC), "old image\n");
	execl(self, self, "-", number, NULL);
	NEED(!"exec");
}

static void
start(int way, char *const *argv, char *const *envp)
{
	int fd;

	switch (way) {
	case 0: execve(self, argv, envp); break;
	case 1: execv(self, argv); break;
	case 2: execvp("forms-here", argv); break;
	case 3: execvpe("forms-here", argv, envp); break;
	case 4: execl(self, "l", "-", number, "one", "two", NULL); break;
	case 5: execle(self, "le", "-", number, "one", NULL, envp); break;
	case 6: execlp("forms-here", "lp", "-", number, "one", NULL); break;
	case 7: execveat(AT_FDCWD, self, argv, envp, 0); break;
	case 8: fd = open(self, O_RDONLY | O_CLOEXEC);
		fexecve(fd, argv, envp); break;
	case 9: fd = open(self, O_RDONLY | O_CLOEXEC);
		execveat(fd, "", argv, envp, AT_EMPTY_PATH); break;
	case 10: syscall(SYS_execve, self, argv, envp); break;
	}
	NEED(!"exec");
}

/* All functions, from a child, with one position for all. */
static void
case_ways(void)
{
	int fd = make_numbered("ways", 0);
	char *argv[] = { "x", "-", number, "a", "b", NULL };
	char *preload = getenv("LD_PRELOAD"), line[4096];
	char *envp[] = { "WORD=given", NULL, NULL, NULL };
	int n = 1;

	snprintf(line, sizeof(line), "LD_PRELOAD=%s", preload ? preload : "");
	if (preload)
		envp[n++] = line;
	NEED(symlink(self, "forms-here") == 0);
	setenv("PATH", "/nowhere:.", 1);
	setenv("WORD", "mine", 1);
	for (int way = 0; way <= 10; way++) {
		pid_t pid;

		put(fd, "parent\n");
		fflush(stdout);
		pid = fork();
		if (pid == 0)
			start(way, argv, envp);
		wait_status(pid);
	}
	show(fd);
}

/* An image that is not started leaves everything as it was. */
static void
case_failure(void)
{
	static char *big[3000];
	static char page[131000];
	char *argv[] = { "x", NULL }, *volatile nowhere = (char *)8;
	int fd = make_numbered("failed", 0);

	memset(page, 'x', sizeof(page) - 1);
	for (int i = 0; i < 2999; i++)
		big[i] = page;
	put(fd, "one\n");
	NEED(execl("/nowhere/at/all", "x", NULL) == -1);
	printf("%s\n", strerror(errno));
	NEED(execv(".", argv) == -1);
	printf("%s\n", strerror(errno));
	NEED(execvp("no-such-program", argv) == -1);
	printf("%s\n", strerror(errno));
	NEED(execve(self, big, environ) == -1);
	printf("%s\n", strerror(errno));
	NEED(execve(nowhere, argv, environ) == -1);
	printf("%s\n", strerror(errno));
	NEED(fexecve(fd, argv, environ) == -1);
	printf("%s\n", strerror(errno));
	put(fd, "two\n");
	show(fd);
}

/* Readers without us: an empty environment, a variable taken away, a static
 * program. They see what was written and neither closed nor synced. */
static void
read_by(char *const *argv, char *const *envp)
{
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (pid == 0) {
		execve(argv[0], argv, envp);
		NEED(!"exec");
	}
	wait_status(pid);
}

static void
case_outsiders(void)
{
	int fd = make_numbered("seen", O_CLOEXEC), closed;
	char *cat[] = { "/bin/cat", "seen", "seen-too", NULL };
	char *deaf[] = { "./static-cat", "seen", "seen-too", NULL };
	char *nothing[] = { NULL };

	put(fd, "line one\n");
	closed = make_numbered("seen-too", 0);
	put(closed, "closed\n");
	close(closed);
	read_by(cat, nothing);
	put(fd, "line two\n");
	if (access(deaf[0], X_OK) == 0)
		read_by(deaf, environ);
	put(fd, "line three\n");
	read_by(cat, environ);
	unsetenv("LD_PRELOAD");
	put(fd, "line four\n");
	read_by(cat, environ);
}

/* Programs that the program has only just written. */
static void
copy(const char *from, const char *to)
{
	int in = open(from, O_RDONLY), out = make_numbered(to, 0);
	char part[60000];
	ssize_t n;

	NEED(in >= 0);
	while ((n = read(in, part, sizeof(part))) > 0)
		NEED(write(out, part, (size_t)n) == n);
	NEED(n == 0 && close(out) == 0 && close(in) == 0);
}

static void
case_fresh(void)
{
	char *script[] = { "./script", "argument", NULL };
	char *program[] = { "./program", "-", "-1", "fresh", NULL };
	int fd;

	for (int i = 0; i < 5; i++) {
		fd = make_numbered("script", 0);
		put(fd, "#!/bin/sh\necho \"$1 $0\"\n");
		close(fd);
		read_by(script, environ);
		unlink("script");
		copy(self, "program");
		read_by(program, environ);
		unlink("program");
	}
	/* Still open for writing here: refused. */
	fd = make_numbered("script", 0);
	put(fd, "#!/bin/sh\n");
	NEED(execv(script[0], script) == -1);
	printf("%s\n", strerror(errno));
}

/* A handler is the default again in a new image, an ignored signal is not. */
static void
handler(int sig)
{
	(void)sig;
}

static void
case_signals(void)
{
	sigset_t set;

	signal(SIGUSR1, handler);
	signal(SIGUSR2, SIG_IGN);
	sigemptyset(&set);
	sigaddset(&set, SIGHUP);
	sigprocmask(SIG_BLOCK, &set, NULL);
	put(make_numbered("signals", 0), "x");
	execl(self, self, "+", NULL);
}

static void
write_and_close(const char *name)
{
	static char data[300000];
	int fd = make(name, 0);

	memset(data, name[0], sizeof(data));
	NEED(write(fd, data, sizeof(data)) == sizeof(data) && close(fd) == 0);
}

/* The new image never looks at a managed file, and is the last one there. */
static void
case_alone(void)
{
	write_and_close("alone");
	NEED(execl("/nowhere", "x", NULL) < 0);
	write_and_close("still");
	execl("/bin/true", "true", NULL);
	NEED(!"exec");
}

/* The same in a child that outlives its parent. */
static void
case_orphan(void)
{
	pid_t pid;

	write_and_close("parent");
	pid = fork();
	NEED(pid >= 0);
	if (pid)
		return;
	write_and_close("child");
	execl("/bin/sleep", "sleep", "0.3", NULL);
	NEED(!"exec");
}

static int
show_signals(void)
{
	static const int signals[] = { SIGHUP, SIGUSR1, SIGUSR2 };
	struct sigaction act;
	sigset_t set;

	sigprocmask(SIG_SETMASK, NULL, &set);
	for (int i = 0; i < 3; i++) {
		NEED(sigaction(signals[i], NULL, &act) == 0);
		printf("%d%s%s%s\n", signals[i],
		       act.sa_handler == SIG_DFL ? " default" : "",
		       act.sa_handler == SIG_IGN ? " ignored" : "",
		       sigismember(&set, signals[i]) ? " blocked" : "");
	}
	return 0;
}

int
main(int argc, char **argv)
{
	static const struct form forms[] = {
		{ "replace", case_replace }, { "cloexec", case_cloexec },
		{ "ways", case_ways }, { "failure", case_failure },
		{ "outsiders", case_outsiders }, { "fresh", case_fresh },
		{ "signals", case_signals }, { "alone", case_alone },
		{ "orphan", case_orphan },
		{ 0 },
	};

	alarm(60);
	setvbuf(stdout, NULL, _IONBF, 0);
	self = realpath("/proc/self/exe", NULL);
	if (argc > 1 && strcmp(argv[1], "-") == 0)
		return go_on(argc, argv);
	if (argc > 1 && strcmp(argv[1], "+") == 0)
		return show_signals();
	return run_form(argc, argv, forms);
}
