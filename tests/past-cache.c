/* SPDX-License-Identifier: BSD-3-Clause */
/* past-cache.c -- files reached past read and write, in the program's way */

/*
 * usage: past-cache BEHAVIOUR
 *
 * Each works on a file named as itself whose bytes may not be home yet. 77:
 * this system has no such thing.
 */
#include <aio.h>
#include <fcntl.h>
#include <linux/aio_abi.h>
#include <linux/fs.h>
#include <linux/io_uring.h>
#include <linux/loop.h>
#include <linux/openat2.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "shm/sys.h"
#include "tests/told.h"

enum { SIZE = 100000, PAGE = 4096 };

static char buf[1 << 20];

static void
show(const char *name)
{
	int fd = open(name, O_RDONLY);
	ssize_t n = read(fd, buf, sizeof(buf));
	uint32_t sum = 1;

	for (ssize_t i = 0; i < n; i++)
		sum = sum * 31 + (unsigned char)buf[i];
	printf("%s: %zd bytes, sum %08x\n", name, n, sum);
	close(fd);
	memset(buf, 'b', sizeof(buf));
}

/* A file of SIZE bytes, none of which need be home. */
static int
make(const char *name, int flags)
{
	int fd = open(name, O_RDWR | O_CREAT | O_TRUNC | flags, 0644);

	for (int i = 0; i < SIZE; i++)
		buf[i] = (char)(i * 7 >> 3);
	if (fd < 0 || write(fd, buf, SIZE) != SIZE)
		told_die(name);
	return fd;
}

static void
map_shared(void)
{
	int fd = make("map-shared", 0);
	volatile int other;
	char *p = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	if (p == MAP_FAILED)
		told_die("mmap");
	TELL(memcmp(p, buf, SIZE));
	memcpy(p + 5000, "by mapping", 10);
	TELL(pread(fd, buf, 10, 5000));
	TELL(memcmp(buf, "by mapping", 10));
	TELL(pwrite(fd, "by writing", 10, 9000));
	TELL(memcmp(p + 9000, "by writing", 10));
	other = open("map-shared", O_RDWR);
	TELL(pwrite(other, "by another", 10, 13000));
	TELL(memcmp(p + 13000, "by another", 10));
	TELL(msync(p, SIZE, MS_SYNC));
	TELL(close(fd));
	TELL(close(other));
	memcpy(p + 17000, "after close", 11);
	other = open("map-shared", O_RDWR);
	TELL(pread(other, buf, 11, 17000));
	TELL(memcmp(buf, "after close", 11));
	TELL(pwrite(other, "written", 7, 21000));
	TELL(memcmp(p + 21000, "written", 7));
	p = mremap(p, SIZE, 2 * SIZE, MREMAP_MAYMOVE);
	TELL(ftruncate(other, 2 * SIZE));
	p[SIZE + 1] = 'x';
	TELL(munmap(p, 2 * SIZE));
	TELL(close(other));
	show("map-shared");
}

static void
map_private(void)
{
	int fd = make("map-private", 0);
	char *p = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);

	if (p == MAP_FAILED)
		told_die("mmap");
	TELL(memcmp(p, buf, SIZE));
	TELL(pwrite(fd, "changed", 7, 50000));
	TELL(memcmp(p + 50000, "changed", 7));
	memcpy(p, "mine alone", 10);
	TELL(pread(fd, buf, 10, 0));
	TELL(memcmp(buf, "mine alone", 10) != 0);
	TELL(close(fd));
	TELL(memcmp(p, "mine alone", 10));
	TELL(munmap(p, SIZE));
	show("map-private");
}

static void
direct(void)
{
	char *page;
	int fd, other = make("direct", 0);

	if (posix_memalign((void **)&page, PAGE, 16 * PAGE))
		told_die("posix_memalign");
	fd = open("direct", O_RDWR | O_DIRECT);
	if (fd < 0) {
		TELL(open("direct", O_RDWR | O_DIRECT));
		return;
	}
	TELL(pread(fd, page, 16 * PAGE, 0));
	TELL(memcmp(page, buf, 16 * PAGE));
	memset(page, 'd', PAGE);
	TELL(pwrite(fd, page, PAGE, 2 * PAGE));
	TELL(pwrite(other, "other", 5, 3 * PAGE));
	TELL(pread(other, buf, 1, 2 * PAGE));
	TELL(buf[0]);
	TELL(pread(fd, page, PAGE, 3 * PAGE));
	TELL(memcmp(page, "other", 5));
	TELL(close(fd));
	TELL(pwrite(other, "later", 5, 10 * PAGE));
	TELL(fcntl(other, F_SETFL, O_DIRECT));
	TELL(pread(other, page, PAGE, 10 * PAGE));
	TELL(memcmp(page, "later", 5));
	TELL(close(other));
	free(page);
	show("direct");
}

