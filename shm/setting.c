/* SPDX-License-Identifier: BSD-3-Clause */
/* setting.c -- check one value and put it into the settings */

#include "shm/setting.h"

#include "shm/expand.h"
#include "shm/suggest.h"

#include <errno.h>
#include <string.h>

const struct spw_option spw_options[SPW_OPTION_COUNT] = {
#define ENTRY(id, name, type, field, value, low, high, words, shape, help) \
	[SPW_OPTION_##id] = { name, SPW_OPT_##type, \
		offsetof(struct spw_config, field), value, low, high, \
		words, shape, help },
	SPW_OPTIONS(ENTRY)
};

static const char *const names[SPW_OPTION_COUNT] = {
#define NAME(id, name, ...) name,
	SPW_OPTIONS(NAME)
};

enum spw_option_id
spw_setting_find(const char *name, size_t n)
{
	unsigned id = 0;

	while (id < SPW_OPTION_COUNT
	       && (strlen(names[id]) != n || memcmp(names[id], name, n)))
		id++;
	return id;
}

enum spw_option_id
spw_setting_near(const char *name, size_t n)
{
	const char *near = spw_suggest(name, n, names, SPW_OPTION_COUNT);

	return near ? spw_setting_find(near, strlen(near))
		    : SPW_OPTION_COUNT;
}

void
spw_setting_subject(const struct spw_config *cfg, enum spw_option_id id,
		    struct spw_origin origin, struct spw_text *t)
{
	if (origin.from == SPW_FROM_ENV) {
		spw_config_variable(id, t);
	} else if (origin.from == SPW_FROM_FLAG) {
		spw_text_fmt(t, "--%s", names[id]);
	} else if (origin.from == SPW_FROM_BUILTIN) {
		spw_text_put(t, names[id]);
	} else {
		spw_text_fmt(t, "%e:%u: %s", cfg->file[origin.from],
			     origin.line, names[id]);
	}
}

static void *
field(const struct spw_setting *s)
{
	return (char *)s->cfg + spw_options[s->id].offset;
}

/* Begin an error about `len` bytes of the value. */
static struct spw_diag *
blame(const struct spw_setting *s, enum spw_code code, size_t at, size_t len)
{
	struct spw_diag *d = spw_diags_add(s->diags);
	char subject[320];
	struct spw_text t;

	spw_diag_begin(d, SPW_ERROR, code);
	spw_text_init(&t, subject, sizeof(subject));
	spw_setting_subject(s->cfg, s->id, s->origin, &t);
	spw_diag_subject(d, "%s", subject);
	spw_diag_text(d, s->value, strlen(s->value), at, len);
	return d;
}

static struct spw_diag *
blame_all(const struct spw_setting *s, enum spw_code code)
{
	return blame(s, code, 0, strlen(s->value));
}

static int
blame_long(const struct spw_setting *s, size_t most)
{
	struct spw_diag *d = blame_all(s, SPW_E108);

	spw_diag_cause(d, "the value is too long");
	spw_diag_hint(d, "it may have up to %u bytes", (unsigned)most);
	return -EINVAL;
}

static int
put_tiers(const struct spw_setting *s)
{
	size_t n = strlen(s->value);

	if (n >= SPW_TIERS_LEN)
		return blame_long(s, SPW_TIERS_LEN - 1);
	memcpy(field(s), s->value, n + 1);
	return 0;
}

static int
put_name(const struct spw_setting *s)
{
	static const char allowed[] = "abcdefghijklmnopqrstuvwxyz"
		"ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
	size_t n = strlen(s->value), good = strspn(s->value, allowed);
	struct spw_diag *d;

	if (n > SPW_JOB_MAX)
		return blame_long(s, SPW_JOB_MAX);
	if (good == n && strcmp(s->value, ".") && strcmp(s->value, "..")) {
		memcpy(field(s), s->value, n + 1);
		return 0;
	}
	d = good == n ? blame_all(s, SPW_E106) : blame(s, SPW_E106, good, 1);
	spw_diag_cause(d, "%q cannot be a name", s->value);
	spw_diag_hint(d, "use letters, digits, and . _ - between them");
	return -EINVAL;
}

static int
put_weights(const struct spw_setting *s)
{
	size_t n = strlen(s->value);
	struct spw_weights weights;
	struct spw_diag *d;
	char why[160];

	if (n >= SPW_WEIGHTS_LEN)
		return blame_long(s, SPW_WEIGHTS_LEN - 1);
	if (!spw_weights_parse(s->value, &weights, why, sizeof(why))) {
		memcpy(field(s), s->value, n + 1);
		return 0;
	}
	d = blame_all(s, SPW_E114);
	spw_diag_cause(d, "%s", why);
	spw_diag_hint(d, "they are for compression time, ratio and "
		      "decompression time");
	return -EINVAL;
}

