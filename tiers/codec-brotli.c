/* SPDX-License-Identifier: BSD-3-Clause */
/* codec-brotli.c -- Brotli streams: smallest, for tiers far away */

/* Levels are brotli's qualities.  The library cannot reset a coder: each
 * block takes a new one, which asks for the same few pieces of memory again.
 * The context keeps them, else a small block would mostly wait for pages.
 */

#include <brotli/decode.h>
#include <brotli/encode.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "tiers/codec.h"

#define KEEP_PIECES 32
#define KEEP_BYTES ((size_t)32 << 20)

struct piece {
	size_t size;
	_Alignas(max_align_t) unsigned char mem[];
};

struct brotli_ctx {
	struct piece *kept[KEEP_PIECES];
	size_t nkept, bytes;
};

/* The smallest kept piece that is large enough, but not far too large. */
static void *
keep_alloc(void *p, size_t size)
{
	struct brotli_ctx *ctx = p;
	struct piece *piece;
	size_t i, best = KEEP_PIECES;

	for (i = 0; i < ctx->nkept; i++)
		if (ctx->kept[i]->size >= size &&
		    ctx->kept[i]->size / 2 <= size &&
		    (best == KEEP_PIECES ||
		     ctx->kept[i]->size < ctx->kept[best]->size))
			best = i;
	if (best < KEEP_PIECES) {
		piece = ctx->kept[best];
		ctx->kept[best] = ctx->kept[--ctx->nkept];
		ctx->bytes -= piece->size;
		return piece->mem;
	}
	if (size > SIZE_MAX - sizeof(*piece))
		return NULL;
	piece = malloc(sizeof(*piece) + size);
	if (!piece)
		return NULL;
	piece->size = size;
	return piece->mem;
}

static void
keep_free(void *p, void *mem)
{
	struct brotli_ctx *ctx = p;
	struct piece *piece;

	if (!mem)
		return;
	piece = (void *)((char *)mem - offsetof(struct piece, mem));
	if (ctx->nkept == KEEP_PIECES ||
	    ctx->bytes + piece->size > KEEP_BYTES) {
		free(piece);
		return;
	}
	ctx->kept[ctx->nkept++] = piece;
	ctx->bytes += piece->size;
}

static void *
brotli_ctx_new(void)
{
	return calloc(1, sizeof(struct brotli_ctx));
}

static void
brotli_ctx_free(void *p)
{
	struct brotli_ctx *ctx = p;

	if (!ctx)
		return;
	while (ctx->nkept)
		free(ctx->kept[--ctx->nkept]);
	free(ctx);
}

/* A stream header, and per part of at least 2^16 bytes a part header of at
 * most 4, since what does not shrink is stored as it is; the last part is
 * empty.  brotli's own bound is the same with parts of 2^14, and does not
 * count qualities 0 and 1.
 */
static size_t
brotli_bound(size_t n)
{
	return n + (n >> 14) * 4 + 16;
}

/* The smallest window that sees the whole block. */
static uint32_t
window_bits(size_t n)
{
	uint32_t bits = 16;

	while (bits < BROTLI_MAX_WINDOW_BITS && ((size_t)1 << bits) - 16 < n)
		bits++;
	return bits;
}

static int64_t
pack(BrotliEncoderState *coder, uint8_t *dst, size_t cap, const uint8_t *src,
     size_t n)
{
	size_t room = cap;

	if (!BrotliEncoderCompressStream(coder, BROTLI_OPERATION_FINISH, &n,
					 &src, &room, &dst, NULL))
		return -ENOMEM;
	if (!BrotliEncoderIsFinished(coder))
		return -E2BIG;
	return (int64_t)(cap - room);
}

static int64_t
brotli_encode(void *ctx, int level, void *dst, size_t cap, const void *src,
	      size_t n)
{
	BrotliEncoderState *coder;
	int64_t r = -ENOMEM;

	coder = BrotliEncoderCreateInstance(keep_alloc, keep_free, ctx);
	if (!coder)
		return r;
	if (BrotliEncoderSetParameter(coder, BROTLI_PARAM_QUALITY,
				      (uint32_t)level) &&
	    BrotliEncoderSetParameter(coder, BROTLI_PARAM_LGWIN,
				      window_bits(n)) &&
	    BrotliEncoderSetParameter(coder, BROTLI_PARAM_SIZE_HINT,
				      (uint32_t)n))
		r = pack(coder, dst, cap, src, n);
	BrotliEncoderDestroyInstance(coder);
	return r;
}

static int
unpack(BrotliDecoderState *coder, uint8_t *dst, size_t len,
       const uint8_t *src, size_t n)
{
	switch (BrotliDecoderDecompressStream(coder, &n, &src, &len, &dst,
					      NULL)) {
	case BROTLI_DECODER_RESULT_SUCCESS:
		return n || len ? -EBADMSG : 0;
	case BROTLI_DECODER_RESULT_ERROR:
		switch (BrotliDecoderGetErrorCode(coder)) {
		case BROTLI_DECODER_ERROR_ALLOC_CONTEXT_MODES:
		case BROTLI_DECODER_ERROR_ALLOC_TREE_GROUPS:
		case BROTLI_DECODER_ERROR_ALLOC_CONTEXT_MAP:
		case BROTLI_DECODER_ERROR_ALLOC_RING_BUFFER_1:
		case BROTLI_DECODER_ERROR_ALLOC_RING_BUFFER_2:
		case BROTLI_DECODER_ERROR_ALLOC_BLOCK_TYPE_TREES:
			return -ENOMEM;
		default:
			return -EBADMSG;
		}
	default:
		return -EBADMSG;
	}
}

static int
brotli_decode(void *ctx, void *dst, size_t len, const void *src, size_t n)
{
	BrotliDecoderState *coder;
	int r;

	coder = BrotliDecoderCreateInstance(keep_alloc, keep_free, ctx);
	if (!coder)
		return -ENOMEM;
	r = unpack(coder, dst, len, src, n);
	BrotliDecoderDestroyInstance(coder);
	return r;
}

static const struct spw_codec_choice choices[] = {
	{ SPW_CODEC_BROTLI, 1, 250, true },
	{ SPW_CODEC_BROTLI, 4, 80, false },
	{ SPW_CODEC_BROTLI, 9, 15, false },
	{ .speed = 0 },
};

static const struct spw_codec codec = {
	.id = SPW_CODEC_BROTLI,
	.name = "brotli",
	.min_level = SPW_BROTLI_LOW,
	.max_level = SPW_BROTLI_HIGH,
	.default_level = 1,
	.choices = choices,
	.bound = brotli_bound,
	.ctx_new = brotli_ctx_new,
	.ctx_free = brotli_ctx_free,
	.encode = brotli_encode,
	.decode = brotli_decode,
};

static int
probe(const char *dir, struct spw_finding *ret_finding)
{
	uint32_t v = BrotliEncoderVersion();

	(void)dir;
	(void)snprintf(ret_finding->text, sizeof(ret_finding->text),
		       "libbrotli %u.%u.%u", v >> 24, v >> 12 & 0xfff,
		       v & 0xfff);
	return 0;
}

const struct spw_module spw_module = {
	.abi = SPW_MODULE_ABI,
	.name = "codec-brotli",
	.probe = probe,
	.codec = &codec,
};
