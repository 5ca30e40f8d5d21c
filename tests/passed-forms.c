/* SPDX-License-Identifier: BSD-3-Clause */
/* passed-forms.c -- a descriptor that came from elsewhere, beside an open */

/*
 * usage: passed-forms FORM
 *
 * Works in the current directory and tells what it sees; with and without
 * Spillway the words and the files must be the same. The descriptor on which
 * the file was opened is passed on and closed; then the file is opened once
 * more by its name, and changed through what was passed.
 */
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/told.h"

static char buf[20000];

union control {
	struct cmsghdr head;
	char room[CMSG_SPACE(sizeof(int))];
};

static struct msghdr
message(struct iovec *byte, union control *control)
{
	return (struct msghdr){
		.msg_iov = byte, .msg_iovlen = 1,
		.msg_control = control, .msg_controllen = sizeof(*control),
	};
}

static void
send_fd(int to, int fd)
{
	union control control = { 0 };
	struct iovec byte = { "x", 1 };
	struct msghdr m = message(&byte, &control);
	struct cmsghdr *c = CMSG_FIRSTHDR(&m);

	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(c), &fd, sizeof(fd));
	if (sendmsg(to, &m, 0) != 1)
		told_die("sendmsg");
}

static long
receive(const char *form, int from, struct mmsghdr *m)
{
	if (strcmp(form, "one") == 0)
		return recvmsg(from, &m->msg_hdr, 0);
	if (strcmp(form, "many") == 0)
		return recvmmsg(from, m, 1, 0, NULL);
	if (strcmp(form, "many-number") == 0)
		return syscall(SYS_recvmmsg, from, m, 1, 0, NULL);
	return syscall(SYS_recvmsg, from, &m->msg_hdr, 0);
}

static int
through_socket(const char *form, int fd)
{
	union control control;
	char got;
	struct iovec byte = { &got, 1 };
	struct mmsghdr m = { .msg_hdr = message(&byte, &control) };
	int pair[2], passed;

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) < 0)
		told_die("socketpair");
	send_fd(pair[0], fd);
	close(fd);
	if (receive(form, pair[1], &m) != 1)
		told_die("receive");
	memcpy(&passed, CMSG_DATA(CMSG_FIRSTHDR(&m.msg_hdr)), sizeof(passed));
	close(pair[0]);
	close(pair[1]);
	return passed;
}

static int
through_pidfd(int fd)
{
	int self = (int)syscall(SYS_pidfd_open, getpid(), 0);
	int passed = (int)syscall(SYS_pidfd_getfd, self, fd, 0);

	if (passed < 0)
		told_die("pidfd_getfd");
	close(self);
	close(fd);
	return passed;
}

/* The child has opened the file, and is not asked. */
static int
from_child(int fd)
{
	int pipes[2], child, pidfd, passed;

	if (close(fd) < 0 || pipe(pipes) < 0 || (child = fork()) < 0)
		told_die("fork");
	if (child == 0) {
		fd = open("file", O_RDWR);
		if (fd < 0 || lseek(fd, 5000, SEEK_SET) != 5000 ||
		    write(pipes[1], &fd, sizeof(fd)) != sizeof(fd))
			_exit(1);
		pause();
	}
	if (read(pipes[0], &fd, sizeof(fd)) != sizeof(fd))
		told_die("pipe");
	pidfd = (int)syscall(SYS_pidfd_open, child, 0);
	passed = (int)syscall(SYS_pidfd_getfd, pidfd, fd, 0);
	if (passed < 0)
		told_die("pidfd_getfd");
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	close(pidfd);
	close(pipes[0]);
	close(pipes[1]);
	return passed;
}

/* Through what was passed, and as the other descriptor sees it. */
static void
change(int passed, int own)
{
	TELL(lseek(passed, 5000, SEEK_SET));
	TELL(read(own, buf, sizeof(buf)));
	TELL(pwrite(passed, "new", 3, 1000));
	TELL(pread(own, buf, 3, 1000));
	printf("%.3s\n", buf);
	TELL(ftruncate(passed, 9000));
	TELL(lseek(own, 0, SEEK_END));
	TELL(pread(own, buf, sizeof(buf), 0));
	TELL(write(passed, "at the position", 15));
	TELL(pread(own, buf, 15, 5000));
	printf("%.15s\n", buf);
}

static void
append(int fd)
{
	TELL(write(fd, buf, 100));
	close(fd);
}

int
main(int argc, char **argv)
{
	int fd, passed, own;

	if (argc < 2)
		return 2;
	told_begin();
	told_of = argv[1];
	fd = open("file", O_RDWR | O_CREAT, 0644);
	if (fd < 0 || write(fd, buf, 5000) != 5000)
		told_die("file");
	passed = strcmp(argv[1], "pidfd") == 0 ? through_pidfd(fd)
		 : strcmp(argv[1], "child") == 0 ? from_child(fd)
		 : through_socket(argv[1], fd);
	printf("at %lld\n", (long long)lseek(passed, 0, SEEK_CUR));
	own = open("file", O_RDONLY);
	change(passed, own);
	close(own);
	close(passed);
	append(open("file", O_RDWR | O_APPEND));
	return 0;
}
