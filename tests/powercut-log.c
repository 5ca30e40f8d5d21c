/* SPDX-License-Identifier: BSD-3-Clause */
/* powercut-log.c -- keeps a log that must survive a power cut, and checks it */

/*
 * usage: powercut-log write FORM COUNT DIR
 *        powercut-log check FORM COUNT DIR
 *        powercut-log unsync RECORDING NEW
 *
 * `write` appends COUNT records in DIR, the root of a recording mount, and
 * sets a mark with its number after each that is synced. FORM says how; some
 * forget something. `check` wants the first COUNT records, whatever is after
 * them. `unsync` copies a recording without the syncs of files: some kernels
 * let one follow each durable write.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "tests/record.h"

#define ALIGNED 4096
#define ODD 3000		/* records cross pages and sectors */

struct form {
	const char *name;
	int flags;			/* of open */
	size_t size;			/* of a record */
	int (*put)(int fd, const char *buf, size_t size, off_t off);
	int (*sync)(int fd);
	bool forgets_name;
	bool is_files;			/* each record is a file of its own */
};

_Noreturn static void
die(const char *what)
{
	fprintf(stderr, "powercut-log: %s: %s\n", what, strerror(errno));
	exit(1);
}

static void
fill(char *buf, size_t size, unsigned long number)
{
	size_t i;

	for (i = 0; i < size; i++)
		buf[i] = (char)('a' + (number * 7 + i * 13 + i / 512) % 26);
	snprintf(buf, 24, "%lu", number);
}

static int
put(int fd, const char *buf, size_t size, off_t off)
{
	return pwrite(fd, buf, size, off) == (ssize_t)size ? 0 : -1;
}

static int
put_durable(int fd, const char *buf, size_t size, off_t off)
{
	struct iovec iov = { (char *)buf, size };

	return pwritev2(fd, &iov, 1, off, RWF_DSYNC) == (ssize_t)size ? 0 : -1;
}

/* Into room that was allocated before: the size changes much later. */
static int
put_allocated(int fd, const char *buf, size_t size, off_t off)
{
	if (off % (16 * (off_t)size) == 0 &&
	    fallocate(fd, FALLOC_FL_KEEP_SIZE, off, 16 * (off_t)size) < 0)
		return -1;
	return put(fd, buf, size, off);
}

static int
put_reserved(int fd, const char *buf, size_t size, off_t off)
{
	if (off == 0 && fallocate(fd, 0, 0, 1 << 20) < 0)
		return -1;
	return put(fd, buf, size, off);
}

/* Over a record of rubbish that is cut off, or punched out, first. */
static int
put_again(int fd, const char *buf, size_t size, off_t off)
{
	if (put(fd, buf + 1, size - 1, off) < 0 || ftruncate(fd, off) < 0)
		return -1;
	return put(fd, buf, size, off);
}

static int
put_punched(int fd, const char *buf, size_t size, off_t off)
{
	if (put(fd, buf + 1, size - 1, off) < 0 ||
	    fallocate(fd, FALLOC_FL_KEEP_SIZE | FALLOC_FL_PUNCH_HOLE, off,
		      (off_t)size) < 0)
		return -1;
	return put(fd, buf, size, off);
}

static int
put_mapped(int fd, const char *buf, size_t size, off_t off, int sync)
{
	size_t span = (size_t)(off % ALIGNED) + size;
	char *p;
	int r = 0;

	if (ftruncate(fd, off + (off_t)size) < 0)
		return -1;
	p = mmap(NULL, span, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
		 off - off % ALIGNED);
	if (p == MAP_FAILED)
		return -1;
	memcpy(p + off % ALIGNED, buf, size);
	if (sync)
		r = msync(p, span, MS_SYNC);
	munmap(p, span);
	return r;
}

static int
put_msync(int fd, const char *buf, size_t size, off_t off)
{
	return put_mapped(fd, buf, size, off, 1);
}

static int
put_unsynced(int fd, const char *buf, size_t size, off_t off)
{
	return put_mapped(fd, buf, size, off, 0);
}

static int
no_sync(int fd)
{
	(void)fd;
	return 0;
}

static int
sync_dir(int log)
{
	int fd = open(".", O_RDONLY | O_DIRECTORY), r;

	(void)log;
	r = fd < 0 ? -1 : fsync(fd);
	close(fd);
	return r;
}

static const char *
file_name(off_t off, size_t size)
{
	static char name[32];

	snprintf(name, sizeof(name), "%lld", (long long)off / (long long)size);
	return name;
}

/* Written by another name, and there at once. */
static int
put_file(const char *buf, size_t size, off_t off, int (*sync)(int fd))
{
	int fd = open("new", O_WRONLY | O_CREAT | O_TRUNC, 0644);

	if (fd < 0 || put(fd, buf, size, 0) < 0 || sync(fd) < 0 ||
	    close(fd) < 0)
		return -1;
	return rename("new", file_name(off, size));
}

static int
put_published(int fd, const char *buf, size_t size, off_t off)
{
	(void)fd;
	return put_file(buf, size, off, fsync);
}

