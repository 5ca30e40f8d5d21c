/* SPDX-License-Identifier: BSD-3-Clause */
/* tier-steps.c -- a program made of steps, which knows what it has written */

/*
 * usage: tier-steps STEP...
 *
 * A step is a word and what it needs, parted by colons. Numbers may end in K
 * or M. Files are in the current directory and stay open; what they ought to
 * hold is kept in memory. A read that returns anything else ends the program
 * with status 3; an error is printed and the next step follows.
 *
 *	write:FILE:SEED:FROM:LENGTH:PIECE	in pieces, one after the other;
 *						another number: this far apart
 *	mix:FILE:SEED:FROM:LENGTH:PIECE		the same in no order
 *	try:FILE:SEED:FROM:LENGTH		one write, which may fail
 *	check:FILE:FROM:LENGTH:PIECE		reads them
 *	repeat:N:FILE:FROM:LENGTH:PIECE		the same N times
 *	expect:FILE:SEED:FROM:LENGTH:PIECE	somebody else wrote that; so far
 *						apart, as above
 *	open:FILE				makes it, if need be
 *	fsync:FILE, close:FILE, unlink:FILE
 *	save:FILE:NAME				NAME is a plain copy
 *	set:MOUNT:KNOB=VALUE			of slowfs
 *	weigh[:WEIGHTS]				spillway_weigh_job; or of NULL
 *	sleep:MILLISECONDS
 *	call:NAME				tells NAME and waits for
 *						NAME.over to be there
 */
#include <fcntl.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "shm/spillway.h"
#include "tests/told.h"

enum { FILES = 8, WORDS = 8, TRIES = 50, LARGEST = 256 << 20 };

struct file {
	char *name;
	int fd;
	uint8_t *bytes;
	size_t size;
};

static struct file files[FILES];

static struct file *
file_of(const char *name)
{
	struct file *f = files;

	while (f->name && strcmp(f->name, name))
		f++;
	if (!f->name) {
		f->name = strdup(name);
		f->bytes = calloc(1, LARGEST);
		f->fd = -1;
	}
	if (f->fd < 0)
		f->fd = open(name, O_RDWR | O_CREAT, 0644);
	if (!f->name || !f->bytes || f->fd < 0)
		told_die(name);
	return f;
}

static size_t
number(const char *text)
{
	char *end;
	size_t n = strtoull(text, &end, 10);

	return *end == 'M' ? n << 20 : *end == 'K' ? n << 10 : n;
}

/* No two places and no two seeds have the same bytes: numbers of 8 bytes.
 * Seeds from 1000 on count, those from 2000 on are words out of 256. */
static uint8_t
byte_at(size_t seed, size_t at)
{
	uint64_t h = (at / 8 + 1) * 0x9e3779b97f4a7c15ull ^
		     (seed + 1) * 0xc2b2ae3d27d4eb4full;

	if (seed >= 1000 && seed < 2000)
		return (uint8_t)((at / 8 + seed) >> at % 8 * 8);
	h = (h ^ h >> 29) * 0xbf58476d1ce4e5b9ull;
	h ^= h >> 32;
	if (seed >= 2000)
		return at % 8 == 7 ? ' '
		       : (uint8_t)('a' + (h % 256 + 1) * (at % 8 + 1) % 23);
	return (uint8_t)(h >> at % 8 * 8);
}

static void
fill(struct file *f, size_t seed, size_t from, size_t to)
{
	for (size_t i = from; i < to; i++)
		f->bytes[i] = byte_at(seed, i);
	if (f->size < to)
		f->size = to;
}

/* What is written is known before it is: an error may have left some. */
static void
put(struct file *f, size_t seed, size_t from, size_t n)
{
	fill(f, seed, from, from + n);
	for (size_t done = 0, tries = 0; done < n;) {
		ssize_t r = pwrite(f->fd, f->bytes + from + done, n - done,
				   (off_t)(from + done));

		if (r >= 0) {
			done += (size_t)r;
			continue;
		}
		printf("write %s = %s\n", f->name, strerrorname_np(errno));
		if (++tries == TRIES)
			exit(4);
		usleep(100000);
	}
}

/* What could not be written is as it was. */
static void
try(struct file *f, size_t seed, size_t from, size_t n)
{
	uint8_t *old = malloc(n);
	size_t size = f->size;
	ssize_t r;

	memcpy(old, f->bytes + from, n);
	fill(f, seed, from, from + n);
	r = pwrite(f->fd, f->bytes + from, n, (off_t)from);
	printf("try %s = %s\n", f->name, r == (ssize_t)n ? "all" : r >= 0 ?
	       "some" : strerrorname_np(errno));
	if (r < 0)
		r = 0;
	memcpy(f->bytes + from + r, old + r, n - (size_t)r);
	if (r == 0)
		f->size = size;
	free(old);
}

