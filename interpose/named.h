/* SPDX-License-Identifier: BSD-3-Clause */
/* named.h -- a managed file or a directory while its name changes */
#ifndef SPW_INTERPOSE_NAMED_H
#define SPW_INTERPOSE_NAMED_H

#include <sys/stat.h>

#include "interpose/front.h"
#include "shm/names.h"

/*
 * Held by an O_PATH descriptor over the call: it shows path and link count
 * afterwards, whatever others did meanwhile, and closing it drops no locks.
 */
struct spw_named {
	int fd;				/* negative: nothing of ours */
	uint32_t file, gen;		/* file SPW_NONE: a directory */
	nlink_t nlink;
	char path[SPW_FILE_PATH];	/* absolute; "" when too long */
};

/* 1; 0 when it is neither a managed file nor, if dirs are wanted, a
 * directory; a negative errno. There is something to drop after 1 only, and
 * fd says so. */
int spw_named_take(int dir, const char *path, bool dirs,
		   struct spw_named *ret);
void spw_named_drop(struct spw_named *n);

/* Where it is now; false when that cannot be told. */
bool spw_named_path(const struct spw_named *n, char path[SPW_FILE_PATH]);

/* The absolute path of a name that need not exist; false when too long. */
bool spw_named_absolute(int dir, const char *name, char path[SPW_FILE_PATH]);

/* Around a call that takes a name away: unlink, or rename over it. */
void spw_named_leaving(struct spw_me *me, const struct spw_named *n);
void spw_named_left(struct spw_me *me, const struct spw_named *n);

#endif
