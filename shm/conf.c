/* SPDX-License-Identifier: BSD-3-Clause */
/* conf.c -- collect the settings from files, environment and flags */

#include "shm/conf.h"

#include "shm/expand.h"
#include "shm/ini.h"
#include "shm/layout.h"
#include "shm/sys.h"
#include "shm/setting.h"
#include "shm/suggest.h"

#include <errno.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/sysmacros.h>

/*
 * The weakest source is read first and each stronger one writes over it, so
 * that what remains is the answer and its origin.  A fault in any of them
 * is an error, even if a stronger source says otherwise: nobody would look
 * for it later.
 */
struct loader {
	struct spw_setting set;
	char *const *envp;		/* NULL when it does not count */
};

static const char prefix[] = "SPILLWAY_";
#define PREFIX (sizeof(prefix) - 1)

static int
warn_unknown(struct loader *l, enum spw_code code, const char *name,
	     size_t n, unsigned line)
{
	enum spw_option_id near = spw_setting_near(name, n);
	struct spw_diag *d = spw_diags_add(l->set.diags);
	bool variable = code == SPW_W102;
	char text[64];
	struct spw_text t;

	spw_diag_begin(d, SPW_WARNING, code);
	if (!variable)
		spw_diag_subject(d, "%e:%u", l->set.cfg->file
				 [l->set.origin.from], line);
	spw_diag_cause(d, "%s%E is not a setting", variable ? prefix : "",
		       name, n);
	if (near == SPW_OPTION_COUNT)
		return 0;
	spw_text_init(&t, text, sizeof(text));
	if (variable)
		spw_config_variable(near, &t);
	else
		spw_text_put(&t, spw_options[near].name);
	spw_diag_cause(d, "; did you mean %s?", text);
	return 0;
}

/* The file is there but cannot be used: say which and why. */
static struct spw_diag *
blame_file(struct loader *l, enum spw_code code)
{
	struct spw_diag *d = spw_diags_add(l->set.diags);

	spw_diag_begin(d, SPW_ERROR, code);
	spw_diag_subject(d, "%e", l->set.cfg->file[l->set.origin.from]);
	return d;
}

static void
hint_file(struct loader *l, struct spw_diag *d)
{
	struct spw_config *cfg = l->set.cfg;
	enum spw_from from = l->set.origin.from;

	if (from != SPW_FROM_CONFIG)
		spw_diag_hint(d, "repair or remove it");
	else
		spw_diag_hint(d, "it is named by %s; check the name and the"
			      " mode", cfg->origin[SPW_OPTION_CONFIG].from
			      == SPW_FROM_FLAG ? "--config"
			      : "SPILLWAY_CONFIG");
}

static int
blame_unreadable(struct loader *l, int r)
{
	struct spw_diag *d = blame_file(l, SPW_E190);

	spw_diag_cause(d, "cannot be read: %s", r == -EFBIG
		       ? "it is larger than 64 KiB" : spw_diag_errno(r));
	hint_file(l, d);
	return -EINVAL;
}

static int
blame_syntax(struct loader *l, const struct spw_ini *ini)
{
	struct spw_diag *d = blame_file(l, SPW_E191);

	spw_diag_subject(d, ":%u", ini->line);
	spw_diag_cause(d, "%s", ini->cause);
	spw_diag_text(d, ini->text, ini->len, ini->fault_at, ini->fault_len);
	spw_diag_hint(d, "%s; see spillway.conf(5)", ini->hint);
	return -EINVAL;
}

/* Whoever may write the file decides what this program does. */
static int
check_trust(struct loader *l, int fd, bool *ret_empty)
{
	unsigned me = spw_sys_geteuid();
	struct spw_diag *d;
	struct stat st;
	int r;

	r = spw_sys_fstat(fd, &st);
	if (r < 0)
		return blame_unreadable(l, r);
	*ret_empty = S_ISCHR(st.st_mode) && st.st_rdev == makedev(1, 3);
	if (*ret_empty)
		return 0;		/* /dev/null: no settings at all */
	if (!S_ISREG(st.st_mode))
		return blame_unreadable(l, S_ISDIR(st.st_mode) ? -EISDIR
							       : -EINVAL);
	if (st.st_uid && st.st_uid != me) {
		d = blame_file(l, SPW_E192);
		spw_diag_cause(d, "belongs to uid %u, neither to you (uid %u)"
			       " nor to root", st.st_uid, me);
		spw_diag_hint(d, "use a file of yours");
		return -EINVAL;
	}
	if (st.st_mode & 022) {
		d = blame_file(l, SPW_E192);
		spw_diag_cause(d, "others may write it (mode %o)",
			       st.st_mode & 07777);
		spw_diag_hint(d, "chmod go-w %s", d->subject);
		return -EINVAL;
	}
	return 0;
}

