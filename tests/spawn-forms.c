/* SPDX-License-Identifier: BSD-3-Clause */
/* spawn-forms.c -- children that libc makes by itself, files in their hands */

/*
 * spawn-forms CASE: works on files in the current directory and prints what a
 * program can see of it.
 */
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/forms.h"

static void
shell(const posix_spawn_file_actions_t *actions, const char *command,
      char *const *envp)
{
	char *argv[] = { "sh", "-c", (char *)command, NULL };
	int status;
	pid_t pid;

	NEED(posix_spawn(&pid, "/bin/sh", actions, NULL, argv, envp) == 0);
	NEED(waitpid(pid, &status, 0) == pid);
	printf("status %x\n", status);
}

/* Inherited as it is. */
static void
case_inherit(void)
{
	int fd = make("inherited", 0);
	char command[64];

	put(fd, "parent\n");
	snprintf(command, sizeof(command), "echo child >&%d", fd);
	shell(NULL, command, environ);
	put(fd, "parent\n");
	show(fd);
}

/* Opened where the child went first, by paths that lead elsewhere from here;
 * and so is the image. */
static void
case_elsewhere(void)
{
	char *argv[] = { "script", NULL };
	posix_spawn_file_actions_t actions;
	int cut, script, dir, status;
	pid_t pid;

	NEED(mkdir("there", 0755) == 0);
	for (int i = 0; i < 2; i++) {
		cut = make("there/cut", O_CLOEXEC);
		put(cut, "what the child cuts\n");
		script = make_as("there/script", O_CLOEXEC, 0755);
		put(script, "#!/bin/sh\necho child; pwd >&2\n");
		NEED(close(script) == 0);
		dir = open("there", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		NEED(posix_spawn_file_actions_init(&actions) == 0);
		NEED((i ? posix_spawn_file_actions_addfchdir_np(&actions, dir)
			: posix_spawn_file_actions_addchdir_np(
				&actions, "there")) == 0);
		NEED(posix_spawn_file_actions_addopen(
			&actions, 1, "cut", O_WRONLY | O_TRUNC, 0) == 0);
		NEED(posix_spawn_file_actions_addopen(
			&actions, 2, "/dev/null", O_WRONLY, 0) == 0);
		NEED(posix_spawn(&pid, "./script", &actions, NULL, argv,
				 environ) == 0);
		NEED(waitpid(pid, &status, 0) == pid);
		NEED(posix_spawn_file_actions_destroy(&actions) == 0);
		printf("status %x\n", status);
		show(cut);
		NEED(close(dir) == 0 && close(cut) == 0);
	}
}

/* Put in place by file actions: a copy of one that is close-on-exec, and one
 * opened by the child. */
static void
case_actions(void)
{
	posix_spawn_file_actions_t actions;
	int fd = make("copied", O_CLOEXEC), other = make("opened", 0);

	put(fd, "parent\n");
	put(other, "parent\n");
	NEED(posix_spawn_file_actions_init(&actions) == 0);
	NEED(posix_spawn_file_actions_adddup2(&actions, fd, 1) == 0);
	NEED(posix_spawn_file_actions_addopen(&actions, 5, "opened",
					      O_WRONLY | O_APPEND, 0) == 0);
	NEED(posix_spawn_file_actions_addopen(&actions, 6, "made", O_WRONLY |
					      O_CREAT, 0600) == 0);
	NEED(posix_spawn_file_actions_addclose(&actions, 2) == 0);
	for (int i = 0; i < 2; i++)
		shell(&actions, "echo child; echo child >&5; echo child >&6",
		      environ);
	NEED(posix_spawn_file_actions_destroy(&actions) == 0);
	put(fd, "parent\n");
	put(other, "end\n");
	show(fd);
	show(other);
}

/* A reader follows what a child writes to a file it opened by itself. */
static void
case_follow(void)
{
	char *argv[] = { "sh", "-c", "echo one; sleep 0.5; echo two; sleep 1",
			 NULL };
	struct timespec moment = { 0, 20000000 };
	posix_spawn_file_actions_t actions;
	char text[16] = "";
	int fd = -1, status;
	pid_t pid;

	put(make("first", 0), "this program has files of its own\n");
	NEED(posix_spawn_file_actions_init(&actions) == 0);
	NEED(posix_spawn_file_actions_addopen(&actions, 1, "log", O_WRONLY |
					      O_CREAT, 0600) == 0);
	NEED(posix_spawn(&pid, "/bin/sh", &actions, NULL, argv, environ) == 0);
	NEED(posix_spawn_file_actions_destroy(&actions) == 0);
	while (fd < 0 || read(fd, text, 4) != 4) {
		nanosleep(&moment, NULL);
		if (fd < 0)
			fd = open("log", O_RDWR);
	}
	printf("%s", text);
	while (read(fd, text, 4) != 4 && waitpid(pid, NULL, WNOHANG) == 0)
		nanosleep(&moment, NULL);
	printf("%s", text);
	printf("%s\n", waitpid(pid, &status, 0) == pid ? "in time" : "late");
}

/* The child has another environment, without us. */
static void
case_outsider(void)
{
	int fd = make("seen", O_CLOEXEC);
	char *envp[] = { "WORD=given", NULL };

	put(fd, "one\n");
	shell(NULL, "echo $WORD; cat seen", envp);
	put(fd, "two\n");
	shell(NULL, "cat seen", NULL);
}

static void
case_failure(void)
{
	char *argv[] = { "x", NULL };
	int fd = make("failed", 0);
	pid_t pid;

	put(fd, "one\n");
	printf("%s\n", strerror(posix_spawn(&pid, "/nowhere/x", NULL, NULL,
					    argv, environ)));
	printf("%s\n", strerror(posix_spawnp(&pid, "no-such-program", NULL,
					     NULL, argv, environ)));
	put(fd, "two\n");
	NEED(posix_spawnp(&pid, "true", NULL, NULL, argv, environ) == 0);
	NEED(wait(NULL) == pid);
	show(fd);
}

static void
case_system(void)
{
	int fd = make("shared", 0);
	char command[128];

	put(fd, "parent\n");
	printf("%d\n", system(NULL) != 0);
	snprintf(command, sizeof(command), "echo child >&%d; cat shared", fd);
	printf("%x\n", system(command));
	put(fd, "parent\n");
	printf("%x\n", system("exit 3"));
	show(fd);
}

static void
case_popen(void)
{
	int fd = make("piped", O_CLOEXEC);
	char line[64];
	FILE *f;

	put(fd, "parent\n");
	f = popen("cat piped; echo from the child", "r");
	NEED(f);
	while (fgets(line, sizeof(line), f))
		printf("read %s", line);
	printf("%x\n", pclose(f));
	f = popen("cat >>piped; exit 2", "w");
	NEED(f && fprintf(f, "through the pipe\n") > 0);
	printf("%x\n", pclose(f));
	show(fd);
}

/* A child in the background has the file, and this process has it no more:
 * who opens it now still sees what the child writes. */
static void
case_behind(void)
{
	int fd = make("behind", 0);
	char command[128];
	FILE *f;

	put(fd, "parent\n");
	snprintf(command, sizeof(command),
		 "(read word <go; echo child >&%d; echo done >back) &", fd);
	NEED(mkfifo("go", 0600) == 0 && mkfifo("back", 0600) == 0);
	NEED(system(command) == 0);
	NEED(close(fd) == 0);
	fd = open("behind", O_RDWR);
	NEED(fd >= 0);
	show(fd);
	f = fopen("go", "w");
	NEED(f && fputs("now\n", f) >= 0 && fclose(f) == 0);
	f = fopen("back", "r");
	NEED(f && getc(f) == 'd' && fclose(f) == 0);
	show(fd);
	NEED(unlink("go") == 0 && unlink("back") == 0);
	printf("%s\n", getenv("SPILLWAY_HANDOVER") ? "changed" : "the same");
}

int
main(int argc, char **argv)
{
	static const struct form forms[] = {
		{ "inherit", case_inherit }, { "actions", case_actions },
		{ "elsewhere", case_elsewhere },
		{ "follow", case_follow },
		{ "outsider", case_outsider }, { "failure", case_failure },
		{ "system", case_system }, { "popen", case_popen },
		{ "behind", case_behind },
		{ 0 },
	};

	alarm(60);
	return run_form(argc, argv, forms);
}
