/* SPDX-License-Identifier: BSD-3-Clause */
/* ask.c -- a question before something is changed */
#include "tools/ask.h"

#include <stdio.h>
#include <unistd.h>

#include "tools/show.h"

bool
spw_ask(const char *question, bool yes, bool quiet, const char *how)
{
	char line[16];

	if (yes)
		return true;
	fflush(stdout);
	if (isatty(STDIN_FILENO) && isatty(STDERR_FILENO)) {
		spw_show_name(stderr, question);
		fputs(" [y/N] ", stderr);
		return fgets(line, sizeof(line), stdin) &&
		       (line[0] == 'y' || line[0] == 'Y');
	}
	if (!quiet)
		fprintf(stderr, "nothing was changed; to do it: %s\n", how);
	return false;
}
