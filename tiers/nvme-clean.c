/* SPDX-License-Identifier: BSD-3-Clause */
/* nvme-clean.c -- moves what is alive out of files that are mostly dead */

#include <errno.h>

#include "shm/failpoint.h"
#include "shm/sys.h"
#include "shm/util.h"
#include "tiers/nvme.h"

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

/* As it lies in the file, with the number of its old life in it. */
static int
fetch(struct spw_nvme *t, struct spw_log *log, const struct spw_log_object *o,
      void *buf)
{
	struct spw_io io = {
		.kind = SPW_IO_READ,
		.fd = spw_log_fd(t, log),
		.buf = buf,
		.len = spw_round_up(o->len, SPW_LOG_BLOCK),
		.off = (uint64_t)o->block * SPW_LOG_BLOCK,
	};

	if (io.fd < 0)
		return io.fd;
	spw_nvme_do(t, &io, 1);
	spw_log_disguise(log, buf, 0, o->len);
	return io.err;
}

static int
move(struct spw_nvme *t, struct spw_log *log, uint32_t i, void *buf,
     uint64_t *ret_to)
{
	struct spw_log_object o = log->objects[i];
	struct spw_io io = { .kind = SPW_IO_WRITE };
	uint64_t need = spw_round_up(o.len, SPW_LOG_BLOCK), at;
	struct spw_log *to;
	int r = fetch(t, log, &o, buf);

	if (r == 0)
		r = spw_nvme_room(t, need, true, &to);
	if (r < 0)
		return r;
	io.fd = spw_log_prepare(t, to, need);
	if (io.fd < 0)
		return io.fd;
	at = to->end;
	r = spw_log_add(to, at, o.len, SPW_LOG_LIVE);
	if (r < 0)
		return r;
	to->end += need;
	spw_log_disguise(to, buf, 0, o.len);
	io.buf = buf;
	io.len = need;
	io.off = at;
	spw_nvme_do(t, &io, 1);
	to->written = true;
	spw_log_list(t, to);
	if (io.err) {
		(void)spw_nvme_drop(&t->tier, spw_nvme_place(to, at));
		return io.err;
	}
	*ret_to = spw_nvme_place(to, at);
	return 0;
}

static int
empty(struct spw_nvme *t, struct spw_log *log, void *buf,
      void (*moved)(void *arg, uint64_t from, uint64_t to), void *arg)
{
	uint64_t from, to = 0;
	uint32_t i;
	int r = 0;

	for (i = 0; i < log->n && r == 0; i++) {
		if (log->objects[i].state != SPW_LOG_LIVE)
			continue;
		from = spw_nvme_place(log, (uint64_t)log->objects[i].block *
				      SPW_LOG_BLOCK);
		r = move(t, log, i, buf, &to);
		SPW_FAILPOINT("nvme-copied");
		if (r == 0) {
			moved(arg, from, to);
			(void)spw_nvme_drop(&t->tier, from);
		}
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
	while ((uint64_t)gained < bytes && r == 0) {
		struct spw_log *log = choose(t);
		uint64_t size, live;
		void *buf;

		if (!log)
			break;
		size = spw_round_up(longest(log), SPW_LOG_BLOCK);
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
