/* SPDX-License-Identifier: BSD-3-Clause */
/* roll.c -- keeps, reads and compares the roll of a share */

#include "tiers/roll.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shm/crc32c.h"
#include "shm/failpoint.h"
#include "shm/sys.h"
#include "shm/util.h"

enum state {
	FREE, THERE, LEFT,		/* these are stored */
	EXPECTED,
	FORGOTTEN,			/* was expected, and is gone */
	BAD,				/* a record that is none */
};

struct record {				/* as stored, little endian */
	uint64_t place;
	uint32_t state;
	uint32_t boot;			/* of one that is left */
	uint32_t bind;			/* what is there; 0: not known */
	uint32_t spares[2];
	uint32_t crc;			/* of all before it */
};
static_assert(sizeof(struct record) == SPW_ROLL_RECORD, "stored");

enum {
	LEAST = 4096 / SPW_ROLL_RECORD,	/* room */
	MOST = 1 << 24,			/* records that are read */
	SYNC_MS = 1000,			/* is long ago */
};

#define NONE		UINT32_MAX
#define BAD_PLACE	UINT64_MAX	/* of all bad records together */

struct entry {
	uint64_t place;
	uint32_t state;			/* enum state */
	uint32_t bind;
	uint32_t next;			/* in its bucket, or free */
	uint32_t link;			/* those expected; those left */
};

struct spw_roll {
	const struct spw_share *share;
	spw_roll_namer name;
	char file[32];
	int fd;				/* -1: not made yet, or off */
	bool off;			/* none is kept */
	bool strange;			/* something else has its name */
	bool loose;			/* written since the last sync */
	int64_t synced;			/* ms */
	uint32_t boot;
	struct entry *entry;		/* as in the file */
	uint32_t *bucket;		/* as many as there is room for */
	uint32_t n, room, free, nleft, nbad;
	uint32_t expected, left;	/* chains */
	uint32_t from, to;		/* to be written */
};

bool
spw_roll_is(const char *kind, const char *name)
{
	size_t n = strlen(kind);

	return !strncmp(name, kind, n) && !strcmp(name + n, ".roll");
}

/* Entries. */

static uint32_t *
bucket_of(const struct spw_roll *r, uint64_t place)
{
	uint64_t h = place * UINT64_C(0x9e3779b97f4a7c15);

	return &r->bucket[(h >> 32) & (r->room - 1)];
}

static void
enter(struct spw_roll *r, uint32_t i)
{
	uint32_t *b = bucket_of(r, r->entry[i].place);

	r->entry[i].next = *b;
	*b = i;
}

/* Twice as many, all into new buckets. */
static int
grow(struct spw_roll *r)
{
	uint32_t room = r->room ? 2 * r->room : LEAST, i;
	struct entry *entry = reallocarray(r->entry, room, sizeof(*entry));
	uint32_t *bucket;

	if (!entry)
		return -ENOMEM;
	r->entry = entry;
	bucket = reallocarray(r->bucket, room, sizeof(*bucket));
	if (!bucket)
		return -ENOMEM;
	r->bucket = bucket;
	r->room = room;
	memset(bucket, 0xff, room * sizeof(*bucket));
	for (i = 0; i < r->n; i++)
		if (entry[i].state != FREE && entry[i].state != BAD)
			enter(r, i);
	return 0;
}

static uint32_t
find(const struct spw_roll *r, uint64_t place)
{
	uint32_t i = r->room ? *bucket_of(r, place) : NONE;

	while (i != NONE && r->entry[i].place != place)
		i = r->entry[i].next;
	return i;
}

static void
release(struct spw_roll *r, uint32_t i)
{
	uint32_t *p = bucket_of(r, r->entry[i].place);

	while (*p != i)
		p = &r->entry[*p].next;
	*p = r->entry[i].next;
	r->entry[i] = (struct entry){ .state = FREE, .next = r->free };
	r->free = i;
}

static void
touch(struct spw_roll *r, uint32_t i)
{
	bool any = r->from < r->to;

	r->from = any ? SPW_MIN(r->from, i) : i;
	r->to = any ? SPW_MAX(r->to, i + 1) : i + 1;
}

/* The file. */

/* Nothing is missed from now on, by anybody who comes. */
static void
give_up(struct spw_roll *r)
{
	r->off = true;
	if (r->fd >= 0)
		spw_sys_close(r->fd);
	r->fd = -1;
	(void)spw_share_unlink(r->share, r->file);
	(void)spw_share_sync(r->share);
}

