/* SPDX-License-Identifier: BSD-3-Clause */
/* jobname.c -- which job this process belongs to */
#include "tools/jobname.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "shm/crc32c.h"
#include "shm/proc.h"

/* In order of preference; `part` tells apart what shares the first. */
static const struct {
	const char *name, *part;
} given[] = {
	{ "SLURM_JOB_ID", "SLURM_STEP_ID" },
	{ "PBS_JOBID", NULL },
	{ "LSB_JOBID", "LSB_JOBINDEX" },
	{ "FLUX_JOB_ID", NULL },
	{ "PMIX_NAMESPACE", NULL },
	{ "OMPI_MCA_ess_base_jobid", NULL },
	{ "PMI_JOBID", NULL },
};

static const char *
value_of(const char *name)
{
	const char *value = name ? getenv(name) : NULL;

	return value && *value ? value : NULL;
}

/* Fits any text into a name; what is cut or changed is told apart by a sum. */
static void
put_name(const char *text, char ret_name[SPW_JOB_MAX + 1])
{
	size_t n = strlen(text);
	bool changed = n > SPW_JOB_MAX;
	char *p = ret_name;

	for (size_t i = 0; i < n && i < SPW_JOB_MAX; i++) {
		char c = text[i];
		bool fine = (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') ||
			    (c >= 'a' && c <= 'z') || c == '_' || c == '-' ||
			    (c == '.' && i > 0);

		*p++ = fine ? c : '_';
		changed |= !fine;
	}
	*p = '\0';
	if (changed) {
		if (p - ret_name > SPW_JOB_MAX - 9)
			p = ret_name + SPW_JOB_MAX - 9;
		snprintf(p, 10, "-%08x", spw_crc32c(0, text, n));
	}
}

/* Hydra names no job, but all its ranks of a node have one parent. */
static bool
is_below_hydra(void)
{
	return value_of("PMI_RANK") && (value_of("HYDI_CONTROL_FD") ||
					value_of("PMI_FD"));
}

void
spw_job_name(char ret_name[SPW_JOB_MAX + 1])
{
	uint32_t pid = (uint32_t)getpid();
	const char *kind = "run";
	char text[512];

	for (size_t i = 0; i < sizeof(given) / sizeof(*given); i++) {
		const char *name = value_of(given[i].name);
		const char *part = value_of(given[i].part);

		if (!name)
			continue;
		snprintf(text, sizeof(text), "%s%s%s", name, part ? "." : "",
			 part ? part : "");
		put_name(text, ret_name);
		return;
	}
	if (is_below_hydra()) {
		pid = (uint32_t)getppid();
		kind = "mpi";
	}
	snprintf(text, sizeof(text), "%s-%u-%llu", kind, pid,
		 (unsigned long long)spw_proc_start_time(pid));
	put_name(text, ret_name);
}

bool
spw_job_may_speak(void)
{
	static const char *const ranks[] = {
		"PMIX_RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK",
		"SLURM_PROCID", "FLUX_TASK_RANK",
	};

	for (size_t i = 0; i < sizeof(ranks) / sizeof(*ranks); i++) {
		const char *rank = value_of(ranks[i]);

		if (rank)
			return !strcmp(rank, "0");
	}
	return true;
}
