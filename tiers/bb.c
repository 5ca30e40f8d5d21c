/* SPDX-License-Identifier: BSD-3-Clause */
/* bb.c -- tier bb: one file per object, in a directory that nodes share */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "shm/failpoint.h"
#include "shm/sys.h"
#include "tiers/crew.h"
#include "tiers/object-layout.h"
#include "tiers/roll.h"

/*
 *	<share>/EEEEEEEE-CCCCCCCC.new		being written
 *	<share>/EEEEEEEE-CCCCCCCC.object	whole
 *
 * E is drawn at random whenever the share is opened, C counts from 1; both
 * together are the place. So a name is used once, also where the file system
 * has no locks and two drainers meet by mistake: then neither replaces what
 * the other has published.
 *
 * put	creates .new, writes, renames. Helpers do this, several at a time: on
 *	a parallel file system each step is a journey.
 * sync	makes the files durable that were put since the last one, then the
 *	directory. Their descriptors are kept open until then, since an error
 *	of write-back is told to those who had the file open. Beyond HELD of
 *	them a put waits for the disk by itself.
 * drop	removes the name at once if no sync has seen it. If one has, it is in
 *	the roll (roll.h), and the name goes with the next sync, when the disk
 *	knows that it is to go: else it would be missed after a loss of power.
 *	The bytes count as used until then.
 *
 * The roll is written after each sync, and synced beside the files when there
 * are drops, or once a second: what was put in the last second before a loss of
 * power is not missed.
 *
 * After a failed fsync nobody knows what of a file is on the disk, and the
 * kernel will not say it again. We do: sync fails until the object is dropped.
 *
 * What a killed drainer left as .new is removed when the share is opened next,
 * under the lock. Without locks it stays, and counts, until the share goes.
 */
enum {
	DEPTH = 16,			/* transfers under way */
	HELD = 64,			/* files open until the next sync */
	NAME = 32,
};

static const char whole[] = ".object", fresh[] = ".new";

struct held {				/* put, not yet durable */
	struct spw_job job;
	uint64_t place;
	int fd, err;
};

struct task {				/* a transfer under way */
	struct spw_job job;
	struct bb *t;
	struct spw_transfer *x;
	bool busy;
	bool hold;			/* leave fd open for sync */
	int fd;
};

struct bb {
	struct spw_tier tier;
	struct spw_share share;
	struct spw_roll *roll;
	struct spw_job call;		/* syncs it */
	struct spw_crew *crew;
	struct spw_tier_space space;
	uint64_t dropped;		/* bytes, until sync */
	uint64_t last;			/* place given last */
	bool names_changed;		/* since the last sync */
	bool inherited;			/* there were objects when it was
					 * opened: who knows if synced */
	int lost;			/* they cannot be: until it is closed */
	unsigned nholding;		/* tasks that will be held */
	unsigned nheld;
	struct held held[HELD];
	struct task task[DEPTH];
};

static void
name_of(uint64_t place, const char *suffix, char ret_name[NAME])
{
	(void)snprintf(ret_name, NAME, "%08x-%08x%s",
		       (unsigned)(place >> 32), (unsigned)place, suffix);
}

static void
name_whole(uint64_t place, char ret_name[NAME])
{
	name_of(place, whole, ret_name);
}

static bool
place_of(const char *name, const char *suffix, uint64_t *ret_place)
{
	unsigned epoch, count;
	char again[NAME];

	if (sscanf(name, "%8x-%8x", &epoch, &count) != 2)
		return false;
	*ret_place = (uint64_t)epoch << 32 | count;
	name_of(*ret_place, suffix, again);
	return !strcmp(name, again);
}

/* Opening. */

struct scan {
	struct bb *t;
	bool sweep;			/* remove what was being written */
	bool met;			/* the epoch is taken */
};

