/* SPDX-License-Identifier: BSD-3-Clause */
/* predict.c -- robust averages for streams and classes, and costs from them */

#include "planner/cell.h"
#include "planner/predict.h"
#include "shm/util.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#define STREAMS 512u		/* a power of two */
#define PROBES 4u
#define CLASSES 256u		/* the first is for streams of all kinds */
#define FILTERS 9		/* told apart */

#define OWN_MEMORY 12.0f	/* for what streams have in common */
#define CLASS_MEMORY 200.0f
#define WHOLE_BYTES 65536.0f	/* a block below counts for less */
#define TOLD 0.25f		/* of a sample, where only blocks are known */
#define WHOLE -0.02f		/* ln, of a fraction that is as good as all */
#define NOTHING -4.2f		/* ln, of a fraction that is as good as none:
				 * 1/64, much of which may be frames */
#define MOVED 0.01		/* a change that is worth a new version */
#define DRIFTED 0.03f		/* and one that is worth a look at all */
#define REVIEW 32		/* blocks between looks at all choices */
#define INHERITED 2.0f		/* blocks, at most, of another stream's */

/* Blocks that the expectation counts for, and a sample.  Times are noisy,
 * sizes are not.
 */
static const float shrink[FIGURES] = { 0.5f, 0.5f, 0.02f };
static const float sample_weight[FIGURES] = { 0.4f, 0.4f, 0.4f };

/* What a class learned in this run, not yet given away. */
struct news {
	float n[FIGURES], sum[FIGURES];
};

struct class {
	uint64_t traits;
	struct spw_cell cell[SPW_CHOICES_MAX];
	struct spw_cell sample[SPW_CHOICES_MAX];
	uint64_t sampler[SPW_CHOICES_MAX];	/* whose they are; 0: of many */
	struct news news[SPW_CHOICES_MAX];
};

/* How far a stream is from its class: a mean, and what was shown of it. */
struct drift {
	float mean, n, shown;
};

struct stream {
	struct spw_stream key;
	uint64_t fit;			/* choices that it can take */
	uint64_t used;			/* tick of the last use; 0: empty */
	uint16_t class;
	uint16_t since_review;
	uint16_t blamed;		/* choices of which blocks followed */
	float tide, tide_shown;		/* how what is stored has moved */
	struct drift all[FIGURES];	/* over choices */
	struct drift by_filter[FILTERS][FIGURES];
	struct spw_cell cell[SPW_CHOICES_MAX];
	struct spw_costs costs;
};

struct spw_predictor {
	unsigned n;
	uint64_t removed;
	spw_predict_fit *fit;		/* NULL: all do */
	const void *fit_arg;
	uint64_t version, tick;
	struct spw_choice choice[SPW_CHOICES_MAX];
	struct spw_cell bias[SPW_CHOICES_MAX];	/* blocks against samples */
	struct spw_cell whole[SPW_CHOICES_MAX];	/* times of what stays so */
	unsigned n_classes;
	struct class class[CLASSES];
	struct stream stream[STREAMS + PROBES];
};

struct spw_predictor *
spw_predict_new(const struct spw_choice *choices, unsigned n)
{
	struct spw_predictor *p;

	if (!n || n > SPW_CHOICES_MAX)
		return NULL;
	p = calloc(1, sizeof(*p));
	if (!p)
		return NULL;
	memcpy(p->choice, choices, n * sizeof(*choices));
	p->n = n;
	p->n_classes = 1;
	return p;
}

void
spw_predict_free(struct spw_predictor *p)
{
	free(p);
}

const struct spw_choice *
spw_predict_choices(const struct spw_predictor *p, unsigned *ret_n)
{
	*ret_n = p->n;
	return p->choice;
}

int
spw_predict_find(const struct spw_predictor *p, const struct spw_choice *want)
{
	for (unsigned c = 0; c < p->n; c++) {
		const struct spw_choice *at = &p->choice[c];

		if (at->codec == want->codec && at->filter == want->filter &&
		    at->level == want->level && at->width == want->width)
			return (int)c;
	}
	return -ENOENT;
}

