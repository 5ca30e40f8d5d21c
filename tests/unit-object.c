/* SPDX-License-Identifier: BSD-3-Clause */
/* unit-object.c -- what went into an object comes out, whole or in part */

#include "tests/unit-object.h"

#define ROOM (SPW_OBJECT_MAX + (1u << 20))

static struct spw_packer *packer;
static struct guarded data, object, part_room, raw_room;

static const uint8_t *
data_of(size_t n)
{
	static size_t filled;

	if (n > filled) {
		fill_object(data.map, n);
		filled = n;
	}
	return data.map;
}

/* Head and part are given in memory that ends where they end. */

static struct spw_object
parse_at_wall(const uint8_t *obj, size_t n)
{
	struct spw_object o = parse_whole(obj, n);
	const uint8_t *head = memcpy(guarded_buf(&part_room, o.payload_at),
				     obj, o.payload_at);
	size_t need;

	CHECK(spw_object_parse(head, o.payload_at, &o, &need) == 0);
	return parse_whole(obj, n);
}

static void
read_part(const struct spw_object *o, const uint8_t *obj, uint64_t from,
	  uint64_t to)
{
	struct spw_object_part part;
	uint64_t bad = 99;
	uint8_t *in, *out;

	spw_object_part(o, from, to, &part);
	CHECK(part.raw_at <= from && part.raw_at + o->block_size > from);
	CHECK(part.raw_at + part.raw_len >= to);
	CHECK(part.raw_at + part.raw_len < to + o->block_size);
	CHECK(part.raw_at + part.raw_len <= o->length);
	CHECK(part.at >= o->payload_at && part.at + part.len <= o->stored);
	in = memcpy(guarded_buf(&part_room, part.len), obj + part.at,
		    part.len);
	out = memset(guarded_buf(&raw_room, part.raw_len), 0xa5, part.raw_len);
	CHECK(spw_object_decode(packer, o, &part, in, out, &bad) == 0);
	CHECK(!memcmp(out, data_of(o->length) + part.raw_at, part.raw_len));
	CHECK(bad == 99);
}

static void
read_parts(const struct spw_object *o, const uint8_t *obj)
{
	const uint64_t n = o->length, b = o->block_size;
	uint64_t seed = n, from, to;
	int i;

	if (!n)
		return;
	read_part(o, obj, 0, n);
	read_part(o, obj, 0, 1);
	read_part(o, obj, n - 1, n);
	for (i = 0; i < 20; i++) {
		from = draw(&seed) % n;
		to = from + 1 + draw(&seed) % (n - from);
		read_part(o, obj, from, to);
	}
	if (n > 2 * b) {
		read_part(o, obj, b, 2 * b);
		read_part(o, obj, b - 1, b + 1);
	}
}

static void
same_head(const struct spw_object *a, const struct spw_object *b)
{
	CHECK(a->dev == b->dev && a->ino == b->ino && a->btime == b->btime);
	CHECK(a->offset == b->offset && a->length == b->length);
	CHECK(a->seq == b->seq && a->file_size == b->file_size);
	CHECK(a->cut == b->cut && a->wtime == b->wtime);
	CHECK(a->home_time == b->home_time);
	CHECK(a->flags == b->flags && a->path_len == b->path_len);
	CHECK(!a->path_len || !memcmp(a->path, b->path, a->path_len));
}

static void
is_packed_well(const struct spw_object *o, const struct spw_object_pack *pack)
{
	uint32_t i;

	for (i = 0; i < o->nblocks; i++) {
		const struct spw_object_block *b = &o->blocks[i];

		if (b->codec == SPW_CODEC_NONE)
			CHECK(b->level == 0);
		else
			CHECK(b->codec == pack->codec &&
			      (int8_t)b->level == pack->level &&
			      b->filter == pack->filter &&
			      b->width == pack->width);
	}
	if (pack->level > 0 && o->length >= 8192)
		CHECK(o->blocks[0].codec == pack->codec);
}

