/* SPDX-License-Identifier: BSD-3-Clause */
/* jobname.h -- the job of a run, and who speaks for it */
#ifndef SPW_TOOLS_JOBNAME_H
#define SPW_TOOLS_JOBNAME_H

#include "shm/conf.h"

/* Fills in cfg->job: what was set, or the scheduler's or MPI launcher's name,
 * so that all ranks of a node share a segment; else one that no other process
 * has. */
void spw_jobname_choose(struct spw_config *cfg, char *const *envp);

/* False for MPI ranks other than the first of all, which leave it to that one
 * to say what concerns the whole job. */
bool spw_jobname_may_speak(void);

#endif
