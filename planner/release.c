/* SPDX-License-Identifier: BSD-3-Clause */
/* release.c -- lets go of the objects of a file that is home */

/*
 * Whoever replays objects after a loss of power puts them over what home has.
 * Home is durable before the first object goes; but if an older one stays and
 * a younger one is gone, the older bytes come back over the younger ones. And
 * drops are not done at one stroke: they lie in several files, even in several
 * tiers, and any of them may reach the disk without the others.
 *
 * So where several would go, a mark goes down first (SPW_OBJECT_HOME), in a
 * tier that survives a reboot:
 *
 *	fsync of home	all that objects up to number N hold is there
 *	put, sync	the mark says so: objects up to N count no more,
 *			whichever of them are there
 *	drop		the objects, in any order, whenever it is durable
 *	sync		the next one that somebody needs anyway
 *	drop		the mark, since now it speaks of nothing
 *
 * It says nothing wrong at any time, nor does it when the file has new
 * objects, which have higher numbers. It costs one small put: the sync is the
 * one that would else make the drops durable, before who asked for home is
 * told that he may change it. One object alone goes at one stroke and needs no
 * mark. If no tier takes one, or an object still has bytes that home has not,
 * objects go one at a time, the oldest first, each durably.
 *
 * A successor finds the marks among the objects and goes on from there. That
 * tiers fail here is no matter of home, nor of who asked: home has it all. It
 * is tried again with every sync; meanwhile home says itself that it is younger
 * than what is left there (notes.c).
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "planner/held.h"
#include "planner/notes.h"
#include "shm/failpoint.h"
#include "shm/files.h"
#include "shm/util.h"

struct aged {
	uint64_t seq;
	uint32_t no;
};

struct leaving {			/* objects of a file, by age */
	struct aged *list;
	size_t n;
	size_t durable;			/* of them: survive a reboot */
	bool needed;			/* one has bytes that home has not */
};

static int
compare_age(const void *a, const void *b)
{
	uint64_t x = ((const struct aged *)a)->seq;
	uint64_t y = ((const struct aged *)b)->seq;

	return x < y ? -1 : x > y;
}

static void
add(struct spw_store *s, uint32_t no, struct leaving *l)
{
	const struct spw_held *h = &s->held[no];

	l->list[l->n++] = (struct aged){ h->o->seq, no };
	l->durable += spw_apart_is_durable(s->level[h->tier].tier);
	l->needed |= h->nrefs != 0;
}

/* False: no memory, or there are none. */
static bool
collect(struct spw_drainer *d, uint32_t file, uint64_t seq,
	struct leaving *ret)
{
	struct spw_store *s = d->store;
	size_t n = 0;

	*ret = (struct leaving){ 0 };
	for (uint32_t i = s ? s->of_file[file] : 0; i; i = s->held[i].next)
		n += s->held[i].o->seq <= seq;
	ret->list = n ? malloc(n * sizeof(*ret->list)) : NULL;
	if (!ret->list)
		return false;
	for (uint32_t i = s->of_file[file]; i; i = s->held[i].next)
		if (s->held[i].o->seq <= seq)
			add(s, i, ret);
	qsort(ret->list, n, sizeof(*ret->list), compare_age);
	return true;
}

/* each: durably before the next. */
static int
drop(struct spw_drainer *d, const struct leaving *l, bool each)
{
	int r = 0;

	for (size_t i = 0; i < l->n && r == 0; i++) {
		spw_store_absolve(d, l->list[i].no);
		spw_store_lapse(d, l->list[i].no);
		if (each)
			r = spw_store_sync(d);
	}
	return r;
}

void
spw_store_release(struct spw_drainer *d, uint32_t file, uint64_t seq)
{
	struct leaving l;

	if (!collect(d, file, seq, &l))
		return;
	(void)drop(d, &l, false);
	free(l.list);
	spw_store_lapse_cuts(d, file);
}

/* Marks. */

int
spw_marks_note(struct spw_drainer *d, const struct spw_marked *m)
{
	struct spw_store *s = d->store;
	uint32_t cap = s->marks_cap ? 2 * s->marks_cap : 16;
	struct spw_marked *more;

	if (s->nmarks == s->marks_cap) {
		more = realloc(s->marks, cap * sizeof(*more));
		if (!more)
			return -ENOMEM;
		s->marks = more;
		s->marks_cap = cap;
	}
	s->marks[s->nmarks++] = *m;
	return 0;
}

static void
marked(struct spw_drainer *d, struct spw_down *down)
{
	struct spw_marked m = {
		.place = down->x.place, .seq = down->o.seq,
		.due = down->due,
		.tier = down->tier, .file = down->file,
		.file_gen = down->file_gen,
	};

	if (!down->err)
		(void)spw_marks_note(d, &m);	/* one left over does no harm */
}

static bool
is_marked(const struct spw_store *s, uint32_t file, uint64_t seq)
{
	for (uint32_t i = 0; i < s->nmarks; i++)
		if (s->marks[i].file == file && s->marks[i].seq == seq &&
		    s->marks[i].due <= s->level[s->marks[i].tier].syncs)
			return true;
	return false;
}

