/* SPDX-License-Identifier: BSD-3-Clause */
/* unit-stdio-random.c -- the same random calls on libc's stream and on ours */

/*
 * Every round opens a file twice, as a stream of libc and as one of ours,
 * makes the same calls on both and wants the same answers, the same errno and
 * the same bytes at the end. As long as the position was not moved, the file
 * grows at the same calls too; afterwards libc may have its buffer begin at a
 * block of the file, where ours begins at the position.
 *
 *	unit-stdio-random [rounds [seed]]
 */
#include <locale.h>
#include <stdio_ext.h>
#include <wchar.h>

#include "interpose/real.h"
#include "shm/sys.h"
#include "tests/guarded.h"
#include "tests/stdio-double.h"

enum { CALLS = 80, MAX = 20000 };

static const char *const name[2] = { "stdio-libc", "m-stdio-ours" };

static FILE *f[2];
static char buf[2][MAX + 64];
static wchar_t wbuf[2][MAX];
static char own_buffer[2][8192];
static long answer[2];
static int err[2];
static uint64_t state, seed;
static bool reads, writes, was_reading, was_writing, was_moved, is_wide;
static bool strays;			/* reads what it may only write, or so */
static const char *what = "nothing";

static unsigned
rnd(unsigned n)
{
	return (unsigned)(draw(&state) % n);
}

static void
differ(const char *how)
{
	fprintf(stderr, "seed %llu: %s differs after %s: %ld and %ld, "
		"errno %d and %d\n", (unsigned long long)seed, how, what,
		answer[0], answer[1], err[0], err[1]);
	exit(1);
}

/* Evaluates expr for both streams; `i` is which. */
#define BOTH(expr)							\
	do {								\
		what = #expr;						\
		for (int i = 0; i < 2; i++) {				\
			errno = 0;					\
			answer[i] = (long)(expr);			\
			err[i] = errno;					\
		}							\
		if (answer[0] != answer[1])				\
			differ("answer");				\
		if (answer[0] < 0 && err[0] != err[1])			\
			differ("errno");				\
	} while (0)

static long
size_of(const char *path)
{
	struct stat st;

	return stat(path, &st) < 0 ? -1 : (long)st.st_size;
}

static void
compare_state(void)
{
	const char *last = what;

	for (int i = 0; i < 2; i++)
		answer[i] = was_moved ? 0 : size_of(name[i]);
	if (answer[0] != answer[1])
		differ("size");
	for (int i = 0; i < 2; i++)
		answer[i] = feof(f[i]) | ferror(f[i]) << 1;
	if (answer[0] != answer[1])
		differ("feof or ferror");
	BOTH(fwide(f[i], 0) > 0);
	what = last;
}

static void
compare_bytes(void)
{
	static char bytes[2][1 << 16];
	ssize_t n[2], at = 0;

	do {
		for (int i = 0; i < 2; i++) {
			int fd = spw_sys_open(name[i], O_RDONLY, 0);

			n[i] = spw_sys_pread(fd, bytes[i], sizeof(bytes[i]),
					     (uint64_t)at);
			spw_sys_close(fd);
		}
		if (n[0] != n[1] ||
		    (n[0] > 0 && memcmp(bytes[0], bytes[1], (size_t)n[0])))
			differ("file");
		at += n[0];
	} while (n[0] > 0);
}

static void
same_buffer(long n)
{
	if (n > 0 && memcmp(buf[0], buf[1], (size_t)n))
		differ("data");
}

static unsigned
some_size(void)
{
	static const unsigned edges[] = { 1, 4095, 4096, 4097, 8192, 16384 };

	switch (rnd(4)) {
	case 0:
		return edges[rnd(6)];
	case 1:
		return 1 + rnd(MAX);
	default:
		return 1 + rnd(200);
	}
}

/* The rules of the standard: between writing and reading comes a flush or a
 * seek, between reading and writing a seek. */
static void
will_read(void)
{
	if (was_writing)
		BOTH(fflush(f[i]));
	was_writing = false;
	was_reading = true;
}

static void
will_write(void)
{
	if (was_reading) {
		BOTH(fseeko(f[i], 0, SEEK_CUR));
		was_moved = true;
	}
	was_reading = false;
	was_writing = true;
}

