/* SPDX-License-Identifier: BSD-3-Clause */
/* nvme-way.c -- past the page cache or through it: what the disk does faster */

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
 * with zeros, which change nothing, each way in turn, until it is safe; and
 * then a little of that again, as for fsync, with a sync each time.
 *
 * Others keep disk and processor busy as well, for longer than one turn, and a
 * sync that waits for what they have written takes as long as many. So each turn
 * is judged by itself, and they are counted. Through the cache must be better by
 * a quarter in most of them, of large writes or of small ones, to be worth the
 * memory, and not worse in half of those of the others.
 */
enum {
	PIECE = 256 << 10,
	TURN = 2 * PIECE,
	MOST = 2 << 20,			/* bytes each way */
	ROUND = 32 << 10,
	ROUNDS = 16,
	TELLING = 4,			/* fewer tell nothing */
	NS_MOST = 30000000,		/* of large ones, and of small ones */
};

struct turns {				/* ns */
	int64_t past[ROUNDS], through[ROUNDS];
	int n;
};

static int64_t
now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return spw_nanoseconds(&t);
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
time_writes(int fd, bool direct, const void *zeros, uint64_t at, uint64_t n)
{
	int r = set_direct(fd, direct);
	int64_t since = now_ns();
	uint64_t done;

	for (done = 0; r == 0 && done < n; done += SPW_MIN(n, (uint64_t)PIECE))
		r = spw_share_write(fd, zeros, SPW_MIN(n, (uint64_t)PIECE),
				    at + done);
	if (r == 0)
		r = spw_share_fdatasync(fd);
	return r < 0 ? r : now_ns() - since;
}

/* n bytes each way, at most so often, and that much further on each time. */
static void
take_turns(int fd, const void *zeros, uint64_t n, int most, uint64_t further,
	   struct turns *ret)
{
	int64_t since = now_ns();
	uint64_t at = SPW_LOG_HEAD;

	for (ret->n = 0; ret->n < most && now_ns() - since < NS_MOST;
	     at += further) {
		int64_t past = time_writes(fd, true, zeros, at, n);
		int64_t through = time_writes(fd, false, zeros, at + n, n);

		if (past < 0 || through < 0)
			return;
		ret->past[ret->n] = past;
		ret->through[ret->n++] = through;
	}
}

/* In how many turns the cache took so many quarters of the time, or less. */
static int
count_within(const struct turns *t, int quarters)
{
	int n = 0, i;

	for (i = 0; i < t->n; i++)
		n += t->through[i] <= t->past[i] / 4 * quarters;
	return n;
}

static bool
is_no_worse(const struct turns *t)
{
	return t->n && 2 * count_within(t, 4) >= t->n;
}

static bool
is_better(const struct turns *t)
{
	return t->n >= TELLING && 4 * count_within(t, 3) >= 3 * t->n;
}

void
spw_nvme_measure(struct spw_nvme *t, struct spw_log *log)
{
	uint64_t each = (log->size - SPW_LOG_HEAD) / 2 / PIECE * PIECE;
	uint64_t turn = SPW_MIN(each, (uint64_t)TURN);
	struct turns large, small;
	void *zeros;

	t->measured = true;
	each = SPW_MIN(each, (uint64_t)MOST);
	zeros = each ? aligned_alloc(SPW_LOG_BLOCK, PIECE) : NULL;
	if (!zeros)
		return;
	memset(zeros, 0, PIECE);
	/* What others have written may have to be waited for. */
	(void)spw_share_fdatasync(log->fd);
	take_turns(log->fd, zeros, turn, (int)(each / turn), 2 * turn, &large);
	take_turns(log->fd, zeros, ROUND, ROUNDS, 0, &small);
	log->dense = SPW_LOG_HEAD + 2 * turn * (uint64_t)large.n;
	t->direct = !is_no_worse(&large) || !is_no_worse(&small) ||
		    !(is_better(&large) || is_better(&small));
	(void)set_direct(log->fd, t->direct);
	free(zeros);
}