static int
count_file(void *arg, const char *name)
{
	struct scan *scan = arg;
	struct bb *t = scan->t;
	bool is_whole;
	uint64_t place;
	struct stat st;
	int r;

	is_whole = place_of(name, whole, &place);
	if (!is_whole && !place_of(name, fresh, &place))
		return 0;
	if (!is_whole && scan->sweep)
		return spw_share_unlink(&t->share, name);
	scan->met |= place >> 32 == t->last >> 32;
	r = spw_sys_fstatat(t->share.dir, name, &st, AT_SYMLINK_NOFOLLOW);
	if (r < 0)
		return r == -ENOENT ? 0 : r;
	t->space.used += (uint64_t)st.st_size;
	if (is_whole && spw_roll_is_left(t->roll, place)) {
		t->dropped += (uint64_t)st.st_size;
	} else if (is_whole) {
		t->space.live += (uint64_t)st.st_size;
		t->inherited = true;
		spw_roll_expect(t->roll, place);
	}
	t->names_changed |= is_whole;
	return 0;
}

static int
remove_file(void *arg, const char *name)
{
	const struct spw_share *share = arg;
	uint64_t place;
	int r;

	if (!place_of(name, whole, &place) && !place_of(name, fresh, &place) &&
	    !spw_roll_is("bb", name))
		return 0;
	r = spw_share_unlink(share, name);
	return r == -ENOENT ? 0 : r;
}

static int
look_through(struct bb *t)
{
	struct scan scan = { .t = t, .met = true };
	uint32_t epoch;
	int r = 0;

	if (t->share.gone && !t->share.look_only)
		r = spw_share_clear(&t->share, "bb", remove_file, &t->share);
	if (r == 0)
		r = spw_roll_open(&t->share, "bb", name_whole, &t->roll);
	scan.sweep = !t->share.look_only && !t->share.unlocked;
	while (r == 0 && scan.met) {
		if (getrandom(&epoch, sizeof(epoch), 0) != sizeof(epoch))
			return -EIO;
		t->last = (uint64_t)epoch << 32;
		t->space.used = t->space.live = t->dropped = 0;
		scan.met = false;
		r = spw_share_each(&t->share, count_file, &scan);
	}
	return r;
}

static int bb_close(struct spw_tier *tier, bool discard);

static int
bb_open(const struct spw_tier_setup *setup, struct spw_tier **ret_tier)
{
	struct bb *t = calloc(1, sizeof(*t));
	int r;

	if (!t)
		return -ENOMEM;
	t->tier.ops = &spw_tier_bb;
	t->space.capacity = setup->capacity;
	r = spw_share_open(setup, "bb", &t->share);
	if (r < 0) {
		free(t);
		return r;
	}
	spw_share_introduce(&t->share, &t->tier);
	r = spw_crew_new(SPW_CREW_HANDS, &t->crew);
	if (r == 0)
		r = look_through(t);
	if (r < 0) {
		(void)bb_close(&t->tier, false);
		return r;
	}
	*ret_tier = &t->tier;
	return 0;
}

/* Putting, in a helper. */

static int
fill(struct task *k, const struct spw_transfer *x)
{
	int r;

	SPW_FAILPOINT("bb-created");
	r = spw_share_write(k->fd, x->buf, x->len, 0);
	SPW_FAILPOINT("bb-written");
	if (r == 0 && !k->hold)
		r = spw_share_fdatasync(k->fd);
	return r;
}

static void
put(struct spw_job *job)
{
	struct task *k = (struct task *)job;
	struct spw_transfer *x = k->x;
	const struct spw_share *share = &k->t->share;
	char from[NAME], to[NAME];

	name_of(x->place, fresh, from);
	name_of(x->place, whole, to);
	k->fd = spw_sys_openat(share->dir, from, O_WRONLY | O_CREAT | O_EXCL |
			       O_NOFOLLOW | O_CLOEXEC, 0600);
	x->err = k->fd < 0 ? k->fd : fill(k, x);
	if (x->err == 0)
		x->err = spw_share_publish(share, from, to);
	SPW_FAILPOINT("bb-published");
	if (k->fd >= 0 && (x->err || !k->hold)) {
		spw_sys_close(k->fd);
		k->fd = -1;
	}
	if (x->err)
		(void)spw_share_unlink(share, from);
}

static void
get(struct spw_job *job)
{
	struct task *k = (struct task *)job;
	struct spw_transfer *x = k->x;
	char name[NAME];
	int fd;

	name_of(x->place, whole, name);
	fd = spw_share_open_file(&k->t->share, name, O_RDONLY);
	if (fd < 0) {
		x->err = fd;
		return;
	}
	x->err = spw_share_read(fd, x->buf, x->len, x->at);
	spw_sys_close(fd);
}