/* A class of its own for each kind of traits, as long as there are any. */
static unsigned
class_of(struct spw_predictor *p, uint64_t traits)
{
	for (unsigned i = 1; i < p->n_classes; i++)
		if (p->class[i].traits == traits)
			return i;
	if (p->n_classes == CLASSES)
		return 0;
	p->class[p->n_classes].traits = traits;
	return p->n_classes++;
}

/* What the class expects; false: nobody knows.  Speeds are much the same for
 * all kinds of data; what is stored is not.
 */
static bool
expect_of_class(const struct spw_predictor *p, unsigned class, unsigned c,
		int k, float *ret)
{
	const struct spw_cell *all = &p->class[0].cell[c];
	const struct spw_cell *own = &p->class[class].cell[c];
	float n = own->n[k], m = 0;

	if (k != STORED && all->n[k] > 0)
		m = shrink[k];
	if (n + m <= 0)
		return false;
	*ret = (n * own->mean[k] + m * all->mean[k]) / (n + m);
	return true;
}

/* How far the stream is from its class, as far as that is known. */
static float
drift_of(const struct stream *st, int k)
{
	const struct drift *d = &st->all[k];

	return d->mean * d->n / (d->n + shrink[k]);
}

/* The same behind the filter of a choice: what a filter does to a stream it
 * does for all codecs.
 */
static float
drift_behind(const struct spw_predictor *p, const struct stream *st,
	     unsigned c, int k)
{
	const struct drift *d =
		&st->by_filter[p->choice[c].filter % FILTERS][k];

	return (d->mean * d->n + drift_of(st, k) * shrink[k]) /
	       (d->n + shrink[k]);
}

/* What gets no smaller is run over, not searched: it takes a codec the same
 * time whatever it is, and far less than what does.
 */
static bool
is_whole(float log_fraction)
{
	return log_fraction > WHOLE;
}

/* The logarithm of what is stored to what is saved. */
static float
odds_of(float log_fraction)
{
	return log_fraction - logf(-expm1f(log_fraction));
}

/* What was learned of a choice some time ago has since moved as the choices
 * did of which more was seen: where a file gets easier to pack, it does so for
 * all of them but those that save nothing.  Odds move alike, near all as well
 * as near nothing.
 */
static float
mean_now(const struct stream *st, const struct spw_cell *own, int k)
{
	float mean = own->mean[k], odds;

	if (k != STORED || st->tide == own->tide || is_whole(mean))
		return mean;
	odds = odds_of(mean) + st->tide - own->tide;
	return odds - log1pf(expf(odds));
}

static void
rebase(const struct stream *st, struct spw_cell *cell)
{
	cell->mean[STORED] = mean_now(st, cell, STORED);
	cell->tide = st->tide;
}

/* A choice that was guessed at is not like others of its class, and what is
 * seen of it is all that counts.
 */
static bool
blend(const struct spw_predictor *p, const struct stream *st, unsigned c,
      int k, float *ret)
{
	const struct spw_cell *own = &st->cell[c];
	float prior;

	if (own->guessed || !expect_of_class(p, st->class, c, k, &prior)) {
		*ret = mean_now(st, own, k);
		return own->n[k] > 0;
	}
	prior += drift_behind(p, st, c, k);
	*ret = (own->n[k] * mean_now(st, own, k) + shrink[k] * prior) /
	       (own->n[k] + shrink[k]);
	return true;
}

/* Will a choice leave a block as it is?  Where it left samples so, of which
 * others in the class got smaller, what is expected of the class says little.
 */
static bool
stays_whole(const struct spw_predictor *p, const struct stream *st, unsigned c)
{
	const struct spw_cell *own = &st->cell[c];
	float stored;

	if (own->sampled >> STORED & 1 && own->whole)
		return true;
	return blend(p, st, c, STORED, &stored) && is_whole(stored);
}

/* Then its class knows what that takes. */
static bool
is_whole_class(const struct spw_cell *class, int k)
{
	return class->n[k] >= 1 && is_whole(class->mean[STORED]);
}

