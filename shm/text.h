/* SPDX-License-Identifier: BSD-3-Clause */
/* text.h -- build a message in a fixed buffer, without stdio or locale */

#ifndef SPW_SHM_TEXT_H
#define SPW_SHM_TEXT_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * A bounded string.  It is NUL-terminated after every call; what does not
 * fit is left out and `cut` is set.  Nothing here allocates, locks or keeps
 * state of its own, so it may run before main and inside any program.
 */
struct spw_text {
	char *at;
	size_t len, cap;
	bool cut;
};

/* Begin an empty text in buf; cap counts the terminating NUL, at least 1. */
void spw_text_init(struct spw_text *t, char *buf, size_t cap);

void spw_text_put(struct spw_text *t, const char *s);
void spw_text_putn(struct spw_text *t, const char *s, size_t n);
void spw_text_putc(struct spw_text *t, char c);
void spw_text_u64(struct spw_text *t, uint64_t v);

/* 8.0 GiB, 64 MiB, 512 B: rounded down, one decimal below ten. */
void spw_text_size(struct spw_text *t, uint64_t bytes);

/* 50ms, 1500ms, 10min, none: exact, in the largest unit that fits. */
void spw_text_duration(struct spw_text *t, uint64_t ns);

/*
 * Text from outside, made safe to show: control characters, the C1 block,
 * marks that reorder a line and bytes that are no UTF-8 appear as \xNN.
 */
void spw_text_escaped(struct spw_text *t, const char *s, size_t n);

/* Bytes of the character at s, 0 if it must be escaped; n is at least 1. */
size_t spw_text_char(const char *s, size_t n);

/*
 * A small formatter for messages:
 *   %s  string as it is         %e  string, escaped
 *   %q  "string", escaped and with secrets masked
 *   %Q  the same of (pointer, size_t)
 *   %E  (pointer, size_t), escaped
 *   %u  unsigned                %l  uint64_t
 *   %d  int
 *   %z  uint64_t as a size      %o  unsigned as four octal digits
 *   %%  a percent sign
 */
void spw_text_fmt(struct spw_text *t, const char *fmt, ...);
void spw_text_vfmt(struct spw_text *t, const char *fmt, va_list ap);

#endif
