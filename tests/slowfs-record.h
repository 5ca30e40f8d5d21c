/* SPDX-License-Identifier: BSD-3-Clause */
/* slowfs-record.h -- writes down what slowfs does, in order
 *
 * What changes something is done between record_begin and record_end and
 * then told, so that the order written down is the order done.  Without a
 * recording all of this does nothing.  Descriptors may be O_PATH.
 */

#ifndef SPW_TESTS_SLOWFS_RECORD_H
#define SPW_TESTS_SLOWFS_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

/* Write a recording to a new file, beginning with all that is in root: 0 or
 * a negative errno. */
int record_start(const char *path, int root);

/* From now on each file that is made gets another name, its number, in a
 * directory of the backing file system, so that its inode stays when all its
 * names are gone; called before record_start. 0 or a negative errno. */
int record_keep(const char *path);

/* That name does not count as one. */
void record_hide_kept(struct stat *st);

bool record_is_on(void);
void record_begin(void);
void record_end(void);

/* The number of what a name stands for now, for the two calls after it; 0 if
 * it is not there or not known. */
uint64_t record_look(int dir, const char *name);
void record_removed(int dir, const char *name, uint64_t node);
void record_renamed(int dir, const char *name, uint64_t node, int dir2,
		    const char *name2, uint64_t other, unsigned int flags);

/* A new inode; `to` is where a symbolic link leads, else NULL. */
void record_made(int dir, const char *name, const char *to);
void record_linked(int dir, const char *name);

void record_wrote(int fd, const void *buf, size_t n, off_t off, bool durable);
void record_truncated(int fd, off_t size);
void record_allocated(int fd, int mode, off_t off, off_t len);
void record_attributes(int fd);
void record_xattr(int fd, const char *name, const void *value, size_t n,
		  bool gone);
void record_synced(int fd, bool data_only);

/* Something that the recorded program wants to be remembered: 0, or -EINVAL
 * without a recording. */
int record_mark(const char *text, size_t n);

#endif