static void
nameless(void)
{
	char path[64];
	int fd = open(".", O_TMPFILE | O_RDWR, 0644);
	volatile int other;

	if (fd < 0) {
		TELL(open(".", O_TMPFILE | O_RDWR, 0644));
		return;
	}
	TELL(write(fd, buf, SIZE));
	TELL(pwrite(fd, "in it", 5, 70000));
	TELL(lseek(fd, 0, SEEK_CUR));
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	other = open(path, O_RDONLY);
	TELL(pread(other, buf, 5, 70000));
	TELL(memcmp(buf, "in it", 5));
	TELL(close(other));
	TELL(linkat(AT_FDCWD, path, AT_FDCWD, "nameless",
		    AT_SYMLINK_FOLLOW));
	TELL(write(fd, "more", 4));
	other = open("nameless", O_RDWR);
	TELL(lseek(other, 0, SEEK_END));
	TELL(write(fd, "and more", 8));
	TELL(lseek(other, 0, SEEK_END));
	TELL(pwrite(other, "by name", 7, 10));
	TELL(pread(fd, buf, 7, 10));
	TELL(memcmp(buf, "by name", 7));
	TELL(close(fd));
	TELL(close(other));
	show("nameless");
}

/* A file without a name that had one, opened once more. */
static void
unnamed(void)
{
	int fd = make("unnamed", 0), again;
	char path[64];

	if (unlink("unnamed") < 0)
		told_die("unlink");
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	again = open(path, O_RDWR);
	TELL(lseek(again, 0, SEEK_END));
	TELL(pwrite(again, "through proc", 12, 70000));
	TELL(pread(fd, buf, 12, 70000));
	TELL(memcmp(buf, "through proc", 12));
	TELL(close(fd));
	TELL(pread(again, buf, 12, 70000));
	TELL(memcmp(buf, "through proc", 12));
	TELL(close(again));
}

static void
path_only(void)
{
	int fd = make("path-only", 0), dir = open(".", O_PATH);
	volatile int again;
	int path = open("path-only", O_PATH);
	char name[64];
	struct stat st;

	TELL(read(path, buf, 1));
	TELL(write(path, buf, 1));
	TELL(lseek(path, 0, SEEK_SET));
	TELL(fstat(path, &st) ? -1 : st.st_size);
	TELL(fstatat(dir, "path-only", &st, 0) ? -1 : st.st_size);
	snprintf(name, sizeof(name), "/proc/self/fd/%d", path);
	again = open(name, O_RDWR);
	TELL(pread(again, buf, 10, SIZE - 5));
	TELL(pwrite(again, "by path", 7, 400));
	TELL(pread(fd, buf, 7, 400));
	TELL(memcmp(buf, "by path", 7));
	TELL(close(again));
	TELL(close(path));
	again = openat(dir, "path-only", O_RDWR | O_APPEND);
	TELL(write(again, "at the end", 10));
	TELL(close(again));
	TELL(close(dir));
	TELL(close(fd));
	show("path-only");
}

static void
synchronous(void)
{
	int fd = make("synchronous", 0);
	int each = open("synchronous", O_WRONLY | O_SYNC);

	TELL(pwrite(each, "sync", 4, 1000));
	TELL(pread(fd, buf, 4, 1000));
	TELL(memcmp(buf, "sync", 4));
	TELL(close(each));
	each = open("synchronous", O_RDWR | O_DSYNC | O_APPEND);
	TELL(write(each, "dsync", 5));
	TELL(lseek(each, 0, SEEK_CUR));
	TELL(close(each));
	TELL(close(fd));
	show("synchronous");
}

static void
sending(void)
{
	int in = make("sending-from", 0), out = make("sending", 0), pair[2];
	off_t at = 1000;

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) < 0)
		told_die("socketpair");
	TELL(lseek(in, 500, SEEK_SET));
	TELL(sendfile(pair[0], in, NULL, 3000));
	TELL(lseek(in, 0, SEEK_CUR));
	TELL(sendfile(pair[0], in, &at, 2000));
	TELL(at);
	TELL(read(pair[1], buf, 5000));
	TELL(lseek(out, 90000, SEEK_SET));
	TELL(sendfile(out, in, NULL, 40000));
	TELL(lseek(out, 0, SEEK_CUR));
	TELL(lseek(in, 0, SEEK_CUR));
	TELL(write(out, "after", 5));
	TELL(pwrite(in, "late", 4, 60000));
	TELL(sendfile(out, in, NULL, sizeof(buf)));
	TELL(close(in));
	TELL(close(out));
	show("sending");
	show("sending-from");
}

