/* SPDX-License-Identifier: BSD-3-Clause */
/* store.c -- opening the tiers below memory, and moving objects */
#include "planner/store.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "planner/held.h"
#include "shm/failpoint.h"
#include "shm/files.h"
#include "shm/names.h"
#include "shm/sys.h"
#include "tiers/codec.h"

enum {
	SHUN_MS = 1000, STAMP_MS = 1000,
	RAW_MAX = SPW_CHUNK_BLOCKS * SPW_BLOCK_SIZE,
	BUSY_MS = 10000, BUSY_US = 2000,	/* how long, between looks */
};

static const uint8_t codec_of_pin[SPW_PINS] = {
	[SPW_PIN_NONE] = SPW_CODEC_NONE, [SPW_PIN_RAW] = SPW_CODEC_NONE,
#define X(c, number, name, low, high) [SPW_PIN_##c] = SPW_CODEC_##c,
	SPW_CODEC_LINES(X)
#undef X
};

static void
choose_pack(const struct spw_tierspec *spec, struct spw_object_pack *ret)
{
	const struct spw_codec *codec =
		spw_codec_by_id(codec_of_pin[spec->codec]);

	*ret = (struct spw_object_pack){ 0 };
	if (!codec)
		return;
	ret->codec = codec->id;
	ret->level = spec->level != SPW_LEVEL_DEFAULT ? spec->level :
		     codec->default_level;
}

void
spw_store_share(const struct spw_map *map, char ret[SPW_STORE_SHARE])
{
	snprintf(ret, SPW_STORE_SHARE, "%s.%llx", map->fixed.job,
		 (unsigned long long)map->fixed.created);
}

/* A predecessor that was killed lets go of the segment first and of its share
 * a moment later. */
static int
open_share(const struct spw_tier_ops *ops, const struct spw_tier_setup *setup,
	   struct spw_tier **ret_tier)
{
	int64_t since = spw_now_ms();
	int r;

	while ((r = ops->open(setup, ret_tier)) == -EBUSY &&
	       spw_now_ms() - since < BUSY_MS)
		spw_sys_sleep_us(BUSY_US);
	return r;
}

static void
open_level(struct spw_drainer *d, const struct spw_tierlist *list,
	   const struct spw_tierspec *spec)
{
	struct spw_store *s = d->store;
	struct spw_level *level = &s->level[s->nlevels];
	const struct spw_tier_ops *ops =
		spw_tier_by_kind(spw_tierspec_kind_name(spec->kind));
	char name[SPW_STORE_SHARE];
	struct spw_tier_setup setup = {
		.place = spw_tierspec_place(list, spec), .owner = name,
		.capacity = spec->capacity, .create = true,
	};

	spw_store_share(d->map, name);
	*level = (struct spw_level){ 0 };
	if (!ops || open_share(ops, &setup, &level->tier) < 0)
		return;
	choose_pack(spec, &level->pack);
	s->nlevels++;
	if (level->tier->durable)
		atomic_store(&d->map->seg->durable, 1);
}

static bool
allocate(struct spw_drainer *d)
{
	struct spw_store *s = d->store;
	bool ok = true;

	s->bound = spw_round_up(spw_object_bound(SPW_FILE_PATH, RAW_MAX),
				SPW_TIER_ALIGN);
	s->scratch = aligned_alloc(SPW_TIER_ALIGN, RAW_MAX);
	s->raw = aligned_alloc(SPW_TIER_ALIGN, SPW_OBJECT_MAX);
	s->stored = aligned_alloc(SPW_TIER_ALIGN, SPW_OBJECT_MAX);
	s->of_file = calloc(d->map->counts[SPW_POOL_FILES],
			    sizeof(*s->of_file));
	s->places = calloc(d->map->counts[SPW_POOL_CHUNKS],
			   sizeof(*s->places));
	s->row = aligned_alloc(SPW_TIER_ALIGN, RAW_MAX);
	for (int i = 0; i < SPW_DOWN_DEPTH; i++) {
		s->down[i].x.buf = aligned_alloc(SPW_TIER_ALIGN, s->bound);
		ok &= s->down[i].x.buf != NULL;
	}
	for (int i = 0; i < SPW_LOADS; i++) {
		s->load[i].buf = aligned_alloc(SPW_TIER_ALIGN, RAW_MAX);
		ok &= s->load[i].buf != NULL;
	}
	return ok && s->row && s->scratch && s->raw && s->stored && s->of_file &&
	       s->places && spw_packer_new(&s->packer) == 0;
}

