/* SPDX-License-Identifier: BSD-3-Clause */
/* deny.c -- runs a command to which some system calls are forbidden */

/*
 * usage: deny NAME[=ERROR][,NAME[=ERROR]...] COMMAND [ARGUMENT...]
 *        deny
 *
 * ERROR is one of the table below (EPERM if none is given), or KILL. Without
 * arguments it lists the names. "none" is a name as well, and so is "segment":
 * openat with the flags that Spillway opens a segment with.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define CALL(name) { #name, SYS_##name }

/* What Spillway calls and a simple program need not. */
static const struct { const char *name; int nr; } calls[] = {
	CALL(chdir), CALL(clone), CALL(clone3), CALL(close_range),
	CALL(copy_file_range), CALL(dup3), CALL(exit), CALL(faccessat),
	CALL(fallocate), CALL(fcntl), CALL(fdatasync), CALL(fstatfs),
	CALL(fsync), CALL(ftruncate), CALL(futex), CALL(getcwd),
	CALL(getdents64), CALL(getpid), CALL(getppid), CALL(gettid),
	CALL(getuid), CALL(io_uring_setup), CALL(kill), CALL(linkat),
	CALL(madvise), CALL(membarrier), CALL(memfd_create), CALL(mincore),
	CALL(mkdirat), CALL(nanosleep), CALL(pipe2), CALL(prctl),
	CALL(pwrite64), CALL(pwritev), CALL(readlinkat), CALL(renameat),
	CALL(rt_sigaction), CALL(rt_sigprocmask), CALL(rt_sigtimedwait),
	CALL(sched_yield), CALL(setsid), CALL(statfs), CALL(statx),
	CALL(umask), CALL(unlinkat), CALL(unshare), CALL(utimensat),
	CALL(wait4),
#ifdef SYS_readlink
	CALL(access), CALL(poll), CALL(readlink),
#endif
};

enum { CALLS = sizeof(calls) / sizeof(*calls) };

static const struct { const char *name; unsigned action; } errors[] = {
	{ "EPERM", SECCOMP_RET_ERRNO | EPERM },
	{ "EACCES", SECCOMP_RET_ERRNO | EACCES },
	{ "ENOSYS", SECCOMP_RET_ERRNO | ENOSYS },
	{ "ENFILE", SECCOMP_RET_ERRNO | ENFILE },
	{ "KILL", SECCOMP_RET_KILL_PROCESS },
};

enum { ERRORS = sizeof(errors) / sizeof(*errors) };

static int
install(struct sock_filter *code, size_t n)
{
	struct sock_fprog program = { (unsigned short)n, code };

	/* Not by prctl, which may be forbidden by now. */
	return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program);
}

static int
forbid_segment(unsigned action)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
			 offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat, 0, 3),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
			 offsetof(struct seccomp_data, args[2])),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K,
			 O_RDWR | O_CLOEXEC | O_NOFOLLOW, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, action),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};

	return install(code, sizeof(code) / sizeof(*code));
}

static int
forbid(int nr, unsigned action)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
			 offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)nr, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, action),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};

	return install(code, sizeof(code) / sizeof(*code));
}

static unsigned
action_of(const char *error)
{
	for (int i = 0; error && i < ERRORS; i++)
		if (!strcmp(errors[i].name, error))
			return errors[i].action;
	return error ? 0 : errors[0].action;
}

/* 0, 77: not here, 2: no such name. */
static int
deny(char *word)
{
	char *error = strchr(word, '=');
	unsigned action;

	if (error)
		*error++ = '\0';
	action = action_of(error);
	if (action && !strcmp(word, "segment"))
		return forbid_segment(action) < 0 ? 77 : 0;
	for (int i = 0; action && i < CALLS; i++)
		if (!strcmp(calls[i].name, word))
			return forbid(calls[i].nr, action) < 0 ? 77 : 0;
	return strcmp(word, "none") ? 2 : 0;
}

int
main(int argc, char **argv)
{
	int status = 0;

	for (int i = 0; argc == 1 && i < CALLS; i++)
		puts(calls[i].name);
	if (argc < 3)
		return argc == 1 ? 0 : 2;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return 77;
	for (char *word = strtok(argv[1], ","); word && !status;
	     word = strtok(NULL, ","))
		status = deny(word);
	if (status)
		return status;
	execvp(argv[2], argv + 2);
	fprintf(stderr, "deny: %s: %s\n", argv[2], strerror(errno));
	return 127;
}