/* auto|agent|thread: the words one after the other. */
static unsigned
split_words(const char *words, const char **ret_at, size_t *ret_len,
	    unsigned most)
{
	unsigned n = 0;

	for (const char *p = words; *p && n < most; n++) {
		ret_at[n] = p;
		ret_len[n] = strcspn(p, "|");
		p += ret_len[n];
		p += *p == '|';
	}
	return n;
}

static int
put_choice(const struct spw_setting *s)
{
	const char *at[8];
	size_t len[8];
	unsigned n = split_words(spw_options[s->id].words, at, len, 8);
	struct spw_diag *d;

	for (unsigned i = 0; i < n; i++)
		if (strlen(s->value) == len[i]
		    && !memcmp(s->value, at[i], len[i])) {
			*(unsigned *)field(s) = i;
			return 0;
		}
	d = blame_all(s, SPW_E106);
	spw_diag_cause(d, "%q is not a choice", s->value);
	spw_diag_hint(d, "write ");
	for (unsigned i = 0; i < n; i++)
		spw_diag_hint(d, "%s%E", !i ? "" : i + 1 < n ? ", " : " or ",
			      at[i], len[i]);
	return -EINVAL;
}

static int
blame_range(const struct spw_setting *s, const char *low, const char *high)
{
	struct spw_diag *d = blame_all(s, SPW_E107);

	spw_diag_cause(d, "%q is out of range", s->value);
	spw_diag_hint(d, "write %s to %s", low, high);
	return -EINVAL;
}

static int
blame_duration(const struct spw_setting *s, int r)
{
	struct spw_diag *d;

	if (r == -EDOM) {
		d = blame_all(s, SPW_E103);
		spw_diag_cause(d, "duration %q has no unit", s->value);
		spw_diag_hint(d, "write %ems (thousandths) or %es (seconds)",
			      s->value, s->value);
	} else {
		d = blame_all(s, SPW_E106);
		spw_diag_cause(d, "cannot read duration %q", s->value);
		spw_diag_hint(d, "write a number with a unit: us ms s m h d,"
			      " e.g. 50ms%s", spw_options[s->id].high
			      == SPW_DURATION_NONE ? ", or none" : "");
	}
	return -EINVAL;
}

static int
put_duration(const struct spw_setting *s)
{
	const struct spw_option *o = &spw_options[s->id];
	char low[24], high[24];
	struct spw_text t;
	uint64_t ns;
	int r;

	r = spw_size_duration(s->value, strlen(s->value), &ns);
	if (r < 0 && r != -ERANGE)
		return blame_duration(s, r);
	if (!r && ns >= o->low && ns <= o->high) {
		*(uint64_t *)field(s) = ns;
		return 0;
	}
	spw_text_init(&t, low, sizeof(low));
	spw_text_duration(&t, o->low);
	spw_text_init(&t, high, sizeof(high));
	spw_text_duration(&t, o->high);
	return blame_range(s, low, high);
}

static int
put_number(const struct spw_setting *s)
{
	const struct spw_option *o = &spw_options[s->id];
	unsigned *to = field(s);
	char low[24], high[24];
	struct spw_diag *d;
	struct spw_text t;
	uint64_t v;
	int r;

	if (!s->value) {
		if (s->cfg->origin[s->id].from != SPW_FROM_FLAG)
			*to = o->low;
		*to += *to < o->high;
		return 0;
	}
	r = spw_size_number(s->value, strlen(s->value), &v);
	if (!r && v >= o->low && v <= o->high) {
		*to = v;
		return 0;
	}
	spw_text_init(&t, low, sizeof(low));
	spw_text_u64(&t, o->low);
	spw_text_init(&t, high, sizeof(high));
	spw_text_u64(&t, o->high);
	if (r != -EINVAL)
		return blame_range(s, low, high);
	d = blame_all(s, SPW_E106);
	spw_diag_cause(d, "%q is not a number", s->value);
	spw_diag_hint(d, "write %s to %s", low, high);
	return -EINVAL;
}

static int
put_bool(const struct spw_setting *s)
{
	struct spw_diag *d;

	if (!s->value) {
		*(bool *)field(s) = true;
		return 0;
	}
	if (!spw_size_boolean(s->value, strlen(s->value), field(s)))
		return 0;
	d = blame_all(s, SPW_E106);
	spw_diag_cause(d, "%q is neither yes nor no", s->value);
	spw_diag_hint(d, "write yes, no, true, false, on, off, 1 or 0");
	return -EINVAL;
}

static int
blame_expand(const struct spw_setting *s, int r, size_t at, size_t len)
{
	struct spw_diag *d;

	if (r == -E2BIG)
		return blame_long(s, SPW_CONFIG_PATH - 1);
	d = blame(s, SPW_E186, at, len);
	if (r == -ENOENT) {
		spw_diag_cause(d, "variable %E is not set or empty",
			       s->value + at, len);
		spw_diag_hint(d, "set it, or write the value itself");
	} else {
		spw_diag_cause(d, "cannot read the variable");
		spw_diag_hint(d, "write ${NAME}; a dollar sign itself is $$");
	}
	return -EINVAL;
}