static bool
expect(const struct spw_predictor *p, const struct stream *st, unsigned c,
       int k, float *ret)
{
	const struct spw_cell *own = &st->cell[c], *whole = &p->whole[c];
	bool is_seen = own->n[k] > 0 && !(own->sampled >> k & 1);

	if (k != STORED && !is_seen && whole->n[k] > 0 &&
	    stays_whole(p, st, c) &&
	    !is_whole_class(&p->class[st->class].cell[c], k)) {
		*ret = whole->mean[k];
		return true;
	}
	return blend(p, st, c, k, ret);
}

/* A class of which samples are all that was seen forgets what was made of them
 * when a block comes: that is known now.
 */
static void
note_guess(struct spw_cell *own, int k)
{
	if (!(own->n[k] > 0))
		own->sampled |= (uint8_t)(1u << k);
}

static void
forget_guesses(struct class *class, unsigned c, int k)
{
	struct spw_cell *own = &class->cell[c];

	if (!(own->sampled >> k & 1))
		return;
	own->sampled &= (uint8_t)~(1u << k);
	own->n[k] = 0;
	class->news[c].n[k] = class->news[c].sum[k] = 0;
}

/* All that a stream tells its class counts for less than two blocks. */
static void
tell_class(struct spw_predictor *p, struct stream *st, unsigned c, int k,
	   float x, float w)
{
	struct spw_cell *own = &p->class[st->class].cell[c];
	struct spw_cell *all = &p->class[0].cell[c];
	struct news *news = &p->class[st->class].news[c];
	float seen = 1 + st->cell[c].n[k], share = w / (seen * seen);

	if (st->class) {
		spw_cell_add(own, k, x, x - own->mean[k], share, CLASS_MEMORY);
		news->n[k] += share;
		news->sum[k] += share * x;
	}
	spw_cell_add(all, k, x, x - all->mean[k], share / 4, CLASS_MEMORY);
}

/* What samples and blocks are apart is in proportion to this: what does not
 * get smaller in a sample does not in a block.
 */
static float
leeway(int k, float x)
{
	return k == STORED ? 1 - expf(x) : 1;
}

/* A stream of a class that is not known shows itself in samples only.  They
 * are small: packing them is slower and saves less.  By how much was seen
 * where a block followed.
 */
static float
guess_block(const struct spw_predictor *p, unsigned c, int k, float x)
{
	const struct spw_cell *bias = &p->bias[c];

	return x + bias->mean[k] * leeway(k, x) * bias->n[k] /
		   (bias->n[k] + 1);
}

/* Where a block stores more than samples of it did, these were not like the
 * rest, and what other choices made of them is as wrong.
 */
static void
blame_samples(struct spw_predictor *p, struct stream *st, float off)
{
	float share = 1 / (1 + (float)st->blamed++);

	for (unsigned c = 1; c < p->n; c++) {
		struct spw_cell *cell = &st->cell[c];
		float *mean = &cell->mean[STORED];

		if (cell->sampled >> STORED & 1 && cell->n[STORED] > 0)
			*mean = SPW_MIN(0, *mean + share * off *
					   leeway(STORED, *mean));
	}
}

static void
compare_samples(struct spw_predictor *p, struct stream *st, unsigned c, int k,
		float x)
{
	struct spw_cell *bias = &p->bias[c], *cell = &st->cell[c];
	float room = leeway(k, cell->mean[k]), off = x - cell->mean[k];
	uint8_t bit = (uint8_t)(1u << k);

	if (k == STORED) {
		st->costs.stored[c] = (double)INFINITY;	/* told exactly */
		if (room > 0.1f)
			blame_samples(p, st, off / room);
	}
	if (cell->alone & bit && room > 0.1f) {
		off = bias->mean[k] + off / room;
		off = SPW_MAX(SPW_MIN(off, 0.5f), -0.5f);
		spw_cell_add(bias, k, off, 0, 1, OWN_MEMORY);
	}
	cell->sampled &= (uint8_t)~bit;
	cell->alone &= (uint8_t)~bit;
	cell->n[k] = 0;			/* a block tells more */
}

static void
move_drift(struct drift *d, float to, float w)
{
	d->mean += w / (SPW_MIN(d->n, OWN_MEMORY) + w) * (to - d->mean);
	d->n += w;
}

