/* SPDX-License-Identifier: BSD-3-Clause */
/* random-ops-size.c -- sizes: truncating, allocating, holes, stat */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/random-ops.h"

static bool
is_zero(const uint8_t *p, uint64_t n)
{
	return n == 0 || (p[0] == 0 && memcmp(p, p + 1, n - 1) == 0);
}

/* Sizes near the present one are more telling than those far away. */
static uint64_t
some_size(const struct ro_file *f, const struct ro_op *op)
{
	uint64_t at;

	if (op->r[2] % 4 == 0 && ro_at(f->size, &at)) {
		uint64_t delta = (op->r[2] >> 8) % 5000;

		if (op->r[1] % 2 && at > delta)
			return ro_off(at - delta);
		return ro_off(at + (delta < ro_rest(at) ? delta : 0));
	}
	return ro_off(ro_place(op->r[1]));
}

RO_OP(ftruncate)
{
	uint32_t file = ro_file(op->r[3]);
	struct ro_file *f = &run->s->file[file];
	struct ro_slot *slot = ro_writer(file, op->r[0]);
	uint64_t size = some_size(f, op);

	if (!slot)
		return;
	RO_CHECK(ftruncate(slot->fd, (off_t)size) == 0, "ftruncate");
	ro_set_size(f, size);
}

RO_OP(truncate)
{
	struct ro_file *f = &run->s->file[ro_file(op->r[3])];
	uint64_t size = some_size(f, op);

	if (f->nameless)
		return;
	RO_CHECK(truncate(f->path, (off_t)size) == 0, "truncate");
	ro_set_size(f, size);
}

RO_OP(open_trunc)
{
	(void)run;
	(void)ro_open(ro_file(op->r[3]), O_TRUNC |
		      (op->r[0] % 2 ? O_RDWR : O_WRONLY));
}

static bool
allocate(const struct ro_op *op, int mode, uint64_t *ret_at,
	 uint64_t *ret_len)
{
	struct ro_slot *slot = ro_writer(ro_file(op->r[3]), op->r[0]);
	uint64_t at = ro_place(op->r[1]), len = ro_length(op->r[2], at);

	if (!slot)
		return false;
	if (fallocate(slot->fd, mode, (off_t)ro_off(at), (off_t)len) < 0) {
		if (errno == EOPNOTSUPP)
			return false;	/* not every file system has it */
		ro_fail("fallocate, mode %#x: %s", mode, strerror(errno));
	}
	*ret_at = at;
	*ret_len = len;
	return true;
}

RO_OP(fallocate)
{
	struct ro_file *f = &run->s->file[ro_file(op->r[3])];
	bool keeps = op->r[0] % 4 == 0 || run->sized;
	uint64_t at, len;

	if (!allocate(op, keeps ? FALLOC_FL_KEEP_SIZE : 0, &at, &len))
		return;
	if (!keeps && f->size < ro_off(at) + len)
		f->size = ro_off(at) + len;
}

RO_OP(punch)
{
	struct ro_file *f = &run->s->file[ro_file(op->r[3])];
	uint64_t at, len;

	if (allocate(op, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, &at,
		     &len))
		ro_zero(f, at, len);
}

RO_OP(zero_range)
{
	struct ro_file *f = &run->s->file[ro_file(op->r[3])];
	bool keeps = op->r[0] % 4 == 0 || run->sized;
	uint64_t at, len;

	if (!allocate(op, FALLOC_FL_ZERO_RANGE |
		      (keeps ? FALLOC_FL_KEEP_SIZE : 0), &at, &len))
		return;
	ro_zero(f, at, len);
	if (!keeps && f->size < ro_off(at) + len)
		f->size = ro_off(at) + len;
}

/* What is called a hole must read as zeros; what the model has at both ends
 * of [from, to) is looked at only within one island. */
