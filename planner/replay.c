/* SPDX-License-Identifier: BSD-3-Clause */
/* replay.c -- objects whose segment is gone, applied to their files */
#include "planner/replay.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "planner/beside.h"
#include "planner/notes.h"
#include "planner/replay-parts.h"
#include "shm/failpoint.h"
#include "shm/sys.h"
#include "shm/util.h"
#include "tiers/apart.h"

/* The drainer says once a second that it is at work, and the disk may hear of
 * it later than of its writes. Only for changes by others: what the job itself
 * brought home after it had lost a tier is told by a note (notes.c). */
#define SLACK_NS	INT64_C(30000000000)
#define STAMP_MS	1000

struct bringing {			/* one file on its way home */
	struct spw_replay *r;
	const struct spw_replay_file *f;
	const struct spw_replay_step *step;
	const struct spw_replay_object *last;	/* applied */
	uint64_t keep;			/* of home as it was, even if it is more
					 * than the owner knew of */
	uint64_t firm;			/* home has all cuts up to this one */
	int64_t stamped;		/* ms */
	uint32_t damaged;
	int fd;
};

static int
read_stored(struct spw_replay *r, const struct spw_replay_object *o)
{
	struct spw_transfer x = {
		.up = true, .place = o->place, .len = o->len,
	};
	int err = o->len > spw_replay_bound() ? -EBADMSG
		  : spw_replay_move(r, o->tier, &x);

	return err == -ENODATA ? -EBADMSG : err;	/* it was cut short */
}

/* The object with all of its bytes, in r->raw. */
static int
load(struct spw_replay *r, const struct spw_replay_object *o)
{
	struct spw_object_part part;
	struct spw_object head;
	uint64_t bad;
	size_t need;
	int err = read_stored(r, o);

	if (err < 0)
		return err;
	err = spw_object_parse(r->stored, o->len, &head, &need);
	if (err < 0)
		return err == -EAGAIN ? -EBADMSG : err;
	if (head.stored > o->len || head.seq != o->seq ||
	    head.offset != o->offset || head.length != o->length)
		return -EBADMSG;
	spw_object_part(&head, 0, head.length, &part);
	if (part.raw_len > SPW_OBJECT_MAX)
		return -EBADMSG;
	err = spw_object_decode(r->packer, &head, &part,
				r->stored + head.payload_at, r->raw, &bad);
	if (err != -ENOTSUP)
		return err;
	r->missing = head.blocks[bad / head.block_size].codec;
	return -ELIBACC;
}

void
spw_replay_check(struct spw_replay *r, struct spw_replay_object *o)
{
	if (!o->err && !o->gone)
		o->err = load(r, o);
}

static int
write_all(int fd, const uint8_t *buf, uint64_t n, uint64_t at)
{
	while (n) {
		int64_t put = spw_sys_pwrite(fd, buf, n, at);

		if (put == -EINTR)
			continue;
		if (put <= 0)
			return put < 0 ? (int)put : -EIO;
		buf += put;
		at += (uint64_t)put;
		n -= (uint64_t)put;
	}
	return 0;
}

static int
cut(int fd, uint64_t size)
{
	struct stat st;
	int err = spw_sys_fstat(fd, &st);

	if (err < 0 || (uint64_t)st.st_size <= size)
		return err;
	return spw_sys_ftruncate(fd, size);
}

static int
apply(struct bringing *b, const struct spw_replay_object *o)
{
	uint64_t end = SPW_MIN(o->end, o->offset + o->length);
	int err = 0;

	if (o->seq > b->firm && o->cut != UINT64_MAX) {
		err = cut(b->fd, o->cut);
		b->keep = SPW_MIN(b->keep, o->cut);
	}
	if (spw_now_ms() - b->stamped >= STAMP_MS) {
		spw_replay_stamp(b->r);
		b->stamped = spw_now_ms();
	}
	if (err == 0 && end > o->offset)
		err = write_all(b->fd, b->r->raw, end - o->offset, o->offset);
	if (err == 0)
		b->last = o;
	SPW_FAILPOINT("replay-applied");
	return err;
}

/* One that cannot be read for now ends it; a damaged one is left out. */
static int
apply_all(struct bringing *b)
{
	struct spw_replay_object *o = &b->r->objects[b->f->first];
	int err;

	for (uint32_t i = 0; i < b->f->n; i++, o++) {
		if (o->old || o->gone)
			continue;
		spw_replay_check(b->r, o);
		if (o->err == -EBADMSG) {
			b->damaged++;
			continue;
		}
		err = o->err ? o->err : apply(b, o);
		if (err < 0) {
			o->err = 0;	/* it may go better next time */
			return err;
		}
		if (b->step)
			b->step->call(b->step->arg, o->length);
	}
	return 0;
}

