/* SPDX-License-Identifier: BSD-3-Clause */
/* random-ops-data.c -- reading and writing in all their forms */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/uio.h>
#include <unistd.h>

#include "tests/random-ops.h"

enum { VECTORS = 5 };

static const uint8_t *
fresh_bytes(uint64_t r)			/* any max_io bytes of the pool */
{
	return ro_run.pool + (r >> 20) % ro_run.max_io;
}

static void
expect(ssize_t got, uint64_t want, const char *what)
{
	if (got != (ssize_t)want)
		ro_fail("%s gave %lld, expected %llu: %s", what,
			(long long)got, (unsigned long long)want,
			got < 0 ? strerror(errno) : "");
}

/* The place of the description's position; it is moved there if it is
 * outside of what is modelled. */
static uint64_t
here(const struct ro_slot *slot, uint64_t r)
{
	struct ro_desc *d = ro_desc(slot);
	uint64_t at;

	if (ro_at(d->pos, &at) && r >> 61)
		return at;
	at = ro_place(r);
	d->pos = ro_off(at);
	expect(lseek(slot->fd, (off_t)d->pos, SEEK_SET), d->pos, "lseek");
	return at;
}

/* Cuts a buffer into a few pieces, some of them empty. */
static int
cut(struct iovec *iov, const void *buf, uint64_t len, uint64_t r)
{
	uint8_t *p = (uint8_t *)buf;
	int n = 0;

	while (len && n < VECTORS - 1) {
		uint64_t part = r % (len + 1);

		iov[n++] = (struct iovec){ p, part };
		p += part;
		len -= part;
		r = r >> 7 | r << 57;
	}
	iov[n++] = (struct iovec){ p, len };
	return n;
}

static void
check_pos(const struct ro_slot *slot, const char *what)
{
	off_t pos = lseek(slot->fd, 0, SEEK_CUR);

	if (pos != (off_t)ro_desc(slot)->pos)
		ro_fail("after %s the position is %lld, expected %llu", what,
			(long long)pos,
			(unsigned long long)ro_desc(slot)->pos);
}

static void
read_at_position(const struct ro_op *op, bool vector)
{
	uint32_t file = ro_file(op->r[3]);
	struct ro_slot *slot = ro_reader(file, op->r[0]);
	struct iovec iov[VECTORS];
	uint64_t at, len, want;
	ssize_t r;

	if (!slot)
		return;
	at = here(slot, op->r[1]);
	len = ro_length(op->r[2], at);
	want = ro_readable(&ro_run.s->file[file], at, len);
	r = vector ? readv(slot->fd, iov, cut(iov, ro_run.buf, len, op->r[3]))
		   : read(slot->fd, ro_run.buf, len);
	expect(r, want, vector ? "readv" : "read");
	ro_same(&ro_run.s->file[file], at, ro_run.buf, want);
	ro_desc(slot)->pos += want;
	if (op->r[0] % 4 == 0)
		check_pos(slot, "read");
}

RO_OP(read)
{
	(void)run;
	read_at_position(op, false);
}

RO_OP(readv)
{
	(void)run;
	read_at_position(op, true);
}

static void
write_at_position(const struct ro_op *op, bool vector)
{
	uint32_t file = ro_file(op->r[3]);
	struct ro_slot *slot = ro_writer(file, op->r[0]);
	const uint8_t *bytes = fresh_bytes(op->r[3]);
	struct iovec iov[VECTORS];
	uint64_t at, len;
	ssize_t r;

	if (!slot)
		return;
	at = here(slot, op->r[1]);
	len = ro_length(op->r[2], at);
	r = vector ? writev(slot->fd, iov, cut(iov, bytes, len, op->r[3]))
		   : write(slot->fd, bytes, len);
	expect(r, len, vector ? "writev" : "write");
	ro_put(&ro_run.s->file[file], at, bytes, len);
	ro_desc(slot)->pos += len;
	if (op->r[0] % 4 == 0)
		check_pos(slot, "write");
}

RO_OP(write)
{
	(void)run;
	write_at_position(op, false);
}

RO_OP(writev)
{
	(void)run;
	write_at_position(op, true);
}

enum form { PLAIN, VECTOR, VECTOR2 };

