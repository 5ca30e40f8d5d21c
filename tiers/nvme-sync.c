/* SPDX-License-Identifier: BSD-3-Clause */
/* nvme-sync.c -- makes puts durable, then drops, then frees files */

#include <errno.h>
#include <stdlib.h>

#include "shm/failpoint.h"
#include "shm/sys.h"
#include "shm/util.h"
#include "tiers/nvme.h"

enum {
	MARK_EVERY = 4 << 20,		/* bytes: seldom, but checked at once */
	MARK_AFTER_MS = 500,		/* without a sync: or before */
	FREE_KEPT = 2,			/* files; and an eighth of all */
};

static void
settle_puts(struct spw_nvme *t)
{
	spw_nvme_send(t);
	while (t->under_way || t->sealing)
		spw_nvme_ended(t, spw_ring_reap(t->ring, true));
}

void
spw_nvme_settle(struct spw_nvme *t)
{
	settle_puts(t);
	while (t->ahead)
		spw_nvme_ended(t, spw_ring_reap(t->ring, true));
}

void
spw_nvme_do(struct spw_nvme *t, struct spw_io *io, unsigned n)
{
	unsigned begun = 0, over = 0;

	while (over < n) {
		struct spw_io *done;

		while (begun < n) {
			int r;

			io[begun].user = NULL;
			r = spw_ring_submit(t->ring, &io[begun]);
			if (r < 0)
				break;
			begun++;
		}
		done = spw_ring_reap(t->ring, true);
		if (done->user)
			spw_nvme_ended(t, done);
		else
			over++;
	}
}

/* The file is still the one in the share, and as long as it was; one that is
 * known to be damaged gets no puts, only drops. Its times are not asked for:
 * where they were seen, the next write has to change them, and the next sync to
 * write the inode. */
static int
look_after(const struct spw_log *log)
{
	struct statx stx;
	int r = spw_sys_statx(log->fd, "", AT_EMPTY_PATH,
			      STATX_NLINK | STATX_SIZE, &stx);

	if (r == 0 && (stx.stx_nlink == 0 ||
		       (stx.stx_size < log->size && !log->damaged)))
		r = -EIO;
	return r;
}

/* Objects that were put since the last good sync. */
static bool
has_doubts(const struct spw_log *log)
{
	uint32_t i;

	for (i = log->synced; i < log->n; i++)
		if (log->objects[i].state == SPW_LOG_LIVE)
			return true;
	return false;
}

static void
flushed(struct spw_log *log, uint64_t mark, uint32_t n, int err)
{
	log->err = err ? err : look_after(log);
	if (log->err)
		return;
	log->head_loose = false;
	if (mark) {
		log->mark = mark;
		log->synced = n;
	}
}

struct batch {
	struct spw_io io[SPW_RING_DEPTH];
	struct spw_log *logs[SPW_RING_DEPTH];
	uint64_t mark[SPW_RING_DEPTH];	/* 0: puts are under way */
	uint32_t objects[SPW_RING_DEPTH];
	unsigned n;
};

static void
flush_batch(struct spw_nvme *t, struct batch *b)
{
	unsigned i;

	if (b->n == 1)			/* saves a thread to wake */
		b->io[0].err = spw_share_fdatasync(b->io[0].fd);
	else
		spw_nvme_do(t, b->io, b->n);
	for (i = 0; i < b->n; i++)
		flushed(b->logs[i], b->mark[i], b->objects[i], b->io[i].err);
	b->n = 0;
}

static void
flush_later(struct spw_nvme *t, struct batch *b, struct spw_log *log)
{
	int fd = spw_log_fd(t, log);

	if (fd < 0) {
		log->err = fd;
		return;
	}
	log->written = false;
	b->io[b->n] = (struct spw_io){ .kind = SPW_IO_FDATASYNC, .fd = fd };
	b->logs[b->n] = log;
	b->mark[b->n] = log->putting || log->torn ? 0 : log->end;
	b->objects[b->n] = log->n;
	if (++b->n == SPW_RING_DEPTH)
		flush_batch(t, b);
}

int
spw_log_flush(struct spw_nvme *t, struct spw_log *log)
{
	struct batch b = { .n = 0 };

	flush_later(t, &b, log);
	flush_batch(t, &b);
	return log->err;
}

/* After a failed sync the kernel forgets what it could not write, and the next
 * one is good again. So a file in which something is in doubt is not asked
 * again: that must be put elsewhere, and dropped here. */
