/* SPDX-License-Identifier: BSD-3-Clause */
/* unit-object-damage.c -- a damaged object is told, never read as data */

#include "tests/unit-object.h"

#define LENGTH 9000u			/* three blocks, the last one short */
#define ROOM (1u << 16)

static struct spw_packer *packer;
static struct guarded spoiled;
static _Alignas(64) uint8_t object[ROOM];
static uint8_t data[LENGTH], out[LENGTH];
static size_t stored;

static void
make_object(uint64_t length, uint8_t codec, struct spw_filter_spec filter)
{
	struct spw_object_pack pack = {
		.codec = codec, .filter = filter.id, .width = filter.width,
	};
	struct spw_object o = object_of(length, 4096);
	int64_t r;

	if (codec != SPW_CODEC_NONE)
		pack.level = spw_codec_by_id(codec)->default_level;
	r = spw_object_encode(packer, &o, &pack, object, ROOM, data);
	CHECK(r > 0);
	stored = (size_t)r;
}

/* A copy that ends at a wall, give or take the bytes that align it. */
static uint8_t *
copy_object(void)
{
	return memcpy(guarded_buf(&spoiled, round_up_64(stored)), object,
		      stored);
}

static int
decode(const struct spw_object *o, const uint8_t *obj, uint64_t from,
       uint64_t to, uint64_t *ret_bad)
{
	struct spw_object_part part;

	spw_object_part(o, from, to, &part);
	return spw_object_decode(packer, o, &part, obj + part.at, out,
				 ret_bad);
}

/* Only the block with the damage is lost, and it is named. */
static void
one_block_is_lost(const struct spw_object *o, const uint8_t *obj, size_t at)
{
	uint64_t bad = UINT64_MAX, from, to;
	const uint8_t *raw = NULL;
	uint32_t i;

	CHECK(decode(o, obj, 0, o->length, &bad) == -EBADMSG);
	for (i = 0; i < o->nblocks; i++) {
		size_t start = o->payload_at + o->blocks[i].at;
		bool hit = at >= start && at < start + o->blocks[i].stored;

		from = (uint64_t)i * o->block_size;
		to = from + spw_object_raw(o, i);
		CHECK((bad == from) == hit);
		if (hit) {
			CHECK(spw_object_view(packer, o, i, obj + start,
					      &raw) == -EBADMSG && !raw);
			continue;
		}
		CHECK(spw_object_view(packer, o, i, obj + start, &raw) ==
		      (int64_t)(to - from));
		CHECK(!memcmp(raw, data + from, to - from));
		raw = NULL;
		CHECK(decode(o, obj, from, to, &to) == 0);
		CHECK(!memcmp(out, data + from, spw_object_raw(o, i)));
	}
}

static void
must_be_seen(const uint8_t *obj, size_t at)
{
	struct spw_object o;
	size_t need = 0;
	int r = spw_object_parse(obj, stored, &o, &need);

	if (r == -EAGAIN)		/* there is no more of it */
		CHECK(need > stored && need <= SPW_OBJECT_HEAD_MAX);
	else if (r < 0)
		CHECK(r == -EBADMSG);
	else
		one_block_is_lost(&o, obj, at);
}

static void
test_flips(void)
{
	uint8_t *obj = copy_object();
	size_t at;
	int bit;

	for (at = 0; at < stored; at++) {
		for (bit = 0; bit < 8; bit++) {
			obj[at] ^= (uint8_t)(1 << bit);
			must_be_seen(obj, at);
			obj[at] ^= (uint8_t)(1 << bit);
		}
		obj[at] = (uint8_t)~obj[at];
		must_be_seen(obj, at);
		obj[at] = (uint8_t)~obj[at];
	}
	CHECK(!memcmp(obj, object, stored));
}

/* A head asks for more until it is whole. */
static void
test_short_head(void)
{
	size_t head = parse_whole(object, stored).payload_at, n, need;
	struct spw_object o = { .seq = 7 };
	uint8_t *obj;

	for (n = 0; n < head; n++) {
		obj = memcpy(guarded_buf(&spoiled, (n + 7) / 8 * 8), object,
			     n);
		CHECK(spw_object_parse(obj, n, &o, &need) == -EAGAIN);
		CHECK(need > n && need <= head);
	}
	CHECK(o.seq == 7);		/* outputs wait for success */
	CHECK(spw_object_parse(object, 128, &o, &need) == -EAGAIN);
	CHECK(need == head);
}

