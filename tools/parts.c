/* SPDX-License-Identifier: BSD-3-Clause */
/* parts.c -- where each part of a file is right now, as its segment tells */
#include "tools/parts.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "planner/store.h"
#include "shm/below.h"
#include "tiers/codec.h"
#include "tiers/filter.h"
#include "tiers/thread.h"

/* Everything is read without locks and may change meanwhile: what is found is
 * a picture, of which each piece was true at some moment. */
struct blocks {				/* of the file, that are not just home */
	struct block {
		uint64_t number;
		bool below, cached, dirty;
		uint16_t seq;		/* of the object, the end of it */
		uint32_t object;
	} *at;
	size_t n, cap;
};

enum { PATIENCE_MS = 5000 };		/* with a tier */

#define NUMBER_MAX (UINT64_C(1) << 51)	/* of a block: 2^63 bytes */

/* Room for one more in an array; NULL: no memory, and it is as before. */
static void *
grow(void *array, size_t n, size_t *cap, size_t size)
{
	size_t more = *cap ? *cap * 2 : 64;
	void *larger;

	if (n < *cap)
		return array;
	larger = realloc(array, more * size);
	if (larger)
		*cap = more;
	return larger;
}

static int
add_block(struct blocks *b, const struct block *new)
{
	struct block *at = grow(b->at, b->n, &b->cap, sizeof(*at));

	if (!at)
		return -ENOMEM;
	b->at = at;
	if (new->number < NUMBER_MAX)
		at[b->n++] = *new;
	return 0;
}

static int
find_cached(const struct spw_map *map, uint32_t file, struct blocks *ret)
{
	uint32_t n = spw_seg_ready(map, SPW_POOL_BLOCKS);
	int r = 0;

	for (uint32_t i = 0; i < n && r == 0; i++) {
		const struct spw_block *b = &map->blocks[i];
		struct spw_key key = spw_block_key(b);
		struct block new = {
			.number = key.number, .dirty = spw_block_is_dirty(b),
			.cached = true, .object = SPW_NONE,
		};

		if (key.file == file &&
		    key.file_gen == map->files[file].gen &&
		    atomic_load(&map->owners[SPW_POOL_BLOCKS][i]) &
		    SPW_IN_USE && (new.dirty ||
				   spw_glance8(&b->state.npresent)))
			r = add_block(ret, &new);
	}
	return r;
}

static int
add_chunk(const struct spw_chunk *c, struct blocks *ret)
{
	int r = 0;

	for (uint32_t bit = 0; bit < SPW_CHUNK_BLOCKS && r == 0; bit++) {
		struct block new = {
			.number = c->number * SPW_CHUNK_BLOCKS + bit,
			.below = true, .seq = atomic_load(&c->seq[bit]),
			.object = SPW_NONE,
		};

		if (atomic_load(&c->below[bit / 64]) >> bit % 64 & 1)
			r = add_block(ret, &new);
	}
	return r;
}

static int
find_below(const struct spw_map *map, uint32_t file, struct blocks *ret)
{
	uint32_t n = spw_seg_ready(map, SPW_POOL_CHUNKS);
	int r = 0;

	for (uint32_t i = 0; i < n && r == 0; i++) {
		const struct spw_chunk *c = &map->chunks[i];

		if (c->file == file && c->file_gen == map->files[file].gen &&
		    c->number < NUMBER_MAX / SPW_CHUNK_BLOCKS &&
		    atomic_load(&map->owners[SPW_POOL_CHUNKS][i]) &
		    SPW_IN_USE)
			r = add_chunk(c, ret);
	}
	return r;
}

static int
compare_blocks(const void *a, const void *b)
{
	const struct block *x = a, *y = b;

	return x->number < y->number ? -1 : x->number > y->number;
}

/* One entry a number; what is dirty counts more than what is below. */
static void
settle(struct blocks *b)
{
	size_t n = 0;

	if (b->n)
		qsort(b->at, b->n, sizeof(*b->at), compare_blocks);
	for (size_t i = 0; i < b->n; i++) {
		if (n && b->at[n - 1].number == b->at[i].number) {
			if (b->at[i].below)
				b->at[n - 1].seq = b->at[i].seq;
			b->at[n - 1].below |= b->at[i].below;
			b->at[n - 1].cached |= b->at[i].cached;
			b->at[n - 1].dirty |= b->at[i].dirty;
		} else {
			b->at[n++] = b->at[i];
		}
	}
	b->n = n;
	for (size_t i = 0; i < n; i++)
		b->at[i].below &= !b->at[i].dirty;
}

/* Who looks into a tier, by a thread of its own: it may not answer, and then it
 * is left to that. */
struct looker {
	struct spw_tier_setup setup;
	const struct spw_tier_ops *ops;
	char place[SPW_TIERS_LEN], owner[SPW_STORE_SHARE];
	uint64_t dev, ino;
	int64_t btime;
	uint32_t tier;
	struct spw_parts_object *objects;
	size_t nobjects, objects_cap;
	int err;
};

