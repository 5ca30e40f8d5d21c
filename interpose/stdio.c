/* SPDX-License-Identifier: BSD-3-Clause */
/* stdio.c -- opening, reopening and closing streams on managed files */
#include "interpose/stdio.h"

#include <dlfcn.h>

#include "interpose/front.h"
#include "interpose/leave.h"
#include "interpose/real.h"
#include "interpose/stdio-mode.h"
#include "shm/sys.h"
#include "shm/text.h"

/* Bits of _flags; their values are part of libc's binary interface. */
#define CURRENTLY_PUTTING	0x0800
#define IS_FILEBUF		0x2000

/* What a stream calls at its bottom, and what libc does around the same calls
 * in its own streams. The number is read from the stream each time: some
 * programs change it. */

static ssize_t
stream_read(void *cookie, char *buf, size_t n)
{
	struct spw_stream *s = cookie;
	FILE *fp = s->fp;

	if (SPW_UNLIKELY(s->unfit)) {
		spw_stdio_fit_buffer(s);
		n = SPW_MIN(n, (size_t)(fp->_IO_buf_end - fp->_IO_buf_base));
	}
	return read(fp->_fileno, buf, n);
}

static ssize_t
stream_write(void *cookie, const char *buf, size_t n)
{
	struct spw_stream *s = cookie;
	size_t done = 0;

	while (done < n) {
		ssize_t r = write(s->fp->_fileno, buf + done, n - done);

		if (r < 0)
			break;
		done += (size_t)r;
	}
	if (s->fp->_offset >= 0)
		s->fp->_offset += (off_t)done;
	return (ssize_t)done;		/* a short count is the error */
}

static int
stream_seek(void *cookie, off_t *off, int whence)
{
	struct spw_stream *s = cookie;
	off_t r = lseek(s->fp->_fileno, *off, whence);

	spw_stdio_fit_buffer(s);
	if (r < 0)
		return -1;
	*off = r;
	return 0;
}

static int
stream_close(void *cookie)
{
	struct spw_stream *s = cookie;
	int cancel, r;

	/* libc's streams close without being cancelled. */
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	r = close(s->fp->_fileno);
	pthread_setcancelstate(cancel, NULL);
	if (!s->direct)			/* else fclose still needs it */
		free(s);
	return r;
}

/*
 * Where in the wide state libc keeps the functions of a wide stream; the rest
 * of a fresh one is zero. Found by looking for them in one of the standard
 * streams, so no version's layout is written down here. 0: not found.
 */
static size_t
wide_functions_at(const void **ret_functions)
{
	static const char *const versions[] = { "GLIBC_2.2.5", "GLIBC_2.17" };
	FILE *const known[] = { stderr, stdout, stdin };
	const void *jumps = dlsym(RTLD_NEXT, "_IO_wfile_jumps");

	for (size_t i = 0; !jumps && i < 2; i++)
		jumps = dlvsym(RTLD_NEXT, "_IO_wfile_jumps", versions[i]);
	*ret_functions = jumps;
	for (size_t i = 0; jumps && i < 3; i++) {
		const void *const *word = (void *)known[i]->_wide_data;

		if (!word || word == (void *)-1 || spw_stdio_stream(known[i]))
			continue;
		for (size_t at = 8; at < 40; at++)	/* 28 today */
			if (word[at] == jumps)
				return at * sizeof(*word);
	}
	return 0;
}

/* The offset, looked up once; racing threads find the same. */
static bool
make_wide(unsigned char *wide)
{
	static _Atomic size_t offset;
	static _Atomic(const void *) functions;
	const void *jumps = atomic_load(&functions);
	size_t at = atomic_load(&offset);

	if (!at) {
		at = wide_functions_at(&jumps);
		atomic_store(&functions, jumps);
		atomic_store(&offset, at);
	}
	memcpy(wide + at, &jumps, sizeof(jumps));
	return at > 0;
}

/* Takes the stream apart that was not given out; fd stays open. */
static void
drop(FILE *fp, struct spw_stream *s)
{
	fp->_fileno = -1;
	(void)REAL(fclose)(fp);		/* is not open: frees and no more */
	free(s);
}

/* A stream over a managed descriptor; NULL when memory is short or libc is
 * unlike those we know. */
static FILE *
make_stream(int fd, const struct spw_stdio_mode *m)
{
	static const cookie_io_functions_t calls = {
		stream_read, stream_write, stream_seek, stream_close
	};
	struct spw_stream *s = calloc(1, sizeof(*s));
	FILE *fp;

	if (!s || !make_wide(s->wide)) {
		free(s);
		return NULL;
	}
	fp = fopencookie(s, m->plain, calls);
	if (!fp) {
		free(s);
		return NULL;
	}
	s->magic = SPW_STREAM_MAGIC;
	s->fp = fp;
	fp->_fileno = fd;
	if (!spw_stdio_give_buffer(s)) {
		drop(fp, s);
		return NULL;
	}
	/* Cookie streams lock in every call; like others, ours do when there
	 * are threads. The standard streams know. */
	fp->_flags2 &= stderr->_flags2;
	fp->_flags2 |= m->flags2;
	fp->_wide_data = (struct _IO_wide_data *)s->wide;
	fp->_mode = 0;			/* bytes or wide: not decided */
	return fp;
}

