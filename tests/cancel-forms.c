/* SPDX-License-Identifier: BSD-3-Clause */
/* cancel-forms.c -- which calls a thread that is to be cancelled ends in */

/*
 * Works in the current directory, on the file "f". Each call is made by a
 * thread that somebody has cancelled already; whether it came back, and what
 * can be done with the file afterwards, is told.
 */
#include <fcntl.h>
#include <linux/fs.h>
#include <pthread.h>
#include <stdint.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/told.h"

enum { SIZE = 8192, NUMBERS = 256 };

static char bytes[SIZE], line[64];
static struct iovec two[2] = { { bytes, 100 }, { bytes, 50 } };
static struct flock whole, here = { .l_whence = SEEK_CUR };
static struct stat st;
static struct statx stx;
static off64_t at[2];
static int fd, reader, pipes[2], flags;
static FILE *fp;

static int
read_ahead(void)
{
	return fgetc(fp);
}

static int
print(const char *what)
{
	return fputs(what, fp);
}

#define CALLS(X) \
	X(write(fd, bytes, 100)) X(write(fd, bytes, 0)) \
	X(write(reader, bytes, 1)) X(pwrite(fd, bytes, 100, 5)) \
	X(writev(fd, two, 2)) X(pwritev(fd, two, 2, 3)) \
	X(pwritev2(fd, two, 2, 3, 0)) X(pwritev2(fd, two, 2, 3, RWF_DSYNC)) \
	X(read(fd, bytes, 10)) X(pread(fd, bytes, 10, 0)) \
	X(readv(fd, two, 2)) X(preadv(fd, two, 2, 0)) \
	X(preadv2(fd, two, 2, 0, RWF_NOWAIT)) \
	X(lseek(fd, 0, SEEK_SET)) X(lseek(fd, 0, SEEK_HOLE)) \
	X(lseek(fd, 0, SEEK_DATA)) \
	X(ftruncate(fd, 777)) X(truncate("f", 999)) \
	X(fallocate(fd, 0, 0, 9000)) X(posix_fallocate(fd, 0, 9000)) \
	X(fsync(fd)) X(fdatasync(fd)) X(sync_file_range(fd, 0, 0, 2)) \
	X(syncfs(fd)) \
	X(open("f", O_RDWR)) X(open("f", O_RDWR | O_TRUNC)) \
	X(open("none", O_RDONLY)) X(openat(AT_FDCWD, "f", O_RDONLY)) \
	X(creat("f", 0644)) X(close(fd)) X(close_range(fd, fd, 0)) \
	X(dup(fd)) X(dup2(fd, reader)) X(dup3(fd, 100, 0)) \
	X(fcntl(fd, F_DUPFD, 100)) X(fcntl(fd, F_SETFL, O_APPEND)) \
	X(fcntl(fd, F_SETLK, &whole)) X(fcntl(fd, F_SETLKW, &whole)) \
	X(fcntl(fd, F_SETLKW, &here)) X(fcntl(fd, F_OFD_SETLKW, &here)) \
	X(flock(fd, LOCK_EX)) X(lockf(fd, F_LOCK, 10)) \
	X(lockf(fd, F_TLOCK, 10)) \
	X(stat("f", &st)) X(fstat(fd, &st)) \
	X(statx(fd, "", AT_EMPTY_PATH, STATX_SIZE, &stx)) \
	X(futimens(fd, NULL)) X(fchmod(fd, 0600)) \
	X(rename("f", "g")) X(link("f", "g")) X(unlink("f")) \
	X(sendfile(pipes[1], fd, NULL, 10)) \
	X(splice(fd, NULL, pipes[1], NULL, 10, 0)) \
	X(copy_file_range(fd, &at[0], reader, &at[1], 10, 0)) \
	X(ioctl(fd, FIONREAD, &flags)) X(ioctl(fd, FS_IOC_GETFLAGS, &flags)) \
	X(syscall(SYS_write, fd, bytes, 10)) X(syscall(SYS_fsync, fd)) \
	X(syscall(SYS_close, fd)) X(syscall(SYS_read, pipes[0], line, 1)) \
	X(dprintf(fd, "%d", 5)) \
	X(fopen("f", "r")) X(fclose(fp)) X(print("a") + fclose(fp)) \
	X(read_ahead()) X(print("a") + fflush(fp)) X(ftell(fp)) \
	X(fseek(fp, 10, SEEK_SET)) X(read_ahead() + fclose(fp))

#define DEFINE(call) { #call, __COUNTER__ },
static const struct { const char *name; int n; } calls[] = { CALLS(DEFINE) };

static void
make_call(int n)
{
	enum { FIRST = __COUNTER__ };

	switch (n + FIRST + 1) {
#define CASE(call) case __COUNTER__: (void)(call); break;
	CALLS(CASE)
	}
}

static void *
is_cancelled(void *n)
{
	int state;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
	pthread_cancel(pthread_self());
	pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, &state);
	make_call((int)(intptr_t)n);
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
	return NULL;
}

static int
descriptors(void)
{
	int n = 0;

	for (int i = 0; i < NUMBERS; i++)
		n += fcntl(i, F_GETFD) >= 0;
	return n;
}

static void
prepare(void)
{
	whole.l_type = here.l_type = F_WRLCK;
	fd = open("f", O_RDWR | O_CREAT | O_TRUNC, 0644);
	if (fd < 0 || write(fd, bytes, SIZE) != SIZE ||
	    lseek(fd, 100, SEEK_SET) != 100 || pipe(pipes) < 0 ||
	    write(pipes[1], "a", 1) != 1)
		told_die("f");
	reader = open("f", O_RDONLY);
	fp = fopen("f", "r+");
	at[0] = 0;
	at[1] = SIZE;
}

/* No lock is left behind, and no other open description of the file. */
static void
use_it(void)
{
	char three[4] = "";
	int other;

	told_of = "then";
	other = open("f", O_RDWR | O_CREAT, 0644);
	TELL(fstat(other, &st) == 0 ? st.st_size : -1);
	TELL(pwrite(other, "zz", 2, 1));
	TELL(pread(other, three, 3, 0));
	TELL(ftruncate(other, 3000));
	TELL(fsync(other));
	TELL(lseek(fd, 0, SEEK_CUR));
	close(other);
}

int
main(void)
{
	told_begin();
	memset(bytes, 'b', sizeof(bytes));
	for (size_t i = 0; i < sizeof(calls) / sizeof(*calls); i++) {
		pthread_t t;
		void *end;
		int open_before;

		prepare();
		open_before = descriptors();
		if (pthread_create(&t, NULL, is_cancelled,
				   (void *)(intptr_t)i) ||
		    pthread_join(t, &end))
			told_die("thread");
		printf("%s: %s, %+d\n", calls[i].name,
		       end == PTHREAD_CANCELED ? "cancelled" : "came back",
		       descriptors() - open_before);
		use_it();
		closefrom(3);
		(void)unlink("f");
		(void)unlink("g");
	}
	fflush(stdout);
	_exit(0);		/* some streams were left half closed */
}