static void
drift(const struct spw_predictor *p, struct stream *st, unsigned c, int k,
      float to, float w)
{
	move_drift(&st->all[k], to, w);
	move_drift(&st->by_filter[p->choice[c].filter % FILTERS][k], to, w);
}

/* The first samples of a class are all that is known of it. */
static void
learn_first(struct spw_predictor *p, struct stream *st, unsigned c, int k,
	    float x)
{
	struct spw_cell *cell = &st->cell[c];
	float guess = guess_block(p, c, k, x), w = sample_weight[k];

	if (st->class) {
		note_guess(&p->class[st->class].cell[c], k);
		tell_class(p, st, c, k, guess, w);
	}
	spw_cell_learn(cell, k, guess, 0, w);
	cell->alone |= (uint8_t)(1u << k);
}

/* Samples are compared with samples of the class: as far as they are apart,
 * blocks are expected to be.  Where the class was only told of, they are as
 * good as samples are.
 */
static void
learn_further(const struct spw_predictor *p, struct stream *st, unsigned c,
	      int k, float guess, float prior, float w)
{
	struct spw_cell *cell = &st->cell[c];

	spw_cell_learn(cell, k, guess, 0, w);
	drift(p, st, c, k, guess - prior, w);
}

/* What is usual for a class is not to be had from this stream alone. */
static bool
is_sampler(const struct class *class, const struct stream *st, unsigned c)
{
	return class->sampler[c] == st->key.id + 1;
}

static void
note_sampler(struct class *class, const struct stream *st, unsigned c)
{
	bool is_first = !(class->sample[c].n[STORED] > 0);

	if (is_first)
		class->sampler[c] = st->key.id + 1;
	else if (!is_sampler(class, st, c))
		class->sampler[c] = 0;
}

/* Does the class know of nothing but samples of this stream, and does this one
 * show that they took less time than it seemed?
 */
static bool
is_correction(const struct class *class, const struct stream *st, unsigned c,
	      int k, float x)
{
	return st->class && k != STORED && is_sampler(class, st, c) &&
	       st->cell[c].alone >> k & 1 &&
	       class->cell[c].sampled >> k & 1 && x < class->sample[c].mean[k];
}

static void
correct(const struct spw_predictor *p, struct class *class,
	struct spw_cell *cell, unsigned c, int k, float x)
{
	struct news *news = &class->news[c];
	float guess = guess_block(p, c, k, x);

	class->sample[c].mean[k] = x;
	class->cell[c].mean[k] = cell->mean[k] = guess;
	news->sum[k] = news->n[k] * guess;
}

static void
learn_sample(struct spw_predictor *p, struct stream *st, unsigned c, int k,
	     float x)
{
	struct spw_cell *cell = &st->cell[c];
	struct class *class = &p->class[st->class];
	struct spw_cell *usual = &class->sample[c];
	float w = sample_weight[k], off = x - usual->mean[k], prior;
	bool is_usual = usual->n[k] > 0 && (cell->alone >> k & 1 ||
					    !is_sampler(class, st, c));

	if (!(cell->sampled >> k & 1) && cell->n[k] > 0)
		return;			/* blocks have told more */
	if (is_correction(class, st, c, k, x)) {
		correct(p, class, cell, c, k, x);
		return;
	}
	if (k == STORED)
		rebase(st, cell);
	cell->sampled |= (uint8_t)(1u << k);
	if (k == STORED)
		cell->whole = is_usual && is_whole(x) &&
			      !is_whole(usual->mean[k]);
	if (st->class) {
		note_sampler(class, st, c);
		spw_cell_add(usual, k, x, 0, w, CLASS_MEMORY);
	}
	if (!st->class || class->cell[c].n[k] <= 0 ||
	    !expect_of_class(p, st->class, c, k, &prior))
		learn_first(p, st, c, k, x);
	else if (is_usual)
		learn_further(p, st, c, k, prior + off, prior, w);
	else
		learn_further(p, st, c, k, guess_block(p, c, k, x), prior,
			      TOLD * w);
}

