/* SPDX-License-Identifier: BSD-3-Clause */
/* changed.c -- owners and attributes: calls that move a ctime and no more */
#include "interpose/changed.h"

#include <errno.h>

#include "interpose/front.h"
#include "interpose/real.h"
#include "interpose/stat.h"
#include "shm/files.h"
#include "shm/stamp.h"
#include "shm/sys.h"

int
spw_changed(int dir, const char *path, int flags, int r)
{
	uint32_t file;
	int err = errno;
	int64_t ctime;
	struct stat st;

	if (r == 0 && spw_front_look() &&
	    spw_sys_fstatat(dir, path ? path : "", &st,
			    path ? flags : AT_EMPTY_PATH) == 0) {
		ctime = spw_nanoseconds(&st.st_ctim);
		spw_stamp_saw(&spw_front.map, ctime);
		file = spw_sight_find(&st);
		if (file != SPW_NONE)
			spw_file_move_ctime(&spw_front.map.files[file], ctime);
	}
	errno = err;
	return r;
}

SPW_WRAP int
chown(const char *path, uid_t owner, gid_t group)
{
	return spw_changed(AT_FDCWD, path, 0, REAL(chown)(path, owner, group));
}

SPW_WRAP int
lchown(const char *path, uid_t owner, gid_t group)
{
	return spw_changed(AT_FDCWD, path, AT_SYMLINK_NOFOLLOW,
			   REAL(lchown)(path, owner, group));
}

SPW_WRAP int
fchown(int fd, uid_t owner, gid_t group)
{
	return spw_changed(fd, NULL, 0, REAL(fchown)(fd, owner, group));
}

SPW_WRAP int
fchownat(int dir, const char *path, uid_t owner, gid_t group, int flags)
{
	return spw_changed(dir, path, flags,
			   REAL(fchownat)(dir, path, owner, group, flags));
}

SPW_WRAP int
removexattr(const char *path, const char *name)
{
	return spw_changed(AT_FDCWD, path, 0, REAL(removexattr)(path, name));
}

SPW_WRAP int
lremovexattr(const char *path, const char *name)
{
	return spw_changed(AT_FDCWD, path, AT_SYMLINK_NOFOLLOW,
			   REAL(lremovexattr)(path, name));
}

SPW_WRAP int
fremovexattr(int fd, const char *name)
{
	return spw_changed(fd, NULL, 0, REAL(fremovexattr)(fd, name));
}
