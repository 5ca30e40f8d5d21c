/* SPDX-License-Identifier: BSD-3-Clause */
/* trial-made.c -- trials whose sizes are real and whose times are made up */

/* In the place of planner/trial.c: a test of what is made of trials gets the
 * same from them on every machine, busy or not, under any sanitizer.
 *
 * A codec takes some time to get ready, more if another ran before it, and then
 * packs at a third of its usual speed, or as a test says; what shrinks to little
 * is packed faster, what shrinks to nothing as quickly as memory is read, by all
 * of them alike, and what does not shrink is run over.  Filters run at 2 GB/s,
 * and unpacking takes a quarter of packing.  The clock shows how long all trials
 * took together.
 */

#include "tests/trial-made.h"
#include "tiers/codec.h"
#include "tiers/filter.h"

#include <errno.h>

#define FILTER_SPEED 2e9		/* bytes a second */
#define READY 1e-6			/* seconds; of lz4 */
#define MORE_READY 7e-6			/* of others */
#define MEMORY_SPEED 1.7e9
#define MORE 1.06			/* times as long as lz4 */
#define PINNED 100u			/* MB/s of a level nobody else takes */

unsigned made_trials, made_slow;
struct made_machine made_machine = { .pace = 3 };

static double spent;
static uint64_t warm;			/* codecs that caches know, a bit each */
static uint8_t filtered[SPW_TRIAL_MAX], packed[SPW_TRIAL_MAX];

int
spw_trial_init(struct spw_trial *t)
{
	*t = (struct spw_trial){ filtered, packed, NULL, 0 };
	return 0;
}

void
spw_trial_clear(struct spw_trial *t)
{
	*t = (struct spw_trial){ .filtered = NULL };
}

double
spw_trial_clock(void)
{
	return spent;
}

static double
speed_of(const struct spw_object_pack *pack)
{
	const struct spw_codec_choice *c;

	for (size_t i = 0; (c = spw_codec_pool(i)); i++)
		if (c->id == pack->codec && c->level == pack->level)
			return 1e6 * c->speed;
	return 1e6 * PINNED;
}

void
made_cool(void)
{
	warm = 0;
}

double
made_time(const struct spw_object_pack *pack, double n, double stored)
{
	bool is_lz4 = pack->codec == SPW_CODEC_LZ4;
	double ready = made_machine.pace * (is_lz4 ? READY : MORE_READY);
	double part = stored < n ? 0.05 + 0.95 * stored / n : 0.1;

	if (stored < n / 64)
		return n / MEMORY_SPEED * (is_lz4 ? 1 : MORE);

	return ready + made_machine.pace * part * n / speed_of(pack) +
	       (pack->filter ? n / FILTER_SPEED : 0);
}

int
spw_trial(struct spw_trial *t, const struct spw_object_pack *pack,
	  const void *data, size_t n, bool unpacks, struct spw_observed *ret)
{
	const struct spw_codec *codec = spw_codec_by_id(pack->codec);
	const struct spw_filter_spec filter = { pack->filter, pack->width };
	struct spw_observed seen = { .bytes = n, .stored = n };
	int64_t used;

	if (n < 2 || n > SPW_TRIAL_MAX)
		return -EINVAL;
	if (!codec || (filter.id && spw_filter_apply(&filter, t->filtered,
						     data, n) < 0))
		return -ENOTSUP;
	used = spw_codec_encode(codec, spw_codec_ctx(codec), pack->level,
				t->packed, n - 1,
				filter.id ? t->filtered : data, n);
	if (used < 0 && used != -E2BIG)
		return (int)used;
	if (used > 0)
		seen.stored = (uint64_t)used;
	seen.pack = made_time(pack, (double)n, (double)seen.stored);
	if (!(warm >> codec->id & 1))
		seen.pack += made_machine.cold;
	warm |= UINT64_C(1) << codec->id;
	if (++made_trials == made_slow)
		seen.pack *= MADE_SLOWER;
	if (unpacks && used > 0)
		seen.unpack = seen.pack / 4;
	spent += seen.pack + seen.unpack;
	*ret = seen;
	return 0;
}