/* The source where the blocks will be gives the same object. */
static void
same_in_place(const struct spw_object *o, const struct spw_object_pack *pack,
	      size_t cap, const uint8_t *obj, size_t n)
{
	uint32_t block = o->block_size ? o->block_size : SPW_OBJECT_BLOCK;
	size_t head = spw_object_head_size(o->path_len,
			(uint32_t)((o->length + block - 1) / block));
	uint8_t *copy = malloc(n), *dst;

	CHECK(copy);
	memcpy(copy, obj, n);
	memcpy(guarded_buf(&object, round_up_64(cap)) + head,
	       data_of(o->length), o->length);
	CHECK(encode_watched(packer, o, pack, &object, cap,
			     guarded_buf(&object, round_up_64(cap)) + head,
			     &dst) == (int64_t)n);
	CHECK(!memcmp(dst, copy, n));
	free(copy);
}

static void
round_trip(const struct spw_object *o, const struct spw_object_pack *pack)
{
	size_t bound = spw_object_bound(o->path_len, o->length);
	struct spw_object got;
	uint8_t *obj;
	int64_t r = encode_watched(packer, o, pack, &object, bound,
				   data_of(o->length), &obj);

	CHECK(r > 0 && (size_t)r <= bound);
	got = parse_at_wall(obj, (size_t)r);
	same_head(&got, o);
	CHECK(got.payload_at == spw_object_head_size(o->path_len,
						     got.nblocks));
	is_packed_well(&got, pack);
	read_parts(&got, obj);
	same_in_place(o, pack, bound, obj, (size_t)r);
}

static void
test_sizes(const struct spw_object_pack *pack)
{
	static const uint64_t sizes[] = {
		0, 1, 4095, 4096, 4097, 12288, 131071, 131072, 131073, 700001,
	};
	static const uint32_t blocks[] = { 4096, 5000, 65536, 0 };
	size_t i, k;

	for (i = 0; i < ARRAY_LEN(sizes); i++)
		for (k = 0; k < ARRAY_LEN(blocks); k++) {
			struct spw_object o = object_of(sizes[i], blocks[k]);

			round_trip(&o, pack);
		}
}

static void
test_filters(uint8_t codec)
{
	static const uint8_t widths[] = { 1, 2, 4, 8, 12 };
	struct spw_object_pack pack = { .codec = codec, .level = 1 };
	size_t i;
	int seen = 0;

	if (!spw_codec_by_id(codec))
		return;
	for (pack.filter = 1; pack.filter < SPW_FILTERS; pack.filter++)
		for (i = 0; i < ARRAY_LEN(widths); i++) {
			const struct spw_filter_spec filter = {
				pack.filter, pack.width = widths[i],
			};

			if (!spw_filter_is_known(&filter))
				continue;
			test_sizes(&pack);
			seen++;
		}
	CHECK(seen > SPW_FILTERS);
}

static void
test_largest(uint8_t codec, uint32_t block_size)
{
	struct spw_object_pack pack = { .codec = codec };
	struct spw_object o = object_of(SPW_OBJECT_MAX, block_size);

	if (!spw_codec_by_id(codec))
		return;
	o.offset = INT64_MAX - o.length;
	round_trip(&o, &pack);
}

static void
test_odd_heads(void)
{
	static char longest[SPW_OBJECT_PATH + 1];
	struct spw_object_pack pack = { .codec = SPW_CODEC_NONE };
	struct spw_object o = object_of(5000, 4096);

	memset(longest, 'x', sizeof(longest));
	o.cut = 17;
	o.flags = UINT32_MAX;
	o.path_len = 0;
	o.path = NULL;
	round_trip(&o, &pack);
	o.path = longest;
	o.path_len = SPW_OBJECT_PATH;
	round_trip(&o, &pack);
	o.path_len++;
	CHECK(spw_object_encode(packer, &o, &pack, guarded_buf(&object, 65536),
				65536, data_of(5000)) == -EINVAL);
}