/* libc's own stream over fd. */
static FILE *
libc_stream(int fd, const struct spw_stdio_mode *m)
{
	FILE *fp = REAL(fdopen)(fd, m->plain);

	if (fp)
		fp->_flags2 |= m->flags2;
	return fp;
}

/* Before libc calls the kernel on fd. False, with errno, when what we hold of
 * the file cannot be brought home: libc would see an old file. */
static bool
left(int fd, enum spw_bypass why)
{
	int r = spw_leave(fd, why);

	if (r < 0)
		errno = -r;
	return r == 0;
}

static FILE *
stream_on(int fd, const struct spw_stdio_mode *m)
{
	FILE *fp;

	if (fd > 2 && spw_fdtab_has(fd)) {
		fp = make_stream(fd, m);
		if (fp)
			return fp;
	}
	return left(fd, SPW_BYPASS_STDIO) ? libc_stream(fd, m) : NULL;
}

void
spw_stdio_go_direct(struct spw_stream *s)
{
	FILE *fp = s->fp;
	int err = errno;

	if (!left(fp->_fileno, SPW_BYPASS_STDIO)) {
		/* Undecided no more: every wide function will fail, and finds
		 * the reason in errno. */
		fp->_flags |= _IO_ERR_SEEN;
		fp->_mode = -1;
		return;
	}
	/* A wide stream makes its second buffer together with the first. */
	spw_stdio_take_buffer(fp);
	s->direct = true;
	errno = err;
}

static int
open_for(const char *path, const struct spw_stdio_mode *m)
{
	int fd = open(path, m->oflags, 0666);

	if (fd >= 0 && m->append_only &&
	    lseek(fd, 0, SEEK_END) < 0 && errno != ESPIPE) {
		int err = errno;

		(void)close(fd);
		errno = err;
		return -1;
	}
	return fd;
}

/* Closing on the way out of a failure. */
static void
close_after(int fd)
{
	int err = errno;

	(void)close(fd);
	errno = err;
}

/* A file that libc can open in any mode to set a stream up; what it is open
 * on is then exchanged. */
static const char *
stand_in(const char *otherwise)
{
	int fd = spw_sys_open("/dev/null", O_RDWR | O_CLOEXEC, 0);

	if (fd < 0)
		return otherwise;
	(void)spw_sys_close(fd);
	return "/dev/null";
}

/* The mode again, to open what exists: "x" becomes "b", which means nothing.
 * To be freed. */
static char *
without_excl(const char *mode)
{
	char *copy = strdup(mode);

	for (int i = 1; copy && i < 7 && copy[i]; i++)
		if (copy[i] == 'x')
			copy[i] = 'b';
	return copy;
}

/* Only libc's fopen can set up a conversion; it does so over a stand-in. */
static FILE *
converting_stream(int fd, const char *path, const char *mode)
{
	char *again;
	FILE *fp;

	if (!left(fd, SPW_BYPASS_STDIO))
		return NULL;
	again = without_excl(mode);
	if (!again)
		return NULL;
	fp = REAL(fopen)(stand_in(path), again);
	free(again);
	if (!fp)
		return NULL;
	(void)spw_sys_close(fp->_fileno);
	fp->_fileno = fd;
	return fp;
}

SPW_WRAP FILE *
fopen(const char *path, const char *mode)
{
	struct spw_stdio_mode m;
	FILE *fp;
	int fd;

	if (!spw_front_is_on() || spw_stdio_mode_parse(mode, &m) < 0)
		return REAL(fopen)(path, mode);
	fd = open_for(path, &m);
	if (fd < 0)
		return NULL;
	fp = m.converts ? converting_stream(fd, path, mode)
			: stream_on(fd, &m);
	if (!fp)
		close_after(fd);
	return fp;
}
SPW_ALIAS(fopen64, fopen);
SPW_ALIAS(_IO_fopen, fopen);

/* The descriptor must allow what the stream will do, and append. */
static int
fit_flags(int fd, const struct spw_stdio_mode *m)
{
	int has = fcntl(fd, F_GETFL), wants = m->oflags & O_ACCMODE;

	if (has < 0)
		return -1;
	if ((has & O_ACCMODE) != O_RDWR && (has & O_ACCMODE) != wants &&
	    (has & O_ACCMODE) <= O_RDWR) {
		errno = EINVAL;
		return -1;
	}
	if (!(m->oflags & O_APPEND) || (has & O_APPEND))
		return 0;
	if (fcntl(fd, F_SETFL, has | O_APPEND) < 0)
		return -1;
	if (m->append_only && lseek(fd, 0, SEEK_END) < 0 && errno != ESPIPE)
		return -1;
	return 0;
}

