/* SPDX-License-Identifier: BSD-3-Clause */
/* jobname.c -- the job of a run, and who speaks for it */
#include "tools/jobname.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "shm/job.h"
#include "shm/proc.h"

static bool
is_set(const char *name)
{
	const char *value = getenv(name);

	return value && *value;
}

/* Hydra names no job, but all its ranks of a node have one parent. */
static bool
is_below_hydra(void)
{
	return is_set("PMI_RANK") && (is_set("HYDI_CONTROL_FD") ||
				      is_set("PMI_FD"));
}

void
spw_jobname_choose(struct spw_config *cfg, char *const *envp)
{
	char name[SPW_JOB_MAX + 1];
	uint32_t pid = (uint32_t)getpid();
	const char *kind = "run";

	if (spw_job_name(cfg, envp, name, sizeof(name))) {
		strcpy(cfg->job, name);
		return;
	}
	if (is_below_hydra()) {
		pid = (uint32_t)getppid();
		kind = "mpi";
	}
	snprintf(cfg->job, sizeof(cfg->job), "%s-%u-%llu", kind, pid,
		 (unsigned long long)spw_proc_start_time(pid));
}

bool
spw_jobname_may_speak(void)
{
	static const char *const ranks[] = {
		"PMIX_RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK",
		"SLURM_PROCID", "FLUX_TASK_RANK",
	};

	for (size_t i = 0; i < sizeof(ranks) / sizeof(*ranks); i++)
		if (is_set(ranks[i]))
			return !strcmp(getenv(ranks[i]), "0");
	return true;
}
