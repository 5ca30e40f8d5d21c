/* SPDX-License-Identifier: BSD-3-Clause */
/* filter-columns.c -- lines of text as columns, each written from its top down */

/* The bytes of a chunk of text change places and nothing else, so that the
 * newlines in it tell how many lines there are, before and after.  Whether a
 * byte ends its field is seen from the field up to it: who undoes a column
 * knows which lines have a next byte in it, and which in the column after it.
 * How long lines are is known when all is read, so it is read twice.
 */

#include "tiers/filter-columns.h"

#include <stdbool.h>
#include <string.h>

/* Not a power of two: arrays of that many would meet in one line of the cache. */
enum { CHUNK = 32768, LINES = 3700 };

struct columns {
	size_t n, going;
	size_t done;			/* bytes of the column's fields */
	uint16_t line[LINES];		/* n that are not over, in order */
	uint16_t at[LINES];		/* what follows of each line */
	uint16_t field[LINES];		/* lines that go on in the column, */
	uint16_t from[LINES];		/* where their fields begin, */
	uint8_t before[LINES];		/* and their last bytes */
	uint8_t last[LINES];		/* of each line's last field */
};

enum { ENDS = 1, SPACE = 2 };

static const uint8_t kind_of[256] = {
	['\n'] = ENDS, [','] = ENDS, ['.'] = ENDS, [':'] = ENDS,
	[';'] = ENDS, ['\t'] = ENDS, [' '] = SPACE,
};

static size_t
count_lines(const uint8_t *p, size_t n)
{
	size_t lines = 0;

	for (size_t i = 0; i < n; i++)
		lines += p[i] == '\n';
	return lines;
}

static void
begin_column(struct columns *c)
{
	c->done = 0;
	c->going = c->n;
	memset(c->before, ' ', c->n);
	for (size_t i = 0; i < c->n; i++) {
		c->field[i] = c->line[i];
		c->from[i] = c->at[c->line[i]];
	}
}

/* The lines that have another column; false: none has. */
static bool
next_column(struct columns *c)
{
	size_t n = 0;

	for (size_t i = 0; i < c->n; i++) {
		uint16_t line = c->line[i];

		c->line[n] = line;
		n += c->last[line] != '\n';
	}
	c->n = n;
	return n > 0;
}

/* Spaces in front belong to a field, the first one after it ends it.  Without
 * branches: nobody could guess where they go.
 */
static void
end_fields(struct columns *c, const uint8_t *now)
{
	size_t n = 0;

	for (size_t i = 0; i < c->going; i++) {
		uint16_t line = c->field[i], from = c->from[i];
		unsigned kind = kind_of[now[i]];
		bool over = (kind & ENDS) |
			    (kind / SPACE & (c->before[i] != ' '));

		c->at[line] = (uint16_t)(from + c->done);
		c->last[line] = now[i];
		c->field[n] = line;
		c->from[n] = from;
		c->before[n] = now[i];
		n += !over;
	}
	c->going = n;
}

/* Each field has got one more byte, these. */
static void
go_on(struct columns *c, const uint8_t *now, unsigned kinds)
{
	c->done++;
	if (kinds)
		end_fields(c, now);
	else
		memcpy(c->before, now, c->going);
}

static void
take_bytes(struct columns *c, const uint8_t *text, uint8_t *now)
{
	unsigned kinds = 0;

	text += c->done;
	for (size_t i = 0; i < c->going; i++) {
		now[i] = text[c->from[i]];
		kinds |= kind_of[now[i]];
	}
	go_on(c, now, kinds);
}

static void
put_bytes(struct columns *c, uint8_t *text, const uint8_t *now)
{
	unsigned kinds = 0;

	text += c->done;
	for (size_t i = 0; i < c->going; i++) {
		text[c->from[i]] = now[i];
		kinds |= kind_of[now[i]];
	}
	go_on(c, now, kinds);
}

static void
count_bytes(struct columns *c, const uint8_t *now)
{
	unsigned kinds = 0;

	for (size_t i = 0; i < c->going; i++)
		kinds |= kind_of[now[i]];
	go_on(c, now, kinds);
}

static void
begin_lines(struct columns *c, size_t n)
{
	c->n = n;
	for (size_t i = 0; i < n; i++)
		c->line[i] = (uint16_t)i;
}

/* Where lines begin; returns where the last of them ends. */
static size_t
find_lines(struct columns *c, const uint8_t *text)
{
	const uint8_t *at = text;

	for (size_t i = 0; i < c->n; i++) {
		c->at[i] = (uint16_t)(at - text);
		at = (const uint8_t *)memchr(at, '\n', CHUNK) + 1;
	}
	return (size_t)(at - text);
}

static void
apply_chunk(uint8_t *dst, const uint8_t *src, size_t n)
{
	size_t lines = count_lines(src, n), end;
	struct columns c;

	if (!lines || lines > LINES) {
		memcpy(dst, src, n);
		return;
	}
	begin_lines(&c, lines);
	end = find_lines(&c, src);
	memcpy(dst + end, src + end, n - end);
	do {
		begin_column(&c);
		for (size_t now; (now = c.going); dst += now)
			take_bytes(&c, src, dst);
	} while (next_column(&c));
}

/* The same from columns, by how long each line is; 0: there are fewer bytes
 * than that, so these are no columns.
 */
static size_t
measure_lines(struct columns *c, const uint8_t *columns, size_t n)
{
	const size_t lines = c->n;
	size_t at = 0;

	memset(c->at, 0, lines * sizeof(*c->at));
	do {
		begin_column(c);
		for (size_t now; (now = c->going); at += now) {
			if (now > n - at)
				return 0;
			count_bytes(c, columns + at);
		}
	} while (next_column(c));
	at = 0;
	for (size_t i = 0; i < lines; i++) {
		size_t length = c->at[i];

		c->at[i] = (uint16_t)at;
		at += length;
	}
	return at;
}

static void
undo_chunk(uint8_t *dst, const uint8_t *src, size_t n)
{
	size_t lines = count_lines(src, n), end = 0;
	struct columns c;

	if (lines && lines <= LINES) {
		begin_lines(&c, lines);
		end = measure_lines(&c, src, n);
	}
	memcpy(dst + end, src + end, n - end);
	if (!end)
		return;
	begin_lines(&c, lines);
	do {
		begin_column(&c);
		for (size_t now; (now = c.going); src += now)
			put_bytes(&c, dst, src);
	} while (next_column(&c));
}

static size_t
chunk_at(size_t n, size_t at)
{
	return n - at < CHUNK ? n - at : CHUNK;
}

void
spw_filter_apply_columns(uint8_t *dst, const uint8_t *src, size_t n)
{
	for (size_t at = 0; at < n; at += CHUNK)
		apply_chunk(dst + at, src + at, chunk_at(n, at));
}

void
spw_filter_undo_columns(uint8_t *dst, const uint8_t *src, size_t n)
{
	for (size_t at = 0; at < n; at += CHUNK)
		undo_chunk(dst + at, src + at, chunk_at(n, at));
}