/* What is cut off reads as zero, as in a file that was not synced. */
static void
test_cut_off(void)
{
	uint8_t *obj = copy_object();
	struct spw_object o;
	size_t need, n, head = parse_whole(object, stored).payload_at;
	uint64_t bad;
	int r;

	for (n = stored; n-- > 0;) {
		obj[n] = 0;
		r = spw_object_parse(obj, stored, &o, &need);
		if (n < head && memcmp(obj, object, head))
			CHECK(r == -EBADMSG);
		else
			CHECK(r == 0);
		if (r < 0 || !memcmp(obj, object, stored))
			continue;
		CHECK(decode(&o, obj, 0, o.length, &bad) == -EBADMSG);
	}
}

/* Blocks of another object of the same shape do not pass. */
static void
test_mixed_up(void)
{
	uint8_t other[LENGTH], *obj;
	size_t head = parse_whole(object, stored).payload_at;
	struct spw_object o;
	uint64_t bad;

	obj = copy_object();
	memcpy(other, obj + head + 4096, 4096);
	memcpy(obj + head + 4096, obj + head, 4096);
	o = parse_whole(obj, stored);
	CHECK(decode(&o, obj, 0, LENGTH, &bad) == -EBADMSG && bad == 4096);
	memcpy(obj + head, other, 4096);
	CHECK(decode(&o, obj, 0, LENGTH, &bad) == -EBADMSG && bad == 0);
}

static int
parse_sealed(uint8_t *obj, size_t n)
{
	struct spw_object o;
	size_t need;

	seal_head(obj);
	return spw_object_parse(obj, n, &o, &need);
}

static void
test_versions(void)
{
	uint8_t *obj = copy_object();
	struct spw_object_head *head = (void *)obj;

	head->version = SPW_OBJECT_VERSION + 1;
	CHECK(parse_sealed(obj, stored) == -EPROTONOSUPPORT);
	obj[200] ^= 1;
	seal_head(obj);
	obj[200] ^= 1;
	must_be_seen(obj, 200);
	head->version = 0;
	CHECK(parse_sealed(obj, stored) == -EBADMSG);
	head->version = SPW_OBJECT_VERSION + 1;
	head->size -= 8;			/* no multiple of 64 */
	CHECK(parse_sealed(obj, stored) == -EBADMSG);
	head->size += 8;
	head->version = SPW_OBJECT_VERSION;
	CHECK(parse_sealed(obj, stored) == 0);
	head->spare = 1;			/* for those who come later */
	head->spares[0] = 1;
	CHECK(parse_sealed(obj, stored) == 0);
}

/* Heads with a right sum and wrong numbers, as nobody but an enemy makes. */

#define LIE(what, value)						\
	do {								\
		uint8_t *obj_ = copy_object();				\
		struct spw_object_head *head = (void *)obj_;		\
		struct spw_object_block *index = (void *)(head + 1);	\
									\
		(void)index;						\
		what = (value);						\
		CHECK(parse_sealed(obj_, stored) == -EBADMSG);		\
	} while (0)

static void
test_lies(void)
{
	LIE(head->nblocks, 2);
	LIE(head->nblocks, 4);
	LIE(head->nblocks, 0);
	LIE(head->nblocks, UINT32_MAX);
	LIE(head->size, head->size + 64);
	LIE(head->size, head->size - 64);
	LIE(head->stored, head->stored + 1);
	LIE(head->stored, head->stored - 1);
	LIE(head->stored, 0);
	LIE(head->stored, head->stored + (1ull << 32));
	LIE(head->length, 0);
	LIE(head->length, LENGTH + 1);
	LIE(head->length, LENGTH + 4096);
	LIE(head->length, SPW_OBJECT_MAX + 1);
	LIE(head->length, UINT64_MAX);
	LIE(head->block_size, 0);
	LIE(head->block_size, 1);
	LIE(head->block_size, 8192);
	LIE(head->block_size, UINT32_MAX);
	LIE(head->offset, (uint64_t)INT64_MAX - LENGTH + 1);
	LIE(head->offset, UINT64_MAX);
	LIE(head->file_size, UINT64_MAX);
	LIE(head->cut, UINT64_MAX - 1);
	LIE(head->path_len, head->path_len + 64);
	LIE(head->path_len, head->path_len + 4);	/* into the zeros */
	LIE(head->path_len, UINT32_MAX);
	LIE(index[3].at, 0);				/* zeros in the path */
	LIE(index[0].at, 1);
	LIE(index[1].at, index[1].at - 1);
	LIE(index[1].at, index[1].at + 1);
	LIE(index[1].at, UINT32_MAX);
	LIE(index[2].at, 0);
	LIE(index[0].stored, 0);
	LIE(index[1].stored, index[1].stored - 1);
	LIE(index[2].stored, index[2].stored + 1);
	LIE(index[2].stored, UINT32_MAX);
}

