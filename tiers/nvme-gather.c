/* SPDX-License-Identifier: BSD-3-Clause */
/* nvme-gather.c -- small puts are written together, ahead of the sync */

#include <errno.h>
#include <string.h>

#include "shm/sys.h"
#include "shm/util.h"
#include "tiers/nvme.h"

/*
 * Who waits for fsync waits for a small object and a sync, and so do others at
 * the same time. Small puts are therefore kept back until somebody wants them
 * over: a sync writes all of them by one call of its own, and a reap sends them
 * to the ring. Such a round is copied to where its objects lie as closely as
 * they will in the file: fewer bytes are written then, and the disk sees whole
 * blocks of its own, whatever size they have.
 *
 * Room that was allocated and never written costs a sync more than room that
 * was: the file system has to note, durably, that it is in use now. So behind
 * such puts zeros are written by the way, about as many bytes as were put like
 * that until now, and the syncs after it find written room. Each byte of a
 * file is written ahead once, whatever its lives. No put goes where zeros are
 * on their way to.
 */
enum {
	ROUND = 128 << 10,
	AHEAD = 1 << 20,		/* at once: others wait behind them; but
					 * the next sync has to note, too, that
					 * they are there */
};

static uint8_t zeros[AHEAD] __attribute__((aligned(SPW_LOG_BLOCK)));

bool
spw_nvme_is_small(uint64_t need)
{
	return need <= SPW_LOG_SMALL;
}

/* There is one for each slot. */
static struct spw_round *
take_round(struct spw_nvme *t)
{
	unsigned i;

	for (i = 0; i < SPW_NVME_DEPTH; i++)
		if (!t->rounds[i].n)
			return &t->rounds[i];
	return NULL;
}

/* Kept for the next one. Children do not get it while it is being written. */
static int
map_round(struct spw_round *round)
{
	void *p;

	if (round->io.buf)
		return 0;
	p = spw_sys_mmap(NULL, ROUND, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (p == MAP_FAILED)
		return -ENOMEM;
	(void)spw_sys_madvise(p, ROUND, MADV_DONTFORK);
	round->io.buf = p;
	return 0;
}

void
spw_nvme_free_rounds(struct spw_nvme *t)
{
	unsigned i;

	for (i = 0; i < SPW_NVME_DEPTH; i++)
		if (t->rounds[i].io.buf)
			spw_sys_munmap(t->rounds[i].io.buf, ROUND);
}

static bool
fits(const struct spw_round *round, const struct spw_log *log, uint64_t need)
{
	const struct spw_io *io = &round->io;

	return round->slots[0]->log == log &&
	       io->off + io->len == log->end && io->len + need <= ROUND;
}

int
spw_nvme_begin_join(struct spw_nvme *t, struct spw_log *log, uint64_t need)
{
	if (t->round && !fits(t->round, log, need))
		spw_nvme_send(t);
	return t->round ? 0 : map_round(take_round(t));
}

void
spw_nvme_join(struct spw_nvme *t, struct spw_nvme_slot *slot)
{
	struct spw_round *round = t->round ? t->round : take_round(t);
	size_t len = slot->x->len, n = spw_log_extent(slot->log, len);
	uint8_t *to = (uint8_t *)round->io.buf + (round->n ? round->io.len : 0);

	if (!round->n)
		round->io = (struct spw_io) {
			.kind = SPW_IO_WRITE,
			.fd = slot->io.fd,
			.buf = round->io.buf,
			.off = slot->offset,
			.user = round,
		};
	memcpy(to, slot->x->buf, len);
	memset(to + len, 0, n - len);
	round->slots[round->n++] = slot;
	round->io.len += n;
	t->round = round;
}

static struct spw_round *
end_round(struct spw_nvme *t)
{
	struct spw_round *round = t->round;
	struct spw_io *io = &round->io;
	size_t n = spw_round_up(io->len, SPW_LOG_BLOCK);

	memset((uint8_t *)io->buf + io->len, 0, n - io->len);
	io->len = n;
	spw_log_end_round(round->slots[0]->log);
	t->round = NULL;
	return round;
}

static void
send(struct spw_nvme *t, struct spw_round *round)
{
	while (spw_ring_submit(t->ring, &round->io) < 0)
		spw_nvme_ended(t, spw_ring_reap(t->ring, true));
}

void
spw_nvme_send(struct spw_nvme *t)
{
	if (t->round)
		send(t, end_round(t));
}

void
spw_nvme_round_ended(struct spw_nvme *t, struct spw_round *round)
{
	unsigned i, n = round->n;

	round->n = 0;
	for (i = 0; i < n; i++) {
		round->slots[i]->io.err = round->io.err;
		spw_nvme_end_transfer(t, round->slots[i]);
	}
}

void
spw_nvme_write(struct spw_nvme *t)
{
	struct spw_round *round;
	struct spw_io *io;

	if (!t->round)
		return;
	round = end_round(t);
	io = &round->io;
	t->small += io->len;
	if (spw_share_write(io->fd, io->buf, io->len, io->off) < 0) {
		send(t, round);		/* the ring knows what to do then */
		return;
	}
	io->err = 0;
	spw_nvme_round_ended(t, round);
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
	from = SPW_MAX(log->dense, spw_round_up(log->end, SPW_LOG_BLOCK));
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