static void
tell_pack(const struct spw_object *o, struct spw_parts_object *ret)
{
	for (uint32_t i = 0; i < o->nblocks; i++) {
		const struct spw_object_block *b = &o->blocks[i];

		if (b->codec == SPW_CODEC_NONE)
			continue;
		ret->npacked++;
		ret->codec = b->codec;
		ret->level = (int8_t)b->level;
		ret->filter = b->filter;
		ret->width = b->width;
	}
}

static int
seen(void *arg, const struct spw_tier_found *f)
{
	struct looker *l = arg;
	const struct spw_object *o = f->object;
	struct spw_parts_object *at;

	if (!o || o->dev != l->dev || o->ino != l->ino ||
	    o->btime != l->btime)
		return 0;
	at = grow(l->objects, l->nobjects, &l->objects_cap, sizeof(*at));
	if (!at)
		return -ENOMEM;
	l->objects = at;
	at += l->nobjects++;
	*at = (struct spw_parts_object){
		.seq = o->seq, .offset = o->offset, .length = o->length,
		.stored = f->len, .place = f->place, .tier = l->tier,
		.nblocks = o->nblocks,
	};
	tell_pack(o, at);
	return 0;
}

static void *
look_into(void *arg)
{
	struct looker *l = arg;
	struct spw_tier *t;

	l->err = l->ops->open(&l->setup, &t);
	if (l->err < 0)
		return NULL;
	l->err = t->ops->list(t, seen, l);
	(void)t->ops->close(t, false);	/* it only looked */
	return NULL;
}

/* What it found belongs to the others. */
static int
take_over(struct spw_parts *p, const struct looker *l)
{
	for (size_t i = 0; i < l->nobjects; i++) {
		struct spw_parts_object *at =
			grow(p->objects, p->nobjects, &p->objects_cap,
			     sizeof(*at));

		if (!at)
			return -ENOMEM;
		p->objects = at;
		at[p->nobjects++] = l->objects[i];
	}
	return 0;
}

static struct looker *
new_looker(struct spw_map *map, const struct spw_file *file,
	   const struct spw_parts *p, unsigned i)
{
	struct looker *l = calloc(1, sizeof(*l));

	if (!l)
		return NULL;
	spw_store_share(map, l->owner);
	snprintf(l->place, sizeof(l->place), "%s",
		 spw_tierspec_place(&p->tiers, &p->tiers.tier[i]));
	l->setup = (struct spw_tier_setup){
		.place = l->place, .owner = l->owner,
		.capacity = UINT64_MAX, .look_only = true,
	};
	l->ops = spw_tier_by_kind(spw_tierspec_kind_name(
		p->tiers.tier[i].kind));
	l->dev = file->dev;
	l->ino = file->ino;
	l->btime = file->btime;
	l->tier = i;
	return l;
}

static int
look(struct spw_map *map, const struct spw_file *file, struct spw_parts *p,
     unsigned i)
{
	struct looker *l = new_looker(map, file, p, i);
	pthread_t thread;
	int r = 0;

	if (!l || !l->ops || pthread_create(&thread, NULL, look_into, l)) {
		r = l ? 0 : -ENOMEM;
		p->blind |= l && l->ops;
		free(l);
		return r;
	}
	if (spw_thread_join(thread, spw_now_ms() + PATIENCE_MS) < 0) {
		p->blind = true;
		return 0;		/* what it has is its own */
	}
	r = take_over(p, l);
	if (l->err == -ENOMEM)
		r = l->err;
	p->blind |= l->err < 0 && l->err != -ENOENT;
	free(l->objects);
	free(l);
	return r;
}

static int
find_objects(struct spw_map *map, uint32_t file, struct spw_parts *p)
{
	struct spw_diag d;
	int r = 0;

	if (!map->fixed.tiers[0])
		return 0;
	if (spw_tierspec_parse(map->fixed.tiers, "segment", SPW_KINDS_ALL,
			       NULL, &p->tiers, &d) < 0) {
		p->tiers.n = 0;
		p->blind = true;
	}
	for (unsigned i = 0; i < p->tiers.n && r == 0; i++)
		r = look(map, &map->files[file], p, i);
	return r;
}

static int
compare_objects(const void *a, const void *b)
{
	const struct spw_parts_object *x = a, *y = b;

	return x->seq < y->seq ? -1 : x->seq > y->seq;
}

/* What was expected of them, as far as the log still knows. */
static void
recall(struct spw_map *map, struct spw_parts *p)
{
	struct spw_parts_object key;
	struct spw_decision d;

	for (uint64_t n = spw_decision_first(map);
	     n < spw_decision_count(map); n++) {
		struct spw_parts_object *o;

		if (!spw_decision_get(map, n, &d) || d.err || !p->nobjects)
			continue;
		key.seq = d.object;
		o = bsearch(&key, p->objects, p->nobjects,
			    sizeof(key), compare_objects);
		if (!o)
			continue;
		o->decision = d;
		o->known = true;
	}
}

