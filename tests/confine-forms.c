/* SPDX-License-Identifier: BSD-3-Clause */
/* confine-forms.c -- system calls, or the user's own rights, are given up */

/*
 * usage: confine-forms FORM
 *
 * Works in the current directory and tells what it sees; with and without
 * Spillway the words and the files must be the same.
 */
#include <linux/filter.h>
#include <linux/landlock.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "tests/forms.h"

#define ALLOW(name) \
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_##name, 0, 1), \
	BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)

static char line[] = "a line that was written by somebody who may do little\n";

/* What plain I/O needs, and what a program needs to end. */
static struct sock_filter allowed[] = {
	BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
	ALLOW(read), ALLOW(write), ALLOW(lseek), ALLOW(close), ALLOW(openat),
	ALLOW(fstat), ALLOW(newfstatat), ALLOW(brk), ALLOW(mmap),
	ALLOW(munmap), ALLOW(exit), ALLOW(exit_group),
	BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
};

static struct sock_fprog filter = {
	sizeof(allowed) / sizeof(*allowed), allowed,
};

static void
write_lines(int fd)
{
	for (int i = 0; i < 3000; i++)
		NEED(write(fd, line, sizeof(line) - 1) == sizeof(line) - 1);
}

/* What a child may still do. The files were written just now, one of them is
 * closed. */
static void
work(int fd)
{
	char byte;
	int own;

	write_lines(fd);
	own = open("closed", O_RDONLY);
	NEED(own >= 0 && read(own, &byte, 1) == 1 && byte == 'a');
	NEED(lseek(own, 0, SEEK_END) == 3000 * (sizeof(line) - 1));
	close(own);
	own = open("own", O_WRONLY | O_CREAT | O_TRUNC, 0644);
	NEED(own >= 0);
	write_lines(own);
	close(own);
	exit(7);
}

static void
ended(pid_t pid, int fd)
{
	int status;

	NEED(waitpid(pid, &status, 0) == pid);
	printf("%s %d, %ld bytes\n",
	       WIFEXITED(status) ? "exit" : "signal",
	       WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status),
	       (long)lseek(fd, 0, SEEK_END));
	put(fd, "the parent goes on\n");
}

static void
confined(void (*how)(int fd))
{
	int fd = make("closed", 0);
	pid_t pid;

	write_lines(fd);
	close(fd);
	fd = make("open", 0);
	put(fd, "before\n");
	pid = fork();
	if (pid == 0) {
		NEED(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
		how(fd);
	}
	ended(pid, fd);
}

static void
strict(int fd)
{
	NEED(prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT) == 0);
	write_lines(fd);
	syscall(SYS_exit, 7);
}

static void
filtered(int fd)
{
	NEED(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0);
	work(fd);
}

/* All threads, also one that the program does not know of. */
static void
filtered_all(int fd)
{
	write_lines(fd);
	NEED(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER,
		     SECCOMP_FILTER_FLAG_TSYNC, &filter) == 0);
	work(fd);
}

static void
case_strict(void)
{
	confined(strict);
}

static void
case_filter(void)
{
	confined(filtered);
}

static void
case_filter_all(void)
{
	confined(filtered_all);
}

/* Files may be written here and nowhere else. */
static void
landlocked(int fd)
{
	struct landlock_ruleset_attr attr = {
		.handled_access_fs = LANDLOCK_ACCESS_FS_WRITE_FILE,
	};
	struct landlock_path_beneath_attr here = {
		.allowed_access = LANDLOCK_ACCESS_FS_WRITE_FILE,
		.parent_fd = open(".", O_PATH),
	};
	int set = (int)syscall(SYS_landlock_create_ruleset, &attr,
			       sizeof(attr), 0);

	NEED(set >= 0 && here.parent_fd >= 0);
	NEED(syscall(SYS_landlock_add_rule, set, LANDLOCK_RULE_PATH_BENEATH,
		     &here, 0) == 0);
	write_lines(fd);
	NEED(syscall(SYS_landlock_restrict_self, set, 0) == 0);
	write_lines(fd);
	execlp("wc", "wc", "-c", "closed", "open", NULL);
	_exit(9);
}

static void
case_landlock(void)
{
	if (syscall(SYS_landlock_create_ruleset, NULL, 0,
		    LANDLOCK_CREATE_RULESET_VERSION) < 1)
		confined(work);
	else
		confined(landlocked);
}

/* Another root, without /proc and without a way to the segment, and a child
 * that is killed there. */
static void
case_root(void)
{
	int fd = make("before", 0), own;
	pid_t pid;

	put(fd, "before\n");
	if (chroot(".") < 0)
		NEED(errno == EPERM);
	pid = fork();
	if (pid == 0) {
		put(fd, "child\n");
		own = make("own", 0);
		put(own, "of the child\n");
		kill(getpid(), SIGKILL);
	}
	ended(pid, fd);
	own = open("own", O_RDONLY);
	NEED(own >= 0);
	show(own);
}

/* Another user reads and writes what is not home, by itself and as another
 * program. Who has no right to change stays. */
static void
case_user(void)
{
	int fd = make_as("shared", 0, 0666), own;
	struct stat st;
	pid_t pid;

	NEED(fchmod(fd, 0666) == 0 && chmod(".", 0777) == 0);
	write_lines(fd);
	pid = fork();
	if (pid == 0) {
		if (setresuid(65534, 65534, 65534) < 0)
			NEED(errno == EPERM);
		NEED(stat("shared", &st) == 0);
		printf("%ld bytes\n", (long)st.st_size);
		own = open("shared", O_WRONLY | O_APPEND);
		NEED(own >= 0);
		put(own, "by another user\n");
		NEED(fsync(own) == 0);
		own = make("own", 0);
		put(own, "of another user\n");
		execlp("wc", "wc", "-c", "shared", "own", NULL);
		_exit(9);
	}
	ended(pid, fd);
}

int
main(int argc, char **argv)
{
	static const struct form forms[] = {
		{ "strict", case_strict }, { "filter", case_filter },
		{ "filter-all", case_filter_all }, { "user", case_user },
		{ "landlock", case_landlock }, { "root", case_root },
		{ 0 },
	};

	alarm(60);
	return run_form(argc, argv, forms);
}