/* By how much a choice moved that was seen before, the stream did. */
static void
move_tide(struct stream *st, struct spw_cell *cell, float before)
{
	if (!is_whole(before) && !is_whole(cell->mean[STORED]) &&
	    before > NOTHING)
		st->tide += odds_of(cell->mean[STORED]) - odds_of(before);
	cell->tide = st->tide;
}

static void
learn_block(struct spw_predictor *p, struct stream *st, unsigned c, int k,
	    float x, float w)
{
	struct spw_cell *cell = &st->cell[c];
	float expected, prior, before, kept = x;
	bool has_prior = expect_of_class(p, st->class, c, k, &prior);

	if (k == STORED)
		rebase(st, cell);
	if (cell->sampled >> k & 1)
		compare_samples(p, st, c, k, x);
	before = cell->n[k] > 0 ? cell->mean[k] : x;
	if (expect(p, st, c, k, &expected))
		kept = spw_cell_cut(cell, k, expected, x);
	else
		expected = x;
	if (k != STORED && is_whole(cell->mean[STORED]))
		spw_cell_add(&p->whole[c], k, kept, 0, w, CLASS_MEMORY);
	else if (has_prior)
		drift(p, st, c, k, kept - prior, w);
	forget_guesses(&p->class[st->class], c, k);
	tell_class(p, st, c, k, kept, w);
	spw_cell_learn(cell, k, kept, x - expected, w);
	if (k == STORED)
		move_tide(st, cell, before);
}

static void
learn_figure(struct spw_predictor *p, struct stream *st, unsigned c, int k,
	     float x, float w, bool is_sample)
{
	if (is_sample)
		learn_sample(p, st, c, k, x);
	else
		learn_block(p, st, c, k, x, w);
}

/* Has a figure moved enough to be told?  The new one is in *at then. */
static bool
move(double *at, double to)
{
	if (isfinite(*at) && fabs(to - *at) <= MOVED * *at)
		return false;
	*at = to;
	return true;
}

static double
stored_quantum(float log_fraction)
{
	double stored = ceil(SPW_QUANTUM * (double)expf(log_fraction));

	return SPW_MAX(1, SPW_MIN(stored, SPW_QUANTUM));
}

static bool
show_choice(const struct spw_predictor *p, struct stream *st, unsigned c)
{
	struct spw_costs *costs = &st->costs;
	float pack, unpack, stored;
	bool moved;

	if (!((st->fit & ~p->removed) >> c & 1) ||
	    !expect(p, st, c, PACK, &pack) ||
	    !expect(p, st, c, STORED, &stored)) {
		moved = costs->pack[c] < (double)INFINITY;
		costs->pack[c] = (double)INFINITY;
		costs->unpack[c] = 0;
		costs->stored[c] = SPW_QUANTUM;
		return moved;
	}
	if (!expect(p, st, c, UNPACK, &unpack))
		unpack = pack;		/* it rarely takes longer */
	moved = move(&costs->pack[c], (double)expf(pack));
	moved |= move(&costs->unpack[c], (double)expf(unpack));
	moved |= move(&costs->stored[c], stored_quantum(stored));
	return moved;
}

static void
show_all(struct spw_predictor *p, struct stream *st)
{
	bool moved = false;

	for (unsigned c = 1; c < p->n; c++)
		moved |= show_choice(p, st, c);
	for (int k = 0; k < FIGURES; k++) {
		st->all[k].shown = st->all[k].mean;
		for (int f = 0; f < FILTERS; f++)
			st->by_filter[f][k].shown = st->by_filter[f][k].mean;
	}
	st->tide_shown = st->tide;
	st->since_review = 0;
	if (moved)
		st->costs.version = ++p->version;
}

static bool
has_drifted(const struct drift *d)
{
	return fabsf(d->mean - d->shown) > DRIFTED;
}

/* After something was learned of one choice. */
static void
show(struct spw_predictor *p, struct stream *st, unsigned c)
{
	const struct drift *near =
		st->by_filter[p->choice[c].filter % FILTERS];
	bool drifted = ++st->since_review >= REVIEW ||
		       fabsf(st->tide - st->tide_shown) > DRIFTED;

	for (int k = 0; k < FIGURES; k++)
		drifted |= has_drifted(&st->all[k]) || has_drifted(&near[k]);
	if (drifted)
		show_all(p, st);
	else if (show_choice(p, st, c))
		st->costs.version = ++p->version;
}