/* Size and time as they were when the last object was made. */
static int
finish(struct bringing *b)
{
	struct timespec ts[2] = { { 0, UTIME_OMIT }, { 0, 0 } };
	uint64_t size = SPW_MAX(b->last->file_size, b->keep);
	struct stat st;
	int err = spw_sys_fstat(b->fd, &st);

	if (err == 0 && (uint64_t)st.st_size != size)
		err = spw_sys_ftruncate(b->fd, size);
	if (err < 0)
		return err;
	ts[1] = spw_timespec(b->last->wtime);
	/* A foreign file that we may write keeps its own time. */
	(void)spw_syscall(SYS_utimensat, b->fd, 0, (long)ts, 0, 0, 0);
	return (int)spw_syscall(SYS_fsync, b->fd, 0, 0, 0, 0, 0);
}

/* Those that have objects of the file. */
static int
sync_tiers(const struct bringing *b)
{
	const struct spw_replay_object *o = &b->r->objects[b->f->first];
	bool has[SPW_TIERS_MAX] = { false };
	int err = 0;

	for (uint32_t i = 0; i < b->f->n; i++)
		has[o[i].tier] = true;
	for (unsigned i = 0; i < b->r->ntiers && err == 0; i++)
		err = has[i] ? spw_replay_sync(b->r, i) : 0;
	return err;
}

/* Puts the mark that says: home up to here. */
static int
put_mark(struct bringing *b, struct spw_replay_object *ret_mark)
{
	struct spw_replay *r = b->r;
	struct spw_object o = {
		.dev = b->f->id.dev, .ino = b->f->id.ino,
		.btime = b->f->id.btime, .seq = b->last->seq,
		.file_size = b->last->file_size, .cut = UINT64_MAX,
		.wtime = b->last->wtime, .flags = SPW_OBJECT_HOME,
		.path = b->f->path, .path_len = (uint32_t)strlen(b->f->path),
	};
	int err = -ENOSPC;

	/* One that lasts as long as what it speaks of. */
	for (uint32_t i = 0; i < 2 * r->ntiers && err < 0; i++) {
		uint32_t tier = i % r->ntiers;
		struct spw_transfer x = { 0 };
		int64_t n;

		if (spw_apart_is_durable(r->tier[tier]) != (i < r->ntiers))
			continue;
		if (!r->stored)		/* the last one kept it */
			return -ENOMEM;
		n = spw_object_encode(r->packer, &o, NULL, r->stored,
				      spw_replay_bound(), r->raw);
		if (n < 0)
			return (int)n;
		x.len = (size_t)n;
		err = spw_replay_move(r, tier, &x);
		if (err == 0)
			err = spw_replay_sync(r, tier);
		ret_mark->tier = tier;
		ret_mark->place = x.place;
	}
	return err;
}

/* The oldest first; each: durably before the next. Marks are the last. */
static int
drop_all(struct bringing *b, bool each)
{
	struct spw_replay_object *o;
	int err = 0;

	for (int marks = 0; marks < 2; marks++) {
		for (uint32_t i = 0; i < b->f->n && err == 0; i++) {
			o = &b->r->objects[b->f->first + i];
			if (o->gone || o->err ||
			    !(o->flags & SPW_OBJECT_HOME) != !marks)
				continue;
			err = spw_replay_drop(b->r, o);
			if (err == 0 && each)
				err = sync_tiers(b);
			SPW_FAILPOINT("replay-dropped");
		}
		if (err == 0)
			err = sync_tiers(b);
	}
	return err;
}

static uint32_t
count_objects(const struct bringing *b)
{
	const struct spw_replay_object *o = &b->r->objects[b->f->first];
	uint32_t n = 0;

	for (uint32_t i = 0; i < b->f->n; i++)
		n += !o[i].gone && !o[i].err;
	return n;
}

static int
let_go(struct bringing *b)
{
	struct spw_replay_object mark = { 0 };
	int err;

	if (spw_replay_is_doubtful(b->r))
		return -EAGAIN;
	if (!b->last || count_objects(b) < 2)
		return drop_all(b, false);
	/* A put next to what is damaged might tidy that away. */
	if (b->r->damaged || put_mark(b, &mark) < 0)
		return drop_all(b, true);
	SPW_FAILPOINT("replay-marked");
	err = drop_all(b, false);
	if (err == 0)
		err = spw_replay_drop(b->r, &mark);
	return err ? err : spw_replay_sync(b->r, mark.tier);
}

int
spw_replay_find(struct spw_replay *r, const struct spw_replay_file *f)
{
	int fd;

	if (f->path[0] != '/')
		return -ENOENT;
	fd = spw_find_open(f->path, O_NOFOLLOW, &f->id);
	if (spw_find_is_elsewhere(fd))
		fd = spw_find_beside(f->path, &f->id);
	if (spw_find_is_elsewhere(fd))
		fd = spw_find_near(f->path, &f->id, &r->search_left);
	return spw_find_is_elsewhere(fd) ? -ENOENT : fd;
}

