/* SPDX-License-Identifier: BSD-3-Clause */
/* walk.h -- the regular files that some paths name, or that lie below them */
#ifndef SPW_TOOLS_WALK_H
#define SPW_TOOLS_WALK_H

struct spw_walker {
	/* A file; other than 0 ends the walk. */
	int (*file)(void *arg, const char *path);
	/* What cannot be looked at, with a negative errno. */
	void (*fault)(void *arg, const char *path, int err);
	void *arg;
};

/* Links are followed where they are named, not where they are found. 0, what
 * file returned, or a negative errno. */
int spw_walk(char *const *paths, const struct spw_walker *w);

#endif
