/* SPDX-License-Identifier: BSD-3-Clause */
/* nvme-way.c -- past the page cache or through it: what the disk does faster */

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "shm/sys.h"
#include "shm/util.h"
#include "tiers/nvme.h"

/*
 * Most disks are faster past the page cache, and memory is the program's. Some
 * file systems are not: they copy all the same, or ask a server each time. The
 * first file of a log is allocated and has no head yet; some of it is written
 * with zeros, which change nothing, half of that each way, until it is safe.
 * Through the cache must be better by a quarter to be worth the memory.
 */
enum {
	PIECE = 256 << 10,
	MOST = 2 << 20,			/* bytes each way */
	NS_MOST = 30000000,		/* of writing, each way */
};

static int64_t
now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return spw_nanoseconds(&t);
}

/* For the first sync, others' writes may have to be waited for. */
static int64_t
time_writes(int fd, const void *zeros, uint64_t at, uint64_t n)
{
	uint64_t done = 0;
	int64_t since;
	int r = spw_share_fdatasync(fd);

	since = now_ns();
	while (r == 0 && done < n && now_ns() - since < NS_MOST) {
		r = spw_share_write(fd, zeros, PIECE, at + done);
		done += PIECE;
	}
	if (r == 0)
		r = spw_share_fdatasync(fd);
	return r < 0 ? r : (now_ns() - since) / (int64_t)(done / PIECE);
}

static int
set_direct(int fd, bool direct)
{
	int flags = spw_sys_fcntl(fd, F_GETFL, 0);

	if (flags < 0)
		return flags;
	return spw_sys_fcntl(fd, F_SETFL, direct ? flags | O_DIRECT
						 : flags & ~O_DIRECT);
}

void
spw_nvme_measure(struct spw_nvme *t, struct spw_log *log)
{
	uint64_t each = (log->size - SPW_LOG_HEAD) / 2 / PIECE * PIECE;
	int64_t direct, buffered = -EIO;
	void *zeros;

	t->measured = true;
	each = SPW_MIN(each, (uint64_t)MOST);
	zeros = each ? aligned_alloc(SPW_LOG_BLOCK, PIECE) : NULL;
	if (!zeros)
		return;
	memset(zeros, 0, PIECE);
	direct = time_writes(log->fd, zeros, SPW_LOG_HEAD, each);
	if (direct >= 0 && set_direct(log->fd, false) == 0)
		buffered = time_writes(log->fd, zeros, SPW_LOG_HEAD + each,
				       each);
	t->direct = buffered < 0 || buffered > direct - direct / 4;
	if (t->direct)
		(void)set_direct(log->fd, true);
	free(zeros);
}
