/* SPDX-License-Identifier: BSD-3-Clause */
/* ini.c -- read "key = value" lines, one at a time, in fixed memory */

#include "shm/ini.h"

#include "shm/sys.h"

#include <errno.h>
#include <string.h>

static void
init(struct spw_ini *ini, int fd, const char *mem, size_t n)
{
	memset(ini, 0, offsetof(struct spw_ini, buf));
	ini->fd = fd;
	ini->mem = mem;
	ini->mem_left = n;
	ini->next_line = 1;
	ini->key = ini->value = NULL;
	ini->len = 0;
	ini->cause = ini->hint = NULL;
}

void
spw_ini_init_fd(struct spw_ini *ini, int fd)
{
	init(ini, fd, NULL, 0);
}

void
spw_ini_init_mem(struct spw_ini *ini, const char *mem, size_t n)
{
	init(ini, -1, mem, n);
}

static bool
is_blank(char c)
{
	return c == ' ' || c == '\t';
}

static int
fault(struct spw_ini *ini, size_t at, size_t len, const char *cause,
      const char *hint)
{
	ini->fault_at = at;
	ini->fault_len = len;
	ini->cause = cause;
	ini->hint = hint;
	return -EINVAL;
}

static ssize_t
fill(struct spw_ini *ini)
{
	size_t n = sizeof(ini->buf);
	ssize_t r;

	if (ini->fd < 0) {
		n = ini->mem_left < n ? ini->mem_left : n;
		memcpy(ini->buf, ini->mem, n);
		ini->mem += n;
		ini->mem_left -= n;
		r = n;
	} else {
		do
			r = spw_sys_read(ini->fd, ini->buf, n);
		while (r == -EINTR);
	}
	ini->at = 0;
	ini->have = r > 0 ? r : 0;
	ini->total += ini->have;
	return ini->total > SPW_INI_FILE ? -EFBIG : r;
}

/*
 * Append the next physical line to the text, without its line end.
 * 1: a line; 0: the end of the file; negative: as in spw_ini_next.
 */
static int
read_line(struct spw_ini *ini)
{
	bool any = false;
	ssize_t r;
	char c;

	for (;; any = true) {
		if (ini->at == ini->have) {
			r = fill(ini);
			if (r < 0)
				return r;
			if (!r)
				break;
		}
		c = ini->buf[ini->at++];
		if (c == '\n') {
			any = true;
			break;
		}
		if (ini->len == sizeof(ini->text) - 1) {
			ini->text[ini->len] = '\0';
			return fault(ini, 0, 1, "the setting is too long",
				     "it has room for 4607 bytes");
		}
		ini->text[ini->len++] = c;
	}
	if (!any)
		return 0;
	ini->next_line++;
	if (ini->len && ini->text[ini->len - 1] == '\r')
		ini->len--;
	ini->text[ini->len] = '\0';
	return 1;
}

static int
check_bytes(struct spw_ini *ini)
{
	for (size_t i = 0; i < ini->len; i++) {
		unsigned char c = ini->text[i];

		if ((c < 0x20 && c != '\t') || c == 0x7f)
			return fault(ini, i, 1, "a control character",
				     "the file should be plain text");
	}
	return 0;
}

static bool
is_comment(const struct spw_ini *ini)
{
	size_t i = 0;

	while (is_blank(ini->text[i]))
		i++;
	return ini->text[i] == '#' || ini->text[i] == ';';
}

/* A line with what it is continued by; 1, 0 or negative. */
static int
read_joined(struct spw_ini *ini)
{
	int r;

	ini->len = 0;
	ini->text[0] = '\0';
	ini->line = ini->next_line;
	for (;;) {
		r = read_line(ini);
		if (r < 0)
			return r;
		if (!r && ini->line == ini->next_line)
			return 0;
		if (!r || !ini->len || ini->text[ini->len - 1] != '\\'
		    || is_comment(ini))
			break;
		ini->text[ini->len - 1] = ' ';
	}
	r = check_bytes(ini);
	return r < 0 ? r : 1;
}