static void
one_write(void)
{
	unsigned n = some_size(), c = rnd(256), width = 1 + rnd(300);

	will_write();
	for (unsigned k = 0; k < n; k++)
		buf[0][k] = rnd(20) ? (char)('a' + rnd(26)) : '\n';
	buf[0][n] = '\0';
	switch (rnd(7)) {
	case 0:
		BOTH(fputc((int)c, f[i]));
		break;
	case 1:
		BOTH(putc_unlocked((int)c, f[i]));
		break;
	case 2:
		BOTH(fputs(buf[0], f[i]));
		break;
	case 3:
		BOTH(fwrite(buf[0], 1, n, f[i]));
		break;
	case 4:
		BOTH(fwrite(buf[0], 7, n / 7, f[i]));
		break;
	case 5:
		BOTH(fprintf(f[i], "%*d %s\n", (int)width, (int)c, "text"));
		break;
	case 6:
		BOTH(dprintf(fileno(f[i]), "%.*s", 0, buf[0]));
		break;
	}
}

static long
line_of(int i)
{
	char *line = NULL;
	size_t cap = 0;
	ssize_t n = getline(&line, &cap, f[i]);

	if (n > 0)
		memcpy(buf[i], line, (size_t)n < MAX ? (size_t)n : MAX);
	free(line);
	return n;
}

/* What was read, or something else, which is read at once: a flush in between
 * has no defined outcome. */
static void
push_back(int c)
{
	if (rnd(2)) {
		BOTH(ungetc(c, f[i]));
		return;
	}
	BOTH(ungetc('x', f[i]));
	BOTH(fread(buf[i], 1, 2 + c * 50, f[i]));
	same_buffer(answer[0]);
}

/* What is pushed back is read, and more: libc's own streams go astray on the
 * way back to the buffer otherwise, where it was written to before. */
static void
read_pushed(void)
{
	unsigned n = 1 + some_size();

	BOTH(fread(buf[i], 1, n, f[i]));
	same_buffer(answer[0]);
}

/* Before all else: nothing was read that could be pushed back. */
static void
push_first(void)
{
	fpos_t pos[2];

	BOTH(ungetc('p', f[i]));
	switch (rnd(5)) {
	case 0:
		BOTH(ftello(f[i]));
		break;
	case 1:
		BOTH(fgetpos(f[i], &pos[i]));
		break;
	case 2:
		BOTH(fseeko(f[i], 3, SEEK_CUR));
		was_moved = true;
		break;
	case 3:
		BOTH(fseek(f[i], 0, SEEK_END));
		was_moved = true;
		break;
	}
	was_reading = true;
	read_pushed();
}

static void
one_read(void)
{
	unsigned n = some_size(), size = 1 + rnd(9);

	will_read();
	switch (rnd(strays ? 8 : 9)) {
	case 0:
		BOTH(fgetc(f[i]));
		break;
	case 1:
		BOTH(getc_unlocked(f[i]));
		break;
	case 2:
		BOTH(fgets(buf[i], (int)n, f[i]) ? strlen(buf[i]) : 0);
		same_buffer(answer[0]);
		break;
	case 3:
		BOTH(line_of(i));
		same_buffer(answer[0] < MAX ? answer[0] : MAX);
		break;
	case 4:
		BOTH(fread(buf[i], 1, n, f[i]));
		same_buffer(answer[0]);
		break;
	case 5:
		BOTH(fread(buf[i], size, n / size, f[i]));
		same_buffer(answer[0] * size);
		break;
	case 6:
		BOTH(fread_unlocked(buf[i], 1, n, f[i]));
		same_buffer(answer[0]);
		break;
	case 7:				/* never before the first byte */
		BOTH(fgetc(f[i]));
		if (answer[0] != EOF)
			push_back((int)answer[0]);
		break;
	case 8:
		BOTH(ungetc('q', f[i]));
		read_pushed();
		break;
	}
}

static void
one_seek(void)
{
	long size = size_of(name[0]), to = rnd((unsigned)size + 5000);
	fpos_t pos[2];

	was_moved = true;
	switch (rnd(8)) {
	case 0:
		BOTH(fseeko(f[i], to, SEEK_SET));
		break;
	case 1:
		to = (long)rnd(300) - 150;
		BOTH(fseeko(f[i], to, SEEK_CUR));
		break;
	case 2:
		to = -(long)rnd((unsigned)size + 10);
		BOTH(fseek(f[i], to, SEEK_END));
		break;
	case 3:
		BOTH((rewind(f[i]), 0));
		break;
	case 4:
		BOTH(fseek(f[i], -1, SEEK_SET));
		break;
	case 5:
		BOTH(fseek(f[i], 0, 99));
		break;
	case 6:
		BOTH(fgetpos(f[i], &pos[i]));
		if (answer[0] == 0)
			BOTH(fsetpos(f[i], &pos[i]));
		break;
	default:
		BOTH(ftello(f[i]));
		return;
	}
	if (answer[0] == 0)
		was_reading = was_writing = false;
}

