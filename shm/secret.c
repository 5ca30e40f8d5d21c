/* SPDX-License-Identifier: BSD-3-Clause */
/* secret.c -- find what looks like a password, so that it is never shown */

#include "shm/secret.h"

#include "shm/size.h"

#include <string.h>

struct span {
	const char *at, *end;
};

static bool
is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static bool
is_name(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')
	    || (c >= '0' && c <= '9') || c == '_' || c == '-';
}

static size_t
count(struct span s, char c)
{
	size_t n = 0;

	for (const char *p = s.at; p < s.end; p++)
		n += *p == c;
	return n;
}

static const char *
find(struct span s, char c)
{
	return s.at < s.end ? memchr(s.at, c, s.end - s.at) : NULL;
}

/* name:1234 is a port, name:word is a name with a password. */
static bool
has_password(struct span authority)
{
	const char *p = find(authority, ':');

	if (!p || ++p == authority.end || *p == '$')
		return false;
	for (; p < authority.end; p++)
		if (*p < '0' || *p > '9')
			return true;
	return false;
}

/* What follows an @ is a capacity if it is a number, auto or a variable. */
static bool
is_host(struct span s)
{
	size_t n = s.end - s.at;

	if (!n || *s.at == '$' || (n >= 4 && !memcmp(s.at, "auto", 4)))
		return false;
	return *s.at < '0' || *s.at > '9' || find(s, ':') || find(s, '/')
	    || count(s, '.') > 1;
}

/* `address` is what follows "://", up to the end of the word. */
static bool
is_userinfo(struct span address)
{
	const char *slash = find(address, '/'), *at = find(address, '@');
	struct span authority = { address.at, slash ? slash : address.end };
	struct span rest;
	const char *plus;

	if (memmem(authority.at, authority.end - authority.at, "%40", 3))
		return true;
	if (!at)
		return false;
	rest = (struct span){ at + 1, address.end };
	plus = find(rest, '+');
	if (count(address, '@') > 1)
		return true;
	if (at < authority.end)
		authority.end = at;
	if (plus)
		rest.end = plus;
	return is_host(rest) || has_password(authority);
}

/* The end of what must not be shown: the last @, or the whole address. */
static const char *
last_at(struct span s)
{
	for (const char *p = s.end; p > s.at; p--)
		if (p[-1] == '@')
			return p - 1;
	return s.end;
}

static bool
find_userinfo(struct span word, struct span *ret)
{
	const char *colon = find(word, ':');
	struct span a = word;

	/* kind:name:password@host, the slashes forgotten */
	if (colon && colon + 1 < word.end && colon[1] != '/') {
		a.at = colon + 1;
		if (find(a, '@')) {
			struct span name = { a.at, find(a, '@') };

			*ret = name;
			if (has_password(name))
				return true;
		}
	}
	for (a.at = word.at;
	     (a.at = memmem(a.at, word.end - a.at, "://", 3)) != NULL;) {
		a.at += 3;
		if (is_userinfo(a)) {
			*ret = (struct span){ a.at, last_at(a) };
			return true;
		}
	}
	return false;
}

static bool
sounds_secret(const char *name, size_t n)
{
	static const char *const parts[] = {
		"pass", "pwd", "secret", "token", "credential", "auth",
		"signature",
	};
	static const char *const tails[] = { "key", "sig" };
	size_t len;

	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		len = strlen(parts[i]);
		for (size_t at = 0; at + len <= n; at++)
			if (spw_size_same_word(name + at, len, parts[i]))
				return true;
	}
	for (size_t i = 0; i < sizeof(tails) / sizeof(tails[0]); i++) {
		len = strlen(tails[i]);
		if (n >= len && spw_size_same_word(name + n - len, len,
						   tails[i]))
			return true;
	}
	return false;
}

/* name=value; a value may hold + and /, so it runs to the word's end. */
static bool
find_keyed(struct span word, struct span *ret)
{
	for (const char *p = word.at; p < word.end; p++) {
		const char *name = p;

		if (*p != '=')
			continue;
		while (name > word.at && is_name(name[-1]))
			name--;
		if (sounds_secret(name, p - name) && p + 1 < word.end) {
			*ret = (struct span){ p + 1, word.end };
			return true;
		}
	}
	return false;
}

bool
spw_secret_find(const char *s, size_t n, size_t from, size_t *ret_at,
		size_t *ret_len)
{
	struct span word = { s, s }, found, keyed;
	const char *end = s + n;

	for (; word.at < end; word.at = word.end + 1) {
		word.end = word.at;
		while (word.end < end && !is_blank(*word.end))
			word.end++;
		if (word.end <= s + from && from)
			continue;
		found = (struct span){ NULL, NULL };
		if (!find_userinfo(word, &found))
			found.at = NULL;
		if (find_keyed(word, &keyed)) {
			/* both in one word: hide from the first to the end */
			if (!found.at || keyed.at < found.at)
				found.at = keyed.at;
			found.end = keyed.end;
		}
		if (!found.at || found.at < s + from
		    || found.at == found.end)
			continue;	/* //@host hides nothing */
		*ret_at = found.at - s;
		*ret_len = found.end - found.at;
		return true;
	}
	return false;
}
