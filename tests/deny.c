/* SPDX-License-Identifier: BSD-3-Clause */
/* deny.c -- runs a command to which some system calls are forbidden */

/* usage: deny NAME[,NAME...] COMMAND [ARGUMENT...] */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static const struct { const char *name; int nr; } calls[] = {
	{ "io_uring", SYS_io_uring_setup },
	{ "madvise", SYS_madvise },
	{ "statx", SYS_statx },
	{ "membarrier", SYS_membarrier },
	{ "memfd_create", SYS_memfd_create },
	{ "copy_file_range", SYS_copy_file_range },
	{ "close_range", SYS_close_range },
	{ "unshare", SYS_unshare },
};

static int
forbid(int nr, int err)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
			 offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)nr, 0, 1),
		BPF_STMT(BPF_RET | BPF_K,
			 SECCOMP_RET_ERRNO | (unsigned)err),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { sizeof(code) / sizeof(*code), code };

	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

int
main(int argc, char **argv)
{
	if (argc < 3) {
		fprintf(stderr, "usage: deny NAME[,NAME...] COMMAND...\n");
		return 2;
	}
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return 77;
	for (size_t i = 0; i < sizeof(calls) / sizeof(*calls); i++)
		if (strstr(argv[1], calls[i].name) &&
		    forbid(calls[i].nr, i & 1 ? ENOSYS : EPERM) < 0)
			return 77;
	execvp(argv[2], argv + 2);
	fprintf(stderr, "deny: %s: %s\n", argv[2], strerror(errno));
	return 127;
}