/*
 * A relative path makes sense on a command line only: a variable or a file
 * is read by programs in other directories, too.
 */
static int
make_absolute(const struct spw_setting *s, size_t at, size_t len,
	      char *path)
{
	char cwd[SPW_PATH_MAX];
	struct spw_diag *d;
	size_t n = strlen(path), before;

	if (path[0] == '/')
		return 0;
	if (s->origin.from == SPW_FROM_FLAG && !spw_path_cwd(cwd)) {
		before = strlen(cwd) + 1;
		if (before + n >= SPW_CONFIG_PATH)
			return blame_long(s, SPW_CONFIG_PATH - 1);
		memmove(path + before, path, n + 1);
		memcpy(path, cwd, before - 1);
		path[before - 1] = '/';
		return 0;
	}
	d = blame(s, SPW_E183, at, len);
	spw_diag_cause(d, "path %Q is not absolute", s->value + at, len);
	spw_diag_hint(d, "begin it with / or ${HOME}/");
	return -EINVAL;
}

/* len bytes of the value, as a clean absolute path of SPW_CONFIG_PATH. */
static int
read_path(const struct spw_setting *s, size_t at, size_t len, char *ret)
{
	struct spw_expand_fault fault;
	struct spw_text t;
	int r;

	spw_text_init(&t, ret, SPW_CONFIG_PATH);
	r = spw_expand(s->value + at, len, s->envp,
		       spw_options[s->id].type == SPW_OPT_DIRS
		       ? SPW_EXPAND_LIST : SPW_EXPAND_PATH, &t, &fault);
	if (r < 0)
		return blame_expand(s, r, at + fault.at, fault.len);
	r = make_absolute(s, at, len, ret);
	if (!r)
		spw_path_normalise(ret);
	return r;
}

static int
put_path(const struct spw_setting *s)
{
	char path[SPW_CONFIG_PATH];
	int r = read_path(s, 0, strlen(s->value), path);

	if (!r)
		memcpy(field(s), path, strlen(path) + 1);
	return r;
}

static bool
goes_on(const struct spw_setting *s)
{
	return s->cfg->origin[s->id].from == s->origin.from;
}

/* Up to the next colon that is not written \: */
static size_t
item_length(const char *s)
{
	size_t n = 0;

	while (s[n] && s[n] != ':')
		n += s[n] == '\\' && s[n + 1] ? 2 : 1;
	return n;
}

/* Directories divided by colons; empty ones do not count. */
static int
put_dirs(const struct spw_setting *s)
{
	struct spw_dirs *dirs = field(s);
	char path[SPW_CONFIG_PATH];
	struct spw_diag *d;
	size_t len;
	int r;

	if (!goes_on(s))
		dirs->n = dirs->used = 0;
	for (size_t at = 0; s->value[at]; at += len + (s->value[at + len]
						       == ':')) {
		len = item_length(s->value + at);
		if (!len)
			continue;
		r = read_path(s, at, len, path);
		if (r < 0)
			return r;
		if (spw_dirs_add(dirs, path) < 0) {
			d = blame(s, SPW_E108, at, len);
			spw_diag_cause(d, "too many directories");
			spw_diag_hint(d, "up to %u of them, %u bytes in all",
				      SPW_DIRS_MAX, SPW_PATH_MAX - 1);
			return -EINVAL;
		}
	}
	return 0;
}

static int
put(const struct spw_setting *s)
{
	switch (spw_options[s->id].type) {
	case SPW_OPT_TIERS:
		return put_tiers(s);
	case SPW_OPT_DIRS:
		return put_dirs(s);
	case SPW_OPT_PATH:
		return put_path(s);
	case SPW_OPT_NAME:
		return put_name(s);
	case SPW_OPT_WEIGHTS:
		return put_weights(s);
	case SPW_OPT_CHOICE:
		return put_choice(s);
	case SPW_OPT_DURATION:
		return put_duration(s);
	case SPW_OPT_NUMBER:
		return put_number(s);
	default:
		return put_bool(s);
	}
}

/* The built-in value; an empty text where that is empty as well. */
static int
put_default(struct spw_setting s)
{
	enum spw_option_type type = spw_options[s.id].type;

	s.value = spw_options[s.id].value;
	if (*s.value)
		return put(&s);
	if (type == SPW_OPT_DIRS)
		memset(field(&s), 0, offsetof(struct spw_dirs, at));
	else
		*(char *)field(&s) = '\0';
	return 0;
}

int
spw_setting_put(const struct spw_setting *s)
{
	int r = s->value && !*s->value ? put_default(*s) : put(s);

	if (!r)
		s->cfg->origin[s->id] = s->origin;
	return r;
}
