/* SPDX-License-Identifier: BSD-3-Clause */
/* advice.c -- the store asks the planner, and tells it what came of it */
#include "planner/advice.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "planner/seed.h"
#include "shm/glance.h"
#include "shm/util.h"
#include "shm/weights.h"

enum {
	SAVE_MS = 30000,		/* between two times */
	LAST_MS = 500,			/* that the last may take */
	ALIVE_NS = 1000000000,		/* home answered since */
	LOOK_NS = 10000000,		/* between looks at what waits for it */
	REGION = 26,			/* 64 MiB are packed alike */
	BURDENS = 1024,
};

#define WRITERS 0.1		/* of the weights, for the time they wait */

/* What is expected of tiers until they were used, which is believed no longer
 * than for some transfers. */
static const struct {
	double write_bw, read_bw, latency;
} guess[] = {
	[SPW_KIND_RAM] = { 200e6, 1e9, 1e-3 },	/* stands for home */
	[SPW_KIND_NVME] = { 1e9, 2e9, 100e-6 },
	[SPW_KIND_PMEM] = { 2e9, 4e9, 5e-6 },
	[SPW_KIND_BB] = { 500e6, 1e9, 1e-3 },
};

struct burden {				/* of a stream */
	uint64_t stream;
	double stored;			/* of a byte, lately */
};

struct spw_counsel {			/* the store's */
	struct spw_advisor *advisor;
	unsigned home;			/* its number */
	uint64_t weights;		/* as the segment has them */
	uint64_t held[SPW_CHOOSE_TIERS];	/* as the monitor was told */
	uint64_t queued;		/* for home, likewise */
	int64_t home_seen, home_counted;	/* ns */
	struct burden burdens[BURDENS];
	bool learned;			/* since the last time it was saved;
					 * or it has to be */
	bool saving;
	int64_t saved;			/* ms */
	struct spw_crew *crew;		/* that saves */
	struct spw_job job;
};

static struct spw_counsel *
counsel_of(const struct spw_drainer *d)
{
	return d->store ? d->store->counsel : NULL;
}

/* A tier without room says so by its space. */
static int
failure(int err)
{
	return err == -ENOSPC || err == -EDQUOT ? 0 : err;
}

static bool
is_guessed(enum spw_tierspec_kind kind)
{
	return kind < sizeof(guess) / sizeof(*guess) &&
	       guess[kind].write_bw > 0;
}

/* As a profile of this machine found it, or else as its kind is. */
static void
expect(enum spw_tierspec_kind kind, const struct spw_seed_tier *known,
       struct spw_monitored *tier)
{
	unsigned k = is_guessed(kind) ? kind : SPW_KIND_BB;

	tier->guessed = !known || !known->write;
	tier->write_bw = tier->guessed ? guess[k].write_bw : known->write;
	tier->read_bw = tier->guessed ? guess[k].read_bw : known->read;
	tier->latency = tier->guessed ? guess[k].latency : known->latency;
}

/* known NULL: home. */
static int
add_tier(struct spw_counsel *c, enum spw_tierspec_kind kind,
	 const struct spw_seed_tier *known, uint64_t capacity,
	 uint64_t choices)
{
	struct spw_monitored tier = {
		/* The file system is not asked: it may not answer. */
		.dir = NULL, .capacity = capacity, .choices = choices,
	};

	expect(kind, known, &tier);
	return spw_advisor_add(c->advisor, &tier);
}

/* What the seed knows of the store's tiers; it is read once for all. */
static void
recall_tiers(const struct spw_drainer *d, const struct spw_tierlist *list,
	     struct spw_seed_tier *ret)
{
	const struct spw_store *s = d->store;

	for (uint32_t i = 0; i < s->nlevels; i++) {
		const struct spw_tierspec *spec =
			&list->tier[s->level[i].number];

		ret[i].write = 0;
		if (snprintf(ret[i].name, sizeof(ret[i].name), "%s:%s",
			     spw_tierspec_kind_name(spec->kind),
			     spw_tierspec_place(list, spec)) >=
		    (int)sizeof(ret[i].name))
			ret[i].name[0] = '\0';	/* no profile has it */
	}
	if (d->map->fixed.seed[0])
		spw_seed_tiers(d->map->fixed.seed, ret, s->nlevels);
}

