/* SPDX-License-Identifier: BSD-3-Clause */
/* jobend.c -- when the batch system will end this job */
#include "shm/jobend.h"

#include <string.h>

static const char slurm[] = "SLURM_JOB_END_TIME=";

enum { DIGITS = 10 };			/* seconds, until the year 2286 */

int64_t
spw_jobend_find(char *const *envp)
{
	const char *s = NULL;
	int64_t seconds = 0;
	int n = 0;

	for (; envp && *envp; envp++)
		if (!strncmp(*envp, slurm, sizeof(slurm) - 1))
			s = *envp + sizeof(slurm) - 1;
	for (; s && s[n] >= '0' && s[n] <= '9' && n < DIGITS; n++)
		seconds = seconds * 10 + (s[n] - '0');
	return s && !s[n] ? seconds * 1000000000 : 0;
}
