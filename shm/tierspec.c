/* SPDX-License-Identifier: BSD-3-Clause */
/* tierspec.c -- read the list of tiers that a user writes */

#include "shm/tierparse.h"

#include "shm/expand.h"
#include "shm/secret.h"
#include "shm/size.h"
#include "shm/suggest.h"

#include <errno.h>
#include <string.h>

#define KEY(k) (1u << SPW_KEY_##k)

const struct spw_tierkind spw_tierkinds[SPW_KINDS] = {
	[SPW_KIND_RAM] = { "ram", SPW_PLACE_NONE, false, 0, "ram@16G" },
	[SPW_KIND_NVME] = { "nvme", SPW_PLACE_DIR, true,
			    KEY(IO) | KEY(FILTER),
			    "nvme:${TMPDIR}@80%" },
	[SPW_KIND_PMEM] = { "pmem", SPW_PLACE_DIR, true, KEY(FILTER),
			    "pmem:/mnt/pmem0@64G" },
	[SPW_KIND_BB] = { "bb", SPW_PLACE_DIR, true, KEY(FILTER),
			  "bb:/bb/${USER}@2T" },
	[SPW_KIND_REDIS] = { "redis", SPW_PLACE_HOST, true, KEY(TTL),
			     "redis://cache01:6379/0@16G" },
	[SPW_KIND_TILEDB] = { "tiledb", SPW_PLACE_DIR, true, 0,
			      "tiledb:///lustre/arrays" },
	[SPW_KIND_S3] = { "s3", SPW_PLACE_BUCKET, true,
			  KEY(ENDPOINT) | KEY(REGION), "s3://lab/run42" },
	[SPW_KIND_AZURE] = { "azure", SPW_PLACE_BUCKET, true, KEY(ENDPOINT),
			     "azure://container/run42" },
	[SPW_KIND_GCS] = { "gcs", SPW_PLACE_BUCKET, true, KEY(ENDPOINT),
			   "gcs://lab/run42" },
};

const char *
spw_tierspec_kind_name(enum spw_tierspec_kind kind)
{
	return spw_tierkinds[kind].name;
}

const char *
spw_tierspec_place(const struct spw_tierlist *list,
		   const struct spw_tierspec *tier)
{
	return list->text + tier->place;
}

const char *
spw_tierspec_value(const struct spw_tierlist *list,
		   const struct spw_tierspec *tier, enum spw_tierspec_key key)
{
	return tier->key[key] ? list->text + tier->key[key] : NULL;
}

bool
spw_tierspec_is_directory(enum spw_tierspec_kind kind)
{
	return spw_tierkinds[kind].place == SPW_PLACE_DIR;
}

struct spw_diag *
spw_tierparse_blame(struct spw_tierparser *p, enum spw_code code,
		    struct spw_slice s)
{
	struct spw_tierlist *list = p->list;

	spw_diag_begin(p->diag, SPW_ERROR, code);
	spw_diag_subject(p->diag, "%s, tier %u", list->subject,
			 (unsigned)(p->tier - list->tier) + 1);
	spw_diag_text(p->diag, list->source, strlen(list->source), s.at,
		      s.len);
	return p->diag;
}

const char *
spw_slice_text(const struct spw_tierparser *p, struct spw_slice s)
{
	return p->list->source + s.at;
}

/* The slice from `at` up to the first of the stop characters. */
static struct spw_slice
take(const struct spw_tierparser *p, size_t at, const char *stops)
{
	struct spw_slice s = { at, 0 };

	while (s.at + s.len < p->end
	       && !strchr(stops, p->list->source[s.at + s.len]))
		s.len++;
	return s;
}

