/* SPDX-License-Identifier: BSD-3-Clause */
/* text.c -- build a message in a fixed buffer, without stdio or locale */

#include "shm/text.h"

#include "shm/secret.h"

#include <string.h>

void
spw_text_init(struct spw_text *t, char *buf, size_t cap)
{
	*t = (struct spw_text){ .at = buf, .cap = cap };
	buf[0] = '\0';
}

void
spw_text_putn(struct spw_text *t, const char *s, size_t n)
{
	size_t room = t->cap - 1 - t->len;

	if (n > room) {
		n = room;
		t->cut = true;
	}
	memcpy(t->at + t->len, s, n);
	t->len += n;
	t->at[t->len] = '\0';
}

void
spw_text_put(struct spw_text *t, const char *s)
{
	spw_text_putn(t, s, strlen(s));
}

void
spw_text_putc(struct spw_text *t, char c)
{
	spw_text_putn(t, &c, 1);
}

void
spw_text_u64(struct spw_text *t, uint64_t v)
{
	char digits[20];		/* 2^64 has twenty of them */
	size_t i = sizeof(digits);

	do
		digits[--i] = '0' + v % 10;
	while (v /= 10);
	spw_text_putn(t, digits + i, sizeof(digits) - i);
}

static void
put_octal(struct spw_text *t, unsigned v)
{
	for (int shift = 9; shift >= 0; shift -= 3)
		spw_text_putc(t, '0' + (v >> shift & 7));
}

void
spw_text_size(struct spw_text *t, uint64_t bytes)
{
	static const char unit[] = "BKMGTPE";
	unsigned u = 0;

	while (u < sizeof(unit) - 2 && bytes >> (10 * (u + 1)))
		u++;
	spw_text_u64(t, bytes >> (10 * u));
	if (u && bytes >> (10 * u) < 10) {
		spw_text_putc(t, '.');
		/* the ten bits below the unit, as tenths */
		spw_text_u64(t, (bytes >> (10 * (u - 1)) & 1023) * 10 / 1024);
	}
	spw_text_putc(t, ' ');
	spw_text_putc(t, unit[u]);
	if (u)
		spw_text_put(t, "iB");
}

void
spw_text_duration(struct spw_text *t, uint64_t ns)
{
	static const struct { uint64_t ns; const char *name; } unit[] = {
		{ 86400000000000, "d" }, { 3600000000000, "h" },
		{ 60000000000, "min" }, { 1000000000, "s" },
		{ 1000000, "ms" }, { 1000, "us" }, { 1, "ns" },
	};
	unsigned u = 0;

	if (ns == UINT64_MAX) {
		spw_text_put(t, "none");
		return;
	}
	if (!ns) {
		spw_text_put(t, "0s");
		return;
	}
	while (ns % unit[u].ns)
		u++;
	spw_text_u64(t, ns / unit[u].ns);
	spw_text_put(t, unit[u].name);
}

/* Length of a well-formed UTF-8 sequence at s and its value, else 0. */
static size_t
decode_utf8(const unsigned char *s, size_t n, uint32_t *ret_value)
{
	static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
	size_t len = s[0] < 0xc2 ? 0 : s[0] < 0xe0 ? 2 : s[0] < 0xf0 ? 3
		   : s[0] < 0xf5 ? 4 : 0;
	uint32_t v;

	if (!len || len > n)
		return 0;
	v = s[0] & (0x7f >> len);
	for (size_t i = 1; i < len; i++) {
		if ((s[i] & 0xc0) != 0x80)
			return 0;
		v = v << 6 | (s[i] & 0x3f);
	}
	if (v < least[len] || v > 0x10ffff || (v >= 0xd800 && v < 0xe000))
		return 0;
	*ret_value = v;
	return len;
}

static bool
is_unsafe(uint32_t v)
{
	return v < 0xa0				/* the C1 controls */
	    || (v >= 0x200b && v <= 0x200f)	/* zero width, direction */
	    || (v >= 0x2028 && v <= 0x202e)	/* separators, reordering */
	    || (v >= 0x2060 && v <= 0x206f)
	    || v == 0xfeff;
}

size_t
spw_text_char(const char *s, size_t n)
{
	const unsigned char *c = (const unsigned char *)s;
	uint32_t v;
	size_t len;

	if (c[0] < 0x80)
		return c[0] >= 0x20 && c[0] != 0x7f;
	len = decode_utf8(c, n, &v);
	return len && !is_unsafe(v) ? len : 0;
}

static void
put_hex(struct spw_text *t, unsigned char c)
{
	static const char hex[] = "0123456789abcdef";
	const char out[4] = { '\\', 'x', hex[c >> 4], hex[c & 15] };

	spw_text_putn(t, out, sizeof(out));
}

void
spw_text_escaped(struct spw_text *t, const char *s, size_t n)
{
	while (n) {
		size_t len = spw_text_char(s, n);

		/* a character is put whole or not at all */
		if (t->cap - 1 - t->len < (len ? len : 4)) {
			t->cut = true;
			return;
		}
		if (len) {
			spw_text_putn(t, s, len);
		} else {
			put_hex(t, *s);
			len = 1;
		}
		s += len;
		n -= len;
	}
}

static void
put_quoted(struct spw_text *t, const char *s, size_t n)
{
	size_t done = 0, at, len;

	spw_text_putc(t, '"');
	while (spw_secret_find(s, n, done, &at, &len)) {
		spw_text_escaped(t, s + done, at - done);
		spw_text_put(t, "***");
		done = at + len;
	}
	spw_text_escaped(t, s + done, n - done);
	spw_text_putc(t, '"');
}

static void
put_int(struct spw_text *t, int v)
{
	if (v < 0)
		spw_text_putc(t, '-');
	spw_text_u64(t, v < 0 ? -(uint64_t)v : (uint64_t)v);
}

void
spw_text_vfmt(struct spw_text *t, const char *fmt, va_list ap)
{
	const char *s;

	for (; *fmt; fmt++) {
		if (*fmt != '%') {
			spw_text_putc(t, *fmt);
			continue;
		}
		switch (*++fmt) {
		case 's':
			spw_text_put(t, va_arg(ap, const char *));
			break;
		case 'e':
			s = va_arg(ap, const char *);
			spw_text_escaped(t, s, strlen(s));
			break;
		case 'q':
			s = va_arg(ap, const char *);
			put_quoted(t, s, strlen(s));
			break;
		case 'E':
			s = va_arg(ap, const char *);
			spw_text_escaped(t, s, va_arg(ap, size_t));
			break;
		case 'Q':
			s = va_arg(ap, const char *);
			put_quoted(t, s, va_arg(ap, size_t));
			break;
		case 'u':
			spw_text_u64(t, va_arg(ap, unsigned));
			break;
		case 'd':
			put_int(t, va_arg(ap, int));
			break;
		case 'l':
			spw_text_u64(t, va_arg(ap, uint64_t));
			break;
		case 'z':
			spw_text_size(t, va_arg(ap, uint64_t));
			break;
		case 'o':
			put_octal(t, va_arg(ap, unsigned));
			break;
		case '\0':
			return;
		default:
			spw_text_putc(t, *fmt);
		}
	}
}

void
spw_text_fmt(struct spw_text *t, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	spw_text_vfmt(t, fmt, ap);
	va_end(ap);
}
