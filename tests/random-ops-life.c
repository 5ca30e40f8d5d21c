/* SPDX-License-Identifier: BSD-3-Clause */
/* random-ops-life.c -- descriptors, names and processes come and go */
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/random-ops.h"

extern char **environ;

RO_OP(reopen)
{
	static const int flags[] = {
		O_RDWR, O_RDONLY, O_WRONLY, O_RDWR | O_APPEND,
		O_WRONLY | O_APPEND, O_RDWR | O_CREAT, O_RDWR | O_NOFOLLOW,
		O_RDONLY | O_NOATIME,
	};
	uint32_t file = ro_file(op->r[3]);
	struct ro_slot *slot = &run->slot[op->r[0] % RO_SLOTS];

	if (run->s->file[file].nameless)
		return;
	if (slot->fd >= 0)
		ro_close(slot);
	(void)ro_open(file, flags[op->r[1] % (sizeof(flags) /
					      sizeof(*flags))]);
}

RO_OP(dup)
{
	struct ro_slot *from = &run->slot[op->r[0] % RO_SLOTS];
	struct ro_slot *to = ro_free_slot();

	if (from->fd < 0)
		return;
	if (!to) {			/* onto a descriptor that is open */
		to = &run->slot[op->r[1] % RO_SLOTS];
		if (to == from || to->desc == from->desc)
			return;
		RO_CHECK(dup3(from->fd, to->fd, O_CLOEXEC) == to->fd, "dup3");
		if (to->desc >= run->desc_lo) {
			run->desc_used[to->desc] = false;
			for (uint32_t i = 0; i < RO_SLOTS; i++)
				if (&run->slot[i] != to &&
				    run->slot[i].fd >= 0 &&
				    run->slot[i].desc == to->desc)
					run->desc_used[to->desc] = true;
		}
	} else {
		to->fd = op->r[1] % 2 ? dup(from->fd)
				      : fcntl(from->fd, F_DUPFD_CLOEXEC, 3);
		RO_CHECK(to->fd >= 0, "dup");
		RO_CHECK(fcntl(to->fd, F_SETFD, FD_CLOEXEC) == 0, "fcntl");
	}
	to->file = from->file;
	to->desc = from->desc;
}

RO_OP(close)
{
	struct ro_slot *slot = &run->slot[op->r[0] % RO_SLOTS];

	/* The only descriptor of a file without a name stays. */
	if (slot->fd >= 0 && !run->s->file[slot->file].nameless)
		ro_close(slot);
}

RO_OP(setfl)				/* O_APPEND on and off */
{
	struct ro_slot *slot = &run->slot[op->r[0] % RO_SLOTS];
	int flags;

	if (slot->fd < 0 || slot->desc < run->desc_lo)
		return;
	flags = fcntl(slot->fd, F_GETFL);
	RO_CHECK(flags >= 0, "F_GETFL");
	RO_CHECK(fcntl(slot->fd, F_SETFL, flags ^ O_APPEND) == 0, "F_SETFL");
	ro_desc(slot)->appends = !(flags & O_APPEND);
}

RO_OP(rename)
{
	struct ro_file *f = &run->s->file[ro_file(op->r[3])];
	char path[RO_PATH];

	if (f->nameless)
		return;
	RO_CHECK(rename(f->path, f->other) == 0, "rename");
	memcpy(path, f->path, RO_PATH);
	memcpy(f->path, f->other, RO_PATH);
	memcpy(f->other, path, RO_PATH);
}

RO_OP(link)			/* another name, and the first one gone */
{
	struct ro_file *f = &run->s->file[ro_file(op->r[3])];
	char path[RO_PATH];

	if (f->nameless)
		return;
	RO_CHECK(link(f->path, f->other) == 0, "link");
	RO_CHECK(unlink(f->path) == 0, "unlink");
	memcpy(path, f->path, RO_PATH);
	memcpy(f->path, f->other, RO_PATH);
	memcpy(f->other, path, RO_PATH);
}

