/* SPDX-License-Identifier: BSD-3-Clause */
/* mounts.c -- what lies on a mount is home, and let go of, before it changes */

/*
 * The kernel neither unmounts nor makes read-only what somebody has open for
 * writing, and a mount over a directory hides the files below it. So the
 * drainer first brings home, and closes, what no program has open there.
 */
#include <errno.h>

#include "interpose/leave.h"
#include "interpose/real.h"

static void
let_go_at(const char *path)
{
	struct stat st;
	int saved = errno;

	if (path && spw_sys_fstatat(AT_FDCWD, path, &st, 0) == 0)
		spw_let_go_of(st.st_dev);
	errno = saved;
}

SPW_WRAP int
mount(const char *what, const char *where, const char *kind,
      unsigned long flags, const void *data)
{
	let_go_at(where);
	return REAL(mount)(what, where, kind, flags, data);
}

SPW_WRAP int
umount(const char *where)
{
	let_go_at(where);
	return REAL(umount)(where);
}

SPW_WRAP int
umount2(const char *where, int flags)
{
	let_go_at(where);
	return REAL(umount2)(where, flags);
}
