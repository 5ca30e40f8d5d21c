/* SPDX-License-Identifier: BSD-3-Clause */
/* call-errors.c -- every wrapped call with bad arguments, and what it says */

/*
 * usage: call-errors
 *
 * Works in the current directory. The calls are made on descriptors of a file
 * with bytes that may not be home, opened in several ways, and on others. The
 * words must be the same with and without Spillway.
 */
#include <aio.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/aio_abi.h>
#include <linux/fs.h>
#include <linux/openat2.h>
#include <stdint.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "tests/told.h"

enum { SIZE = 10000 };

/* Volatile, so that the compiler does not know them for what they are. */
static char *volatile null;
static char *volatile kernel = (char *)0xffff888000000000ull;
static char *volatile last = (char *)-8l;
static char buf[2 * SIZE];
static const off_t far = INT64_MAX;
static volatile int negative_count = -1;
static volatile size_t minus_one = SIZE_MAX;

static void
reading(int fd)
{
	TELL(lseek(fd, 100, SEEK_SET));
	TELL(read(fd, null, 10));
	TELL(read(fd, kernel, 10));
	TELL(read(fd, last, 10));
	TELL(read(fd, buf, 0));
	TELL(read(fd, null, 0));
	TELL(read(fd, kernel, 0));
	TELL(read(fd, buf, 10));
	TELL(pread(fd, null, 10, 0));
	TELL(pread(fd, kernel, 10, 5000));
	TELL(pread(fd, null, 10, SIZE));
	TELL(pread(fd, kernel, 10, SIZE));
	TELL(read(fd, buf, minus_one));
	TELL(read(fd, buf, minus_one / 2));
	TELL(pread(fd, buf, minus_one, 0));
	TELL(pread(fd, buf, 10, -1));
	TELL(pread(fd, buf, 10, INT64_MIN));
	TELL(pread(fd, buf, 10, far));
	TELL(pread(fd, buf, 10, 1ll << 45));
	TELL(pread(fd, buf, sizeof(buf), SIZE - 5));
	TELL(lseek(fd, 0, SEEK_END));
	TELL(read(fd, buf, 10));
	TELL(read(fd, null, 10));
	TELL(lseek(fd, 0, SEEK_CUR));
}

static void
writing(int fd)
{
	TELL(lseek(fd, 200, SEEK_SET));
	TELL(write(fd, null, 10));
	TELL(write(fd, kernel, 10));
	TELL(write(fd, last, 10));
	TELL(write(fd, buf, 0));
	TELL(write(fd, null, 0));
	TELL(write(fd, buf, minus_one));
	TELL(write(fd, buf, minus_one / 2));
	TELL(pwrite(fd, buf, minus_one, 50));
	TELL(pwrite(fd, null, 10, 0));
	TELL(pwrite(fd, kernel, 10, 5000));
	TELL(pwrite(fd, buf, 10, -1));
	TELL(pwrite(fd, buf, 10, INT64_MIN));
	TELL(pwrite(fd, buf, 10, far));
	TELL(pwrite(fd, buf, 0, far));
	TELL(lseek(fd, 0, SEEK_CUR));
	TELL(lseek(fd, 0, SEEK_END));
}

static void
vectors(int fd)
{
	static struct iovec many[IOV_MAX + 1];
	struct iovec good = { buf, 10 }, nothing = { NULL, 0 };
	struct iovec bad[2] = { { buf, 10 }, { null, 10 } };
	struct iovec negative[2] = { { buf, 10 }, { buf, (size_t)-1 } };
	struct iovec sum[2] = { { buf, SSIZE_MAX }, { buf, SSIZE_MAX } };
	struct iovec alien = { kernel, 10 };

	for (size_t i = 0; i < sizeof(many) / sizeof(*many); i++)
		many[i] = (struct iovec){ buf + i, 1 };
	TELL(lseek(fd, 300, SEEK_SET));
	TELL(readv(fd, (struct iovec *)null, 1));
	TELL(readv(fd, (struct iovec *)null, 0));
	TELL(readv(fd, (struct iovec *)kernel, 1));
	TELL(readv(fd, &good, 0));
	TELL(readv(fd, &good, negative_count));
	TELL(readv(fd, &good, 1));
	TELL(readv(fd, &nothing, 1));
	TELL(readv(fd, many, IOV_MAX));
	TELL(readv(fd, many, IOV_MAX + 1));
	TELL(readv(fd, bad, 2));
	TELL(readv(fd, bad + 1, 1));
	TELL(readv(fd, negative, 2));
	TELL(readv(fd, sum, 2));
	TELL(readv(fd, &alien, 1));
	TELL(preadv(fd, &good, 1, -1));
	TELL(preadv(fd, bad, 2, 7));
	TELL(preadv(fd, (struct iovec *)null, 1, 0));
	TELL(preadv2(fd, &good, 1, -1, 0));
	TELL(preadv2(fd, &good, 1, -2, 0));
	TELL(preadv2(fd, &good, 1, 0, 0x10000));
	TELL(preadv2(fd, (struct iovec *)null, 1, 0, RWF_NOWAIT));
	TELL(lseek(fd, 400, SEEK_SET));
	TELL(writev(fd, (struct iovec *)null, 1));
	TELL(writev(fd, (struct iovec *)null, 0));
	TELL(writev(fd, &good, 0));
	TELL(writev(fd, &good, negative_count));
	TELL(writev(fd, &nothing, 1));
	TELL(writev(fd, many, IOV_MAX));
	TELL(writev(fd, many, IOV_MAX + 1));
	TELL(writev(fd, bad, 2));
	TELL(writev(fd, bad + 1, 1));
	TELL(writev(fd, negative, 2));
	TELL(writev(fd, sum, 2));
	TELL(writev(fd, &alien, 1));
	TELL(pwritev(fd, &good, 1, -1));
	TELL(pwritev(fd, bad, 2, 7));
	TELL(pwritev2(fd, &good, 1, -1, 0));
	TELL(pwritev2(fd, &good, 1, -2, 0));
	TELL(pwritev2(fd, &good, 1, 0, 0x10000));
	TELL(lseek(fd, 0, SEEK_CUR));
	TELL(lseek(fd, 0, SEEK_END));
}

