/* SPDX-License-Identifier: BSD-3-Clause */
/* tieropts.c -- the capacity and the options behind a tier's place */

#include "shm/tierparse.h"

#include "shm/expand.h"
#include "shm/size.h"
#include "shm/suggest.h"

#include <errno.h>
#include <string.h>

static const struct codec {
	const char *name;
	int8_t low, high;		/* levels; none if low > high */
} codecs[SPW_PINS] = {
	[SPW_PIN_NONE] = { "", 1, 0 },
	[SPW_PIN_RAW] = { "raw", 1, 0 },
#define X(c, number, name, low, high) [SPW_PIN_##c] = { name, low, high },
	SPW_CODEC_LINES(X)
#undef X
};

static const char *const key_names[SPW_KEYS] = {
	[SPW_KEY_IO] = "io",
	[SPW_KEY_FILTER] = "filter",
	[SPW_KEY_ENDPOINT] = "endpoint",
	[SPW_KEY_REGION] = "region",
	[SPW_KEY_TTL] = "ttl",
};

const char *
spw_tierspec_codec_name(enum spw_tierspec_codec codec)
{
	return codecs[codec].name;
}

const char *
spw_tierspec_key_name(enum spw_tierspec_key key)
{
	return key_names[key];
}

/* Both readings of a number that came without a unit. */
static void
hint_readings(struct spw_diag *d, const char *s, size_t n)
{
	uint64_t v, large, small;

	if (spw_size_number(s, n, &v) < 0 || v > UINT64_C(1) << 50) {
		spw_diag_hint(d, "write for example 16G (1024^3) or 16GB"
			      " (1000^3)");
		return;
	}
	if (v >= SPW_RAM_MIN) {
		spw_diag_hint(d, "write %lB (%z) or %lK (%z)", v, v, v,
			      v << 10);
		return;
	}
	large = v << 30;
	small = v * 1000000000;
	spw_diag_hint(d, "write %lG (1024^3: %l bytes) or %lGB (1000^3: %l"
		      " bytes)", v, large, v, small);
}

static int
blame_capacity(struct spw_tierparser *p, struct spw_slice s, int r)
{
	const char *text = spw_slice_text(p, s);
	size_t digits = strspn(text, "0123456789");
	struct spw_diag *d;

	if (memchr(text, ',', s.len) || memchr(text, ';', s.len)) {
		d = spw_tierparse_blame(p, SPW_E180, s);
		spw_diag_cause(d, "tiers are separated by blanks");
		spw_diag_hint(d, "for example 'ram@8G nvme:/scratch@80%%'");
	} else if (r == -EDOM) {
		d = spw_tierparse_blame(p, SPW_E103, s);
		spw_diag_cause(d, "capacity %Q has no unit", text, s.len);
		hint_readings(d, text, s.len);
	} else if (r == -ERANGE) {
		d = spw_tierparse_blame(p, SPW_E107, s);
		spw_diag_cause(d, "capacity %Q is out of range", text, s.len);
		spw_diag_hint(d, "write 1%% to 100%%, or a size from %s up",
			      p->tier->kind == SPW_KIND_RAM ? "1M" : "1B");
	} else {
		d = spw_tierparse_blame(p, SPW_E101, s);
		spw_diag_cause(d, "cannot read capacity %Q", text, s.len);
		if (!digits || digits > 6) {
			text = "200";
			digits = 3;
		}
		spw_diag_hint(d, "write %EG (1024^3), %EGB (1000^3) or 80%%;"
			      " see spillway-tiers(7)", text, digits, text,
			      digits);
	}
	return -EINVAL;
}

