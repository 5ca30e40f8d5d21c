/* SPDX-License-Identifier: BSD-3-Clause */
/* powercut-ranks.c -- ranks at work in a directory whose power will be cut
 *
 *	powercut-ranks SEED RANKS STEPS
 *
 * In the working directory, below the root of a recording mount. See
 * powercut-work.h.
 */

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "tests/powercut-work.h"

struct rank {
	struct work w;
	int fd[WORK_NAMES + 1];
	int dir;
};

_Noreturn static void
die(const char *what)
{
	fprintf(stderr, "powercut-ranks: %s: %s\n", what, strerror(errno));
	exit(1);
}

__attribute__((format(printf, 1, 2)))
static void
mark(const char *format, ...)
{
	char text[96] = "mark=";
	va_list args;

	va_start(args, format);
	vsnprintf(text + 5, sizeof(text) - 5, format, args);
	va_end(args);
	if (setxattr("..", "user.slowfs", text, strlen(text), 0) < 0)
		die(text);
}

static void
tell_made(const struct rank *r, unsigned file, int fd)
{
	struct stat st;

	if (fsync(r->dir) < 0 || fstat(fd, &st) < 0)
		die("directory");
	mark("c %u %u %llu", r->w.rank, file, (unsigned long long)st.st_ino);
}

static void
create(struct rank *r, const struct work_step *s)
{
	char name[32];

	work_name(&r->w, s->slot, name);
	r->fd[s->slot] = open(name, O_RDWR | O_CREAT | O_EXCL, 0644);
	if (r->fd[s->slot] < 0)
		die(name);
	tell_made(r, s->file, r->fd[s->slot]);
}

static void
put(struct rank *r, const struct work_step *s)
{
	static char buf[WORK_SIZE];
	uint64_t at = s->slot == WORK_SHARED ? work_part(r->w.rank) : 0;
	uint64_t i;

	for (i = 0; i < s->len; i++)
		buf[i] = (char)work_byte(r->w.rank, s->file, s->number,
					 s->off + i);
	if (pwrite(r->fd[s->slot], buf, s->len, (off_t)(at + s->off)) !=
	    (ssize_t)s->len)
		die("write");
}

static void
sync_it(struct rank *r, const struct work_step *s)
{
	int fd = r->fd[s->slot];

	if ((s->kind == WORK_FSYNC ? fsync(fd) : fdatasync(fd)) < 0)
		die("fsync");
	mark("s %u %u %u", r->w.rank, s->file, s->number);
}

/* To a name of its own, to that of another file, or to none. */
static void
change_name(struct rank *r, const struct work_step *s,
	    const struct work *before)
{
	char from[32], to[32];

	mark("n %u %u", r->w.rank, s->number);
	work_name(before, s->slot, from);
	work_name(&r->w, s->kind == WORK_REPLACE ? s->onto : s->slot, to);
	if (s->kind == WORK_REMOVE ? unlink(from) < 0 : rename(from, to) < 0)
		die(from);
	if (s->number % 2 && fsync(r->dir) < 0)
		die("directory");
	if (s->kind == WORK_RENAME)
		return;
	if (s->kind == WORK_REMOVE) {
		close(r->fd[s->slot]);
	} else {
		if (s->lost)
			close(r->fd[s->onto]);
		r->fd[s->onto] = r->fd[s->slot];
	}
	r->fd[s->slot] = -1;
}

/* By the kernel, at home. */
static void
punch(struct rank *r, const struct work_step *s)
{
	uint64_t at = s->slot == WORK_SHARED ? work_part(r->w.rank) : 0;

	if (fallocate(r->fd[s->slot], FALLOC_FL_PUNCH_HOLE |
		      FALLOC_FL_KEEP_SIZE, (off_t)(at + s->off),
		      (off_t)s->len) < 0)
		die("punch");
}

/* From now on the kernel serves it. */
static void
go_home(struct rank *r, const struct work_step *s)
{
	void *p = mmap(NULL, 4096, PROT_READ, MAP_SHARED, r->fd[s->slot], 0);

	if (p == MAP_FAILED)
		die("mmap");
	munmap(p, 4096);
}

static void
step(struct rank *r)
{
	struct work before = r->w;
	struct work_step s = work_next(&r->w);

	switch (s.kind) {
	case WORK_CREATE:
		create(r, &s);
		break;
	case WORK_WRITE:
		put(r, &s);
		break;
	case WORK_CUT:
		if (ftruncate(r->fd[s.slot], (off_t)s.len) < 0)
			die("truncate");
		break;
	case WORK_PUNCH:
		punch(r, &s);
		break;
	case WORK_FSYNC:
	case WORK_FDATASYNC:
		sync_it(r, &s);
		break;
	case WORK_HOME:
		go_home(r, &s);
		break;
	case WORK_REST:
		usleep(s.number % 3 * 4000);
		break;
	default:
		change_name(r, &s, &before);
	}
}

static int
work(uint64_t seed, unsigned number, unsigned steps)
{
	struct rank r = { .dir = open(".", O_RDONLY | O_DIRECTORY) };
	char name[32];

	work_begin(&r.w, seed, number);
	work_name(&r.w, WORK_SHARED, name);
	r.fd[WORK_SHARED] = open(name, O_RDWR | O_CREAT, 0644);
	if (r.dir < 0 || r.fd[WORK_SHARED] < 0)
		die(name);
	tell_made(&r, 0, r.fd[WORK_SHARED]);
	while (r.w.number < steps)
		step(&r);
	return 0;
}

int
main(int argc, char **argv)
{
	unsigned ranks, i;
	int status, bad = 0;

	if (argc != 4)
		return 2;
	ranks = (unsigned)atoi(argv[2]);
	for (i = 0; i < ranks; i++) {
		pid_t pid = fork();

		if (pid < 0)
			die("fork");
		if (pid == 0)
			return work(strtoull(argv[1], NULL, 10), i,
				    (unsigned)atoi(argv[3]));
	}
	while (wait(&status) > 0)
		bad |= status != 0;
	return bad;
}
