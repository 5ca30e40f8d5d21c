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

/* Whether a path, which may lead over links, is one we do not manage. */
bool spw_named_is_outside(const char *path);

/* Whether others may have bytes of the file there that we cannot see, since the
 * segment cannot be joined for want of an open file: who would change the file,
 * or show it, is told ENFILE. After spw_front_look. Every stat asks. */
bool spw_named_may_be_hidden(int dir, const char *name);

static inline bool
spw_named_is_hidden(int dir, const char *name)
{
	return SPW_UNLIKELY(spw_front_is_cut_off()) &&
	       spw_named_may_be_hidden(dir, name);
}

/* Around a call that takes a name away: unlink, or rename over it. */
void spw_named_leaving(struct spw_me *me, const struct spw_named *n);
void spw_named_left(struct spw_me *me, const struct spw_named *n);

#endif
