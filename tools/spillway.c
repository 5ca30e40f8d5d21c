/* SPDX-License-Identifier: BSD-3-Clause */
/* spillway.c -- the command: version, help and the way to the others */

#include <stdio.h>
#include <string.h>

#include "shm/version.h"
#include "tools/commands.h"

static const char usage[] =
	"usage: spillway config [--json] [OPTION]...\n"
	"       spillway --version | --help\n";

int
main(int argc, char **argv, char **envp)
{
	if (argc > 1 && !strcmp(argv[1], "config"))
		return spw_cmd_config(argc - 1, argv + 1, envp);
	if (argc == 2 && !strcmp(argv[1], "--version")) {
		printf("spillway %s\n", spw_version());
		return 0;
	}
	if (argc == 2 && !strcmp(argv[1], "--help")) {
		fputs(usage, stdout);
		return 0;
	}
	fputs(usage, stderr);
	return 2;
}
