/* SPDX-License-Identifier: BSD-3-Clause */
/* conf.h -- the settings: where they come from and what they are */

#ifndef SPW_SHM_CONF_H
#define SPW_SHM_CONF_H

#include "shm/diag.h"
#include "shm/options.h"
#include "shm/paths.h"
#include "shm/size.h"
#include "shm/tierspec.h"
#include "shm/weights.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifndef SPW_SYSCONFDIR
#define SPW_SYSCONFDIR "/etc"
#endif
#define SPW_CONFIG_NAME "spillway/spillway.conf"
#define SPW_SEED_NAME "spillway/seed.json"
#define SPW_CONFIG_PATH 1024		/* bytes of a path setting */
#define SPW_JOB_MAX 64

enum spw_option_type {
	SPW_OPT_TIERS,			/* char[SPW_TIERS_LEN] */
	SPW_OPT_DIRS,			/* struct spw_dirs */
	SPW_OPT_PATH,			/* char[SPW_CONFIG_PATH], absolute */
	SPW_OPT_NAME,			/* char[SPW_JOB_MAX + 1] */
	SPW_OPT_WEIGHTS,		/* char[SPW_WEIGHTS_LEN] */
	SPW_OPT_CHOICE,			/* unsigned, index of the word */
	SPW_OPT_DURATION,		/* uint64_t, nanoseconds */
	SPW_OPT_NUMBER,			/* unsigned */
	SPW_OPT_BOOL			/* bool */
};

enum spw_option_id {
#define SPW_OPTION_ID(id, ...) SPW_OPTION_##id,
	SPW_OPTIONS(SPW_OPTION_ID)
#undef SPW_OPTION_ID
	SPW_OPTION_COUNT
};

struct spw_option {
	const char *name;
	enum spw_option_type type;
	size_t offset;			/* in struct spw_config */
	const char *value;		/* the default */
	uint64_t low, high;
	const char *words, *shape, *help;
};

extern const struct spw_option spw_options[SPW_OPTION_COUNT];

enum { SPW_DRAINER_AUTO, SPW_DRAINER_AGENT, SPW_DRAINER_THREAD };
enum { SPW_AT_EXIT_HOME, SPW_AT_EXIT_AGENT, SPW_AT_EXIT_KEEP };
enum { SPW_COLOR_AUTO, SPW_COLOR_ALWAYS, SPW_COLOR_NEVER };

enum spw_from {				/* later ones win */
	SPW_FROM_BUILTIN,
	SPW_FROM_SYSTEM,		/* SPW_SYSCONFDIR */
	SPW_FROM_USER,			/* XDG_CONFIG_HOME or ~/.config */
	SPW_FROM_CONFIG,		/* SPILLWAY_CONFIG, --config */
	SPW_FROM_ENV,
	SPW_FROM_FLAG
};

struct spw_origin {
	enum spw_from from;
	unsigned line;			/* in a file */
};

struct spw_config {			/* some 18 KiB, no pointers */
	char tiers[SPW_TIERS_LEN];	/* see spw_config_tiers */
	struct spw_dirs include, exclude;
	char receipt[SPW_CONFIG_PATH];
	char job[SPW_JOB_MAX + 1];
	char shm_dir[SPW_CONFIG_PATH];
	unsigned drainer;		/* SPW_DRAINER_x */
	uint64_t drain_delay, drain_timeout;	/* ns, SPW_DURATION_NONE */
	unsigned workers;		/* see spw_config_workers */
	uint64_t drain_margin, kill_wait;	/* ns */
	unsigned at_exit;		/* SPW_AT_EXIT_x */
	char weights[SPW_WEIGHTS_LEN];	/* spw_weights_parse takes it */
	char seed[SPW_CONFIG_PATH];	/* see spw_config_seed */
	unsigned verbose;
	bool quiet, strict, disable;
	unsigned color;			/* SPW_COLOR_x */
	char tiledb_lib[SPW_CONFIG_PATH];
	char config[SPW_CONFIG_PATH];

	struct spw_origin origin[SPW_OPTION_COUNT];
	/* Files that were read, by origin; "" if there was none. */
	char file[SPW_FROM_CONFIG + 1][SPW_CONFIG_PATH];
};

struct spw_config_flag {
	const char *name;		/* without the dashes */
	const char *value;		/* NULL: --quiet, -v */
};

struct spw_config_source {
	char *const *envp;		/* NULL: none */
	const struct spw_config_flag *flags;
	size_t n_flags;
	const char *system_file;	/* NULL: the built-in path */
	bool secure;	/* environment and user file do not count, as for a
			   set-uid program; also when the kernel says so */
};

/*
 * Collect the settings.  Returns 0, with warnings in ret_diags, or -EINVAL
 * with one error behind them; ret_cfg then holds what was read before it
 * (enough to ask for its colour).  Reads files only; some 12 KiB of stack.
 */
int spw_config_load(const struct spw_config_source *src,
		    struct spw_config *ret_cfg, struct spw_diags *ret_diags);

/*
 * Read cfg->tiers, the built-in ram@auto if it is empty; then compare with
 * this machine.  envp serves ${NAME}.  0, or -EINVAL with the reason.
 */
int spw_config_tiers(const struct spw_config *cfg, char *const *envp,
		     struct spw_tierlist *ret_list,
		     struct spw_diag *ret_diag);
int spw_config_check(const struct spw_config *cfg, struct spw_tierlist *list,
		     struct spw_diag *ret_diag);

/* The threads that pack, as the segment has it. */
uint32_t spw_config_workers(const struct spw_config *cfg);

/* The weights in one word, likewise. */
uint64_t spw_config_weights(const struct spw_config *cfg);

/*
 * The file for the seed: cfg->seed or, if it is empty, spillway/seed.json in
 * XDG_CACHE_HOME or ~/.cache; /dev/null is none.  False: there is none.
 */
bool spw_config_seed(const struct spw_config *cfg, char *const *envp,
		     char ret_path[SPW_CONFIG_PATH]);

/*
 * Take one option off a command line: 1 or 2 words used, with ret_flag set;
 * 0: argv[0] is no option (or --); -EINVAL with the reason.  A caller with
 * options of its own looks for these first and names them in `own` (ended
 * by NULL, or NULL), so that a slip in one of them is recognised.
 */
int spw_config_arg(char *const *argv, const char *const *own,
		   struct spw_config_flag *ret_flag,
		   struct spw_diag *ret_diag);

/* The value as one would write it, and where it came from. */
void spw_config_value(const struct spw_config *cfg, enum spw_option_id id,
		      struct spw_text *t);
void spw_config_origin(const struct spw_config *cfg, enum spw_option_id id,
		       struct spw_text *t);

/* SPILLWAY_DRAIN_DELAY for drain-delay. */
void spw_config_variable(enum spw_option_id id, struct spw_text *t);

/* The off switch alone, for a look before anything else is done. */
bool spw_config_is_disabled(char *const *envp);

/* Whether messages to fd are coloured (NO_COLOR, TERM, a terminal). */
bool spw_config_color(const struct spw_config *cfg, char *const *envp,
		      int fd);

/* The options as a part of a command's --help. */
void spw_config_print_help(int fd);

#endif