static void
read_at_offset(const struct ro_op *op, enum form form)
{
	uint32_t file = ro_file(op->r[3]);
	struct ro_slot *slot = ro_reader(file, op->r[0]);
	uint64_t at = ro_place(op->r[1]), len = ro_length(op->r[2], at);
	uint64_t want = ro_readable(&ro_run.s->file[file], at, len);
	off_t off = (off_t)ro_off(at);
	struct iovec iov[VECTORS];
	int n = cut(iov, ro_run.buf, len, op->r[3]);
	ssize_t r;

	if (!slot)
		return;
	r = form == PLAIN ? pread(slot->fd, ro_run.buf, len, off)
	    : form == VECTOR ? preadv(slot->fd, iov, n, off)
	    : preadv2(slot->fd, iov, n, off, 0);
	expect(r, want, form == PLAIN ? "pread" : "preadv");
	ro_same(&ro_run.s->file[file], at, ro_run.buf, want);
	if (op->r[0] % 8 == 0)
		check_pos(slot, "pread");
}

RO_OP(pread)
{
	(void)run;
	read_at_offset(op, PLAIN);
}

RO_OP(preadv)
{
	(void)run;
	read_at_offset(op, VECTOR);
}

RO_OP(preadv2)
{
	(void)run;
	read_at_offset(op, VECTOR2);
}

static void
write_at_offset(const struct ro_op *op, enum form form, uint64_t max)
{
	uint32_t file = ro_file(op->r[3]);
	struct ro_slot *slot = ro_writer(file, op->r[0]);
	const uint8_t *bytes = fresh_bytes(op->r[3]);
	uint64_t at = ro_place(op->r[1]), len = ro_length(op->r[2], at);
	off_t off = (off_t)ro_off(at);
	struct iovec iov[VECTORS];
	ssize_t r;
	int n;

	if (!slot)
		return;
	len = len > max ? 1 + len % max : len;
	n = cut(iov, bytes, len, op->r[3]);
	r = form == PLAIN ? pwrite(slot->fd, bytes, len, off)
	    : form == VECTOR ? pwritev(slot->fd, iov, n, off)
	    : pwritev2(slot->fd, iov, n, off,
		       op->r[0] % 64 == 0 ? RWF_DSYNC : 0);
	expect(r, len, form == PLAIN ? "pwrite" : "pwritev");
	ro_put(&ro_run.s->file[file], at, bytes, len);
	if (op->r[0] % 8 == 0)
		check_pos(slot, "pwrite");
}

RO_OP(pwrite)
{
	(void)run;
	write_at_offset(op, PLAIN, UINT64_MAX);
}

RO_OP(pwritev)
{
	(void)run;
	write_at_offset(op, VECTOR, UINT64_MAX);
}

RO_OP(pwritev2)
{
	(void)run;
	write_at_offset(op, VECTOR2, UINT64_MAX);
}

RO_OP(tiny)				/* many pieces in a block */
{
	(void)run;
	write_at_offset(op, PLAIN, 16);
}

static void
append(const struct ro_op *op, bool vector)
{
	uint32_t file = ro_file(op->r[3]);
	struct ro_file *f = &ro_run.s->file[file];
	struct ro_slot *slot = ro_appender(file, op->r[0]);
	const uint8_t *bytes = fresh_bytes(op->r[3]);
	struct iovec iov[VECTORS];
	uint64_t at, len;
	ssize_t r;

	if (!slot || !ro_at(f->size, &at))
		return;
	len = ro_length(op->r[2], at);
	if (vector)
		r = writev(slot->fd, iov, cut(iov, bytes, len, op->r[3]));
	else if (op->r[1] % 8 == 0)	/* Linux appends all the same */
		r = pwrite(slot->fd, bytes, len, 3);
	else
		r = write(slot->fd, bytes, len);
	expect(r, len, "append");
	ro_put(f, at, bytes, len);
	if (vector || op->r[1] % 8)
		ro_desc(slot)->pos = f->size;
	if (op->r[0] % 4 == 0)
		check_pos(slot, "append");
}

RO_OP(append)
{
	(void)run;
	append(op, false);
}

RO_OP(appendv)
{
	(void)run;
	append(op, true);
}

RO_OP(seek)
{
	uint32_t file = ro_file(op->r[3]);
	struct ro_slot *slot = ro_reader(file, op->r[0]);
	off_t to = (off_t)ro_off(ro_place(op->r[1])), base = 0;
	int whence = (int)(op->r[2] % 3);

	(void)run;
	if (!slot)
		return;
	if (whence == SEEK_CUR)
		base = (off_t)ro_desc(slot)->pos;
	else if (whence == SEEK_END)
		base = (off_t)ro_run.s->file[file].size;
	expect(lseek(slot->fd, to - base, whence), (uint64_t)to, "lseek");
	ro_desc(slot)->pos = (uint64_t)to;
	if (op->r[2] % 7 == 0 && (lseek(slot->fd, -to - 1, SEEK_CUR) != -1 ||
				  errno != EINVAL))
		ro_fail("lseek before the start was taken");
}

