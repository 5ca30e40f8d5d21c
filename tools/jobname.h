/* SPDX-License-Identifier: BSD-3-Clause */
/* jobname.h -- which job this process belongs to */
#ifndef SPW_TOOLS_JOBNAME_H
#define SPW_TOOLS_JOBNAME_H

#include <stdbool.h>

#include "shm/layout.h"

/*
 * The name given by the scheduler (Slurm, PBS, LSF, Flux) or else by the MPI
 * launcher, so that all ranks of a node share a segment; else one that no
 * other process has. Letters, digits and ._- only.
 */
void spw_job_name(char ret_name[SPW_JOB_MAX + 1]);

/* False for MPI ranks other than the first of all, which leave it to that one
 * to say what concerns the whole job. */
bool spw_job_may_speak(void);

#endif