/* What only a flushed stream allows: its descriptor used directly. */
static void
one_raw_call(void)
{
	long to = rnd(6000);

	was_moved = true;
	BOTH(fflush(f[i]));
	BOTH(lseek(fileno(f[i]), 0, SEEK_CUR));
	if (writes)
		BOTH(ftruncate(fileno(f[i]), to));
	BOTH(lseek(fileno(f[i]), to / 2, SEEK_SET));
	BOTH(fseek(f[i], 0, SEEK_CUR));
	was_reading = was_writing = false;
}

/* Before all else. */
static void
set_buffer(void)
{
	static const int kinds[] = { _IOFBF, _IOLBF, _IONBF };
	unsigned kind = rnd(3), n = 64 + rnd(sizeof(own_buffer[0]) - 64);

	switch (rnd(4)) {
	case 0:
		BOTH(setvbuf(f[i], own_buffer[i], kinds[kind], n));
		break;
	case 1:
		BOTH(setvbuf(f[i], NULL, kinds[kind], 0));
		break;
	}
}

static void
one_wide_call(void)
{
	static const wchar_t *const text = L"z\u00fcrich \u4e2d\u6587\n";
	unsigned n = 2 + rnd(300);
	long size = size_of(name[0]);

	was_moved = true;
	if (fwide(f[0], 0) == 0 && rnd(2))
		BOTH(fwide(f[i], 1));
	/* libc reads nothing when the first call is a seek. */
	if (rnd(3) == 0 && fwide(f[0], 0) > 0) {
		if (rnd(2))
			BOTH((rewind(f[i]), 0));
		else
			BOTH(fseek(f[i], 0, SEEK_END));
		was_reading = was_writing = false;
		return;
	}
	if (writes && (!reads || rnd(2))) {
		if (was_reading)
			BOTH(fseek(f[i], 0, SEEK_END));
		was_reading = false;
		was_writing = true;
		switch (rnd(3)) {
		case 0:
			BOTH(fputwc(L'\u00e9', f[i]));
			break;
		case 1:
			BOTH(fputws(text, f[i]));
			break;
		case 2:
			BOTH(fwprintf(f[i], L"%ld %ls", size, text));
			break;
		}
		return;
	}
	if (was_writing)
		BOTH((rewind(f[i]), 0));
	was_writing = false;
	was_reading = true;
	switch (rnd(3)) {
	case 0:
		BOTH(fgetwc(f[i]));
		break;
	case 1:
		BOTH(fgetws(wbuf[i], (int)n, f[i]) ? wcslen(wbuf[i]) : 0);
		if (answer[0] && wcscmp(wbuf[0], wbuf[1]))
			differ("wide text");
		break;
	case 2:
		BOTH(fgetwc(f[i]));
		if (answer[0] != (long)WEOF)
			BOTH(ungetwc(L'y', f[i]));
		break;
	}
}

static void
one_call(void)
{
	if (is_wide) {
		one_wide_call();
		return;
	}
	switch (rnd(12)) {
	case 0:
	case 1:
		one_seek();
		break;
	case 2:
		if (rnd(2))
			BOTH(fflush(f[i]));
		else
			BOTH((clearerr(f[i]), 0));
		break;
	case 3:
		one_raw_call();
		break;
	default:
		if (writes && (!reads || rnd(2)))
			one_write();
		else
			one_read();
	}
}

/* A mode at random; now and then a call that it forbids. */
static const char *
some_mode(void)
{
	static const char *const modes[] = {
		"r", "rb", "r+", "w", "w+", "a", "a+", "rb+", "r+b", "wx",
		"re", "rce", "w+b", "q", "", "a+e",
	};
	const char *mode = modes[rnd(ARRAY_LEN(modes))];

	strays = rnd(10) == 0;
	reads = mode[0] == 'r' || strchr(mode, '+') || strays;
	writes = mode[0] != 'r' || strchr(mode, '+') || strays;
	return mode;
}

/* fopen, or open and fdopen: ours, or libc's by its real name. */
static FILE *
open_one(int i, const char *mode, bool by_fd, int flags)
{
	FILE *(*by_name)(const char *, const char *) = i ? fopen : REAL(fopen);
	FILE *(*by_number)(int, const char *) = i ? fdopen : REAL(fdopen);
	FILE *fp;
	int fd;

	if (!by_fd)
		return by_name(name[i], mode);
	fd = open(name[i], flags, 0666);
	if (fd < 0)
		return NULL;
	fp = by_number(fd, mode);
	if (!fp) {
		int e = errno;

		close(fd);
		errno = e;
	}
	return fp;
}