static void
release(struct spw_drainer *d)
{
	struct spw_store *s = d->store;

	for (int i = 0; i < SPW_DOWN_DEPTH; i++)
		free(s->down[i].x.buf);
	for (int i = 0; i < SPW_LOADS; i++)
		free(s->load[i].buf);
	free(s->row);
	for (uint32_t i = 0; s->places &&
	     i < d->map->counts[SPW_POOL_CHUNKS]; i++)
		free(s->places[i]);
	for (uint32_t i = 0; i < s->nheld; i++)
		free(s->held[i].o);
	spw_packer_free(s->packer);
	free(s->scratch);
	free(s->raw);
	free(s->stored);
	free(s->of_file);
	free(s->places);
	free(s->held);
	free(s->marks);
	free(s);
	d->store = NULL;
}

int
spw_store_open(struct spw_drainer *d)
{
	struct spw_tierlist *list;
	struct spw_diag diag;
	int r;

	atomic_store(&d->map->seg->durable, 0);
	if (!d->map->fixed.tiers[0])
		return 0;
	list = malloc(sizeof(*list));
	d->store = calloc(1, sizeof(*d->store));
	if (!list || !d->store || !allocate(d)) {
		free(list);
		if (d->store)
			release(d);
		return -ENOMEM;
	}
	(void)spw_codec_load(NULL);
	r = spw_tierspec_parse(d->map->fixed.tiers, "segment", SPW_KINDS_ALL,
			       NULL, list, &diag);
	for (unsigned i = 0; r == 0 && i < list->n; i++)
		if (list->tier[i].kind != SPW_KIND_RAM)
			open_level(d, list, &list->tier[i]);
	free(list);
	return r < 0 ? r : spw_held_find(d);
}

void
spw_store_close(struct spw_drainer *d)
{
	struct spw_store *s = d->store;

	if (!s)
		return;
	spw_store_reap(d, true);
	if (s->nmarks)
		(void)spw_store_sync(d);	/* and with it they go */
	for (uint32_t i = 0; i < s->nlevels; i++) {
		struct spw_tier *t = s->level[i].tier;

		(void)t->ops->close(t, !spw_held_any(d, i));
	}
	release(d);
}

struct spw_down *
spw_store_begin(struct spw_drainer *d)
{
	struct spw_store *s = d->store;

	for (;;) {
		for (int i = 0; i < SPW_DOWN_DEPTH; i++)
			if (!s->down[i].busy) {
				s->down[i].busy = true;
				s->down[i].nblocks = 0;
				return &s->down[i];
			}
		spw_held_reap_one(d);
	}
}

void
spw_store_cancel(struct spw_down *down)
{
	down->busy = false;
}

static void
moved(void *arg, uint64_t from, uint64_t to)
{
	spw_held_move(arg, from, to);
}

static bool
has_room(struct spw_drainer *d, uint32_t level, uint64_t bytes)
{
	struct spw_tier *t = d->store->level[level].tier;
	struct spw_tier_space space;

	t->ops->space(t, &space);
	if (space.capacity - space.used >= bytes)
		return true;
	if (space.capacity - space.live < 2 * bytes || !t->ops->clean)
		return false;
	spw_held_clean(d, level, 8 * bytes, moved);
	t->ops->space(t, &space);
	return space.capacity - space.used >= bytes;
}

static bool
takes(struct spw_drainer *d, uint32_t level, bool durable, uint64_t bytes)
{
	const struct spw_level *l = &d->store->level[level];

	return (!durable || l->tier->durable) &&
	       l->shunned_until <= spw_now_ms() && has_room(d, level, bytes);
}

/* The size that the file was cut to since its last object. If something may
 * have gone home since, which a replay must not cut, this is not told: the
 * next fsync has home to sync anyway, and no older object may count then. */
static uint64_t
take_cut(struct spw_drainer *d, uint32_t file)
{
	struct spw_home *h = spw_home_of(d, file);
	uint64_t low = atomic_exchange(&d->map->files[file].low, 0);

	if (!low)
		return UINT64_MAX;
	if (h->named && !h->unsynced &&
	    !(atomic_load(&d->map->files[file].flags) & SPW_FILE_TOUCHED))
		return low - 1;
	if (d->store->of_file[file])
		h->doubtful = true;
	return UINT64_MAX;
}