static void
test_several_packs(void)
{
	const struct spw_object_pack packs[] = {
		{ .codec = SPW_CODEC_LZ4, .level = -3, .nblocks = 1 },
		{ .codec = SPW_CODEC_NONE, .nblocks = 2 },
		{ .codec = SPW_CODEC_ZSTD, .level = 2 },
	};
	static const uint8_t codecs[] = {
		SPW_CODEC_LZ4, SPW_CODEC_NONE, SPW_CODEC_NONE, SPW_CODEC_ZSTD,
		SPW_CODEC_ZSTD, SPW_CODEC_ZSTD,
	};
	struct spw_object o = object_of(6 * 65536 - 9, 65536), got;
	uint8_t *obj;
	int64_t r;
	size_t i;

	if (!spw_codec_by_id(SPW_CODEC_LZ4) ||
	    !spw_codec_by_id(SPW_CODEC_ZSTD))
		return;
	r = encode_watched(packer, &o, packs, &object,
			   spw_object_bound(o.path_len, o.length),
			   data_of(o.length), &obj);
	CHECK(r > 0);
	got = parse_at_wall(obj, (size_t)r);
	CHECK(got.nblocks == ARRAY_LEN(codecs));
	for (i = 0; i < ARRAY_LEN(codecs); i++)
		CHECK(got.blocks[i].codec == codecs[i]);
	CHECK((int8_t)got.blocks[0].level == -3);
	CHECK(got.blocks[5].level == 2);
	read_parts(&got, obj);
}

static void
test_room(void)
{
	struct spw_object o = object_of(9000, 4096);
	size_t head = spw_object_head_size(o.path_len, 3), cap;
	uint8_t *dst;

	for (cap = 0; cap < head + 9000; cap += cap < head ? 1 : 100)
		CHECK(encode_watched(packer, &o, NULL, &object, cap,
				     data_of(9000), &dst) == -E2BIG);
	CHECK(encode_watched(packer, &o, NULL, &object, head + 8999,
			     data_of(9000), &dst) == -E2BIG);
	CHECK(encode_watched(packer, &o, NULL, &object, head + 9000,
			     data_of(9000), &dst) == (int64_t)head + 9000);
	memcpy(dst + head, data_of(9000), 9000);
	CHECK(spw_object_encode(packer, &o, NULL, dst, head + 8999,
				dst + head) == -E2BIG);
}

static void
test_little_room_packed(const struct spw_object_pack *pack)
{
	struct spw_object o = object_of(20000, 4096), got;
	size_t bound = spw_object_bound(o.path_len, o.length), cap;
	uint8_t *obj;
	int64_t full = encode_watched(packer, &o, pack, &object, bound,
				      data_of(o.length), &obj), r;

	for (cap = 0; cap < (size_t)full + 50; cap += 37) {
		r = encode_watched(packer, &o, pack, &object, cap,
				   data_of(o.length), &obj);
		if (r == -E2BIG)
			continue;
		got = parse_whole(obj, (size_t)r);
		read_part(&got, obj, 0, o.length);
	}
	obj = guarded_buf(&object, round_up_64(bound)) +
	      spw_object_head_size(o.path_len, 5);
	memcpy(obj, data_of(o.length), o.length);
	cap = spw_object_head_size(o.path_len, 5) + o.length - 1;
	CHECK(spw_object_encode(packer, &o, pack,
				guarded_buf(&object, round_up_64(bound)), cap,
				obj) == -E2BIG);
	CHECK(!memcmp(obj, data_of(o.length), o.length));
}

static void
refuse(const struct spw_object *o, const struct spw_object_pack *pack, int err)
{
	size_t head = spw_object_head_size(o->path_len, 3);
	uint8_t *dst = guarded_buf(&object, 1 << 20);

	memcpy(dst + head, data_of(9000), 9000);
	CHECK(spw_object_encode(packer, o, pack, dst, 1 << 20, dst + head) ==
	      err);
	CHECK(!memcmp(dst + head, data_of(9000), 9000));
}

