/* SPDX-License-Identifier: BSD-3-Clause */
/* stdio-wscan.c -- scanning wide characters, in libc's three dialects */

/*
 * Headers may give `fwscanf` the name of one of the other dialects, depending
 * on the standard asked for. So the functions here have names of their own
 * and say what they are called outside.
 */
#include <stdarg.h>

#include "interpose/real.h"
#include "interpose/stdio.h"

#define CALLED(name) __asm__(name) SPW_WRAP

int spw_vfwscanf(FILE *, const wchar_t *, va_list) CALLED("vfwscanf");
int spw_fwscanf(FILE *, const wchar_t *, ...) CALLED("fwscanf");
int spw_vwscanf(const wchar_t *, va_list) CALLED("vwscanf");
int spw_wscanf(const wchar_t *, ...) CALLED("wscanf");

int
spw_vfwscanf(FILE *fp, const wchar_t *fmt, va_list ap)
{
	spw_stdio_widen(fp);
	return REAL(vfwscanf)(fp, fmt, ap);
}

int
spw_fwscanf(FILE *fp, const wchar_t *fmt, ...)
{
	va_list ap;
	int r;

	va_start(ap, fmt);
	r = spw_vfwscanf(fp, fmt, ap);
	va_end(ap);
	return r;
}

int
spw_vwscanf(const wchar_t *fmt, va_list ap)
{
	return spw_vfwscanf(stdin, fmt, ap);
}

int
spw_wscanf(const wchar_t *fmt, ...)
{
	va_list ap;
	int r;

	va_start(ap, fmt);
	r = spw_vfwscanf(stdin, fmt, ap);
	va_end(ap);
	return r;
}

/* C99: "%a" is a number. */

SPW_WRAP int
__isoc99_vfwscanf(FILE *fp, const wchar_t *fmt, va_list ap)
{
	spw_stdio_widen(fp);
	return REAL(__isoc99_vfwscanf)(fp, fmt, ap);
}

SPW_WRAP int
__isoc99_fwscanf(FILE *fp, const wchar_t *fmt, ...)
{
	va_list ap;
	int r;

	va_start(ap, fmt);
	r = __isoc99_vfwscanf(fp, fmt, ap);
	va_end(ap);
	return r;
}

SPW_WRAP int
__isoc99_vwscanf(const wchar_t *fmt, va_list ap)
{
	return __isoc99_vfwscanf(stdin, fmt, ap);
}

SPW_WRAP int
__isoc99_wscanf(const wchar_t *fmt, ...)
{
	va_list ap;
	int r;

	va_start(ap, fmt);
	r = __isoc99_vfwscanf(stdin, fmt, ap);
	va_end(ap);
	return r;
}

/* C23: "%i" reads 0b too. Only a newer libc has these and is asked. */

SPW_WRAP int
__isoc23_vfwscanf(FILE *fp, const wchar_t *fmt, va_list ap)
{
	spw_stdio_widen(fp);
	return REAL(__isoc23_vfwscanf)(fp, fmt, ap);
}

SPW_WRAP int
__isoc23_fwscanf(FILE *fp, const wchar_t *fmt, ...)
{
	va_list ap;
	int r;

	va_start(ap, fmt);
	r = __isoc23_vfwscanf(fp, fmt, ap);
	va_end(ap);
	return r;
}

SPW_WRAP int
__isoc23_vwscanf(const wchar_t *fmt, va_list ap)
{
	return __isoc23_vfwscanf(stdin, fmt, ap);
}

SPW_WRAP int
__isoc23_wscanf(const wchar_t *fmt, ...)
{
	va_list ap;
	int r;

	va_start(ap, fmt);
	r = __isoc23_vfwscanf(stdin, fmt, ap);
	va_end(ap);
	return r;
}
