/* SPDX-License-Identifier: BSD-3-Clause */
/* pmem-calls.h -- what tier pmem wants of libpmem, held by a module */

#ifndef SPW_TIERS_PMEM_CALLS_H
#define SPW_TIERS_PMEM_CALLS_H

#include <stdbool.h>
#include <stddef.h>

#include "tiers/module.h"

/* Thin: the tier itself is part of the engine, which knows objects; the
 * module keeps libpmem, and what that pulls in, out of everything else. */
struct spw_pmem_calls {
	/* Maps all of a file; len: it is made, of this size, and must not be
	 * there yet; 0: it is there. Space is reserved. NULL: errno. */
	void *(*map)(const char *path, size_t len, size_t *ret_len,
		     bool *ret_is_pmem);
	int (*unmap)(void *base, size_t len);

	void (*copy)(void *dst, const void *src, size_t n);	/* and flush */
	void (*flush)(const void *at, size_t n);
	void (*drain)(void);

	int (*msync)(const void *at, size_t n);		/* -1: errno */

	/* Caches are part of what survives: flushing may be left out. */
	bool (*auto_flush)(void);
};

/* Opens the module once per process. -ELIBACC when it cannot be had; why is
 * in ret_finding. dir NULL: where modules lie. */
int spw_pmem_load(const char *dir, const struct spw_pmem_calls **ret_calls,
		  struct spw_finding *ret_finding);

#endif
