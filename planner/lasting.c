/* SPDX-License-Identifier: BSD-3-Clause */
/* lasting.c -- homes that are not closed while the program may have locks */

/*
 * Whoever closes a descriptor of a file gives up all record locks of his
 * process on it. Where a drain thread could not get a table of its own, that
 * process is the program. Used by the drainer's thread alone, but for the last
 * function, which looks at nothing that changes.
 */
#include "planner/lasting.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "shm/sys.h"

struct kept {
	int fd;
	struct spw_file_id id;
	struct kept *next;
};

static _Atomic bool lasts;
static struct kept *all;

void
spw_lasting_begin(void)
{
	atomic_store(&lasts, true);
}

static bool
is_open(struct spw_map *map, const struct spw_file_id *id)
{
	uint32_t file = spw_file_find(map, id);

	return file != SPW_NONE && atomic_load(&map->files[file].opens);
}

void
spw_lasting_close(struct spw_map *map, int fd)
{
	struct spw_file_id id;
	struct kept *k;
	struct stat st;

	if (!atomic_load(&lasts) || spw_sys_fstat(fd, &st) < 0) {
		spw_sys_close(fd);
		return;
	}
	id = (struct spw_file_id){ st.st_dev, st.st_ino };
	if (!is_open(map, &id)) {
		spw_sys_close(fd);
		return;
	}
	k = malloc(sizeof(*k));
	if (!k)
		return;			/* open for good, then */
	*k = (struct kept){ fd, id, all };
	all = k;
}

static int
unlink_kept(struct kept **at)
{
	struct kept *k = *at;
	int fd = k->fd;

	*at = k->next;
	free(k);
	return fd;
}

int
spw_lasting_take(const struct spw_file *f)
{
	for (struct kept **at = &all; *at; at = &(*at)->next)
		if ((*at)->id.dev == f->dev && (*at)->id.ino == f->ino)
			return unlink_kept(at);
	return -1;
}

void
spw_lasting_tidy(struct spw_map *map)
{
	struct kept **at = &all;

	while (*at) {
		if (is_open(map, &(*at)->id))
			at = &(*at)->next;
		else
			spw_sys_close(unlink_kept(at));
	}
}

bool
spw_lasting_may_try(const char *path, int flags, const struct spw_file *f)
{
	struct stat st;

	return !atomic_load(&lasts) ||
	       (spw_sys_fstatat(AT_FDCWD, path, &st, flags & O_NOFOLLOW
				? AT_SYMLINK_NOFOLLOW : 0) == 0 &&
		st.st_dev == f->dev && st.st_ino == f->ino);
}
