/* SPDX-License-Identifier: BSD-3-Clause */
/* tracer.c -- a tracer that walks the paths of a program, as proot does */

/*
 * usage: tracer PROGRAM [ARGUMENT]...
 *
 * Runs the program and all that it starts, and writes a line for every stop to
 * the file calls, as strace does. Whoever asks about the end of a
 * link to a namespace in /proc is told that there is none, since the text of
 * such a link names no file. So that it is the same on every processor, it is
 * the path that changes while the kernel looks.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

enum { CANNOT = 77, MOST = 64 };

static struct seen {			/* whose path is changed just now */
	pid_t pid;
	uint64_t at;
	long word;
} seen[MOST];

static int calls;			/* the file */

static struct seen *
seen_of(pid_t pid)
{
	for (int i = 0; i < MOST; i++)
		if (seen[i].pid == pid)
			return &seen[i];
	return NULL;
}

static bool
follows_namespace(pid_t pid, const struct __ptrace_syscall_info *call)
{
	char path[64] = "";
	struct iovec here = { path, sizeof(path) - 1 };
	struct iovec there = { (void *)(uintptr_t)call->entry.args[1],
			       sizeof(path) - 1 };
	uint64_t flags;

	if (call->op != PTRACE_SYSCALL_INFO_ENTRY ||
	    (call->entry.nr != SYS_newfstatat && call->entry.nr != SYS_statx))
		return false;
	flags = call->entry.args[call->entry.nr == SYS_statx ? 2 : 3];
	if (flags & AT_SYMLINK_NOFOLLOW)
		return false;
	(void)process_vm_readv(pid, &here, 1, &there, 1, 0);
	return strncmp(path, "/proc/", 6) == 0 && strstr(path, "/ns/");
}

static void
hide(pid_t pid, const struct __ptrace_syscall_info *call)
{
	struct seen *s = seen_of(0);
	long word;

	if (!s)
		return;
	s->at = call->entry.args[1];
	s->word = ptrace(PTRACE_PEEKDATA, pid, (void *)(uintptr_t)s->at, NULL);
	s->pid = pid;
	memcpy(&word, "/nowhere", sizeof(word));
	(void)ptrace(PTRACE_POKEDATA, pid, (void *)(uintptr_t)s->at,
		     (void *)word);
}

static void
at_call(pid_t pid)
{
	struct __ptrace_syscall_info call;
	struct seen *s = seen_of(pid);

	if (s) {
		(void)ptrace(PTRACE_POKEDATA, pid, (void *)(uintptr_t)s->at,
			     (void *)s->word);
		s->pid = 0;
	} else if (ptrace(PTRACE_GET_SYSCALL_INFO, pid,
			  (void *)sizeof(call), &call) > 0 &&
		   follows_namespace(pid, &call)) {
		hide(pid, &call);
	}
}

/* Goes on with a signal, unless it is of the tracing itself. */
static void
at_stop(pid_t pid, int status)
{
	int sig = WSTOPSIG(status), event = status >> 16;

	if (write(calls, "a stop\n", 7) != 7)
		perror("tracer: calls");
	if (sig == (SIGTRAP | 0x80))
		at_call(pid);
	if (sig == (SIGTRAP | 0x80) || event || sig == SIGSTOP)
		sig = 0;
	(void)ptrace(PTRACE_SYSCALL, pid, NULL, (void *)(long)sig);
}

static int
lead(pid_t first)
{
	int status, result = 1;
	pid_t pid;

	while ((pid = waitpid(-1, &status, __WALL)) > 0) {
		if (WIFSTOPPED(status))
			at_stop(pid, status);
		else if (pid == first)
			result = WIFEXITED(status) ? WEXITSTATUS(status) : 1;
	}
	return result;
}

int
main(int argc, char **argv)
{
	long options = PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL |
		       PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK |
		       PTRACE_O_TRACECLONE | PTRACE_O_TRACEEXEC;
	int status;
	pid_t pid;

	if (argc < 2)
		return 2;
	calls = open("calls", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	pid = fork();
	if (pid == 0) {
		if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) < 0)
			_exit(CANNOT);
		raise(SIGSTOP);
		execvp(argv[1], argv + 1);
		_exit(127);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid ||
	    !WIFSTOPPED(status) ||
	    ptrace(PTRACE_SETOPTIONS, pid, NULL, (void *)options) < 0)
		return CANNOT;
	(void)ptrace(PTRACE_SYSCALL, pid, NULL, NULL);
	return lead(pid);
}