static void
splicing(void)
{
	int in = make("splicing-from", 0), out = make("splicing", 0), p[2];
	off64_t from = 2000, to = 99000;

	if (pipe(p) < 0)
		told_die("pipe");
	TELL(lseek(in, 100, SEEK_SET));
	TELL(splice(in, NULL, p[1], NULL, 5000, 0));
	TELL(lseek(in, 0, SEEK_CUR));
	TELL(splice(p[0], NULL, out, NULL, 5000, 0));
	TELL(lseek(out, 0, SEEK_CUR));
	TELL(splice(in, &from, p[1], NULL, 3000, 0));
	TELL(splice(p[0], NULL, out, &to, 3000, 0));
	TELL(from);
	TELL(to);
	TELL(write(out, "after", 5));
	TELL(close(in));
	TELL(close(out));
	show("splicing");
}

static void
copying(void)
{
	int in = make("copying-from", 0), out = make("copying", 0);
	off64_t from = 777, to = 55555;

	TELL(lseek(in, 20000, SEEK_SET));
	TELL(copy_file_range(in, NULL, out, NULL, 30000, 0));
	TELL(lseek(in, 0, SEEK_CUR));
	TELL(lseek(out, 0, SEEK_CUR));
	TELL(write(out, "between", 7));
	TELL(copy_file_range(in, &from, out, &to, 10000, 0));
	TELL(from);
	TELL(to);
	TELL(write(out, "again", 5));
	TELL(copy_file_range(in, NULL, out, NULL, sizeof(buf), 0));
	TELL(copy_file_range(in, NULL, out, NULL, sizeof(buf), 0));
	from = 0;
	to = 200000;
	TELL(copy_file_range(out, &from, out, &to, 50000, 0));
	TELL(close(in));
	TELL(close(out));
	show("copying");
}

/* What the kernel has of a file, asked past every library. */
static void
show_home(int fd)
{
	memset(buf, 0, SIZE);
	TELL(spw_sys_pread(fd, buf, 4, SIZE - 4));
	printf("home: %02x %02x\n", (unsigned char)buf[0],
	       (unsigned char)buf[3]);
}

/* Whether the file system can or not, the kernel is to look at the bytes. */
static void
sharing(void)
{
	struct {
		struct file_dedupe_range range;
		struct file_dedupe_range_info info;
	} same = { { .src_length = PAGE, .dest_count = 1 }, { 0 } };
	int from = make("sharing-from", 0), to = make("sharing", 0);

	same.info.dest_fd = to;
	TELL(ioctl(from, FIDEDUPERANGE, &same));
	show_home(from);
	show_home(to);
	TELL(pwrite(to, "later", 5, 100));
	TELL(ioctl(from, FIDEDUPERANGE, NULL));
	same.range.dest_count = UINT16_MAX;	/* more than there are */
	TELL(ioctl(from, FIDEDUPERANGE, &same));
	TELL(close(from));
	TELL(close(to));
	show("sharing");
}

/* A device made of a file; here of one that refuses. */
static void
device(void)
{
	int fd = make("device", 0), none = open("/dev/null", O_RDWR);
	struct loop_config config = { .fd = (uint32_t)fd };

	TELL(ioctl(none, LOOP_CONFIGURE, &config));
	show_home(fd);
	TELL(ioctl(none, LOOP_CONFIGURE, NULL));
	TELL(ioctl(none, LOOP_SET_FD, fd));
	TELL(close(none));
	TELL(close(fd));
	show("device");
}