static void
drop_held(void)
{
	if (ro_run.held)
		RO_CHECK(munmap(ro_run.held, ro_run.held_len) == 0, "munmap");
	ro_run.held = NULL;
}

static void
make_anew(uint32_t file)
{
	struct ro_file *f = &ro_run.s->file[file];
	struct ro_slot *slot;

	if (file == 0)
		drop_held();
	f->gen++;
	ro_close_all((int)file);
	f->nameless = false;
	ro_set_size(f, 0);
	slot = ro_open(file, O_RDWR | O_CREAT | O_EXCL);
	(void)slot;
}

/* From now on it is open only; the next call ends that. */
RO_OP(unlink)
{
	uint32_t file = ro_file(op->r[3]);
	struct ro_file *f = &run->s->file[file];

	if (f->nameless) {
		make_anew(file);
		return;
	}
	if (!ro_writer(file, 1) || !ro_reader(file, 0) ||
	    run->depth)			/* a child's would end with it */
		return;
	RO_CHECK(unlink(f->path) == 0, "unlink");
	f->nameless = true;
}

RO_OP(replace)				/* renamed over, as editors do */
{
	uint32_t file = ro_file(op->r[3]);
	struct ro_file *f = &run->s->file[file];
	int fd;

	if (f->nameless)
		return;
	if (file == 0)
		drop_held();
	fd = open(f->other, O_CREAT | O_EXCL | O_WRONLY, 0644);
	RO_CHECK(fd >= 0, f->other);
	f->gen++;
	ro_close_all((int)file);
	ro_set_size(f, 0);
	ro_put(f, 0, run->pool, 1 + op->r[1] % 5000);
	RO_CHECK(write(fd, run->pool, f->size) == (ssize_t)f->size, "write");
	if (op->r[0] % 2)
		RO_CHECK(close(fd) == 0, "close");
	RO_CHECK(rename(f->other, f->path) == 0, "rename");
	if (op->r[0] % 2 == 0)
		RO_CHECK(close(fd) == 0, "close");
	(void)ro_open(file, O_RDWR);
}

static void
await(pid_t pid, const char *what)
{
	int status;

	RO_CHECK(waitpid(pid, &status, 0) == pid, "waitpid");
	if (status)
		ro_fail("%s ended with status %#x", what, status);
}

RO_OP(fork)
{
	uint32_t n = 1 + (uint32_t)(op->r[1] % 12);
	pid_t pid;

	if (run->depth >= 2)
		return;
	fflush(NULL);
	pid = fork();
	RO_CHECK(pid >= 0, "fork");
	if (pid == 0) {
		/* What the parent goes on with is not taken anew. */
		run->depth++;
		run->desc_lo = run->desc_hi;
		run->desc_hi += RO_LEVEL;
		ro_some(op->r[2], n);
		if (op->r[0] % 2)
			ro_close_all(-1);
		_exit(0);
	}
	await(pid, "a child");
	ro_forget_gone();
	ro_verify(0);
}

/* Arguments for an image that compares what it reads with the model. */
static char **
peek_args(const char *name, const struct ro_file *f, uint64_t pos)
{
	static char size[24], place[24], digest[40];
	static char *argv[8];
	uint64_t n = f->size < ro_run.room ? f->size : ro_run.room;

	n = ro_run.sparse ? ro_readable(f, 0, ro_rest(0)) : n;
	snprintf(size, sizeof(size), "%llu", (unsigned long long)f->size);
	snprintf(place, sizeof(place), "%llu", (unsigned long long)pos);
	snprintf(digest, sizeof(digest), "%llu:%016llx",
		 (unsigned long long)n,
		 (unsigned long long)ro_digest(f->bytes, n, 1));
	argv[0] = (char *)ro_run.self;
	argv[1] = "--peek";
	argv[2] = (char *)name;
	argv[3] = size;
	argv[4] = place;
	argv[5] = digest;
	argv[6] = NULL;
	return argv;
}

