/* SPDX-License-Identifier: BSD-3-Clause */
/* powercut-check.c -- are the files of powercut-ranks as they were promised?
 *
 *	powercut-check SEED RANKS STEPS MARKS
 *
 * In the directory with the files. MARKS is what powercut printed. Of each
 * file that was made,
 *
 *	it has a name, unless its last one was about to be taken away;
 *	each byte is what it was at the last fsync, or what a step between
 *	that and the next one made of it;
 *	so is the size.
 */

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/powercut-work.h"

enum { FILES = 4096 };

struct promise {			/* of one file */
	uint64_t inode;			/* 0: not made yet */
	unsigned synced;		/* the last step that is */
};

struct sizes {
	uint64_t least, most;
};

struct image {
	uint8_t bytes[WORK_SIZE];	/* as synced */
	uint64_t size;
	struct sizes may;		/* sizes it may have */
	struct work_step *after;	/* what may have been done since */
	unsigned nafter;
	bool is_lost;			/* it may have no name */
};

static struct promise promises[WORK_RANKS][FILES];
static unsigned renaming[WORK_RANKS];	/* the last step told of */
static unsigned bad, steps;
static uint64_t seed;

_Noreturn static void
die(const char *what)
{
	fprintf(stderr, "powercut-check: %s: %s\n", what, strerror(errno));
	exit(2);
}

static void
read_marks(const char *path)
{
	FILE *f = fopen(path, "r");
	unsigned rank, file, number;
	unsigned long long inode;
	char line[128];

	if (!f)
		die(path);
	while (fgets(line, sizeof(line), f)) {
		if (sscanf(line, "c %u %u %llu", &rank, &file, &inode) == 3)
			promises[rank][file].inode = inode;
		else if (sscanf(line, "s %u %u %u", &rank, &file,
				&number) == 3)
			promises[rank][file].synced = number;
		else if (sscanf(line, "n %u %u", &rank, &number) == 2)
			renaming[rank] = number;
		else
			die(line);
	}
	fclose(f);
}

static bool
is_meant(const struct work_step *s, unsigned file)
{
	return s->lost ? s->lost == file : s->file == file;
}

static void
apply(const struct work_step *s, unsigned rank, struct image *im)
{
	uint64_t i;

	if (s->kind == WORK_WRITE) {
		for (i = 0; i < s->len; i++)
			im->bytes[s->off + i] = work_byte(rank, s->file,
					s->number, s->off + i);
		if (im->size < s->off + s->len)
			im->size = s->off + s->len;
	} else if (s->kind == WORK_CUT) {
		if (s->len < im->size)
			memset(im->bytes + s->len, 0, im->size - s->len);
		im->size = s->len;
	} else if (s->kind == WORK_PUNCH) {
		memset(im->bytes + s->off, 0, s->len);
	}
}

static void
note_size(const struct work_step *s, uint64_t *size, struct sizes *may)
{
	if (s->kind == WORK_CUT)
		*size = s->len;
	else if (s->kind == WORK_WRITE && *size < s->off + s->len)
		*size = s->off + s->len;
	may->least = may->least < *size ? may->least : *size;
	may->most = may->most > *size ? may->most : *size;
}

/* What was promised of a file, and what may have come after it. */
static void
imagine(unsigned rank, unsigned file, struct image *im)
{
	unsigned synced = promises[rank][file].synced;
	struct work_step s;
	uint64_t size = 0;
	bool over = false;
	struct work w;

	memset(im->bytes, 0, sizeof(im->bytes));
	im->size = 0;
	im->nafter = 0;
	im->is_lost = false;
	work_begin(&w, seed, rank);
	while (w.number < steps) {
		s = work_next(&w);
		if (!is_meant(&s, file))
			continue;
		if (s.lost)
			im->is_lost = s.number <= renaming[rank];
		if (s.number <= synced)
			apply(&s, rank, im);
		if (s.number <= synced || over || s.lost)
			continue;
		if (!im->nafter) {
			size = im->size;
			im->may = (struct sizes){ size, size };
		}
		note_size(&s, &size, &im->may);
		im->after[im->nafter++] = s;
		over = s.kind == WORK_FSYNC || s.kind == WORK_FDATASYNC;
	}
	if (!im->nafter)
		im->may = (struct sizes){ im->size, im->size };
}