/* Text for a round of wide characters: libc's fseek does not end on bytes
 * that are none. */
static void
write_text(void)
{
	unsigned n = rnd(9000);

	memset(buf[0], 'a', n);
	for (int i = 0; i < 2; i++) {
		int fd = spw_sys_open(name[i], O_WRONLY | O_CREAT | O_TRUNC,
				      0666);

		CHECK(spw_sys_write(fd, buf[0], n) == n);
		spw_sys_close(fd);
	}
}

static bool
open_both(void)
{
	static const int some_flags[] = {
		O_RDONLY, O_WRONLY, O_RDWR, O_RDWR | O_APPEND,
		O_RDWR | O_CREAT,
	};
	const char *mode = some_mode();
	bool by_fd = rnd(3) == 0;
	int flags = some_flags[rnd(ARRAY_LEN(some_flags))];

	if (mode[0] != 'a')	/* libc's idea of the position is wrong then */
		flags &= ~O_APPEND;
	was_reading = was_writing = was_moved = false;
	is_wide = rnd(5) == 0;
	if (is_wide)
		write_text();
	BOTH((f[i] = open_one(i, mode, by_fd, flags)) ? 0 : -1);
	if (answer[0] < 0)
		return false;
	BOTH(fcntl(fileno(f[i]), F_GETFD));
	BOTH(fcntl(fileno(f[i]), F_GETFL));
	if (!is_wide)			/* libc's fseek is wrong then */
		set_buffer();
	return true;
}

static bool
reopen_both(void)
{
	const char *mode = some_mode(), *path[2] = { NULL, NULL };

	if (rnd(2)) {
		path[0] = name[0];
		path[1] = name[1];
	}
	if (strays)
		double_short = 0;
	if (mode[0] == '\0' || mode[0] == 'q' || strchr(mode, 'x'))
		mode = "r+";
	is_wide = rnd(3) == 0;
	if (is_wide) {
		mode = "w+";
		reads = writes = true;
	}
	was_reading = was_writing = was_moved = false;
	BOTH((i ? freopen : REAL(freopen))(path[i], mode, f[i]) ? 0 : -1);
	if (answer[0] < 0) {
		BOTH((i ? fclose : REAL(fclose))(f[i]));
		return false;
	}
	BOTH(fcntl(fileno(f[i]), F_GETFD));
	BOTH(fcntl(fileno(f[i]), F_GETFL));
	if (!is_wide)			/* libc's fseek is wrong then */
		set_buffer();
	return true;
}

static int
close_one(int i)
{
	int fd = fileno(f[i]), r = (i ? fclose : REAL(fclose))(f[i]);

	CHECK(fcntl(fd, F_GETFD) < 0);
	CHECK(!spw_fdtab_has(fd));
	return r;
}

static void
one_round(void)
{
	unsigned calls = rnd(CALLS);

	double_short = 0;
	double_turns = (uint32_t)seed;
	if (!open_both())
		return;
	if (rnd(3) == 0 && !strays)
		double_short = 5;
	if (reads && !strays && !is_wide && rnd(4) == 0)
		push_first();
	for (unsigned k = 0; k < calls; k++) {
		one_call();
		compare_state();
		/* libc forgets part of a wide stream's state in freopen. */
		if (rnd(100) == 0 && !is_wide && !reopen_both())
			return;
	}
	/* The descriptor may be closed under a stream. */
	if (rnd(50) == 0)
		BOTH(close(fileno(f[i])));
	BOTH(close_one(i));
}

int
main(int argc, char **argv)
{
	unsigned long rounds = argc > 1 ? strtoul(argv[1], NULL, 0) : 4000;
	uint64_t first = argc > 2 ? strtoull(argv[2], NULL, 0) : 1;
	char dir[] = "/tmp/unit-stdio.XXXXXX";

	CHECK(mkdtemp(dir) && chdir(dir) == 0);
	setlocale(LC_ALL, "C.UTF-8");
	double_begin();
	for (seed = first; seed < first + rounds; seed++) {
		state = seed;
		one_round();
		compare_bytes();
		if (seed % 20 == 0)	/* start afresh now and then */
			for (int i = 0; i < 2; i++)
				(void)unlink(name[i]);
	}
	CHECK(double_counts.opened > rounds / 3);
	CHECK(double_counts.reads > 0 && double_counts.writes > 0);
	CHECK(double_counts.left > 0);
	for (int i = 0; i < 2; i++)
		(void)unlink(name[i]);
	CHECK(chdir("/") == 0 && rmdir(dir) == 0);
	return 0;
}
