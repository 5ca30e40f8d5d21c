/* SPDX-License-Identifier: BSD-3-Clause */
/* odd-io.c -- reads, writes, holes and sizes that few programs ask for */

/*
 * usage: odd-io BEHAVIOUR
 *
 * Works in the current directory and tells what it sees; with and without
 * Spillway the words and the files must be the same.
 */
#include <fcntl.h>
#include <limits.h>
#include <linux/fs.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/told.h"

#ifndef RWF_NOAPPEND
#define RWF_NOAPPEND 0x20
#endif

static char buf[1 << 20];

static int
make(const char *name, int flags)
{
	int fd = open(name, flags | O_CREAT | O_TRUNC, 0644);

	if (fd < 0)
		told_die(name);
	return fd;
}

/* Position, size and a sum of the contents. */
static void
state(int fd)
{
	char name[64];
	uint32_t sum = 1;
	struct stat st;
	ssize_t n = 0;
	off_t at = 0;
	int own;

	if (fstat(fd, &st) < 0)
		told_die("fstat");
	snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
	own = open(name, O_RDONLY);
	while (own >= 0 && at < 1 << 24 &&
	       (n = pread(own, buf, sizeof(buf), at)) > 0) {
		for (ssize_t i = 0; i < n; i++)
			sum = sum * 31 + (unsigned char)buf[i];
		at += n;
	}
	close(own);
	memset(buf, 'a', sizeof(buf));
	printf("%s: at %lld of %lld, sum %08x\n", told_of,
	       (long long)lseek(fd, 0, SEEK_CUR), (long long)st.st_size, sum);
}

static void
holes(void)
{
	int fd = make("holes", O_RDWR);
	off_t at = 0;

	told_of = "holes";
	for (int i = 0; i < 5; i++)
		if (pwrite(fd, buf, 70000, i * 1000000) != 70000)
			told_die("pwrite");
	TELL(ftruncate(fd, 5000000));
	for (int i = 0; i < 12 && at >= 0; i++) {
		at = lseek(fd, at, i % 2 ? SEEK_DATA : SEEK_HOLE);
		printf("%s: %s at %lld\n", told_of, i % 2 ? "data" : "hole",
		       (long long)at);
	}
	TELL(lseek(fd, 5000000, SEEK_HOLE));
	TELL(lseek(fd, 4999999, SEEK_HOLE));
	TELL(pwrite(fd, buf, 1, 4500000));
	TELL(lseek(fd, 4400000, SEEK_DATA));
	TELL(read(fd, buf, 10));
	state(fd);
	close(fd);
}

static void
allocation(void)
{
	int fd = make("allocation", O_RDWR);

	told_of = "allocation";
	TELL(write(fd, buf, 100000));
	TELL(fallocate(fd, FALLOC_FL_KEEP_SIZE, 0, 300000));
	state(fd);
	TELL(fallocate(fd, 0, 150000, 50000));
	state(fd);
	TELL(pwrite(fd, buf, 5000, 60000));
	TELL(fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 5000,
		       60000));
	state(fd);
	TELL(pwrite(fd, buf, 777, 33333));
	TELL(fallocate(fd, FALLOC_FL_ZERO_RANGE, 33000, 500));
	state(fd);
	TELL(write(fd, buf, 3));
	TELL(fallocate(fd, FALLOC_FL_COLLAPSE_RANGE, 0, 4096));
	state(fd);
	TELL(write(fd, buf, 3));
	TELL(fallocate(fd, FALLOC_FL_INSERT_RANGE, 4096, 8192));
	state(fd);
	TELL(posix_fallocate(fd, 250000, 10));
	TELL(write(fd, buf, 10));
	state(fd);
	close(fd);
}

static void
flags(void)
{
	struct iovec v[2] = { { buf, 1000 }, { buf, 23 } };
	int fd = make("flags", O_RDWR), end;

	told_of = "flags";
	TELL(write(fd, buf, 10000));
	TELL(pwritev2(fd, v, 2, 0, RWF_APPEND));
	state(fd);
	TELL(pwritev2(fd, v, 2, -1, RWF_APPEND));
	state(fd);
	TELL(pwritev2(fd, v, 2, 500, RWF_DSYNC));
	TELL(pwritev2(fd, v, 2, -1, RWF_SYNC));
	state(fd);
	TELL(pwritev2(fd, v, 2, 20000, RWF_HIPRI));
	TELL(preadv2(fd, v, 2, 0, RWF_HIPRI));
	TELL(preadv2(fd, v, 2, -1, RWF_DSYNC) >= 0);
	TELL(pwrite(fd, buf, 100, 30000));
	TELL(preadv2(fd, v, 1, 30000, 0));
	state(fd);
	end = open("flags", O_WRONLY | O_APPEND);
	TELL(pwrite(end, buf, 7, 3));
	TELL(pwritev(end, v, 2, 3));
	TELL(lseek(end, 0, SEEK_CUR));
	TELL(write(end, buf, 11));
	state(end);
	TELL(fcntl(end, F_SETFL, 0));
	TELL(pwrite(end, "now here", 8, 3));
	TELL(lseek(end, 100, SEEK_SET));
	TELL(write(end, "and here", 8));
	state(end);
	TELL(fcntl(end, F_SETFL, O_APPEND));
	TELL(write(end, "at the end again", 16));
	state(end);
	TELL(fcntl(end, F_GETFL) & O_APPEND);
	close(end);
	end = open("flags", O_PATH | O_TRUNC | O_RDWR);
	close(end);
	state(fd);
	close(fd);
}

