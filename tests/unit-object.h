/* SPDX-License-Identifier: BSD-3-Clause */
/* unit-object.h -- objects for tests: data, heads, and checked calls */

#ifndef SPW_TESTS_UNIT_OBJECT_H
#define SPW_TESTS_UNIT_OBJECT_H

#include <errno.h>
#include <string.h>

#include "shm/crc32c.h"
#include "tests/guarded.h"
#include "tiers/codec.h"
#include "tiers/filter.h"
#include "tiers/object-layout.h"
#include "tiers/object.h"

#define PATH "/scratch/run/checkpoint.0042"

/* Two pages that shrink, then one that does not. */
static inline void
fill_object(uint8_t *p, size_t n)
{
	uint64_t seed = 5, bits;
	size_t i;

	for (i = 0; i < n; i++) {
		bits = draw(&seed);
		p[i] = (uint8_t)(i / 4096 % 3 == 2 ? bits :
				 i % 4 ? i / 64 : bits % 5);
	}
}

/* A head with a different number in every place. */
static inline struct spw_object
object_of(uint64_t length, uint32_t block_size)
{
	return (struct spw_object) {
		.dev = 0x0102030405060708,
		.ino = 0x1112131415161718,
		.btime = 1700000000123456789,
		.offset = 0x21222324000,
		.length = length,
		.seq = 0x3132333435363738,
		.file_size = 0x4142434445464748,
		.cut = UINT64_MAX,
		.wtime = -1234567890123456789,
		.home_time = 1600000000987654321,
		.flags = SPW_OBJECT_SYNC,
		.block_size = block_size,
		.path_len = sizeof(PATH) - 1,
		.path = PATH,
	};
}

static inline size_t
round_up_64(size_t n)
{
	return (n + 63) & ~(size_t)63;
}

/* Encodes with exactly cap bytes of room, in front of a wall, and watches the
 * bytes between the room and the wall. */
static inline int64_t
encode_watched(struct spw_packer *p, const struct spw_object *o,
	       const struct spw_object_pack *pack, const struct guarded *g,
	       size_t cap, const void *src, uint8_t **ret_dst)
{
	size_t room = round_up_64(cap), i;
	uint8_t *dst = guarded_buf(g, room);
	int64_t r;

	memset(dst + cap, 0x5a, room - cap);
	r = spw_object_encode(p, o, pack, dst, cap, src);
	for (i = cap; i < room; i++)
		CHECK(dst[i] == 0x5a);
	CHECK(r <= (int64_t)cap);
	*ret_dst = dst;
	return r;
}

static inline struct spw_object
parse_whole(const void *buf, size_t n)
{
	struct spw_object o;
	size_t need;

	CHECK(spw_object_parse(buf, n, &o, &need) == 0);
	CHECK(o.stored == n);
	return o;
}

/* Sets the sum of a head that was changed on purpose. */
static inline void
seal_head(void *object)
{
	struct spw_object_head *head = object;
	const size_t from = offsetof(struct spw_object_head, version);

	head->crc = spw_crc32c(0, (uint8_t *)object + from, head->size - from);
}

/* Loads the codecs; how many are missing, after saying so. */
static inline int
load_codecs(const char *test)
{
	const struct spw_codec_slot *slot;
	int absent = 0;
	size_t i;

	(void)spw_codec_load(NULL);
	for (i = 0; (slot = spw_codec_slot(i)); i++) {
		if (slot->codec)
			continue;
		printf("SKIP: %s: %s: %s\n", test, slot->name,
		       slot->finding.text);
		absent++;
	}
	return absent;
}

#endif