/* Each of them but for one number as it should be. */
static void
test_single_lies(void)
{
	uint8_t *obj = copy_object();
	struct spw_object_head *head = (void *)obj;
	struct spw_object_block *index = (void *)(head + 1);

	head->size += 64;
	head->stored += 64;
	CHECK(parse_sealed(obj, stored) == -EBADMSG);

	obj = copy_object();			/* a block that is not there */
	head->nblocks = 2;
	head->path_len += sizeof(index[2]);
	head->stored = head->size + index[2].at;
	memset(&index[2], 'x', sizeof(index[2]));
	CHECK(parse_sealed(obj, stored) == -EBADMSG);

	obj = copy_object();			/* 808 bytes packed to none */
	head->stored -= index[2].stored;
	index[2].stored = 0;
	index[2].codec = SPW_CODEC_LZ4;
	CHECK(parse_sealed(obj, stored) == -EBADMSG);
}

static void
test_lies_of_raw(void)
{
	LIE(index[0].codec, SPW_CODEC_LZ4);	/* packed, yet not smaller */
	LIE(index[1].filter, 1);
	LIE(index[1].width, 4);
}

static void
test_lies_of_packed(void)
{
	LIE(index[0].codec, SPW_CODEC_NONE);
}

/* A head no reader should wait for. */
static void
test_huge_head(void)
{
	uint8_t *obj = copy_object();
	struct spw_object_head *head = (void *)obj;
	struct spw_object o;
	size_t need;

	head->size = SPW_OBJECT_HEAD_MAX + 64;
	CHECK(spw_object_parse(obj, stored, &o, &need) == -EBADMSG);
	head->size = 64;
	CHECK(spw_object_parse(obj, stored, &o, &need) == -EBADMSG);
	head->size = 129;
	CHECK(spw_object_parse(obj, stored, &o, &need) == -EBADMSG);
}

/* Right sums, and codecs or bytes that make no sense. */
static void
test_blocks_that_lie(uint8_t codec)
{
	uint8_t *obj = copy_object();
	struct spw_object o = parse_whole(obj, stored);
	struct spw_object_block *b;
	uint64_t bad;

	CHECK(o.blocks[1].codec == codec);
	b = (void *)(obj + sizeof(struct spw_object_head));
	memset(obj + o.payload_at + b[1].at, 0xee, b[1].stored);
	b[1].crc = spw_crc32c(0, obj + o.payload_at + b[1].at, b[1].stored);
	CHECK(decode(&o, obj, 0, LENGTH, &bad) == -EBADMSG && bad == 4096);
	b[1].codec = 200;
	CHECK(parse_sealed(obj, stored) == 0);
	CHECK(decode(&o, obj, 0, LENGTH, &bad) == -ENOTSUP && bad == 4096);
	b[1].codec = codec;
	b[1].filter = 200;
	CHECK(parse_sealed(obj, stored) == 0);
	CHECK(decode(&o, obj, 0, LENGTH, &bad) == -ENOTSUP && bad == 4096);
}

static void
test_all(uint8_t codec, struct spw_filter_spec filter)
{
	make_object(LENGTH, codec, filter);
	test_flips();
	test_short_head();
	test_cut_off();
	test_versions();
	test_lies();
	test_single_lies();
	test_huge_head();
	if (codec == SPW_CODEC_NONE) {
		test_mixed_up();
		test_lies_of_raw();
	} else {
		test_lies_of_packed();
		test_blocks_that_lie(codec);
	}
	make_object(1, codec, filter);
	test_flips();
	make_object(0, codec, filter);
	test_flips();
	test_cut_off();
}

int
main(void)
{
	int absent = load_codecs("unit-object-damage");
	const struct spw_filter_spec none = { SPW_FILTER_NONE, 0 };
	const struct spw_filter_spec bitshuffle = { SPW_FILTER_BITSHUFFLE, 4 };
	const struct spw_codec_slot *slot;
	size_t i;

	spoiled = guarded_new(ROOM);
	fill_object(data, LENGTH);
	CHECK(spw_packer_new(&packer) == 0);
	for (i = 0; (slot = spw_codec_slot(i)); i++)
		if (slot->codec)
			test_all(slot->id, none);
	if (spw_codec_by_id(SPW_CODEC_LZ4))
		test_all(SPW_CODEC_LZ4, bitshuffle);
	spw_packer_free(packer);
	guarded_free(&spoiled);
	return absent ? 77 : 0;		/* those present were tested */
}