static int
put_hurried(int fd, const char *buf, size_t size, off_t off)
{
	(void)fd;
	return put_file(buf, size, off, no_sync);
}

static const struct form forms[] = {
	{ "fsync", 0, ODD, put, fsync, false, false },
	{ "fdatasync", 0, ODD, put, fdatasync, false, false },
	{ "direct", O_DIRECT, ALIGNED, put, fdatasync, false, false },
	{ "dsync", O_DSYNC, ODD, put, no_sync, false, false },
	{ "direct-dsync", O_DIRECT | O_DSYNC, ALIGNED, put, no_sync, false,
	  false },
	{ "rwf-dsync", 0, ODD, put_durable, no_sync, false, false },
	{ "allocated", 0, ODD, put_allocated, fdatasync, false, false },
	{ "reserved", 0, ODD, put_reserved, fdatasync, false, false },
	{ "again", 0, ODD, put_again, fsync, false, false },
	{ "punched", 0, ODD, put_punched, fsync, false, false },
	{ "msync", 0, ODD, put_msync, no_sync, false, false },
	{ "published", 0, ODD, put_published, sync_dir, false, true },
	/* These forget something. */
	{ "no-sync", 0, ODD, put, no_sync, false, false },
	{ "direct-no-sync", O_DIRECT, ALIGNED, put, no_sync, false, false },
	{ "no-msync", 0, ODD, put_unsynced, no_sync, false, false },
	{ "no-name", 0, ODD, put, fsync, true, false },
	{ "hurried", 0, ODD, put_hurried, sync_dir, false, true },
	{ "unpublished", 0, ODD, put_published, no_sync, true, true },
};

static const struct form *
form_of(const char *name)
{
	size_t i;

	for (i = 0; i < sizeof(forms) / sizeof(forms[0]); i++)
		if (!strcmp(forms[i].name, name))
			return &forms[i];
	return NULL;
}

static void
mark(unsigned long number)
{
	char text[32];

	snprintf(text, sizeof(text), "mark=%lu", number);
	if (setxattr(".", "user.slowfs", text, strlen(text), 0) < 0)
		die(text);
}

static int
write_log(const struct form *form, unsigned long count, char *buf)
{
	unsigned long i;
	int fd;

	fd = open("log", O_RDWR | O_CREAT | O_EXCL | form->flags, 0644);
	if (fd < 0)
		die("log");
	if (!form->forgets_name && sync_dir(fd) < 0)
		die("directory");
	for (i = 0; i < count; i++) {
		fill(buf, form->size, i + 1);
		if (form->put(fd, buf, form->size, (off_t)(i * form->size)) < 0)
			die("write");
		if (form->sync(fd) < 0)
			die("sync");
		mark(i + 1);
	}
	close(fd);
	return 0;
}

static bool
is_there(const struct form *form, unsigned long i, const char *buf,
	 char *found)
{
	off_t off = (off_t)(i * form->size);
	ssize_t n;
	int fd;

	fd = open(form->is_files ? file_name(off, form->size) : "log",
		  O_RDONLY);
	n = pread(fd, found, form->size, form->is_files ? 0 : off);
	close(fd);
	return n == (ssize_t)form->size && !memcmp(buf, found, form->size);
}

static int
check_log(const struct form *form, unsigned long count, char *buf)
{
	unsigned long i;

	for (i = 0; i < count; i++) {
		fill(buf, form->size, i + 1);
		if (is_there(form, i, buf, buf + ALIGNED))
			continue;
		printf("record %lu of %lu is lost\n", i + 1, count);
		return 1;
	}
	return 0;
}

static int
unsync(const char *from, const char *to)
{
	FILE *in = fopen(from, "r"), *out = fopen(to, "wx");
	uint64_t magic;
	struct record r;
	char *rest;

	if (!in || !out || fread(&magic, sizeof(magic), 1, in) != 1)
		die(from);
	fwrite(&magic, sizeof(magic), 1, out);
	while (fread(&r, sizeof(r), 1, in) == 1) {
		rest = malloc(r.size);
		if (!rest || fread(rest, 1, r.size - sizeof(r), in) !=
		    r.size - sizeof(r))
			die(from);
		if (r.kind != RECORD_SYNC || !S_ISREG(r.mode)) {
			fwrite(&r, sizeof(r), 1, out);
			fwrite(rest, 1, r.size - sizeof(r), out);
		}
		free(rest);
	}
	fclose(in);
	if (fclose(out))
		die(to);
	return 0;
}

int
main(int argc, char **argv)
{
	const struct form *form;
	unsigned long count;
	int status;
	void *buf;

	if (argc == 4 && !strcmp(argv[1], "unsync"))
		return unsync(argv[2], argv[3]);
	form = argc == 5 ? form_of(argv[2]) : NULL;
	if (!form)
		return 2;
	count = strtoul(argv[3], NULL, 10);
	if (posix_memalign(&buf, ALIGNED, 2 * ALIGNED))
		die("memory");
	if (chdir(argv[4]) < 0)
		die(argv[4]);
	status = !strcmp(argv[1], "write") ? write_log(form, count, buf)
					   : check_log(form, count, buf);
	free(buf);
	return status;
}