static void
start_stream(struct spw_predictor *p, struct stream *st,
	     const struct spw_stream *key)
{
	memset(st, 0, sizeof(*st));
	st->key = *key;
	st->class = (uint16_t)class_of(p, key->traits);
	st->fit = p->fit ? p->fit(p->fit_arg, key->traits) : UINT64_MAX;
	st->costs.n = p->n;
	st->costs.stored[0] = SPW_QUANTUM;
	st->costs.version = ++p->version;
	show_all(p, st);
}

static struct stream *
find_stream(struct spw_predictor *p, const struct spw_stream *key)
{
	uint64_t mix = (key->id ^ key->traits * UINT64_C(0xd6e8feb86659fd93)) *
		       UINT64_C(0x9e3779b97f4a7c15);
	struct stream *at = &p->stream[mix >> 32 & (STREAMS - 1)];
	struct stream *oldest = at;

	p->tick++;
	for (unsigned i = 0; i < PROBES; i++, at++) {
		if (at->used && at->key.id == key->id &&
		    at->key.traits == key->traits) {
			at->used = p->tick;
			return at;
		}
		if (at->used < oldest->used)
			oldest = at;
	}
	start_stream(p, oldest, key);
	oldest->used = p->tick;
	return oldest;
}

const struct spw_costs *
spw_predict_costs(struct spw_predictor *p, const struct spw_stream *stream)
{
	return &find_stream(p, stream)->costs;
}

double
spw_predict_drift(struct spw_predictor *p, const struct spw_stream *stream)
{
	return (double)drift_of(find_stream(p, stream), STORED);
}

double
spw_predict_evidence(struct spw_predictor *p, const struct spw_stream *stream,
		     unsigned choice)
{
	const struct spw_cell *cell = &find_stream(p, stream)->cell[choice];

	return (double)SPW_MIN(cell->n[PACK], cell->n[STORED]);
}

void
spw_predict_guess(struct spw_predictor *p, const struct spw_stream *stream,
		  unsigned choice, const struct spw_observed *guess)
{
	const double bytes = (double)guess->bytes;
	const float x[FIGURES] = {
		[PACK] = logf((float)(guess->pack / bytes)),
		[UNPACK] = logf((float)(guess->pack / bytes)),
		[STORED] = logf((float)((double)guess->stored / bytes)),
	};
	struct stream *st = find_stream(p, stream);
	struct spw_cell *cell = &st->cell[choice];

	for (int k = 0; k < FIGURES; k++)
		if (!(cell->n[k] > 0)) {
			spw_cell_learn(cell, k, x[k], 0, 1);
			cell->sampled |= (uint8_t)(1u << k);
			cell->guessed = true;
		}
	show(p, st, choice);
}

void
spw_predict_inherit(struct spw_predictor *p, const struct spw_stream *stream,
		    const struct spw_stream *from)
{
	const struct stream *old = find_stream(p, from);
	struct stream *st = find_stream(p, stream);	/* old is kept */

	for (unsigned c = 1; c < p->n; c++) {
		struct spw_cell *cell = &st->cell[c];

		*cell = old->cell[c];
		cell->alone = 0;
		for (int k = 0; k < FIGURES; k++)
			cell->n[k] = SPW_MIN(cell->n[k], INHERITED);
	}
	st->tide = old->tide;
	show_all(p, st);
}

void
spw_predict_suit(struct spw_predictor *p, spw_predict_fit *fit,
		 const void *arg)
{
	p->fit = fit;
	p->fit_arg = arg;
}

void
spw_predict_remove(struct spw_predictor *p, unsigned choice)
{
	p->removed |= UINT64_C(1) << choice;
	for (unsigned i = 0; i < STREAMS + PROBES; i++)
		if (p->stream[i].used)
			show_all(p, &p->stream[i]);
}