static int
apply_entry(struct loader *l, const struct spw_ini *ini)
{
	struct spw_config *cfg = l->set.cfg;
	enum spw_from from = l->set.origin.from;
	enum spw_option_id id = spw_setting_find(ini->key,
						 strlen(ini->key));
	struct spw_diag *d;

	if (id == SPW_OPTION_COUNT)
		return warn_unknown(l, SPW_W105, ini->key, strlen(ini->key),
				    ini->line);
	if (id == SPW_OPTION_CONFIG) {
		d = blame_file(l, SPW_E106);
		spw_diag_subject(d, ":%u: %s", ini->line, ini->key);
		spw_diag_cause(d, "a file cannot name another one");
		spw_diag_hint(d, "use SPILLWAY_CONFIG or --config");
		return -EINVAL;
	}
	if (cfg->origin[id].from == from
	    && spw_options[id].type != SPW_OPT_DIRS) {
		d = blame_file(l, SPW_E193);
		spw_diag_subject(d, ":%u: %s", ini->line, ini->key);
		spw_diag_cause(d, "is already set in line %u",
			       cfg->origin[id].line);
		spw_diag_hint(d, "keep one of the two lines");
		return -EINVAL;
	}
	l->set.id = id;
	l->set.value = ini->value;
	l->set.origin.line = ini->line;
	return spw_setting_put(&l->set);
}

static int
apply_entries(struct loader *l, int fd)
{
	struct spw_ini ini;
	int r;

	spw_ini_init_fd(&ini, fd);
	while ((r = spw_ini_next(&ini)) > 0) {
		r = apply_entry(l, &ini);
		if (r < 0)
			return r;
	}
	if (r == -EINVAL && ini.cause)
		return blame_syntax(l, &ini);
	return r < 0 ? blame_unreadable(l, r) : 0;
}

/*
 * A file that nobody named may be missing, also when we may not even look
 * (somebody else's home directory).
 */
static bool
may_be_missing(const struct loader *l, const char *path, int r)
{
	struct stat st;

	if (l->set.origin.from == SPW_FROM_CONFIG)
		return false;
	return r == -ENOENT || r == -ENOTDIR || (r == -EACCES
	    && spw_sys_fstatat(AT_FDCWD, path, &st, 0) == -EACCES);
}

static int
apply_file(struct loader *l, enum spw_from from)
{
	char *path = l->set.cfg->file[from];
	bool empty = false;
	int fd, r;

	l->set.origin = (struct spw_origin){ .from = from };
	if (!*path)
		return 0;
	/* O_NONBLOCK: a pipe in its place must not hold up the program */
	fd = spw_sys_open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC,
			  0);
	if (fd < 0 && may_be_missing(l, path, fd)) {
		*path = '\0';
		return 0;
	}
	if (fd < 0)
		return blame_unreadable(l, fd);
	r = check_trust(l, fd, &empty);
	if (!r && !empty)
		r = apply_entries(l, fd);
	(void)spw_sys_close(fd);	/* nothing was written to it */
	return r;
}

static bool
is_internal(const char *name, size_t n)
{
	static const char *const internal[] = { SPW_INTERNAL_VARIABLES };

	for (size_t i = 0; i < sizeof(internal) / sizeof(internal[0]); i++)
		if (strlen(internal[i]) == n && !memcmp(internal[i], name, n))
			return true;
	return false;
}

/* DRAIN_DELAY against drain-delay. */
static enum spw_option_id
find_variable(const char *name, size_t n)
{
	char text[64];
	struct spw_text t;
	unsigned id;

	for (id = 0; id < SPW_OPTION_COUNT; id++) {
		spw_text_init(&t, text, sizeof(text));
		spw_config_variable(id, &t);
		if (t.len == n && !memcmp(text, name, n))
			break;
	}
	return id;
}