/* Cut blanks off the end of a string of n bytes. */
static void
trim(char *s, size_t n)
{
	while (n && is_blank(s[n - 1]))
		n--;
	s[n] = '\0';
}

/* Where the quote that opens at `at` closes, or 0. */
static size_t
closing_quote(const char *text, size_t at)
{
	for (at++; text[at] && text[at] != '"'; at++)
		if (text[at] == '\\' && (text[at + 1] == '"'
					 || text[at + 1] == '\\'))
			at++;
	return text[at] ? at : 0;
}

/* "..." with \" and \\ inside; only a comment may follow. */
static int
read_quoted(struct spw_ini *ini, size_t at)
{
	size_t end = closing_quote(ini->text, at), rest = end + 1;
	char *to = ini->text + at;

	if (!end)
		return fault(ini, at, 1, "the quote is not closed",
			     "end the value with a double quote");
	while (is_blank(ini->text[rest]))
		rest++;
	if (ini->text[rest] && ini->text[rest] != '#')
		return fault(ini, rest, 1, "text behind the quoted value",
			     "a quote inside a value is written \\\"");
	ini->value = to;
	for (size_t i = at + 1; i < end; i++) {
		if (ini->text[i] == '\\' && (ini->text[i + 1] == '"'
					     || ini->text[i + 1] == '\\'))
			i++;
		*to++ = ini->text[i];
	}
	*to = '\0';
	return 1;
}

static int
read_value(struct spw_ini *ini, size_t at)
{
	size_t i;

	while (is_blank(ini->text[at]))
		at++;
	if (ini->text[at] == '"')
		return read_quoted(ini, at);
	for (i = at; ini->text[i]; i++)
		if (ini->text[i] == '#' && is_blank(ini->text[i - 1]))
			break;
	ini->value = ini->text + at;
	trim(ini->value, i - at);
	return 1;
}

static bool
is_key_char(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')
	    || (c >= '0' && c <= '9') || c == '-' || c == '_' || c == '.';
}

/* The line is about something: key, blanks, =, value. */
static int
read_entry(struct spw_ini *ini, size_t at)
{
	size_t key_end = at, equals;
	int r;

	while (is_key_char(ini->text[key_end]))
		key_end++;
	equals = key_end;
	while (is_blank(ini->text[equals]))
		equals++;
	if (key_end == at)
		return fault(ini, at, 1, "a line begins with a setting's"
			     " name", "write name = value");
	if (ini->text[equals] != '=') {
		/* what follows may be a secret: it is not shown */
		ini->len = key_end;
		return fault(ini, key_end, 1, "= is missing behind the name",
			     "write name = value");
	}
	r = read_value(ini, equals + 1);
	if (r < 0)
		return r;
	ini->key = ini->text + at;
	ini->text[key_end] = '\0';
	return r;
}

static int
skip_section(struct spw_ini *ini, size_t at)
{
	size_t len = ini->len - at;

	while (len && is_blank(ini->text[at + len - 1]))
		len--;
	if (len == 10 && !memcmp(ini->text + at, "[spillway]", 10))
		return 0;
	return fault(ini, at, len, "there is no such section",
		     "settings need no section; take the line out");
}

int
spw_ini_next(struct spw_ini *ini)
{
	size_t at;
	int r;

	while ((r = read_joined(ini)) > 0) {
		at = 0;
		if (ini->line == 1 && !strncmp(ini->text, "\xef\xbb\xbf", 3))
			at = 3;		/* some editors mark UTF-8 so */
		while (is_blank(ini->text[at]))
			at++;
		if (!ini->text[at] || ini->text[at] == '#'
		    || ini->text[at] == ';')
			continue;
		if (ini->text[at] != '[')
			return read_entry(ini, at);
		r = skip_section(ini, at);
		if (r < 0)
			return r;
	}
	return r;
}
