/* SPDX-License-Identifier: BSD-3-Clause */
/* stdio.h -- streams of libc whose bytes pass through our wrappers */

/*
 * A stream on a managed descriptor is a cookie stream of libc: a genuine FILE
 * with libc's buffering, locking and formatting, whose four calls at the
 * bottom are our read, write, lseek and close. Its file number is set, so
 * fileno works.
 *
 * Cookie streams know bytes only. We give ours what libc gives its own: no
 * orientation at first, and room for the state of wide characters. When a
 * wide function comes first (stdio-wide.c), libc turns the stream into one of
 * its own kind on the same descriptor and calls the kernel directly; so the
 * file leaves just before. freopen likewise makes it libc's own. From then on
 * the stream is `direct`: it still is ours to free, no longer ours to serve.
 */
#ifndef SPW_INTERPOSE_STDIO_H
#define SPW_INTERPOSE_STDIO_H

#include "interpose/proto.h"

#define SPW_STREAM_MAGIC 0x6d61657274737077u	/* "wpstream" */

struct spw_stream {
	uint64_t magic;
	FILE *fp;
	bool direct;			/* libc calls the kernel */
	bool made;			/* libc would have its buffer by now */
	bool unfit;			/* the next buffer is too large */
	size_t bufsize;			/* that libc would take */
	/* libc's struct _IO_wide_data: 232 bytes today. */
	_Alignas(16) unsigned char wide[512];
};

/* Where libc puts the wide state of most of its own streams: behind the FILE,
 * its table of functions and its lock. Only a short cut. */
#define SPW_STREAM_OWN_WIDE (sizeof(FILE) + 8 + 16)

/* Ours, or NULL. Any stream may be asked: before the wide state of libc's own
 * streams lies the rest of the stream. */
static inline struct spw_stream *
spw_stdio_stream(FILE *fp)
{
	char *wide = (char *)fp->_wide_data;
	struct spw_stream *s;

	if (!wide || wide == (char *)-1 ||
	    wide == (char *)fp + SPW_STREAM_OWN_WIDE)
		return NULL;
	s = (struct spw_stream *)(wide - offsetof(struct spw_stream, wide));
	return s->magic == SPW_STREAM_MAGIC && s->fp == fp ? s : NULL;
}

/* Unless the program said that it locks by itself. */
static inline void
spw_stdio_lock(FILE *fp)
{
	if (!(fp->_flags & _IO_USER_LOCK))
		flockfile(fp);
}

static inline void
spw_stdio_unlock(FILE *fp)
{
	if (!(fp->_flags & _IO_USER_LOCK))
		funlockfile(fp);
}

/* See stdio-buffer.c. False: no memory. */
bool spw_stdio_give_buffer(struct spw_stream *s);
/* Unless it holds something or is the program's. */
void spw_stdio_take_buffer(FILE *fp);
void spw_stdio_fit_buffer(struct spw_stream *s);

/* Before libc's stream code calls the kernel on this descriptor. */
void spw_stdio_go_direct(struct spw_stream *s);

/* Before a function that makes an undecided stream a wide one. */
static inline void
spw_stdio_widen(FILE *fp)
{
	struct spw_stream *s;

	if (fp->_mode != 0)		/* decided */
		return;
	s = spw_stdio_stream(fp);
	if (s && !s->direct)
		spw_stdio_go_direct(s);
}

#endif
