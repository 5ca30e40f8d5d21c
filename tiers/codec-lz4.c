/* SPDX-License-Identifier: BSD-3-Clause */
/* codec-lz4.c -- LZ4 blocks: little work, for tiers nearly as fast as RAM */

/* Levels as lz4's own command counts them: -a is the fast coder with
 * acceleration a, 0 to 2 the fast coder as it is, 3 to 12 the thorough coder
 * (HC), whose output is unpacked just as fast.
 */

#include <errno.h>
#include <lz4.h>
#include <lz4hc.h>
#include <stdio.h>
#include <stdlib.h>

#include "tiers/codec.h"

struct lz4_ctx {
	void *fast;		/* 16 KiB */
	void *hc;		/* 256 KiB, made when first needed */
};

static size_t
lz4_bound(size_t n)
{
	return n + n / 255 + 16;
}

static void
lz4_ctx_free(void *p)
{
	struct lz4_ctx *ctx = p;

	if (!ctx)
		return;
	free(ctx->fast);
	free(ctx->hc);
	free(ctx);
}

static void *
lz4_ctx_new(void)
{
	struct lz4_ctx *ctx = calloc(1, sizeof(*ctx));

	if (!ctx)
		return NULL;
	ctx->fast = malloc((size_t)LZ4_sizeofState());
	if (ctx->fast)
		return ctx;
	lz4_ctx_free(ctx);
	return NULL;
}

static int64_t
lz4_encode(void *p, int level, void *dst, size_t cap, const void *src,
	   size_t n)
{
	struct lz4_ctx *ctx = p;
	int used;

	if (level >= LZ4HC_CLEVEL_MIN) {
		if (!ctx->hc)
			ctx->hc = malloc((size_t)LZ4_sizeofStateHC());
		if (!ctx->hc)
			return -ENOMEM;
		used = LZ4_compress_HC_extStateHC(ctx->hc, src, dst, (int)n,
						  (int)cap, level);
	} else {
		used = LZ4_compress_fast_extState(ctx->fast, src, dst, (int)n,
						  (int)cap,
						  level < 0 ? -level : 1);
	}
	return used > 0 ? used : -E2BIG;	/* no other way to fail */
}

static int
lz4_decode(void *ctx, void *dst, size_t len, const void *src, size_t n)
{
	int got = LZ4_decompress_safe(src, dst, (int)n, (int)len);

	(void)ctx;
	return got >= 0 && (size_t)got == len ? 0 : -EBADMSG;
}

/* A negative level is an acceleration. */
static const struct spw_codec_choice choices[] = {
	{ SPW_CODEC_LZ4, -8, 1200, false },
	{ SPW_CODEC_LZ4, 1, 600, true },
	{ .speed = 0 },
};

static const struct spw_codec codec = {
	.id = SPW_CODEC_LZ4,
	.name = "lz4",
	.min_level = SPW_LZ4_LOW,
	.max_level = SPW_LZ4_HIGH,
	.default_level = 1,
	.choices = choices,
	.bound = lz4_bound,
	.ctx_new = lz4_ctx_new,
	.ctx_free = lz4_ctx_free,
	.encode = lz4_encode,
	.decode = lz4_decode,
};

static int
probe(const char *dir, struct spw_finding *ret_finding)
{
	(void)dir;
	(void)snprintf(ret_finding->text, sizeof(ret_finding->text),
		       "liblz4 %s", LZ4_versionString());
	return 0;
}

const struct spw_module spw_module = {
	.abi = SPW_MODULE_ABI,
	.name = "codec-lz4",
	.probe = probe,
	.codec = &codec,
};
