/* SPDX-License-Identifier: BSD-3-Clause */
/* job.h -- which job this is: one segment per user and job on a node */
#ifndef SPW_SHM_JOB_H
#define SPW_SHM_JOB_H

#include <stddef.h>

#include "shm/conf.h"
#include "shm/text.h"

/*
 * The job's name: the setting, else what a scheduler or an MPI launcher calls
 * it, else "default". Characters that a file name should not have become
 * '_'. ret_name has cap bytes, at least SPW_JOB_MAX + 1. Returns false for
 * "default".
 */
bool spw_job_name(const struct spw_config *cfg, char *const *envp,
		  char *ret_name, size_t cap);

#endif