static void
flush_puts(struct spw_nvme *t)
{
	struct batch b = { .n = 0 };
	struct spw_log *log;

	for (log = t->to_sync; log; log = log->next)
		if (log->err ? !has_doubts(log) : log->written ||
		    (log->dropped && log->head_loose))
			flush_later(t, &b, log);
	flush_batch(t, &b);
}

/* Heads. */

static bool
is_over(const struct spw_log *log)
{
	return !log->live && !log->busy && !log->damaged;
}

/* The next one is not to go where the only whole one lies. */
static void
head_failed(struct spw_log *log)
{
	log->turn--;
}

static void
head_written(struct spw_log *log, int err, bool drops)
{
	if (err)
		head_failed(log);
	if (drops && !err)
		log->head_loose = false;
	if (drops && err) {
		log->err = err;
		log->dropped = true;
	}
}

static void
write_heads(struct spw_nvme *t, struct batch *b, struct spw_log_head *heads,
	    bool sync)
{
	unsigned i;

	for (i = 0; i < b->n; i++)
		b->io[i] = (struct spw_io) {
			.kind = SPW_IO_WRITE,
			.fd = b->logs[i]->fd,
			.buf = &heads[i],
			.len = sizeof(heads[i]),
			.off = b->logs[i]->turn % 2 * SPW_LOG_BLOCK,
			.then_sync = sync,
		};
	spw_nvme_do(t, b->io, b->n);
	for (i = 0; i < b->n; i++)
		head_written(b->logs[i], b->io[i].err, sync);
	b->n = 0;
}

static bool
wants_head(const struct spw_nvme *t, const struct spw_log *log, bool drops)
{
	if (log->err || log->head_loose)
		return false;
	if (drops || log->dropped)	/* a head tells of them as well */
		return drops && log->dropped;
	return log->mark - log->marked >= MARK_EVERY ||
	       (log->mark > log->marked && (log != t->current || t->closing));
}

static void
each_head(struct spw_nvme *t, struct spw_log_head *heads, bool drops)
{
	struct batch b = { .n = 0 };
	struct spw_log *log;

	for (log = t->to_sync; log; log = log->next) {
		if (!wants_head(t, log, drops) || spw_log_fd(t, log) < 0)
			continue;
		if (drops && !log->live)
			spw_log_await_ahead(t, log);
		if (drops && is_over(log))
			spw_log_begin_life(log);
		log->dropped = false;
		spw_log_fill_head(log, &heads[b.n]);
		b.logs[b.n++] = log;
		if (b.n == SPW_RING_DEPTH)
			write_heads(t, &b, heads, drops);
	}
	write_heads(t, &b, heads, drops);
}

/* Seals: fdatasync, then a head with the mark. */

static void
end_seal(struct spw_nvme *t, struct spw_log *log)
{
	free(log->seal_head);
	log->seal_head = NULL;
	log->busy--;
	t->sealing--;
}

void
spw_log_seal(struct spw_nvme *t, struct spw_log *log)
{
	if (log->putting || !log->written || log->torn || log->err ||
	    log->seal_head)
		return;
	log->seal_head = aligned_alloc(SPW_LOG_BLOCK, SPW_LOG_BLOCK);
	if (!log->seal_head)
		return;
	log->seal = (struct spw_io) {
		.kind = SPW_IO_FDATASYNC,
		.fd = log->fd,
		.user = log,
	};
	log->seal_n = log->n;
	if (log->fd < 0 || spw_ring_submit(t->ring, &log->seal) < 0) {
		free(log->seal_head);
		log->seal_head = NULL;	/* the next sync does it */
		return;
	}
	log->written = false;
	log->busy++;
	t->sealing++;
}

/* False: the next sync does it. */
static bool
seal_by_head(struct spw_nvme *t, struct spw_log *log)
{
	spw_log_fill_head(log, log->seal_head);
	log->seal = (struct spw_io) {
		.kind = SPW_IO_WRITE,
		.fd = log->fd,
		.buf = log->seal_head,
		.len = sizeof(*log->seal_head),
		.off = log->turn % 2 * SPW_LOG_BLOCK,
		.user = log,
	};
	if (spw_ring_submit(t->ring, &log->seal) == 0)
		return true;
	head_failed(log);
	return false;
}

