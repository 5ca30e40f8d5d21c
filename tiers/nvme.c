/* SPDX-License-Identifier: BSD-3-Clause */
/* nvme.c -- the tier on a local disk: opening, putting, reading, dropping */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shm/failpoint.h"
#include "shm/sys.h"
#include "shm/util.h"
#include "tiers/nvme.h"

enum {
	SHARE_OF_FILE = 16,		/* of the capacity, in one file */
	FILE_MIN = 1 << 20,
};

static struct spw_nvme *
of(struct spw_tier *tier)
{
	return (struct spw_nvme *)tier;
}

/* Transfers. */

static void
give_over(struct spw_nvme *t, struct spw_transfer *x)
{
	x->next = NULL;
	if (t->over)
		t->last_over->next = x;
	else
		t->over = x;
	t->last_over = x;
}

static void
end_put(struct spw_nvme *t, struct spw_nvme_slot *slot)
{
	struct spw_log_object *o = spw_log_find(slot->log, slot->offset);
	uint64_t n = spw_log_extent(slot->log, slot->x->len);

	spw_log_disguise(slot->log, slot->x->buf, 0, slot->x->len);
	slot->log->putting--;
	spw_log_list(t, slot->log);
	if (slot->x->err) {
		o->state = SPW_LOG_GONE;
		spw_nvme_note_failed(t, slot->log, slot->offset, n);
		spw_log_bury(slot->log, slot->offset, slot->offset + n);
		return;
	}
	o->state = SPW_LOG_LIVE;
	slot->log->live += n;
	slot->log->bytes += slot->x->len;
	slot->log->written = true;
	if (slot->log != t->current)
		spw_log_seal(t, slot->log);
}

static void
end_read(struct spw_nvme_slot *slot)
{
	struct spw_transfer *x = slot->x;

	if (x->err == -ENODATA)		/* somebody made the file shorter */
		x->err = -EIO;
	if (x->err)
		return;
	if (slot->bounce)
		memcpy(x->buf, slot->bounce + (slot->offset + x->at) %
		       SPW_LOG_BLOCK, x->len);
	spw_log_disguise(slot->log, x->buf, x->at, x->len);
}

static void
unmap_bounce(struct spw_nvme_slot *slot)
{
	if (slot->bounce)
		spw_sys_munmap(slot->bounce, slot->bounced);
	slot->bounce = NULL;
}

void
spw_nvme_end_transfer(struct spw_nvme *t, struct spw_nvme_slot *slot)
{
	struct spw_transfer *x = slot->x;

	x->err = slot->io.err;
	if (x->up)
		end_read(slot);
	else
		end_put(t, slot);
	slot->log->busy--;
	unmap_bounce(slot);
	slot->taken = false;
	t->under_way--;
	give_over(t, x);
}

void
spw_nvme_ended(struct spw_nvme *t, struct spw_io *io)
{
	uintptr_t at = (uintptr_t)io, slots = (uintptr_t)t->slots;
	uintptr_t rounds = (uintptr_t)t->rounds;

	if (at >= slots && at - slots < sizeof(t->slots))
		spw_nvme_end_transfer(t, io->user);
	else if (at >= rounds && at - rounds < sizeof(t->rounds))
		spw_nvme_round_ended(t, io->user);
	else if (io == &((struct spw_log *)io->user)->ahead)
		spw_log_ahead_ended(t, io->user);
	else
		spw_log_seal_ended(t, io->user);
}

static struct spw_nvme_slot *
take_slot(struct spw_nvme *t)
{
	unsigned i;

	for (i = 0; i < SPW_NVME_DEPTH; i++)
		if (!t->slots[i].taken)
			return &t->slots[i];
	return NULL;
}

static int
start(struct spw_nvme *t, struct spw_nvme_slot *slot, struct spw_log *log,
      struct spw_transfer *x)
{
	int r = 0;

	slot->x = x;
	slot->log = log;
	slot->io.user = slot;
	if (x->up || !spw_nvme_is_small(slot->io.len))
		r = spw_ring_submit(t->ring, &slot->io);
	else
		spw_nvme_join(t, slot);
	if (r < 0)
		return r;
	slot->taken = true;
	log->busy++;
	t->under_way++;
	return 0;
}

