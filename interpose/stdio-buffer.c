/* SPDX-License-Identifier: BSD-3-Clause */
/* stdio-buffer.c -- the buffer of a stream of ours: as large as libc's would be,
 * and not there when that would not be */

/*
 * libc makes the buffer of a stream when it is first needed, and asks the file
 * how large it should be. Cookie streams do not ask, so ours have one from the
 * beginning; libc finds it where it would make one. The difference shows where
 * a character is pushed back before anything else: what libc says of the
 * position then, and what a seek does with the character, depends on whether
 * there is a buffer. So there it is taken away again, and the one that libc
 * makes afterwards is cut to size at the first call below.
 */
#include "interpose/real.h"
#include "interpose/stdio.h"
#include "shm/sys.h"

/* A bit of _flags; its value is part of libc's binary interface. */
#define USER_BUF		0x0001

static size_t
size_for(int fd)
{
	struct stat st;

	if (spw_sys_fstat(fd, &st) == 0 && st.st_blksize > 0 &&
	    st.st_blksize < BUFSIZ)
		return (size_t)st.st_blksize;
	return BUFSIZ;
}

/* As if it was just made: nothing points into it. */
static void
reset(FILE *fp)
{
	fp->_IO_read_base = fp->_IO_read_ptr = fp->_IO_read_end = NULL;
	fp->_IO_write_base = fp->_IO_write_ptr = fp->_IO_write_end = NULL;
}

bool
spw_stdio_give_buffer(struct spw_stream *s)
{
	FILE *fp = s->fp;
	char *buf;

	s->bufsize = size_for(fp->_fileno);
	buf = malloc(s->bufsize);
	if (!buf)
		return false;
	(void)REAL(setvbuf)(fp, buf, _IOFBF, s->bufsize); /* cannot fail */
	fp->_flags &= ~USER_BUF;	/* libc's to free */
	reset(fp);
	return true;
}

void
spw_stdio_take_buffer(FILE *fp)
{
	if (fp->_flags & USER_BUF || fp->_IO_read_ptr != fp->_IO_read_end ||
	    fp->_IO_write_ptr != fp->_IO_write_base)
		return;
	free(fp->_IO_buf_base);
	fp->_IO_buf_base = fp->_IO_buf_end = NULL;
	reset(fp);
}

void
spw_stdio_fit_buffer(struct spw_stream *s)
{
	FILE *fp = s->fp;

	if (!s->unfit || !fp->_IO_buf_base)
		return;
	s->unfit = false;
	if (!(fp->_flags & USER_BUF) &&
	    (size_t)(fp->_IO_buf_end - fp->_IO_buf_base) > s->bufsize)
		fp->_IO_buf_end = fp->_IO_buf_base + s->bufsize;
}

static bool
is_fresh(const struct spw_stream *s)
{
	const FILE *fp = s->fp;

	return !s->direct && !s->made && fp->_IO_buf_base &&
	       !(fp->_flags & USER_BUF) && !fp->_IO_read_base &&
	       !fp->_IO_write_base;
}

SPW_WRAP int
ungetc(int c, FILE *fp)
{
	struct spw_stream *s = spw_stdio_stream(fp);

	if (c != EOF && s && is_fresh(s)) {
		spw_stdio_lock(fp);
		if (is_fresh(s)) {
			spw_stdio_take_buffer(fp);
			s->unfit = true;
		}
		spw_stdio_unlock(fp);
	}
	return REAL(ungetc)(c, fp);
}
SPW_ALIAS(_IO_ungetc, ungetc);

SPW_WRAP int
setvbuf(FILE *fp, char *buf, int mode, size_t n)
{
	struct spw_stream *s = spw_stdio_stream(fp);

	if (s && !buf && mode == _IOFBF)	/* makes one at once */
		s->made = true;
	return REAL(setvbuf)(fp, buf, mode, n);
}
SPW_ALIAS(_IO_setvbuf, setvbuf);
