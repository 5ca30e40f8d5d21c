/* SPDX-License-Identifier: BSD-3-Clause */
/* held.c -- which object holds which block, and when it may go */
#include "planner/held.h"

#include <errno.h>
#include <stdlib.h>

#include "planner/away.h"
#include "planner/chunks.h"
#include "shm/failpoint.h"
#include "shm/files.h"

enum { LOST_MS = 1000 };

struct spw_object *
spw_held_copy(const struct spw_object *o)
{
	size_t blocks = o->nblocks * sizeof(*o->blocks);
	struct spw_object *copy = malloc(sizeof(*copy) + blocks);

	if (!copy)
		return NULL;
	*copy = *o;
	copy->path = NULL;
	copy->path_len = 0;
	copy->blocks = memcpy(copy + 1, o->blocks, blocks);
	return copy;
}

static uint32_t
take_number(struct spw_store *s)
{
	uint32_t no = s->held_free;
	uint32_t cap = s->held_cap ? s->held_cap * 2 : 256;
	struct spw_held *more;

	if (no) {
		s->held_free = s->held[no].next;
		return no;
	}
	if (s->nheld + 1 >= s->held_cap) {
		more = realloc(s->held, cap * sizeof(*more));
		if (!more)
			return 0;
		memset(more + s->held_cap, 0,
		       (cap - s->held_cap) * sizeof(*more));
		s->held = more;
		s->held_cap = cap;
	}
	if (!s->nheld)
		s->nheld = 1;		/* number 0 is none */
	return s->nheld++;
}

/* No block counts on it, and no fsync. */
static bool
is_idle(const struct spw_held *h)
{
	return h->o && !h->nrefs && !h->promised;
}

static uint32_t
enter(struct spw_drainer *d, const struct spw_object *o, uint32_t level,
      uint64_t place, uint64_t due, uint32_t file)
{
	struct spw_store *s = d->store;
	struct spw_object *copy = spw_held_copy(o);
	uint32_t no = copy ? take_number(s) : 0;

	if (!no) {
		free(copy);
		return 0;
	}
	s->held[no] = (struct spw_held){
		.o = copy, .place = place, .tier = level, .file = file,
		.file_gen = d->map->files[file].gen, .next = s->of_file[file],
		.promised = o->flags & SPW_OBJECT_SYNC,
		.due = due, .number = ++s->numbers,
	};
	s->idle[file] |= is_idle(&s->held[no]);
	if (s->of_file[file])
		s->held[s->of_file[file]].prev = no;
	s->of_file[file] = no;
	spw_file_flag(&d->map->files[file], SPW_FILE_COPIED);
	return no;
}

/* Out of the book; it stays in its tier. */
static void
strike(struct spw_drainer *d, uint32_t no)
{
	struct spw_store *s = d->store;
	struct spw_held *h = &s->held[no];

	if (h->next)
		s->held[h->next].prev = h->prev;
	if (h->prev)
		s->held[h->prev].next = h->next;
	else
		s->of_file[h->file] = h->next;
	free(h->o);
	*h = (struct spw_held){ .next = s->held_free };
	s->held_free = no;
}

static void
leave(struct spw_drainer *d, uint32_t no)
{
	struct spw_store *s = d->store;
	const struct spw_held *h = &s->held[no];

	if (!h->hurt) {
		spw_apart_drop(s->level[h->tier].tier, h->place);
		SPW_FAILPOINT("held-dropped");
		s->level[h->tier].unsynced = true;
		d->homes[h->file].dropped = true;
	}
	strike(d, no);
}

/* It tells of a cut, and an older object has, or will have, what was cut. */
static bool
cuts_older(const struct spw_store *s, const struct spw_held *h)
{
	if (h->o->cut == UINT64_MAX)
		return false;
	for (uint32_t i = s->of_file[h->file]; i; i = s->held[i].next)
		if (s->held[i].o->seq < h->o->seq)
			return true;
	for (uint32_t i = 0; i < s->ndown; i++)
		if (s->down[i].busy && s->down[i].file == h->file &&
		    s->down[i].o.seq < h->o->seq)
			return true;
	return false;
}

