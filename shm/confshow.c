/* SPDX-License-Identifier: BSD-3-Clause */
/* confshow.c -- what the settings are, where from, and what they are for */

#include "shm/conf.h"

#include "shm/expand.h"
#include "shm/sys.h"
#include "shm/setting.h"

#include <string.h>
#include <sys/ioctl.h>

void
spw_config_variable(enum spw_option_id id, struct spw_text *t)
{
	spw_text_put(t, "SPILLWAY_");
	for (const char *p = spw_options[id].name; *p; p++)
		spw_text_putc(t, *p == '-' ? '_' : *p - ('a' - 'A'));
}

/*
 * As it would be written: a dollar sign is doubled, and in a list a colon or
 * backslash has a backslash before it.
 */
static void
put_path(struct spw_text *t, const char *path, bool in_list)
{
	for (; *path; path++) {
		if (*path == '$')
			spw_text_putc(t, '$');
		if (in_list && (*path == ':' || *path == '\\'))
			spw_text_putc(t, '\\');
		spw_text_putc(t, *path);
	}
}

static void
put_dirs(struct spw_text *t, const struct spw_dirs *dirs)
{
	for (unsigned i = 0; i < dirs->n; i++) {
		if (i)
			spw_text_putc(t, ':');
		put_path(t, spw_dirs_get(dirs, i), true);
	}
}

static void
put_word(struct spw_text *t, const char *words, unsigned index)
{
	while (index--)
		words += strcspn(words, "|") + 1;
	spw_text_putn(t, words, strcspn(words, "|"));
}

void
spw_config_value(const struct spw_config *cfg, enum spw_option_id id,
		 struct spw_text *t)
{
	const struct spw_option *o = &spw_options[id];
	const void *field = (const char *)cfg + o->offset;

	switch (o->type) {
	case SPW_OPT_DIRS:
		put_dirs(t, field);
		break;
	case SPW_OPT_PATH:
		put_path(t, field, false);
		break;
	case SPW_OPT_TIERS:
	case SPW_OPT_NAME:
	case SPW_OPT_WEIGHTS:
		spw_text_put(t, field);
		break;
	case SPW_OPT_CHOICE:
		put_word(t, o->words, *(const unsigned *)field);
		break;
	case SPW_OPT_DURATION:
		spw_text_duration(t, *(const uint64_t *)field);
		break;
	case SPW_OPT_NUMBER:
		spw_text_u64(t, *(const unsigned *)field);
		break;
	case SPW_OPT_BOOL:
		spw_text_put(t, *(const bool *)field ? "yes" : "no");
		break;
	}
}

void
spw_config_origin(const struct spw_config *cfg, enum spw_option_id id,
		  struct spw_text *t)
{
	const struct spw_origin *o = &cfg->origin[id];

	switch (o->from) {
	case SPW_FROM_BUILTIN:
		spw_text_put(t, "built-in");
		break;
	case SPW_FROM_ENV:
		spw_config_variable(id, t);
		break;
	case SPW_FROM_FLAG:
		spw_text_fmt(t, "--%s", spw_options[id].name);
		break;
	default:
		spw_text_fmt(t, "%e:%u", cfg->file[o->from], o->line);
	}
}

int
spw_config_tiers(const struct spw_config *cfg, char *const *envp,
		 struct spw_tierlist *ret_list, struct spw_diag *ret_diag)
{
	char subject[320];
	struct spw_text t;

	spw_text_init(&t, subject, sizeof(subject));
	spw_setting_subject(cfg, SPW_OPTION_TIERS,
			    cfg->origin[SPW_OPTION_TIERS], &t);
	return spw_tierspec_parse(cfg->tiers, subject, SPW_KINDS_AVAILABLE,
				  envp, ret_list, ret_diag);
}

int
spw_config_check(const struct spw_config *cfg, struct spw_tierlist *list,
		 struct spw_diag *ret_diag)
{
	const struct spw_tierspec_where where = {
		.shm_dir = cfg->shm_dir,
		.include = &cfg->include,
		.exclude = &cfg->exclude,
	};

	return spw_tierspec_check(list, &where, ret_diag);
}

bool
spw_config_is_disabled(char *const *envp)
{
	const char *value = spw_expand_getenv(envp, "SPILLWAY_DISABLE", 16);
	bool disabled = false;

	return value && !spw_size_boolean(value, strlen(value), &disabled)
	    && disabled;
}

static bool
is_terminal(int fd)
{
	char tios[256];			/* larger than the kernel's termios */

	return !spw_syscall(SYS_ioctl, fd, TCGETS, (long)tios, 0, 0, 0);
}

bool
spw_config_color(const struct spw_config *cfg, char *const *envp, int fd)
{
	const char *none = spw_expand_getenv(envp, "NO_COLOR", 8);
	const char *term = spw_expand_getenv(envp, "TERM", 4);

	if (cfg->color != SPW_COLOR_AUTO)
		return cfg->color == SPW_COLOR_ALWAYS;
	return !(none && *none) && term && *term && strcmp(term, "dumb")
	    && is_terminal(fd);
}

void
spw_config_print_help(int fd)
{
	char line[256];
	struct spw_text t;

	for (unsigned i = 0; i < SPW_OPTION_COUNT; i++) {
		const struct spw_option *o = &spw_options[i];

		spw_text_init(&t, line, sizeof(line));
		spw_text_fmt(&t, o->type == SPW_OPT_NUMBER ? "  --%s[=%s]"
			     : "  --%s %s", o->name, o->shape);
		do
			spw_text_putc(&t, ' ');
		while (t.len < 24);
		spw_text_put(&t, o->help);
		if (*o->value)
			spw_text_fmt(&t, " (%s)", o->value);
		spw_text_putc(&t, '\n');
		(void)spw_sys_write(fd, line, t.len);	/* help, no more */
	}
}
