/* SPDX-License-Identifier: BSD-3-Clause */
/* walk.c -- the regular files that some paths name, or that lie below them */
#include "tools/walk.h"

#include <errno.h>
#include <fts.h>
#include <stddef.h>

int
spw_walk(char *const *paths, const struct spw_walker *w)
{
	FTS *tree = fts_open(paths, FTS_PHYSICAL | FTS_COMFOLLOW | FTS_NOCHDIR,
			     NULL);
	FTSENT *e;
	int r = 0;

	if (!tree)
		return -errno;
	while (r == 0 && (e = fts_read(tree))) {
		if (e->fts_info == FTS_F)
			r = w->file(w->arg, e->fts_accpath);
		else if (e->fts_info == FTS_DNR || e->fts_info == FTS_ERR ||
			 e->fts_info == FTS_NS)
			w->fault(w->arg, e->fts_path, -e->fts_errno);
	}
	fts_close(tree);
	return r;
}