#define REFUSE(field, value)						\
	do {								\
		struct spw_object o_ = object_of(9000, 4096);		\
									\
		o_.field = (value);					\
		refuse(&o_, NULL, -EINVAL);				\
	} while (0)

static void
test_refused(void)
{
	struct spw_object o = object_of(9000, 4096);
	struct spw_object_pack packs[] = {
		{ .codec = SPW_CODEC_NONE, .nblocks = 2 },
		{ .codec = 200 },
	};
	uint32_t i;

	refuse(&o, packs, -ENOTSUP);
	packs[1] = (struct spw_object_pack) { .filter = 200, .width = 4 };
	refuse(&o, packs, -ENOTSUP);
	packs[1].filter = SPW_FILTER_DELTA;	/* not of 3 bytes */
	packs[1].width = 3;
	refuse(&o, packs, -ENOTSUP);
	packs[1] = (struct spw_object_pack) { .level = 1 };
	refuse(&o, packs, -EINVAL);
	for (i = 3; i < 5; i++) {		/* the second is not used */
		packs[0].nblocks = i;
		CHECK(spw_object_encode(packer, &o, packs,
					guarded_buf(&object, 1 << 20),
					1 << 20, data_of(9000)) > 0);
	}
	REFUSE(length, SPW_OBJECT_MAX + 1);
	REFUSE(length, UINT64_MAX);
	REFUSE(block_size, SPW_OBJECT_BLOCK_MIN - 1);
	REFUSE(block_size, SPW_OBJECT_MAX + 1);
	REFUSE(offset, (uint64_t)INT64_MAX - 8999);
	REFUSE(offset, UINT64_MAX);
	REFUSE(file_size, (uint64_t)INT64_MAX + 1);
	REFUSE(cut, (uint64_t)INT64_MAX + 1);
	REFUSE(path, "/scratch/run/\0heckpoint.0042");
}

static void
test_empty_parts(void)
{
	struct spw_object o = object_of(9000, 4096), got;
	struct spw_object_part part;
	uint8_t *obj;
	int64_t r = encode_watched(packer, &o, NULL, &object, 16384,
				   data_of(9000), &obj);

	got = parse_whole(obj, (size_t)r);
	spw_object_part(&got, 5, 5, &part);
	CHECK(part.count == 0 && part.len == 0 && part.raw_len == 0);
	spw_object_part(&got, 9000, UINT64_MAX, &part);
	CHECK(part.count == 0 && part.len == 0 && part.raw_len == 0);
	CHECK(spw_object_decode(packer, &got, &part, NULL, NULL, NULL) == 0);
	spw_object_part(&got, 8999, UINT64_MAX, &part);
	CHECK(part.first == 2 && part.count == 1 && part.raw_len == 808);
}

int
main(void)
{
	const struct spw_codec_slot *slot;
	int absent = load_codecs("unit-object");
	size_t i;

	data = guarded_new(SPW_OBJECT_MAX);
	object = guarded_new(ROOM);
	part_room = guarded_new(ROOM);
	raw_room = guarded_new(SPW_OBJECT_MAX);
	CHECK(spw_packer_new(&packer) == 0);
	for (i = 0; (slot = spw_codec_slot(i)); i++) {
		struct spw_object_pack pack = { .codec = slot->id };

		if (!slot->codec)
			continue;
		pack.level = slot->codec->default_level;
		test_sizes(&pack);
		test_little_room_packed(&pack);
		pack.level = slot->codec->min_level;
		test_sizes(&pack);
	}
	test_filters(SPW_CODEC_LZ4);
	test_largest(SPW_CODEC_NONE, 0);
	test_largest(SPW_CODEC_LZ4, 4096);
	test_odd_heads();
	test_several_packs();
	test_room();
	test_refused();
	test_empty_parts();
	spw_packer_free(packer);
	spw_packer_free(NULL);
	guarded_free(&data);
	guarded_free(&object);
	guarded_free(&part_room);
	guarded_free(&raw_room);
	return absent ? 77 : 0;		/* those present were tested */
}
