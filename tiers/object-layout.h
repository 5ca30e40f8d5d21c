/* SPDX-License-Identifier: BSD-3-Clause */
/* object-layout.h -- the bytes of an object's head, for good */

#ifndef SPW_TIERS_OBJECT_LAYOUT_H
#define SPW_TIERS_OBJECT_LAYOUT_H

#include <assert.h>
#include <stddef.h>
#include <stdint.h>

#include "tiers/object.h"

#define SPW_OBJECT_MAGIC	"\211SPWOBJ\n"	/* 8 bytes */
#define SPW_OBJECT_VERSION	1
#define SPW_OBJECT_HEAD_ALIGN	64
#define SPW_OBJECT_HEAD_MAX	(1u << 20)	/* in any version */

/*
 * After it come the index, the path and zero bytes up to a multiple of 64;
 * there the blocks begin, one after the other without a gap.
 *
 * magic, crc, version and size are where they are in every version, so that a
 * damaged head can be told from a newer one. What is spare is written as zero
 * and not looked at; what an older reader must not overlook gets a new
 * version.
 */
struct spw_object_head {
	char magic[8];
	uint32_t crc;			/* of the head, from version on */
	uint16_t version;
	uint16_t spare;
	uint32_t size;			/* of the head, zero bytes and all */
	uint32_t nblocks;
	uint64_t stored;
	uint64_t dev, ino;
	int64_t btime;
	uint64_t offset, length;
	uint64_t seq;
	uint64_t file_size;
	uint64_t cut;
	int64_t wtime;
	uint32_t flags;
	uint32_t block_size;
	uint32_t path_len;
	uint32_t spares[1];
	int64_t home_time;
};

static_assert(offsetof(struct spw_object_head, version) == 12 &&
	      offsetof(struct spw_object_head, dev) == 32 &&
	      offsetof(struct spw_object_head, wtime) == 96 &&
	      offsetof(struct spw_object_head, home_time) == 120 &&
	      sizeof(struct spw_object_head) == 128, "stored in tiers");
static_assert(offsetof(struct spw_object_block, codec) == 12 &&
	      sizeof(struct spw_object_block) == 16, "stored in tiers");
static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
	      "heads are used where they lie");

/* Works out nblocks and payload_at from the rest. -EINVAL: no object can be
 * like this. */
int spw_object_lay_out(struct spw_object *o);

/* Writes the head around the index, which is there already. */
void spw_object_write_head(const struct spw_object *o, void *dst);

/* Raw bytes of block i. */
uint32_t spw_object_raw(const struct spw_object *o, uint32_t i);

#endif