/* True: it is durable. */
static bool
put_mark(struct spw_drainer *d, uint32_t file, uint64_t seq)
{
	struct spw_down *down = spw_store_begin(d, true);

	seq = SPW_MIN(seq, atomic_load(&d->map->seg->sequence));
	down->file = file;
	down->over = marked;
	down->o.offset = down->o.length = 0;
	down->o.flags = SPW_OBJECT_HOME;
	down->o.seq = seq;
	if (!spw_store_raw(d, down, true) || spw_store_put(d, down) < 0) {
		spw_store_cancel(d, down);
		return false;
	}
	(void)spw_store_sync(d);
	SPW_FAILPOINT("release-marked");
	return is_marked(d->store, file, seq);
}

void
spw_marks_heed(struct spw_drainer *d)
{
	struct spw_store *s = d->store;

	for (uint32_t i = 0; i < s->nmarks; i++)
		for (uint32_t k = s->marks[i].file == SPW_NONE ? 0
		     : s->of_file[s->marks[i].file]; k; k = s->held[k].next)
			if (s->held[k].o->seq <= s->marks[i].seq)
				spw_store_absolve(d, k);
}

static bool
speaks_of_any(const struct spw_store *s, const struct spw_marked *m,
	      const struct spw_map *map)
{
	if (m->file == SPW_NONE || map->files[m->file].gen != m->file_gen)
		return false;
	for (uint32_t i = s->of_file[m->file]; i; i = s->held[i].next)
		if (s->held[i].o->seq <= m->seq)
			return true;
	return false;
}

void
spw_marks_retire(struct spw_drainer *d)
{
	struct spw_store *s = d->store;
	uint32_t kept = 0;

	for (uint32_t i = 0; i < s->nmarks; i++) {
		struct spw_marked m = s->marks[i];

		if (speaks_of_any(s, &m, d->map)) {
			s->marks[kept++] = m;
			continue;
		}
		spw_apart_drop(s->level[m.tier].tier, m.place);
		s->level[m.tier].unsynced = true;
		SPW_FAILPOINT("release-retired");
	}
	s->nmarks = kept;
}

/* Files. */

/* loose: there are drops already that are not durable, of younger objects
 * perhaps than a mark would speak of. */
static int
let_go(struct spw_drainer *d, uint32_t file, uint64_t seq, bool loose)
{
	struct leaving l;
	bool marked;
	int r;

	if (!collect(d, file, seq, &l))
		return spw_store_sync(d);
	marked = l.durable > 1 && !l.needed && put_mark(d, file, seq);
	r = drop(d, &l, l.durable > 1 && !marked);
	free(l.list);
	spw_store_lapse_cuts(d, file);
	return r < 0 || (marked && !loose) ? r : spw_store_sync(d);
}

/* Who is about to change home by himself needs not ask again. */
static void
note_copies(struct spw_drainer *d, uint32_t file)
{
	if (!d->store->of_file[file] && !d->homes[file].dropped &&
	    !d->store->partial)
		atomic_fetch_and(&d->map->files[file].flags,
				 ~(uint32_t)SPW_FILE_COPIED);
}

/* Home is made to keep what they promise. */
static int
release_promised(struct spw_drainer *d, uint32_t file, uint64_t seq)
{
	struct spw_home *h = spw_home_of(d, file);
	bool was_cut, unsynced = h->unsynced;
	int fd = spw_home_open(d, file);
	int r = fd < 0 ? fd : spw_sync_home(d, file, fd, true, &was_cut);

	if (r < 0)
		return r;
	h->unsynced = h->loose = h->refused = false;
	SPW_FAILPOINT("sync-release");
	h->dropped = let_go(d, file, seq, h->dropped ||
			    d->store->inherited) < 0;
	SPW_FAILPOINT("sync-released");
	/* What came down meanwhile may be older than what went home. */
	h->doubtful = d->store->of_file[file] &&
		      (h->doubtful || was_cut || unsynced);
	return 0;
}

int
spw_sync_release(struct spw_drainer *d, uint32_t file, uint64_t seq)
{
	struct spw_home *h = spw_home_of(d, file);
	int r = 0;

	/* Neither a mark nor home may say that objects count no more which are
	 * all that has some of it. */
	if (!d->store || spw_store_misses(d, file))
		return 0;
	if (spw_store_has_promised(d, file, seq) || h->refused)
		r = release_promised(d, file, seq);
	else if (h->dropped || d->store->inherited)
		h->dropped = spw_store_sync(d) < 0;
	if (r < 0)
		return r;
	spw_notes_tend(d, file, seq);
	note_copies(d, file);
	return 0;
}

int
spw_sync_release_settled(struct spw_drainer *d)
{
	struct spw_map *map = d->map;
	uint64_t seq = atomic_load(&map->seg->sequence);
	int r, err = 0;

	for (uint32_t i = 0; d->store && i < map->counts[SPW_POOL_FILES]; i++)
		if (atomic_load(&map->owners[SPW_POOL_FILES][i]) &
		    SPW_IN_USE &&
		    (d->store->of_file[i] || spw_notes_are_due(d, i) ||
		     atomic_load(&map->files[i].flags) & SPW_FILE_NOTED) &&
		    !spw_file_is_unsettled(&map->files[i]) &&
		    !(atomic_load(&map->files[i].flags) &
		      SPW_FILE_UNLINKED)) {
			r = spw_sync_release(d, i, seq);
			err = r < 0 ? r : err;
		}
	return err;
}
