/* SPDX-License-Identifier: BSD-3-Clause */
/* library.c -- where the preloaded library of this very command lies */
#include "tools/library.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NAME "libspillway.so"

int
spw_library_self(char *ret_path, size_t cap)
{
	ssize_t n = readlink("/proc/self/exe", ret_path, cap - 1);

	if (n < 0)
		return -errno;
	ret_path[n] = '\0';
	return (size_t)n + 1 == cap ? -ENAMETOOLONG : 0;
}

/* Takes it if it is there; the name without links, since the program may
 * change directory or root before the loader looks. */
static bool
try(const char *dir, const char *below, char *ret_path, size_t cap)
{
	char path[PATH_MAX], real[PATH_MAX];
	int n = snprintf(path, sizeof(path), "%s/%s/" NAME, dir, below);

	if (n < 0 || (size_t)n >= sizeof(path) || !realpath(path, real) ||
	    strlen(real) >= cap)
		return false;
	strcpy(ret_path, real);
	return true;
}

/* SPW_LIBDIR as seen from SPW_BINDIR, for a tree that was moved: as many
 * steps up as bindir has parts below the common prefix. */
static void
relative_libdir(char *buf, size_t cap)
{
	const char *bin = SPW_BINDIR, *lib = SPW_LIBDIR;
	size_t i = 0, common = 0;
	int n = 0;

	for (; bin[i] && bin[i] == lib[i]; i++)
		if (bin[i] == '/')
			common = i;
	if (!bin[i] && lib[i] == '/')
		common = i;
	buf[0] = '\0';
	for (const char *p = bin + common; *p && n >= 0; p++)
		if (*p == '/' && (size_t)n < cap)
			n += snprintf(buf + n, cap - (size_t)n, "../");
	if (n >= 0 && (size_t)n < cap)
		snprintf(buf + n, cap - (size_t)n, "%s", lib + common + 1);
}

int
spw_library_find(char *ret_path, size_t cap)
{
	char self[PATH_MAX], below[PATH_MAX];
	char *slash;

	if (spw_library_self(self, sizeof(self)) == 0) {
		slash = strrchr(self, '/');
		*slash = '\0';
		relative_libdir(below, sizeof(below));
		if (try(self, ".libs", ret_path, cap) ||
		    try(self, below, ret_path, cap))
			return 0;
	}
	return try(SPW_LIBDIR, ".", ret_path, cap) ? 0 : -ENOENT;
}
