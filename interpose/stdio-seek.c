/* SPDX-License-Identifier: BSD-3-Clause */
/* stdio-seek.c -- moving a stream within what its buffer holds */

/*
 * libc's own streams know where their buffer lies in the file and move within
 * it without reading again. Cookie streams forget it at every ftell and fseek
 * and fill the buffer anew, which costs a read of the file where it is not in
 * the segment. So for streams of ours the near case is done here as libc does
 * it for its own; everything else is libc's.
 */
#include "interpose/real.h"
#include "interpose/stdio.h"

/* Bits of _flags; their values are part of libc's binary interface. */
#define IN_BACKUP		0x0100
#define CURRENTLY_PUTTING	0x0800

/* Whether the stream reads, and its end of the buffer lies at _offset. */
static bool
is_placed(FILE *fp)
{
	struct spw_stream *s = spw_stdio_stream(fp);

	return s && !s->direct && fp->_mode <= 0 && fp->_offset >= 0 &&
	       !(fp->_flags & (IN_BACKUP | CURRENTLY_PUTTING)) &&
	       !fp->_IO_save_base && fp->_IO_read_base &&
	       fp->_IO_write_ptr == fp->_IO_write_base;
}

static off_t
here(FILE *fp)
{
	return fp->_offset - (fp->_IO_read_end - fp->_IO_read_ptr);
}

/* False: it is not near, nothing changed. */
static bool
seek_near(FILE *fp, off_t to)
{
	off_t start = fp->_offset - (fp->_IO_read_end - fp->_IO_buf_base);

	if (to < start || to >= fp->_offset)
		return false;
	fp->_IO_read_base = fp->_IO_buf_base;
	fp->_IO_read_ptr = fp->_IO_buf_base + (to - start);
	fp->_IO_write_base = fp->_IO_write_ptr = fp->_IO_write_end =
		fp->_IO_buf_base;
	fp->_flags &= ~_IO_EOF_SEEN;
	/* Another process may have moved the description meanwhile. */
	(void)lseek(fp->_fileno, fp->_offset, SEEK_SET);
	return true;
}

/* libc's, which makes a buffer first, even if it fails then. */
static int
seek_far(FILE *fp, off_t off, int whence)
{
	struct spw_stream *s = spw_stdio_stream(fp);

	if (s)
		s->made = true;
	return REAL(fseeko)(fp, off, whence);
}

SPW_WRAP int
fseeko(FILE *fp, off_t off, int whence)
{
	bool done = false;
	off_t to;

	if (!is_placed(fp) || (whence != SEEK_SET && whence != SEEK_CUR))
		return seek_far(fp, off, whence);
	spw_stdio_lock(fp);
	if (is_placed(fp)) {
		if (whence == SEEK_SET)
			done = seek_near(fp, off);
		else if (!__builtin_add_overflow(here(fp), off, &to))
			done = seek_near(fp, to);
	}
	spw_stdio_unlock(fp);
	return done ? 0 : seek_far(fp, off, whence);
}
SPW_ALIAS(fseeko64, fseeko);

SPW_WRAP int
fseek(FILE *fp, long off, int whence)
{
	return fseeko(fp, off, whence);
}

SPW_WRAP off_t
ftello(FILE *fp)
{
	off_t at = -1;

	if (!is_placed(fp))
		return REAL(ftello)(fp);
	spw_stdio_lock(fp);
	if (is_placed(fp))
		at = here(fp);
	spw_stdio_unlock(fp);
	return at >= 0 ? at : REAL(ftello)(fp);
}
SPW_ALIAS(ftello64, ftello);

SPW_WRAP long
ftell(FILE *fp)
{
	return ftello(fp);
}
SPW_ALIAS(_IO_ftell, ftell);
