/* SPDX-License-Identifier: BSD-3-Clause */
/* nvme-clean.c -- moves what is alive out of files that are mostly dead */

#include <errno.h>
#include <string.h>

#include "shm/failpoint.h"
#include "shm/sys.h"
#include "shm/util.h"
#include "tiers/nvme.h"

enum {
	TOGETHER = 256 << 10,		/* bytes that are moved at once, and */
	TOGETHER_MOST = 64,		/* objects */
};

/* Below this, moving costs more than it gains: a sixteenth of a file. What no
 * object fitted into at its end is not gained: elsewhere they leave as much.
 */
static bool
is_worthwhile(const struct spw_nvme *t, const struct spw_log *log)
{
	uint64_t dead = log->end - SPW_MIN(log->end, SPW_LOG_HEAD + log->live);

	return log != t->current && !log->busy && !log->err &&
	       !log->damaged && log->live && !spw_log_is_free(log) &&
	       dead > log->size / 16;
}

static struct spw_log *
choose(const struct spw_nvme *t)
{
	struct spw_log *best = NULL;
	uint32_t i;

	for (i = 0; i < t->nlogs; i++)
		if (t->logs[i] && is_worthwhile(t, t->logs[i]) &&
		    (!best || t->logs[i]->live < best->live))
			best = t->logs[i];
	return best;
}

static uint32_t
longest(const struct spw_log *log)
{
	uint32_t len = 0, i;

	for (i = 0; i < log->n; i++)
		if (log->objects[i].state == SPW_LOG_LIVE)
			len = SPW_MAX(len, log->objects[i].len);
	return len;
}

/* Objects that are moved together: of one file, and written to another as they
 * lie in the buffer. */
struct moving {
	struct spw_log *to;
	uint8_t *buf;
	size_t len;
	unsigned n;
	struct {
		uint64_t from, at;	/* in their files */
		uint32_t len;
	} o[TOGETHER_MOST];
};

/* Room for what is read behind them. */
static uint64_t
buffer_size(const struct spw_log *log)
{
	return TOGETHER + SPW_LOG_BLOCK +
	       spw_round_up(longest(log) + SPW_LOG_BLOCK, SPW_LOG_BLOCK);
}

/* The blocks it lies in are read to behind those that are there; then it takes
 * its place among them. */
static int
fetch(struct spw_nvme *t, struct spw_log *log, const struct spw_log_object *o,
      struct moving *m)
{
	uint8_t *to = m->buf + m->len;
	uint64_t from = o->at - o->at % SPW_LOG_BLOCK;
	uint64_t n = spw_log_extent(m->to, o->len);
	struct spw_io io = {
		.kind = SPW_IO_READ,
		.fd = spw_log_fd(t, log),
		.buf = m->buf + spw_round_up(m->len, SPW_LOG_BLOCK),
		.len = spw_round_up(o->at + o->len, SPW_LOG_BLOCK) - from,
		.off = from,
	};

	if (io.fd < 0)
		return io.fd;
	spw_nvme_do(t, &io, 1);
	if (io.err)
		return io.err;
	memmove(to, (uint8_t *)io.buf + (o->at - from), o->len);
	memset(to + o->len, 0, n - o->len);
	spw_log_disguise(log, to, 0, o->len);
	spw_log_disguise(m->to, to, 0, o->len);
	m->o[m->n].from = o->at;
	m->o[m->n].len = o->len;
	m->o[m->n++].at = m->to->end + m->len;
	m->len += n;
	return 0;
}

static bool
fits(const struct moving *m, uint32_t len)
{
	uint64_t n = m->len + spw_log_extent(m->to, len);

	return m->n < TOGETHER_MOST && n <= TOGETHER &&
	       n <= m->to->size - m->to->end;
}

