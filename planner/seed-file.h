/* SPDX-License-Identifier: BSD-3-Clause */
/* seed-file.h -- what the files of the seed share, for them alone */

#ifndef SPW_PLANNER_SEED_FILE_H
#define SPW_PLANNER_SEED_FILE_H

#include "planner/seed.h"

/* All of a file with a NUL behind it, for free().  -ENOENT if there is none;
 * a FIFO, a device or a directory is -EINVAL, and nobody waits for it; one that
 * is too large is -EFBIG.
 */
int spw_seed_file_read(const char *path, char **ret_text, size_t *ret_n);
int spw_seed_file_write(int fd, const char *text, size_t n);

/* Of another machine speeds say nothing. */
void spw_seed_drop_speeds(struct spw_seed *seed);
int spw_seed_add_all(struct spw_seed *seed, const struct spw_seed *more);

#endif
