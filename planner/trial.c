/* SPDX-License-Identifier: BSD-3-Clause */
/* trial.c -- packs and unpacks a piece, and looks at the clock */

#include "planner/trial.h"
#include "tiers/codec.h"
#include "tiers/filter.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { LOOKS = 8, RAN = 64 };

/* The most bytes that a codec and level ran with on this thread, whose context
 * of the codec has grown to them.
 */
static _Thread_local struct ran {
	uint8_t codec;
	int level;
	size_t most;
} ran[RAN];

/* The shortest of a few: others were held up. */
static double
clock_cost(void)
{
	double least = 1;

	for (int i = 0; i < LOOKS; i++) {
		double start = spw_trial_clock();
		double took = spw_trial_clock() - start;

		least = took < least ? took : least;
	}
	return least;
}

/* Memory that is there: no trial is to wait for a page of it. */
static uint8_t *
get_room(void)
{
	uint8_t *room = malloc(SPW_TRIAL_MAX);

	if (room)
		memset(room, 0xa5, SPW_TRIAL_MAX);	/* not calloc */
	return room;
}

int
spw_trial_init(struct spw_trial *t)
{
	t->clock = clock_cost();
	t->filtered = get_room();
	t->packed = get_room();
	t->back = get_room();
	if (t->filtered && t->packed && t->back)
		return 0;
	spw_trial_clear(t);
	return -ENOMEM;
}

void
spw_trial_clear(struct spw_trial *t)
{
	free(t->filtered);
	free(t->packed);
	free(t->back);
	*t = (struct spw_trial){ .filtered = NULL };
}

double
spw_trial_clock(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	return (double)ts.tv_sec + 1e-9 * (double)ts.tv_nsec;
}

struct piece {
	const struct spw_codec *codec;
	void *ctx;
	int level;
	struct spw_filter_spec filter;
	const uint8_t *data;
	size_t n;
};

/* Bytes packed; 0: they do not get fewer. */
static int64_t
pack(struct spw_trial *t, const struct piece *p)
{
	const uint8_t *from = p->filter.id ? t->filtered : p->data;
	int64_t r;

	if (p->filter.id)
		(void)spw_filter_apply(&p->filter, t->filtered, p->data, p->n);
	r = spw_codec_encode(p->codec, p->ctx, p->level, t->packed, p->n - 1,
			     from, p->n);
	return r == -E2BIG ? 0 : r;
}

static int
unpack(struct spw_trial *t, const struct piece *p, size_t packed)
{
	uint8_t *to = p->filter.id ? t->filtered : t->back;
	int r = spw_codec_decode(p->codec, p->ctx, to, p->n, t->packed,
				 packed);

	if (!r && p->filter.id)
		r = spw_filter_undo(&p->filter, t->back, t->filtered, p->n);
	return r;
}

/* Seconds; not 0, which is not measured. */
static double
took(const struct spw_trial *t, double start, double end)
{
	double seconds = end - start - t->clock;

	return seconds > 1e-9 ? seconds : 1e-9;
}

static int
measure(struct spw_trial *t, const struct piece *p, bool unpacks,
	struct spw_observed *ret)
{
	struct spw_observed seen = { .bytes = p->n, .stored = p->n };
	double start = spw_trial_clock(), packed;
	int64_t used = pack(t, p);
	int r;

	packed = spw_trial_clock();
	seen.pack = took(t, start, packed);
	if (used < 0)
		return (int)used;
	if (used > 0)
		seen.stored = (uint64_t)used;
	if (used > 0 && unpacks) {
		r = unpack(t, p, (size_t)used);
		if (r < 0)
			return r;
		seen.unpack = took(t, packed, spw_trial_clock());
		if (memcmp(t->back, p->data, p->n))
			return -EBADMSG;
	}
	*ret = seen;
	return 0;
}

/* True: this is the first time with so many bytes. */
static bool
is_first(const struct piece *p)
{
	struct ran *at = ran;

	while (at < ran + RAN && at->most &&
	       (at->codec != p->codec->id || at->level != p->level))
		at++;
	if (at == ran + RAN || at->most >= p->n)
		return false;
	*at = (struct ran){ p->codec->id, p->level, p->n };
	return true;
}

int
spw_trial(struct spw_trial *t, const struct spw_object_pack *pack,
	  const void *data, size_t n, bool unpacks, struct spw_observed *ret)
{
	struct piece p = {
		.codec = spw_codec_by_id(pack->codec), .level = pack->level,
		.filter = { pack->filter, pack->width },
		.data = data, .n = n,
	};

	if (n < 2 || n > SPW_TRIAL_MAX)
		return -EINVAL;
	if (!p.codec || (p.filter.id && !spw_filter_is_known(&p.filter)))
		return -ENOTSUP;
	p.ctx = spw_codec_ctx(p.codec);
	if (!p.ctx)
		return -ENOMEM;
	if (is_first(&p))
		(void)measure(t, &p, unpacks, ret);
	return measure(t, &p, unpacks, ret);
}
