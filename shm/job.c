/* SPDX-License-Identifier: BSD-3-Clause */
/* job.c -- asks schedulers and launchers for the job's name */
#include "shm/job.h"

#include <string.h>

/* In this order: the job, then the step within it where there is one. */
static const struct {
	const char *job, *step, *prefix;
} known[] = {
	{ "SLURM_JOB_ID", "SLURM_STEP_ID", "slurm-" },
	{ "PBS_JOBID", NULL, "pbs-" },
	{ "LSB_JOBID", NULL, "lsf-" },
	{ "FLUX_JOB_ID", NULL, "flux-" },
	{ "PMIX_NAMESPACE", NULL, "mpi-" },
	{ "OMPI_MCA_ess_base_jobid", NULL, "mpi-" },
	{ "PMI_JOBID", NULL, "mpi-" },
};

static const char *
look_up(char *const *envp, const char *name)
{
	size_t n = strlen(name);

	for (; envp && *envp; envp++)
		if (!strncmp(*envp, name, n) && (*envp)[n] == '=')
			return (*envp)[n + 1] ? *envp + n + 1 : NULL;
	return NULL;
}

static void
make_tame(char *name)
{
	for (; *name; name++)
		if (!((*name >= '0' && *name <= '9') ||
		      (*name >= 'a' && *name <= 'z') ||
		      (*name >= 'A' && *name <= 'Z') ||
		      strchr("._-", *name)))
			*name = '_';
}

bool
spw_job_name(const struct spw_config *cfg, char *const *envp, char *ret_name,
	     size_t cap)
{
	struct spw_text t;

	spw_text_init(&t, ret_name, SPW_JOB_MAX + 1 < cap ? SPW_JOB_MAX + 1
							  : cap);
	if (cfg->job[0]) {
		spw_text_put(&t, cfg->job);
		return true;
	}
	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++) {
		const char *job = look_up(envp, known[i].job);
		const char *step = known[i].step
				   ? look_up(envp, known[i].step) : NULL;

		if (!job)
			continue;
		spw_text_fmt(&t, "%s%s", known[i].prefix, job);
		if (step)
			spw_text_fmt(&t, ".%s", step);
		make_tame(ret_name);
		return true;
	}
	spw_text_put(&t, "default");
	return false;
}