void
spw_store_lapse(struct spw_drainer *d, uint32_t held)
{
	const struct spw_held *h = &d->store->held[held];

	if (held && is_idle(h) && !cuts_older(d->store, h))
		leave(d, held);
}

void
spw_store_lapse_cuts(struct spw_drainer *d, uint32_t file)
{
	struct spw_store *s = d->store;
	bool any = s->idle[file];
	uint32_t next;

	while (any) {
		any = s->idle[file] = false;
		for (uint32_t i = s->of_file[file]; i; i = next) {
			next = s->held[i].next;
			spw_store_lapse(d, i);
			any |= !s->held[i].o;
			s->idle[file] |= is_idle(&s->held[i]);
		}
	}
}

uint32_t
spw_store_keep(struct spw_drainer *d, const struct spw_down *down)
{
	struct spw_object o;
	size_t need;

	if (spw_object_parse(down->x.buf, down->x.len, &o, &need) < 0)
		return 0;
	return enter(d, &o, down->tier, down->x.place, down->due, down->file);
}

static struct spw_places *
places_of(struct spw_drainer *d, uint32_t chunk, bool make)
{
	struct spw_places **at = &d->store->places[chunk];

	if (!*at && make)
		*at = calloc(1, sizeof(**at));
	return *at;
}

static void
unrefer(struct spw_drainer *d, struct spw_places *p, uint32_t bit)
{
	uint32_t held = p->held[bit];

	p->held[bit] = 0;
	p->bits[bit / 64] &= ~(1ull << bit % 64);
	if (held) {
		struct spw_held *h = &d->store->held[held];

		h->nrefs--;
		d->store->idle[h->file] |= is_idle(h);
		spw_store_lapse(d, held);
	}
}

bool
spw_store_refer(struct spw_drainer *d, uint32_t chunk, uint32_t bit,
		uint32_t held)
{
	struct spw_places *p = places_of(d, chunk, true);

	if (!p)
		return false;
	unrefer(d, p, bit);
	atomic_store(&d->map->chunks[chunk].seq[bit],
		     (uint32_t)d->store->held[held].o->seq);
	p->held[bit] = held;
	p->bits[bit / 64] |= 1ull << bit % 64;
	d->store->held[held].nrefs++;
	return true;
}

uint32_t
spw_store_of(struct spw_drainer *d, uint32_t chunk, uint32_t bit)
{
	struct spw_places *p = places_of(d, chunk, false);

	return p ? p->held[bit] : 0;
}

uint32_t
spw_store_row(struct spw_drainer *d, uint32_t chunk, uint32_t bit,
	      uint32_t count)
{
	uint32_t held = spw_store_of(d, chunk, bit), n = 1;

	while (n < count && bit + n < SPW_CHUNK_BLOCKS &&
	       spw_chunk_has(&d->map->chunks[chunk], bit + n) &&
	       spw_store_of(d, chunk, bit + n) == held)
		n++;
	return n;
}

/* All objects were found. */
static bool
is_complete(const struct spw_store *s)
{
	bool unread = s->partial;

	for (uint32_t i = 0; i < s->nlevels; i++)
		unread |= s->level[i].unread;
	return !unread;
}

bool
spw_store_misses(struct spw_drainer *d, uint32_t file)
{
	uint32_t ready = is_complete(d->store) ? 0 : spw_chunks_ready(d->map);

	for (uint32_t i = 0; i < ready; i++) {
		const struct spw_chunk *c = &d->map->chunks[i];
		const struct spw_places *p = d->store->places[i];

		if (!spw_chunk_is_used(d->map, i) || c->file != file)
			continue;
		for (int w = 0; w < SPW_CHUNK_BLOCKS / 64; w++)
			if (atomic_load(&c->below[w]) &
			    ~(p ? p->bits[w] : 0))
				return true;
	}
	return false;
}