static void
vectors(void)
{
	static struct iovec many[IOV_MAX];
	int fd = make("vectors", O_RDWR);
	char *to = malloc(IOV_MAX * 7);

	told_of = "vectors";
	for (int i = 0; i < IOV_MAX; i++)	/* every third is empty */
		many[i] = (struct iovec){ buf + i * 7, i % 3 ? i % 7 : 0 };
	for (int i = 0; i < IOV_MAX * 7; i++)
		buf[i] = (char)i;
	TELL(writev(fd, many, IOV_MAX));
	TELL(pwritev(fd, many, IOV_MAX, 4000));
	TELL(pwritev(fd, many, 1, 1 << 20));
	state(fd);
	for (int i = 0; i < IOV_MAX; i++)
		many[i].iov_base = to + i * 7;
	memset(to, 0, IOV_MAX * 7);
	TELL(preadv(fd, many, IOV_MAX, 3999));
	TELL(lseek(fd, -1000, SEEK_END));
	TELL(readv(fd, many, IOV_MAX));
	TELL(readv(fd, many, IOV_MAX));
	TELL(preadv(fd, many, IOV_MAX, 1 << 30));
	state(fd);
	for (int i = 0; i < IOV_MAX * 7; i++)
		buf[i] = to[i];
	TELL(pwrite(fd, buf, IOV_MAX * 7, 20000));
	state(fd);
	free(to);
	close(fd);
}

