/* SPDX-License-Identifier: BSD-3-Clause */
/* limits.c -- what a drainer needs more of than the program may have */
#include "tools/limits.h"

static void
raise_one(int resource, struct rlimit *ret_before)
{
	const struct rlimit all = { RLIM_INFINITY, RLIM_INFINITY };
	struct rlimit more;

	*ret_before = (struct rlimit){ 0, 0 };
	if (getrlimit(resource, ret_before) < 0)
		return;
	more = (struct rlimit){ ret_before->rlim_max, ret_before->rlim_max };
	if (resource == RLIMIT_NOFILE || setrlimit(resource, &all) < 0)
		(void)setrlimit(resource, &more);	/* less will do */
}

void
spw_limits_raise(struct spw_limits *ret_before)
{
	raise_one(RLIMIT_NOFILE, &ret_before->files);
	raise_one(RLIMIT_FSIZE, &ret_before->size);
}

static void
restore_one(int resource, const struct rlimit *before)
{
	if (before->rlim_max)
		(void)setrlimit(resource, before);	/* it was allowed */
}

void
spw_limits_restore(const struct spw_limits *before)
{
	restore_one(RLIMIT_NOFILE, &before->files);
	restore_one(RLIMIT_FSIZE, &before->size);
}