static void
describe(struct spw_drainer *d, struct spw_down *down)
{
	struct spw_store *s = d->store;
	struct spw_file *f = &d->map->files[down->file];
	struct spw_object *o = &down->o;

	down->file_gen = f->gen;
	o->dev = f->dev;
	o->ino = f->ino;
	o->btime = f->btime;
	o->seq = atomic_fetch_add(&d->map->seg->sequence, 1) + 1;
	o->file_size = atomic_load(&f->size);
	o->cut = take_cut(d, down->file);
	o->wtime = atomic_load(&f->wtime);
	o->block_size = 0;
	o->path = s->path;
	o->path_len = spw_name_copy(f, 0, s->path)
		      ? (uint32_t)strlen(s->path) : 0;
}

/* No object tells of the cut: the next one has to. */
static void
give_back_cut(struct spw_drainer *d, const struct spw_down *down)
{
	if (down->o.cut != UINT64_MAX)
		spw_file_note_low(&d->map->files[down->file], down->o.cut);
}

uint8_t *
spw_store_raw(struct spw_drainer *d, struct spw_down *down, bool durable)
{
	struct spw_store *s = d->store;
	uint32_t nblocks = (uint32_t)((down->o.length + SPW_OBJECT_BLOCK - 1) /
				      SPW_OBJECT_BLOCK);

	describe(d, down);
	for (down->tier = 0; down->tier < s->nlevels; down->tier++)
		if (takes(d, down->tier, durable,
			  spw_object_bound(down->o.path_len,
					   down->o.length) + SPW_TIER_ALIGN))
			break;
	if (down->tier == s->nlevels) {
		give_back_cut(d, down);
		return NULL;
	}
	if (s->level[down->tier].pack.codec != SPW_CODEC_NONE)
		return s->scratch;
	return (uint8_t *)down->x.buf +
	       spw_object_head_size(down->o.path_len, nblocks);
}

static int
send(struct spw_drainer *d, struct spw_down *down)
{
	struct spw_tier *t = d->store->level[down->tier].tier;
	int r;

	for (;;) {
		r = t->ops->submit(t, &down->x);
		if (r != -EAGAIN)
			return r;
		spw_held_reap_one(d);
	}
}

int
spw_store_put(struct spw_drainer *d, struct spw_down *down)
{
	struct spw_store *s = d->store;
	struct spw_level *l = &s->level[down->tier];
	uint32_t nblocks = (uint32_t)((down->o.length + SPW_OBJECT_BLOCK - 1) /
				      SPW_OBJECT_BLOCK);
	const uint8_t *src = l->pack.codec != SPW_CODEC_NONE ? s->scratch
		: (uint8_t *)down->x.buf +
		  spw_object_head_size(down->o.path_len, nblocks);
	int64_t n = spw_object_encode(s->packer, &down->o, &l->pack,
				      down->x.buf, s->bound, src);
	int r = n < 0 ? (int)n : 0;

	down->x.up = false;
	down->x.len = (size_t)n;
	down->x.user = down;
	if (r == 0)
		r = send(d, down);
	if (r < 0) {
		if (n >= 0 && r != -ENOSPC)
			l->shunned_until = spw_now_ms() + SHUN_MS;
		give_back_cut(d, down);
		return r;
	}
	l->unsynced = true;
	SPW_FAILPOINT("store-submitted");
	return 0;
}

/* What a transfer has come to. Those upwards are waited for by their
 * reader. */
static void
end(struct spw_drainer *d, struct spw_transfer *x)
{
	struct spw_down *down = x->user;
	struct spw_seg *seg = d->map->seg;

	if (x->up)
		return;
	if (x->err) {
		d->store->level[down->tier].shunned_until =
			spw_now_ms() + SHUN_MS;
		/* Younger ones may be there already. */
		if (down->o.cut != UINT64_MAX)
			d->homes[down->file].doubtful = true;
	} else {
		atomic_fetch_add(&seg->requests_down, 1);
		atomic_fetch_add(&seg->bytes_down, down->o.length);
		atomic_fetch_add(&seg->stored_down, x->len);
	}
	down->over(d, down);
	down->busy = false;
}

