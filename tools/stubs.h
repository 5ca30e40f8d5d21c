/* SPDX-License-Identifier: BSD-3-Clause */
/* stubs.h -- the stubs below some paths, by the share that has their bytes */
#ifndef SPW_TOOLS_STUBS_H
#define SPW_TOOLS_STUBS_H

#include <stddef.h>

#include "planner/stub.h"

struct spw_stub_found {
	char *path;
	struct spw_stub stub;
	int err;			/* of bringing it home */
};

struct spw_stubs {
	struct spw_stub_found *list;	/* by share */
	size_t n;
	size_t missing;			/* paths that are not there */
	size_t refused;			/* that could not be looked at, or are
					 * no stubs any more */
};

/* Looks at files, and into directories. fault is called with the path and
 * negative errno of what cannot be looked at. -ENOMEM. */
int spw_stubs_find(char *const *paths,
		   void (*fault)(void *arg, const char *path, int err),
		   void *arg, struct spw_stubs *ret);
void spw_stubs_free(struct spw_stubs *s);

#endif
