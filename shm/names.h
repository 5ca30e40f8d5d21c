/* SPDX-License-Identifier: BSD-3-Clause */
/* names.h -- under which paths a file can be found when nobody has it open */
#ifndef SPW_SHM_NAMES_H
#define SPW_SHM_NAMES_H

#include "shm/files.h"

/*
 * A record holds up to two absolute paths in one buffer: one at its start, of
 * path_len bytes, one at its end, of alt_len bytes; a length of 0 says that
 * the place is empty. Both end with a NUL. A rename notes the new path
 * before the kernel moves the file and forgets the old one afterwards, so
 * whoever is killed on the way leaves at least one that is right. Readers
 * take no lock: they compare (dev, ino) of what they find.
 *
 * All but spw_name_copy wait for the file's gate and expect gen to be the
 * record's generation; when it is not, the file is gone and they do nothing.
 */

/* One more path that may lead to the file, now or soon. False: no room for
 * two; then the caller makes sure that none will be needed. */
bool spw_name_add(struct spw_me *me, uint32_t file, uint32_t gen,
		  const char *path);

/* This path and no other. */
void spw_name_set(struct spw_me *me, uint32_t file, uint32_t gen,
		  const char *path);

/* Not this path any more, if another one is known. */
void spw_name_remove(struct spw_me *me, uint32_t file, uint32_t gen,
		     const char *path);

/* Whether the record knows this path, or one besides it. */
bool spw_name_has(const struct spw_file *f, const char *path);
bool spw_name_has_other(const struct spw_file *f, const char *path);

/* Copies the first (which = 0) or the other path (1); its length, or 0. */
uint32_t spw_name_copy(const struct spw_file *f, int which,
		       char buf[SPW_FILE_PATH]);

#endif
