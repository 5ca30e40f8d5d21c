/* SPDX-License-Identifier: BSD-3-Clause */
/* stdio-wide.c -- wide characters: the first one makes the file leave */

/*
 * Everything here is libc's function with one look at the stream before it.
 * The look is complete only if no function is missing that can decide an
 * undecided stream for wide characters.
 */
#include <stdarg.h>

#include "interpose/real.h"
#include "interpose/stdio.h"

#undef getwc
#undef putwc
#undef getwchar
#undef putwchar
#undef getwc_unlocked
#undef putwc_unlocked
#undef getwchar_unlocked
#undef putwchar_unlocked

SPW_WRAP int
fwide(FILE *fp, int mode)
{
	if (mode > 0)
		spw_stdio_widen(fp);
	return REAL(fwide)(fp, mode);
}

/* One character. */

SPW_WRAP wint_t
fgetwc(FILE *fp)
{
	spw_stdio_widen(fp);
	return REAL(fgetwc)(fp);
}
SPW_ALIAS(getwc, fgetwc);

SPW_WRAP wint_t
fgetwc_unlocked(FILE *fp)
{
	spw_stdio_widen(fp);
	return REAL(fgetwc_unlocked)(fp);
}
SPW_ALIAS(getwc_unlocked, fgetwc_unlocked);

SPW_WRAP wint_t
getwchar(void)
{
	spw_stdio_widen(stdin);
	return REAL(getwchar)();
}

SPW_WRAP wint_t
getwchar_unlocked(void)
{
	spw_stdio_widen(stdin);
	return REAL(getwchar_unlocked)();
}

SPW_WRAP wint_t
fputwc(wchar_t c, FILE *fp)
{
	spw_stdio_widen(fp);
	return REAL(fputwc)(c, fp);
}
SPW_ALIAS(putwc, fputwc);

SPW_WRAP wint_t
fputwc_unlocked(wchar_t c, FILE *fp)
{
	spw_stdio_widen(fp);
	return REAL(fputwc_unlocked)(c, fp);
}
SPW_ALIAS(putwc_unlocked, fputwc_unlocked);

SPW_WRAP wint_t
putwchar(wchar_t c)
{
	spw_stdio_widen(stdout);
	return REAL(putwchar)(c);
}

SPW_WRAP wint_t
putwchar_unlocked(wchar_t c)
{
	spw_stdio_widen(stdout);
	return REAL(putwchar_unlocked)(c);
}

SPW_WRAP wint_t
ungetwc(wint_t c, FILE *fp)
{
	spw_stdio_widen(fp);
	return REAL(ungetwc)(c, fp);
}

SPW_WRAP wint_t
__woverflow(FILE *fp, wint_t c)
{
	spw_stdio_widen(fp);
	return REAL(__woverflow)(fp, c);
}

SPW_WRAP wint_t
__wuflow(FILE *fp)
{
	spw_stdio_widen(fp);
	return REAL(__wuflow)(fp);
}

SPW_WRAP wint_t
__wunderflow(FILE *fp)
{
	spw_stdio_widen(fp);
	return REAL(__wunderflow)(fp);
}

/* Lines. */

SPW_WRAP wchar_t *
fgetws(wchar_t *buf, int n, FILE *fp)
{
	spw_stdio_widen(fp);
	return REAL(fgetws)(buf, n, fp);
}

SPW_WRAP wchar_t *
fgetws_unlocked(wchar_t *buf, int n, FILE *fp)
{
	spw_stdio_widen(fp);
	return REAL(fgetws_unlocked)(buf, n, fp);
}

SPW_WRAP wchar_t *
__fgetws_chk(wchar_t *buf, size_t cap, int n, FILE *fp)
{
	spw_stdio_widen(fp);
	return REAL(__fgetws_chk)(buf, cap, n, fp);
}

SPW_WRAP wchar_t *
__fgetws_unlocked_chk(wchar_t *buf, size_t cap, int n, FILE *fp)
{
	spw_stdio_widen(fp);
	return REAL(__fgetws_unlocked_chk)(buf, cap, n, fp);
}

SPW_WRAP int
fputws(const wchar_t *s, FILE *fp)
{
	spw_stdio_widen(fp);
	return REAL(fputws)(s, fp);
}

SPW_WRAP int
fputws_unlocked(const wchar_t *s, FILE *fp)
{
	spw_stdio_widen(fp);
	return REAL(fputws_unlocked)(s, fp);
}

/* Printing. */

SPW_WRAP int
vfwprintf(FILE *fp, const wchar_t *fmt, va_list ap)
{
	spw_stdio_widen(fp);
	return REAL(vfwprintf)(fp, fmt, ap);
}

SPW_WRAP int
__vfwprintf_chk(FILE *fp, int level, const wchar_t *fmt, va_list ap)
{
	spw_stdio_widen(fp);
	return REAL(__vfwprintf_chk)(fp, level, fmt, ap);
}

SPW_WRAP int
vwprintf(const wchar_t *fmt, va_list ap)
{
	return vfwprintf(stdout, fmt, ap);
}

SPW_WRAP int
__vwprintf_chk(int level, const wchar_t *fmt, va_list ap)
{
	return __vfwprintf_chk(stdout, level, fmt, ap);
}

SPW_WRAP int
fwprintf(FILE *fp, const wchar_t *fmt, ...)
{
	va_list ap;
	int r;

	va_start(ap, fmt);
	r = vfwprintf(fp, fmt, ap);
	va_end(ap);
	return r;
}

SPW_WRAP int
__fwprintf_chk(FILE *fp, int level, const wchar_t *fmt, ...)
{
	va_list ap;
	int r;

	va_start(ap, fmt);
	r = __vfwprintf_chk(fp, level, fmt, ap);
	va_end(ap);
	return r;
}

SPW_WRAP int
wprintf(const wchar_t *fmt, ...)
{
	va_list ap;
	int r;

	va_start(ap, fmt);
	r = vfwprintf(stdout, fmt, ap);
	va_end(ap);
	return r;
}

SPW_WRAP int
__wprintf_chk(int level, const wchar_t *fmt, ...)
{
	va_list ap;
	int r;

	va_start(ap, fmt);
	r = __vfwprintf_chk(stdout, level, fmt, ap);
	va_end(ap);
	return r;
}