static struct spw_codec_choice
pin_of(const struct spw_level *l)
{
	return (struct spw_codec_choice){
		.id = l->pack.codec, .level = (int8_t)l->pack.level,
	};
}

static uint64_t
choices_of(const struct spw_counsel *c, const struct spw_tierlist *list,
	   const struct spw_tierspec *spec, const struct spw_level *l)
{
	const char *filter = spw_tierspec_value(list, spec, SPW_KEY_FILTER);
	struct spw_codec_choice pin = pin_of(l);

	return spw_advisor_choices(c->advisor, l->pinned ? &pin : NULL,
				   filter && !strcmp(filter, "none"));
}

static int
add_tiers(struct spw_drainer *d, struct spw_counsel *c,
	  const struct spw_tierlist *list)
{
	const struct spw_store *s = d->store;
	struct spw_seed_tier known[SPW_TIERS_MAX];
	int r = 0;

	recall_tiers(d, list, known);
	for (uint32_t i = 0; i < s->nlevels && r >= 0; i++) {
		const struct spw_level *l = &s->level[i];
		const struct spw_tierspec *spec = &list->tier[l->number];

		r = add_tier(c, spec->kind, &known[i], spec->capacity,
			     choices_of(c, list, spec, l));
	}
	c->home = s->nlevels;
	return r < 0 ? r : add_tier(c, SPW_KIND_RAM, NULL, UINT64_MAX,
				    SPW_CHOICES_RAW);
}

/* Bytes go down to make room that somebody waits for: whatever else counts, the
 * time to pack them does, too.
 */
static void
weights_of(uint64_t word, struct spw_weights *ret)
{
	double rest;

	spw_weights_unpack(word, ret);
	rest = ret->ratio + ret->decompress;
	if (ret->compress >= WRITERS)
		return;
	ret->compress = WRITERS;
	ret->ratio *= (1 - WRITERS) / rest;
	ret->decompress *= (1 - WRITERS) / rest;
}

static int
engage(struct spw_drainer *d, struct spw_counsel *c,
       const struct spw_tierlist *list)
{
	const struct spw_store *s = d->store;
	struct spw_codec_choice pins[SPW_TIERS_MAX];
	struct spw_advisor_setup setup = {
		.seed = d->map->fixed.seed[0] ? d->map->fixed.seed : NULL,
		.overlap = s->crew.npackers > 0, .pins = pins,
	};
	int r;

	for (uint32_t i = 0; i < s->nlevels; i++)
		if (s->level[i].pinned)
			pins[setup.n_pins++] = pin_of(&s->level[i]);
	c->weights = atomic_load(&d->map->seg->weights);
	weights_of(c->weights, &setup.weights);
	r = spw_advisor_new(&setup, &c->advisor);
	if (r == 0)
		r = add_tiers(d, c, list);
	return r < 0 ? r : spw_crew_new(1, &c->crew);
}

static void
dismiss(struct spw_counsel *c)
{
	spw_crew_free(c->crew);
	spw_advisor_free(c->advisor);
	free(c);
}

void
spw_advice_open(struct spw_drainer *d, const struct spw_tierlist *list)
{
	struct spw_counsel *c = calloc(1, sizeof(*c));

	if (c && engage(d, c, list) < 0) {
		dismiss(c);
		c = NULL;
	}
	if (c) {
		c->saved = spw_now_ms();
		c->learned = spw_advisor_is_owed(c->advisor);
	}
	d->store->counsel = c;
}

const char *
spw_advice_note(const struct spw_drainer *d, unsigned i)
{
	const struct spw_counsel *c = counsel_of(d);

	return c ? spw_advisor_note(c->advisor, i) : NULL;
}

static void
save(struct spw_job *job)		/* by a thread of its own */
{
	struct spw_counsel *c = (struct spw_counsel *)
		((char *)job - offsetof(struct spw_counsel, job));
	struct spw_seed_note note;

	/* If it cannot be written now, what was learned is kept. */
	(void)spw_advisor_save(c->advisor, &note);
}

/* A file system that stalls must not hold us up: another thread writes, and
 * nobody asks the advisor meanwhile. */
static void
begin_saving(struct spw_counsel *c)
{
	c->saved = spw_now_ms();
	if (!c->learned || c->saving)
		return;
	c->job = (struct spw_job){ .run = save };
	c->saving = spw_crew_give(c->crew, &c->job) == 0;
	c->learned = false;
}

