/* SPDX-License-Identifier: BSD-3-Clause */
/* cmd-version.c -- spillway version: the release, and what it can do here */
#include "config.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "shm/version.h"
#include "tiers/features.h"
#include "tools/args.h"
#include "tools/commands.h"
#include "tools/library.h"
#include "tools/show.h"

static const char usage[] =
	"usage: spillway version [--features]\n"
	"\n"
	"Show the release, and with --features what this build can do.\n"
	"\n"
	"  spillway version\n"
	"  spillway version --features\n"
	"  spillway --version\n"
	"\n"
	"  --features            tiers, files and libraries of this build\n"
	"  --help                this text\n";

/* Written with the rest, at once: who looks for one line may not read on. */
static int
put_part(const struct spw_feature *f, void *arg)
{
	(void)arg;
	printf("%-11s %-7s %-3s  ", f->kind, f->name, f->present ? "yes" : "no");
	spw_show_name(stdout, f->detail);
	putchar('\n');
	return 0;
}

static void
put_features(void)
{
	char path[PATH_MAX];

	fputs("tiers       ", stdout);
	for (unsigned i = 0; i < SPW_KINDS; i++)
		if (SPW_KINDS_AVAILABLE >> i & 1)
			printf("%s ", spw_tierspec_kind_name(i));
	puts("home");
	fputs("library     ", stdout);
	if (spw_library_find(path, sizeof(path)) == 0)
		spw_show_name(stdout, path);
	else
		fputs("not found", stdout);
	puts("\nsettings    " SPW_SYSCONFDIR "/" SPW_CONFIG_NAME);
#ifdef SPW_FAILPOINTS
	puts("failpoints  built in");
#else
	puts("failpoints  none");
#endif
	(void)spw_features_each(NULL, put_part, NULL);	/* the rest is told */
}

int
spw_cmd_version(int argc, char **argv, char **envp)
{
	bool features = false;
	const struct spw_switch own[] = {
		{ "--features", &features, NULL }, { NULL, NULL, NULL },
	};
	const struct spw_command command = {
		.name = "version", .usage = usage, .own = own,
		.usage_status = SPW_EXIT_USAGE,
	};
	static struct spw_args args;
	int status = spw_args_read(&command, argv, envp, &args);

	(void)argc;
	if (status >= 0)
		return status;
	if (args.n_rest) {
		fputs(usage, stderr);
		return SPW_EXIT_USAGE;
	}
	printf("spillway %s\n", spw_version());
	if (features)
		put_features();
	return fflush(stdout) ? SPW_EXIT_FINDINGS : SPW_EXIT_OK;
}