static void
seeking(int fd)
{
	static const int whence[] = { SEEK_SET, SEEK_CUR, SEEK_END, SEEK_DATA,
				      SEEK_HOLE, 5, 99, -1 };
	static const off_t to[] = { -1, INT64_MIN, INT64_MAX,
				    INT64_MAX - SIZE, 1ll << 44, 1ll << 50,
				    -SIZE, -SIZE - 1, SIZE, 0 };

	for (size_t w = 0; w < sizeof(whence) / sizeof(*whence); w++)
		for (size_t i = 0; i < sizeof(to) / sizeof(*to); i++) {
			off_t r;

			(void)lseek(fd, 123, SEEK_SET);
			errno = 0;
			r = lseek(fd, to[i], whence[w]);
			printf("%s: lseek %lld %d = %lld %s, now %lld\n",
			       told_of, (long long)to[i], whence[w],
			       (long long)r, strerrorname_np(errno),
			       (long long)lseek(fd, 0, SEEK_CUR));
		}
	(void)lseek(fd, 0, SEEK_SET);
}

static void
resizing(int fd)
{
	TELL(ftruncate(fd, -1));
	TELL(ftruncate(fd, far));
	TELL(ftruncate(fd, SIZE));
	TELL(fallocate(fd, 0, -1, 10));
	TELL(fallocate(fd, 0, 0, 0));
	TELL(fallocate(fd, 0, 0, -1));
	TELL(fallocate(fd, 0x4000, 0, 10));
	TELL(fallocate(fd, FALLOC_FL_PUNCH_HOLE, 0, 10));
	TELL(fallocate(fd, 0, far, 10));
	TELL(posix_fallocate(fd, -1, 10));
	TELL(posix_fallocate(fd, 0, 0));
	TELL(posix_fallocate(fd, far, 10));
	TELL(posix_fallocate(fd, 0, 100));
	TELL(fsync(fd));
	TELL(fdatasync(fd));
	TELL(syncfs(fd));
	TELL(sync_file_range(fd, 0, 0, 0xff));
	TELL(sync_file_range(fd, -1, 0, 0));
	TELL(sync_file_range(fd, 0, 0, SYNC_FILE_RANGE_WRITE));
	TELL(posix_fadvise(fd, 0, 0, 99));
	TELL(readahead(fd, 0, 100));
}

/* What flags, locks and copies of a descriptor say. */
static void
controlling(int fd)
{
	int control = F_SETOWN + 1000;

	TELL(fcntl(fd, F_GETFL));
	TELL(fcntl(fd, F_GETFD));
	TELL(fcntl(fd, F_DUPFD, -1));
	TELL(fcntl(fd, F_DUPFD, INT_MAX));
	TELL(fcntl(fd, F_GETLK, null));
	TELL(fcntl(fd, F_SETLK, kernel));
	TELL(fcntl(fd, F_OFD_SETLK, null));
	TELL(fcntl(fd, control, 0));
	TELL(flock(fd, 99));
	TELL(lockf(fd, 99, 0));
	TELL(lockf(fd, F_TEST, 0));
	TELL(dup2(fd, -1));
	TELL(dup2(fd, INT_MAX));
	TELL(dup2(-1, fd));
	TELL(dup2(fd, fd));
	TELL(dup3(fd, fd, 0));
	TELL(dup3(fd, 200, 0x7fff));
	TELL(close_range((unsigned)fd, (unsigned)fd, 0x80));
	TELL(close_range(300, 299, 0));
	TELL(fcntl(fd, F_GETFD));
	TELL(ioctl(fd, 0x12345678, null));
	TELL(ioctl(fd, FIONREAD, null));
	TELL(ioctl(fd, FICLONE, -1));
	TELL(ioctl(fd, FICLONERANGE, null));
}

