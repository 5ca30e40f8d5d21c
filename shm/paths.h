/* SPDX-License-Identifier: BSD-3-Clause */
/* paths.h -- lists of directories, and what lies below them */

#ifndef SPW_SHM_PATHS_H
#define SPW_SHM_PATHS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SPW_PATH_MAX 4096		/* with the NUL, as in the kernel */
#define SPW_DIRS_MAX 32

/* Absolute, normalised directories, one after the other in `text`. */
struct spw_dirs {
	uint16_t n, used;
	uint16_t at[SPW_DIRS_MAX];
	char text[SPW_PATH_MAX];
};

/* Append a directory; -E2BIG when there is no room. */
int spw_dirs_add(struct spw_dirs *dirs, const char *path);
const char *spw_dirs_get(const struct spw_dirs *dirs, unsigned i);

/*
 * In place, by the text alone: no doubled or trailing slash, no "." part.
 * A ".." stays, since only the file system knows where it leads.
 */
void spw_path_normalise(char *path);

/* path is dir, or lies below it; both normalised. */
bool spw_path_is_below(const char *path, const char *dir);

/* The working directory; ret_path has SPW_PATH_MAX bytes. */
int spw_path_cwd(char *ret_path);

/*
 * The directory's one name, free of links; a negative errno if it cannot be
 * opened.  ret_path has SPW_PATH_MAX bytes.
 */
int spw_path_real(const char *path, char *ret_path);

#endif
