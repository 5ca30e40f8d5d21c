/* SPDX-License-Identifier: BSD-3-Clause */
/* limits.c -- what a drainer needs more of than the program may have */
#include "tools/limits.h"

static struct rlimit
raise_one(int resource, rlim_t wish)
{
	struct rlimit was, most = { wish, wish };

	if (getrlimit(resource, &was) < 0)
		return (struct rlimit){ 1, 0 };
	if (wish <= was.rlim_max || setrlimit(resource, &most) < 0) {
		most.rlim_cur = most.rlim_max = was.rlim_max;
		(void)setrlimit(resource, &most);	/* less will do */
	}
	return was;
}

struct spw_limits
spw_limits_raise(void)
{
	return (struct spw_limits){
		.files = raise_one(RLIMIT_NOFILE, 0),
		.size = raise_one(RLIMIT_FSIZE, RLIM_INFINITY),
	};
}

static void
restore_one(int resource, const struct rlimit *before)
{
	if (before->rlim_cur <= before->rlim_max)
		(void)setrlimit(resource, before);	/* it was allowed */
}

void
spw_limits_restore(const struct spw_limits *before)
{
	restore_one(RLIMIT_NOFILE, &before->files);
	restore_one(RLIMIT_FSIZE, &before->size);
}
