/* SPDX-License-Identifier: BSD-3-Clause */
/* store.c -- opening the tiers below memory, and moving objects */
#include "planner/store.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "planner/advice.h"
#include "planner/away.h"
#include "planner/held.h"
#include "shm/failpoint.h"
#include "shm/files.h"
#include "shm/gate.h"
#include "shm/names.h"
#include "shm/sys.h"
#include "tiers/codec.h"

enum {
	RAW_MAX = SPW_CHUNK_BLOCKS * SPW_BLOCK_SIZE,
	BUSY_MS = 10000, BUSY_US = 2000,	/* how long, between looks */
	PATIENCE = 4,			/* times the queue of the best tier */
	DRY_MS = 1000,			/* no room could be made */
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
open_share(struct spw_drainer *d, uint32_t number, struct spw_apart **ret_tier)
{
	int64_t since = spw_now_ms();
	const struct spw_tier_ops *ops;
	struct spw_tier_setup setup;
	int r;

	*ret_tier = NULL;
	spw_away_setup(d, number, &setup, &ops);
	if (!ops)
		return -ENOTSUP;
	while ((r = spw_apart_open(d->store->bell, ops, &setup,
				   spw_away_patience(d, number),
				   ret_tier)) == -EBUSY &&
	       spw_now_ms() - since < BUSY_MS)
		spw_sys_sleep_us(BUSY_US);
	return r;
}

static void
open_level(struct spw_drainer *d, uint32_t number)
{
	const struct spw_tierspec *spec = &spw_away_list(d)->tier[number];
	struct spw_store *s = d->store;
	struct spw_level *level = &s->level[s->nlevels];
	int r;

	*level = (struct spw_level){ .number = number };
	if (!spw_away_is(d, number)) {
		r = open_share(d, number, &level->tier);
		if (r < 0)
			spw_away_note(d, number, r, r == -ETIMEDOUT ?
				      level->tier : NULL, SPW_AWAY_OPENS);
	}
	if (spw_away_is(d, number)) {
		s->partial |= atomic_load(&d->map->seg->levels[number]
					   .capacity) != 0;
		return;
	}
	spw_level_opened(d, number, level->tier);
	choose_pack(spec, &level->pack);
	level->pinned = spec->codec != SPW_PIN_NONE;
	s->nlevels++;
	if (spw_apart_is_durable(level->tier))
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
	s->of_file = calloc(d->map->counts[SPW_POOL_FILES],
			    sizeof(*s->of_file));
	s->promised = calloc(d->map->counts[SPW_POOL_FILES],
			     sizeof(*s->promised));
	s->idle = calloc(d->map->counts[SPW_POOL_FILES], sizeof(*s->idle));
	s->places = calloc(d->map->counts[SPW_POOL_CHUNKS],
			   sizeof(*s->places));
	s->readers = calloc(d->map->counts[SPW_POOL_LANES],
			    sizeof(*s->readers));
	s->errands = calloc(d->map->counts[SPW_POOL_CHUNKS],
			    sizeof(*s->errands));
	for (int i = 0; i < SPW_LOADS; i++) {
		s->load[i].buf = aligned_alloc(SPW_TIER_ALIGN, RAW_MAX);
		s->load[i].stored = aligned_alloc(SPW_TIER_ALIGN, s->bound);
		s->load[i].packer = s->unpacker;
		ok &= s->load[i].buf && s->load[i].stored;
	}
	for (int i = 0; ok && i < SPW_CREW_HANDS; i++)
		ok = spw_packer_new(&s->unpacker[i]) == 0;
	return ok && spw_packer_new(&s->viewer) == 0 && s->scratch &&
	       s->of_file && s->promised && s->idle && s->places &&
	       s->readers && s->errands &&
	       spw_pack_open(&s->crew, d->map->fixed.workers, s->bell) == 0;
}

/* What tiers may keep for long, in case they do. */
static int
allocate_transfers(struct spw_store *s)
{
	bool ok = true;

	/* As many again for fsync, and those that are packed. */
	s->ndown = 3 * SPW_DOWN_DEPTH * s->nlevels + SPW_DOWN_DEPTH;
	s->down = calloc(s->ndown, sizeof(*s->down));
	for (uint32_t i = 0; s->down && i < s->ndown; i++) {
		s->down[i].x.buf = aligned_alloc(SPW_TIER_ALIGN, s->bound);
		ok &= s->down[i].x.buf != NULL;
	}
	for (uint32_t i = 0; i < s->nlevels; i++) {
		s->level[i].up.buf = aligned_alloc(SPW_TIER_ALIGN,
						   SPW_TIER_ALIGN +
						   SPW_OBJECT_MAX);
		ok &= s->level[i].up.buf != NULL;
	}
	if (!s->down)
		s->ndown = 0;
	return s->ndown && ok ? 0 : -ENOMEM;
}

static void
release(struct spw_drainer *d)
{
	struct spw_store *s = d->store;

	spw_pack_close(&s->crew);
	for (uint32_t i = 0; s->down && i < s->ndown; i++)
		free(s->down[i].x.buf);
	free(s->down);
	for (uint32_t i = 0; i < s->nlevels; i++) {
		spw_ahead_free(&s->level[i]);
		free(s->level[i].up.buf);
	}
	for (int i = 0; i < SPW_LOADS; i++) {
		free(s->load[i].buf);
		free(s->load[i].stored);
	}
	for (int i = 0; i < SPW_CREW_HANDS; i++)
		spw_packer_free(s->unpacker[i]);
	spw_packer_free(s->viewer);
	for (uint32_t i = 0; s->places &&
	     i < d->map->counts[SPW_POOL_CHUNKS]; i++)
		free(s->places[i]);
	for (uint32_t i = 0; i < s->nheld; i++)
		free(s->held[i].o);
	free(s->scratch);
	spw_crew_tell(d->crew, NULL, NULL);
	free(s->of_file);
	free(s->promised);
	free(s->idle);
	free(s->places);
	free(s->readers);
	free(s->errands);
	free(s->held);
	free(s->marks);
	free(s);
	d->store = NULL;
}

/* Not one of them goes, whatever was found in it until now. */
static void
leave_levels(struct spw_drainer *d, uint32_t except)
{
	struct spw_store *s = d->store;

	for (uint32_t i = 0; i < s->nlevels; i++)
		if (i != except &&
		    spw_apart_close(s->level[i].tier, false) == -ETIMEDOUT)
			spw_away_note(d, s->level[i].number, -ETIMEDOUT,
				      s->level[i].tier, SPW_AWAY_CLOSES);
}

/* -EAGAIN: once more, without one that could not be listed. */
static int
find_objects(struct spw_drainer *d)
{
	struct spw_store *s = d->store;
	uint32_t level;
	int r = spw_held_find(d, &level);

	if (r >= 0 || r == -ENOMEM)
		return r;
	leave_levels(d, level);
	if (r != -ETIMEDOUT)
		(void)spw_apart_close(s->level[level].tier, false);
	spw_away_note(d, s->level[level].number, r, r == -ETIMEDOUT ?
		      s->level[level].tier : NULL, SPW_AWAY_LISTS);
	spw_advice_close(d);
	release(d);
	return -EAGAIN;
}

static int
open_all(struct spw_drainer *d)
{
	const struct spw_tierlist *list = spw_away_list(d);
	int r;

	d->store = calloc(1, sizeof(*d->store));
	if (!d->store)
		return -ENOMEM;
	d->store->bell = spw_away_bell(d);
	if (!allocate(d)) {
		release(d);
		return -ENOMEM;
	}
	spw_crew_tell(d->crew, spw_bell_ring, d->store->bell);
	for (uint32_t i = 0; i < list->n; i++)
		if (list->tier[i].kind != SPW_KIND_RAM)
			open_level(d, i);
	r = allocate_transfers(d->store);
	if (r == 0 && d->store->nlevels)
		spw_advice_open(d, list);
	if (r == 0)
		r = find_objects(d);
	if (r < 0 && r != -EAGAIN) {	/* what is there is not known */
		leave_levels(d, SPW_NONE);
		spw_advice_close(d);
		release(d);
	}
	return r;
}

int
spw_store_open(struct spw_drainer *d)
{
	int r;

	atomic_store(&d->map->seg->durable, 0);
	if (!d->map->fixed.tiers[0])
		return 0;
	(void)spw_codec_load(NULL);
	r = spw_away_begin(d);
	if (r < 0)
		return r;
	while ((r = open_all(d)) == -EAGAIN)
		;
	spw_levels_note(d);
	return r;
}

/* A tier that does not answer still has buffers of it: it stays, and who looks
 * for leaks is led to it. */
static void
abandon(struct spw_drainer *d)
{
	static struct spw_store *last;

	d->store->before = last;
	last = d->store;
	d->store = NULL;
}

bool
spw_store_is_quiet(const struct spw_drainer *d)
{
	const struct spw_store *s = d->store;

	/* A deaf one keeps what it has, also when the store is closed. */
	for (uint32_t i = 0; i < s->nlevels; i++)
		if (s->level[i].reading && !s->level[i].deaf)
			return false;
	for (uint32_t i = 0; i < s->ndown; i++)
		if (s->down[i].busy && !s->down[i].late)
			return false;
	for (int i = 0; i < SPW_LOADS; i++)
		if (s->load[i].busy)
			return false;
	return true;
}

/* All that is in the level is home, as far as we know what that is. */
static bool
is_needless(struct spw_drainer *d, uint32_t level)
{
	if (spw_held_any(d, level))
		return false;
	return !d->store->level[level].unread ||
	       (!spw_any_below(d->map) && !spw_any_dirty(d->map));
}

void
spw_store_close(struct spw_drainer *d)
{
	struct spw_store *s = d->store;
	bool kept = false;

	if (!s)
		return;
	spw_store_reap(d, true);
	if (s->nmarks)
		(void)spw_store_sync(d);	/* and with it they go */
	spw_pack_close(&s->crew);
	spw_advice_close(d);
	for (uint32_t i = 0; i < s->nlevels; i++) {
		struct spw_level *l = &s->level[i];

		if (spw_apart_close(l->tier, is_needless(d, i)) !=
		    -ETIMEDOUT)
			continue;
		spw_away_note(d, l->number, -ETIMEDOUT, l->tier,
			      SPW_AWAY_CLOSES);
		kept = true;
	}
	if (!kept) {
		release(d);
		return;
	}
	spw_crew_tell(d->crew, NULL, NULL);
	abandon(d);
}

void
spw_store_cancel(struct spw_drainer *d, struct spw_down *down)
{
	spw_advice_leave(d, down);
	down->busy = false;
}

static bool
has_room(struct spw_drainer *d, uint32_t level, uint64_t bytes)
{
	struct spw_apart *t = d->store->level[level].tier;
	struct spw_tier_space space;

	bytes += d->store->level[level].reserved;
	spw_apart_space(t, &space);
	if (space.capacity - space.used >= bytes)
		return true;
	if (space.capacity - space.live < 2 * bytes || !spw_apart_can_clean(t))
		return false;
	spw_await_clean(d, level, 8 * bytes);
	spw_apart_space(t, &space);
	return space.capacity - space.used >= bytes;
}

/* Nobody else takes anything, home included. */
static bool
is_last_resort(const struct spw_drainer *d, int64_t now)
{
	return d->dry_since && now - d->dry_since >= DRY_MS;
}

static bool
is_shunned(const struct spw_drainer *d, const struct spw_level *l)
{
	int64_t now = spw_now_ms();

	return l->deaf || l->shunned_until > now ||
	       (l->read_err && !is_last_resort(d, now));
}

/* Why a tier does not take it; 0: it does. */
static unsigned
refuses(struct spw_drainer *d, uint32_t level, bool durable, uint64_t bytes)
{
	const struct spw_level *l = &d->store->level[level];

	if (durable && !spw_apart_is_durable(l->tier))
		return SPW_WHY_SYNC;
	if (is_shunned(d, l))
		return SPW_WHY_SHUNNED;
	return has_room(d, level, bytes) ? 0 : SPW_WHY_FULL;
}

/* The size that the file was cut to since its last object. If something may
 * have gone home since, which a replay must not cut, this is not told: the
 * next fsync has home to sync anyway, and no older object may count then. */
static uint64_t
take_cut(struct spw_drainer *d, uint32_t file)
{
	struct spw_home *h = spw_home_of(d, file);
	uint64_t low = atomic_exchange(&d->map->files[file].low, 0);

	if (low) {
		h->uncut = true;
		h->logged_size = UINT64_MAX;	/* one more is to say that home
						 * keeps it, when it does */
	}
	low = spw_file_lowest(low, h->kept_cut);
	h->kept_cut = 0;
	if (!low)
		return UINT64_MAX;
	if (h->named && !h->unsynced && !h->loose &&
	    !(atomic_load(&d->map->files[file].flags) & SPW_FILE_TOUCHED))
		return low - 1;
	if (d->store->of_file[file] || d->store->partial)
		h->doubtful = true;
	return UINT64_MAX;
}

static void
describe(struct spw_drainer *d, struct spw_down *down)
{
	struct spw_file *f = &d->map->files[down->file];
	struct spw_home *h = spw_home_of(d, down->file);
	struct spw_object *o = &down->o;

	down->file_gen = f->gen;
	o->dev = f->dev;
	o->ino = f->ino;
	o->btime = f->btime;
	o->file_size = atomic_load(&f->size);
	o->cut = UINT64_MAX;
	if (!(o->flags & SPW_OBJECT_HOME)) {
		o->seq = atomic_fetch_add(&d->map->seg->sequence, 1) + 1;
		o->cut = take_cut(d, down->file);
	}
	if (h->named && !h->uncut)
		o->flags |= SPW_OBJECT_FIRM;
	o->wtime = atomic_load(&f->wtime);
	o->home_time = h->uncut ? 0 : atomic_load(&f->home_mtime);
	o->block_size = 0;
	o->path = down->path;
	o->path_len = spw_name_copy(f, 0, down->path)
		      ? (uint32_t)strlen(down->path) : 0;
}

/* No object tells of the cut: the next one has to. */
static void
give_back_cut(struct spw_drainer *d, const struct spw_down *down)
{
	if (down->o.cut != UINT64_MAX)
		spw_file_note_low(&d->map->files[down->file], down->o.cut);
}

/* Where the raw bytes lie: they are packed in their place. */
static uint8_t *
raw_bytes(const struct spw_down *down)
{
	uint32_t nblocks = (uint32_t)((down->o.length + SPW_OBJECT_BLOCK - 1) /
				      SPW_OBJECT_BLOCK);

	return (uint8_t *)down->x.buf +
	       spw_object_head_size(down->o.path_len, nblocks);
}

static uint64_t
room_for(const struct spw_down *down, uint64_t bytes)
{
	return spw_object_bound(down->o.path_len, bytes) + SPW_TIER_ALIGN;
}

uint8_t *
spw_store_raw(struct spw_drainer *d, struct spw_down *down, bool durable)
{
	struct spw_store *s = d->store;

	describe(d, down);
	spw_log_begin(down);
	down->reserved = room_for(down, down->o.length);
	down->why.why = durable ? SPW_WHY_SYNC : 0;
	for (down->tier = 0; down->tier < s->nlevels; down->tier++) {
		unsigned why = refuses(d, down->tier, durable,
				       down->reserved);

		if (!why)
			return raw_bytes(down);
		down->why.why |= (uint16_t)why;
	}
	give_back_cut(d, down);
	spw_log_through(d, down);
	return NULL;
}

/* Tiers that could take some of it, a bit each. */
static uint64_t
usable(struct spw_drainer *d, bool durable)
{
	struct spw_store *s = d->store;
	uint64_t tiers = 0;

	for (uint32_t i = 0; i < s->nlevels; i++)
		if (!is_shunned(d, &s->level[i]) &&
		    (!durable || spw_apart_is_durable(s->level[i].tier)))
			tiers |= 1ull << i;
	return tiers;
}

/* All of it, or what a piece of the plan takes of it: whole blocks. */
static uint64_t
bytes_of(const struct spw_down *down, const struct spw_advice *a, unsigned i)
{
	uint64_t n = a->n > 1 ? a->piece[i].bytes : down->o.length;

	return a->n > 1 ? SPW_MAX(n / SPW_BLOCK_SIZE, 1u) * SPW_BLOCK_SIZE : n;
}

static void
shorten(struct spw_down *down, uint64_t bytes)
{
	const uint8_t *from = raw_bytes(down);

	if (bytes >= down->o.length)
		return;
	down->o.length = bytes;
	memmove(raw_bytes(down), from, bytes);	/* a shorter head */
}

/* How much of a piece a tier has room for, whether it gets smaller or not, in
 * whole blocks. The planner fills tiers to the last byte, by what it expects to
 * be stored, and does not know of heads. 0: it is not worth an object. */
static uint64_t
bytes_that_fit(struct spw_drainer *d, const struct spw_down *down,
	       uint32_t level, uint64_t bytes)
{
	const struct spw_level *l = &d->store->level[level];
	uint64_t need = room_for(down, bytes), left, fit;
	unsigned why = refuses(d, level, false, need);
	struct spw_tier_space space;

	if (why != SPW_WHY_FULL)
		return why ? 0 : bytes;
	spw_apart_space(l->tier, &space);
	left = space.used + l->reserved;
	left = space.capacity - SPW_MIN(left, space.capacity);
	if (left + bytes < need)
		return 0;
	fit = (left + bytes - need) / SPW_BLOCK_SIZE * SPW_BLOCK_SIZE;
	return fit * 2 >= bytes ? fit : 0;
}

struct counselled {			/* what an object is to do */
	struct spw_advice advice;
	unsigned piece;			/* of it; the number of them: go home */
	uint64_t bytes;
};

/* A tier that turns out to have no room is left out. */
static bool
ask_some(struct spw_drainer *d, const struct spw_down *down, uint64_t tiers,
	 struct counselled *ret)
{
	struct spw_advice *a = &ret->advice;

