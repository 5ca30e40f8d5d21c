/* SPDX-License-Identifier: BSD-3-Clause */
/* share.h -- an owner's directory in a place: made, locked, looked through */

#ifndef SPW_TIERS_SHARE_H
#define SPW_TIERS_SHARE_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "tiers/tier.h"

/*
 *	<place>/spillway-<uid>/<owner>/		0700, ours or refused
 *		<kind>.lock			held by whoever has it open
 *		...				the files of the kind
 *
 * The lock belongs to the open file description. The kernel lets go of it
 * when the holder is gone, writes that were under way included.
 */
enum {					/* bytes on disk that count as ours */
	SPW_SHARE_DIRS = 2 * 4096,	/* the two directories */
	SPW_SHARE_FILE = 4096,		/* where the file system notes in which
					 * places a file lies */
};

struct spw_share {
	int dir;			/* descriptors */
	int lock;			/* -1: none, see unlocked */
	bool look_only;
	bool unlocked;			/* the file system has no locks: what
					 * keeps a second drainer out is the
					 * lock of the segment alone */
	bool held;			/* looked at: somebody has the lock */
	bool lasts;			/* the files are there after a reboot */
	bool gone;			/* it was being cleared: show nothing,
					 * and clear it before it is used */
	int64_t found_ns;		/* when its path last led to it */
	char path[PATH_MAX];
};

/* kind names the lock. -EBUSY, -ENOENT as open of a tier; -EPERM: a directory
 * on the way is not ours; -EINVAL: not a name. */
int spw_share_open(const struct spw_tier_setup *setup, const char *kind,
		   struct spw_share *ret_share);
void spw_share_close(struct spw_share *s);

/* Its names can be seen: one that is not there is gone, rather than away with
 * all of the share. */
bool spw_share_is_there(const struct spw_share *s, const char *kind);

/* 0: its path leads to it; -ESTALE: it, or a directory above it, was renamed,
 * replaced or removed, or its lock was, and who looks for it finds it no
 * more. That may happen after a sync as well as before: so it is looked at once
 * in a millisecond at most, and costs nothing where syncs take microseconds. */
int spw_share_find(struct spw_share *s, const char *kind);

/* Writes down what the share's place means for the tier on it. */
void spw_share_introduce(const struct spw_share *s, struct spw_tier *tier);

/* Removes the files of a kind, all or nothing: after a crash in the middle the
 * share is gone, since older objects without the newer ones would be worse
 * than none. remove is called with every name, as by spw_share_each. */
int spw_share_clear(struct spw_share *s, const char *kind,
		    int (*remove)(void *arg, const char *name), void *arg);

/* The same, and then the lock and the directory, unless another kind has files
 * in it, durably. -EROFS: the share was opened to look at it. */
int spw_share_discard(struct spw_share *s, const char *kind,
		      int (*remove)(void *arg, const char *name), void *arg);

/* Calls seen with every name in the directory that does not begin with a
 * dot; stops when it returns other than 0, and returns that. */
int spw_share_each(const struct spw_share *s,
		   int (*seen)(void *arg, const char *name), void *arg);

int spw_share_unlink(const struct spw_share *s, const char *name);

/* Gives what was made under a name of its own the one that others look for:
 * in one step where the file system can, and never over what is there. */
int spw_share_publish(const struct spw_share *s, const char *from,
		      const char *to);

/* Opens a file of ours by its name. -EPERM: it is a link, a directory or the
 * like, or somebody else's. */
int spw_share_open_file(const struct spw_share *s, const char *name,
			int flags);

/* The number of this boot, for notes that do not outlive it. */
uint32_t spw_share_boot(void);

/* The names in the directory are durable now. */
int spw_share_sync(const struct spw_share *s);

/* What we may rely on: a file by its descriptor, all of it, or an error;
 * -ENODATA: the file ends before. */
int spw_share_read(int fd, void *buf, size_t n, uint64_t at);
int spw_share_write(int fd, const void *buf, size_t n, uint64_t at);
int spw_share_fdatasync(int fd);

/* Memory for heads of objects, grown as needed; {} to begin with. */
struct spw_share_head {
	void *buf;			/* free() it at last */
	size_t room;
};

/* Reads and parses the head of an object of len bytes that lies at an offset
 * of a file. 0, and what is there of it is for the caller to compare;
 * -ENOMEM; else it is damaged. */
int spw_share_parse(struct spw_share_head *h, int fd, uint64_t at,
		    uint64_t len, struct spw_object *ret_o);

/* What list says of an object that could not be parsed for err: damaged, or
 * only not to be read now. */
int spw_share_fault(int err);

/* err of opening or reading a file tells of that file, and others may be well;
 * else it is us who lack something. */
bool spw_share_is_its_own(int err);

#endif
