/* SPDX-License-Identifier: BSD-3-Clause */
/* fuzz-codec.c -- whatever was stored, unpacking stays inside its buffers */

/* First byte: the codec, modulo how many there are.  Second, what to do:
 *   even: two bytes of length, the rest is unpacked as it is;
 *   odd: a byte of level, two of position, one of change; the rest is packed,
 *     must come back, and is unpacked again with that byte changed.
 * Built with SPW_REPLAY it runs over the files named, or over the corpus.
 */

#include <errno.h>
#include <string.h>

#include "tests/guarded.h"
#include "tiers/codec.h"

#define LARGEST 65535u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static struct guarded packed, unpacked;
static void *contexts[256];

static const struct spw_codec *
get_codec(uint8_t byte)
{
	const uint8_t id = byte % SPW_CODECS;
	const struct spw_codec *codec;

	if (!packed.map) {
		packed = guarded_new(LARGEST * 2);
		unpacked = guarded_new(LARGEST * 2);
		(void)spw_codec_load(NULL);
	}
	codec = spw_codec_by_id(id);
	if (codec && !contexts[id])
		CHECK(contexts[id] = codec->ctx_new());
	return codec;
}

/* The libraries are not instrumented, so the fuzzer sees nothing of them.
 * What it can see is how far a codec came: which power of two its output
 * reached, and how it ended.  libFuzzer reads these as coverage.
 */
#ifndef SPW_REPLAY
__attribute__((section("__libfuzzer_extra_counters")))
#endif
static uint8_t reached[SPW_CODECS][2][32];

#define UNTOUCHED 0xa5

static void
note(const struct spw_codec *codec, int r, const uint8_t *out, size_t len)
{
	int power = 0;

	while (len && out[len - 1] == UNTOUCHED)
		len--;
	for (; len; len >>= 1)
		power++;
	reached[codec->id][r == 0][power] = 1;
}

static int
unpack(const struct spw_codec *codec, size_t len, size_t n)
{
	uint8_t *out = memset(guarded_buf(&unpacked, len), UNTOUCHED, len);
	int r = spw_codec_decode(codec, contexts[codec->id], out, len,
				 guarded_buf(&packed, n), n);

	CHECK(r == 0 || r == -EBADMSG || r == -ENOMEM);
	note(codec, r, out, len);
	return r;
}

static void
unpack_as_is(const struct spw_codec *codec, const uint8_t *data, size_t n)
{
	if (n < 2)
		return;
	memcpy(guarded_buf(&packed, n - 2), data + 2, n - 2);
	(void)unpack(codec, data[0] | (size_t)data[1] << 8, n - 2);
}

static void
pack_and_damage(const struct spw_codec *codec, const uint8_t *data, size_t n)
{
	int levels = codec->max_level - codec->min_level + 1;
	size_t len, at;
	uint8_t *out;
	int64_t r;

	if (n < 4)
		return;
	len = n - 4;
	out = guarded_buf(&packed, codec->bound(len));
	r = spw_codec_encode(codec, contexts[codec->id],
			     codec->min_level + data[0] % levels, out,
			     codec->bound(len), data + 4, len);
	CHECK(r >= 0 && (size_t)r <= codec->bound(len));
	memmove(guarded_buf(&packed, (size_t)r), out, (size_t)r);
	CHECK(unpack(codec, len, (size_t)r) == 0);
	CHECK(!memcmp(guarded_buf(&unpacked, len), data + 4, len));
	if (!r)
		return;
	at = (data[1] | (size_t)data[2] << 8) % (size_t)r;
	guarded_buf(&packed, (size_t)r)[at] ^= data[3];
	(void)unpack(codec, len, (size_t)r);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	const struct spw_codec *codec;

	if (n < 2 || n > LARGEST)
		return 0;
	codec = get_codec(data[0]);
	if (!codec)
		return 0;
	if (data[1] % 2 == 0)
		unpack_as_is(codec, data + 2, n - 2);
	else
		pack_and_damage(codec, data + 2, n - 2);
	return 0;
}

#ifdef SPW_REPLAY

#include "tests/replay.h"

int
main(int argc, char **argv)
{
	size_t i;

	replay(argc, argv, "codec", LARGEST);
	for (i = 0; i < ARRAY_LEN(contexts); i++)
		if (contexts[i])
			spw_codec_by_id((uint8_t)i)->ctx_free(contexts[i]);
	return 0;
}

#endif