static bool
is_any_down(const struct spw_store *s)
{
	for (int i = 0; i < SPW_DOWN_DEPTH; i++)
		if (s->down[i].busy)
			return true;
	return false;
}

static bool
reap(struct spw_drainer *d, bool wait)
{
	struct spw_store *s = d->store;
	bool any = false;

	for (uint32_t i = 0; i < s->nlevels; i++) {
		struct spw_tier *t = s->level[i].tier;
		struct spw_transfer *x = t->ops->reap(t, wait);

		if (x) {
			end(d, x);
			any = true;
		}
	}
	return any;
}

void
spw_store_reap(struct spw_drainer *d, bool wait)
{
	if (!d->store)
		return;
	while (is_any_down(d->store) && reap(d, wait))
		;
}

void
spw_held_reap_one(struct spw_drainer *d)
{
	(void)reap(d, true);
}

int
spw_store_sync(struct spw_drainer *d)
{
	struct spw_store *s = d->store;
	int err = 0;

	spw_store_reap(d, true);
	for (uint32_t i = 0; i < s->nlevels; i++) {
		struct spw_level *l = &s->level[i];
		int r = l->unsynced ? l->tier->ops->sync(l->tier) : 0;

		if (r < 0) {
			l->shunned_until = spw_now_ms() + SHUN_MS;
			err = err ? err : r;
		} else {
			l->unsynced = false;
		}
	}
	if (err == 0) {
		s->inherited = false;
		spw_marks_retire(d);
	}
	return err;
}

static int
read_stored(struct spw_drainer *d, const struct spw_held *h, uint64_t at,
	    uint64_t len)
{
	struct spw_tier *t = d->store->level[h->tier].tier;
	struct spw_transfer x = {
		.up = true, .place = h->place, .at = at, .len = len,
		.buf = d->store->stored,
	};
	struct spw_transfer *got;
	int r;

	while ((r = t->ops->submit(t, &x)) == -EAGAIN)
		spw_held_reap_one(d);
	if (r < 0)
		return r;
	while ((got = t->ops->reap(t, true)) != &x && got)
		end(d, got);
	return got ? x.err : -EIO;
}

int
spw_store_read(struct spw_drainer *d, uint32_t held, uint64_t from,
	       uint64_t to, void *buf)
{
	struct spw_store *s = d->store;
	const struct spw_object *o = s->held[held].o;
	uint64_t end_at = SPW_MIN(to, o->offset + o->length);
	uint64_t skip, n = end_at - from, bad;
	struct spw_object_part part;
	bool direct;
	int r;

	spw_object_part(o, from - o->offset, end_at - o->offset, &part);
	if (part.len > SPW_OBJECT_MAX || part.raw_len > SPW_OBJECT_MAX)
		return -EBADMSG;
	r = read_stored(d, &s->held[held], part.at, part.len);
	if (r < 0)
		return r;
	skip = from - o->offset - part.raw_at;
	direct = skip == 0 && part.raw_len <= to - from;
	r = spw_object_decode(s->packer, o, &part, s->stored,
			      direct ? buf : s->raw, &bad);
	if (r < 0)
		return r;
	if (!direct)
		memcpy(buf, s->raw + skip, n);
	memset((uint8_t *)buf + n, 0, to - from - n);
	atomic_fetch_add(&d->map->seg->requests_up, 1);
	atomic_fetch_add(&d->map->seg->bytes_up, n);
	return 0;
}

void
spw_store_stamp(struct spw_drainer *d)
{
	struct spw_store *s = d->store;
	int64_t now = spw_now_ms();

	if (!s || now - s->stamped < STAMP_MS)
		return;
	s->stamped = now;
	for (uint32_t i = 0; i < s->nlevels; i++)
		(void)spw_syscall(SYS_utimensat, s->level[i].tier->lock, 0, 0,
				  0, 0, 0);
}

bool
spw_store_is_short(struct spw_drainer *d)
{
	struct spw_store *s = d->store;

	for (uint32_t i = 0; s && i < s->nlevels; i++) {
		struct spw_tier *t = s->level[i].tier;
		struct spw_tier_space space;

		t->ops->space(t, &space);
		if (space.live > space.capacity / 2)
			return true;
	}
	return false;
}