/* A mapping of the file's bytes around a place, whole pages. */
static uint8_t *
map(struct ro_slot *slot, uint64_t at, uint64_t len, int prot,
    uint64_t *ret_skip)
{
	uint64_t off = ro_off(at);
	uint8_t *p;

	*ret_skip = off % 4096;
	p = mmap(NULL, len + *ret_skip, prot, MAP_SHARED, slot->fd,
		 (off_t)(off - *ret_skip));
	RO_CHECK(p != MAP_FAILED, "mmap");
	return p;
}

RO_OP(mmap_read)
{
	uint32_t file = ro_file(op->r[3]);
	struct ro_file *f = &ro_run.s->file[file];
	struct ro_slot *slot = ro_reader(file, op->r[0]);
	uint64_t at = ro_place(op->r[1]), skip;
	uint64_t n = ro_readable(f, at, ro_length(op->r[2], at));
	uint8_t *p;

	(void)run;
	if (!slot || !n)
		return;
	p = map(slot, at, n, PROT_READ, &skip);
	ro_same(f, at, p + skip, n);
	RO_CHECK(munmap(p, n + skip) == 0, "munmap");
}

RO_OP(mmap_write)
{
	uint32_t file = ro_file(op->r[3]);
	struct ro_file *f = &ro_run.s->file[file];
	struct ro_slot *slot = ro_writer(file, op->r[0]);
	uint64_t at = ro_place(op->r[1]), skip;
	uint64_t n = ro_readable(f, at, ro_length(op->r[2], at));
	const uint8_t *bytes = fresh_bytes(op->r[3]);
	uint8_t *p;

	(void)run;
	if (!slot || !n || !ro_desc(slot)->reads)
		return;
	p = map(slot, at, n, PROT_READ | PROT_WRITE, &skip);
	ro_same(f, at, p + skip, n);
	memcpy(p + skip, bytes, n);
	ro_put(f, at, bytes, n);
	if (op->r[3] % 16 == 0)
		RO_CHECK(msync(p, n + skip, MS_SYNC) == 0, "msync");
	RO_CHECK(munmap(p, n + skip) == 0, "munmap");
}

/* A mapping of the first file that outlives the operation. */
RO_OP(mmap_held)
{
	struct ro_file *f = &ro_run.s->file[0];
	struct ro_slot *slot = ro_writer(0, op->r[0]);
	uint64_t n, skip;

	if (run->held && (op->r[0] % 8 == 0 || run->held_len == 0)) {
		RO_CHECK(munmap(run->held, run->held_len) == 0, "munmap");
		run->held = NULL;
		return;
	}
	if (!run->held && slot && ro_desc(slot)->reads) {
		run->held_at = ro_place(op->r[1]);
		if (ro_off(run->held_at) % 4096)
			return;
		run->held_len = ro_readable(f, run->held_at,
				ro_length(op->r[2], run->held_at));
		if (run->held_len)
			run->held = map(slot, run->held_at, run->held_len,
					PROT_READ | PROT_WRITE, &skip);
		return;
	}
	n = run->held ? ro_readable(f, run->held_at, run->held_len) : 0;
	if (!n)
		return;
	ro_same(f, run->held_at, run->held, n);
	memcpy(run->held, fresh_bytes(op->r[3]), n);
	ro_put(f, run->held_at, fresh_bytes(op->r[3]), n);
}

RO_OP(stdio_plus)
{
	uint32_t file = ro_file(op->r[3]);
	struct ro_file *f = &ro_run.s->file[file];
	uint64_t at = ro_place(op->r[1]), len = ro_length(op->r[2], at), want;
	FILE *fp;

	(void)run;
	if (f->nameless)
		return;
	fp = fopen(f->path, "r+");
	RO_CHECK(fp, f->path);
	RO_CHECK(fseeko(fp, (off_t)ro_off(at), SEEK_SET) == 0, "fseeko");
	want = ro_readable(f, at, len);
	expect((ssize_t)fread(ro_run.buf, 1, len, fp), want, "fread");
	ro_same(f, at, ro_run.buf, want);
	RO_CHECK(fseeko(fp, (off_t)ro_off(at), SEEK_SET) == 0, "fseeko");
	expect((ssize_t)fwrite(fresh_bytes(op->r[3]), 1, len, fp), len,
	       "fwrite");
	if (op->r[0] % 2)
		RO_CHECK(fflush(fp) == 0, "fflush");
	RO_CHECK(fclose(fp) == 0, "fclose");
	ro_put(f, at, fresh_bytes(op->r[3]), len);
}

