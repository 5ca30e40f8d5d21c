/* SPDX-License-Identifier: BSD-3-Clause */
/* fuzz-config.c -- whatever a user writes, it is read or refused in order */

/*
 * The first byte says what the rest is:
 *   t  a list of tiers		i  a configuration file
 *   s  a size, duration ...	e  variables, one in a line
 *   a  words of a command line, one in a line
 * What is accepted must read back the same; what is refused must give a
 * printable message with a code and a hint.  Built with SPW_REPLAY it runs
 * over the files named, or over the corpus.
 */

#include "shm/conf.h"
#include "shm/ini.h"
#include "shm/secret.h"
#include "shm/setting.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LARGEST 16384
#define LINES 24

#define MUST(cond) \
	do { \
		if (!(cond)) { \
			fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, \
				#cond); \
			abort(); \
		} \
	} while (0)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static char *const env[] = { "HOME=/h", "TMPDIR=/t m@p+x%", "CAP=2G",
			     "LOGIN=me:pw@host", "EMPTY=", NULL };
static struct spw_config cfg;
static struct spw_diags diags;
static struct spw_tierlist tiers, again;

static void
must_be_printable(const char *s, size_t n)
{
	for (size_t i = 0; i < n; i++)
		MUST((unsigned char)s[i] >= 0x20 || s[i] == '\n');
}

static void
must_be_sound(const struct spw_diag *d)
{
	char buf[SPW_DIAG_MAX];
	size_t n = spw_diag_format(d, false, buf, sizeof(buf));

	MUST(d->severity != SPW_SILENT && d->code && d->cause[0]);
	MUST(spw_diag_code_name(d->code)[0] == 'W' || d->hint[0]);
	MUST(n == strlen(buf) && n < sizeof(buf) - 1);
	must_be_printable(buf, n);
	n = spw_diag_oneline(d, "off", buf, sizeof(buf));
	must_be_printable(buf, n);
	MUST(memchr(buf, '\n', n) == buf + n - 1);
	MUST(d->width >= 1 || !d->text[0]);
	MUST(d->caret + d->width <= 100);
}

static void
try_tiers(const char *text)
{
	const struct spw_machine m = { UINT64_C(1) << 33, SPW_UNLIMITED,
				       SPW_UNLIMITED };
	static const struct spw_dirs none;
	const struct spw_tierspec_where where = {
		.shm_dir = "/proc", .include = &none, .exclude = &none,
		.machine = &m,
	};
	struct spw_diag d;
	int r = spw_tierspec_parse(text, "T", SPW_KINDS_ALL, env, &tiers, &d);
	size_t at, len;

	if (strlen(text) < SPW_TIERS_LEN
	    && spw_secret_find(text, strlen(text), 0, &at, &len))
		MUST(r == -EINVAL && d.code == SPW_E185);
	if (r < 0) {
		MUST(r == -EINVAL);
		must_be_sound(&d);
		return;
	}
	MUST(tiers.n >= 1 && tiers.n <= SPW_TIERS_MAX);
	for (unsigned i = 0; i < tiers.n; i++) {
		const struct spw_tierspec *t = &tiers.tier[i];

		MUST(t->at + t->len <= (int)strlen(tiers.source));
		MUST(t->place < tiers.used && t->kind < SPW_KINDS);
		MUST(!spw_tierspec_is_directory(t->kind)
		     || *spw_tierspec_place(&tiers, t) == '/');
	}
	MUST(!spw_tierspec_parse(tiers.source, "T", SPW_KINDS_ALL, env,
				 &again, &d));
	MUST(again.n == tiers.n);
	/* a machine without room: the RAM tier is always refused */
	tiers.n = 1;
	if (tiers.tier[0].kind == SPW_KIND_RAM) {
		MUST(spw_tierspec_check(&tiers, &where, &d) == -EINVAL);
		must_be_sound(&d);
	}
}

static void
try_size(const char *s, size_t n)
{
	uint64_t v = 0, back = 1;
	struct spw_text t;
	unsigned percent;
	char buf[32];
	bool b;

	(void)spw_size_bytes(s, n, &v);		/* any answer will do */
	(void)spw_size_percent(s, n, &percent);
	(void)spw_size_boolean(s, n, &b);
	if (!spw_size_number(s, n, &v)) {
		spw_text_init(&t, buf, sizeof(buf));
		spw_text_u64(&t, v);
		MUST(!spw_size_number(buf, t.len, &back) && back == v);
	}
	if (!spw_size_duration(s, n, &v)) {
		spw_text_init(&t, buf, sizeof(buf));
		spw_text_duration(&t, v);
		MUST(!t.cut);
		MUST(!spw_size_duration(buf, t.len, &back) && back == v);
	}
}