static void
sweep_chunk(struct spw_drainer *d, uint32_t chunk, struct spw_places *p)
{
	for (uint32_t w = 0; w < SPW_CHUNK_BLOCKS / 64; w++) {
		uint64_t old = p->bits[w] &
			       ~atomic_load(&d->map->chunks[chunk].below[w]);

		for (; old; old &= old - 1)
			unrefer(d, p, w * 64 + (uint32_t)
				__builtin_ctzll(old));
	}
}

void
spw_store_sweep(struct spw_drainer *d)
{
	uint32_t ready = spw_chunks_ready(d->map);

	for (uint32_t i = 0; d->store && i < ready; i++)
		if (d->store->places[i] && !d->store->places[i]->busy)
			sweep_chunk(d, i, d->store->places[i]);
	for (uint32_t i = 0; d->store && i < d->map->counts[SPW_POOL_FILES];
	     i++)
		spw_store_lapse_cuts(d, i);
}

void
spw_store_forget_chunk(struct spw_drainer *d, uint32_t chunk)
{
	struct spw_places *p = d->store ? d->store->places[chunk] : NULL;

	if (!p)
		return;
	for (uint32_t bit = 0; bit < SPW_CHUNK_BLOCKS; bit++)
		if (p->held[bit])
			unrefer(d, p, bit);
	free(p);
	d->store->places[chunk] = NULL;
}

bool
spw_store_is_busy(struct spw_drainer *d, uint32_t chunk)
{
	struct spw_places *p = d->store ? d->store->places[chunk] : NULL;

	return p && p->busy;
}

void
spw_store_set_busy(struct spw_drainer *d, uint32_t chunk, bool busy)
{
	struct spw_places *p = places_of(d, chunk, busy);

	if (p)
		p->busy = busy;
}

bool
spw_store_is_lost(struct spw_drainer *d, uint32_t chunk, uint32_t bit)
{
	struct spw_places *p = places_of(d, chunk, false);

	return p && p->lost[bit / 64] >> bit % 64 & 1;
}

bool
spw_store_has_lost(struct spw_drainer *d, uint32_t chunk)
{
	struct spw_places *p = places_of(d, chunk, false);
	uint64_t any = 0;

	if (p && p->lost_until <= spw_now_ms())
		memset(p->lost, 0, sizeof(p->lost));
	for (int w = 0; p && w < SPW_CHUNK_BLOCKS / 64; w++)
		any |= p->lost[w] &
		       atomic_load(&d->map->chunks[chunk].below[w]);
	return any;
}

void
spw_store_lose(struct spw_drainer *d, uint32_t chunk,
	       const struct spw_span *bad)
{
	struct spw_places *p = places_of(d, chunk, true);
	uint64_t base = d->map->chunks[chunk].number * SPW_CHUNK_BLOCKS;

	if (!p)
		return;
	p->lost_until = spw_now_ms() + LOST_MS;
	for (uint32_t bit = 0; bit < SPW_CHUNK_BLOCKS; bit++) {
		uint64_t at = (base + bit) << SPW_BLOCK_SHIFT;

		if (at < bad->to && bad->from < at + SPW_BLOCK_SIZE)
			p->lost[bit / 64] |= 1ull << bit % 64;
	}
}

bool
spw_store_is_sending(const struct spw_drainer *d, uint32_t file)
{
	const struct spw_store *s = d->store;

	for (uint32_t i = 0; i < s->ndown; i++)
		if (s->down[i].busy && s->down[i].file == file)
			return true;
	return false;
}

