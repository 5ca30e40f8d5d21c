/* SPDX-License-Identifier: BSD-3-Clause */
/* tiledb-lib.c -- finds and opens the TileDB library */

#include "tiers/tiledb-lib.h"

#include <ctype.h>
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ARRAY_LEN(a) (sizeof(a) / sizeof((a)[0]))

#define NEWEST_MINOR 30
#define OLDEST_MINOR 15

enum { E_NOT_FOUND = 140, E_UNSUITABLE = 141 };

static const char get_hint[] =
	"tools/tiledb-library fetches it, or name your own in "
	"SPILLWAY_TILEDB_LIB; everything else works without it";
static const char other_hint[] =
	"name another one in SPILLWAY_TILEDB_LIB, or fetch one with "
	"tools/tiledb-library; everything else works without it";

static const struct {
	const char *name;
	size_t offset;
} calls[] = {
#define CALL(result, name, args) \
	{ "tiledb_" #name, offsetof(struct spw_tdb_api, name) },
	SPW_TDB_CALLS(CALL)
#undef CALL
};

__attribute__((format(printf, 4, 5)))
static int
refuse(struct spw_finding *f, int error, int code, const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	(void)vsnprintf(f->text, sizeof(f->text), format, ap);
	va_end(ap);
	f->code = code;
	f->hint = code == E_NOT_FOUND ? get_hint : other_hint;
	return error;
}

static int
resolve(void *handle, struct spw_tiledb *lib, struct spw_finding *f)
{
	void *symbol;
	size_t i;

	for (i = 0; i < ARRAY_LEN(calls); i++) {
		symbol = dlsym(handle, calls[i].name);
		if (!symbol)
			return refuse(f, -ELIBBAD, E_UNSUITABLE,
				      "%s has no %s", lib->path,
				      calls[i].name);
		memcpy((char *)&lib->api + calls[i].offset, &symbol,
		       sizeof(symbol));
	}
	lib->api.version(&lib->major, &lib->minor, &lib->patch);
	if (lib->major != 2)
		return refuse(f, -ELIBBAD, E_UNSUITABLE,
			      "%s is TileDB %d.%d.%d, need 2.%d or later 2.x",
			      lib->path, lib->major, lib->minor, lib->patch,
			      OLDEST_MINOR);
	return 0;
}

/* The loader speaks of the file we asked for: it is not there.  Of another
 * one: ours is, but lacks what it needs.
 */
static bool
says_absent(const char *error, const char *name)
{
	size_t n = strlen(name);

	return !strncmp(error, name, n) && error[n] == ':' &&
	       strstr(error + n, "No such file or directory");
}

static int
try_open(const char *name, struct spw_tiledb *lib, struct spw_finding *f)
{
	struct link_map *map;
	const char *error;
	void *handle;
	int r;

	handle = dlopen(name, RTLD_NOW | RTLD_LOCAL);
	if (!handle) {
		error = dlerror();
		if (says_absent(error, name))
			return -ENOENT;
		return refuse(f, -ELIBBAD, E_UNSUITABLE, "%s", error);
	}
	if (dlinfo(handle, RTLD_DI_LINKMAP, &map))
		map = NULL;
	(void)snprintf(lib->path, sizeof(lib->path), "%s",
		       map ? map->l_name : name);
	r = resolve(handle, lib, f);
	if (r < 0)
		dlclose(handle);
	return r;
}

static int
try_loader_path(struct spw_tiledb *lib, struct spw_finding *f)
{
	char name[32];
	int minor, r, worst = -ENOENT;

	for (minor = NEWEST_MINOR; minor >= OLDEST_MINOR; minor--) {
		(void)snprintf(name, sizeof(name), "libtiledb.so.2.%d", minor);
		r = try_open(name, lib, f);
		if (r == 0)
			return 0;
		if (r != -ENOENT)
			worst = r;
	}
	r = try_open("libtiledb.so", lib, f);
	return r == -ENOENT ? worst : r;
}

/* The version in libtiledb*.so[.version], or NULL for any other name, such
 * as that of a download under way.
 */
static const char *
version_in(const char *name)
{
	const char *so = strstr(name, ".so"), *p;

	if (strncmp(name, "libtiledb", strlen("libtiledb")) || !so)
		return NULL;
	for (p = so + 3; *p; p++)
		if (*p != '.' && !isdigit((unsigned char)*p))
			return NULL;
	return so + 3;
}

static int
try_directory(const char *dir, struct spw_tiledb *lib, struct spw_finding *f)
{
	char best[NAME_MAX + 1] = "", path[PATH_MAX];
	const struct dirent *entry;
	const char *version;
	DIR *d = opendir(dir);

	if (!d)
		return -ENOENT;
	while ((entry = readdir(d))) {
		version = version_in(entry->d_name);
		if (version && (!best[0] ||
				strverscmp(version, version_in(best)) > 0))
			(void)snprintf(best, sizeof(best), "%s",
				       entry->d_name);
	}
	closedir(d);
	if (!best[0] || (size_t)snprintf(path, sizeof(path), "%s/%s", dir,
					 best) >= sizeof(path))
		return -ENOENT;
	return try_open(path, lib, f);
}

/* Empty if neither variable is of use. */
static void
cache_directory(char ret_dir[PATH_MAX])
{
	const char *base = secure_getenv("XDG_CACHE_HOME"), *below = "";

	if (!base || base[0] != '/') {		/* relative ones do not count */
		base = secure_getenv("HOME");
		below = "/.cache";
	}
	ret_dir[0] = '\0';
	if (base && base[0] == '/' &&
	    snprintf(ret_dir, PATH_MAX, "%s%s/spillway/lib", base, below) >=
	    PATH_MAX)
		ret_dir[0] = '\0';
}

static int
search(const char *libdir, struct spw_tiledb *lib, struct spw_finding *f)
{
	char cache[PATH_MAX];
	int r, worst;

	worst = try_loader_path(lib, f);
	if (worst == 0)
		return 0;
	cache_directory(cache);
	r = cache[0] ? try_directory(cache, lib, f) : -ENOENT;
	if (r == 0)
		return 0;
	worst = r == -ENOENT ? worst : r;
	r = libdir ? try_directory(libdir, lib, f) : -ENOENT;
	if (r == 0)
		return 0;
	worst = r == -ENOENT ? worst : r;
	if (worst != -ENOENT)
		return worst;		/* f says why */
	return refuse(f, -ENOENT, E_NOT_FOUND,
		      "libtiledb.so not found "
		      "(tried the loader's path%s%s%s%s)",
		      cache[0] ? ", " : "", cache, libdir ? ", " : "",
		      libdir ? libdir : "");
}

int
spw_tiledb_open(const char *libdir, struct spw_tiledb *ret_lib,
		struct spw_finding *ret_finding)
{
	const char *named = secure_getenv("SPILLWAY_TILEDB_LIB");
	struct spw_tiledb lib;
	int r;

	memset(&lib, 0, sizeof(lib));
	memset(ret_finding, 0, sizeof(*ret_finding));
	if (named && named[0]) {
		r = try_open(named, &lib, ret_finding);
		if (r == -ENOENT)
			r = refuse(ret_finding, r, E_NOT_FOUND,
				   "SPILLWAY_TILEDB_LIB: %s not found", named);
	} else {
		r = search(libdir, &lib, ret_finding);
	}
	if (r < 0)
		return r;
	memset(ret_finding, 0, sizeof(*ret_finding));
	(void)snprintf(ret_finding->text, sizeof(ret_finding->text),
		       "TileDB %d.%d.%d, %.400s", lib.major, lib.minor,
		       lib.patch, lib.path);
	*ret_lib = lib;
	return 0;
}
