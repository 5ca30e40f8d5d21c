/* SPDX-License-Identifier: BSD-3-Clause */
/* seed-none.c -- a build without cJSON: there are no seeds */

#include "planner/seed.h"

#include <errno.h>

int
spw_seed_parse(const char *text, size_t n, struct spw_seed *ret,
	       const char **ret_reason)
{
	(void)text;
	(void)n;
	*ret = (struct spw_seed){ .n = 0 };
	*ret_reason = "cannot be read: this build has no cJSON";
	return -EOPNOTSUPP;
}

int
spw_seed_print(const char *old, const struct spw_seed *seed,
	       const struct spw_seed_profile *profile, char **ret_text)
{
	(void)old;
	(void)seed;
	(void)profile;
	(void)ret_text;
	return -EOPNOTSUPP;
}

void
spw_seed_find_tiers(const char *text, struct spw_seed_tier *tiers, unsigned n)
{
	(void)text;
	(void)tiers;
	(void)n;
}
