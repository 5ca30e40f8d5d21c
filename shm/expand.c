/* SPDX-License-Identifier: BSD-3-Clause */
/* expand.c -- ${NAME} and %XX in places and paths */

#include "shm/expand.h"

#include <errno.h>
#include <string.h>

const char *
spw_expand_getenv(char *const *envp, const char *name, size_t n)
{
	for (; envp && *envp; envp++)
		if (!strncmp(*envp, name, n) && (*envp)[n] == '=')
			return *envp + n + 1;
	return NULL;
}

static bool
starts_name(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static size_t
name_length(const char *s, size_t n)
{
	size_t i = 0;

	if (!n || !starts_name(s[0]))
		return 0;
	while (i < n && (starts_name(s[i]) || (s[i] >= '0' && s[i] <= '9')))
		i++;
	return i;
}

/* s points at a dollar sign; a lone one stands for itself. */
static int
expand_dollar(const char *s, size_t n, char *const *envp, struct spw_text *t,
	      size_t *ret_used)
{
	bool braced = n > 1 && s[1] == '{';
	size_t skip = braced ? 2 : 1, len = name_length(s + skip, n - skip);
	const char *value;

	*ret_used = 1;
	if (n > 1 && s[1] == '$')
		*ret_used = 2;
	if (braced && (!len || skip + len >= n || s[skip + len] != '}')) {
		*ret_used = skip + len;
		return -EINVAL;
	}
	if (!len) {
		spw_text_putc(t, '$');
		return 0;
	}
	*ret_used = skip + len + braced;
	value = spw_expand_getenv(envp, s + skip, len);
	if (!value || !*value)
		return -ENOENT;
	spw_text_put(t, value);
	return 0;
}

static int
hex_value(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

static int
expand_percent(const char *s, size_t n, struct spw_text *t, size_t *ret_used)
{
	int high = n > 1 ? hex_value(s[1]) : -1;
	int low = n > 2 ? hex_value(s[2]) : -1;

	*ret_used = n < 3 ? n : 3;
	if (high < 0 || low < 0 || !(high | low))
		return -EILSEQ;
	spw_text_putc(t, high << 4 | low);
	return 0;
}

static bool
is_escape(const char *s, size_t n)
{
	return n > 1 && s[0] == '\\' && (s[1] == ':' || s[1] == '\\');
}

int
spw_expand(const char *s, size_t n, char *const *envp,
	   enum spw_expand_mode mode, struct spw_text *t,
	   struct spw_expand_fault *ret_fault)
{
	size_t used;
	int r = 0;

	for (size_t i = 0; i < n; i += used) {
		used = 1;
		if (s[i] == '$')
			r = expand_dollar(s + i, n - i, envp, t, &used);
		else if (s[i] == '%' && mode == SPW_EXPAND_PERCENT)
			r = expand_percent(s + i, n - i, t, &used);
		else if (mode == SPW_EXPAND_LIST && is_escape(s + i, n - i))
			spw_text_putc(t, s[i + used++]);
		else
			spw_text_putc(t, s[i]);
		if (t->cut)
			r = -E2BIG;
		if (r < 0) {
			*ret_fault = (struct spw_expand_fault){ i, used };
			return r;
		}
	}
	return 0;
}
