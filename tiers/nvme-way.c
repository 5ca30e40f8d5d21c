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
 * with zeros, which change nothing, half of that each way, until it is safe;
 * and then a little of that again, as for fsync, with a sync each time.
 * Through the cache must be better by a quarter at one of them to be worth the
 * memory, and not worse at the other.
 */
enum {
	PIECE = 256 << 10,
	MOST = 2 << 20,			/* bytes each way */
	ROUND = 32 << 10,
	ROUNDS = 8,
	NS_MOST = 30000000,		/* of writing, each way, and of rounds */
};

struct cost {
	int64_t piece, round;		/* ns, or a negative errno */
	uint64_t written;		/* bytes */
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
time_writes(int fd, const void *zeros, uint64_t at, uint64_t n,
	    uint64_t *ret_done)
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
	*ret_done = r < 0 ? 0 : done;
	return r < 0 ? r : (now_ns() - since) / (int64_t)(done / PIECE);
}

static int
compare(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
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

static int64_t
time_round(int fd, bool direct, const void *zeros, uint64_t at)
{
	int r = set_direct(fd, direct);
	int64_t since = now_ns();

	if (r == 0)
		r = spw_share_write(fd, zeros, ROUND, at);
	if (r == 0)
		r = spw_share_fdatasync(fd);
	return r < 0 ? r : now_ns() - since;
}

/* The middle one: a sync that waits for what others have written, or for a
 * journal, takes as long as all the rest. */
static int64_t
middle(int64_t *took, int n)
{
	qsort(took, (size_t)n, sizeof(*took), compare);
	return took[(n - 1) / 2];
}

/* In turns: others may keep the disk busy for as long as one way takes. */
static void
time_rounds(int fd, const void *zeros, uint64_t each, struct cost *direct,
	    struct cost *buffered)
{
	int64_t past[ROUNDS], through[ROUNDS], since = now_ns();
	int n = 0;

	do {
		past[n] = time_round(fd, true, zeros, SPW_LOG_HEAD);
		through[n] = time_round(fd, false, zeros, SPW_LOG_HEAD + each);
		if (past[n] < 0 || through[n] < 0)
			return;
	} while (++n < ROUNDS && now_ns() - since < NS_MOST);
	direct->round = middle(past, n);
	buffered->round = middle(through, n);
}

static bool
is_worth_it(const struct cost *buffered, const struct cost *direct)
{
	if (buffered->round < 0)	/* or it cannot be told */
		return false;
	return buffered->piece <= direct->piece &&
	       buffered->round <= direct->round &&
	       (buffered->piece <= direct->piece - direct->piece / 4 ||
		buffered->round <= direct->round - direct->round / 4);
}

void
spw_nvme_measure(struct spw_nvme *t, struct spw_log *log)
{
	uint64_t each = (log->size - SPW_LOG_HEAD) / 2 / PIECE * PIECE;
	struct cost direct = { -EIO, -EIO, 0 }, buffered = direct;
	void *zeros;

	t->measured = true;
	each = SPW_MIN(each, (uint64_t)MOST);
	zeros = each ? aligned_alloc(SPW_LOG_BLOCK, PIECE) : NULL;
	if (!zeros)
		return;
	memset(zeros, 0, PIECE);
	direct.piece = time_writes(log->fd, zeros, SPW_LOG_HEAD, each,
				   &direct.written);
	if (direct.piece >= 0 && set_direct(log->fd, false) == 0)
		buffered.piece = time_writes(log->fd, zeros, SPW_LOG_HEAD + each,
					     each, &buffered.written);
	if (buffered.piece >= 0)
		time_rounds(log->fd, zeros, each, &direct, &buffered);
	log->dense = SPW_LOG_HEAD + direct.written;
	if (direct.written == each)
		log->dense += buffered.written;
	t->direct = !is_worth_it(&buffered, &direct);
	(void)set_direct(log->fd, t->direct);
	free(zeros);
}