int
spw_tierparse_unexpanded(struct spw_tierparser *p, struct spw_slice s, int r,
	     const struct spw_expand_fault *f)
{
	struct spw_slice bad = { s.at + f->at, f->len };
	struct spw_diag *d;

	switch (r) {
	case -ENOENT:
		d = spw_tierparse_blame(p, SPW_E186, bad);
		spw_diag_cause(d, "variable %E is not set or empty",
			       spw_slice_text(p, bad), bad.len);
		spw_diag_hint(d, "set it where the program runs, or write the"
			      " value itself");
		break;
	case -EINVAL:
		d = spw_tierparse_blame(p, SPW_E186, bad);
		spw_diag_cause(d, "cannot read the variable");
		spw_diag_hint(d, "write ${NAME}; a dollar sign itself is $$");
		break;
	case -EILSEQ:
		d = spw_tierparse_blame(p, SPW_E187, bad);
		spw_diag_cause(d, "%Q is not a percent escape",
			       spw_slice_text(p, bad), bad.len);
		spw_diag_hint(d, "write %%25 for a percent sign, %%20 for a"
			      " space, %%40 for @, %%2B for +");
		break;
	default:
		d = spw_tierparse_blame(p, SPW_E108, s);
		spw_diag_cause(d, "the text is too long");
		spw_diag_hint(d, "all places together have room for %u bytes",
			      (unsigned)sizeof(p->list->text));
	}
	return -EINVAL;
}

int
spw_tierparse_expand(struct spw_tierparser *p, struct spw_slice s,
		     uint16_t *ret)
{
	struct spw_expand_fault fault;
	size_t begin = p->out.len;
	int r;

	r = spw_expand(spw_slice_text(p, s), s.len, p->envp,
		       SPW_EXPAND_PERCENT, &p->out, &fault);
	if (r < 0)
		return spw_tierparse_unexpanded(p, s, r, &fault);
	spw_text_putc(&p->out, '\0');
	if (p->out.cut) {
		fault = (struct spw_expand_fault){ 0, s.len };
		return spw_tierparse_unexpanded(p, s, -E2BIG, &fault);
	}
	*ret = begin;
	return 0;
}

static void
hint_available(const struct spw_tierparser *p, struct spw_diag *d)
{
	spw_diag_hint(d, "available here:");
	for (unsigned k = 0; k < SPW_KINDS; k++)
		if (p->kinds >> k & 1)
			spw_diag_hint(d, " %s", spw_tierkinds[k].name);
}

static int
blame_kind(struct spw_tierparser *p, struct spw_slice s)
{
	const char *names[SPW_KINDS], *near;
	struct spw_diag *d;

	for (unsigned k = 0; k < SPW_KINDS; k++)
		names[k] = spw_tierkinds[k].name;
	near = spw_suggest(spw_slice_text(p, s), s.len, names, SPW_KINDS);
	d = spw_tierparse_blame(p, SPW_E181, s);
	if (!s.len)
		spw_diag_cause(d, "a tier begins with its kind");
	else
		spw_diag_cause(d, "unknown tier kind %Q",
			       spw_slice_text(p, s), s.len);
	if (near)
		spw_diag_hint(d, "did you mean %s? ", near);
	hint_available(p, d);
	spw_diag_hint(d, "; see spillway-tiers(7)");
	return -EINVAL;
}

static int
parse_kind(struct spw_tierparser *p, struct spw_slice s)
{
	struct spw_diag *d;

	for (unsigned k = 0; k < SPW_KINDS; k++) {
		if (s.len != strlen(spw_tierkinds[k].name)
		    || memcmp(spw_slice_text(p, s), spw_tierkinds[k].name,
			      s.len))
			continue;
		p->tier->kind = k;
		if (p->kinds >> k & 1)
			return 0;
		d = spw_tierparse_blame(p, SPW_E182, s);
		spw_diag_cause(d, "tier kind %s is not built into this"
			       " Spillway", spw_tierkinds[k].name);
		hint_available(p, d);
		return -EINVAL;
	}
	return blame_kind(p, s);
}

static int
blame_relative(struct spw_tierparser *p, struct spw_slice s)
{
	const char *path = spw_slice_text(p, s);
	struct spw_diag *d = spw_tierparse_blame(p, SPW_E183, s);
	bool home = s.len > 1 && path[0] == '~' && path[1] == '/';

	spw_diag_cause(d, "path %Q is not absolute", path, s.len);
	spw_diag_hint(d, "write %s:%s/%E", spw_tierkinds[p->tier->kind].name,
		      home ? "${HOME}" : "${PWD}", path + 2 * home,
		      s.len - 2 * home);
	return -EINVAL;
}

