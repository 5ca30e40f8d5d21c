/* SPDX-License-Identifier: BSD-3-Clause */
/* fuzz-seed.c -- any text as a seed: refused, or figures that can be used */

/* With -DSPW_REPLAY a program of its own that runs over the corpus, or over
 * the files it is given.
 */

#include "planner/seed.h"

#include <errno.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LARGEST 65536

#define MUST(cond) \
	do { \
		if (!(cond)) { \
			fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, \
				#cond); \
			abort(); \
		} \
	} while (0)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void
must_be_sound(const struct spw_seed *seed)
{
	MUST(memchr(seed->cpu, '\0', sizeof(seed->cpu)));
	for (size_t i = 0; i < seed->n; i++) {
		const struct spw_known *k = &seed->at[i];

		MUST(k->weight > 0 && k->weight <= 1000);
		MUST(k->fraction > 0 && k->fraction <= 2);
		MUST(k->pack >= 0 && k->pack <= 1.001e15);
		MUST(k->unpack >= 0 && k->unpack <= 1.001e15);
	}
}

/* A pool of what the seed names first; whatever was told, costs are costs. */
static void
must_be_usable(const struct spw_seed *seed)
{
	struct spw_choice pool[8] = { { .codec = 0 } };
	struct spw_predictor *p;
	const struct spw_costs *costs;

	for (size_t i = 0; i < 7; i++)
		pool[i + 1] = i < seed->n ? seed->at[i].choice : pool[0];
	p = spw_predict_new(pool, 8);
	MUST(p);
	for (size_t i = 0; i < seed->n; i++)
		(void)spw_predict_tell(p, &seed->at[i]);
	costs = spw_predict_costs(p, &(struct spw_stream){
		.id = 1, .traits = seed->n ? seed->at[0].traits : 0 });
	for (unsigned c = 0; c < costs->n; c++) {
		MUST(costs->pack[c] >= 0 && costs->unpack[c] >= 0);
		MUST(isfinite(costs->unpack[c]));
		MUST(costs->stored[c] >= 1 && costs->stored[c] <= 4096);
		MUST(costs->stored[c] == floor(costs->stored[c]));
	}
	spw_predict_free(p);
}

/* What is written is read again, and written the same. */
static void
must_read_back(const char *old, const struct spw_seed *seed)
{
	const char *reason;
	struct spw_seed again;
	char *text;

	MUST(!spw_seed_print(old, seed, NULL, &text));
	MUST(!spw_seed_parse(text, strlen(text), &again, &reason));
	MUST(again.n == seed->n && again.cores == seed->cores);
	for (size_t i = 0; i < again.n; i++)
		MUST(again.at[i].traits == seed->at[i].traits &&
		     fabs(again.at[i].fraction / seed->at[i].fraction - 1)
		     < 1e-3);
	spw_seed_clear(&again);
	free(text);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	const char *reason = NULL;
	struct spw_seed seed;
	char *text;
	int r;

	if (n > LARGEST)
		return 0;
	text = malloc(n + 1);		/* the sanitizer sees its end */
	MUST(text);
	memcpy(text, data, n);
	text[n] = '\0';
	r = spw_seed_parse(text, n, &seed, &reason);
	MUST(!r || reason);
	MUST(!r || r == -EBADMSG || r == -EPROTONOSUPPORT || r == -EOPNOTSUPP);
	must_be_sound(&seed);
	if (!r)
		must_be_usable(&seed);
	if (!r && seed.cores)
		must_read_back(text, &seed);
	spw_seed_clear(&seed);
	free(text);
	return 0;
}

#ifdef SPW_REPLAY

#include "tests/replay.h"

int
main(int argc, char **argv)
{
	replay(argc, argv, "seed", LARGEST);
	return 0;
}

#endif
