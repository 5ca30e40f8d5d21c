/* SPDX-License-Identifier: BSD-3-Clause */
/* unit-io.c -- io_uring and threads move the same bytes and tell the same */

/*
 * usage: unit-io [WAY]
 *
 * Everything runs by both ways, each once more with writes that come back
 * short, and by rings that have too few entries. WAY is what the way that is tried first must turn out to be.
 */

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "shm/util.h"
#include "tests/guarded.h"
#include "tiers/io-way.h"

enum { ROOM = 4 << 20, MOST = 300000 };

static struct spw_ring *ring;
static uint8_t *model, *back;
static int fd, direct;

static void
begin(bool threads, size_t at_once)
{
	static const char name[] = "unit-io.tmp";

	spw_io_at_once = at_once;
	CHECK(spw_ring_new(threads, &ring) == 0);
	fd = open(name, O_RDWR | O_CREAT | O_TRUNC, 0600);
	CHECK(fd >= 0);
	direct = open(name, O_RDWR | O_DIRECT);
	CHECK(unlink(name) == 0);
}

static void
end(void)
{
	spw_ring_free(ring);
	close(fd);
	if (direct >= 0)
		close(direct);
	spw_io_at_once = 1 << 30;
}

/* One request by itself. */
static int
only(enum spw_io_kind kind, int file, void *buf, size_t len, uint64_t off,
     bool then_sync)
{
	struct spw_io io = {
		.kind = kind,
		.fd = file,
		.buf = buf,
		.len = len,
		.off = off,
		.then_sync = then_sync,
	};
	int r = spw_ring_submit(ring, &io);

	if (r < 0)
		return r;
	CHECK(spw_ring_reap(ring, true) == &io);
	CHECK(!spw_ring_reap(ring, true));
	return io.err;
}

/* Many at once, of any size, in any order; then all of it read again. */
static void
test_many(void)
{
	static struct spw_io ios[SPW_RING_DEPTH + 1];
	uint64_t seed = 5, off = 0;
	unsigned n = 0, i;
	struct spw_io *io;

	while (off < ROOM - MOST) {
		for (n = 0; n < SPW_RING_DEPTH && off < ROOM - MOST; n++) {
			size_t len = 1 + draw(&seed) %
				     (draw(&seed) % 4 ? 5000 : MOST);

			ios[n] = (struct spw_io) {
				.kind = SPW_IO_WRITE,
				.fd = fd,
				.buf = model + off,
				.len = len,
				.off = off,
				.then_sync = n % 8 == 0,
				.user = &ios[n],
			};
			CHECK(spw_ring_submit(ring, &ios[n]) == 0);
			off += len;
		}
		if (n == SPW_RING_DEPTH) {
			ios[n] = (struct spw_io) {
				.kind = SPW_IO_FDATASYNC, .fd = fd,
			};
			CHECK(spw_ring_submit(ring, &ios[n]) == -EAGAIN);
		}
		for (i = 0; i < n; i++) {
			io = spw_ring_reap(ring, true);
			CHECK(io && io->user == io && io->err == 0);
			io->user = NULL;
		}
		CHECK(!spw_ring_reap(ring, true));
	}
	memset(back, 0, ROOM);
	CHECK(only(SPW_IO_READ, fd, back, off, 0, false) == 0);
	CHECK(!memcmp(back, model, off));
	CHECK(only(SPW_IO_READ, fd, back, off, 1, false) == -ENODATA);
	CHECK(only(SPW_IO_READ, fd, back, 1, off, false) == -ENODATA);
	CHECK(only(SPW_IO_FDATASYNC, fd, NULL, 0, 0, false) == 0);
}

/* More end at once than there is room for completions. */
static void
test_overflow(void)
{
	static struct spw_io ios[SPW_RING_DEPTH];
	struct spw_io *io;
	unsigned i, round;
	int in[2];

	CHECK(pipe(in) == 0);
	for (round = 0; round < 20; round++) {
		memset(back, 0, SPW_RING_DEPTH);
		for (i = 0; i < SPW_RING_DEPTH; i++) {
			ios[i] = (struct spw_io) {
				.kind = SPW_IO_READ, .fd = in[0],
				.buf = back + i, .len = 1, .user = &ios[i],
			};
			CHECK(spw_ring_submit(ring, &ios[i]) == 0);
		}
		memset(back + ROOM, 'x', SPW_RING_DEPTH);
		CHECK(write(in[1], back + ROOM, SPW_RING_DEPTH) ==
		      SPW_RING_DEPTH);
		for (i = 0; i < SPW_RING_DEPTH; i++) {
			io = spw_ring_reap(ring, true);
			CHECK(io && io->user == io && io->err == 0);
			CHECK(*(uint8_t *)io->buf == 'x');
			io->user = NULL;
		}
		CHECK(!spw_ring_reap(ring, false));
	}
	close(in[0]);
	close(in[1]);
}

