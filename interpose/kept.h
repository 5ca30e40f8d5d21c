/* SPDX-License-Identifier: BSD-3-Clause */
/* kept.h -- files whose bytes are kept in tiers come home when opened */
#ifndef SPW_INTERPOSE_KEPT_H
#define SPW_INTERPOSE_KEPT_H

#include <stdbool.h>
#include <sys/stat.h>
#include <sys/types.h>

/* For a file that the kernel does not open: waits until it is home, if it is a
 * stub of ours. True when it may be worth another try. */
bool spw_kept_settle(int dirfd, const char *path);

/* The same for one that was opened: by root, or since somebody gave it
 * rights. 1: it is home now; -EIO: its bytes cannot be had, and what is there
 * in their place is not what anybody wrote. */
int spw_kept_settle_fd(int fd, const struct statx *stx);

/* Before root truncates a file. */
void spw_kept_truncating(int dirfd, const char *path);

#endif