/* Counts of nothing, past the end, and of more than a call can move. */
static void
counts(void)
{
	const size_t big = (1ull << 32) + 5;
	char *room = mmap(NULL, big, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	int fd = make("counts", O_RDWR);

	told_of = "counts";
	if (room == MAP_FAILED)
		told_die("mmap");
	TELL(write(fd, buf, 0));
	TELL(pwrite(fd, buf, 0, 100000));
	state(fd);
	TELL(write(fd, buf, 5000));
	TELL(pread(fd, buf, 100, 5000));
	TELL(pread(fd, buf, 100, 4990));
	TELL(pread(fd, buf, 100, 1ll << 40));
	TELL(lseek(fd, 7000, SEEK_SET));
	TELL(read(fd, buf, 10));
	TELL(lseek(fd, 0, SEEK_CUR));
	TELL(lseek(fd, 0, SEEK_SET));
	TELL(read(fd, room, big));
	TELL(lseek(fd, 1 << 20, SEEK_SET));
	TELL(write(fd, buf, 1));
	TELL(read(fd, buf, 0));
	state(fd);
	munmap(room, big);
	close(fd);
}

static int seen_xfsz;

static void
xfsz(int sig)
{
	(void)sig;
	seen_xfsz++;
}

/* The limit on sizes: cut, refused with a signal, and lifted again. */
static void
limits(void)
{
	struct rlimit was, now;
	int fd = make("limits", O_RDWR), large = make("large", O_RDWR);
	volatile int end;

	told_of = "limits";
	signal(SIGXFSZ, xfsz);
	TELL(getrlimit(RLIMIT_FSIZE, &was));
	now = (struct rlimit){ 100000, was.rlim_max };
	TELL(write(fd, buf, 50000));
	TELL(write(large, buf, 150000));
	TELL(setrlimit(RLIMIT_FSIZE, &now));
	TELL(fsync(large));
	close(large);
	TELL(write(fd, buf, 40000));
	TELL(write(fd, buf, 40000));
	printf("signals %d\n", seen_xfsz);
	TELL(write(fd, buf, 40000));
	printf("signals %d\n", seen_xfsz);
	TELL(pwrite(fd, buf, 10, 200000));
	TELL(pwrite(fd, buf, 10, 10));
	TELL(ftruncate(fd, 200000));
	TELL(fallocate(fd, 0, 0, 200000));
	printf("signals %d\n", seen_xfsz);
	state(fd);
	end = open("limits", O_WRONLY | O_APPEND);
	TELL(write(end, buf, 1));
	close(end);
	end = make("limited", O_WRONLY | O_APPEND);
	for (volatile int i = 0; i < 5; i++)
		TELL(write(end, buf, 30000));
	printf("signals %d\n", seen_xfsz);
	TELL(setrlimit(RLIMIT_FSIZE, &was));
	TELL(write(fd, buf, 100000));
	TELL(write(end, buf, 100000));
	state(fd);
	state(end);
	close(end);
	close(fd);
}

/* Fewer descriptors than are open, and numbers beyond the old limit. */
static void
descriptors(void)
{
	struct rlimit was, now;
	int fd, fds[40];

	told_of = "descriptors";
	for (int i = 0; i < 40; i++) {
		char name[32];

		snprintf(name, sizeof(name), "d%d", i);
		fds[i] = make(name, O_RDWR);
	}
	TELL(getrlimit(RLIMIT_NOFILE, &was));
	now = (struct rlimit){ 20, was.rlim_max };
	TELL(setrlimit(RLIMIT_NOFILE, &now));
	for (int i = 0; i < 40; i++)
		if (write(fds[i], buf, 5000) != 5000 ||
		    pread(fds[i], buf, 5000, 0) != 5000 || fsync(fds[i]) < 0)
			told_die("above the limit");
	TELL(open("one-more", O_RDWR | O_CREAT, 0644));
	TELL(dup(fds[0]));
	TELL(fcntl(fds[0], F_DUPFD, 0));
	for (volatile int i = 0; i < 40; i++)
		TELL(close(fds[i]));
	now.rlim_cur = was.rlim_max > 70000 ? 70000 : was.rlim_max;
	TELL(setrlimit(RLIMIT_NOFILE, &now));
	fd = make("high", O_RDWR);
	TELL(write(fd, "low ", 4));
	fds[0] = fcntl(fd, F_DUPFD, (int)now.rlim_cur - 1);
	TELL(write(fds[0], "high ", 5));
	TELL(write(fd, "low again", 9));
	state(fds[0]);
	close(fd);
	close(fds[0]);
}

/* Locked up by an attribute, where that is allowed, and opened again. */
static void
attributes(void)
{
	static const int locks[] = { FS_APPEND_FL, FS_IMMUTABLE_FL };
	int fd = make("attributes", O_RDWR);
	int was = 0, now, end;

	told_of = "attributes";
	for (volatile int i = 0; i < 2; i++) {
		TELL(lseek(fd, 0, SEEK_END));
		TELL(write(fd, buf, 10000));
		TELL(write(fd, buf, 100));
		TELL(ioctl(fd, FS_IOC_GETFLAGS, &was));
		now = was | locks[i];
		TELL(ioctl(fd, FS_IOC_SETFLAGS, &now));
		TELL(pwrite(fd, "over", 4, 0));
		end = open("attributes", O_WRONLY | O_APPEND);
		TELL(write(end, "to the end", 10));
		close(end);
		state(fd);
		usleep(200000);		/* it would go home meanwhile */
		TELL(ioctl(fd, FS_IOC_SETFLAGS, &was));
	}
	close(fd);
}

struct new_attributes {			/* the kernel's file_attr */
	uint64_t flags;
	uint32_t other[4];
};

/* The same by a call that has a number only, of kernels that have it. */
static void
numbered(void)
{
	enum { GET = 468, SET = 469, SIZE = sizeof(struct new_attributes) };
	const char *name = "numbered";
	struct new_attributes was = { 0 }, now;
	int fd = make(name, O_RDWR);

	told_of = name;
	TELL(write(fd, buf, 10000));
	TELL(write(fd, buf, 100));
	TELL(syscall(GET, AT_FDCWD, name, &was, SIZE, 0));
	now = was;
	now.flags |= FS_XFLAG_IMMUTABLE;
	TELL(syscall(SET, AT_FDCWD, name, &now, SIZE, 0));
	TELL(fsync(fd));
	state(fd);
	close(fd);
	usleep(200000);
	TELL(open(name, O_WRONLY));
	TELL(syscall(SET, AT_FDCWD, name, &was, SIZE, 0));
}

/* A file without its name, where that is allowed. */
static void
handles(void)
{
	union {
		struct file_handle handle;
		char room[sizeof(struct file_handle) + MAX_HANDLE_SZ];
	} h = { .handle.handle_bytes = MAX_HANDLE_SZ };
	int fd = make("handles", O_RDWR), dir = open(".", O_RDONLY);
	int mount;
	volatile int again;

	told_of = "handles";
	TELL(write(fd, buf, 10000));
	TELL(name_to_handle_at(AT_FDCWD, "handles", &h.handle, &mount, 0));
	again = open_by_handle_at(dir, &h.handle, O_RDWR);
	TELL(lseek(again, 0, SEEK_END));
	TELL(write(again, buf, 100));
	state(fd);
	close(again);
	again = open_by_handle_at(dir, &h.handle, O_RDONLY | O_TRUNC);
	state(fd);
	close(again);
	TELL(write(fd, buf, 5000));
	again = (int)syscall(SYS_open_by_handle_at, dir, &h.handle,
			     O_RDWR | O_APPEND);
	TELL(write(again, buf, 100));
	state(fd);
	close(again);
	close(dir);
	close(fd);
}

int
main(int argc, char **argv)
{
	static const struct { const char *name; void (*run)(void); } all[] = {
		{ "holes", holes }, { "allocation", allocation },
		{ "flags", flags }, { "vectors", vectors },
		{ "counts", counts }, { "limits", limits },
		{ "descriptors", descriptors }, { "attributes", attributes },
		{ "handles", handles }, { "numbered", numbered },
	};

	told_begin();
	memset(buf, 'a', sizeof(buf));
	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
		if (argc < 2 || strcmp(argv[1], all[i].name) == 0)
			all[i].run();
	return 0;
}
