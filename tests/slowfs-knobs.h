/* SPDX-License-Identifier: BSD-3-Clause */
/* slowfs-knobs.h -- how slow and how faulty slowfs is at the moment
 *
 *	bandwidth=N	bytes per second, shared by all requests (0: no limit)
 *	latency=N	milliseconds for each read, write and fsync
 *	short=N		a write takes at most N bytes (0: all)
 *	enospc-after=N	N more bytes can be written, then ENOSPC (-1: never)
 *	edquot-after=N	the same with EDQUOT
 *	eio-after=N	the same with EIO
 *	eio-fsync=1	fsync fails with EIO
 *	control=FILE	read the keys above from FILE, one per line, whenever
 *			FILE changed before a request; keys that it does not
 *			name are as on the command line, and the counts of the
 *			three -after keys begin again
 *
 * A request waits its turn on the one shared link (bytes/bandwidth) and then
 * for its own latency, so many requests in flight hide latency and nothing
 * hides bandwidth.
 */

#ifndef SPW_TESTS_SLOWFS_KNOBS_H
#define SPW_TESTS_SLOWFS_KNOBS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Set one key from the command line: 0, or -EINVAL for text not understood.
 * Before the first request only. */
int knobs_set(const char *text);

/* Sleep as long as a request that moves n bytes takes. */
void knobs_take_time(size_t n);

/* How much of a write of n bytes may pass: a count, or a negative errno. */
int64_t knobs_admit_write(int64_t n);

bool knobs_fsync_fails(void);

#endif
