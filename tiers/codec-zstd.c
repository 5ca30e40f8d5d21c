/* SPDX-License-Identifier: BSD-3-Clause */
/* codec-zstd.c -- Zstandard frames: the middle ground, 0.1 to 2 GB/s */

/* Levels are zstd's own.  A negative level packs no literals, so it does
 * little for floating point unless the bytes were shuffled before.  One
 * block is one frame with its length noted and without zstd's checksum: ours
 * covers it.
 */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <zstd.h>
#include <zstd_errors.h>

#include "tiers/codec.h"

struct zstd_ctx {		/* each made when first needed */
	ZSTD_CCtx *pack;
	ZSTD_DCtx *unpack;
};

static size_t
zstd_bound(size_t n)
{
	return ZSTD_compressBound(n);
}

static void *
zstd_ctx_new(void)
{
	return calloc(1, sizeof(struct zstd_ctx));
}

static void
zstd_ctx_free(void *p)
{
	struct zstd_ctx *ctx = p;

	if (!ctx)
		return;
	ZSTD_freeCCtx(ctx->pack);
	ZSTD_freeDCtx(ctx->unpack);
	free(ctx);
}

static int
error_of(size_t code)
{
	switch (ZSTD_getErrorCode(code)) {
	case ZSTD_error_dstSize_tooSmall:
		return -E2BIG;
	case ZSTD_error_memory_allocation:
		return -ENOMEM;
	default:
		return -EBADMSG;
	}
}

static int64_t
zstd_encode(void *p, int level, void *dst, size_t cap, const void *src,
	    size_t n)
{
	struct zstd_ctx *ctx = p;
	size_t r;

	if (!ctx->pack)
		ctx->pack = ZSTD_createCCtx();
	if (!ctx->pack)
		return -ENOMEM;
	r = ZSTD_CCtx_setParameter(ctx->pack, ZSTD_c_compressionLevel, level);
	if (!ZSTD_isError(r))
		r = ZSTD_compress2(ctx->pack, dst, cap, src, n);
	return ZSTD_isError(r) ? error_of(r) : (int64_t)r;
}

static int
zstd_decode(void *p, void *dst, size_t len, const void *src, size_t n)
{
	struct zstd_ctx *ctx = p;
	size_t r;

	/* One whole frame of the right length, before any work is done: the
	 * library would also take several, or none.
	 */
	if (ZSTD_getFrameContentSize(src, n) != len ||
	    ZSTD_findFrameCompressedSize(src, n) != n)
		return -EBADMSG;
	if (!ctx->unpack)
		ctx->unpack = ZSTD_createDCtx();
	if (!ctx->unpack)
		return -ENOMEM;
	r = ZSTD_decompressDCtx(ctx->unpack, dst, len, src, n);
	if (ZSTD_isError(r))
		return error_of(r) == -ENOMEM ? -ENOMEM : -EBADMSG;
	return r == len ? 0 : -EBADMSG;
}

static const struct spw_codec_choice choices[] = {
	{ SPW_CODEC_ZSTD, -5, 600, false },
	{ SPW_CODEC_ZSTD, -1, 450, false },
	{ SPW_CODEC_ZSTD, 1, 350, true },
	{ SPW_CODEC_ZSTD, 3, 220, false },
	{ SPW_CODEC_ZSTD, 6, 100, false },
	{ SPW_CODEC_ZSTD, 12, 30, false },
	{ SPW_CODEC_ZSTD, 19, 3, false },
	{ .speed = 0 },
};

static const struct spw_codec codec = {
	.id = SPW_CODEC_ZSTD,
	.name = "zstd",
	.min_level = SPW_ZSTD_LOW,
	.max_level = SPW_ZSTD_HIGH,	/* above, 100 MiB per context */
	.default_level = 1,
	.choices = choices,
	.bound = zstd_bound,
	.ctx_new = zstd_ctx_new,
	.ctx_free = zstd_ctx_free,
	.encode = zstd_encode,
	.decode = zstd_decode,
};

static int
probe(const char *dir, struct spw_finding *ret_finding)
{
	(void)dir;
	(void)snprintf(ret_finding->text, sizeof(ret_finding->text),
		       "libzstd %s", ZSTD_versionString());
	return 0;
}

const struct spw_module spw_module = {
	.abi = SPW_MODULE_ABI,
	.name = "codec-zstd",
	.probe = probe,
	.codec = &codec,
};