int
spw_tierparse_refuse(struct spw_tierparser *p, struct spw_slice s,
		     const char *cause)
{
	const struct spw_tierkind *k = &spw_tierkinds[p->tier->kind];
	struct spw_diag *d = spw_tierparse_blame(p, SPW_E180, s);

	spw_diag_cause(d, "%s", cause);
	spw_diag_hint(d, "for example %s", k->example);
	return -EINVAL;
}

/* The value came out of a variable: refuse it without showing it. */
static int
blame_secret(struct spw_tierparser *p, struct spw_slice s)
{
	struct spw_diag *d = spw_tierparse_blame(p, SPW_E185, s);

	spw_diag_cause(d, "a password or key does not belong into the list"
		       " of tiers");
	spw_diag_hint(d, "take it out, and change it if this text was ever"
		      " stored; see spillway-tiers(7)");
	return -EINVAL;
}

/* host, host:port, host:port/db */
static bool
is_host(const char *place)
{
	const char *colon = strchr(place, ':'), *slash = strchr(place, '/');
	uint64_t port = 1, db = 0;

	if (colon && slash && colon > slash)
		return false;
	if (colon && spw_size_number(colon + 1, strcspn(colon + 1, "/"),
				     &port) < 0)
		return false;
	if (slash && slash[1]
	    && spw_size_number(slash + 1, strlen(slash + 1), &db) < 0)
		return false;
	return port >= 1 && port <= 65535;
}

/* Move a place forward over its leading slashes, in the list's text. */
static int
check_address(struct spw_tierparser *p, struct spw_slice s)
{
	const char *place = p->list->text + p->tier->place;
	enum spw_place_form form = spw_tierkinds[p->tier->kind].place;
	size_t name;

	if (place[0] != '/' || place[1] != '/')
		return spw_tierparse_refuse(p, s, "an address begins with //");
	place += 2;
	p->tier->place += 2;
	name = strcspn(place, form == SPW_PLACE_HOST ? ":/" : "/");
	if (memchr(place, '@', strcspn(place, "/")))
		return blame_secret(p, s);
	if (!name)
		return spw_tierparse_refuse(p, s, form == SPW_PLACE_HOST
				   ? "the host's name is missing"
				   : "the bucket's name is missing");
	if (form == SPW_PLACE_HOST && !is_host(place))
		return spw_tierparse_refuse(p, s, "cannot read the host's address");
	return 0;
}

static int
parse_place(struct spw_tierparser *p, struct spw_slice s)
{
	struct spw_tierspec *tier = p->tier;
	enum spw_place_form form = spw_tierkinds[tier->kind].place;
	char *path;
	int r;

	if (form == SPW_PLACE_NONE)
		return spw_tierparse_refuse(p, s, "tier ram has no place");
	r = spw_tierparse_expand(p, s, &tier->place);
	if (r < 0)
		return r;
	tier->place_at = s.at;
	tier->place_len = s.len;
	if (form != SPW_PLACE_DIR)
		return check_address(p, s);
	path = p->list->text + tier->place;
	if (path[0] != '/')
		return s.len ? blame_relative(p, s)
			     : spw_tierparse_refuse(p, s, "the directory is missing");
	spw_path_normalise(path);
	if (strlen(path) < SPW_PATH_MAX / 2)
		return 0;
	spw_tierparse_blame(p, SPW_E108, s);
	spw_diag_cause(p->diag, "the path is too long");
	spw_diag_hint(p->diag, "it may have up to %u bytes",
		      SPW_PATH_MAX / 2 - 1);
	return -EINVAL;
}

static int
check_twin(struct spw_tierparser *p)
{
	const struct spw_tierspec *t = p->tier, *old = p->list->tier;
	struct spw_slice all = { t->at, t->len };
	struct spw_diag *d;

	for (; old < t; old++)
		if (old->kind == t->kind
		    && !strcmp(spw_tierspec_place(p->list, old),
			       spw_tierspec_place(p->list, t)))
			break;
	if (old == t)
		return 0;
	d = spw_tierparse_blame(p, SPW_E184, all);
	spw_diag_cause(d, "tier %u is the same", (unsigned)(old
		       - p->list->tier) + 1);
	spw_diag_hint(d, t->kind == SPW_KIND_RAM
		      ? "there is one RAM tier; keep one of the two"
		      : "keep one of the two");
	return -EINVAL;
}

