/* SPDX-License-Identifier: BSD-3-Clause */
/* codec-ctx.c -- each thread's contexts, kept from one block to the next */

/* The key exists for its destructor alone, which runs at the end of a thread
 * that made a context; the contexts themselves are found without a call.  The
 * main thread's are left to the end of the process, as the key does.
 */

#include <pthread.h>

#include "tiers/codec.h"

static __thread struct {
	const struct spw_codec *codec;
	void *ctx;
} kept[SPW_CODECS];			/* by id */
static pthread_key_t at_exit;
static int has_key;
static pthread_once_t once = PTHREAD_ONCE_INIT;

void
spw_codec_ctx_drop(void)
{
	size_t id;

	for (id = 0; id < SPW_CODECS; id++) {
		if (kept[id].ctx)
			kept[id].codec->ctx_free(kept[id].ctx);
		kept[id].ctx = NULL;
	}
}

static void
drop(void *unused)
{
	(void)unused;
	spw_codec_ctx_drop();
}

static void
make_key(void)
{
	has_key = !pthread_key_create(&at_exit, drop);
}

void *
spw_codec_ctx(const struct spw_codec *codec)
{
	if (kept[codec->id].ctx)
		return kept[codec->id].ctx;
	/* Any value but NULL asks for the destructor; without it a thread
	 * leaks its contexts when it ends, so it gets none.
	 */
	if (pthread_once(&once, make_key) || !has_key ||
	    pthread_setspecific(at_exit, kept))
		return NULL;
	kept[codec->id].codec = codec;
	kept[codec->id].ctx = codec->ctx_new();
	return kept[codec->id].ctx;
}