/* Transfers, in the drainer. */

static struct task *
free_task(struct bb *t)
{
	unsigned i;

	for (i = 0; i < DEPTH; i++)
		if (!t->task[i].busy)
			return &t->task[i];
	return NULL;
}

static int
admit(struct bb *t, const struct spw_transfer *x)
{
	if (t->share.look_only)
		return -EROFS;
	if (x->len > t->space.capacity ||
	    t->space.used > t->space.capacity - x->len)
		return -ENOSPC;
	if ((uint32_t)t->last == UINT32_MAX)
		return -EOVERFLOW;
	return 0;
}

static int
bb_submit(struct spw_tier *tier, struct spw_transfer *x)
{
	struct bb *t = (struct bb *)tier;
	struct task *k = free_task(t);
	int r = x->up ? 0 : admit(t, x);

	if (r < 0 || !k)
		return r < 0 ? r : -EAGAIN;
	*k = (struct task){ .job.run = x->up ? get : put, .t = t, .x = x,
			    .fd = -1 };
	k->hold = !x->up && t->nheld + t->nholding < HELD;
	if (!x->up)
		x->place = t->last + 1;
	r = spw_crew_give(t->crew, &k->job);
	if (r < 0)
		return r;
	k->busy = true;
	if (!x->up) {
		t->last++;
		t->nholding += k->hold;
		t->space.used += x->len;
	}
	return 0;
}

/* An object's head has a sum of its own, which no other one has. */
static uint32_t
bind_of(const void *head)
{
	uint32_t crc;

	memcpy(&crc, (const char *)head +
	       offsetof(struct spw_object_head, crc), sizeof(crc));
	return crc;
}

static void
settle_put(struct bb *t, struct task *k)
{
	t->nholding -= k->hold;
	t->names_changed = true;
	if (k->x->err) {
		t->space.used -= k->x->len;
		return;
	}
	t->space.live += k->x->len;
	spw_roll_expect(t->roll, k->x->place);
	if (k->x->len >= sizeof(struct spw_object_head))
		spw_roll_bind(t->roll, k->x->place, bind_of(k->x->buf));
	if (k->hold)
		t->held[t->nheld++] = (struct held){ .place = k->x->place,
						     .fd = k->fd };
}

static struct spw_transfer *
bb_reap(struct spw_tier *tier, bool wait)
{
	struct bb *t = (struct bb *)tier;
	struct task *k = (struct task *)spw_crew_reap(t->crew,
							  wait ? -1 : 0);

	if (!k)
		return NULL;
	if (!k->x->up)
		settle_put(t, k);
	k->busy = false;
	return k->x;
}

/* Durability. */

static void
sync_held(struct spw_job *job)
{
	struct held *h = (struct held *)job;
	struct stat st;

	h->err = spw_share_fdatasync(h->fd);
	if (!h->err && spw_sys_fstat(h->fd, &st) == 0 && st.st_nlink == 0)
		h->err = -EIO;		/* somebody removed it */
}

/* All at once: what they wait for is mostly the same commit. */
static void
sync_all_held(struct bb *t)
{
	unsigned i;

	for (i = 0; i < t->nheld; i++) {
		t->held[i].job = (struct spw_job){ .run = sync_held,
						   .alone = true };
		if (t->held[i].err)
			t->held[i].job.over = true;
		else if (i + 1 == t->nheld ||
			 spw_crew_give(t->crew, &t->held[i].job) < 0) {
			sync_held(&t->held[i].job);
			t->held[i].job.over = true;
		}
	}
	for (i = 0; i < t->nheld; i++)
		spw_crew_wait(t->crew, &t->held[i].job);
}

/* Closes those that are durable, and keeps what went wrong. */
static int
let_go(struct bb *t)
{
	unsigned i, kept = 0;
	int r = 0;

	for (i = 0; i < t->nheld; i++) {
		if (t->held[i].err) {
			r = t->held[i].err;
			t->held[kept++] = t->held[i];
		} else {
			spw_sys_close(t->held[i].fd);
		}
	}
	t->nheld = kept;
	return r;
}

