/* SPDX-License-Identifier: BSD-3-Clause */
/* tier.c -- the kinds of tiers, and the shares in a place */

#include "tiers/tier.h"

#include <dirent.h>
#include <errno.h>
#include <fnmatch.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "shm/sys.h"
#include "tiers/nvme.h"

static const struct spw_tier_ops *const kinds[] = {
	&spw_tier_bb,
	&spw_tier_nvme,
	&spw_tier_pmem,
};

const struct spw_tier_ops *
spw_tier_by_kind(const char *kind)
{
	size_t i;

	for (i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		if (!strcmp(kinds[i]->kind, kind))
			return kinds[i];
	return NULL;
}

static bool
has_files(int dir, const char *owner, const char *pattern)
{
	int fd = spw_sys_openat(dir, owner, O_RDONLY | O_DIRECTORY |
				O_NOFOLLOW | O_CLOEXEC, 0);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *e;
	bool any = false;

	if (fd >= 0 && !d)
		spw_sys_close(fd);
	while (d && !any && (e = readdir(d)))
		any = fnmatch(pattern, e->d_name, 0) == 0;
	if (d)
		closedir(d);
	return any;
}

/* Each kind has a lock of its own in the share, and leaves it there; somebody
 * else may have removed that. */
static bool
is_share(int dir, const char *owner, const struct spw_tier_ops *ops)
{
	char name[NAME_MAX + 32];
	struct stat st;

	if (owner[0] == '.')
		return false;
	(void)snprintf(name, sizeof(name), "%s/%s.lock", owner, ops->kind);
	return spw_sys_fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0 ||
	       has_files(dir, owner, ops->files);
}

int
spw_tier_shares(const struct spw_tier_ops *ops, const char *place,
		int (*seen)(void *arg, const char *owner), void *arg)
{
	char path[PATH_MAX];
	const struct dirent *e;
	int fd, r = 0;
	DIR *d;

	if ((size_t)snprintf(path, sizeof(path), "%s/spillway-%u", place,
			     (unsigned)spw_sys_geteuid()) >= sizeof(path))
		return -ENAMETOOLONG;
	fd = spw_sys_open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW |
			  O_CLOEXEC, 0);
	if (fd < 0)
		return fd == -ENOENT ? 0 : fd;
	d = fdopendir(fd);
	if (!d) {
		spw_sys_close(fd);
		return -ENOMEM;
	}
	while (r == 0 && (e = readdir(d)))
		if (is_share(fd, e->d_name, ops))
			r = seen(arg, e->d_name);
	closedir(d);
	return r;
}
