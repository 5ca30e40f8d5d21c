/* SPDX-License-Identifier: BSD-3-Clause */
/* stagein.h -- files brought into the memory of a job before it needs them */
#ifndef SPW_TOOLS_STAGEIN_H
#define SPW_TOOLS_STAGEIN_H

#include "tools/args.h"

struct spw_stagein {
	const struct spw_args *args;
	char *const *paths;		/* files and directories */
	char **argv, **envp;		/* of the command */
	int64_t hold_ms;		/* stays so long; negative: an hour */
	bool dry, json;
};

/* Set in the command's second life: see tools/stagein.c. */
#define SPW_STAGING "SPILLWAY_STAGING"

/* The exit status. */
int spw_stage_in(const struct spw_stagein *req);

#endif
