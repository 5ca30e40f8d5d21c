/* SPDX-License-Identifier: BSD-3-Clause */
/* cmd-config.c -- spillway config: every setting, its value, its origin */

#include "tools/commands.h"

#include "shm/conf.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define MAX_FLAGS 256

static const char usage[] =
	"usage: spillway config [--json] [OPTION]...\n"
	"\n"
	"Show every setting with its value and where it came from, then the\n"
	"tiers as they would be used here.  Changes nothing.\n"
	"\n"
	"  spillway config\n"
	"  spillway config --tiers 'ram@2G'\n"
	"  SPILLWAY_DRAIN_DELAY=1s spillway config --json\n"
	"\n"
	"  --json                write JSON\n"
	"  --help                this text\n";

struct request {
	bool json, help;
	struct spw_config_flag flags[MAX_FLAGS];
	size_t n_flags;
};

/* Everything shown, and too large for a stack that others size. */
static struct spw_config cfg;
static struct spw_tierlist tiers;

static int
read_arguments(char **argv, struct request *req, struct spw_diag *diag)
{
	static const char *const own[] = { "json", "help", NULL };
	int r;

	for (argv++; *argv; argv += r) {
		r = 1;
		if (!strcmp(*argv, "--json")) {
			req->json = true;
		} else if (!strcmp(*argv, "--help")) {
			req->help = true;
		} else if (req->n_flags < MAX_FLAGS) {
			r = spw_config_arg(argv, own,
					   &req->flags[req->n_flags++], diag);
			if (r <= 0)
				return r < 0 ? r : -1;
		} else {
			return -1;
		}
	}
	return 0;
}

static void
put_json_text(const char *s)
{
	putchar('"');
	for (size_t n = strlen(s), len; n; s += len, n -= len) {
		len = spw_text_char(s, n);
		if (!len) {
			len = 1;
			printf("\\u%04x", (unsigned char)*s);
		} else if (*s == '"' || *s == '\\') {
			printf("\\%c", *s);
		} else {
			fwrite(s, 1, len, stdout);
		}
	}
	putchar('"');
}

static void
put_json_dirs(const struct spw_dirs *dirs)
{
	putchar('[');
	for (unsigned i = 0; i < dirs->n; i++) {
		if (i)
			fputs(", ", stdout);
		put_json_text(spw_dirs_get(dirs, i));
	}
	putchar(']');
}

static void
put_json_value(enum spw_option_id id)
{
	const struct spw_option *o = &spw_options[id];
	const void *field = (const char *)&cfg + o->offset;
	char buf[SPW_PATH_MAX * 2];
	struct spw_text t;

	spw_text_init(&t, buf, sizeof(buf));
	spw_config_value(&cfg, id, &t);
	if (o->type == SPW_OPT_DIRS)
		put_json_dirs(field);
	else if (o->type == SPW_OPT_PATH)
		put_json_text(field);
	else if (o->type == SPW_OPT_BOOL)
		fputs(*(const bool *)field ? "true" : "false", stdout);
	else if (o->type == SPW_OPT_NUMBER)
		fputs(buf, stdout);
	else
		put_json_text(buf);
	if (o->type == SPW_OPT_DURATION
	    && *(const uint64_t *)field != SPW_DURATION_NONE)
		printf(", \"ns\": %llu", (unsigned long long)
		       *(const uint64_t *)field);
}

static const char *
from_name(enum spw_from from)
{
	static const char *const names[] = {
		[SPW_FROM_BUILTIN] = "built-in", [SPW_FROM_SYSTEM] = "system",
		[SPW_FROM_USER] = "user", [SPW_FROM_CONFIG] = "config",
		[SPW_FROM_ENV] = "environment", [SPW_FROM_FLAG] = "flag",
	};

	return names[from];
}

static void
put_json_setting(enum spw_option_id id)
{
	const struct spw_origin *o = &cfg.origin[id];

	printf("    \"%s\": {\"value\": ", spw_options[id].name);
	put_json_value(id);
	printf(", \"from\": \"%s\"", from_name(o->from));
	if (o->line) {
		fputs(", \"file\": ", stdout);
		put_json_text(cfg.file[o->from]);
		printf(", \"line\": %u", o->line);
	}
	puts(id + 1 < SPW_OPTION_COUNT ? "}," : "}");
}

static const char *
place_of(const struct spw_tierspec *t)
{
	return t->kind == SPW_KIND_RAM ? cfg.shm_dir
				       : spw_tierspec_place(&tiers, t);
}

