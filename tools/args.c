/* SPDX-License-Identifier: BSD-3-Clause */
/* args.c -- a command's own options, and the settings it listens to */
#include "tools/args.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { OWN_MAX = 16 };

struct reader {
	const struct spw_command *c;
	struct spw_config_flag flags[SPW_ARGS_FLAGS];
	size_t n_flags;
	bool help;
	struct spw_diag diag;
};

static void
print_help(const struct spw_command *c)
{
	fputs(c->usage, stdout);
	if (!c->settings)
		return;
	puts("\nSettings:");
	fflush(stdout);
	if (c->settings == SPW_SETTINGS_ALL) {
		spw_config_print_help(STDOUT_FILENO);
		return;
	}
	for (unsigned i = 0; i < SPW_OPTION_COUNT; i++) {
		const struct spw_option *o = &spw_options[i];

		if (c->settings >> i & 1)
			printf("  --%s%s%-*s%s\n", o->name, *o->shape ? " "
			       : "", (int)(21 - strlen(o->name)), o->shape,
			       o->help);
	}
}

static int
lacks_value(struct reader *r, const char *name)
{
	spw_diag_begin(&r->diag, SPW_ERROR, SPW_E109);
	spw_diag_subject(&r->diag, "%s", name);
	spw_diag_cause(&r->diag, "a value must follow");
	return -EINVAL;
}

/* Words used, 0: none of ours. */
static int
read_own(struct reader *r, char **argv)
{
	for (const struct spw_switch *s = r->c->own; s->name; s++) {
		size_t n = strlen(s->name);

		if (strncmp(*argv, s->name, n))
			continue;
		if (!(*argv)[n] && s->flag) {
			*s->flag = true;
			return 1;
		}
		if ((*argv)[n] == '=' && s->value) {
			*s->value = *argv + n + 1;
			return 1;
		}
		if (!(*argv)[n] && s->value) {
			if (!argv[1])
				return lacks_value(r, s->name);
			*s->value = argv[1];
			return 2;
		}
	}
	return 0;
}

static bool
listens_to(const struct spw_command *c, const char *name)
{
	for (unsigned i = 0; i < SPW_OPTION_COUNT; i++)
		if (!strcmp(spw_options[i].name, name))
			return c->settings >> i & 1;
	return false;
}

static int
read_setting(struct reader *r, char **argv)
{
	const char *own[OWN_MAX + 2];
	struct spw_config_flag flag;
	size_t n = 0;
	int used;

	for (const struct spw_switch *s = r->c->own; s->name && n < OWN_MAX;
	     s++)
		if (!strncmp(s->name, "--", 2))
			own[n++] = s->name + 2;
	own[n++] = "help";
	own[n] = NULL;
	used = spw_config_arg(argv, own, &flag, &r->diag);
	if (used <= 0)
		return used;
	if (!listens_to(r->c, flag.name) || r->n_flags == SPW_ARGS_FLAGS) {
		spw_diag_begin(&r->diag, SPW_ERROR, SPW_E104);
		spw_diag_subject(&r->diag, "--%s", flag.name);
		spw_diag_cause(&r->diag, "spillway %s has no such option",
			       r->c->name);
		spw_diag_hint(&r->diag, "spillway %s --help", r->c->name);
		return -EINVAL;
	}
	r->flags[r->n_flags++] = flag;
	return used;
}

/* Options may stand between operands, except before a program's name, where
 * they are the program's. */
static int
read_words(struct reader *r, char **argv, struct spw_args *args)
{
	char **to = argv;
	int used;

	args->rest = to;
	for (; *argv && strcmp(*argv, "--"); argv += used) {
		if (!strcmp(*argv, "--help")) {
			r->help = true;
			return 0;
		}
		used = read_own(r, argv);
		if (!used)
			used = read_setting(r, argv);
		if (used < 0)
			return used;
		if (used)
			continue;
		if (r->c->runs_program)
			break;
		used = 1;
		*to++ = *argv;
		args->n_rest++;
	}
	if (*argv && !strcmp(*argv, "--"))
		argv++;
	while (*argv) {
		*to++ = *argv++;
		args->n_rest++;
	}
	*to = NULL;
	return 0;
}

static int
load(struct reader *r, char **envp, struct spw_args *args)
{
	struct spw_diags diags;
	int err = spw_config_load(&(struct spw_config_source){
		.envp = envp, .flags = r->flags, .n_flags = r->n_flags,
	}, &args->cfg, &diags);

	args->color = spw_config_color(&args->cfg, envp, STDERR_FILENO);
	if (err < 0 || !args->cfg.quiet)
		spw_diags_print(&diags, args->color, STDERR_FILENO);
	return err;
}

int
spw_args_read(const struct spw_command *c, char **argv, char **envp,
	      struct spw_args *ret_args)
{
	static struct reader r;

	r = (struct reader){ .c = c };
	memset(ret_args, 0, sizeof(*ret_args));
	if (read_words(&r, argv + 1, ret_args) < 0) {
		spw_diag_print(&r.diag, spw_config_color(&ret_args->cfg, envp,
				STDERR_FILENO), STDERR_FILENO);
		return c->usage_status;
	}
	if (r.help) {
		print_help(c);
		return fflush(stdout) ? 1 : 0;
	}
	return load(&r, envp, ret_args) < 0 ? c->usage_status : -1;
}

bool
spw_args_timeout(const char *name, const char *value, int64_t *ret_ms)
{
	struct spw_diag d;
	uint64_t ns;
	int r = spw_size_duration(value, strlen(value), &ns);

	if (r < 0) {
		spw_diag_begin(&d, SPW_ERROR, r == -EDOM ? SPW_E103
							 : SPW_E106);
		spw_diag_subject(&d, "%s", name);
		spw_diag_cause(&d, r == -EDOM ? "%q has no unit"
			       : "cannot read %q", value);
		spw_diag_hint(&d, "write 500ms, 30s, 10min or none");
		spw_diag_print(&d, false, STDERR_FILENO);
		return false;
	}
	*ret_ms = ns == SPW_DURATION_NONE ? -1 : (int64_t)(ns / 1000000);
	return true;
}
