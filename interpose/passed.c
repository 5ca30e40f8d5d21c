/* SPDX-License-Identifier: BSD-3-Clause */
/* passed.c -- descriptors that go from process to process: the kernel's */

/*
 * A file leaves when a descriptor of it is sent. Whoever receives one holds
 * the record as long, though the sender may be gone: else the next to open the
 * file would cache it while the receiver writes past the cache.
 */
#include <errno.h>
#include <sys/syscall.h>

#include "interpose/leave.h"
#include "interpose/real.h"
#include "shm/sys.h"
#include "shm/text.h"

static void
for_each(struct msghdr *m, void (*what)(int fd))
{
	for (struct cmsghdr *c = CMSG_FIRSTHDR(m); c; c = CMSG_NXTHDR(m, c)) {
		size_t n = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
		int *fds = (int *)CMSG_DATA(c);

		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		for (size_t i = 0; i < n; i++)
			what(fds[i]);
	}
}

static void
leave(int fd)
{
	(void)spw_leave(fd, SPW_BYPASS_SCM_RIGHTS);
}

static void
leave_sent(const struct msghdr *msg)
{
	struct msghdr *m = (struct msghdr *)msg;

	if (SPW_LIKELY(!atomic_load(&spw_front.attached)) ||
	    spw_cache_bad_pointer(m, sizeof(*m)) || !m->msg_control ||
	    spw_cache_bad_pointer(m->msg_control, m->msg_controllen))
		return;
	for_each(m, leave);
}

SPW_WRAP ssize_t
sendmsg(int fd, const struct msghdr *msg, int flags)
{
	leave_sent(msg);
	return REAL(sendmsg)(fd, msg, flags);
}

SPW_WRAP int
sendmmsg(int fd, struct mmsghdr *msgs, unsigned n, int flags)
{
	for (unsigned i = 0; msgs && i < n; i++)
		leave_sent(&msgs[i].msg_hdr);
	return REAL(sendmmsg)(fd, msgs, n, flags);
}

static void
hold(int fd)
{
	int err = errno;

	spw_fdtab_received(fd, 0, -1);
	errno = err;
}

SPW_WRAP ssize_t
recvmsg(int fd, struct msghdr *msg, int flags)
{
	ssize_t r = REAL(recvmsg)(fd, msg, flags);

	if (r >= 0)
		for_each(msg, hold);
	return r;
}

SPW_WRAP int
recvmmsg(int fd, struct mmsghdr *msgs, unsigned n, int flags,
	 struct timespec *timeout)
{
	int r = REAL(recvmmsg)(fd, msgs, n, flags, timeout);

	for (int i = 0; i < r; i++)
		for_each(&msgs[i].msg_hdr, hold);
	return r;
}

/* 0 when that cannot be told. */
static uint32_t
pid_behind(int pidfd)
{
	char path[48], text[512];
	struct spw_text t;
	const char *pid;
	int64_t n;
	int fd;

	spw_text_init(&t, path, sizeof(path));
	spw_text_fmt(&t, "/proc/thread-self/fdinfo/%u", (unsigned)pidfd);
	fd = spw_sys_open(path, O_RDONLY | O_CLOEXEC, 0);
	if (fd < 0)
		return 0;
	n = spw_sys_pread(fd, text, sizeof(text) - 1, 0);
	spw_sys_close(fd);
	text[SPW_MAX(n, 0)] = '\0';
	pid = strstr(text, "Pid:");
	return pid ? (uint32_t)strtoul(pid + 4, NULL, 10) : 0;
}

/* Nobody there hears of it, so it is we who see to the position. */
SPW_WRAP int
pidfd_getfd(int pidfd, int fd, unsigned flags)
{
	int r = (int)REAL(syscall)(SYS_pidfd_getfd, pidfd, fd, flags);
	int err = errno;

	if (r >= 0)
		spw_fdtab_received(r, pid_behind(pidfd), fd);
	errno = err;
	return r;
}