static void
posix_aio(void)
{
	int fd = make("posix-aio", 0);
	struct aiocb w = { .aio_fildes = fd, .aio_buf = "asynchronous",
			   .aio_nbytes = 12, .aio_offset = 4090 };
	struct aiocb r = { .aio_fildes = fd, .aio_buf = buf,
			   .aio_nbytes = SIZE };
	struct aiocb s = { .aio_fildes = fd };
	const struct aiocb *one[1] = { &w };
	struct aiocb *list[2] = { &w, &r };

	TELL(aio_write(&w));
	while (aio_error(&w) == EINPROGRESS)
		aio_suspend(one, 1, NULL);
	TELL(aio_return(&w));
	TELL(pwrite(fd, "between", 7, 8000));
	memset(buf, 0, SIZE);
	TELL(aio_read(&r));
	one[0] = &r;
	while (aio_error(&r) == EINPROGRESS)
		aio_suspend(one, 1, NULL);
	TELL(aio_return(&r));
	TELL(memcmp(buf + 4090, "asynchronous", 12));
	TELL(memcmp(buf + 8000, "between", 7));
	TELL(aio_fsync(O_SYNC, &s));
	while (aio_error(&s) == EINPROGRESS)
		usleep(1000);
	TELL(aio_return(&s));
	w.aio_offset = 50000;
	w.aio_lio_opcode = LIO_WRITE;
	r.aio_lio_opcode = LIO_READ;
	r.aio_nbytes = 100;
	TELL(lio_listio(LIO_WAIT, list, 2, NULL));
	TELL(aio_return(&w));
	TELL(aio_return(&r));
	TELL(lseek(fd, 0, SEEK_CUR));
	TELL(write(fd, "end", 3));
	TELL(close(fd));
	show("posix-aio");
}

static void
kernel_aio(void)
{
	int fd = make("kernel-aio", 0);
	struct iocb w = { .aio_lio_opcode = IOCB_CMD_PWRITE,
			  .aio_fildes = (uint32_t)fd,
			  .aio_buf = (uintptr_t)"submitted",
			  .aio_nbytes = 9, .aio_offset = 4090 };
	struct iocb r = { .aio_lio_opcode = IOCB_CMD_PREAD,
			  .aio_fildes = (uint32_t)fd,
			  .aio_buf = (uintptr_t)buf, .aio_nbytes = SIZE };
	struct iocb *list[2] = { &w, &r };
	struct io_event events[2];
	aio_context_t context = 0;

	if (syscall(SYS_io_setup, 8, &context) < 0)
		exit(77);
	for (int i = 0; i < 2; i++) {
		if (syscall(SYS_io_submit, context, 1, &list[i]) != 1 ||
		    syscall(SYS_io_getevents, context, 1, 1, events,
			    NULL) != 1)
			told_die("io_submit");
		printf("kernel-aio: %lld\n", (long long)events[0].res);
	}
	TELL(memcmp(buf + 4090, "submitted", 9));
	TELL(lseek(fd, 0, SEEK_CUR));
	TELL(write(fd, "end", 3));
	syscall(SYS_io_destroy, context);
	TELL(close(fd));
	show("kernel-aio");
}

struct ring {
	int fd;
	char *sq, *cq;
	struct io_uring_sqe *sqes;
	struct io_uring_params p;
};

/* One request, and its result. */
static int
ring_do(struct ring *r, const struct io_uring_sqe *sqe)
{
	uint32_t *tail = (uint32_t *)(r->sq + r->p.sq_off.tail);
	uint32_t *head = (uint32_t *)(r->cq + r->p.cq_off.head);
	uint32_t mask = *(uint32_t *)(r->sq + r->p.sq_off.ring_mask);
	uint32_t cmask = *(uint32_t *)(r->cq + r->p.cq_off.ring_mask);
	struct io_uring_cqe *cqes =
		(struct io_uring_cqe *)(r->cq + r->p.cq_off.cqes);
	int res;

	r->sqes[*tail & mask] = *sqe;
	((uint32_t *)(r->sq + r->p.sq_off.array))[*tail & mask] = *tail & mask;
	__atomic_store_n(tail, *tail + 1, __ATOMIC_RELEASE);
	if (syscall(SYS_io_uring_enter, r->fd, 1, 1, IORING_ENTER_GETEVENTS,
		    NULL, 0) != 1)
		told_die("io_uring_enter");
	res = cqes[*head & cmask].res;
	__atomic_store_n(head, *head + 1, __ATOMIC_RELEASE);
	return res;
}