static int
read_capacity(const char *s, size_t n, struct spw_tierspec *tier)
{
	unsigned percent;
	int r;

	if (n == 4 && !memcmp(s, "auto", 4)) {
		tier->cap = SPW_CAP_AUTO;
		return 0;
	}
	if (n && s[n - 1] == '%') {
		r = spw_size_percent(s, n, &percent);
		if (r < 0)
			return r;
		tier->percent = percent;
		tier->cap = SPW_CAP_PERCENT;
		return 0;
	}
	r = spw_size_bytes(s, n, &tier->capacity);
	if (r < 0)
		return r;
	tier->cap = SPW_CAP_BYTES;
	if (!tier->capacity || (tier->kind == SPW_KIND_RAM
				&& tier->capacity < SPW_RAM_MIN))
		return -ERANGE;
	return 0;
}

int
spw_tierparse_capacity(struct spw_tierparser *p, struct spw_slice s)
{
	struct spw_expand_fault fault;
	struct spw_text t;
	char buf[64];
	int r;

	p->tier->cap_at = s.at;
	p->tier->cap_len = s.len;
	spw_text_init(&t, buf, sizeof(buf));
	r = spw_expand(spw_slice_text(p, s), s.len, p->envp,
		       SPW_EXPAND_PATH, &t, &fault);
	if (r == -E2BIG)
		return blame_capacity(p, s, -EINVAL);
	if (r < 0)
		return spw_tierparse_unexpanded(p, s, r, &fault);
	r = read_capacity(buf, t.len, p->tier);
	if (r < 0)
		return blame_capacity(p, s, r);
	if (p->tier->cap == SPW_CAP_PERCENT
	    && spw_tierkinds[p->tier->kind].place >= SPW_PLACE_HOST)
		return spw_tierparse_refuse(p, s, "a percentage is for RAM"
					    " and directories");
	return 0;
}

static int
blame_option(struct spw_tierparser *p, struct spw_slice name)
{
	const struct spw_tierkind *k = &spw_tierkinds[p->tier->kind];
	const char *names[SPW_PINS + SPW_KEYS], *near;
	struct spw_diag *d = spw_tierparse_blame(p, SPW_E188, name);
	size_t n = 0;

	for (unsigned i = SPW_PIN_RAW; k->codecs && i < SPW_PINS; i++)
		names[n++] = codecs[i].name;
	for (unsigned i = 0; i < SPW_KEYS; i++)
		if (k->keys >> i & 1)
			names[n++] = key_names[i];
	spw_diag_cause(d, "tier %s has no option %Q", k->name,
		       spw_slice_text(p, name), name.len);
	near = spw_suggest(spw_slice_text(p, name), name.len, names, n);
	if (near)
		spw_diag_hint(d, "did you mean %s? ", near);
	spw_diag_hint(d, n ? "it takes:" : "it takes none; see"
		      " spillway-tiers(7)");
	for (size_t i = 0; i < n; i++)
		spw_diag_hint(d, " %s", names[i]);
	return -EINVAL;
}

/* A whole number, perhaps negative, that the codec has as a level. */
static bool
is_level_of(const struct codec *c, const char *s, size_t n, int8_t *ret_level)
{
	bool negative = n && *s == '-';
	uint64_t v;

	if (spw_size_number(s + negative, n - negative, &v) < 0
	    || v > INT8_MAX)
		return false;
	*ret_level = negative ? -(int8_t)v : (int8_t)v;
	return *ret_level >= c->low && *ret_level <= c->high;
}

static int
parse_codec(struct spw_tierparser *p, unsigned pin, struct spw_slice opt,
	    struct spw_slice value)
{
	const struct codec *c = &codecs[pin];
	struct spw_diag *d;
	int8_t level;