static void
looking(int fd)
{
	char *p = null, room[sizeof(struct statx)];

	TELL(fstat(fd, (struct stat *)p));
	TELL(fstat(fd, (struct stat *)kernel));
	TELL(fstatat(fd, "", (struct stat *)room, AT_EMPTY_PATH));
	TELL(fstatat(fd, "", (struct stat *)room, 0x4000000));
	TELL(statx(fd, "", AT_EMPTY_PATH, STATX_SIZE, (struct statx *)p));
	TELL(statx(fd, "", 0, STATX_SIZE, (struct statx *)room));
	TELL(futimens(fd, (struct timespec *)kernel));
	TELL(fchmod(fd, 0644));
}

static void
mapping(int fd)
{
	TELL(mmap(NULL, 0, PROT_READ, MAP_SHARED, fd, 0));
	TELL(mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 1));
	TELL(mmap(NULL, 4096, PROT_READ, 0, fd, 0));
	TELL(mmap(NULL, SIZE_MAX, PROT_READ, MAP_SHARED, fd, 0) == MAP_FAILED);
	TELL(mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) !=
	     MAP_FAILED);
	TELL(mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, fd, 0) != MAP_FAILED);
}

static void
copying(int fd, int other)
{
	off64_t at = 0, minus = -1;

	TELL(sendfile(other, fd, (off_t *)kernel, 10));
	TELL(sendfile(other, fd, (off_t *)&minus, 10));
	TELL(sendfile(-1, fd, NULL, 10));
	TELL(sendfile(fd, -1, NULL, 10));
	TELL(sendfile(fd, fd, NULL, 0));
	TELL(splice(fd, NULL, other, NULL, 10, 0));
	TELL(splice(fd, &at, -1, NULL, 10, 0));
	TELL(copy_file_range(fd, &at, other, &at, 10, 1));
	TELL(copy_file_range(fd, &minus, other, NULL, 10, 0));
	TELL(copy_file_range(fd, NULL, -1, NULL, 10, 0));
	TELL(copy_file_range(-1, NULL, fd, NULL, 10, 0));
	TELL(copy_file_range(fd, &at, fd, &at, 10, 0));
	TELL(copy_file_range(fd, (off64_t *)kernel, other, NULL, 10, 0));
}

static void
asynchronous(int fd)
{
	static struct aiocb cb;		/* looked at after we have returned */
	struct aiocb *list[2] = { NULL, &cb };
	aio_context_t context = 0;
	struct iocb *none = NULL, *alien = (struct iocb *)kernel;

	cb = (struct aiocb){ .aio_fildes = fd, .aio_buf = buf,
			     .aio_nbytes = 10, .aio_offset = -1,
			     .aio_sigevent.sigev_notify = SIGEV_NONE };
	TELL(aio_read(&cb));
	while (aio_error(&cb) == EINPROGRESS)
		usleep(100);
	cb.aio_offset = 0;
	cb.aio_reqprio = -1;
	TELL(aio_write(&cb));
	cb.aio_reqprio = 0;
	TELL(aio_fsync(99, &cb));
	TELL(lio_listio(99, list, 1, NULL));
	TELL(lio_listio(LIO_WAIT, list, 1, NULL));
	TELL(lio_listio(LIO_WAIT, list, 0, NULL));
	if (syscall(SYS_io_setup, 4, &context) < 0)
		return;
	TELL(syscall(SYS_io_submit, context, 1, &none));
	TELL(syscall(SYS_io_submit, context, 1, &alien));
	TELL(syscall(SYS_io_submit, context, 1, null));
	TELL(syscall(SYS_io_submit, context, -1, &none));
	TELL(syscall(SYS_io_submit, 0, 1, &none));
	syscall(SYS_io_destroy, context);
}

/* Where no file system goes: it leaves the cache for the kernel's answer. */
static void
too_far(int fd)
{
	struct iovec good = { buf, 10 };

	TELL(pwrite(fd, buf, 10, far - 10));
	TELL(pwritev(fd, &good, 1, far - 10));
	TELL(pwrite(fd, buf, 10, 1ll << 55));
	TELL(lseek(fd, 0, SEEK_CUR));
}

