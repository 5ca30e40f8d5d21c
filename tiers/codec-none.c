/* SPDX-License-Identifier: BSD-3-Clause */
/* codec-none.c -- bytes as they are; also the pattern for other codecs */

#include <errno.h>
#include <string.h>

#include "tiers/codec.h"

static size_t
none_bound(size_t n)
{
	return n;
}

static void *
none_ctx_new(void)
{
	static char nothing;	/* not NULL, which would mean no memory */

	return &nothing;
}

static void
none_ctx_free(void *ctx)
{
	(void)ctx;
}

static int64_t
none_encode(void *ctx, int level, void *dst, size_t cap, const void *src,
	    size_t n)
{
	(void)ctx;
	(void)level;
	if (n > cap)
		return -E2BIG;
	if (n)
		memcpy(dst, src, n);
	return (int64_t)n;
}

static int
none_decode(void *ctx, void *dst, size_t len, const void *src, size_t n)
{
	(void)ctx;
	if (n != len)
		return -EBADMSG;
	if (n)
		memcpy(dst, src, n);
	return 0;
}

static const struct spw_codec_choice choices[] = {
	{ SPW_CODEC_NONE, 0, UINT16_MAX, false }, { .speed = 0 },
};

const struct spw_codec spw_codec_none = {
	.id = SPW_CODEC_NONE,
	.name = "none",
	.choices = choices,
	.bound = none_bound,
	.ctx_new = none_ctx_new,
	.ctx_free = none_ctx_free,
	.encode = none_encode,
	.decode = none_decode,
};