RO_OP(exec_path)
{
	struct ro_file *f = &run->s->file[ro_file(op->r[3])];
	char **argv = peek_args(f->path, f, 0);
	pid_t pid;

	if (f->nameless || run->sized)
		return;
	pid = fork();
	RO_CHECK(pid >= 0, "fork");
	if (pid == 0) {
		execv(run->self, argv);
		_exit(99);
	}
	await(pid, "the image");
}

RO_OP(spawn)
{
	struct ro_file *f = &run->s->file[ro_file(op->r[3])];
	pid_t pid;
	int r;

	if (f->nameless || run->sized)
		return;
	r = posix_spawn(&pid, run->self, NULL, NULL,
			peek_args(f->path, f, 0), environ);
	if (r)
		ro_fail("posix_spawn: %s", strerror(r));
	await(pid, "the image");
}

/* A descriptor goes along, at its position. */
RO_OP(exec_fd)
{
	uint32_t file = ro_file(op->r[3]);
	struct ro_file *f = &run->s->file[file];
	struct ro_slot *slot = ro_reader(file, op->r[0]);
	char name[16];
	char **argv;
	pid_t pid;

	if (!slot || run->sized)
		return;
	snprintf(name, sizeof(name), "fd:%d", slot->fd);
	argv = peek_args(name, f, ro_desc(slot)->pos);
	pid = fork();
	RO_CHECK(pid >= 0, "fork");
	if (pid == 0) {
		RO_CHECK(fcntl(slot->fd, F_SETFD, 0) == 0, "fcntl");
		execv(run->self, argv);
		_exit(99);
	}
	await(pid, "the image");
	ro_verify(file);
}

/* An image that knows nothing of any preloaded library. */
RO_OP(bare)
{
	static char *none[] = { NULL };
	struct ro_file *f = &run->s->file[ro_file(op->r[3])];
	char **argv = peek_args(f->path, f, 0);
	pid_t pid;

	if (f->nameless || run->sized)
		return;
	pid = fork();
	RO_CHECK(pid >= 0, "fork");
	if (pid == 0) {
		execve(run->self, argv, none);
		_exit(99);
	}
	await(pid, "the bare image");
}

static int
complain(const char *what, long long is, const char *should)
{
	fprintf(stderr, "another image finds %s %lld, expected %s\n", what, is,
		should);
	return 1;
}

int
ro_peek(int argc, char **argv)
{
	uint64_t n, digest, h = 1;
	static char buf[1 << 16];
	int fd, status = 0;
	char *end;
	off_t pos;

	if (argc != 6)
		return 98;
	fd = strncmp(argv[2], "fd:", 3) == 0 ? atoi(argv[2] + 3)
					     : open(argv[2], O_RDONLY);
	if (fd < 0)
		return complain("the open of errno", errno, "success");
	n = strtoull(argv[5], &end, 10);
	digest = strtoull(end + 1, NULL, 16);
	pos = lseek(fd, 0, SEEK_CUR);
	if (pos != (off_t)strtoull(argv[4], NULL, 10))
		status = complain("position", pos, argv[4]);
	pos = lseek(fd, 0, SEEK_END);
	if (pos != (off_t)strtoull(argv[3], NULL, 10))
		status = complain("size", pos, argv[3]);
	lseek(fd, (off_t)strtoull(argv[4], NULL, 10), SEEK_SET);
	for (uint64_t done = 0; done < n;) {
		size_t want = n - done < sizeof(buf) ? n - done : sizeof(buf);
		ssize_t r = pread(fd, buf, want, (off_t)done);

		if (r != (ssize_t)want)
			return complain("a read of", r, "all");
		h = ro_digest(buf, want, h);
		done += want;
	}
	return h == digest ? status : complain("digest", (long long)h,
					       argv[5]);
}
