/* SPDX-License-Identifier: BSD-3-Clause */
/* pmem-load.c -- opens the module that holds libpmem */

#include <errno.h>
#include <limits.h>
#include <string.h>

#include "tiers/pmem-calls.h"

int
spw_pmem_load(const char *dir, const struct spw_pmem_calls **ret_calls,
	      struct spw_finding *ret_finding)
{
	const struct spw_module *m;
	char found[PATH_MAX];
	int r;

	if (!dir) {
		r = spw_module_dir(NULL, found, sizeof(found));
		if (r < 0)
			return r;
		dir = found;
	}
	r = spw_module_open(dir, "tier-pmem", &m, ret_finding);
	if (r < 0)
		return -ELIBACC;
	*ret_calls = m->pmem;
	return 0;
}
