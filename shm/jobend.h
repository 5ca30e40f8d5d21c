/* SPDX-License-Identifier: BSD-3-Clause */
/* jobend.h -- when the batch system will end this job */
#ifndef SPW_SHM_JOBEND_H
#define SPW_SHM_JOBEND_H

#include <stdint.h>

/* Nanoseconds since the epoch, from SLURM_JOB_END_TIME; 0: not known. */
int64_t spw_jobend_find(char *const *envp);

#endif