/* A time that home had in the owner's life, whatever his clock said: it may
 * have been set back, or the file have come with a time that is yet to be. */
static bool
is_known(const struct bringing *b, int64_t mtime)
{
	const struct spw_replay_object *o = &b->r->objects[b->f->first];

	for (uint32_t i = 0; i < b->f->n; i++)
		if (mtime == o[i].wtime || mtime == o[i].home_time)
			return true;
	return false;
}

/* Home is what it was when the last object was made, or younger: what it has
 * beyond the end that the owner knew of, another node has written. A cut of the
 * owner's that it may have lost with the power is told by objects without a
 * time of home. */
static void
find_end(struct bringing *b, const struct stat *st)
{
	const struct spw_replay_object *o = &b->r->objects[b->f->first];
	const struct spw_replay_object *last = NULL;
	int64_t mtime = spw_nanoseconds(&st->st_mtim);

	for (uint32_t i = 0; i < b->f->n; i++) {
		if (o[i].old || o[i].gone)
			continue;
		last = &o[i];
		if (o[i].flags & SPW_OBJECT_FIRM)
			b->firm = o[i].seq;
	}
	if (last && (last->flags & SPW_OBJECT_FIRM ||
		     (last->home_time && mtime >= last->home_time)))
		b->keep = (uint64_t)st->st_size;
}

/* Changed after the owner had died, by somebody who does not know of us. */
static bool
is_changed(const struct bringing *b, const struct stat *st)
{
	int64_t last = SPW_MAX(b->f->wtime, b->r->alive + SLACK_NS);
	int64_t mtime = spw_nanoseconds(&st->st_mtim);

	return mtime > last && !is_known(b, mtime);
}

bool
spw_replay_is_due(struct spw_replay *r, const struct spw_replay_file *f)
{
	struct bringing b = { .r = r, .f = f };
	struct stat st;
	bool due;

	if (!f->bytes || f->kept)
		return false;
	b.fd = spw_replay_find(r, f);
	if (b.fd < 0)
		return false;
	due = spw_sys_fstat(b.fd, &st) == 0 && !is_changed(&b, &st);
	spw_sys_close(b.fd);
	return due;
}

static int
bring(struct bringing *b, bool force)
{
	struct stat st;
	int err = spw_sys_fstat(b->fd, &st);

	if (err < 0)
		return err;
	if (!is_changed(b, &st))
		find_end(b, &st);
	else if (!force)
		return -EEXIST;
	err = apply_all(b);
	if (err == 0 && b->last)
		err = finish(b);
	SPW_FAILPOINT("replay-synced");
	if (err == 0)
		err = let_go(b);
	return (err == 0 || err == -EAGAIN) && b->damaged ? -EBADMSG : err;
}

int
spw_replay_apply(struct spw_replay *r, uint32_t file, int fd,
		 const struct spw_replay_step *step)
{
	struct bringing b = {
		.r = r, .f = &r->files[file], .step = step, .fd = fd,
	};
	int err = apply_all(&b);

	if (err == 0)
		err = b.damaged || !b.last ? -EBADMSG : finish(&b);
	return err;
}

int
spw_replay_drop_file(struct spw_replay *r, uint32_t file)
{
	struct bringing b = { .r = r, .f = &r->files[file], .fd = -1 };

	return drop_all(&b, false);
}

void
spw_replay_heed(struct spw_replay *r, struct spw_replay_file *f, int fd)
{
	uint64_t home = spw_note_read(fd, r->owner);
	struct spw_replay_object *o = &r->objects[f->first];

	for (uint32_t i = 0; i < f->n && o[i].seq <= home; i++) {
		if (o[i].old)
			continue;
		o[i].old = true;
		f->bytes -= o[i].length;
		r->bytes -= o[i].length;
	}
}

int
spw_replay_bring(struct spw_replay *r, uint32_t file, bool force,
		 const struct spw_replay_step *step)
{
	struct spw_replay_file *f = &r->files[file];
	struct bringing b = { .r = r, .f = f, .step = step, .fd = -1 };

	if (f->kept)
		return 0;
	b.fd = spw_replay_find(r, f);
	if (b.fd >= 0)
		spw_replay_heed(r, f, b.fd);
	if (f->n && r->objects[f->first + f->n - 1].old)
		f->err = spw_replay_is_doubtful(r) ? -EAGAIN
			 : drop_all(&b, false);	/* home before we came */
	else
		f->err = b.fd < 0 ? b.fd : bring(&b, force);
	if (b.fd >= 0 && f->err == 0)
		(void)spw_beside_set(b.fd, r->owner, 0);	/* of no use */
	if (b.fd >= 0)
		spw_sys_close(b.fd);
	return f->err;
}
