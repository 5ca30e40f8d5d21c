/* SPDX-License-Identifier: BSD-3-Clause */
/* changed.h -- what a program changes about a file moves its ctime */
#ifndef SPW_INTERPOSE_CHANGED_H
#define SPW_INTERPOSE_CHANGED_H

/* After a call that changed the file, if it returned 0: a drain under way makes
 * the kernel's ctime its own, so the program's is noted. Path NULL: dir is the
 * file. flags are those of fstatat. Returns r and leaves errno alone. */
int spw_changed(int dir, const char *path, int flags, int r);

#endif
