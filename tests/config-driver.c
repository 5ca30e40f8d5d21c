/* SPDX-License-Identifier: BSD-3-Clause */
/* config-driver.c -- settings and tiers of every kind, as a command */

/*
 * Reads the settings like the command does, but takes a list of tiers of any
 * kind, so that the messages of kinds that need a library or a server can be
 * seen without.  Ends with 125 after an error, as `spillway run` does.  With
 * the single argument --oneline it shows the short form.
 */

#include "shm/conf.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

static struct spw_config cfg;
static struct spw_tierlist tiers;
static bool oneline;

static int
show(const struct spw_diag *d)
{
	char buf[SPW_DIAG_MAX];
	size_t n;

	if (!oneline) {
		spw_diag_print(d, false, STDERR_FILENO);
		return 125;
	}
	n = spw_diag_oneline(d, "the program runs without Spillway", buf,
			     sizeof(buf));
	fwrite(buf, 1, n, stderr);
	return 125;
}

static void
put_tier(const struct spw_tierspec *t)
{
	printf("%s '%s' %llu", spw_tierspec_kind_name(t->kind),
	       spw_tierspec_place(&tiers, t), (unsigned long long)t->capacity);
	if (t->codec)
		printf(" %s", spw_tierspec_codec_name(t->codec));
	if (t->level >= 0)
		printf("=%d", t->level);
	for (unsigned k = 0; k < SPW_KEYS; k++)
		if (spw_tierspec_value(&tiers, t, k))
			printf(" %s=%s", spw_tierspec_key_name(k),
			       spw_tierspec_value(&tiers, t, k));
	putchar('\n');
}

int
main(int argc, char **argv, char **envp)
{
	struct spw_config_flag flags[64];
	struct spw_config_source src = { .envp = envp, .flags = flags };
	struct spw_diags diags;
	struct spw_diag diag;
	char subject[400];
	struct spw_text t;
	int r;

	oneline = argc == 2 && !strcmp(argv[1], "--oneline");
	for (argv += 1 + oneline; *argv; argv += r) {
		r = spw_config_arg(argv, NULL, &flags[src.n_flags++], &diag);
		if (r < 0)
			return show(&diag);
		if (!r || src.n_flags == 64)
			return 2;
	}
	r = spw_config_load(&src, &cfg, &diags);
	for (unsigned i = 0; i < diags.n; i++)
		(void)show(&diags.at[i]);	/* warnings, too */
	if (r < 0)
		return 125;
	spw_text_init(&t, subject, sizeof(subject));
	spw_config_origin(&cfg, SPW_OPTION_TIERS, &t);
	r = spw_tierspec_parse(cfg.tiers, subject, SPW_KINDS_ALL, envp,
			       &tiers, &diag);
	if (!r)
		r = spw_config_check(&cfg, &tiers, &diag);
	if (r < 0)
		return show(&diag);
	for (unsigned i = 0; i < tiers.n; i++)
		put_tier(&tiers.tier[i]);
	return 0;
}
