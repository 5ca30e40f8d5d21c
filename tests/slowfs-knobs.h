/* SPDX-License-Identifier: BSD-3-Clause */
/* slowfs-knobs.h -- how slow and how faulty slowfs is to be
 *
 *	bandwidth=N	bytes per second, shared by all requests (0: no limit)
 *	latency=N	milliseconds for each read, write and fsync
 *	short=N		a write takes at most N bytes (0: all)
 *	enospc-after=N	N more bytes can be written or allocated, then ENOSPC
 *			(-1: no end); bytes count whether new or overwritten
 *	edquot-after=N	the same with EDQUOT
 *	eio-after=N	the same with EIO
 *	only=PATTERN	what short and the three -after are for (empty: all)
 *	eio-write=PATTERN, eio-read=PATTERN, eio-fsync=PATTERN
 *			EIO from these requests (empty: from none)
 *	stall=PATTERN	what reads, writes, syncs or changes names waits until
 *			the knob is set to something else
 *	stall-change=PATTERN
 *			the same for what changes names, sizes or times
 *	stall-find=PATTERN
 *			the same for what looks names up or asks for attributes
 *	stall-statfs=PATTERN
 *			the same for statfs of the whole, if it fits "/"
 *	no-attributes=1	there are no extended attributes
 *	vanish=PATTERN	such names are not there, and what is open below them
 *			is stale (ESTALE)
 *
 * A PATTERN is one for the shell, and means the path below the mount; * also
 * stands for slashes, and a directory for all that is in it.
 *
 * They are set on the command line and, while mounted, by writing lines into
 * .slowfs-control at the root of the mount: opening it with O_TRUNC (`>`)
 * sets all knobs back to what the command line said, each write (also `>>`)
 * then sets those it names, all or, with EINVAL, none.  What it says holds
 * when the write returns.  Reading it shows all knobs, the -after ones with
 * the bytes still left, and as `stalled=` how many requests wait.  The file
 * is not in listings.  A program whose writes may not arrive at once, being
 * under test itself, sets the extended attribute user.slowfs of the mount
 * instead; it is as `>>`.  A write that begins with `mark=` sets nothing: its
 * text goes into the recording (slowfs.c), to tell what the program knows at
 * this point.
 */

#ifndef SPW_TESTS_SLOWFS_KNOBS_H
#define SPW_TESTS_SLOWFS_KNOBS_H

#include <stddef.h>
#include <stdint.h>

#define PATTERN_SIZE 256

struct knobs {
	int64_t bandwidth, latency, shorten;
	int64_t enospc_after, edquot_after, eio_after;
	int64_t no_attributes;
	char only[PATTERN_SIZE];
	char eio_write[PATTERN_SIZE];
	char eio_read[PATTERN_SIZE];
	char eio_fsync[PATTERN_SIZE];
	char stall[PATTERN_SIZE];
	char stall_change[PATTERN_SIZE];
	char stall_find[PATTERN_SIZE];
	char stall_statfs[PATTERN_SIZE];
	char vanish[PATTERN_SIZE];
};

#define KNOBS_START \
	{ .enospc_after = -1, .edquot_after = -1, .eio_after = -1 }

/* Set what one line, `key=value` of n bytes without its end, says: 0, or
 * -EINVAL with the knobs untouched. */
int knobs_parse(const char *line, size_t n, struct knobs *ret_k);

/* The knobs as lines; returns the bytes, at most size. */
size_t knobs_print(const struct knobs *k, char *buf, size_t size);

#endif
