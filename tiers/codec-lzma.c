/* SPDX-License-Identifier: BSD-3-Clause */
/* codec-lzma.c -- bare LZMA2: a few MB/s, for what is kept and seldom read */

/* One block is one LZMA2 stream without the headers and sums of xz: ours
 * cover it.  Levels are the presets of xz.  The format does not tell the size
 * of the window; since it is never larger than the block, the length of the
 * block does for every level.  A stream object keeps its memory from block
 * to block as long as the sizes stay.
 */

#include <errno.h>
#include <lzma.h>
#include <stdio.h>
#include <stdlib.h>

#include "tiers/codec.h"

struct lzma_ctx {
	lzma_stream pack, unpack;	/* empty until first used */
};

/* What does not shrink is stored in chunks of at most 64 KiB with a header
 * of 3; one that shrinks by a byte has a header of 6.  A chunk ends before
 * its packed bytes are 64 KiB, hence the margin; 1 ends the stream.
 */
static size_t
lzma_bound(size_t n)
{
	return n + (n >> 13) * 6 + 16;
}

static void *
lzma_ctx_new(void)
{
	struct lzma_ctx *ctx = malloc(sizeof(*ctx));

	if (ctx)
		*ctx = (struct lzma_ctx){ LZMA_STREAM_INIT, LZMA_STREAM_INIT };
	return ctx;
}

static void
lzma_ctx_free(void *p)
{
	struct lzma_ctx *ctx = p;

	if (!ctx)
		return;
	lzma_end(&ctx->pack);
	lzma_end(&ctx->unpack);
	free(ctx);
}

static uint32_t
window(size_t n)
{
	return n > LZMA_DICT_SIZE_MIN ? (uint32_t)n : LZMA_DICT_SIZE_MIN;
}

/* All of src into dst.  A call without progress ends the loop. */
static lzma_ret
run(lzma_stream *stream, void *dst, size_t cap, const void *src, size_t n)
{
	lzma_ret r;

	stream->next_in = src;
	stream->avail_in = n;
	stream->next_out = dst;
	stream->avail_out = cap;
	do
		r = lzma_code(stream, LZMA_FINISH);
	while (r == LZMA_OK);
	return r;
}

static int64_t
lzma_encode(void *p, int level, void *dst, size_t cap, const void *src,
	    size_t n)
{
	struct lzma_ctx *ctx = p;
	lzma_options_lzma options;
	const lzma_filter filters[] = {
		{ .id = LZMA_FILTER_LZMA2, .options = &options },
		{ .id = LZMA_VLI_UNKNOWN },
	};

	if (lzma_lzma_preset(&options, (uint32_t)level))
		return -EINVAL;
	if (options.dict_size > window(n))
		options.dict_size = window(n);
	if (lzma_raw_encoder(&ctx->pack, filters) != LZMA_OK)
		return -ENOMEM;
	switch (run(&ctx->pack, dst, cap, src, n)) {
	case LZMA_STREAM_END:
		return (int64_t)(cap - ctx->pack.avail_out);
	case LZMA_MEM_ERROR:
		return -ENOMEM;
	default:
		return -E2BIG;
	}
}

static int
lzma_decode(void *p, void *dst, size_t len, const void *src, size_t n)
{
	struct lzma_ctx *ctx = p;
	lzma_options_lzma options = { .dict_size = window(len) };
	const lzma_filter filters[] = {
		{ .id = LZMA_FILTER_LZMA2, .options = &options },
		{ .id = LZMA_VLI_UNKNOWN },
	};

	if (lzma_raw_decoder(&ctx->unpack, filters) != LZMA_OK)
		return -ENOMEM;
	switch (run(&ctx->unpack, dst, len, src, n)) {
	case LZMA_STREAM_END:
		return ctx->unpack.avail_in || ctx->unpack.avail_out ?
		       -EBADMSG : 0;
	case LZMA_MEM_ERROR:
		return -ENOMEM;
	default:
		return -EBADMSG;
	}
}

static const struct spw_codec_choice choices[] = {
	{ SPW_CODEC_LZMA, 0, 20, false },
	{ SPW_CODEC_LZMA, 6, 3, true },
	{ .speed = 0 },
};

static const struct spw_codec codec = {
	.id = SPW_CODEC_LZMA,
	.name = "lzma",
	.min_level = SPW_LZMA_LOW,
	.max_level = SPW_LZMA_HIGH,
	.default_level = 0,
	.choices = choices,
	.bound = lzma_bound,
	.ctx_new = lzma_ctx_new,
	.ctx_free = lzma_ctx_free,
	.encode = lzma_encode,
	.decode = lzma_decode,
};

static int
probe(const char *dir, struct spw_finding *ret_finding)
{
	(void)dir;
	(void)snprintf(ret_finding->text, sizeof(ret_finding->text),
		       "liblzma %s", lzma_version_string());
	return 0;
}

const struct spw_module spw_module = {
	.abi = SPW_MODULE_ABI,
	.name = "codec-lzma",
	.probe = probe,
	.codec = &codec,
};
