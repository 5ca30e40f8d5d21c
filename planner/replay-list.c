/* SPDX-License-Identifier: BSD-3-Clause */
/* replay-list.c -- the shares of an owner opened, and all in them listed */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "planner/replay-parts.h"
#include "shm/sys.h"
#include "shm/util.h"
#include "tiers/apart.h"
#include "tiers/codec.h"

enum {
	HASH = 4096,
	SEARCH = 1000000,		/* names; some seconds on most disks */
};

/* More than any share: what is put here is one small object at a time. */
#define ROOM (UINT64_C(1) << 50)

struct lister {
	struct spw_replay *r;
	uint32_t tier;
};

size_t
spw_replay_bound(void)
{
	return spw_round_up(spw_object_bound(SPW_OBJECT_PATH, SPW_OBJECT_MAX),
			    SPW_TIER_ALIGN);
}

static bool
is_same(const struct spw_identity *id, const struct spw_object *o)
{
	return id->dev == o->dev && id->ino == o->ino && id->btime == o->btime;
}

const struct spw_replay_file *
spw_replay_same(const struct spw_replay *r, const struct spw_identity *id)
{
	for (uint32_t i = 0; i < r->nfiles; i++)
		if (r->files[i].id.ino == id->ino &&
		    r->files[i].id.btime == id->btime)
			return &r->files[i];
	return NULL;
}

static uint32_t
add_file(struct spw_replay *r, const struct spw_object *o, uint32_t *bucket)
{
	uint32_t cap = r->files_cap ? r->files_cap * 2 : 64;
	struct spw_replay_file *more;

	if (r->nfiles == r->files_cap) {
		more = realloc(r->files, cap * sizeof(*more));
		if (!more)
			return SPW_REPLAY_UNKNOWN;
		r->files = more;
		r->files_cap = cap;
	}
	r->files[r->nfiles] = (struct spw_replay_file){
		.id = { .dev = o->dev, .ino = o->ino, .btime = o->btime,
			.any_dev = true }, .next = *bucket,
		.path = strdup(""),
	};
	if (!r->files[r->nfiles].path)
		return SPW_REPLAY_UNKNOWN;
	*bucket = r->nfiles;
	return r->nfiles++;
}

static uint32_t
file_of(struct spw_replay *r, const struct spw_object *o)
{
	uint32_t *bucket = &r->hash[(o->ino ^ o->ino >> 12 ^ o->dev) % HASH];

	for (uint32_t i = *bucket; i != SPW_REPLAY_UNKNOWN;
	     i = r->files[i].next)
		if (is_same(&r->files[i].id, o))
			return i;
	return add_file(r, o, bucket);
}

static int
note_path(struct spw_replay_file *f, const struct spw_object *o)
{
	char *path;

	if (!o->path_len || o->seq < f->path_seq)
		return 0;
	f->path_seq = o->seq;
	if (!strncmp(f->path, o->path, o->path_len) &&
	    !f->path[o->path_len])
		return 0;
	path = strndup(o->path, o->path_len);
	if (!path)
		return -ENOMEM;
	free(f->path);
	f->path = path;
	return 0;
}

static struct spw_replay_object *
add_object(struct spw_replay *r)
{
	size_t cap = r->cap ? r->cap * 2 : 256;
	struct spw_replay_object *more;

	if (r->nobjects == r->cap) {
		more = realloc(r->objects, cap * sizeof(*more));
		if (!more)
			return NULL;
		r->objects = more;
		r->cap = cap;
	}
	return &r->objects[r->nobjects++];
}

static int
describe(struct spw_replay *r, const struct spw_object *from,
	 struct spw_replay_object *o)
{
	o->file = file_of(r, from);
	if (o->file == SPW_REPLAY_UNKNOWN)
		return -ENOMEM;
	o->seq = from->seq;
	o->offset = from->offset;
	o->length = from->length;
	o->file_size = from->file_size;
	o->cut = from->cut;
	o->wtime = from->wtime;
	o->home_time = from->home_time;
	o->flags = from->flags;
	return note_path(&r->files[o->file], from);
}

static int
found(void *arg, const struct spw_tier_found *f)
{
	struct lister *l = arg;
	struct spw_replay_object *o = add_object(l->r);

	if (!o)
		return -ENOMEM;
	*o = (struct spw_replay_object){
		.place = f->place, .len = f->len, .tier = l->tier,
		.err = f->err, .missing = f->missing,
		.file = SPW_REPLAY_UNKNOWN,
	};
	l->r->damaged |= f->err != 0;
	if (f->err && f->where)
		o->where = strdup(f->where);	/* a message can do without */
	return f->object ? describe(l->r, f->object, o) : 0;
}

static int
compare(const void *a, const void *b)
{
	const struct spw_replay_object *x = a, *y = b;

	if (x->file != y->file)
		return x->file < y->file ? -1 : 1;
	return x->seq < y->seq ? -1 : x->seq > y->seq;
}

/* What came before the youngest mark counts no more. */
static void
count_file(struct spw_replay *r, struct spw_replay_file *f)
{
	struct spw_replay_object *o = &r->objects[f->first];
	uint64_t home = 0, end = UINT64_MAX;

	for (uint32_t i = 0; i < f->n; i++)
		if (o[i].flags & SPW_OBJECT_HOME)
			home = SPW_MAX(home, o[i].seq);
	for (uint32_t i = f->n; i-- > 0; end = SPW_MIN(end, o[i].cut))
		o[i].end = end;
	for (uint32_t i = 0; i < f->n; i++) {
		o[i].old = o[i].seq <= home;
		if (o[i].old)
			continue;
		f->bytes += o[i].length;
		f->wtime = SPW_MAX(f->wtime, o[i].wtime);
	}
	r->bytes += f->bytes;
}

