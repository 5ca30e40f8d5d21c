/* SPDX-License-Identifier: BSD-3-Clause */
/* stdio-bytes.c -- large reads of a stream, and printing to a descriptor */

/*
 * libc's own streams read what is larger than their buffer straight into the
 * caller's memory. Cookie streams go through the buffer, piece by piece; for
 * an unbuffered stream byte by byte. Nor do they find their way from characters
 * pushed back to the buffer where the stream was written to before. So fread
 * on a stream of ours does here what libc does for its own.
 */
#include <errno.h>
#include <pthread.h>
#include <stdarg.h>

#include "interpose/fdtab.h"
#include "interpose/real.h"
#include "interpose/stdio.h"

#undef fread_unlocked

/* A bit of _flags; its value is part of libc's binary interface. */
#define IN_BACKUP		0x0100

/* Hands out what the buffer holds, at most n bytes. */
static size_t
take_buffered(FILE *fp, char *to, size_t n)
{
	size_t have = (size_t)(fp->_IO_read_end - fp->_IO_read_ptr);

	have = SPW_MIN(have, n);
	memcpy(to, fp->_IO_read_ptr, have);
	fp->_IO_read_ptr += have;
	return have;
}

static void
swap(char **a, char **b)
{
	char *was = *a;

	*a = *b;
	*b = was;
}

/* From the characters pushed back, which were read, to the buffer. */
static void
leave_backup(FILE *fp)
{
	fp->_flags &= ~IN_BACKUP;
	swap(&fp->_IO_read_end, &fp->_IO_save_end);
	swap(&fp->_IO_read_base, &fp->_IO_save_base);
	fp->_IO_read_ptr = fp->_IO_read_base;
}

/* Reads whole buffers' worth of n bytes past the buffer, which is empty. */
static ssize_t
read_past(FILE *fp, char *to, size_t n)
{
	size_t block = (size_t)(fp->_IO_buf_end - fp->_IO_buf_base);
	ssize_t r;

	fp->_IO_read_base = fp->_IO_read_ptr = fp->_IO_read_end =
		fp->_IO_buf_base;
	fp->_IO_write_base = fp->_IO_write_ptr = fp->_IO_write_end =
		fp->_IO_buf_base;
	if (block >= 128)
		n -= n % block;
	r = read(fp->_fileno, to, n);
	if (r <= 0)
		fp->_flags |= r == 0 ? _IO_EOF_SEEN : _IO_ERR_SEEN;
	else if (fp->_offset >= 0)
		fp->_offset += r;
	return r;
}

/* The stream is locked, or its caller sees to that. */
static size_t
read_bytes(FILE *fp, char *to, size_t n)
{
	size_t block = (size_t)(fp->_IO_buf_end - fp->_IO_buf_base);
	size_t done = take_buffered(fp, to, n);

	if (done < n && fp->_flags & IN_BACKUP) {
		leave_backup(fp);
		done += take_buffered(fp, to + done, n - done);
	}
	while (block && n - done >= block) {
		ssize_t r = read_past(fp, to + done, n - done);

		if (r <= 0)
			return done;
		done += (size_t)r;
	}
	/* What is less than a buffer is libc's business again. */
	if (done < n)
		done += REAL(fread_unlocked)(to + done, 1, n - done, fp);
	return done;
}

/* Whether a read of n bytes is ours to make. */
static bool
is_ours(FILE *fp, size_t n)
{
	struct spw_stream *s = spw_stdio_stream(fp);
	size_t have = (size_t)(fp->_IO_read_end - fp->_IO_read_ptr);

	if (!s || s->direct || fp->_mode > 0 || n <= have)
		return false;
	return fp->_flags & IN_BACKUP ||
	       (fp->_IO_buf_base && (ssize_t)(n - have) >=
				    fp->_IO_buf_end - fp->_IO_buf_base);
}

static void
unlock(void *fp)
{
	funlockfile(fp);
}

