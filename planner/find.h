/* SPDX-License-Identifier: BSD-3-Clause */
/* find.h -- a file found again by what it is, wherever its name went */
#ifndef SPW_PLANNER_FIND_H
#define SPW_PLANNER_FIND_H

#include <stdbool.h>
#include <stdint.h>

struct spw_identity {
	uint64_t dev, ino;
	int64_t btime;			/* ns; 0: not known */
	bool any_dev;			/* numbered anew since: after a boot */
	bool born_too;			/* the number alone does not do */
};

/* Whether an open file is that one. */
bool spw_find_is(int fd, const struct spw_identity *id);

/* Opens for writing, reading too where that is allowed. -ESTALE: another file
 * has that name. id may be NULL. All of these return the error of the file
 * itself if it was found and cannot be opened. */
int spw_find_open(const char *path, int flags, const struct spw_identity *id);

/* Whether such an error of theirs means that it was not found. */
bool spw_find_is_elsewhere(int err);

/* The same under whatever name it has in the directory of that path. */
int spw_find_beside(const char *path, const struct spw_identity *id);

/* The same in the directories below that one, then in those below the one
 * above it, and so on, on one file system. left: so many names may be looked
 * at, and are taken off. Only where the time of birth tells it from another
 * file that has its number by now. */
int spw_find_near(const char *path, const struct spw_identity *id,
		  uint64_t *left);

#endif
