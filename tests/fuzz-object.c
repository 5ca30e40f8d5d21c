/* SPDX-License-Identifier: BSD-3-Clause */
/* fuzz-object.c -- whatever was stored, reading an object stays inside it */

/* First byte, modulo three, what to do with the rest:
 *   0: eight bytes say which part to read; the rest is an object as it is;
 *   1: the same, and its sums are made right first, so that what is behind
 *      them is reached;
 *   2: a byte each of codec, level, filter, width and block size, two of
 *      position, one of change; the rest is encoded, must come back, and
 *      must not come back with that byte changed.
 * Built with SPW_REPLAY it runs over the files named, or over the corpus.
 */

#include <errno.h>
#include <string.h>

#include "tests/unit-object.h"

#define LARGEST 65535u
#define ROOM (LARGEST * 2)
#define RAW_MOST (1u << 20)		/* unpacked at once, to stay quick */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static struct spw_packer *packer;
static struct guarded object, part_room, raw_room;

static void
start(void)
{
	if (packer)
		return;
	object = guarded_new(ROOM);
	part_room = guarded_new(ROOM);
	raw_room = guarded_new(RAW_MOST + SPW_OBJECT_MAX);
	(void)spw_codec_load(NULL);
	CHECK(spw_packer_new(&packer) == 0);
}

static int
decode(const struct spw_object *o, const uint8_t *obj,
       const struct spw_object_part *part)
{
	const uint8_t *in = memcpy(guarded_buf(&part_room, part->len),
				   obj + part->at, part->len);
	uint64_t bad = UINT64_MAX;
	int r = spw_object_decode(packer, o, part, in,
				  guarded_buf(&raw_room, part->raw_len), &bad);

	if (r < 0)
		CHECK(bad >= part->raw_at &&
		      bad < part->raw_at + part->raw_len);
	return r;
}

static void
read_part(const struct spw_object *o, const uint8_t *obj, uint32_t from,
	  uint32_t len)
{
	struct spw_object_part part;
	int r;

	spw_object_part(o, from, (uint64_t)from + len % RAW_MOST, &part);
	CHECK(part.raw_at + part.raw_len <= o->length);
	CHECK(!part.len || part.at >= o->payload_at);
	CHECK(part.at + part.len <= o->stored);
	r = decode(o, obj, &part);
	CHECK(r == 0 || r == -EBADMSG || r == -ENOTSUP);
}

/* Sums made right, as far as what they cover is there. */
static void
seal(uint8_t *obj, size_t n)
{
	struct spw_object_head head;
	struct spw_object_block b;
	size_t i, at = sizeof(head);

	if (n < sizeof(head))
		return;
	memcpy(obj, SPW_OBJECT_MAGIC, sizeof(head.magic));
	memcpy(&head, obj, sizeof(head));
	if (head.size < sizeof(head) || head.size > n)
		return;
	for (i = 0; i < head.nblocks; i++, at += sizeof(b)) {
		if (at + sizeof(b) > head.size)
			break;
		memcpy(&b, obj + at, sizeof(b));
		if (b.at > n - head.size || b.stored > n - head.size - b.at)
			continue;
		b.crc = spw_crc32c(0, obj + head.size + b.at, b.stored);
		memcpy(obj + at, &b, sizeof(b));
	}
	seal_head(obj);
}

static void
read_as_is(const uint8_t *data, size_t n, bool sealed)
{
	struct spw_object o;
	uint32_t part[2];
	uint8_t *obj;
	size_t need = 0;
	int r;

	if (n < sizeof(part))
		return;
	memcpy(part, data, sizeof(part));
	n = (n - sizeof(part)) & ~(size_t)7;	/* ends at the wall */
	obj = memcpy(guarded_buf(&object, n), data + sizeof(part), n);
	if (sealed)
		seal(obj, n);
	r = spw_object_parse(obj, n, &o, &need);
	CHECK(r == 0 || r == -EAGAIN || r == -EBADMSG ||
	      r == -EPROTONOSUPPORT);
	if (r == -EAGAIN)
		CHECK(need > n && need <= SPW_OBJECT_HEAD_MAX);
	if (r == 0 && o.stored <= n)
		read_part(&o, obj, part[0], part[1]);
}

static bool
choose_pack(const uint8_t *data, struct spw_object_pack *ret_pack)
{
	uint8_t id = data[0] % SPW_CODECS;
	const struct spw_codec *codec = spw_codec_by_id(id);

	if (!codec)
		return false;
	*ret_pack = (struct spw_object_pack) {
		.codec = id,
		.level = codec->min_level +
			 data[1] % (codec->max_level - codec->min_level + 1),
		.filter = data[2] % (SPW_FILTERS + 1),
		.width = data[3],
	};
	return true;
}

static int
read_whole(const uint8_t *obj, size_t n)
{
	struct spw_object_part part;
	struct spw_object o;
	size_t need;

	if (spw_object_parse(obj, n, &o, &need) < 0)
		return -EBADMSG;
	CHECK(o.stored == n);
	spw_object_part(&o, 0, o.length, &part);
	return decode(&o, obj, &part);
}

static void
store_and_damage(const uint8_t *data, size_t n)
{
	struct spw_object_pack pack;
	struct spw_object o;
	uint8_t *obj;
	size_t at;
	int64_t r;

	if (n < 8 || !choose_pack(data, &pack))
		return;
	o = object_of(n - 8, 4096 + data[4] * 64u);
	r = encode_watched(packer, &o, &pack, &object,
			   spw_object_bound(o.path_len, o.length), data + 8,
			   &obj);
	if (r == -ENOTSUP) {
		CHECK(pack.filter);
		return;
	}
	CHECK(r > 0);
	CHECK(read_whole(obj, (size_t)r) == 0);
	CHECK(!memcmp(guarded_buf(&raw_room, n - 8), data + 8, n - 8));
	at = (data[5] | (size_t)data[6] << 8) % (size_t)r;
	obj[at] ^= data[7];
	if (data[7])
		CHECK(read_whole(obj, (size_t)r) == -EBADMSG);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	if (n < 1 || n > LARGEST)
		return 0;
	start();
	if (data[0] % 3 == 2)
		store_and_damage(data + 1, n - 1);
	else
		read_as_is(data + 1, n - 1, data[0] % 3);
	return 0;
}

#ifdef SPW_REPLAY

#include "tests/replay.h"

int
main(int argc, char **argv)
{
	replay(argc, argv, "object", LARGEST);
	spw_packer_free(packer);
	return 0;
}

#endif
