/* SPDX-License-Identifier: BSD-3-Clause */
/* codec-deflate.c -- DEFLATE by libdeflate: what zlib packs, but faster */

/* One block is one bare DEFLATE stream, without the headers and sums of zlib
 * or gzip: ours cover it.  Levels are libdeflate's; its 0 packs nothing and
 * is left out.  The library makes a coder for one level.
 */

#include <errno.h>
#include <libdeflate.h>
#include <stdio.h>
#include <stdlib.h>

#include "tiers/codec.h"

struct deflate_ctx {		/* each made when first needed */
	struct libdeflate_compressor *pack[SPW_DEFLATE_HIGH + 1];
	struct libdeflate_decompressor *unpack;
};

static size_t
deflate_bound(size_t n)
{
	return libdeflate_deflate_compress_bound(NULL, n);
}

static void *
deflate_ctx_new(void)
{
	return calloc(1, sizeof(struct deflate_ctx));
}

static void
deflate_ctx_free(void *p)
{
	struct deflate_ctx *ctx = p;
	int level;

	if (!ctx)
		return;
	for (level = SPW_DEFLATE_LOW; level <= SPW_DEFLATE_HIGH; level++)
		libdeflate_free_compressor(ctx->pack[level]);
	libdeflate_free_decompressor(ctx->unpack);
	free(ctx);
}

static int64_t
deflate_encode(void *p, int level, void *dst, size_t cap, const void *src,
	       size_t n)
{
	struct deflate_ctx *ctx = p;
	size_t used;

	if (!ctx->pack[level])
		ctx->pack[level] = libdeflate_alloc_compressor(level);
	if (!ctx->pack[level])
		return -ENOMEM;
	used = libdeflate_deflate_compress(ctx->pack[level], src, n, dst, cap);
	return used ? (int64_t)used : -E2BIG;	/* no other way to fail */
}

static int
deflate_decode(void *p, void *dst, size_t len, const void *src, size_t n)
{
	struct deflate_ctx *ctx = p;
	size_t used;

	if (!ctx->unpack)
		ctx->unpack = libdeflate_alloc_decompressor();
	if (!ctx->unpack)
		return -ENOMEM;
	/* No place for the length: any but len is an error. */
	if (libdeflate_deflate_decompress_ex(ctx->unpack, src, n, dst, len,
					     &used, NULL))
		return -EBADMSG;
	return used == n ? 0 : -EBADMSG;
}

static const struct spw_codec_choice choices[] = {
	{ SPW_CODEC_DEFLATE, 1, 150, false },
	{ SPW_CODEC_DEFLATE, 6, 70, true },
	{ .speed = 0 },
};

static const struct spw_codec codec = {
	.id = SPW_CODEC_DEFLATE,
	.name = "deflate",
	.min_level = SPW_DEFLATE_LOW,
	.max_level = SPW_DEFLATE_HIGH,
	.default_level = 1,
	.choices = choices,
	.bound = deflate_bound,
	.ctx_new = deflate_ctx_new,
	.ctx_free = deflate_ctx_free,
	.encode = deflate_encode,
	.decode = deflate_decode,
};

/* The library does not tell its version; this is the header's. */
static int
probe(const char *dir, struct spw_finding *ret_finding)
{
	(void)dir;
	(void)snprintf(ret_finding->text, sizeof(ret_finding->text),
		       "libdeflate %s", LIBDEFLATE_VERSION_STRING);
	return 0;
}

const struct spw_module spw_module = {
	.abi = SPW_MODULE_ABI,
	.name = "codec-deflate",
	.probe = probe,
	.codec = &codec,
};