static void
end_saving(struct spw_counsel *c, int ms)
{
	if (c->saving && spw_crew_reap(c->crew, ms))
		c->saving = false;
}

void
spw_advice_close(struct spw_drainer *d)
{
	struct spw_counsel *c = d->store->counsel;

	if (!c)
		return;
	d->store->counsel = NULL;
	begin_saving(c);
	end_saving(c, LAST_MS);
	if (!c->saving)			/* else it is the other thread's */
		dismiss(c);
}

static void
follow_weights(struct spw_drainer *d, struct spw_counsel *c)
{
	uint64_t now = atomic_load(&d->map->seg->weights);
	struct spw_weights w;

	if (now == c->weights)
		return;
	c->weights = now;
	weights_of(now, &w);
	spw_advisor_weigh(c->advisor, &w);
}

void
spw_advice_tend(struct spw_drainer *d)
{
	struct spw_counsel *c = counsel_of(d);

	if (!c)
		return;
	end_saving(c, 0);
	if (spw_now_ms() - c->saved >= SAVE_MS)
		begin_saving(c);
}

/* The monitor hears of the space that a tier uses, whoever uses it. */
static void
tell_space(struct spw_drainer *d, struct spw_counsel *c)
{
	struct spw_monitor *m = spw_advisor_monitor(c->advisor);

	for (uint32_t i = 0; i < d->store->nlevels; i++) {
		struct spw_tier_space space;
		uint64_t used;

		spw_apart_space(d->store->level[i].tier, &space);
		used = space.used + d->store->level[i].reserved;
		if (used > c->held[i])
			spw_monitor_hold(m, i, used - c->held[i]);
		else
			spw_monitor_release(m, i, c->held[i] - used);
		c->held[i] = used;
	}
}

/* And of what waits for home, without a time that says how fast it is. */
static void
tell_backlog(struct spw_drainer *d, struct spw_counsel *c)
{
	struct spw_monitor *m = spw_advisor_monitor(c->advisor);
	int64_t now = spw_now_ns();
	uint64_t dirty;

	if (now - c->home_counted < LOOK_NS)
		return;
	c->home_counted = now;
	dirty = (uint64_t)spw_count_dirty(d->map) << SPW_BLOCK_SHIFT;
	if (dirty > c->queued)
		spw_monitor_queue(m, c->home, dirty - c->queued);
	else
		spw_monitor_done(m, c->home, SPW_MONITOR_WRITE,
				 c->queued - dirty, now, now, 0);
	c->queued = dirty;
}

/* One that stands still must not be chosen: room is needed. */
static bool
is_home_alive(const struct spw_counsel *c)
{
	return c->home_seen && spw_now_ns() - c->home_seen < ALIVE_NS;
}

static uint64_t
stream_of(uint64_t dev, uint64_t ino, int64_t btime, uint64_t offset)
{
	uint64_t h = (dev * 0x9e3779b97f4a7c15ull ^ ino) *
		     0xbf58476d1ce4e5b9ull;

	h = (h ^ h >> 29 ^ (uint64_t)btime) * 0x94d049bb133111ebull;
	return (h ^ h >> 32) + (offset >> REGION);
}

static uint64_t
stream_of_object(const struct spw_object *o)
{
	return stream_of(o->dev, o->ino, o->btime, o->offset);
}

bool
spw_advice_ask(struct spw_drainer *d, const struct spw_down *down,
	       const void *raw, uint64_t tiers, struct spw_advice *ret)
{
	struct spw_counsel *c = counsel_of(d);

	if (!c || c->saving)
		return false;
	follow_weights(d, c);
	tell_space(d, c);
	tell_backlog(d, c);
	if (d->may_pass_home && is_home_alive(c))
		tiers |= UINT64_C(1) << c->home;
	return spw_advisor_ask(c->advisor, stream_of_object(&down->o), raw,
			       down->o.length, down->o.offset, NULL, tiers,
			       ret) == 0 && ret->n;
}

unsigned
spw_advice_first(const struct spw_drainer *d, const struct spw_advice *advice)
{
	unsigned i = 0;

	while (i < advice->n &&
	       advice->piece[i].tier == d->store->counsel->home)
		i++;
	return i;
}

