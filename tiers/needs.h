/* SPDX-License-Identifier: BSD-3-Clause */
/* needs.h -- may the loader be given a shared object and all it asks for? */

#ifndef SPW_TIERS_NEEDS_H
#define SPW_TIERS_NEEDS_H

#include <limits.h>

/* spw_whole (shm/whole.h) of the file and of the libraries it asks for, where
 * the loader will look for them first.  0, or -ELIBACC, with the file that is
 * not as it should be and what is wrong with it.  What is not found here is the
 * loader's to find or to miss.
 */
int spw_needs_whole(const char *path, char ret_which[PATH_MAX],
		    const char **ret_reason);

#endif