static void
check_hole(const struct ro_file *f, uint64_t from, uint64_t to)
{
	uint64_t at, len = to - from;

	if (!ro_at(from, &at))
		return;
	len = len < ro_rest(at) ? len : ro_rest(at);
	if (!is_zero(f->bytes + at, len))
		ro_fail("a hole was reported at %#llx that is none",
			(unsigned long long)from);
}

static void
seek_to(const struct ro_op *op, int whence)
{
	uint32_t file = ro_file(op->r[3]);
	struct ro_file *f = &ro_run.s->file[file];
	struct ro_slot *slot = ro_reader(file, op->r[0]);
	uint64_t off = ro_off(ro_place(op->r[1]));
	off_t r;

	if (!slot)
		return;
	r = lseek(slot->fd, (off_t)off, whence);
	if (off >= f->size) {
		if (r >= 0 || errno != ENXIO)
			ro_fail("a hole or data past the end: %lld",
				(long long)r);
		return;
	}
	if (r < 0 && errno == ENXIO && whence == SEEK_DATA) {
		check_hole(f, off, f->size);
		return;
	}
	if (r < (off_t)off || r > (off_t)f->size)
		ro_fail("seeking hole or data from %#llx: %lld",
			(unsigned long long)off, (long long)r);
	if (whence == SEEK_DATA)
		check_hole(f, off, (uint64_t)r);
	ro_desc(slot)->pos = (uint64_t)r;
}

RO_OP(seek_data)
{
	(void)run;
	seek_to(op, SEEK_DATA);
}

RO_OP(seek_hole)
{
	(void)run;
	seek_to(op, SEEK_HOLE);
}

static void
check_size(const struct ro_file *f, uint64_t size, const char *what)
{
	if (size != f->size)
		ro_fail("%s says %llu bytes, expected %llu", what,
			(unsigned long long)size,
			(unsigned long long)f->size);
}

RO_OP(fstat)
{
	uint32_t file = ro_file(op->r[3]);
	struct ro_slot *slot = ro_reader(file, op->r[0]);
	struct stat st;

	if (!slot)
		return;
	RO_CHECK(fstat(slot->fd, &st) == 0, "fstat");
	check_size(&run->s->file[file], (uint64_t)st.st_size, "fstat");
	if ((st.st_nlink == 0) != run->s->file[file].nameless)
		ro_fail("fstat says %d names", (int)st.st_nlink);
}

RO_OP(stat)
{
	struct ro_file *f = &run->s->file[ro_file(op->r[3])];
	struct stat st;

	if (f->nameless)
		return;
	RO_CHECK((op->r[0] % 3 == 0 ? lstat(f->path, &st)
		  : op->r[0] % 3 == 1 ? stat(f->path, &st)
		  : fstatat(AT_FDCWD, f->path, &st, 0)) == 0, "stat");
	check_size(f, (uint64_t)st.st_size, "stat");
}

RO_OP(statx)
{
	uint32_t file = ro_file(op->r[3]);
	struct ro_file *f = &run->s->file[file];
	struct ro_slot *slot = ro_reader(file, op->r[0]);
	bool by_fd = op->r[0] % 2 || f->nameless;
	struct statx stx;

	if (!slot)
		return;
	RO_CHECK(statx(by_fd ? slot->fd : AT_FDCWD, by_fd ? "" : f->path,
		       by_fd ? AT_EMPTY_PATH : 0, STATX_SIZE, &stx) == 0,
		 "statx");
	check_size(f, stx.stx_size, "statx");
}

RO_OP(fsync)
{
	struct ro_slot *slot = ro_writer(ro_file(op->r[3]), op->r[0]);

	(void)run;
	if (slot)
		RO_CHECK(fsync(slot->fd) == 0, "fsync");
}

RO_OP(fdatasync)
{
	struct ro_slot *slot = ro_writer(ro_file(op->r[3]), op->r[0]);

	(void)run;
	if (slot)
		RO_CHECK(fdatasync(slot->fd) == 0, "fdatasync");
}