static void
test_errors(void)
{
	int in[2], null = open("/dev/null", O_RDONLY);

	CHECK(pipe(in) == 0 && null >= 0);
	CHECK(only(SPW_IO_WRITE, -1, model, 10, 0, true) == -EBADF);
	CHECK(only(SPW_IO_READ, -1, model, 10, 0, false) == -EBADF);
	CHECK(only(SPW_IO_WRITE, null, model, 10, 0, true) == -EBADF);
	CHECK(only(SPW_IO_FDATASYNC, in[1], NULL, 0, 0, false) == -EINVAL);
	CHECK(only(SPW_IO_READ, null, back, 10, 0, false) == -ENODATA);
	CHECK(only(SPW_IO_WRITE, fd, model, 0, 0, false) == -EINVAL);
	CHECK(only(SPW_IO_READ, fd, (void *)64, 10, 0, false) < 0);
	close(in[0]);
	close(in[1]);
	close(null);
}

static void
limit_files(rlim_t n)
{
	struct rlimit limit;

	CHECK(getrlimit(RLIMIT_FSIZE, &limit) == 0);
	limit.rlim_cur = SPW_MIN(n, limit.rlim_max);
	CHECK(setrlimit(RLIMIT_FSIZE, &limit) == 0);
}

/* The kernel takes the bytes up to the limit, and then none. */
static void
test_limit(void)
{
	CHECK(ftruncate(fd, 0) == 0);
	limit_files(6000);
	CHECK(only(SPW_IO_WRITE, fd, model, 8192, 0, true) == -EFBIG);
	CHECK(only(SPW_IO_WRITE, fd, model, 6000, 0, true) == 0);
	limit_files(RLIM_INFINITY);
	CHECK(lseek(fd, 0, SEEK_END) == 6000);
	CHECK(pread(fd, back, 6000, 0) == 6000);
	CHECK(!memcmp(back, model, 6000));
}

/* A short write that the kernel makes, with a sync linked to it; the rest is
 * asked for when we reap. */
static void
test_cut_link(void)
{
	struct spw_io io = {
		.kind = SPW_IO_WRITE,
		.fd = fd,
		.buf = model,
		.len = 8192,
		.then_sync = true,
	};

	CHECK(ftruncate(fd, 0) == 0);
	limit_files(6000);
	CHECK(spw_ring_submit(ring, &io) == 0);
	while (lseek(fd, 0, SEEK_END) < 6000)
		usleep(1000);
	usleep(20000);
	limit_files(RLIM_INFINITY);
	CHECK(spw_ring_reap(ring, true) == &io && io.err == 0);
	CHECK(pread(fd, back, 10000, 0) == 8192);
	CHECK(!memcmp(back, model, 8192));
}

/* Buffers of the ring's own; straight to the disk, where that goes. */
static void
test_buffers(void)
{
	void *buf[SPW_IO_BUFFERS];
	int file = direct >= 0 ? direct : fd;
	size_t size, i;

	for (i = 0; i < SPW_IO_BUFFERS; i++) {
		buf[i] = spw_ring_buffer(ring, &size);
		CHECK(buf[i] && (uintptr_t)buf[i] % 4096 == 0);
		CHECK(size == SPW_IO_BUFFER);
		memcpy(buf[i], model + i * 7, size);
	}
	CHECK(!spw_ring_buffer(ring, &size));
	for (i = 0; i < SPW_IO_BUFFERS; i++)
		CHECK(only(SPW_IO_WRITE, file, buf[i], SPW_IO_BUFFER,
			   i * SPW_IO_BUFFER, i == 2) == 0);
	memset(buf[3], 0, SPW_IO_BUFFER);
	CHECK(only(SPW_IO_READ, file, (char *)buf[3] + 4096, 65536,
		   SPW_IO_BUFFER + 8192, false) == 0);
	CHECK(!memcmp((char *)buf[3] + 4096, model + 7 + 8192, 65536));
	for (i = 0; i < SPW_IO_BUFFERS; i++)
		spw_ring_give(ring, buf[i]);
	CHECK(spw_ring_buffer(ring, &size) == buf[0]);
	spw_ring_give(ring, buf[0]);
}

/* A child of the program knows nothing of the ring, and does it no harm. */
static void *
call_late(void *arg)
{
	usleep(20000);
	spw_ring_call(arg);
	return NULL;
}

/* Who waits comes back for a call, made before or meanwhile, and for what is
 * over; a call is no answer to who wants a request to end. */
static void
test_calls(void)
{
	struct spw_io io = {
		.kind = SPW_IO_WRITE, .fd = fd, .buf = model, .len = 4096,
	}, *over;
	pthread_t caller;
	int i;

	for (i = 0; i < 3; i++) {
		CHECK(!pthread_create(&caller, NULL, call_late, ring));
		CHECK(!spw_ring_wait(ring));
		CHECK(!pthread_join(caller, NULL));
	}
	spw_ring_call(ring);
	CHECK(!spw_ring_wait(ring));
	for (i = 0; i < 3; i++) {
		CHECK(spw_ring_submit(ring, &io) == 0);
		spw_ring_call(ring);
		do
			over = spw_ring_wait(ring);
		while (!over);
		CHECK(over == &io && !io.err);
		CHECK(spw_ring_submit(ring, &io) == 0);
		spw_ring_call(ring);
		CHECK(spw_ring_reap(ring, true) == &io && !io.err);
	}
}