static void
sync_roll(struct spw_job *job)
{
	spw_roll_sync(((struct bb *)((char *)job -
				     offsetof(struct bb, call)))->roll);
}

static void
sync_held_and_roll(struct bb *t)
{
	bool call = spw_roll_left(t->roll) || spw_roll_is_due(t->roll);

	t->call = (struct spw_job){ .run = sync_roll, .alone = true };
	if (call && (!t->nheld || spw_crew_give(t->crew, &t->call) < 0)) {
		sync_roll(&t->call);
		call = false;
	}
	sync_all_held(t);
	if (call)
		spw_crew_wait(t->crew, &t->call);
}

/* The roll knows that it goes. */
static void
remove_left(void *arg, uint64_t place)
{
	const struct bb *t = arg;
	char name[NAME];

	name_of(place, whole, name);
	(void)spw_share_unlink(&t->share, name);	/* gone is fine */
}

static int
sync_file(void *arg, const char *name)
{
	const struct spw_share *share = arg;
	uint64_t place;
	int fd, r;

	if (!place_of(name, whole, &place))
		return 0;
	fd = spw_share_open_file(share, name, O_RDONLY);
	if (fd < 0)			/* dropped just now, or none of ours */
		return fd == -ENOENT || fd == -EPERM ? 0 : fd;
	r = spw_share_fdatasync(fd);
	spw_sys_close(fd);
	return r;
}

static int
bb_sync(struct spw_tier *tier)
{
	struct bb *t = (struct bb *)tier;
	int r;

	if (t->inherited && !t->share.look_only)
		t->lost = spw_share_each(&t->share, sync_file, &t->share);
	t->inherited = false;
	if (t->lost)
		return t->lost;
	sync_held_and_roll(t);
	r = let_go(t);
	if (r == 0)
		spw_roll_part(t->roll, remove_left, t);
	SPW_FAILPOINT("bb-parted");
	if (r == 0 && t->names_changed)
		r = spw_share_sync(&t->share);
	if (r == 0)
		r = spw_share_find(&t->share, "bb");
	if (r < 0)
		return r;
	SPW_FAILPOINT("bb-synced");
	spw_roll_confirm(t->roll);
	t->names_changed = false;
	t->space.used -= t->dropped;
	t->dropped = 0;
	return 0;
}

static void
forget_held(struct bb *t, uint64_t place)
{
	unsigned i;

	for (i = 0; i < t->nheld; i++)
		if (t->held[i].place == place) {
			spw_sys_close(t->held[i].fd);
			t->held[i] = t->held[--t->nheld];
			return;
		}
}

static int
bb_drop(struct spw_tier *tier, uint64_t place)
{
	struct bb *t = (struct bb *)tier;
	char name[NAME];
	struct stat st;
	int r;

	if (t->share.look_only)
		return -EROFS;
	name_of(place, whole, name);
	r = spw_sys_fstatat(t->share.dir, name, &st, AT_SYMLINK_NOFOLLOW);
	if (r == 0 && spw_roll_is_left(t->roll, place))
		return -ENOENT;
	if (r == 0 && !spw_roll_leave(t->roll, place))
		r = spw_share_unlink(&t->share, name);
	if (r == -ENOENT && spw_roll_strike(t->roll, place))
		return 0;		/* it was missing */
	if (r == -ENOENT && !spw_share_is_there(&t->share, "bb"))
		r = -ESTALE;
	if (r < 0)
		return r;
	forget_held(t, place);
	t->names_changed = true;
	t->dropped += (uint64_t)st.st_size;
	t->space.live -= (uint64_t)st.st_size;
	return 0;
}

/* Listing. */

struct listing {
	struct bb *t;
	int (*seen)(void *arg, const struct spw_tier_found *f);
	void *arg;
	struct spw_share_head head;
};

static int
tell(struct listing *l, const char *name, struct spw_tier_found *f, int err)
{
	char where[PATH_MAX + NAME + 4];

	(void)snprintf(where, sizeof(where), "%s/%s:0", l->t->share.path,
		       name);
	f->where = where;
	f->err = err;
	return l->seen(l->arg, f);
}

