/* SPDX-License-Identifier: BSD-3-Clause */
/* unit-codec-ctx.c -- a thread has one context per codec, until it ends */

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "tests/guarded.h"
#include "tiers/codec.h"

static atomic_int made, freed;
static atomic_bool no_memory;

static void *
count_new(void)
{
	if (no_memory)
		return NULL;
	made++;
	return malloc(1);
}

static void
count_free(void *ctx)
{
	freed += ctx != NULL;
	free(ctx);
}

static const struct spw_codec one = {
	.id = SPW_CODEC_LZ4, .ctx_new = count_new, .ctx_free = count_free,
};
static const struct spw_codec two = {
	.id = SPW_CODEC_ZSTD, .ctx_new = count_new, .ctx_free = count_free,
};

static void *
use_both(void *others)
{
	void *ctx = spw_codec_ctx(&one);

	CHECK(ctx && ctx != others);
	CHECK(spw_codec_ctx(&two) && spw_codec_ctx(&two) != ctx);
	CHECK(spw_codec_ctx(&one) == ctx);
	return NULL;
}

static void *
use_none(void *unused)
{
	return unused;
}

static void
run(void *(*body)(void *), void *arg)
{
	pthread_t thread;

	CHECK(!pthread_create(&thread, NULL, body, arg));
	CHECK(!pthread_join(thread, NULL));
}

int
main(void)
{
	void *mine;

	no_memory = true;
	CHECK(!spw_codec_ctx(&one));
	no_memory = false;
	CHECK(mine = spw_codec_ctx(&one));
	CHECK(spw_codec_ctx(&one) == mine);
	CHECK(made == 1 && freed == 0);

	run(use_both, mine);
	CHECK(made == 3 && freed == 2);
	run(use_none, NULL);
	CHECK(made == 3 && freed == 2);
	CHECK(spw_codec_ctx(&one) == mine);

	spw_codec_ctx_drop();
	CHECK(made == 3 && freed == 3);
	spw_codec_ctx_drop();
	CHECK(freed == 3);
	CHECK(spw_codec_ctx(&two));
	spw_codec_ctx_drop();
	CHECK(made == 4 && freed == 4);
	return 0;
}