static bool
may_be(const struct image *im, unsigned rank, uint64_t at, uint8_t byte)
{
	const struct work_step *s;
	unsigned i;

	for (i = 0; i < im->nafter; i++) {
		s = &im->after[i];
		if (s->kind == WORK_CUT && at >= s->len && !byte)
			return true;
		if (s->kind == WORK_PUNCH && at >= s->off &&
		    at - s->off < s->len && !byte)
			return true;
		if (s->kind == WORK_WRITE && at >= s->off &&
		    at - s->off < s->len &&
		    byte == work_byte(rank, s->file, s->number, at))
			return true;
	}
	return false;
}

static void
complain(unsigned rank, unsigned file, const char *what, uint64_t is,
	 uint64_t not)
{
	printf("rank %u, file %u, synced at step %u: %s: %llu, not %llu\n",
	       rank, file, promises[rank][file].synced, what,
	       (unsigned long long)is, (unsigned long long)not);
	bad++;
}

/* Up to the first that is wrong. */
static void
check_bytes(unsigned rank, unsigned file, const struct image *im,
	    const uint8_t *found, uint64_t n)
{
	char what[48];
	uint64_t i;

	for (i = 0; i < n; i++) {
		if (found[i] == im->bytes[i] ||
		    may_be(im, rank, i, found[i]))
			continue;
		snprintf(what, sizeof(what), "byte %llu of %llu",
			 (unsigned long long)i, (unsigned long long)n);
		complain(rank, file, what, found[i], im->bytes[i]);
		return;
	}
}

/* The file with an inode; -1: there is none. */
static int
open_inode(uint64_t inode)
{
	DIR *dir = opendir(".");
	struct dirent *d;
	int fd = -1;

	while (dir && fd < 0 && (d = readdir(dir)))
		if (d->d_ino == inode && d->d_type == DT_REG)
			fd = open(d->d_name, O_RDONLY);
	closedir(dir);
	return fd;
}

/* A part of the shared file ends where another begins, or the file does. */
static void
check_size(unsigned rank, unsigned file, const struct image *im,
	   uint64_t size)
{
	uint64_t part = file ? 0 : work_part(rank);

	if (!file ? im->size && size < part + im->size
		  : size < im->may.least || size > im->may.most)
		complain(rank, file, "size", size, part + im->size);
}

static void
check_file(unsigned rank, unsigned file, struct image *im)
{
	static uint8_t found[WORK_SIZE];
	struct stat st;
	ssize_t n;
	int fd;

	imagine(rank, file, im);
	fd = open_inode(promises[rank][file].inode);
	if (fd < 0) {
		if (!im->is_lost)
			complain(rank, file, "is gone, inode",
				 promises[rank][file].inode, 0);
		return;
	}
	n = pread(fd, found, WORK_SIZE, file ? 0 : (off_t)work_part(rank));
	if (n < 0 || fstat(fd, &st) < 0)
		die("read");
	check_size(rank, file, im, (uint64_t)st.st_size);
	check_bytes(rank, file, im, found, (uint64_t)n);
	close(fd);
}

static int
check(unsigned ranks)
{
	static struct image im;
	unsigned rank, file;

	im.after = calloc(steps + 1, sizeof(*im.after));
	if (!im.after)
		die("memory");
	for (rank = 0; rank < ranks; rank++)
		for (file = 0; file < FILES; file++)
			if (promises[rank][file].inode)
				check_file(rank, file, &im);
	free(im.after);
	return bad != 0;
}

int
main(int argc, char **argv)
{
	if (argc != 5)
		return 2;
	seed = strtoull(argv[1], NULL, 10);
	steps = (unsigned)atoi(argv[3]);
	read_marks(argv[4]);
	return check((unsigned)atoi(argv[2]));
}