/* What is at a place is bound to it. */
static bool
is_in_place(const struct bb *t, uint64_t place)
{
	struct spw_object_head head;
	char name[NAME];
	int fd, r;

	name_of(place, whole, name);
	fd = spw_share_open_file(&t->share, name, O_RDONLY);
	if (fd < 0)
		return false;
	r = spw_share_read(fd, &head, sizeof(head), 0);
	spw_sys_close(fd);
	return r == 0 && spw_roll_is_bound(t->roll, place, bind_of(&head));
}

/* Another object has its name: a copy, or one that nobody put here. Not one
 * that changed places, which is whole, and tells itself what it is. */
static bool
is_replaced(const struct bb *t, uint64_t place, uint32_t bind)
{
	uint64_t own;

	return !spw_roll_is_bound(t->roll, place, bind) &&
	       (!spw_roll_place_of(t->roll, bind, &own) ||
		is_in_place(t, own));
}

static int
show(struct listing *l, int fd, const char *name, struct spw_tier_found *f)
{
	struct spw_object o;
	struct stat st;
	int r = spw_sys_fstat(fd, &st);

	if (r < 0)
		return tell(l, name, f, r);
	f->len = (uint64_t)st.st_size;
	r = spw_share_parse(&l->head, fd, 0, f->len, &o);
	if (r == -ENOMEM)
		return r;
	if (r == 0 && is_replaced(l->t, f->place, bind_of(l->head.buf)))
		r = -EBADMSG;
	f->object = r == 0 ? &o : NULL;
	return tell(l, name, f, r == 0 && o.stored == f->len
		    ? 0 : spw_share_fault(r));
}

static int
list_file(void *arg, const char *name)
{
	struct listing *l = arg;
	struct spw_tier_found f = { .err = 0 };
	int fd, r;

	if (!place_of(name, whole, &f.place) ||
	    spw_roll_is_left(l->t->roll, f.place))
		return 0;
	fd = spw_share_open_file(&l->t->share, name, O_RDONLY);
	if (fd == -ENOENT)		/* dropped by its owner just now */
		return 0;
	if (fd < 0)
		return spw_share_is_its_own(fd)
		       ? tell(l, name, &f, fd == -EPERM ? -EBADMSG : fd) : fd;
	r = show(l, fd, name, &f);
	spw_sys_close(fd);
	return r;
}

static int
bb_list(struct spw_tier *tier,
	int (*seen)(void *arg, const struct spw_tier_found *f), void *arg)
{
	struct listing l = { .t = (struct bb *)tier, .seen = seen,
			     .arg = arg };
	int r = 0;

	if (!l.t->share.gone)
		r = spw_share_each(&l.t->share, list_file, &l);
	free(l.head.buf);
	return r || l.t->share.gone ? r : spw_roll_list(l.t->roll, seen, arg);
}

static void
bb_where(const struct spw_tier *tier, uint64_t place, char *buf, size_t size)
{
	char name[NAME];

	name_of(place, whole, name);
	(void)snprintf(buf, size, "%s/%s:0",
		       ((const struct bb *)tier)->share.path, name);
}

static void
bb_space(struct spw_tier *tier, struct spw_tier_space *ret_space)
{
	*ret_space = ((struct bb *)tier)->space;
}

static int
bb_close(struct spw_tier *tier, bool discard)
{
	struct bb *t = (struct bb *)tier;
	unsigned i;
	int r = 0;

	spw_crew_free(t->crew);
	for (i = 0; i < DEPTH; i++)	/* not reaped */
		if (t->task[i].busy && t->task[i].fd >= 0)
			spw_sys_close(t->task[i].fd);
	while (t->nheld)
		spw_sys_close(t->held[--t->nheld].fd);
	if (discard)
		r = spw_share_discard(&t->share, "bb", remove_file, &t->share);
	else
		spw_roll_sync(t->roll);
	spw_roll_close(t->roll);
	spw_share_close(&t->share);
	free(t);
	return r;
}

const struct spw_tier_ops spw_tier_bb = {
	.kind = "bb",
	.files = "*.object",
	.durable = true,
	.open = bb_open,
	.submit = bb_submit,
	.reap = bb_reap,
	.sync = bb_sync,
	.drop = bb_drop,
	.list = bb_list,
	.where = bb_where,
	.space = bb_space,
	.close = bb_close,
};