bool
spw_store_has_promised(struct spw_drainer *d, uint32_t file, uint64_t seq)
{
	struct spw_store *s = d->store;

	for (uint32_t i = s ? s->of_file[file] : 0; i; i = s->held[i].next)
		if (s->held[i].promised && s->held[i].o->seq <= seq)
			return true;
	return false;
}

bool
spw_store_lasts(const struct spw_drainer *d, uint32_t file)
{
	const struct spw_store *s = d->store;
	bool all = true;

	for (uint32_t i = 0; i < s->nlevels; i++)
		all &= spw_apart_is_durable(s->level[i].tier);
	for (uint32_t i = all ? 0 : s->of_file[file]; i; i = s->held[i].next)
		if (!spw_apart_is_durable(s->level[s->held[i].tier].tier))
			return false;
	return true;
}

void
spw_store_promise(struct spw_drainer *d, uint32_t file)
{
	struct spw_store *s = d->store;

	for (uint32_t i = s->of_file[file]; i &&
	     s->held[i].number > s->promised[file]; i = s->held[i].next)
		s->held[i].promised = true;
	s->promised[file] = s->numbers;
}

void
spw_store_absolve(struct spw_drainer *d, uint32_t held)
{
	struct spw_held *h = &d->store->held[held];

	h->promised = false;
	d->store->promised[h->file] = 0;
	d->store->idle[h->file] |= is_idle(h);
}

bool
spw_held_any(const struct spw_drainer *d, uint32_t level)
{
	const struct spw_store *s = d->store;

	for (uint32_t i = 1; i < s->nheld; i++)
		if (s->held[i].o && s->held[i].tier == level)
			return true;
	for (uint32_t i = 0; i < s->nmarks; i++)
		if (s->marks[i].tier == level)
			return true;
	return false;
}

void
spw_held_move(struct spw_held_mover *m, uint64_t from, uint64_t to)
{
	struct spw_store *s = m->d->store;

	for (uint32_t i = 1; i < s->nheld; i++)
		if (s->held[i].o && s->held[i].tier == m->level &&
		    s->held[i].place == from) {
			s->held[i].place = to;
			return;
		}
	for (uint32_t i = 0; i < s->nmarks; i++)
		if (s->marks[i].tier == m->level && s->marks[i].place == from)
			s->marks[i].place = to;
}

/* The object that had a block counts, or none. */
static void
refer_found(struct spw_drainer *d, uint32_t held)
{
	struct spw_store *s = d->store;
	const struct spw_object *o = s->held[held].o;
	uint64_t first = (o->offset + SPW_BLOCK_SIZE - 1) >> SPW_BLOCK_SHIFT;
	uint64_t end = (o->offset + o->length + SPW_BLOCK_SIZE - 1) >>
		       SPW_BLOCK_SHIFT;

	for (uint64_t n = first; n < end; n++) {
		uint32_t bit = n % SPW_CHUNK_BLOCKS, old;
		uint32_t chunk = spw_below_chunk(d->map, s->held[held].file,
						 s->held[held].file_gen,
						 n / SPW_CHUNK_BLOCKS);

		if (chunk == SPW_NONE ||
		    !spw_chunk_has(&d->map->chunks[chunk], bit) ||
		    atomic_load(&d->map->chunks[chunk].seq[bit]) !=
		    (uint32_t)o->seq)
			continue;
		old = spw_store_of(d, chunk, bit);
		if (!old || s->held[old].o->seq < o->seq)
			(void)spw_store_refer(d, chunk, bit, held);
	}
}

struct alien {				/* what nobody needs */
	uint64_t place;
	uint32_t level;
};

struct finder {
	struct spw_drainer *d;
	uint32_t level;
	int doubt;			/* why some of it cannot be read */
	struct alien *alien;
	size_t naliens, cap;
};

static int
note_alien(struct finder *f, uint64_t place)
{
	size_t cap = f->cap ? f->cap * 2 : 64;
	struct alien *more;

	if (f->naliens == f->cap) {
		more = realloc(f->alien, cap * sizeof(*more));
		if (!more)
			return -ENOMEM;
		f->alien = more;
		f->cap = cap;
	}
	f->alien[f->naliens++] = (struct alien){ place, f->level };
	return 0;
}