static size_t
read_locked(FILE *fp, char *to, size_t n)
{
	size_t done;

	if (fp->_flags & _IO_USER_LOCK)
		return read_bytes(fp, to, n);
	flockfile(fp);
	pthread_cleanup_push(unlock, fp);	/* read may be cancelled */
	done = is_ours(fp, n) ? read_bytes(fp, to, n)
			       : REAL(fread_unlocked)(to, 1, n, fp);
	pthread_cleanup_pop(1);
	return done;
}

SPW_WRAP size_t
fread(void *to, size_t size, size_t n, FILE *fp)
{
	size_t bytes = size * n, done;

	if (!bytes || !is_ours(fp, bytes))
		return REAL(fread)(to, size, n, fp);
	done = read_locked(fp, to, bytes);
	return done == bytes ? n : done / size;
}
SPW_ALIAS(_IO_fread, fread);

SPW_WRAP size_t
fread_unlocked(void *to, size_t size, size_t n, FILE *fp)
{
	size_t bytes = size * n, done;

	if (!bytes || !is_ours(fp, bytes))
		return REAL(fread_unlocked)(to, size, n, fp);
	done = read_bytes(fp, to, bytes);
	return done == bytes ? n : done / size;
}

/* The checked forms: libc ends the program when cap is too small. */
static bool
fits(size_t cap, size_t size, size_t n)
{
	size_t bytes;

	return !__builtin_mul_overflow(size, n, &bytes) && bytes <= cap;
}

SPW_WRAP size_t
__fread_chk(void *to, size_t cap, size_t size, size_t n, FILE *fp)
{
	if (!fits(cap, size, n))
		return REAL(__fread_chk)(to, cap, size, n, fp);
	return fread(to, size, n, fp);
}

SPW_WRAP size_t
__fread_unlocked_chk(void *to, size_t cap, size_t size, size_t n, FILE *fp)
{
	if (!fits(cap, size, n))
		return REAL(__fread_unlocked_chk)(to, cap, size, n, fp);
	return fread_unlocked(to, size, n, fp);
}

/* dprintf and its kin: libc writes to the descriptor itself. */

static int
write_all(int fd, const char *text, int n)
{
	for (int done = 0; done < n;) {
		ssize_t r = write(fd, text + done, (size_t)(n - done));

		if (r < 0)
			return -1;
		done += (int)r;
	}
	return n;
}

static int
print(int fd, int level, const char *fmt, va_list ap)
{
	char small[512], *text = small;
	va_list again;
	int n;

	va_copy(again, ap);
	n = __vsnprintf_chk(small, sizeof(small), level, sizeof(small), fmt,
			    ap);
	if (n >= (int)sizeof(small)) {
		text = malloc((size_t)n + 1);
		n = text ? __vsnprintf_chk(text, (size_t)n + 1, level,
					   (size_t)n + 1, fmt, again) : -1;
	}
	va_end(again);
	if (n > 0)
		n = write_all(fd, text, n);
	if (text != small)
		free(text);
	return n;
}

SPW_WRAP int
vdprintf(int fd, const char *fmt, va_list ap)
{
	if (!spw_fdtab_has(fd))
		return REAL(vdprintf)(fd, fmt, ap);
	return print(fd, 0, fmt, ap);
}

SPW_WRAP int
__vdprintf_chk(int fd, int level, const char *fmt, va_list ap)
{
	if (!spw_fdtab_has(fd))
		return REAL(__vdprintf_chk)(fd, level, fmt, ap);
	return print(fd, level, fmt, ap);
}

SPW_WRAP int
dprintf(int fd, const char *fmt, ...)
{
	va_list ap;
	int r;

	va_start(ap, fmt);
	r = vdprintf(fd, fmt, ap);
	va_end(ap);
	return r;
}

SPW_WRAP int
__dprintf_chk(int fd, int level, const char *fmt, ...)
{
	va_list ap;
	int r;

	va_start(ap, fmt);
	r = __vdprintf_chk(fd, level, fmt, ap);
	va_end(ap);
	return r;
}