static void
test_fork(void)
{
	struct spw_io io = {
		.kind = SPW_IO_WRITE,
		.fd = fd,
		.buf = model,
		.len = 100000,
	};
	int status;
	pid_t pid;

	CHECK(spw_ring_submit(ring, &io) == 0);
	pid = fork();
	CHECK(pid >= 0);
	if (pid == 0)
		_exit(0);
	CHECK(waitpid(pid, &status, 0) == pid && status == 0);
	CHECK(spw_ring_reap(ring, true) == &io && io.err == 0);
	CHECK(only(SPW_IO_READ, fd, back, 100000, 0, false) == 0);
	CHECK(!memcmp(back, model, 100000));
}

/* What is under way when the ring goes is finished first. */
static void
test_leave(void)
{
	static struct spw_io ios[SPW_RING_DEPTH];
	unsigned i;

	CHECK(ftruncate(fd, 0) == 0);
	for (i = 0; i < SPW_RING_DEPTH; i++) {
		ios[i] = (struct spw_io) {
			.kind = SPW_IO_WRITE,
			.fd = fd,
			.buf = model + (size_t)i * 50000,
			.len = 50000,
			.off = (size_t)i * 50000,
			.then_sync = i % 2,
		};
		CHECK(spw_ring_submit(ring, &ios[i]) == 0);
	}
	spw_ring_free(ring);
	ring = NULL;
	CHECK(pread(fd, back, ROOM, 0) == 50000 * SPW_RING_DEPTH);
	CHECK(!memcmp(back, model, 50000 * SPW_RING_DEPTH));
}

static int
read_status(const char *task, const char *key, char *ret_value, size_t room)
{
	char path[300], line[256];
	size_t n = strlen(key);
	FILE *f;
	int found = 0;

	(void)snprintf(path, sizeof(path), "/proc/self/task/%s/status", task);
	f = fopen(path, "r");
	while (f && !found && fgets(line, sizeof(line), f))
		if (!strncmp(line, key, n)) {
			(void)snprintf(ret_value, room, "%s", line + n);
			found = 1;
		}
	if (f)
		fclose(f);
	return found;
}

/* Threads of ours have a name and leave signals to the program. Returns how
 * many have it. */
static unsigned
look_at_threads(void)
{
	unsigned ours = 0;
	struct dirent *e;
	char text[256];
	DIR *d = opendir("/proc/self/task");

	CHECK(d);
	while ((e = readdir(d))) {
		if (!read_status(e->d_name, "Name:\t", text, sizeof(text)) ||
		    strcmp(text, "spw-io\n"))
			continue;
		if (!read_status(e->d_name, "SigBlk:\t", text, sizeof(text)))
			continue;	/* one that has just ended */
		/* All but those that cannot be, and two of the C library's. */
		CHECK((strtoull(text, NULL, 16) | 0x180040100) ==
		      0xffffffffffffffff);
		ours++;
	}
	closedir(d);
	return ours;
}

/* They take their name themselves, and are seen until the kernel has done
 * with them. */
static void
test_threads(void)
{
	for (int i = 0; i < 1000 && look_at_threads() != 4; i++)
		usleep(10000);
	CHECK(look_at_threads() == 4);
}

static void
run(bool threads, size_t at_once)
{
	begin(threads, at_once);
	printf("%s, %zu bytes at once\n", spw_ring_way(ring), at_once);
	fflush(stdout);
	test_many();
	test_errors();
	test_limit();
	if (strcmp(spw_ring_way(ring), "io_uring"))
		test_threads();
	else
		test_overflow();
	if (!strcmp(spw_ring_way(ring), "io_uring") && at_once > 8192)
		test_cut_link();
	test_buffers();
	test_calls();
	test_fork();
	test_leave();
	end();
}

int
main(int argc, char **argv)
{
	const uint64_t start = 11;
	uint64_t seed = start;
	sigset_t limit;
	size_t i;

	sigemptyset(&limit);
	sigaddset(&limit, SIGXFSZ);
	CHECK(sigprocmask(SIG_BLOCK, &limit, NULL) == 0);
	model = malloc(2 * ROOM);
	back = malloc(2 * ROOM);
	CHECK(model && back);
	for (i = 0; i < 2 * ROOM; i++)
		model[i] = (uint8_t)draw(&seed);
	if (argc > 1) {
		CHECK(spw_ring_new(false, &ring) == 0);
		CHECK(!strcmp(spw_ring_way(ring), argv[1]));
		spw_ring_free(ring);
	}
	for (i = 0; i < 2; i++) {
		run(i, 1 << 30);
		run(i, 4096);
	}
	spw_io_entries = spw_io_completions = 4;
	run(false, 1 << 30);
	run(false, 4096);
	free(model);
	free(back);
	return 0;
}