void
spw_advice_take(struct spw_drainer *d, const struct spw_advice *advice,
		unsigned piece, struct spw_down *down)
{
	const struct spw_advised *p = &advice->piece[piece];

	down->why.why |= SPW_WHY_CHOSEN;
	down->why.traits = advice->stream.traits;
	down->why.expect_stored = p->expected.stored;
	down->why.expect_pack = p->expected.pack;
	down->why.expect_write = p->expected.write;
	if (p->tier == d->store->counsel->home)
		return;
	down->stream = advice->stream;
	down->choice = p->choice;
	down->planned = true;
	down->tier = p->tier;
	down->pack.pack = p->pack;
	down->queued = p->expected.stored;
	spw_monitor_queue(spw_advisor_monitor(d->store->counsel->advisor),
			  down->tier, down->queued);
}

void
spw_advice_leave(struct spw_drainer *d, struct spw_down *down)
{
	struct spw_counsel *c = counsel_of(d);

	if (c && down->queued)
		spw_monitor_leave(spw_advisor_monitor(c->advisor), down->tier,
				  down->queued);
	down->queued = 0;
}

void
spw_advice_sent(struct spw_drainer *d, struct spw_down *down)
{
	struct spw_counsel *c = counsel_of(d);

	spw_advice_leave(d, down);
	if (c)
		spw_monitor_queue(spw_advisor_monitor(c->advisor), down->tier,
				  down->x.len);
}

void
spw_advice_packed(struct spw_drainer *d, const struct spw_down *down)
{
	struct spw_counsel *c = counsel_of(d);
	const struct spw_observed seen = {
		.bytes = down->o.length, .pack = down->pack.seconds,
		.stored = (uint64_t)down->pack.stored,
	};

	if (!c || c->saving || !down->planned || !down->choice ||
	    down->pack.stored <= 0 || down->pack.pack.codec == SPW_CODEC_NONE)
		return;
	spw_advisor_learn_of(c->advisor, &down->stream, down->choice, &seen);
	c->learned = true;
}

static void
note_burden(struct spw_counsel *c, const struct spw_down *down)
{
	uint64_t stream = stream_of_object(&down->o);
	struct burden *b = &c->burdens[stream % BURDENS];
	double stored = (double)down->x.len / (double)down->o.length;

	if (b->stream != stream)
		*b = (struct burden){ stream, stored };
	b->stored += (stored - b->stored) / 4;
}

double
spw_advice_burden(const struct spw_drainer *d, uint32_t file, uint64_t offset)
{
	const struct spw_file *f = &d->map->files[file];
	uint64_t stream = stream_of(spw_glance64(&f->dev),
				    spw_glance64(&f->ino),
				    (int64_t)spw_glance64((const uint64_t *)
							  &f->btime), offset);
	const struct spw_counsel *c = counsel_of(d);
	const struct burden *b = c ? &c->burdens[stream % BURDENS] : NULL;

	return b && b->stream == stream ? b->stored : 0;
}

void
spw_advice_over(struct spw_drainer *d, struct spw_down *down)
{
	struct spw_counsel *c = counsel_of(d);
	int64_t now = spw_now_ns();

	spw_advice_leave(d, down);
	if (!c)
		return;
	if (down->sent && down->nblocks)
		note_burden(c, down);
	if (down->sent)
		spw_monitor_done(spw_advisor_monitor(c->advisor), down->tier,
				 SPW_MONITOR_WRITE, down->x.len,
				 down->err ? now : down->sent_ns,
				 down->err ? now : down->x.ended,
				 failure(down->err));
}

void
spw_advice_read(struct spw_drainer *d, uint32_t level, uint64_t bytes,
		int64_t began, int err)
{
	struct spw_counsel *c = counsel_of(d);

	if (c)
		spw_monitor_done(spw_advisor_monitor(c->advisor), level,
				 SPW_MONITOR_READ, bytes, began, spw_now_ns(),
				 failure(err));
}

void
spw_advice_home(struct spw_drainer *d, uint64_t bytes, int64_t began, int err)
{
	struct spw_counsel *c = counsel_of(d);
	int64_t now = spw_now_ns();

	if (!c)
		return;
	c->home_seen = err ? c->home_seen : now;
	c->queued -= SPW_MIN(c->queued, bytes);
	spw_monitor_done(spw_advisor_monitor(c->advisor), c->home,
			 SPW_MONITOR_WRITE, bytes, err ? now : began, now,
			 failure(err));
}