static void
sort(struct spw_replay *r)
{
	if (r->nobjects)
		qsort(r->objects, r->nobjects, sizeof(*r->objects), compare);
	for (size_t i = 0; i < r->nobjects; i++) {
		uint32_t no = r->objects[i].file;

		if (no == SPW_REPLAY_UNKNOWN)
			break;
		if (!r->files[no].n++)
			r->files[no].first = (uint32_t)i;
	}
	for (uint32_t i = 0; i < r->nfiles; i++)
		count_file(r, &r->files[i]);
}

static int
open_places(struct spw_replay *r, const struct spw_replay_place *places,
	    unsigned n)
{
	struct spw_tier_setup setup = {
		.owner = r->owner, .capacity = ROOM, .look_only = r->look_only,
	};
	int err;

	for (unsigned i = 0; i < n; i++) {
		setup.place = places[i].place;
		err = spw_replay_open_tier(r, &places[i], &setup);
		if (err < 0 && err != -ENOENT)
			return err;
	}
	return r->ntiers ? 0 : -ENOENT;
}

static int
list_all(struct spw_replay *r)
{
	int err = 0;

	for (uint32_t i = 0; i < r->ntiers && err == 0; i++) {
		struct lister l = { r, i };

		err = spw_replay_list_tier(r, i, found, &l);
	}
	return err;
}

static int
prepare(struct spw_replay *r)
{
	r->hash = malloc(HASH * sizeof(*r->hash));
	r->raw = aligned_alloc(SPW_TIER_ALIGN, SPW_OBJECT_MAX);
	if (!r->hash || !r->raw || spw_replay_buffers(r) < 0)
		return -ENOMEM;
	memset(r->hash, 0xff, HASH * sizeof(*r->hash));
	if (spw_bell_new(NULL, NULL, &r->bell) < 0)
		return -ENOMEM;
	return spw_packer_new(&r->packer);
}

static void
release(struct spw_replay *r)
{
	for (size_t i = 0; i < r->nobjects; i++)
		free(r->objects[i].where);
	for (uint32_t i = 0; i < r->nfiles; i++)
		free(r->files[i].path);
	if (!r->hung)
		spw_bell_free(r->bell);
	spw_packer_free(r->packer);
	free(r->objects);
	free(r->files);
	free(r->hash);
	free(r->stored);
	free(r->move);
	free(r->raw);
	free(r);
}

int
spw_replay_open(const struct spw_replay_place *places, unsigned n,
		const char *owner, bool look_only, struct spw_replay **ret)
{
	struct spw_replay *r;
	int err;

	if (strlen(owner) >= sizeof(r->owner))
		return -ENAMETOOLONG;
	r = calloc(1, sizeof(*r));
	if (!r)
		return -ENOMEM;
	strcpy(r->owner, owner);
	r->search_left = SEARCH;
	r->look_only = look_only;
	(void)spw_codec_load(NULL);
	err = prepare(r);
	if (err == 0)
		err = open_places(r, places, n);
	if (err == 0)
		err = list_all(r);
	if (err < 0) {
		while (r->ntiers--)
			(void)spw_replay_close_tier(r, r->ntiers, false);
		release(r);
		return err;
	}
	sort(r);
	*ret = r;
	return 0;
}

bool
spw_replay_is_unlocked(const struct spw_replay *r)
{
	for (unsigned i = 0; i < r->ntiers; i++)
		if (spw_apart_is_unlocked(r->tier[i]))
			return true;
	return false;
}

bool
spw_replay_is_held(const struct spw_replay *r)
{
	for (unsigned i = 0; i < r->ntiers; i++)
		if (spw_apart_is_held(r->tier[i]))
			return true;
	return false;
}

bool
spw_replay_stalls(const struct spw_replay *r, char *buf, size_t size)
{
	for (unsigned i = 0; i < r->ntiers; i++)
		if (r->stalled[i]) {
			snprintf(buf, size, "tier %s, %s",
				 spw_apart_kind(r->tier[i]), r->place[i]);
			return true;
		}
	return false;
}

static bool
is_empty(const struct spw_replay *r, uint32_t tier)
{
	for (size_t i = 0; i < r->nobjects; i++)
		if (r->objects[i].tier == tier && !r->objects[i].gone)
			return false;
	return true;
}

bool
spw_replay_is_doubtful(const struct spw_replay *r)
{
	if (r->unseen)
		return true;
	/* They are the last. */
	for (size_t i = r->nobjects; i-- > 0;) {
		const struct spw_replay_object *o = &r->objects[i];

		if (o->file != SPW_REPLAY_UNKNOWN)
			break;
		if (!o->gone && o->err && (o->missing || o->err != -EBADMSG))
			return true;
	}
	return false;
}

bool
spw_replay_is_needed(const struct spw_replay *r)
{
	for (size_t i = 0; i < r->nobjects; i++)
		if (!r->objects[i].gone && !r->objects[i].old)
			return true;
	return false;
}

int
spw_replay_close(struct spw_replay *r, bool tidy)
{
	int err = 0;

	for (unsigned i = 0; i < r->ntiers; i++) {
		int e = spw_replay_close_tier(r, i, tidy && is_empty(r, i));

		err = err ? err : e;
	}
	release(r);
	return err;
}
