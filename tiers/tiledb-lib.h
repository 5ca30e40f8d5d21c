/* SPDX-License-Identifier: BSD-3-Clause */
/* tiledb-lib.h -- the TileDB library: where it is, and its calls */

#ifndef SPW_TIERS_TILEDB_LIB_H
#define SPW_TIERS_TILEDB_LIB_H

#include <limits.h>

#include "tiers/module.h"
#include "tiers/tiledb-api.h"

struct spw_tiledb {
	char path[PATH_MAX];
	int32_t major, minor, patch;
	struct spw_tdb_api api;		/* every pointer is set */
};

/* Look for the library and open it:
 *
 *  1. SPILLWAY_TILEDB_LIB, a path or a name for the loader; if it is set,
 *     nothing else is tried;
 *  2. the loader's path: libtiledb.so.2.30 down to .2.15, libtiledb.so;
 *  3. $XDG_CACHE_HOME/spillway/lib, or ~/.cache/spillway/lib: the newest
 *     libtiledb*.so*, where tools/tiledb-library puts it;
 *  4. the same in libdir (the module directory; NULL: not tried).
 *
 * What is found has to be TileDB 2 with all our calls, else the search goes
 * on.  0, or -ENOENT nothing found, or -ELIBBAD something found that cannot
 * be used; ret_finding is filled in either case, ret_lib only on success.
 *
 * The library stays open as long as the process lives.  It starts threads
 * with its first context and does not survive a fork: only the drainer may
 * open it, and never inside the user's program.
 */
int spw_tiledb_open(const char *libdir, struct spw_tiledb *ret_lib,
		    struct spw_finding *ret_finding);

#endif