static void
put_json_tier(const struct spw_tierspec *t, bool last)
{
	printf("    {\"kind\": \"%s\", \"place\": ",
	       spw_tierspec_kind_name(t->kind));
	put_json_text(place_of(t));
	printf(", \"capacity\": %llu", (unsigned long long)t->capacity);
	if (t->codec != SPW_PIN_NONE)
		printf(", \"codec\": \"%s\"",
		       spw_tierspec_codec_name(t->codec));
	if (t->level != SPW_LEVEL_DEFAULT)
		printf(", \"level\": %d", t->level);
	for (unsigned k = 0; k < SPW_KEYS; k++) {
		const char *value = spw_tierspec_value(&tiers, t, k);

		if (!value)
			continue;
		printf(", \"%s\": ", spw_tierspec_key_name(k));
		put_json_text(value);
	}
	puts(last ? "}" : "},");
}

static void
put_json(void)
{
	puts("{\n  \"settings\": {");
	for (unsigned i = 0; i < SPW_OPTION_COUNT; i++)
		put_json_setting(i);
	puts("  },\n  \"tiers\": [");
	for (unsigned i = 0; i < tiers.n; i++)
		put_json_tier(&tiers.tier[i], i + 1 == tiers.n);
	puts("  ]\n}");
}

/* Text from outside, padded to a column. */
static void
put_column(const char *s, size_t width)
{
	char buf[SPW_PATH_MAX * 4];
	struct spw_text t;

	spw_text_init(&t, buf, sizeof(buf));
	spw_text_escaped(&t, s, strlen(s));
	printf("%-*s  ", (int)width, buf);
}

static void
put_setting(enum spw_option_id id)
{
	char value[SPW_PATH_MAX * 2], origin[SPW_CONFIG_PATH * 4];
	const struct spw_option *o = &spw_options[id];
	uint64_t ns = *(const uint64_t *)((const char *)&cfg + (o->type
			== SPW_OPT_DURATION ? o->offset : 0));
	struct spw_text t;

	spw_text_init(&t, value, sizeof(value));
	spw_config_value(&cfg, id, &t);
	if (o->type == SPW_OPT_DURATION && ns && ns != SPW_DURATION_NONE)
		spw_text_fmt(&t, " (%l ns)", ns);
	spw_text_init(&t, origin, sizeof(origin));
	spw_config_origin(&cfg, id, &t);
	put_column(o->name, 14);
	put_column(*value ? value : "-", 28);
	puts(origin);
}

static void
put_tier(const struct spw_tierspec *t)
{
	char size[64], codec[16];
	struct spw_text x;

	spw_text_init(&x, size, sizeof(size));
	if (t->capacity)
		spw_text_fmt(&x, "%z (%l bytes)", t->capacity, t->capacity);
	else
		spw_text_put(&x, "-");
	spw_text_init(&x, codec, sizeof(codec));
	spw_text_put(&x, spw_tierspec_codec_name(t->codec));
	if (t->level != SPW_LEVEL_DEFAULT)
		spw_text_fmt(&x, "=%d", t->level);
	put_column(spw_tierspec_kind_name(t->kind), 14);
	put_column(place_of(t), 28);
	put_column(size, 28);
	puts(codec);
}

static void
put_settings(void)
{
	printf("%-14s  %-28s  %s\n", "SETTING", "VALUE", "FROM");
	for (unsigned i = 0; i < SPW_OPTION_COUNT; i++)
		put_setting(i);
}

static void
put_tiers(void)
{
	printf("\n%-14s  %-28s  %-28s  %s\n", "TIER", "PLACE", "CAPACITY",
	       "CODEC");
	for (unsigned i = 0; i < tiers.n; i++)
		put_tier(&tiers.tier[i]);
	puts("home            each file's own path");
}

int
spw_cmd_config(int argc, char **argv, char **envp)
{
	struct request req = { 0 };
	struct spw_diag diag = { 0 };
	struct spw_diags diags;
	bool color;
	int r;

	(void)argc;
	r = read_arguments(argv, &req, &diag);
	if (r < 0) {
		spw_diag_print(&diag, false, STDERR_FILENO);
		if (diag.severity == SPW_SILENT)
			fputs(usage, stderr);
		return 2;
	}
	if (req.help) {
		fputs(usage, stdout);
		fflush(stdout);
		spw_config_print_help(STDOUT_FILENO);
		return 0;
	}
	r = spw_config_load(&(struct spw_config_source){
		.envp = envp, .flags = req.flags, .n_flags = req.n_flags,
	}, &cfg, &diags);
	color = spw_config_color(&cfg, envp, STDERR_FILENO);
	spw_diags_print(&diags, color, STDERR_FILENO);
	if (r < 0)
		return 1;
	if (!req.json)
		put_settings();
	r = spw_config_tiers(&cfg, envp, &tiers, &diag);
	if (!r)
		r = spw_config_check(&cfg, &tiers, &diag);
	fflush(stdout);
	if (r < 0) {
		spw_diag_print(&diag, color, STDERR_FILENO);
		return 1;
	}
	if (req.json)
		put_json();
	else
		put_tiers();
	return fflush(stdout) ? 1 : 0;
}