void
spw_predict_learn(struct spw_predictor *p, const struct spw_stream *stream,
		  unsigned choice, const struct spw_observed *seen)
{
	struct stream *st = find_stream(p, stream);
	float bytes = (float)seen->bytes, w, stored;

	if (!choice || choice >= p->n || !seen->bytes)
		return;
	w = SPW_MIN(1, SPW_MAX(bytes / WHOLE_BYTES, 0.1f));
	stored = SPW_MIN(1, (float)seen->stored / bytes);
	stored = SPW_MAX(stored, 1.0f / SPW_QUANTUM);
	learn_figure(p, st, choice, STORED, logf(stored), w, seen->is_sample);
	if (seen->pack > 0 && isfinite(seen->pack))
		learn_figure(p, st, choice, PACK,
			     logf((float)seen->pack / bytes), w,
			     seen->is_sample);
	if (seen->unpack > 0 && isfinite(seen->unpack))
		learn_figure(p, st, choice, UNPACK,
			     logf((float)seen->unpack / bytes), w,
			     seen->is_sample);
	show(p, st, choice);
}

static bool
is_speed(double x)
{
	return x == 0 || (x >= 1 && x <= 1e15);
}

static void
tell_figure(struct spw_predictor *p, unsigned class, unsigned c, int k,
	    double x, double weight)
{
	float w = (float)SPW_MIN(weight, (double)CLASS_MEMORY);
	float ln = (float)log(x);

	forget_guesses(&p->class[class], c, k);
	spw_cell_add(&p->class[class].cell[c], k, ln, 0, w, CLASS_MEMORY);
	spw_cell_add(&p->class[0].cell[c], k, ln, 0, w / 4, CLASS_MEMORY);
	if (k != STORED && is_whole(p->class[class].cell[c].mean[STORED]))
		spw_cell_add(&p->whole[c], k, ln, 0, w, CLASS_MEMORY);
}

int
spw_predict_tell(struct spw_predictor *p, const struct spw_known *known)
{
	int c = spw_predict_find(p, &known->choice);
	unsigned class;

	if (!(known->weight > 0) || !is_speed(known->pack) ||
	    !is_speed(known->unpack) || !(known->fraction > 0) ||
	    known->fraction > 2)
		return -EINVAL;
	if (c < 0)
		return c;
	class = class_of(p, known->traits);
	if (!class)
		return -ENOSPC;
	tell_figure(p, class, (unsigned)c, STORED, SPW_MIN(known->fraction, 1),
		    known->weight);
	if (known->pack > 0)
		tell_figure(p, class, (unsigned)c, PACK, 1 / known->pack,
			    known->weight);
	if (known->unpack > 0)
		tell_figure(p, class, (unsigned)c, UNPACK, 1 / known->unpack,
			    known->weight);
	return 0;
}

static double
mean_news(const struct news *news, int k)
{
	return news->n[k] > 0 ? exp((double)(news->sum[k] / news->n[k])) : 0;
}

static int
give_news(const struct spw_predictor *p, const struct class *class, unsigned c,
	  spw_predict_cb *cb, void *arg)
{
	const struct news *news = &class->news[c];
	double pack = mean_news(news, PACK), unpack = mean_news(news, UNPACK);

	if (news->n[STORED] <= 0)
		return 0;
	return cb(&(struct spw_known){
		.traits = class->traits,
		.choice = p->choice[c],
		.weight = (double)news->n[STORED],
		.pack = pack > 0 ? 1 / pack : 0,
		.unpack = unpack > 0 ? 1 / unpack : 0,
		.fraction = mean_news(news, STORED),
	}, arg);
}

int
spw_predict_learned(const struct spw_predictor *p, spw_predict_cb *cb,
		    void *arg)
{
	int r;

	for (unsigned i = 1; i < p->n_classes; i++)
		for (unsigned c = 1; c < p->n; c++) {
			r = give_news(p, &p->class[i], c, cb, arg);
			if (r)
				return r;
		}
	return 0;
}

void
spw_predict_given(struct spw_predictor *p)
{
	for (unsigned i = 1; i < p->n_classes; i++)
		memset(p->class[i].news, 0, sizeof(p->class[i].news));
}