/* A part that begins inside a block comes by way of memory of our own. */
static int
map_bounce(struct spw_nvme_slot *slot, size_t n)
{
	void *p = spw_sys_mmap(NULL, n, PROT_READ | PROT_WRITE,
			       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		return -ENOMEM;
	(void)spw_sys_madvise(p, n, MADV_DONTFORK);
	slot->bounce = p;
	slot->bounced = n;
	return 0;
}

static struct spw_log *
log_of(struct spw_nvme *t, uint64_t place)
{
	return place >> 32 < t->nlogs ? t->logs[place >> 32] : NULL;
}

static int
submit_read(struct spw_nvme *t, struct spw_transfer *x)
{
	struct spw_nvme_slot *slot = take_slot(t);
	struct spw_log *log = log_of(t, x->place);
	uint64_t offset = x->place & UINT32_MAX;
	const struct spw_log_object *o;
	uint64_t from, begin = offset + x->at, to;
	int fd, r = 0;

	o = log ? spw_log_find(log, offset) : NULL;
	if (!o || o->state != SPW_LOG_LIVE)
		return -ENOENT;
	if (!x->len || x->at >= o->len || x->len > o->len - x->at)
		return -EINVAL;
	from = begin - begin % SPW_LOG_BLOCK;
	to = spw_round_up(begin + x->len, SPW_LOG_BLOCK);
	fd = slot ? spw_log_fd(t, log) : -EAGAIN;
	if (fd < 0)
		return fd;
	if (from != begin)
		r = map_bounce(slot, to - from);
	if (r < 0)
		return r;
	slot->offset = offset;
	slot->io = (struct spw_io) {
		.kind = SPW_IO_READ,
		.fd = fd,
		.buf = slot->bounce ? slot->bounce : x->buf,
		.len = to - from,
		.off = from,
	};
	r = start(t, slot, log, x);
	if (r < 0)
		unmap_bounce(slot);
	return r;
}

/* What lies between the objects of a file that we go on with was never
 * whole: nobody is to look there again. */
static void
bury_gaps(struct spw_log *log)
{
	uint64_t at = log->mark;
	uint32_t i;

	for (i = 0; i < log->n; i++) {
		const struct spw_log_object *o = &log->objects[i];

		if (o->at > at)
			spw_log_bury(log, at, o->at);
		if (o->at >= at)
			at = o->at + spw_log_extent(log, o->len);
	}
	spw_log_bury(log, at, log->end);
	log->torn = false;
}

int
spw_log_prepare(struct spw_nvme *t, struct spw_log *log, uint64_t need)
{
	int fd = spw_log_fd(t, log);

	if (log->end + need > log->ahead.off)
		spw_log_await_ahead(t, log);
	if (fd >= 0 && log->torn)
		bury_gaps(log);
	return fd;
}

static int
submit_put(struct spw_nvme *t, struct spw_transfer *x)
{
	struct spw_nvme_slot *slot = take_slot(t);
	uint64_t need = spw_round_up(x->len, SPW_LOG_BLOCK);
	bool small = spw_nvme_is_small(need);
	struct spw_log *log;
	int fd, r;

	if (!slot)
		return -EAGAIN;
	if (x->len < sizeof(log->life) || need > SPW_LOG_SIZE - SPW_LOG_HEAD)
		return -EINVAL;
	if (!small)
		spw_nvme_send(t);
	r = spw_nvme_room(t, need, false, &log);
	if (r == 0 && small)
		r = spw_nvme_begin_join(t, log, need);
	if (r < 0)
		return r;
	fd = spw_log_prepare(t, log, need);
	if (fd < 0)
		return fd;
	r = spw_log_add(log, log->end, x->len, SPW_LOG_PUTTING);
	if (r < 0)
		return r;
	spw_log_disguise(log, x->buf, 0, x->len);
	slot->offset = log->end;
	slot->io = (struct spw_io) {
		.kind = SPW_IO_WRITE,
		.fd = fd,
		.buf = x->buf,
		.len = need,
		.off = log->end,
	};
	r = start(t, slot, log, x);
	if (r < 0) {
		spw_log_disguise(log, x->buf, 0, x->len);
		log->n--;
		return r;
	}
	SPW_FAILPOINT("nvme-begun");
	x->place = spw_nvme_place(log, log->end);
	log->putting++;
	log->end += spw_log_extent(log, x->len);
	if (!small)
		spw_log_end_round(log);
	return 0;
}

static int
submit(struct spw_tier *tier, struct spw_transfer *x)
{
	struct spw_nvme *t = of(tier);

	if (x->up)
		return submit_read(t, x);
	return t->share.look_only ? -EROFS : submit_put(t, x);
}

static struct spw_transfer *
reap(struct spw_tier *tier, bool wait)
{
	struct spw_nvme *t = of(tier);
	struct spw_transfer *x;
	struct spw_io *io;

	spw_nvme_send(t);
	while (!t->over && (io = wait && t->under_way
				 ? spw_ring_wait(t->ring)
				 : spw_ring_reap(t->ring, false)))
		spw_nvme_ended(t, io);
	x = t->over;
	if (x)
		t->over = x->next;
	return x;
}

static void
call(struct spw_tier *tier)
{
	spw_ring_call(of(tier)->ring);
}

/* Notes it for who comes after us, and in the file for good. */
static int
bury(struct spw_nvme *t, struct spw_log *log, uint64_t offset, uint64_t n)
{
	int r = spw_nvme_note_drop(t, log, offset, n);

	if (r == -ENOBUFS) {
		r = spw_nvme_sync(&t->tier);
		if (r == 0)
			r = spw_nvme_note_drop(t, log, offset, n);
	}
	if (r < 0)
		return r;
	spw_log_bury(log, offset, offset + n);
	spw_log_list(t, log);
	return 0;
}

/* Not among the objects: it is damaged, or nothing is there. A file without
 * a head goes as a whole. */
static int
drop_damaged(struct spw_nvme *t, struct spw_log *log, uint64_t offset)
{
	uint64_t len;
	int r;

	if (log->headless) {
		t->names = true;
		return spw_log_remove(t, log);
	}
	r = spw_log_measure(t, log, offset, &len);
	return r < 0 ? r : bury(t, log, offset, len);
}

int
spw_nvme_drop(struct spw_tier *tier, uint64_t place)
{
	struct spw_nvme *t = of(tier);
	struct spw_log *log = log_of(t, place);
	uint64_t offset = place & UINT32_MAX;
	struct spw_log_object *o = log ? spw_log_find(log, offset) : NULL;
	uint64_t n;
	int r;

	if (t->share.look_only)
		return -EROFS;
	if (!log && spw_roll_strike(t->roll, place)) {
		t->names = true;	/* for the roll */
		return 0;
	}
	if (log && !o)
		return drop_damaged(t, log, offset);
	if (!o || o->state != SPW_LOG_LIVE)
		return -ENOENT;
	n = spw_log_extent(log, o->len);
	r = bury(t, log, offset, n);
	if (r < 0)
		return r;
	o->state = SPW_LOG_GONE;
	log->live -= n;
	log->bytes -= o->len;
	return 0;
}

static void
where(const struct spw_tier *tier, uint64_t place, char *buf, size_t size)
{
	const struct spw_nvme *t = (const struct spw_nvme *)tier;
	char name[SPW_LOG_NAME];

	spw_log_name((uint32_t)(place >> 32), name);
	(void)snprintf(buf, size, "%s/%s:%u", t->share.path, name,
		       (unsigned)place);
}

/* Opening and closing. */

static int
load_one(void *arg, const char *name)
{
	struct spw_nvme *t = arg;
	uint32_t no;
	int r;

	if (!spw_log_number(name, &no))
		return 0;
	r = spw_log_load(t, no);
	/* Who looks for what is left finds the rest all the same. */
	if (r == -EPERM && t->keeps)
		r = spw_log_load_strange(t, no);
	return r == -ENOENT ? 0 : r;	/* its owner lives */
}

static int
remove_one(void *arg, const char *name)
{
	struct spw_nvme *t = arg;
	uint32_t no;

	if (!spw_log_number(name, &no) && !spw_log_is_fresh(name) &&
	    !spw_nvme_is_drops(name) && !spw_roll_is("nvme", name))
		return 0;
	return spw_share_unlink(&t->share, name);
}

/* What was being made by one who died. */
static int
sweep_one(void *arg, const char *name)
{
	struct spw_nvme *t = arg;
	int r = spw_log_is_fresh(name) ? spw_share_unlink(&t->share, name) : 0;

	return r == -ENOENT ? 0 : r;
}

static int
scan(struct spw_nvme *t, struct spw_log *log,
     const struct spw_tier_setup *setup)
{
	if (setup->sign)
		setup->sign(setup->arg);
	return spw_log_scan(t, log);
}

static void
call_roll(struct spw_nvme *t)
{
	uint32_t i;

	for (i = 0; i < t->nlogs; i++)
		if (t->logs[i] && !spw_roll_has(t->roll,
					spw_nvme_place(t->logs[i], 0))) {
			spw_roll_expect(t->roll,
					spw_nvme_place(t->logs[i], 0));
			t->names = true;
		}
}

static int
load_all(struct spw_nvme *t, const struct spw_tier_setup *setup)
{
	uint32_t i;
	int r = 0;

	if (t->share.gone && t->share.look_only)
		return 0;
	if (t->share.gone)
		r = spw_share_clear(&t->share, "nvme", remove_one, t);
	if (r == 0 && !t->share.look_only && !t->share.unlocked)
		r = spw_share_each(&t->share, sweep_one, t);
	if (r == 0)
		r = spw_share_each(&t->share, load_one, t);
	if (r == 0)
		r = spw_roll_open(&t->share, "nvme", spw_log_name_at,
				  &t->roll);
	if (r == 0)
		r = spw_nvme_read_drops(t);
	call_roll(t);
	for (i = 0; i < t->nlogs && r == 0; i++)
		if (t->logs[i])
			r = scan(t, t->logs[i], setup);
	return r;
}

static void
set_sizes(struct spw_nvme *t, uint64_t capacity)
{
	uint64_t size = capacity / SHARE_OF_FILE;

	t->capacity = capacity;
	size -= size % SPW_LOG_BLOCK;
	t->log_size = SPW_MIN(SPW_MAX(size, (uint64_t)FILE_MIN),
			      (uint64_t)SPW_LOG_SIZE);
	t->total = SPW_SHARE_DIRS + SPW_NVME_DROPS +
		   spw_round_up(capacity / t->log_size * SPW_ROLL_RECORD + 1,
				SPW_LOG_BLOCK);
	t->reserve = size >= FILE_MIN ? t->log_size : 0;
}

static void
release(struct spw_nvme *t)
{
	uint32_t i;

	for (i = 0; i < t->nlogs; i++)
		spw_log_free(t, t->logs[i]);
	free(t->logs);
	spw_roll_close(t->roll);
	if (t->drops >= 0)
		spw_sys_close(t->drops);
	spw_ring_free(t->ring);
	spw_nvme_free_rounds(t);
	spw_share_close(&t->share);
	free(t);
}

static int
open_tier(const struct spw_tier_setup *setup, struct spw_tier **ret_tier)
{
	struct spw_nvme *t = calloc(1, sizeof(*t));
	int r;

	if (!t)
		return -ENOMEM;
	t->tier.ops = &spw_tier_nvme;
	t->direct = !setup->io || strcmp(setup->io, "buffered");
	t->measured = setup->io && strcmp(setup->io, "auto");
	t->drops = -1;
	t->keeps = !setup->create;
	set_sizes(t, setup->capacity);
	r = spw_share_open(setup, "nvme", &t->share);
	if (r < 0) {
		free(t);
		return r;
	}
	spw_share_introduce(&t->share, &t->tier);
	r = spw_ring_new(false, &t->ring);
	if (r == 0)
		r = load_all(t, setup);
	if (r < 0) {
		release(t);
		return r;
	}
	*ret_tier = &t->tier;
	return 0;
}

static int
close_tier(struct spw_tier *tier, bool discarded)
{
	struct spw_nvme *t = of(tier);
	int r = 0;

	spw_nvme_settle(t);
	if (discarded) {
		r = spw_share_discard(&t->share, "nvme", remove_one, t);
	} else if (!t->share.look_only) {
		t->closing = true;
		r = spw_nvme_sync(tier);
	}
	release(t);
	return r;
}

static int
sync_tier(struct spw_tier *tier)
{
	struct spw_nvme *t = (struct spw_nvme *)tier;
	int r = spw_nvme_sync(tier);

	return r < 0 ? r : spw_share_find(&t->share, "nvme");
}

const struct spw_tier_ops spw_tier_nvme = {
	.kind = "nvme",
	.files = "nvme-*",
	.durable = true,
	.open = open_tier,
	.submit = submit,
	.reap = reap,
	.call = call,
	.sync = sync_tier,
	.sync_waits = true,
	.rest = spw_nvme_rest,
	.drop = spw_nvme_drop,
	.clean = spw_nvme_clean,
	.list = spw_nvme_list,
	.where = where,
	.space = spw_nvme_space,
	.close = close_tier,
};