/* All variables, or (only < SPW_OPTION_COUNT) a single one. */
static int
apply_environment(struct loader *l, enum spw_option_id only)
{
	int r = 0;

	l->set.origin = (struct spw_origin){ .from = SPW_FROM_ENV };
	for (char *const *e = l->envp; e && *e && !r; e++) {
		const char *equals = strchr(*e, '=');
		size_t n = equals ? (size_t)(equals - *e) : 0;

		if (n <= PREFIX || memcmp(*e, prefix, PREFIX)
		    || is_internal(*e, n))
			continue;
		l->set.id = find_variable(*e, n);
		l->set.value = equals + 1;
		if (only < SPW_OPTION_COUNT && l->set.id != only)
			continue;
		if (l->set.id < SPW_OPTION_COUNT)
			r = spw_setting_put(&l->set);
		else
			r = warn_unknown(l, SPW_W102, *e + PREFIX,
					 n - PREFIX, 0);
	}
	return r;
}

static int
blame_flag(struct spw_diag *d, const char *word, const char *const *own)
{
	size_t n = strcspn(word, "="), dashes = strspn(word, "-");
	enum spw_option_id near;
	const char *mine = NULL;
	unsigned n_own = 0;

	if (dashes > n)
		dashes = n;
	while (own && own[n_own])
		n_own++;
	spw_diag_begin(d, SPW_ERROR, SPW_E104);
	spw_diag_subject(d, "%E", word, n);
	spw_diag_cause(d, "unknown option");
	mine = spw_suggest(word + dashes, n - dashes, own, n_own);
	near = spw_setting_near(word + dashes, n - dashes);
	if (near < SPW_OPTION_COUNT)
		mine = spw_options[near].name;
	if (mine)
		spw_diag_hint(d, "did you mean --%s?", mine);
	else
		spw_diag_hint(d, "--help lists the options");
	return -EINVAL;
}

static int
apply_flags(struct loader *l, const struct spw_config_source *src,
	    enum spw_option_id only)
{
	int r = 0;

	l->set.origin = (struct spw_origin){ .from = SPW_FROM_FLAG };
	for (size_t i = 0; i < src->n_flags && !r; i++) {
		const struct spw_config_flag *f = &src->flags[i];

		l->set.id = spw_setting_find(f->name, strlen(f->name));
		l->set.value = f->value;
		if (only < SPW_OPTION_COUNT && l->set.id != only)
			continue;
		if (l->set.id < SPW_OPTION_COUNT)
			r = spw_setting_put(&l->set);
		else
			r = blame_flag(spw_diags_add(l->set.diags), f->name,
				       NULL);
	}
	return r;
}

/* A file of this user below the directory that the variable names, or below
 * a directory of the home.  False: neither is there, or it is too long.
 */
static bool
find_below(char *const *envp, const char *variable, const char *in_home,
	   const char *name, char *ret)
{
	const char *dir = spw_expand_getenv(envp, variable, strlen(variable));
	const char *below = "/";
	struct spw_text t;

	if (!dir || *dir != '/') {
		dir = spw_expand_getenv(envp, "HOME", 4);
		below = in_home;
	}
	spw_text_init(&t, ret, SPW_CONFIG_PATH);
	if (!dir || *dir != '/')
		return false;
	spw_text_fmt(&t, "%s%s%s", dir, below, name);
	if (t.cut)
		t.at[0] = '\0';
	return !t.cut;
}

static void
find_user_file(struct loader *l)
{
	(void)find_below(l->envp, "XDG_CONFIG_HOME", "/.config/",
			 SPW_CONFIG_NAME, l->set.cfg->file[SPW_FROM_USER]);
}

bool
spw_config_seed(const struct spw_config *cfg, char *const *envp,
		char ret_path[SPW_CONFIG_PATH])
{
	if (!strcmp(cfg->seed, "/dev/null"))
		return false;
	if (!cfg->seed[0])
		return find_below(envp, "XDG_CACHE_HOME", "/.cache/",
				  SPW_SEED_NAME, ret_path);
	memcpy(ret_path, cfg->seed, SPW_CONFIG_PATH);
	return true;
}

static int
apply_files(struct loader *l, const struct spw_config_source *src)
{
	struct spw_config *cfg = l->set.cfg;
	struct spw_text t;
	int r;

	spw_text_init(&t, cfg->file[SPW_FROM_SYSTEM], SPW_CONFIG_PATH);
	spw_text_put(&t, src->system_file ? src->system_file
		     : SPW_SYSCONFDIR "/" SPW_CONFIG_NAME);
	find_user_file(l);
	memcpy(cfg->file[SPW_FROM_CONFIG], cfg->config, SPW_CONFIG_PATH);
	r = apply_file(l, SPW_FROM_SYSTEM);
	if (!r)
		r = apply_file(l, SPW_FROM_USER);
	return r ? r : apply_file(l, SPW_FROM_CONFIG);
}