static void
io_uring(void)
{
	int fd = make("io-uring", 0), late;
	struct ring r = { 0 };
	struct io_uring_sqe w = { .opcode = IORING_OP_WRITE, .fd = fd,
				  .addr = (uintptr_t)"ring", .len = 4,
				  .off = 4094 };
	struct io_uring_sqe g = { .opcode = IORING_OP_READ, .fd = fd,
				  .addr = (uintptr_t)buf, .len = SIZE };

	r.fd = (int)syscall(SYS_io_uring_setup, 4, &r.p);
	if (r.fd < 0)
		exit(77);
	r.sq = mmap(NULL, r.p.sq_off.array + r.p.sq_entries * 4,
		    PROT_READ | PROT_WRITE, MAP_SHARED, r.fd,
		    IORING_OFF_SQ_RING);
	r.cq = mmap(NULL, r.p.cq_off.cqes + r.p.cq_entries *
		    sizeof(struct io_uring_cqe), PROT_READ | PROT_WRITE,
		    MAP_SHARED, r.fd, IORING_OFF_CQ_RING);
	r.sqes = mmap(NULL, r.p.sq_entries * sizeof(struct io_uring_sqe),
		      PROT_READ | PROT_WRITE, MAP_SHARED, r.fd,
		      IORING_OFF_SQES);
	TELL(ring_do(&r, &w));
	TELL(pwrite(fd, "between", 7, 9000));
	memset(buf, 0, SIZE);
	TELL(ring_do(&r, &g));
	TELL(memcmp(buf + 4094, "ring", 4));
	TELL(memcmp(buf + 9000, "between", 7));
	late = make("io-uring-late", 0);
	g.fd = late;
	TELL(ring_do(&r, &g));
	w.fd = late;
	TELL(ring_do(&r, &w));
	TELL(pread(late, buf, 4, 4094));
	TELL(memcmp(buf, "ring", 4));
	close(r.fd);
	TELL(close(late));
	TELL(close(fd));
	show("io-uring");
	show("io-uring-late");
}

/* System calls by number that touch files. */
static void
by_number(void)
{
	struct iovec v = { (char *)"vector", 6 };
	int fd = (int)syscall(SYS_openat, AT_FDCWD, "by-number",
			      O_RDWR | O_CREAT | O_TRUNC, 0644);
	struct stat st;
	volatile int copy;

	TELL(syscall(SYS_write, fd, buf, SIZE));
	TELL(syscall(SYS_writev, fd, &v, 1));
	TELL(syscall(SYS_pwritev, fd, &v, 1, 50l, 0l));
	TELL(syscall(SYS_pwritev2, fd, &v, 1, -1l, -1l, 0));
	TELL(syscall(SYS_lseek, fd, 0l, SEEK_CUR));
	TELL(syscall(SYS_fallocate, fd, 0, 0l, 150000l));
	TELL(syscall(SYS_fstat, fd, &st) ? -1 : st.st_size);
	TELL(syscall(SYS_ftruncate, fd, 120000l));
	TELL(syscall(SYS_newfstatat, AT_FDCWD, "by-number", &st, 0) ? -1
	     : st.st_size);
	TELL(syscall(SYS_lseek, fd, 0l, SEEK_SET));
	v = (struct iovec){ buf, 60 };
	TELL(syscall(SYS_readv, fd, &v, 1));
	TELL(memcmp(buf + 50, "vector", 6));
	TELL(syscall(SYS_preadv, fd, &v, 1, 100l, 0l));
	copy = (int)syscall(SYS_dup, fd);
	TELL(syscall(SYS_write, copy, "copied", 6));
#ifdef SYS_open
	TELL(syscall(SYS_dup2, fd, copy) == copy);
	TELL(syscall(SYS_write, copy, "again", 5));
	TELL(syscall(SYS_close, copy));
	copy = (int)syscall(SYS_open, "by-number", O_RDWR);
	TELL(syscall(SYS_pread64, copy, buf, 5, 66l));
	TELL(memcmp(buf, "again", 5));
	TELL(syscall(SYS_truncate, "by-number", 110000l));
#endif
	TELL(syscall(SYS_close, copy));
	TELL(syscall(SYS_fsync, fd));
	TELL(syscall(SYS_close, fd));
	show("by-number");
	copy = (int)syscall(SYS_openat2, AT_FDCWD, "by-number",
			    &(struct open_how){ O_RDWR | O_TRUNC, 0, 0 },
			    sizeof(struct open_how));
	TELL(syscall(SYS_write, copy, "new", 3));
	TELL(syscall(SYS_close, copy));
	show("by-number");
}

int
main(int argc, char **argv)
{
	static const struct { const char *name; void (*run)(void); } all[] = {
		{ "map-shared", map_shared }, { "map-private", map_private },
		{ "direct", direct }, { "nameless", nameless },
		{ "unnamed", unnamed }, { "path-only", path_only },
		{ "synchronous", synchronous }, { "sending", sending },
		{ "splicing", splicing }, { "copying", copying },
		{ "sharing", sharing }, { "device", device },
		{ "posix-aio", posix_aio },
		{ "kernel-aio", kernel_aio }, { "io-uring", io_uring },
		{ "by-number", by_number },
	};

	told_begin();
	memset(buf, 'b', sizeof(buf));
	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
		if (argc < 2 || strcmp(argv[1], all[i].name) == 0) {
			told_of = all[i].name;
			all[i].run();
		}
	return 0;
}