static uint32_t
sum(const struct record *rec)
{
	return spw_crc32c(0, rec, offsetof(struct record, crc));
}

static bool
is_sound(const struct record *rec)
{
	static const struct record none;

	return !memcmp(rec, &none, sizeof(none)) ||
	       (rec->crc == sum(rec) &&
		(rec->state == THERE || rec->state == LEFT));
}

static void
compose(const struct spw_roll *r, uint32_t i, struct record *ret)
{
	const struct entry *e = &r->entry[i];

	memset(ret, 0, sizeof(*ret));
	if (e->state == THERE || e->state == LEFT || e->state == BAD) {
		ret->place = e->place;
		ret->state = e->state;
		ret->boot = e->state == LEFT ? r->boot : 0;
		ret->bind = e->bind;
		ret->crc = sum(ret) ^ (e->state == BAD);
	}
}

static int
make(struct spw_roll *r)
{
	if (r->fd >= 0)
		return 0;
	r->fd = spw_sys_openat(r->share->dir, r->file, O_RDWR | O_CREAT |
			       O_EXCL | O_CLOEXEC, 0600);
	return r->fd < 0 ? r->fd : 0;
}

static int
write_all(struct spw_roll *r)
{
	struct record some[LEAST];
	uint32_t i, k, n;
	int err = make(r);

	for (i = r->from; i < r->to && err == 0; i += n) {
		n = SPW_MIN(r->to - i, (uint32_t)LEAST);
		for (k = 0; k < n; k++)
			compose(r, i + k, &some[k]);
		err = spw_share_write(r->fd, some, n * sizeof(*some),
				      (uint64_t)i * sizeof(*some));
	}
	return err;
}

static void
write_out(struct spw_roll *r)
{
	if (r->from >= r->to || r->off)
		return;
	if (write_all(r) < 0) {
		give_up(r);
		return;
	}
	r->from = r->to = 0;
	r->loose = true;
	SPW_FAILPOINT("roll-written");
}

void
spw_roll_sync(struct spw_roll *r)
{
	if (!r)
		return;
	write_out(r);
	if (!r->loose || r->off)
		return;
	if (spw_share_fdatasync(r->fd) < 0)
		give_up(r);
	r->loose = false;
	r->synced = spw_now_ms();
	SPW_FAILPOINT("roll-synced");
}

bool
spw_roll_is_due(const struct spw_roll *r)
{
	return r && r->loose && !r->off && spw_now_ms() - r->synced >= SYNC_MS;
}

/* Opening. */

static bool
is_named(const struct spw_roll *r, uint64_t place)
{
	char name[32];
	struct stat st;

	r->name(place, name);
	return spw_sys_fstatat(r->share->dir, name, &st,
			       AT_SYMLINK_NOFOLLOW) != -ENOENT;
}

/* What was left before power went is there again, or not. */
static void
judge(struct spw_roll *r, const struct record *rec, struct entry *e)
{
	e->place = rec->place;
	e->state = is_sound(rec) ? rec->state : BAD;
	e->bind = e->state == BAD ? 0 : rec->bind;
	if (e->state != LEFT || rec->boot == r->boot)
		return;
	e->state = is_named(r, e->place) ? THERE : FREE;
	touch(r, (uint32_t)(e - r->entry));
}

static void
load(struct spw_roll *r, const struct record *rec)
{
	uint32_t i = r->n++;
	struct entry *e = &r->entry[i];

	judge(r, rec, e);
	if (e->state == BAD) {
		r->nbad++;
	} else if (e->state == FREE) {
		e->next = r->free;
		r->free = i;
	} else {
		enter(r, i);
	}
	if (e->state == LEFT) {
		e->link = r->left;
		r->left = i;
		r->nleft++;
	}
}

static int
read_some(struct spw_roll *r, uint32_t n)
{
	struct record some[LEAST];
	int err = spw_share_read(r->fd, some, n * sizeof(*some),
				 r->n * sizeof(*some));
	uint32_t i;

	for (i = 0; i < n && err == 0; i++) {
		err = r->n == r->room ? grow(r) : 0;
		if (err == 0)
			load(r, &some[i]);
	}
	return err;
}

