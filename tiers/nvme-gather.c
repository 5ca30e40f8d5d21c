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
 * such puts zeros are written by the way, about as many bytes as were put like
 * that until now, and the syncs after it find written room. Each byte of a
 * file is written ahead once, whatever its lives. No put goes where zeros are
 * on their way to.
 */
enum {
	SMALL = 64 << 10,
	AHEAD = 1 << 20,		/* at once: others wait behind them; but
					 * the next sync has to note, too, that
					 * they are there */
};

static uint8_t zeros[AHEAD] __attribute__((aligned(SPW_LOG_BLOCK)));

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

/* False: not all of it was. */
static bool
write_all(struct spw_nvme *t)
{
	struct spw_log *log = t->gathered[0]->log;
	struct iovec iov[SPW_NVME_DEPTH];
	size_t sum = 0;
	unsigned n;

	for (n = 0; n < t->ngathered; n++) {
		struct spw_io *io = &t->gathered[n]->io;

		iov[n] = (struct iovec){ io->buf, io->len };
		sum += io->len;
	}
	t->small += sum;
	return spw_sys_pwritev(log->fd, iov, (int)n,
			       t->gathered[0]->io.off) == (int64_t)sum;
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

void
spw_nvme_look_ahead(struct spw_nvme *t)
{
	uint64_t n = SPW_MIN(t->small - t->small % SPW_LOG_BLOCK,
			     (uint64_t)AHEAD);
	struct spw_log *log = t->current;
	uint64_t from;

	if (!log || log->is_ahead || log->err || log->fd < 0)
		return;
	from = SPW_MAX(log->dense, log->end);
	n = SPW_MIN(n, log->size - from);
	if (!n || from - log->end >= n)
		return;
	log->ahead = (struct spw_io) {
		.kind = SPW_IO_WRITE,
		.fd = log->fd,
		.buf = zeros,
		.len = n,
		.off = from,
		.user = log,
	};
	if (spw_ring_submit(t->ring, &log->ahead) < 0)
		return;
	log->is_ahead = true;
	log->busy++;
	t->ahead++;
}

void
spw_log_await_ahead(struct spw_nvme *t, const struct spw_log *log)
{
	while (log->is_ahead)
		spw_nvme_ended(t, spw_ring_reap(t->ring, true));
}

void
spw_log_ahead_ended(struct spw_nvme *t, struct spw_log *log)
{
	if (!log->ahead.err)
		log->dense = log->ahead.off + log->ahead.len;
	log->is_ahead = false;
	log->busy--;
	t->ahead--;
}