void
spw_log_seal_ended(struct spw_nvme *t, struct spw_log *log)
{
	if (log->seal.kind == SPW_IO_FDATASYNC) {
		flushed(log, log->end, log->seal_n, log->seal.err);
		if (!log->err && wants_head(t, log, false) &&
		    seal_by_head(t, log))
			return;
	} else if (log->seal.err) {
		head_failed(log);
	}
	end_seal(t, log);
}

/* The mark of the file that is being filled may be far below what was synced,
 * and what is blank above it is not missed. */
static void
mark_synced(struct spw_nvme *t)
{
	struct spw_log *log = t->current;

	if (!log || log->mark == log->marked || log->head_loose || log->err ||
	    log->dropped || log->seal_head || log->fd < 0 ||
	    spw_now_ms() - t->synced_ms < MARK_AFTER_MS)
		return;
	log->seal_head = aligned_alloc(SPW_LOG_BLOCK, SPW_LOG_BLOCK);
	if (!log->seal_head)
		return;
	log->busy++;
	t->sealing++;
	if (!seal_by_head(t, log))
		end_seal(t, log);
}

void
spw_nvme_rest(struct spw_tier *tier)
{
	mark_synced((struct spw_nvme *)tier);
	spw_nvme_look_ahead((struct spw_nvme *)tier);
}

/* What remains. */

static unsigned
count(const struct spw_nvme *t, bool free_ones)
{
	unsigned n = 0;
	uint32_t i;

	for (i = 0; i < t->nlogs; i++)
		n += t->logs[i] && (!free_ones || spw_log_is_free(t->logs[i]));
	return n;
}

static bool
is_spare(const struct spw_nvme *t, const struct spw_log *log)
{
	return log && spw_log_is_free(log) && log != t->current;
}

static void
shrink(struct spw_nvme *t)
{
	unsigned all = count(t, false), spare = count(t, true), i;
	unsigned first = t->nlogs;

	for (i = t->nlogs; i-- && spare > FREE_KEPT + all / 8; )
		if (is_spare(t, t->logs[i])) {
			spw_log_strike(t, t->logs[i]);
			first = i;
			spare--;
		}
	for (i = t->nlogs; i-- > first; )	/* the disk is waited for once */
		if (is_spare(t, t->logs[i]))
			(void)spw_log_remove(t, t->logs[i]);
}

/* Files that failed and have nothing alive go, as a whole. */
static int
settle(struct spw_nvme *t)
{
	struct spw_log *log, *next;
	int err = 0, r = 0;

	for (log = t->to_sync; log; log = next) {
		next = log->next;
		if (!log->err)
			continue;
		r = log->err;
		if (is_over(log)) {
			t->names = true;
			r = spw_log_remove(t, log);
		}
		if (!err)
			err = r;
	}
	return err;
}

static void
forget_synced(struct spw_nvme *t)
{
	struct spw_log *log = t->to_sync, *next;

	t->to_sync = NULL;
	for (; log; log = next) {
		next = log->next;
		log->listed = false;
		if (log->err || log->written || log->dropped ||
		    log->mark > log->marked)
			spw_log_list(t, log);
	}
}

static int
sync_names(struct spw_nvme *t)
{
	int r;

	if (!t->names)
		return 0;
	r = spw_share_sync(&t->share);
	if (r < 0)
		return r;
	t->names = false;
	SPW_FAILPOINT("nvme-names");
	spw_roll_confirm(t->roll);
	spw_roll_sync(t->roll);
	return 0;
}

/* Drops wait until every put before them is safe. */
int
spw_nvme_sync(struct spw_tier *tier)
{
	struct spw_nvme *t = (struct spw_nvme *)tier;
	struct spw_log_head *heads;
	size_t room;
	int r;

	if (t->share.look_only)
		return -EROFS;
	spw_nvme_write(t);
	settle_puts(t);
	heads = spw_ring_buffer(t->ring, &room);
	if (!heads)
		return -ENOMEM;
	flush_puts(t);
	SPW_FAILPOINT("nvme-flushed");
	r = settle(t);
	if (r == 0)
		r = sync_names(t);
	if (r == 0) {
		each_head(t, heads, true);
		SPW_FAILPOINT("nvme-dropped");
		r = settle(t);
	}
	if (r == 0) {
		t->noted = 0;
		t->synced_ms = spw_now_ms();
		each_head(t, heads, false);
		forget_synced(t);
		shrink(t);
	}
	spw_ring_give(t->ring, heads);
	return r < 0 ? r : sync_names(t);
}