	while (tiers && spw_advice_ask(d, down, raw_bytes(down), tiers, a)) {
		unsigned i = ret->piece = spw_advice_first(d, a);

		if (i == a->n)
			return true;
		ret->bytes = bytes_that_fit(d, down, a->piece[i].tier,
					    bytes_of(down, a, i));
		if (ret->bytes)
			return true;
		tiers &= ~(1ull << a->piece[i].tier);
	}
	return false;
}

static const struct spw_advised *
piece_of(const struct counselled *c)
{
	return c->piece < c->advice.n ? &c->advice.piece[c->piece] : NULL;
}

/* Where the best tier has a queue, another one may have nothing to do. */
static bool
ask(struct spw_drainer *d, const struct spw_down *down, bool durable,
    struct counselled *ret)
{
	uint64_t tiers = usable(d, durable);
	const struct spw_advised *best, *second;
	struct counselled other;

	if (!ask_some(d, down, tiers, ret))
		return false;
	best = piece_of(ret);
	if (!best || d->store->level[best->tier].waiting < SPW_QUEUE_DEPTH ||
	    !ask_some(d, down, tiers & ~(1ull << best->tier), &other))
		return true;
	second = piece_of(&other);
	if (second && spw_await_is_free(&d->store->level[second->tier]) &&
	    second->expected.write < PATIENCE * best->expected.write)
		*ret = other;
	return true;
}

uint64_t
spw_store_plan(struct spw_drainer *d, struct spw_down *down, bool durable)
{
	const struct spw_store *s = d->store;
	struct counselled c;

	if ((s->nlevels == 1 && s->level[0].pinned) ||
	    !ask(d, down, durable, &c))
		return down->o.length;
	if (!piece_of(&c)) {
		spw_advice_take(d, &c.advice, 0, down);
		give_back_cut(d, down);
		spw_log_through(d, down);
		return 0;
	}
	spw_advice_take(d, &c.advice, c.piece, down);
	shorten(down, c.bytes);
	down->reserved = room_for(down, down->o.length);
	return down->o.length;
}

/* With zeros. They mostly are there, since the last object was as long; to
 * change what a disk has just read takes longer than to look at it. By who has
 * just written before them, and not by the tier: they are in no other's
 * cache. */
static void
pad(uint8_t *at, uint64_t n)
{
	if (n && (at[0] || memcmp(at, at + 1, n - 1) != 0))
		memset(at, 0, n);
}

void
spw_store_send(struct spw_drainer *d, struct spw_down *down)
{
	struct spw_level *l = &d->store->level[down->tier];

	down->x.up = false;
	down->x.len = (size_t)down->pack.stored;
	pad((uint8_t *)down->x.buf + down->x.len,
	    spw_round_up(down->x.len, SPW_TIER_ALIGN) - down->x.len);
	down->x.user = down;
	down->sent = true;
	down->sent_ns = spw_now_ns();
	down->due = l->syncs + 1 + l->syncing;
	l->reserved -= down->reserved;
	l->sent++;
	spw_advice_sent(d, down);
	spw_apart_move(l->tier, &down->x, down->o.flags & SPW_OBJECT_SYNC);
	l->unsynced = true;
	SPW_FAILPOINT("store-submitted");
}

int
spw_store_put(struct spw_drainer *d, struct spw_down *down)
{
	struct spw_store *s = d->store;
	struct spw_level *l = &s->level[down->tier];

	if (l->pinned)
		down->why.why |= SPW_WHY_PINNED;
	if (!down->planned)
		down->pack.pack = l->pack;
	down->pack.o = &down->o;
	down->pack.raw = raw_bytes(down);
	down->pack.to = down->x.buf;
	down->pack.cap = s->bound;
	l->reserved += down->reserved;
	/* Sums alone take less time than two changes of thread. */
	if (down->pack.pack.codec == SPW_CODEC_NONE) {
		spw_pack_now(&s->crew, &down->pack);
	} else if (spw_pack_start(&s->crew, &down->pack)) {
		return 0;
	}
	if (down->pack.stored < 0) {
		l->reserved -= down->reserved;
		give_back_cut(d, down);
		return (int)down->pack.stored;
	}
	spw_await_place(d, down);
	return 0;
}

/* A head of our own: who takes a piece may wait for room, and what makes that
 * may let go of the object. */
static int
give_away(struct spw_drainer *d, const struct spw_object *o,
	  const struct spw_object_part *part, const uint8_t *stored,
	  struct spw_taker taker, struct spw_span *span)
{
	for (uint32_t i = part->first; i < part->first + part->count; i++) {
		uint64_t at = o->offset + (uint64_t)i * o->block_size;
		uint64_t from = SPW_MAX(at, span->from);
		const uint8_t *raw;
		int64_t n = spw_object_view(d->store->viewer, o, i, stored,
					    &raw);

		if (n < 0) {
			spw_load_blame(o, at - o->offset, span);
			return (int)n;
		}
		if (!taker.take(taker.arg, from, raw + (from - at),
				SPW_MIN(at + (uint64_t)n, span->to) - from))
			break;
		stored += o->blocks[i].stored;
	}
	return 0;
}

int
spw_store_read(struct spw_drainer *d, uint32_t held, uint64_t from,
	       uint64_t to, struct spw_taker taker, struct spw_span *ret_bad)
{
	struct spw_object *o = spw_held_copy(d->store->held[held].o);
	struct spw_object_part part;
	const uint8_t *stored;
	int r = -EBADMSG;

	*ret_bad = (struct spw_span){ from, to };
	if (!o)
		return -ENOMEM;
	spw_object_part(o, from - o->offset, to - o->offset, &part);
	if (part.len <= SPW_OBJECT_MAX && part.raw_len <= SPW_OBJECT_MAX)
		r = spw_await_read(d, held, part.at, part.len, &stored);
	if (r == 0) {
		atomic_fetch_add(&d->map->seg->requests_up, 1);
		atomic_fetch_add(&d->map->seg->bytes_up,
				 SPW_MIN(to, o->offset + o->length) - from);
		r = give_away(d, o, &part, stored, taker, ret_bad);
	}
	free(o);
	return r;
}

bool
spw_store_is_short(struct spw_drainer *d)
{
	struct spw_store *s = d->store;

	for (uint32_t i = 0; s && i < s->nlevels; i++) {
		struct spw_tier_space space;

		spw_apart_space(s->level[i].tier, &space);
		if (space.live > space.capacity / 2)
			return true;
	}
	return false;
}
