/* SPDX-License-Identifier: BSD-3-Clause */
/* jobs.h -- other jobs of this user on the same file: both leave it */
#ifndef SPW_INTERPOSE_JOBS_H
#define SPW_INTERPOSE_JOBS_H

#include "interpose/front.h"

/* After spw_file_open said that others claim the file behind fd: brings home
 * what they have of it and makes them leave it. If nobody there has it open
 * any more it is cached here; else both are served by the kernel. */
void spw_jobs_meet(struct spw_me *me, uint32_t file, int fd,
		   const struct spw_file_seen *seen);

/* Before something is done to the file at a path that the kernel alone knows
 * of, and that what others have of it must not follow: truncation. */
void spw_jobs_settle_path(int dirfd, const char *path);

#endif