static int
read_all(struct spw_roll *r)
{
	struct stat st;
	uint32_t n;
	int err = spw_sys_fstat(r->fd, &st);

	if (err < 0)
		return err;
	n = (uint32_t)SPW_MIN(st.st_size / SPW_ROLL_RECORD, (off_t)MOST);
	r->nbad = st.st_size % SPW_ROLL_RECORD != 0;
	while (err == 0 && r->n < n)
		err = read_some(r, SPW_MIN(n - r->n, (uint32_t)LEAST));
	return err == -ENODATA ? 0 : err;
}

static int
open_file(struct spw_roll *r)
{
	r->fd = spw_share_open_file(r->share, r->file, r->share->look_only
				    ? O_RDONLY : O_RDWR);
	r->strange = r->fd == -EPERM;
	r->off = r->strange || r->share->look_only;
	if (r->fd == -ENOENT || r->strange)
		return 0;
	return r->fd < 0 ? r->fd : read_all(r);
}

int
spw_roll_open(const struct spw_share *s, const char *kind, spw_roll_namer name,
	      struct spw_roll **ret_roll)
{
	struct spw_roll *r;
	int err;

	*ret_roll = NULL;
	if (s->unlocked)
		return 0;
	r = calloc(1, sizeof(*r));
	if (!r)
		return -ENOMEM;
	r->share = s;
	r->name = name;
	r->boot = spw_share_boot();
	r->free = r->expected = r->left = NONE;
	r->synced = spw_now_ms();
	(void)snprintf(r->file, sizeof(r->file), "%s.roll", kind);
	err = open_file(r);
	if (err < 0) {
		spw_roll_close(r);
		return err;
	}
	*ret_roll = r;
	return 0;
}

void
spw_roll_close(struct spw_roll *r)
{
	if (!r)
		return;
	if (r->fd >= 0)
		spw_sys_close(r->fd);
	free(r->entry);
	free(r->bucket);
	free(r);
}

/* Keeping. */

bool
spw_roll_has(const struct spw_roll *r, uint64_t place)
{
	uint32_t i = r ? find(r, place) : NONE;

	return i != NONE && r->entry[i].state != FORGOTTEN;
}

void
spw_roll_expect(struct spw_roll *r, uint64_t place)
{
	uint32_t i;

	if (!r || r->off)
		return;
	i = find(r, place);
	if (i != NONE) {
		if (r->entry[i].state == FORGOTTEN)
			r->entry[i].state = EXPECTED;
		return;
	}
	if (r->free == NONE && r->n == r->room && grow(r) < 0) {
		give_up(r);
		return;
	}
	i = r->free == NONE ? r->n++ : r->free;
	if (i == r->free)
		r->free = r->entry[i].next;
	r->entry[i] = (struct entry){ .place = place, .state = EXPECTED,
				      .link = r->expected };
	r->expected = i;
	enter(r, i);
}

void
spw_roll_bind(struct spw_roll *r, uint64_t place, uint32_t bind)
{
	uint32_t i = r ? find(r, place) : NONE;

	if (i != NONE)
		r->entry[i].bind = bind;
}

bool
spw_roll_is_bound(const struct spw_roll *r, uint64_t place, uint32_t bind)
{
	uint32_t i = r ? find(r, place) : NONE;

	return i == NONE || !r->entry[i].bind || r->entry[i].bind == bind;
}

bool
spw_roll_place_of(const struct spw_roll *r, uint32_t bind, uint64_t *ret_place)
{
	uint32_t i;

	for (i = 0; r && i < r->n; i++)
		if (r->entry[i].state == THERE && r->entry[i].bind == bind) {
			*ret_place = r->entry[i].place;
			return true;
		}
	return false;
}

void
spw_roll_confirm(struct spw_roll *r)
{
	uint32_t i, next;

	if (!r)
		return;
	for (i = r->expected; i != NONE; i = next) {
		next = r->entry[i].link;
		if (r->entry[i].state == FORGOTTEN) {
			release(r, i);
			continue;
		}
		r->entry[i].state = THERE;
		touch(r, i);
	}
	r->expected = NONE;
	write_out(r);
}

bool
spw_roll_leave(struct spw_roll *r, uint64_t place)
{
	uint32_t i = r ? find(r, place) : NONE;

	if (i == NONE || r->off)
		return false;
	if (r->entry[i].state != THERE) {
		if (r->entry[i].state == EXPECTED)
			r->entry[i].state = FORGOTTEN;
		return false;
	}
	r->entry[i].state = LEFT;
	r->entry[i].link = r->left;
	r->left = i;
	r->nleft++;
	touch(r, i);
	write_out(r);
	return !r->off;
}

