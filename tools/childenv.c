/* SPDX-License-Identifier: BSD-3-Clause */
/* childenv.c -- the environment a program under Spillway starts with */
#include "tools/childenv.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "shm/crc32c.h"

static const char separators[] = " :";
static const char our_name[] = "libspillway.so";

struct env {
	char **at;
	size_t n;
};

static bool
is_name(const char *entry, const char *name)
{
	size_t n = strlen(name);

	return !strncmp(entry, name, n) && entry[n] == '=';
}

static void
drop(struct env *e, const char *name)
{
	size_t to = 0;

	for (size_t i = 0; i < e->n; i++)
		if (!is_name(e->at[i], name))
			e->at[to++] = e->at[i];
	e->n = to;
	e->at[to] = NULL;
}

static bool
set(struct env *e, const char *name, const char *value)
{
	char *entry;

	if (asprintf(&entry, "%s=%s", name, value) < 0)
		return false;
	drop(e, name);
	e->at[e->n++] = entry;
	e->at[e->n] = NULL;
	return true;
}

/* In any directory. */
static bool
is_ours(const char *path, size_t n)
{
	size_t len = sizeof(our_name) - 1;

	return n >= len && !memcmp(path + n - len, our_name, len) &&
	       (n == len || path[n - len - 1] == '/');
}

bool
spw_childenv_strip(char *preload)
{
	char *to = preload;
	bool found = false;

	for (char *p = preload; *p;) {
		size_t n = strcspn(p, separators);

		if (n && is_ours(p, n)) {
			found = true;
		} else if (n) {
			if (to != preload)
				*to++ = ':';
			memmove(to, p, n);
			to += n;
		}
		p += n;
		p += strspn(p, separators);
	}
	*to = '\0';
	return found;
}

static bool
set_preload(struct env *e, char *const *envp, const char *library)
{
	char *others = NULL, *all = NULL;
	bool done = false;

	for (; *envp && !is_name(*envp, "LD_PRELOAD"); envp++)
		;
	others = strdup(*envp ? *envp + sizeof("LD_PRELOAD=") - 1 : "");
	if (!others)
		return false;
	spw_childenv_strip(others);
	if (asprintf(&all, "%s%s%s", others, *others ? ":" : "",
		     library) >= 0) {
		done = set(e, "LD_PRELOAD", all);
		free(all);
	}
	free(others);
	return done;
}

static bool
set_option(struct env *e, const struct spw_config *cfg, enum spw_option_id id)
{
	static char value[2 * SPW_PATH_MAX];
	char name[64];
	struct spw_text t;

	spw_text_init(&t, name, sizeof(name));
	spw_config_variable(id, &t);
	spw_text_init(&t, value, sizeof(value));
	spw_config_value(cfg, id, &t);
	return !t.cut && set(e, name, value);
}

char **
spw_childenv_make(char *const *envp, const struct spw_config *cfg,
		  const char *library)
{
	struct env e = { NULL, 0 };

	while (envp[e.n])
		e.n++;
	e.at = calloc(e.n + SPW_OPTION_COUNT + 2, sizeof(*e.at));
	if (!e.at)
		return NULL;
	memcpy(e.at, envp, e.n * sizeof(*e.at));
	if (!set_preload(&e, envp, library))
		return NULL;
	for (unsigned id = 0; id < SPW_OPTION_COUNT; id++) {
		bool known = cfg->origin[id].from != SPW_FROM_BUILTIN;

		/* The receipt is ours, not that of a run inside. */
		if (id == SPW_OPTION_RECEIPT)
			drop(&e, "SPILLWAY_RECEIPT");
		else if ((known || id == SPW_OPTION_INCLUDE ||
			  id == SPW_OPTION_JOB) && !set_option(&e, cfg, id))
			return NULL;
	}
	return e.at;
}

/* The directory above the library's, so that the command can be found from
 * there as well. */
static int
link_above(const char *library, const char *dir, char *ret_path, size_t cap)
{
	char above[SPW_PATH_MAX], tmp[SPW_CONFIG_PATH], name[SPW_CONFIG_PATH];
	size_t n = strlen(library);
	unsigned slashes = 2;

	while (n && (slashes -= library[n - 1] == '/'))
		n--;
	if (!n || n >= sizeof(above) || strpbrk(library + n, separators))
		return -EINVAL;
	memcpy(above, library, n);
	above[n > 1 ? n - 1 : n] = '\0';
	if (snprintf(name, sizeof(name), "%sat-%08x", dir,
		     spw_crc32c(0, above, strlen(above))) >=
	    (int)sizeof(name) ||
	    snprintf(tmp, sizeof(tmp), "%s.%d", name, (int)getpid()) >=
	    (int)sizeof(tmp) ||
	    snprintf(ret_path, cap, "%s/%s", name, library + n) >= (int)cap)
		return -ENAMETOOLONG;
	/* Renamed into place: programs may be starting with it right now. */
	if (symlink(above, tmp) < 0 || rename(tmp, name) < 0)
		return -errno;
	return 0;
}

int
spw_childenv_library(const char *library, const char *dir, char *ret_path,
		     size_t cap)
{
	int n;

	if (strpbrk(library, separators))
		return strpbrk(dir, separators) ? -EINVAL
		       : link_above(library, dir, ret_path, cap);
	n = snprintf(ret_path, cap, "%s", library);
	return n < 0 || (size_t)n >= cap ? -ENAMETOOLONG : 0;
}
