/* SPDX-License-Identifier: BSD-3-Clause */
/* lasting.h -- homes that are not closed while the program may have locks */
#ifndef SPW_PLANNER_LASTING_H
#define SPW_PLANNER_LASTING_H

#include <stdbool.h>

#include "shm/files.h"

/* From now on: this process has the program's descriptors. */
void spw_lasting_begin(void);

/* Closes it, or keeps it for as long as a program has the file open. */
void spw_lasting_close(struct spw_map *map, int fd);

/* A descriptor of this file that was kept, to be used again; -1: none. */
int spw_lasting_take(const struct spw_file *f);

/* Closes those that nothing depends on any more. */
void spw_lasting_tidy(struct spw_map *map);

/* Whether this may be opened only to see that it is another file. */
bool spw_lasting_may_try(const char *path, int flags,
			 const struct spw_file *f);

#endif