/* Some that are alive, from *i on. */
static int
gather(struct spw_nvme *t, struct spw_log *log, uint32_t *i, struct moving *m)
{
	int r = 0;

	m->n = 0;
	m->len = 0;
	for (; *i < log->n && r == 0; ++*i) {
		const struct spw_log_object *o = &log->objects[*i];

		if (o->state != SPW_LOG_LIVE)
			continue;
		if (m->n && !fits(m, o->len))
			break;
		if (!m->n)
			r = spw_nvme_room(t, spw_round_up(o->len,
							  SPW_LOG_BLOCK),
					  true, &m->to);
		if (r == 0)
			r = fetch(t, log, o, m);
	}
	return r;
}

/* They are at the end of the file then; not those from *ret_n on. */
static int
write_out(struct spw_nvme *t, struct moving *m, unsigned *ret_n)
{
	size_t n = spw_round_up(m->len, SPW_LOG_BLOCK);
	struct spw_log *to = m->to;
	struct spw_io io = {
		.kind = SPW_IO_WRITE,
		.fd = spw_log_prepare(t, to, n),
		.buf = m->buf,
		.len = n,
		.off = to->end,
	};
	unsigned i;

	*ret_n = 0;
	if (io.fd < 0)
		return io.fd;
	memset(m->buf + m->len, 0, n - m->len);
	spw_nvme_do(t, &io, 1);
	to->end += m->len;
	spw_log_end_round(to);
	to->written = true;
	spw_log_list(t, to);
	for (i = 0; i < m->n && !io.err; i++)
		io.err = spw_log_add(to, m->o[i].at, m->o[i].len,
				     SPW_LOG_LIVE);
	*ret_n = io.err && i ? i - 1 : i;
	if (io.err) {
		uint64_t from = m->o[*ret_n].at;

		spw_nvme_note_failed(t, to, from, to->end - from);
		spw_log_bury(to, from, to->end);
	}
	return io.err;
}

static int
move(struct spw_nvme *t, struct spw_log *log, struct moving *m,
     void (*moved)(void *arg, uint64_t from, uint64_t to), void *arg)
{
	unsigned n, i;
	int r = write_out(t, m, &n);

	for (i = 0; i < n; i++) {
		uint64_t from = spw_nvme_place(log, m->o[i].from);

		SPW_FAILPOINT("nvme-copied");
		moved(arg, from, spw_nvme_place(m->to, m->o[i].at));
		(void)spw_nvme_drop(&t->tier, from);
	}
	return r;
}

static int
empty(struct spw_nvme *t, struct spw_log *log, uint8_t *buf,
      void (*moved)(void *arg, uint64_t from, uint64_t to), void *arg)
{
	struct moving m = { .buf = buf };
	uint32_t i = 0;
	int r = 0, err;

	while (i < log->n && r == 0) {
		r = gather(t, log, &i, &m);
		err = m.n ? move(t, log, &m, moved, arg) : 0;
		r = r < 0 ? r : err;
	}
	return r;
}

int64_t
spw_nvme_clean(struct spw_tier *tier, uint64_t bytes,
	       void (*moved)(void *arg, uint64_t from, uint64_t to), void *arg)
{
	struct spw_nvme *t = (struct spw_nvme *)tier;
	int64_t gained = 0;
	int r = 0;

	if (t->share.look_only)
		return -EROFS;
	spw_nvme_send(t);
	while ((uint64_t)gained < bytes && r == 0) {
		struct spw_log *log = choose(t);
		uint64_t size, live;
		void *buf;

		if (!log)
			break;
		size = buffer_size(log);
		live = log->live;
		buf = spw_sys_mmap(NULL, size, PROT_READ | PROT_WRITE,
				   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (buf == MAP_FAILED)
			return -ENOMEM;
		t->victim = log;
		r = empty(t, log, buf, moved, arg);
		t->victim = NULL;
		if (r == 0)
			gained += (int64_t)(log->size - live);
		SPW_FAILPOINT("nvme-emptied");
		spw_sys_munmap(buf, size);
		if (r == 0)
			r = spw_nvme_sync(tier);
	}
	if (r == -ENOSPC)
		r = 0;
	return r < 0 ? r : gained;
}