static void
closing(int fd)
{
	TELL(close(fd));
	TELL(close(fd));
	TELL(read(fd, buf, 1));
	TELL(write(fd, buf, 1));
	TELL(lseek(fd, 0, SEEK_CUR));
	TELL(fsync(fd));
	TELL(dup(fd));
	TELL(fcntl(fd, F_GETFL));
}

static void
names(void)
{
	static char big[5000];
	int dir = open(".", O_RDONLY | O_DIRECTORY), file;
	struct open_how how = { O_RDWR | O_TRUNC, 0, 0 };

	memset(big, 'x', sizeof(big) - 1);
	told_of = "names";
	TELL(open(null, O_RDONLY));
	TELL(open(kernel, O_RDWR | O_TRUNC));
	TELL(open("", O_RDWR));
	TELL(open(".", O_RDWR));
	TELL(open(".", O_RDWR | O_TRUNC));
	TELL(open("missing", O_RDWR | O_TRUNC));
	TELL(open("missing/x", O_RDWR | O_CREAT, 0644));
	TELL(open("file/x", O_RDWR | O_CREAT, 0644));
	TELL(open("file/", O_RDWR));
	TELL(open("file", O_RDWR | O_CREAT | O_EXCL, 0644));
	TELL(open("file", O_RDONLY | O_DIRECTORY));
	TELL(open("link", O_RDWR | O_NOFOLLOW));
	TELL(open("loop", O_RDWR));
	TELL(syscall(SYS_openat2, dir, "file", null, sizeof(how)));
	TELL(syscall(SYS_openat2, dir, "file", kernel, sizeof(how)));
	TELL(syscall(SYS_openat2, dir, "file", &how, 8));
	TELL(open(big, O_RDWR));
	TELL(open(big + sizeof(big) - 300, O_RDWR | O_CREAT, 0644));
	TELL(openat(-1, "file", O_RDWR));
	TELL(openat(999, "file", O_RDWR | O_TRUNC));
	file = open("file", O_RDWR);
	TELL(openat(file, "x", O_RDWR));
	TELL(close(file));
	TELL(creat("", 0644));
	TELL(truncate(null, 0));
	TELL(truncate("", 0));
	TELL(truncate(".", 0));
	TELL(truncate("missing", 0));
	TELL(truncate("file", -1));
	TELL(truncate("file", far));
	TELL(stat("file", (struct stat *)kernel));
	TELL(stat("file", (struct stat *)8));
	TELL(stat("no-such-file", (struct stat *)8));
	TELL(rename("file", "missing/file"));
	TELL(rename("file", null));
	TELL(unlink("."));
	TELL(link("file", "file"));
	TELL(faccessat(dir, "file", W_OK, 0));
	TELL(close(dir));
}

static void
all_on(const char *of, int fd, int other)
{
	told_of = of;
	reading(fd);
	writing(fd);
	vectors(fd);
	seeking(fd);
	resizing(fd);
	controlling(fd);
	looking(fd);
	copying(fd, other);
}

/* A file with bytes that nobody brought home yet, opened with flags. */
static int
make(const char *name, int flags)
{
	int fd = open(name, O_RDWR | O_CREAT | O_TRUNC, 0644);

	memset(buf, 'a', sizeof(buf));
	if (fd < 0 || write(fd, buf, SIZE) != SIZE || close(fd) < 0)
		told_die(name);
	fd = open(name, flags);
	if (fd < 0)
		told_die(name);
	return fd;
}

int
main(void)
{
	static const struct { const char *name; int flags; } ways[] = {
		{ "rdwr", O_RDWR }, { "rdonly", O_RDONLY },
		{ "wronly", O_WRONLY }, { "append", O_RDWR | O_APPEND },
		{ "path", O_PATH }, { "noaccess", O_ACCMODE },
	};
	int other, pipes[2];

	told_begin();
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN);
	if (symlink("file", "link") < 0 || symlink("loop", "loop") < 0 ||
	    mkdir("dir", 0755) < 0 || pipe(pipes) < 0)
		told_die("prepare");
	close(pipes[0]);
	other = make("file", O_RDWR);
	for (size_t i = 0; i < sizeof(ways) / sizeof(*ways); i++) {
		int fd = make(ways[i].name, ways[i].flags);

		all_on(ways[i].name, fd, other);
		too_far(fd);
		asynchronous(fd);
		mapping(fd);
		reading(fd);		/* as the kernel serves it */
		writing(fd);
		seeking(fd);
		closing(fd);
	}
	all_on("pipe", pipes[1], other);
	all_on("directory", open("dir", O_RDONLY), other);
	all_on("none", -1, other);
	all_on("closed", 777, other);
	names();
	return 0;
}