static void
put_all(char **word, int in_order)
{
	struct file *f = file_of(word[1]);
	size_t from = number(word[3]), length = number(word[4]);
	size_t piece = number(word[5]);
	size_t step = word[6] ? number(word[6]) : piece, n = length / step;

	/* 389 is prime: it meets each of n pieces once, n being a power of
	 * two. */
	for (size_t i = 0; i < n; i++)
		put(f, number(word[2]), from + step *
		    (in_order ? i : i * 389 % n), piece);
}

static void
check(const char *name, char **word)
{
	static uint8_t buf[1 << 20];
	struct file *f = file_of(name);
	size_t from = number(word[0]), end = from + number(word[1]);
	size_t piece = number(word[2]), right = 0, failed = 0;
	int err = 0;

	for (size_t at = from; at < end; at += piece) {
		ssize_t r = pread(f->fd, buf, piece, (off_t)at);

		if (r < 0) {
			err = errno;
			failed++;
		} else if ((size_t)r != piece ||
			   memcmp(buf, f->bytes + at, piece)) {
			printf("check %s: wrong at %zu (%zd)\n", name, at, r);
			exit(3);
		} else {
			right++;
		}
	}
	if (failed)
		printf("check %s = %s\n", name, strerrorname_np(err));
	else
		printf("check %s = right\n", name);
	fprintf(stderr, "check %s: %zu right, %zu failed\n", name, right,
		failed);
}

static void
save(struct file *f, const char *name)
{
	int fd = open(name, O_WRONLY | O_CREAT | O_TRUNC, 0644);

	if (fd < 0 || write(fd, f->bytes, f->size) != (ssize_t)f->size ||
	    close(fd) < 0)
		told_die(name);
}

static void
call(const char *name)
{
	char over[256];
	struct stat st;
	int fd = open(name, O_WRONLY | O_CREAT, 0644);

	if (fd < 0 || close(fd) < 0)
		told_die(name);
	snprintf(over, sizeof(over), "%s.over", name);
	while (stat(over, &st) < 0)
		usleep(5000);
}

static void
expect(struct file *f, char **word)
{
	size_t from = number(word[3]), end = from + number(word[4]);
	size_t piece = number(word[5]);
	size_t step = word[6] ? number(word[6]) : piece;

	for (; from < end; from += step)
		fill(f, number(word[2]), from, from + piece);
}

static void
tell(const char *what, const char *name, int r)
{
	printf("%s %s = %s\n", what, name,
	       r < 0 ? strerrorname_np(errno) : "0");
}

static void
do_file_step(char **word)
{
	struct file *f = file_of(word[1]);

	if (!strcmp(*word, "open")) {
		return;
	} else if (!strcmp(*word, "fsync")) {
		tell("fsync", f->name, fsync(f->fd));
	} else if (!strcmp(*word, "close")) {
		tell("close", f->name, close(f->fd));
		f->fd = -1;
	} else if (!strcmp(*word, "unlink")) {
		tell("unlink", f->name, unlink(f->name));
	} else if (!strcmp(*word, "save")) {
		save(f, word[2]);
	} else if (!strcmp(*word, "try")) {
		try(f, number(word[2]), number(word[3]), number(word[4]));
	} else if (!strcmp(*word, "expect")) {
		expect(f, word);
	} else {
		fprintf(stderr, "%s is no step\n", *word);
		exit(2);
	}
}

static void
do_step(char **word)
{
	if (!strcmp(*word, "write") || !strcmp(*word, "mix")) {
		put_all(word, **word == 'w');
	} else if (!strcmp(*word, "check")) {
		check(word[1], word + 2);
	} else if (!strcmp(*word, "repeat")) {
		for (size_t i = 0; i < number(word[1]); i++)
			check(word[2], word + 3);
	} else if (!strcmp(*word, "set")) {
		if (setxattr(word[1], "user.slowfs", word[2],
			     strlen(word[2]), 0) < 0)
			told_die(word[2]);
	} else if (!strcmp(*word, "weigh")) {
		printf("weigh %s = %s\n", word[1] ? word[1] : "NULL",
		       !spillway_weigh_job ? "none"
		       : spillway_weigh_job(word[1]) == 0 ? "0"
		       : strerrorname_np(errno));
	} else if (!strcmp(*word, "sleep")) {
		usleep((useconds_t)number(word[1]) * 1000);
	} else if (!strcmp(*word, "call")) {
		call(word[1]);
	} else {
		do_file_step(word);
	}
}

int
main(int argc, char **argv)
{
	setvbuf(stdout, NULL, _IOLBF, 0);
	for (int i = 1; i < argc; i++) {
		char *word[WORDS] = { 0 }, *rest = argv[i];

		for (int n = 0; n < WORDS - 1 && rest; n++)
			word[n] = strsep(&rest, ":");
		do_step(word);
	}
	return 0;
}