bool
spw_roll_is_left(const struct spw_roll *r, uint64_t place)
{
	uint32_t i = r && r->nleft ? find(r, place) : NONE;

	return i != NONE && r->entry[i].state == LEFT;
}

unsigned
spw_roll_left(const struct spw_roll *r)
{
	return r ? r->nleft : 0;
}

void
spw_roll_part(struct spw_roll *r, void (*gone)(void *arg, uint64_t place),
	      void *arg)
{
	uint32_t i, next;

	if (!r || !r->nleft)
		return;
	for (i = r->left; i != NONE; i = next) {
		next = r->entry[i].link;
		gone(arg, r->entry[i].place);
		release(r, i);
		touch(r, i);
	}
	r->left = NONE;
	r->nleft = 0;
	write_out(r);
}

/* Something else may have its name, and goes if it is of no use. */
static void
strike_bad(struct spw_roll *r)
{
	uint32_t i;

	for (i = 0; i < r->n; i++)
		if (r->entry[i].state == BAD) {
			r->entry[i].state = FREE;
			touch(r, i);
		}
	if (r->strange && spw_share_unlink(r->share, r->file) == -EISDIR)
		(void)spw_syscall(SYS_unlinkat, r->share->dir, (long)r->file,
				  AT_REMOVEDIR, 0, 0, 0);
	if (r->fd >= 0)
		(void)spw_sys_ftruncate(r->fd, r->n * sizeof(struct record));
	r->strange = false;
	r->nbad = 0;
}

bool
spw_roll_strike(struct spw_roll *r, uint64_t place)
{
	uint32_t i = r && place != BAD_PLACE ? find(r, place) : NONE;

	if (r && place == BAD_PLACE && (r->nbad || r->strange)) {
		strike_bad(r);
		return true;
	}
	if (i == NONE)
		return false;
	if (r->entry[i].state == EXPECTED)
		r->entry[i].state = FORGOTTEN;
	if (r->entry[i].state != THERE)
		return false;
	release(r, i);
	touch(r, i);
	return true;
}

/* Listing. */

/* Its owner may be at work: what he strikes is struck before its name goes. */
static bool
is_still(const struct spw_roll *r, uint32_t i)
{
	const struct entry *e = &r->entry[i];
	struct record now;

	if (!r->share->look_only)
		return true;
	if (spw_share_read(r->fd, &now, sizeof(now), i * sizeof(now)) < 0)
		return false;
	return e->state == BAD ? !is_sound(&now) : is_sound(&now) &&
	       now.state == e->state && now.place == e->place;
}

/* In part, or at its end. */
static bool
is_damaged(const struct spw_roll *r)
{
	uint32_t i, n = 0;

	if (r->strange)
		return true;
	for (i = 0; i < r->n; i++) {
		if (r->entry[i].state == BAD && is_still(r, i))
			return true;
		n += r->entry[i].state == BAD;
	}
	return r->nbad > n;
}

static bool
is_missing(const struct spw_roll *r, uint32_t i)
{
	const struct entry *e = &r->entry[i];

	return e->state == THERE && !is_named(r, e->place) && is_still(r, i) &&
	       !is_named(r, e->place);
}

static int
tell(const struct spw_roll *r, uint64_t place, bool missing,
     int (*seen)(void *arg, const struct spw_tier_found *f), void *arg)
{
	char where[PATH_MAX + 40], name[32];
	struct spw_tier_found f = { .place = place, .where = where,
				    .err = -EBADMSG, .missing = missing };

	if (missing)
		r->name(place, name);
	(void)snprintf(where, sizeof(where), "%s/%s:0", r->share->path,
		       missing ? name : r->file);
	return seen(arg, &f);
}

int
spw_roll_list(const struct spw_roll *r,
	      int (*seen)(void *arg, const struct spw_tier_found *f),
	      void *arg)
{
	uint32_t i;
	int err = 0;

	if (!r)
		return 0;
	if (is_damaged(r))
		err = tell(r, BAD_PLACE, false, seen, arg);
	for (i = 0; i < r->n && err == 0; i++)
		if (is_missing(r, i))
			err = tell(r, r->entry[i].place, true, seen, arg);
	return err;
}
