/* SPDX-License-Identifier: BSD-3-Clause */
/* pmem-lib.c -- module tier-pmem: libpmem behind the calls of the tier */

#include <errno.h>
#include <libpmem.h>
#include <stdio.h>

#include "tiers/pmem-calls.h"

static void *
map(const char *path, size_t len, size_t *ret_len, bool *ret_is_pmem)
{
	int is_pmem = 0;
	void *base;

	base = pmem_map_file(path, len, len ? PMEM_FILE_CREATE |
			     PMEM_FILE_EXCL : 0, 0600, ret_len, &is_pmem);
	*ret_is_pmem = is_pmem;
	return base;
}

static void
copy(void *dst, const void *src, size_t n)
{
	(void)pmem_memcpy_nodrain(dst, src, n);
}

static bool
auto_flush(void)
{
	return pmem_has_auto_flush() == 1;
}

static const struct spw_pmem_calls calls = {
	.map = map,
	.unmap = pmem_unmap,
	.copy = copy,
	.flush = pmem_flush,
	.drain = pmem_drain,
	.msync = pmem_msync,
	.auto_flush = auto_flush,
};

static int
probe(const char *dir, struct spw_finding *ret_finding)
{
	const char *why = pmem_check_version(PMEM_MAJOR_VERSION,
					     PMEM_MINOR_VERSION);

	(void)dir;
	if (why) {
		(void)snprintf(ret_finding->text, sizeof(ret_finding->text),
			       "%s", why);
		return -ELIBBAD;
	}
	(void)snprintf(ret_finding->text, sizeof(ret_finding->text),
		       "libpmem with interface %d.%d", PMEM_MAJOR_VERSION,
		       PMEM_MINOR_VERSION);
	return 0;
}

const struct spw_module spw_module = {
	.abi = SPW_MODULE_ABI,
	.name = "tier-pmem",
	.probe = probe,
	.pmem = &calls,
};