RO_OP(stdio_append)
{
	uint32_t file = ro_file(op->r[3]);
	struct ro_file *f = &ro_run.s->file[file];
	uint64_t at, len;
	FILE *fp;

	(void)run;
	if (f->nameless || !ro_at(f->size, &at))
		return;
	len = ro_length(op->r[2], at);
	fp = fopen(f->path, op->r[0] % 2 ? "a+" : "a");
	RO_CHECK(fp, f->path);
	for (uint64_t i = 0; i < len && i < 100; i++)
		RO_CHECK(fputc(fresh_bytes(op->r[3])[i], fp) != EOF, "fputc");
	if (len > 100)
		expect((ssize_t)fwrite(fresh_bytes(op->r[3]) + 100, 1,
				       len - 100, fp), len - 100, "fwrite");
	RO_CHECK(fclose(fp) == 0, "fclose");
	ro_put(f, at, fresh_bytes(op->r[3]), len);
}

static void
copied(struct ro_file *from, uint64_t at, struct ro_file *to,
       uint64_t there, uint64_t n)
{
	memcpy(ro_run.buf, from->bytes + at, n);
	ro_put(to, there, ro_run.buf, n);
}

static bool
overlap(uint64_t a, uint64_t b, uint64_t n)
{
	return a < b + n && b < a + n;
}

RO_OP(copy)
{
	uint32_t from = ro_file(op->r[3]), to = ro_file(op->r[3] << 3);
	struct ro_slot *in = ro_reader(from, op->r[0]);
	struct ro_slot *out = ro_writer(to, op->r[0] >> 8);
	struct ro_file *f = &ro_run.s->file[from], *g = &ro_run.s->file[to];
	uint64_t at, there, len, want;
	off_t off_in, off_out;
	bool moves = op->r[2] % 5 == 0;
	ssize_t r;

	(void)run;
	if (!in || !out || in->fd < 0 || in->desc == out->desc)
		return;
	at = moves ? here(in, op->r[1]) : ro_place(op->r[1]);
	there = moves ? here(out, op->r[2]) : ro_place(op->r[2]);
	len = ro_length(op->r[3], at);
	len = len < ro_rest(there) ? len : ro_rest(there);
	if (f == g && overlap(ro_off(at), ro_off(there), len))
		return;
	off_in = (off_t)ro_off(at);
	off_out = (off_t)ro_off(there);
	want = ro_readable(f, at, len);
	r = copy_file_range(in->fd, moves ? NULL : &off_in, out->fd,
			    moves ? NULL : &off_out, len, 0);
	if (r < 0 && (errno == EXDEV || errno == EOPNOTSUPP))
		return;
	if (r < 0 || (uint64_t)r > want || (r == 0 && want))
		ro_fail("copy_file_range gave %lld, expected %llu",
			(long long)r, (unsigned long long)want);
	copied(f, at, g, there, (uint64_t)r);
	if (moves) {
		ro_desc(in)->pos += (uint64_t)r;
		ro_desc(out)->pos += (uint64_t)r;
		check_pos(in, "copy_file_range");
		check_pos(out, "copy_file_range");
	} else if ((uint64_t)off_in != ro_off(at) + (uint64_t)r) {
		ro_fail("copy_file_range did not move the offset");
	}
}

RO_OP(sendfile)
{
	uint32_t from = ro_file(op->r[3]), to = !from && !ro_run.sized;
	struct ro_slot *in = ro_reader(from, op->r[0]);
	struct ro_slot *out = ro_writer(to, op->r[0] >> 8);
	struct ro_file *f = &ro_run.s->file[from], *g = &ro_run.s->file[to];
	bool moves = op->r[2] % 2;
	uint64_t at, there, len, want;
	off_t off;
	ssize_t r;

	(void)run;
	if (!in || !out || in->fd < 0 || in->desc == out->desc || f == g)
		return;
	at = moves ? here(in, op->r[1]) : ro_place(op->r[1]);
	there = here(out, op->r[2]);
	len = ro_length(op->r[3], at);
	len = len < ro_rest(there) ? len : ro_rest(there);
	off = (off_t)ro_off(at);
	want = ro_readable(f, at, len);
	r = sendfile(out->fd, in->fd, moves ? NULL : &off, len);
	expect(r, want, "sendfile");
	copied(f, at, g, there, want);
	ro_desc(out)->pos += want;
	if (moves)
		ro_desc(in)->pos += want;
	check_pos(in, "sendfile");
	check_pos(out, "sendfile");
}

RO_OP(verify)
{
	(void)run;
	ro_verify(ro_file(op->r[3]));
}