/* What was accepted is shown in a form that gives the same again. */
static void
must_read_back(enum spw_option_id id)
{
	static char buf[SPW_PATH_MAX * 2], second[SPW_PATH_MAX * 2];
	static struct spw_config other;
	static struct spw_diags d;
	struct spw_config_flag flag = { spw_options[id].name, buf };
	struct spw_text t;

	spw_text_init(&t, buf, sizeof(buf));
	spw_config_value(&cfg, id, &t);
	MUST(!t.cut);
	if (id == SPW_OPTION_INCLUDE && !buf[0])
		return;			/* it stands for the working directory */
	MUST(!spw_config_load(&(struct spw_config_source){
		.flags = &flag, .n_flags = 1, .system_file = "/dev/null",
	}, &other, &d) || id == SPW_OPTION_CONFIG);
	spw_text_init(&t, second, sizeof(second));
	spw_config_value(&other, id, &t);
	MUST(!strcmp(buf, second));
	spw_text_init(&t, buf, sizeof(buf));
	spw_config_origin(&cfg, id, &t);
	must_be_printable(buf, t.len);
}

static void
try_ini(const char *text, size_t n)
{
	struct spw_setting set = { .cfg = &cfg, .diags = &diags,
				   .envp = env };
	struct spw_ini ini;
	int r;

	MUST(!spw_config_load(&(struct spw_config_source){
		.system_file = "/dev/null" }, &cfg, &diags));
	spw_ini_init_mem(&ini, text, n);
	while ((r = spw_ini_next(&ini)) > 0) {
		MUST(ini.key[0] && ini.line >= 1);
		MUST(strlen(ini.value) < SPW_INI_LINE);
		set.id = spw_setting_find(ini.key, strlen(ini.key));
		set.value = ini.value;
		set.origin = (struct spw_origin){ SPW_FROM_USER, ini.line };
		if (set.id == SPW_OPTION_COUNT)
			continue;
		diags.n = 0;
		if (spw_setting_put(&set) < 0)
			must_be_sound(&diags.at[0]);
		else if (!(ini.line & 7))
			must_read_back(set.id);
	}
	if (r == -EINVAL)
		MUST(ini.cause && ini.hint && ini.fault_at <= ini.len);
	else
		MUST(!r || r == -EFBIG);
}

/* Cut the text into lines; the last pointer is NULL. */
static size_t
split(char *text, char **ret)
{
	size_t n = 0;
	char *save;

	for (char *p = strtok_r(text, "\n", &save); p && n < LINES;
	     p = strtok_r(NULL, "\n", &save))
		/* a file that the input names is not ours to open */
		if (!strstr(p, "SPILLWAY_CONFIG") && !strstr(p, "--config"))
			ret[n++] = p;
	ret[n] = NULL;
	return n;
}

static void
finish(const struct spw_config_source *src)
{
	int r = spw_config_load(src, &cfg, &diags);

	for (unsigned i = 0; i < diags.n; i++)
		must_be_sound(&diags.at[i]);
	MUST(!r || (r == -EINVAL && diags.n));
	for (unsigned i = 0; !r && i < SPW_OPTION_COUNT; i++)
		if (cfg.origin[i].from != SPW_FROM_BUILTIN)
			must_read_back(i);
}

static void
try_environment(char *text)
{
	char *envp[LINES + 1];

	(void)split(text, envp);
	(void)spw_config_is_disabled(envp);
	finish(&(struct spw_config_source){ .envp = envp,
					    .system_file = "/dev/null" });
}

static void
try_arguments(char *text)
{
	struct spw_config_flag flags[LINES];
	struct spw_config_source src = { .envp = env, .flags = flags,
					 .system_file = "/dev/null" };
	char *argv[LINES + 1];
	struct spw_diag d;
	int r;

	(void)split(text, argv);
	for (char **p = argv; *p; p += r) {
		r = spw_config_arg(p, NULL, &flags[src.n_flags], &d);
		if (r < 0) {
			must_be_sound(&d);
			return;
		}
		if (!r)
			break;
		src.n_flags++;
	}
	finish(&src);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	char *text;

	if (n < 1 || n > LARGEST)
		return 0;
	text = malloc(n);		/* of its exact size, for the sanitizer */
	MUST(text);
	memcpy(text, data + 1, n - 1);
	text[n - 1] = '\0';
	switch (data[0]) {
	case 't':
		try_tiers(text);
		break;
	case 'i':
		try_ini(text, n - 1);
		break;
	case 's':
		try_size(text, n - 1);
		break;
	case 'e':
		try_environment(text);
		break;
	case 'a':
		try_arguments(text);
		break;
	}
	free(text);
	return 0;
}

#ifdef SPW_REPLAY

#include "tests/replay.h"

int
main(int argc, char **argv)
{
	replay(argc, argv, "config", LARGEST);
	return 0;
}

#endif
