/* SPDX-License-Identifier: BSD-3-Clause */
/* module.c -- finds, opens and checks modules */

#include "tiers/module.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <link.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tiers/needs.h"

#define SUBDIR "spillway"		/* of libdir */

__attribute__((format(printf, 3, 4)))
static int
put(char *dst, size_t cap, const char *format, ...)
{
	va_list ap;
	int n;

	va_start(ap, format);
	n = vsnprintf(dst, cap, format, ap);
	va_end(ap);
	return n >= 0 && (size_t)n < cap ? 0 : -ENAMETOOLONG;
}

/* Our own file: the program where we are part of it, else the engine. */
static int
own_file(char ret_path[PATH_MAX])
{
	struct link_map *map = NULL;
	Dl_info info;
	ssize_t n;

	if (dladdr1((void *)own_file, &info, (void **)&map, RTLD_DL_LINKMAP) &&
	    map && map->l_name[0])
		return put(ret_path, PATH_MAX, "%s", map->l_name);
	n = readlink("/proc/thread-self/exe", ret_path, PATH_MAX - 1);
	if (n < 0)
		return -errno;
	ret_path[n] = '\0';
	return 0;
}

/* The engine shows that a directory is ours. */
static bool
has_engine(const char *dir)
{
	char engine[PATH_MAX];

	return !put(engine, sizeof(engine), "%s/libspillway-engine.so", dir) &&
	       !access(engine, R_OK);
}

/* libtool leaves engine and modules together in .libs. */
static int
find_build(const char *origin, char *ret_dir, size_t cap)
{
	const char *last = strrchr(origin, '/');

	if (last && !strcmp(last, "/.libs") && has_engine(origin))
		return put(ret_dir, cap, "%s", origin);
	if (!put(ret_dir, cap, "%s/.libs", origin) && has_engine(ret_dir))
		return 0;
	if (!put(ret_dir, cap, "%s/../.libs", origin) && has_engine(ret_dir))
		return 0;
	return -ENOENT;
}

/* From bindir to libdir: "/usr/bin", "/usr/lib/x" -> "../lib/x". */
static int
relative_libdir(char *ret, size_t cap)
{
	const char *from = SPW_BINDIR, *to = SPW_LIBDIR;
	size_t i, same = 0, used = 0;

	for (i = 0; from[i] && from[i] == to[i]; i++)
		if (from[i] == '/')
			same = i + 1;
	for (i = same; from[i]; i++)
		if (i == same || from[i] == '/') {
			if (put(ret + used, cap - used, "../"))
				return -ENAMETOOLONG;
			used += 3;
		}
	return put(ret + used, cap - used, "%s", to + same);
}

static int
find_installed(const char *origin, char *ret_dir, size_t cap)
{
	char libdir[PATH_MAX];

	if (!put(ret_dir, cap, "%s/" SUBDIR, origin) && has_engine(origin) &&
	    !access(ret_dir, X_OK))
		return 0;			/* origin is libdir */
	if (!relative_libdir(libdir, sizeof(libdir)) &&
	    !put(ret_dir, cap, "%s/%s/" SUBDIR, origin, libdir) &&
	    !access(ret_dir, X_OK))
		return 0;			/* origin is bindir */
	return -ENOENT;
}

int
spw_module_dir(const char *given, char *ret_dir, size_t cap)
{
	char origin[PATH_MAX];
	char *slash;

	if (given)
		return put(ret_dir, cap, "%s", given);
	if (!own_file(origin) && (slash = strrchr(origin, '/'))) {
		*slash = '\0';
		if (!find_build(origin, ret_dir, cap) ||
		    !find_installed(origin, ret_dir, cap))
			return 0;
	}
	return put(ret_dir, cap, "%s/" SUBDIR, SPW_LIBDIR);
}

__attribute__((format(printf, 3, 4)))
static int
refuse(struct spw_finding *f, int error, const char *format, ...)
{
	va_list ap;

	memset(f, 0, sizeof(*f));
	va_start(ap, format);
	(void)vsnprintf(f->text, sizeof(f->text), format, ap);
	va_end(ap);
	return error;
}

static int
check(const struct spw_module *m, const char *name, struct spw_finding *f)
{
	if (!m)
		return refuse(f, -ELIBBAD, "%s.so is not a module of ours",
			      name);
	if (m->abi != SPW_MODULE_ABI)
		return refuse(f, -ELIBBAD, "%s.so has module version %u, this "
			      "engine needs %u", name, m->abi, SPW_MODULE_ABI);
	if (strcmp(m->name, name))
		return refuse(f, -ELIBBAD, "%s.so calls itself %s", name,
			      m->name);
	return 0;
}

int
spw_module_open(const char *dir, const char *name,
		const struct spw_module **ret_module,
		struct spw_finding *ret_finding)
{
	const struct spw_module *m;
	char path[PATH_MAX], which[PATH_MAX];
	const char *reason;
	void *handle;
	int r;

	if (put(path, sizeof(path), "%s/%s.so", dir, name))
		return refuse(ret_finding, -ENAMETOOLONG,
			      "%s: name too long", dir);
	if (access(path, F_OK))
		return refuse(ret_finding, -ENOENT, "%s.so is not in %s",
			      name, dir);
	r = spw_needs_whole(path, which, &reason);
	if (r < 0)
		return refuse(ret_finding, r, "%s: %s", which, reason);
	handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (!handle)
		return refuse(ret_finding, -ELIBACC, "%s", dlerror());
	m = dlsym(handle, "spw_module");
	r = check(m, name, ret_finding);
	if (r < 0) {
		dlclose(handle);
		return r;
	}
	memset(ret_finding, 0, sizeof(*ret_finding));
	r = m->probe(dir, ret_finding);
	if (r < 0)
		return r;	/* stays open: the hint may lie in it */
	*ret_module = m;
	return 0;
}