/* The parts of one tier, from left to right. */
static int
parse_parts(struct spw_tierparser *p)
{
	const char *src = p->list->source;
	struct spw_slice s = take(p, p->tier->at, ":@+");
	size_t at = s.at + s.len;
	bool placed = false;
	int r;

	r = parse_kind(p, s);
	if (!r && at < p->end && src[at] == ':') {
		s = take(p, at + 1, "@+");
		r = parse_place(p, s);
		at = s.at + s.len;
		placed = true;
	}
	if (!r && !placed
	    && spw_tierkinds[p->tier->kind].place != SPW_PLACE_NONE)
		r = spw_tierparse_refuse(p, s, "the place is missing");
	if (!r && at < p->end && src[at] == '@') {
		s = take(p, at + 1, "+@");
		r = spw_tierparse_capacity(p, s);
		at = s.at + s.len;
	}
	if (!r && at < p->end && src[at] == '@')
		r = spw_tierparse_refuse(p, take(p, at, "+"), "a second capacity");
	while (!r && at < p->end) {
		s = take(p, at + 1, "+");
		r = spw_tierparse_option(p, s);
		at = s.at + s.len;
	}
	return r < 0 ? r : check_twin(p);
}

static int
parse_tier(struct spw_tierparser *p, struct spw_slice s)
{
	struct spw_tierlist *list = p->list;

	p->end = s.at + s.len;
	if (list->n == SPW_TIERS_MAX) {
		p->tier = &list->tier[SPW_TIERS_MAX - 1];
		spw_tierparse_blame(p, SPW_E108, s);
		spw_diag_cause(p->diag, "more than %u tiers", SPW_TIERS_MAX);
		spw_diag_hint(p->diag, "keep the fastest");
		return -EINVAL;
	}
	p->tier = &list->tier[list->n++];
	*p->tier = (struct spw_tierspec){
		.level = SPW_LEVEL_DEFAULT, .at = s.at, .len = s.len,
	};
	return parse_parts(p);
}

/* Number the tier that holds a secret, so that the message can name it. */
static int
refuse_secrets(struct spw_tierparser *p)
{
	const char *src = p->list->source;
	unsigned number = 0;
	struct spw_slice s;

	if (!spw_secret_find(src, strlen(src), 0, &s.at, &s.len))
		return 0;
	for (size_t i = 0; i <= s.at; i++)
		number += !strchr(" \t\r\n", src[i])
		       && (!i || strchr(" \t\r\n", src[i - 1]));
	if (number > SPW_TIERS_MAX)
		number = SPW_TIERS_MAX;
	p->tier = &p->list->tier[number - 1];
	return blame_secret(p, s);
}

int
spw_tierspec_parse(const char *text, const char *subject, unsigned kinds,
		   char *const *envp, struct spw_tierlist *ret_list,
		   struct spw_diag *ret_diag)
{
	static const char blanks[] = " \t\r\n";
	struct spw_tierparser p = { .list = ret_list, .kinds = kinds,
				    .envp = envp, .diag = ret_diag };
	struct spw_text t;
	size_t at = 0;
	int r;

	ret_list->n = 0;
	spw_text_init(&t, ret_list->subject, sizeof(ret_list->subject));
	spw_text_put(&t, subject);
	spw_text_init(&t, ret_list->source, sizeof(ret_list->source));
	spw_text_put(&t, text[strspn(text, blanks)] ? text : "ram@auto");
	spw_text_init(&p.out, ret_list->text, sizeof(ret_list->text));
	spw_text_putc(&p.out, '\0');	/* offset 0 is the empty text */
	if (t.cut) {
		spw_diag_begin(ret_diag, SPW_ERROR, SPW_E108);
		spw_diag_subject(ret_diag, "%s", subject);
		spw_diag_cause(ret_diag, "the list of tiers is too long");
		spw_diag_hint(ret_diag, "it may have up to %u bytes",
			      SPW_TIERS_LEN - 1);
		return -EINVAL;
	}
	r = refuse_secrets(&p);
	while (!r) {
		at += strspn(ret_list->source + at, blanks);
		if (!ret_list->source[at])
			break;
		r = parse_tier(&p, (struct spw_slice){
			at, strcspn(ret_list->source + at, blanks) });
		at += strcspn(ret_list->source + at, blanks);
	}
	ret_list->used = p.out.len;
	return r;
}