SPW_WRAP FILE *
fdopen(int fd, const char *mode)
{
	struct spw_stdio_mode m;

	if (!spw_fdtab_has(fd) || spw_stdio_mode_parse_fd(mode, &m) < 0)
		return REAL(fdopen)(fd, mode);
	if (fit_flags(fd, &m) < 0)
		return NULL;
	return stream_on(fd, &m);
}
SPW_ALIAS(_IO_fdopen, fdopen);

/* Before libc closes the descriptor of a stream by itself. What the buffer
 * holds goes out first, while the descriptor is still known. Returns the
 * errno of what went wrong, or 0. */
static int
flush_and_forget(FILE *fp)
{
	int fd = fp->_fileno, err = 0, late;

	if ((fp->_flags & CURRENTLY_PUTTING) &&
	    (!left(fd, SPW_BYPASS_STDIO) || fflush(fp) == EOF))
		err = errno;
	late = spw_fdtab_closing(fd);
	return late ? late : err;
}

SPW_WRAP int
fclose(FILE *fp)
{
	struct spw_stream *s = spw_stdio_stream(fp);
	int r, err;

	/* A stream over our calls closes through them. */
	if (s ? !s->direct : !spw_fdtab_has(fp->_fileno))
		return REAL(fclose)(fp);
	err = flush_and_forget(fp);
	r = REAL(fclose)(fp);
	free(s);
	if (r == 0 && err) {
		errno = err;
		r = EOF;
	}
	return r;
}
SPW_ALIAS(_IO_fclose, fclose);

/* libc's freopen, which closes the old file, on a path of our choice. */
static FILE *
reopen_as_libc(const char *path, const char *mode, FILE *fp)
{
	struct spw_stream *s = spw_stdio_stream(fp);

	if (s)
		s->direct = true;
	(void)spw_fdtab_closing(fp->_fileno);
	return REAL(freopen)(path, mode, fp);
}

/* The stream as after any failed freopen: closed. */
static FILE *
reopen_failed(FILE *fp)
{
	int err = errno;

	(void)reopen_as_libc("", "r", fp);
	errno = err;
	return NULL;
}

/* Puts the open file `fd` under the stream, which has the number `to` or, if
 * that is negative, none. */
static FILE *
exchange(FILE *fp, int fd, int to)
{
	int cloexec = fp->_flags2 & SPW_FLAGS2_CLOEXEC ? O_CLOEXEC : 0;

	if (to < 0) {
		(void)spw_sys_close(fp->_fileno);
		fp->_fileno = fd;
		return fp;
	}
	if (dup3(fd, to, cloexec) < 0) {
		close_after(fd);
		return reopen_failed(fp);
	}
	(void)close(fd);
	return fp;
}

static FILE *
reopen_on(int fd, const char *path, const char *mode, FILE *fp)
{
	char *again = without_excl(mode);
	int to = fp->_fileno;
	FILE *ret;

	if (!again || !left(fd, SPW_BYPASS_FREOPEN)) {
		free(again);
		close_after(fd);
		return reopen_failed(fp);
	}
	ret = reopen_as_libc(stand_in(path), again, fp);
	free(again);
	if (!ret) {
		close_after(fd);
		return NULL;
	}
	return exchange(ret, fd, to);
}

static FILE *
reopen(const char *path, const char *mode, FILE *fp)
{
	struct spw_stdio_mode m;
	char by_number[40];
	struct spw_text t;
	int fd;

	(void)fflush(fp);		/* libc ignores a failure here */
	if (spw_stdio_mode_parse(mode, &m) < 0)
		return reopen_as_libc(path, mode, fp);
	if (!path) {
		spw_text_init(&t, by_number, sizeof(by_number));
		spw_text_fmt(&t, "/proc/thread-self/fd/%u",
			     (unsigned)fp->_fileno);
		path = by_number;
	}
	fd = open_for(path, &m);
	if (fd >= 0 && fd == fp->_fileno)	/* closed under the stream */
		fd = fcntl(fd, F_DUPFD_CLOEXEC, 3);
	if (fd < 0)
		return reopen_failed(fp);
	return reopen_on(fd, path, mode, fp);
}

SPW_WRAP FILE *
freopen(const char *path, const char *mode, FILE *fp)
{
	FILE *ret;

	if (!spw_front_is_on() || (!path && !spw_fdtab_has(fp->_fileno)) ||
	    !(fp->_flags & IS_FILEBUF) || fp->_fileno < -1)
		return REAL(freopen)(path, mode, fp);
	flockfile(fp);
	ret = reopen(path, mode, fp);
	funlockfile(fp);
	return ret;
}
SPW_ALIAS(freopen64, freopen);
