/* SPDX-License-Identifier: BSD-3-Clause */
/* spillway.c -- the command: version and help */

#include <stdio.h>
#include <string.h>

#include "shm/version.h"

static const char usage[] =
	"usage: spillway --version | --help\n";

int
main(int argc, char **argv)
{
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