	if (p->tier->codec != SPW_PIN_NONE) {
		d = spw_tierparse_blame(p, SPW_E180, opt);
		spw_diag_cause(d, "a second codec");
		spw_diag_hint(d, "keep one; without any, the best is chosen"
			      " for each piece");
		return -EINVAL;
	}
	p->tier->codec = pin;
	if (value.at == 0)
		return 0;
	if (is_level_of(c, spw_slice_text(p, value), value.len, &level)) {
		p->tier->level = level;
		return 0;
	}
	d = spw_tierparse_blame(p, SPW_E189, value);
	spw_diag_cause(d, "%s has no level %Q", c->name,
		       spw_slice_text(p, value), value.len);
	if (c->low <= c->high)
		spw_diag_hint(d, "write %s=%d to %s=%d", c->name, c->low,
			      c->name, c->high);
	else
		spw_diag_hint(d, "write %s alone", c->name);
	return -EINVAL;
}

static bool
is_region(const char *s)
{
	return *s && !s[strspn(s, "abcdefghijklmnopqrstuvwxyz"
				  "0123456789-")];
}

static bool
is_endpoint(const char *s)
{
	size_t n = !strncmp(s, "https://", 8) ? 8
		 : !strncmp(s, "http://", 7) ? 7 : 0;

	return n && s[n] && s[n] != '/' && !strchr(s, '@');
}

static bool
is_value_of(enum spw_tierspec_key key, const char *s)
{
	uint64_t ns;

	switch (key) {
	case SPW_KEY_IO:
		return !strcmp(s, "auto") || !strcmp(s, "direct") ||
		       !strcmp(s, "buffered");
	case SPW_KEY_FILTER:
		return !strcmp(s, "auto") || !strcmp(s, "none");
	case SPW_KEY_ENDPOINT:
		return is_endpoint(s);
	case SPW_KEY_REGION:
		return is_region(s);
	default:
		return !spw_size_duration(s, strlen(s), &ns) && ns;
	}
}

static int
parse_key(struct spw_tierparser *p, unsigned key, struct spw_slice opt,
	  struct spw_slice value)
{
	static const char *const examples[SPW_KEYS] = {
		"io=direct, io=buffered or io=auto", "filter=none or filter=auto",
		"endpoint=https://s3.example.org", "region=eu-west-1",
		"ttl=12h",
	};
	struct spw_diag *d;
	int r;

	if (p->tier->key[key]) {
		d = spw_tierparse_blame(p, SPW_E180, opt);
		spw_diag_cause(d, "%s is given twice", key_names[key]);
		spw_diag_hint(d, "keep one of them");
		return -EINVAL;
	}
	r = value.at ? spw_tierparse_expand(p, value, &p->tier->key[key]) : 0;
	if (r < 0)
		return r;
	if (value.at
	    && is_value_of(key, p->list->text + p->tier->key[key]))
		return 0;
	d = spw_tierparse_blame(p, SPW_E189, value.len ? value : opt);
	spw_diag_cause(d, "cannot read the value of %s", key_names[key]);
	spw_diag_hint(d, "for example %s", examples[key]);
	return -EINVAL;
}

int
spw_tierparse_option(struct spw_tierparser *p, struct spw_slice opt)
{
	const struct spw_tierkind *k = &spw_tierkinds[p->tier->kind];
	const char *text = spw_slice_text(p, opt);
	const char *equals = memchr(text, '=', opt.len);
	struct spw_slice name = opt, value = { 0, 0 };

	if (equals) {
		name.len = equals - text;
		value.at = opt.at + name.len + 1;
		value.len = opt.len - name.len - 1;
	}
	if (memchr(text, '@', name.len))
		return spw_tierparse_refuse(p, opt, "the capacity comes before the"
				   " options");
	for (unsigned i = SPW_PIN_RAW; k->codecs && i < SPW_PINS; i++)
		if (name.len == strlen(codecs[i].name)
		    && !memcmp(text, codecs[i].name, name.len))
			return parse_codec(p, i, opt, value);
	for (unsigned i = 0; i < SPW_KEYS; i++)
		if ((k->keys >> i & 1) && name.len == strlen(key_names[i])
		    && !memcmp(text, key_names[i], name.len))
			return parse_key(p, i, opt, value);
	return blame_option(p, name);
}