static uint32_t
file_of(struct spw_map *map, const struct spw_object *o)
{
	struct spw_file_id id = { o->dev, o->ino };
	uint32_t file = spw_file_find(map, &id);

	return file != SPW_NONE && map->files[file].btime == o->btime
	       ? file : SPW_NONE;
}

static int
found(void *arg, const struct spw_tier_found *f)
{
	struct finder *finder = arg;
	struct spw_drainer *d = finder->d;
	const struct spw_object *o = f->object;
	uint32_t file, held;

	/* Of a damaged one some blocks may be whole: those that are below and
	 * in no younger one. Else it is told by fsck, and left alone. */
	if (f->err)
		d->store->level[finder->level].unread = true;
	if (f->err && f->err != -EBADMSG)
		finder->doubt = f->err;
	if (!o || (f->err && !(o->flags & SPW_OBJECT_WHOLE)))
		return 0;
	file = file_of(d->map, o);
	if (f->err && file == SPW_NONE)
		return 0;
	if (o->flags & SPW_OBJECT_HOME)
		return spw_marks_note(d, &(struct spw_marked){
			.place = f->place, .seq = o->seq,
			.tier = finder->level, .file = file,
			.file_gen = file == SPW_NONE ? 0
				    : d->map->files[file].gen,
		});
	if (file == SPW_NONE)
		return note_alien(finder, f->place);
	held = enter(d, o, finder->level, f->place,
		     d->store->level[finder->level].syncs + 1, file);
	if (!held)
		return -ENOMEM;
	if (o->flags & SPW_OBJECT_WHOLE)
		refer_found(d, held);
	d->store->held[held].hurt = f->err;
	if (f->err && !d->store->held[held].nrefs) {
		strike(d, held);
		return 0;
	}
	/* What the predecessor had promised with it is not known, nor what it
	 * had sent home since, nor whether it is durable. */
	d->store->level[finder->level].unsynced = true;
	if (spw_apart_is_durable(d->store->level[finder->level].tier)) {
		d->store->held[held].promised = true;
		spw_home_of(d, file)->doubtful = true;
	}
	SPW_FAILPOINT("held-found");
	return 0;
}

/* A mark must be durable before what it speaks of may go. */
static void
settle(struct finder *f)
{
	struct spw_store *s = f->d->store;

	if (s->nmarks == 0 || spw_store_sync(f->d) == 0) {
		spw_marks_heed(f->d);
		while (f->naliens) {
			const struct alien *a = &f->alien[--f->naliens];

			spw_apart_drop(s->level[a->level].tier, a->place);
		}
	}
	for (uint32_t i = 1; i < s->nheld; i++)
		if (s->held[i].o)
			spw_store_lapse(f->d, i);
}

int
spw_held_find(struct spw_drainer *d, uint32_t *ret_level)
{
	struct spw_store *s = d->store;
	struct finder finder = { .d = d };
	int r = 0;

	s->inherited = true;
	for (uint32_t i = 0; i < s->nlevels; i++)
		s->level[i].unsynced = true;
	for (; r == 0 && finder.level < s->nlevels; finder.level++) {
		struct spw_level *l = &s->level[finder.level];

		*ret_level = finder.level;
		finder.doubt = 0;
		r = spw_apart_list(l->tier, spw_away_patience(d, l->number),
				   found, &finder);
		if (finder.doubt) {
			spw_away_doubt(d, l->number, finder.doubt);
			spw_level_was_read(l, finder.doubt);
		}
		s->partial |= finder.doubt != 0;
	}
	SPW_FAILPOINT("held-listed");
	if (r == 0)
		settle(&finder);
	free(finder.alien);
	return r;
}