static int
apply_defaults(struct loader *l)
{
	int r = 0;

	memset(l->set.cfg, 0, sizeof(*l->set.cfg));
	l->set.origin = (struct spw_origin){ .from = SPW_FROM_BUILTIN };
	l->set.value = "";
	for (unsigned i = 0; i < SPW_OPTION_COUNT && !r; i++) {
		l->set.id = i;
		r = spw_setting_put(&l->set);
	}
	return r;
}

static void
include_here(struct spw_config *cfg)
{
	char cwd[SPW_PATH_MAX];

	if (!cfg->include.n && !spw_path_cwd(cwd))
		(void)spw_dirs_add(&cfg->include, cwd);	/* it fits alone */
}

static int
be_strict(struct spw_diags *diags)
{
	for (unsigned i = 0; i < diags->n; i++)
		diags->at[i].severity = SPW_ERROR;
	return diags->n ? -EINVAL : 0;
}

int
spw_config_load(const struct spw_config_source *src,
		struct spw_config *ret_cfg, struct spw_diags *ret_diags)
{
	struct loader l = {
		.set = { .cfg = ret_cfg, .diags = ret_diags },
	};
	int r;

	ret_diags->n = ret_diags->dropped = 0;
	if (!src->secure && !getauxval(AT_SECURE))
		l.envp = src->envp;
	l.set.envp = l.envp;
	r = apply_defaults(&l);
	/* which file to read is known first */
	if (!r)
		r = apply_environment(&l, SPW_OPTION_CONFIG);
	if (!r)
		r = apply_flags(&l, src, SPW_OPTION_CONFIG);
	if (!r)
		r = apply_files(&l, src);
	if (!r)
		r = apply_environment(&l, SPW_OPTION_COUNT);
	if (!r)
		r = apply_flags(&l, src, SPW_OPTION_COUNT);
	include_here(ret_cfg);
	if (!r && ret_cfg->strict)
		r = be_strict(ret_diags);
	return r;
}

int
spw_config_arg(char *const *argv, const char *const *own,
	       struct spw_config_flag *ret_flag, struct spw_diag *ret_diag)
{
	static const struct { const char *word; struct spw_config_flag flag; }
	brief[] = {
		{ "-q", { "quiet", NULL } }, { "-v", { "verbose", NULL } },
		{ "-vv", { "verbose", "2" } },
	};
	const char *word = argv[0];
	enum spw_option_id id;
	size_t n;

	if (!word || word[0] != '-' || !word[1] || !strcmp(word, "--"))
		return 0;
	for (size_t i = 0; i < sizeof(brief) / sizeof(brief[0]); i++)
		if (!strcmp(word, brief[i].word)) {
			*ret_flag = brief[i].flag;
			return 1;
		}
	n = strcspn(word, "=");
	id = n > 2 && word[1] == '-' ? spw_setting_find(word + 2, n - 2)
				     : SPW_OPTION_COUNT;
	if (id == SPW_OPTION_COUNT)
		return blame_flag(ret_diag, word, own);
	ret_flag->name = spw_options[id].name;
	ret_flag->value = word[n] ? word + n + 1 : NULL;
	if (word[n] || spw_options[id].type == SPW_OPT_BOOL
	    || spw_options[id].type == SPW_OPT_NUMBER)
		return 1;
	ret_flag->value = argv[1];
	if (argv[1])
		return 2;
	spw_diag_begin(ret_diag, SPW_ERROR, SPW_E109);
	spw_diag_subject(ret_diag, "%e", word);
	spw_diag_cause(ret_diag, "a value is missing");
	spw_diag_hint(ret_diag, "write --%s %s", spw_options[id].name,
		      spw_options[id].shape);
	return -EINVAL;
}

uint32_t
spw_config_workers(const struct spw_config *cfg)
{
	static const uint32_t number[] = { SPW_NONE, 0, 1, 2, 4, 8, 16 };

	return number[cfg->workers];	/* in the order of the words */
}

uint64_t
spw_config_weights(const struct spw_config *cfg)
{
	struct spw_weights w;
	char why[SPW_WEIGHTS_WHY];

	if (spw_weights_parse(cfg->weights, &w, why, sizeof(why)) < 0)
		return 0;
	return spw_weights_pack(&w);
}
