/* SPDX-License-Identifier: BSD-3-Clause */
/* nvme-gather.c -- small puts are written together, ahead of the sync */

#include <string.h>

#include "shm/sys.h"
#include "shm/util.h"
#include "tiers/nvme.h"

/*
 * Who waits for fsync waits for a small object and a sync, and so do others at
 * the same time. Small puts are therefore kept back until somebody wants them
 * over: a sync writes all of them by one call of its own, since they lie side
 * by side, and a reap sends them to the ring as others.
 *
 * Room that was allocated and never written costs a sync more than room that
 * was: the file system has to note, durably, that it is in use now. So behind
 * such puts zeros are written as well, about as many bytes as were put that
 * way until now, and the syncs after it find written room. Each byte of a file
 * is written ahead once, whatever its lives.
 */
enum {
	SMALL = 64 << 10,
	AHEAD = 1 << 20,
	ZEROS = 64 << 10,
	PARTS = SPW_NVME_DEPTH + AHEAD / ZEROS,
};

static uint8_t zeros[ZEROS] __attribute__((aligned(SPW_LOG_BLOCK)));

bool
spw_nvme_gather(struct spw_nvme *t, struct spw_nvme_slot *slot)
{
	const struct spw_nvme_slot *last =
		t->ngathered ? t->gathered[t->ngathered - 1] : NULL;

	if (slot->io.len > SMALL)
		return false;
	if (last && (last->log != slot->log ||
		     last->io.off + last->io.len != slot->io.off))
		spw_nvme_send(t);
	t->gathered[t->ngathered++] = slot;
	return true;
}

void
spw_nvme_send(struct spw_nvme *t)
{
	unsigned i, n = t->ngathered;

	t->ngathered = 0;
	for (i = 0; i < n; i++)
		while (spw_ring_submit(t->ring, &t->gathered[i]->io) < 0)
			spw_nvme_ended(t, spw_ring_reap(t->ring, true));
}

/* Zeros from there on, in n parts. */
static size_t
add_zeros(struct spw_nvme *t, struct spw_log *log, uint64_t at,
	  struct iovec *iov, unsigned *n)
{
	uint64_t left = SPW_MIN(log->size - at, (uint64_t)AHEAD);
	size_t sum = 0;

	left = SPW_MIN(left, t->small - t->small % SPW_LOG_BLOCK);
	for (; left; left -= iov[(*n)++].iov_len) {
		iov[*n] = (struct iovec){ zeros, SPW_MIN(left, sizeof(zeros)) };
		sum += iov[*n].iov_len;
	}
	return sum;
}

/* False: not all of it was. */
static bool
write_all(struct spw_nvme *t)
{
	struct spw_log *log = t->gathered[0]->log;
	uint64_t from = t->gathered[0]->io.off;
	struct iovec iov[PARTS];
	size_t sum = 0;
	unsigned n;

	for (n = 0; n < t->ngathered; n++) {
		struct spw_io *io = &t->gathered[n]->io;

		iov[n] = (struct iovec){ io->buf, io->len };
		sum += io->len;
	}
	t->small += sum;
	/* Behind them may be one that is not small. */
	if (from + sum == log->end && log->end > log->dense) {
		sum += add_zeros(t, log, log->end, iov, &n);
		log->dense = from + sum;
	}
	return spw_sys_pwritev(log->fd, iov, (int)n, from) == (int64_t)sum;
}

void
spw_nvme_write(struct spw_nvme *t)
{
	unsigned i, n = t->ngathered;

	if (!n)
		return;
	if (!write_all(t)) {		/* the ring knows what to do then */
		spw_nvme_send(t);
		return;
	}
	t->ngathered = 0;
	for (i = 0; i < n; i++) {
		t->gathered[i]->io.err = 0;
		spw_nvme_ended(t, &t->gathered[i]->io);
	}
}
