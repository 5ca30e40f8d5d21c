/* SPDX-License-Identifier: BSD-3-Clause */
/* args.h -- a command's own options, and the settings it listens to */
#ifndef SPW_TOOLS_ARGS_H
#define SPW_TOOLS_ARGS_H

#include <assert.h>

#include "shm/conf.h"

#define SPW_ARGS_FLAGS 256

struct spw_switch {			/* one of the two is set */
	const char *name;		/* with its dashes */
	bool *flag;			/* becomes true */
	const char **value;		/* gets what follows */
};

struct spw_command {
	const char *name, *usage;	/* usage: synopsis, text, examples */
	const struct spw_switch *own;	/* ended by a NULL name */
	uint32_t settings;		/* one bit per enum spw_option_id */
	bool runs_program;		/* operands end the options */
	int usage_status;		/* for what is not understood */
};

#define SPW_SETTING(id) (1u << SPW_OPTION_##id)
#define SPW_SETTINGS_ALL UINT32_MAX
/* What every command that looks at segments has. */
#define SPW_SETTINGS_LOOK (SPW_SETTING(JOB) | SPW_SETTING(SHM_DIR) | \
			   SPW_SETTING(VERBOSE) | SPW_SETTING(QUIET) | \
			   SPW_SETTING(COLOR) | SPW_SETTING(CONFIG))

static_assert(SPW_OPTION_COUNT <= 32, "spw_command.settings has a bit each");

struct spw_args {
	struct spw_config cfg;
	char **rest;			/* operands, ended by NULL */
	int n_rest;
	bool color;			/* messages on standard error */
};

/*
 * Reads the command line, then the settings. Negative: go on; else the exit
 * status to leave with, everything has been said (also for --help). rest
 * points into argv, which is reordered.
 */
int spw_args_read(const struct spw_command *c, char **argv, char **envp,
		  struct spw_args *ret_args);

/* A duration such as 10s, "none" is negative; false with a message. */
bool spw_args_timeout(const char *name, const char *value,
		      int64_t *ret_ms);

#endif
