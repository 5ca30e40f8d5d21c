/* SPDX-License-Identifier: BSD-3-Clause */
/* suggest.c -- the name that a mistyped word was probably meant to be */

#include "shm/suggest.h"

#include <string.h>

#define LONGEST 48			/* no name of ours comes near it */

static char
fold(char c)
{
	if (c == '_')
		return '-';
	return c >= 'A' && c <= 'Z' ? c + ('a' - 'A') : c;
}

static unsigned
least(unsigned a, unsigned b, unsigned c)
{
	unsigned m = a < b ? a : b;

	return m < c ? m : c;
}

/*
 * Slips between a and b: the usual three-row table, with a swap of
 * neighbours counted once.
 */
static unsigned
slips(const char *a, size_t na, const char *b, size_t nb)
{
	unsigned char rows[3][LONGEST + 1];
	unsigned char *before = rows[0], *last = rows[1], *now = rows[2], *t;

	for (size_t j = 0; j <= nb; j++)
		last[j] = before[j] = j;
	for (size_t i = 1; i <= na; i++) {
		now[0] = i;
		for (size_t j = 1; j <= nb; j++) {
			char ca = fold(a[i - 1]), cb = fold(b[j - 1]);

			now[j] = least(last[j] + 1, now[j - 1] + 1,
				       last[j - 1] + (ca != cb));
			if (i > 1 && j > 1 && ca == fold(b[j - 2])
			    && cb == fold(a[i - 2])
			    && before[j - 2] + 1 < now[j])
				now[j] = before[j - 2] + 1;
		}
		t = before;
		before = last;
		last = now;
		now = t;
	}
	return last[nb];
}

const char *
spw_suggest(const char *word, size_t n, const char *const *names,
	    size_t count)
{
	unsigned best = n / 3 > 1 ? n / 3 : 1;
	const char *found = NULL;

	if (!n || n > LONGEST)
		return NULL;
	for (size_t i = 0; i < count; i++) {
		size_t len = strlen(names[i]);
		unsigned d;

		if (len > LONGEST)
			continue;
		d = slips(word, n, names[i], len);
		if (d < best || (d == best && !found && d < len)) {
			best = d;
			found = names[i];
		}
	}
	return found;
}
