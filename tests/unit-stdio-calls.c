/* SPDX-License-Identifier: BSD-3-Clause */
/* unit-stdio-calls.c -- what a stream calls, how often, and errors from it */
#include <locale.h>
#include <stdio_ext.h>
#include <wchar.h>

#include "interpose/real.h"
#include "interpose/stdio.h"
#include "tests/guarded.h"
#include "tests/stdio-double.h"

static char buf[1 << 20];

static FILE *
fresh(const char *mode)
{
	FILE *f = fopen("m-calls", mode);

	CHECK(f && spw_fdtab_has(fileno(f)));
	return f;
}

/* Like libc's own stream: as large a buffer, and large pieces past it. */
static void
as_many_calls(void)
{
	FILE *f = fresh("w+"), *real = REAL(fopen)("libc", "w");
	unsigned n;

	CHECK(fputc('a', f) == 'a' && fputc('a', real) == 'a');
	CHECK(__fbufsize(f) == __fbufsize(real));
	CHECK(REAL(fclose)(real) == 0);
	CHECK(double_counts.writes == 0);
	CHECK(fflush(f) == 0 && double_counts.writes == 1);
	CHECK(fwrite(buf, 1, sizeof(buf), f) == sizeof(buf));
	CHECK(double_counts.writes <= 3);	/* whole buffers, the rest */
	rewind(f);
	n = double_counts.reads;
	CHECK(fread(buf, 1, sizeof(buf), f) == sizeof(buf));
	CHECK(double_counts.reads == n + 1);
	CHECK(fclose(f) == 0);
}

static void
unbuffered(void)
{
	FILE *f = fresh("w+");
	unsigned w, r;

	setbuf(f, NULL);
	w = double_counts.writes;
	CHECK(fputc('a', f) == 'a' && fputc('b', f) == 'b');
	CHECK(double_counts.writes == w + 2);
	CHECK(fputs("and a line", f) >= 0);
	CHECK(double_counts.writes == w + 3);
	rewind(f);
	r = double_counts.reads;
	CHECK(fread(buf, 1, 12, f) == 12 && double_counts.reads == r + 1);
	CHECK(fclose(f) == 0);
}

/* A single thread does not pay for locks, as with libc's streams. */
static void
locks_as_libc(void)
{
	FILE *f = fresh("w"), *real = REAL(fopen)("libc", "w");

	CHECK(f->_flags2 == real->_flags2);
	CHECK(REAL(fclose)(real) == 0 && fclose(f) == 0);
}

/* Errors of writing back come out of fclose, also of a wide stream. */
static void
errors_of_closing(void)
{
	FILE *f = fresh("w");

	double_close_error = EIO;
	errno = 0;
	CHECK(fclose(f) == EOF && errno == EIO);
	f = fresh("w");
	CHECK(fwide(f, 1) > 0 && double_counts.why == SPW_BYPASS_STDIO);
	double_close_error = ENOSPC;
	CHECK(fclose(f) == EOF && errno == ENOSPC);
	f = fresh("w");
	CHECK(close(fileno(f)) == 0 && fclose(f) == EOF && errno == EBADF);
}

/* A file that cannot come home is not given to libc. */
static void
errors_of_leaving(void)
{
	FILE *f = fresh("w");

	double_leave_error = ENOSPC;
	errno = 0;
	CHECK(fputwc(L'x', f) == WEOF && errno == ENOSPC && ferror(f));
	CHECK(fwide(f, 0) < 0);
	CHECK(fputs("bytes", f) >= 0 && fclose(f) == 0);
	double_leave_error = EIO;
	CHECK(!fopen("m-calls", "r,ccs=UTF-8") && errno == EIO);
	f = fresh("r");
	double_leave_error = EIO;
	CHECK(!freopen("m-calls", "w", f) && errno == EIO);
	CHECK(fclose(f) == EOF);
}

/* Numbers 0 to 2 are for libc's own streams. */
static void
standard_numbers(void)
{
	unsigned left = double_counts.left;
	FILE *f;

	CHECK(close(STDIN_FILENO) == 0);
	f = fresh("w+");
	CHECK(fileno(f) == STDIN_FILENO && !spw_stdio_stream(f));
	CHECK(double_counts.left == left + 1);
	CHECK(fclose(f) == 0 && !spw_fdtab_has(STDIN_FILENO));
	CHECK(open("/dev/null", O_RDONLY) == STDIN_FILENO);
}

static void
nothing_stays(void)
{
	for (int fd = 0; fd < 64; fd++)
		CHECK(!spw_fdtab_has(fd));
	CHECK(double_counts.opened <= double_counts.closed);
}

int
main(void)
{
	char dir[] = "/tmp/unit-stdio.XXXXXX";

	CHECK(mkdtemp(dir) && chdir(dir) == 0);
	setlocale(LC_ALL, "C.UTF-8");
	double_begin();
	as_many_calls();
	unbuffered();
	locks_as_libc();
	errors_of_closing();
	errors_of_leaving();
	standard_numbers();
	nothing_stays();
	CHECK(unlink("m-calls") == 0 && unlink("libc") == 0);
	CHECK(chdir("/") == 0 && rmdir(dir) == 0);
	return 0;
}
