/* SPDX-License-Identifier: BSD-3-Clause */
/* json.c -- write JSON: one value a line, always valid UTF-8 */
#include "tools/json.h"

#include <string.h>

#include "shm/text.h"

static void
put_text(struct spw_json *j, const char *s)
{
	size_t n = strlen(s), len;

	putc('"', j->out);
	for (; n; s += len, n -= len) {
		len = spw_text_char(s, n);
		if (!len) {
			len = 1;
			fprintf(j->out, "\\u%04x", (unsigned char)*s);
		} else if (*s == '"' || *s == '\\') {
			fprintf(j->out, "\\%c", *s);
		} else {
			fwrite(s, 1, len, j->out);
		}
	}
	putc('"', j->out);
}

static void
start_line(struct spw_json *j)
{
	putc('\n', j->out);
	for (unsigned i = 0; i < j->depth; i++)
		fputs("  ", j->out);
}

static void
put_key(struct spw_json *j, const char *key)
{
	if (j->filled)
		putc(',', j->out);
	if (j->depth)
		start_line(j);
	j->filled = true;
	if (!key)
		return;
	put_text(j, key);
	fputs(": ", j->out);
}

static bool was_begun;

void
spw_json_begin(struct spw_json *j, FILE *out)
{
	was_begun |= out == stdout;
	*j = (struct spw_json){ .out = out };
}

bool
spw_json_was_begun(void)
{
	return was_begun;
}

void
spw_json_end(struct spw_json *j)
{
	putc('\n', j->out);
}

void
spw_json_open(struct spw_json *j, const char *key, char bracket)
{
	put_key(j, key);
	putc(bracket, j->out);
	j->depth++;
	j->filled = false;
}

void
spw_json_close(struct spw_json *j, char bracket)
{
	bool had = j->filled;

	j->depth--;
	if (had)
		start_line(j);
	putc(bracket, j->out);
	j->filled = true;
}

void
spw_json_string(struct spw_json *j, const char *key, const char *s)
{
	put_key(j, key);
	put_text(j, s);
}

void
spw_json_number(struct spw_json *j, const char *key, uint64_t n)
{
	put_key(j, key);
	fprintf(j->out, "%llu", (unsigned long long)n);
}

void
spw_json_integer(struct spw_json *j, const char *key, int64_t n)
{
	put_key(j, key);
	fprintf(j->out, "%lld", (long long)n);
}

void
spw_json_real(struct spw_json *j, const char *key, double x)
{
	put_key(j, key);
	fprintf(j->out, "%.3f", x);
}

void
spw_json_bool(struct spw_json *j, const char *key, bool b)
{
	put_key(j, key);
	fputs(b ? "true" : "false", j->out);
}

void
spw_json_null(struct spw_json *j, const char *key)
{
	put_key(j, key);
	fputs("null", j->out);
}
