/* SPDX-License-Identifier: BSD-3-Clause */
/* record.h -- what slowfs did, in order, as powercut reads it
 *
 * A recording is a magic number and then one struct record for each thing
 * done, with its names and bytes right behind it.  It is read on the machine
 * that wrote it.  Files and directories have numbers, given when they are
 * made and never used again; the root is RECORD_ROOT.
 *
 * First comes what was there at the start, all of it synced; then
 * RECORD_START; then what was done.  fsync and fdatasync, and fsync of a
 * directory, are RECORD_SYNC.  A write that was asked to be durable when it
 * returns (O_DSYNC, O_SYNC, RWF_DSYNC) says so itself.  sync and syncfs do
 * not reach a FUSE file system and are not there.
 */

#ifndef SPW_TESTS_RECORD_H
#define SPW_TESTS_RECORD_H

#include <stdint.h>

#define RECORD_MAGIC UINT64_C(0x31307475632d7770)
#define RECORD_ROOT 1

enum record_kind {
	RECORD_START = 1,
	RECORD_MAKE,	/* name in dir, mode; name2: of a symbolic link */
	RECORD_LINK,	/* name in dir */
	RECORD_REMOVE,	/* name in dir */
	RECORD_RENAME,	/* name in dir to name2 in dir2; mode: its flags;
			 * off: the number of what was at name2, or 0 */
	RECORD_WRITE,	/* off, len and the bytes */
	RECORD_TRUNCATE, /* len */
	RECORD_ALLOCATE, /* off, len; mode: that of fallocate */
	RECORD_ATTR,	/* mode, and the time */
	RECORD_XATTR,	/* name, len and the bytes */
	RECORD_SYNC,
	RECORD_MARK,	/* len and the text */
};

#define RECORD_DURABLE 1	/* of a write */
#define RECORD_DATA_ONLY 2	/* of a sync: fdatasync */
#define RECORD_GONE 4		/* of an attribute: removed */

struct record {
	uint32_t size;		/* with all that follows; a multiple of 8 */
	uint16_t kind;
	uint16_t flags;
	uint64_t node;		/* what it was done to */
	uint64_t dir, dir2;
	uint64_t off, len;
	int64_t sec;		/* the node's modification time after it */
	uint32_t nsec;
	uint32_t mode;
	uint16_t name_len, name2_len;	/* bytes without a zero */
	uint32_t data_len;
};

#endif