/* Whose blocks begin at or after a number. */
static size_t
first_from(const struct blocks *b, uint64_t number)
{
	size_t low = 0, high = b->n;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (b->at[mid].number < number)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

/* The object that the chunk means is the one that counts. */
static void
assign(const struct spw_parts *p, struct blocks *b)
{
	for (size_t k = 0; k < p->nobjects; k++) {
		const struct spw_parts_object *o = &p->objects[k];
		uint64_t end = o->offset + o->length;

		for (size_t i = first_from(b, o->offset >> SPW_BLOCK_SHIFT);
		     i < b->n && b->at[i].number << SPW_BLOCK_SHIFT < end;
		     i++)
			if (b->at[i].below &&
			    b->at[i].seq == (uint16_t)o->seq)
				b->at[i].object = (uint32_t)k;
	}
}

static bool
continues(const struct spw_part *a, const struct spw_part *b)
{
	return a->to == b->from && a->where == b->where &&
	       a->cached == b->cached && a->dirty == b->dirty &&
	       a->object == b->object;
}

static int
add_part(struct spw_parts *p, struct spw_part new)
{
	struct spw_part *at;

	new.to = SPW_MIN(new.to, p->size);
	if (new.from >= new.to)
		return 0;
	if (p->n && continues(&p->part[p->n - 1], &new)) {
		p->part[p->n - 1].to = new.to;
		return 0;
	}
	at = grow(p->part, p->n, &p->cap, sizeof(*at));
	if (!at)
		return -ENOMEM;
	p->part = at;
	at[p->n++] = new;
	return 0;
}

static int
add_home(struct spw_parts *p, uint64_t to)
{
	return add_part(p, (struct spw_part){
		.from = p->n ? p->part[p->n - 1].to : 0, .to = to,
		.where = SPW_PART_HOME, .object = SPW_NONE,
	});
}

static int
make_parts(struct spw_parts *p, const struct blocks *b)
{
	int r = 0;

	for (size_t i = 0; i < b->n && r == 0; i++) {
		const struct block *at = &b->at[i];
		uint64_t from = at->number << SPW_BLOCK_SHIFT;

		r = add_home(p, from);
		if (r == 0)
			r = add_part(p, (struct spw_part){
				.from = from, .to = from + SPW_BLOCK_SIZE,
				.where = at->dirty ? SPW_PART_MEMORY
					 : at->below ? SPW_PART_TIER
					 : SPW_PART_HOME,
				.cached = at->cached, .dirty = at->dirty,
				.object = at->object,
			});
	}
	return r == 0 ? add_home(p, p->size) : r;
}

int
spw_parts_find(struct spw_map *map, const struct spw_file_id *id,
	       struct spw_parts *ret)
{
	uint32_t file = spw_file_find(map, id);
	struct blocks b = { 0 };
	int r;

	memset(ret, 0, sizeof(*ret));
	if (file == SPW_NONE)
		return -ENOENT;
	ret->size = atomic_load(&map->files[file].size);
	ret->bypass = atomic_load(&map->files[file].bypass);
	if (ret->bypass >= SPW_BYPASS_COUNT)
		ret->bypass = SPW_BYPASS_NONE;
	r = find_cached(map, file, &b);
	if (r == 0)
		r = find_below(map, file, &b);
	if (r == 0)
		r = find_objects(map, file, ret);
	if (r == 0) {
		settle(&b);
		if (ret->nobjects)
			qsort(ret->objects, ret->nobjects,
			      sizeof(*ret->objects), compare_objects);
		recall(map, ret);
		assign(ret, &b);
		r = make_parts(ret, &b);
	}
	free(b.at);
	if (r < 0)
		spw_parts_free(ret);
	return r;
}

int
spw_parts_at_home(uint64_t size, struct spw_parts *ret)
{
	memset(ret, 0, sizeof(*ret));
	ret->size = size;
	return add_home(ret, size);
}

void
spw_parts_free(struct spw_parts *p)
{
	free(p->objects);
	free(p->part);
	p->objects = NULL;
	p->part = NULL;
	p->n = p->nobjects = 0;
}

const char *
spw_parts_tier(const struct spw_tierlist *tiers, uint32_t tier,
	       char buf[SPW_PARTS_TIER])
{
	if (tier >= tiers->n)
		return "?";
	snprintf(buf, SPW_PARTS_TIER, "%s:%s",
		 spw_tierspec_kind_name(tiers->tier[tier].kind),
		 spw_tierspec_place(tiers, &tiers->tier[tier]));
	return buf;
}

/* By its number, also where it is not to be had. */
static const char *
codec_name(uint8_t id)
{
	for (size_t i = 0; spw_codec_slot(i); i++)
		if (spw_codec_slot(i)->id == id)
			return spw_codec_slot(i)->name;
	return "?";
}

const char *
spw_parts_pack(uint8_t codec, int level, uint8_t filter, uint8_t width,
	       char buf[SPW_PARTS_PACK])
{
	const char *name = spw_filter_name(filter);
	int n;

	if (codec == SPW_CODEC_NONE)
		return "raw";
	n = snprintf(buf, SPW_PARTS_PACK, "%s=%d", codec_name(codec), level);
	if (filter)
		snprintf(buf + n, SPW_PARTS_PACK - (size_t)n, " %s%u",
			 name ? name : "?", width);
	return buf;
}
