/* SPDX-License-Identifier: BSD-3-Clause */
/* pmem-layout.h -- the bytes of a file of tier pmem, for good */

#ifndef SPW_TIERS_PMEM_LAYOUT_H
#define SPW_TIERS_PMEM_LAYOUT_H

#include <assert.h>
#include <stddef.h>
#include <stdint.h>

/*
 *	head	64 bytes; the mark at SPW_PMEM_MARK_AT and the reach after it;
 *		then nothing up to SPW_PMEM_SLOTS_AT
 *	slots	nslots of them, each of 64 bytes: a line of the cache
 *	data	objects from data_at on, each at a multiple of 64
 *
 * A slot is free while its state is 0. Everything else of it, and the object,
 * are there before the state is: that is one aligned word, which persistent
 * memory writes whole or not at all; on a disk, all of a slot lies in one
 * sector. Little endian.
 *
 * The mark counts the syncs that were needed. A slot notes the count that the
 * next sync will reach, or 0 on persistent memory. Where the mark is below
 * it, nobody knows whether all of the object came to the disk before power
 * went, and the checksums of its blocks have to tell. The mark itself may be
 * late by one: only what is two above it was certainly not synced.
 *
 * Slots are used from the first one on, and none is zero again once it was
 * used: a free one keeps all but its state. The reach says how many were used
 * for certain. One of these that is all zero was damaged. It is written after
 * the slot, or with the mark; 0, from older releases, says nothing.
 */
#define SPW_PMEM_MAGIC		"\211SPWPMM\n"	/* 8 bytes */
#define SPW_PMEM_VERSION	1
#define SPW_PMEM_UNIT		64u
#define SPW_PMEM_MARK_AT	64u		/* 8 bytes */
#define SPW_PMEM_REACH_AT	72u		/* 8 bytes: the number, and the
						 * CRC32C of that above it */
#define SPW_PMEM_SLOTS_AT	4096u
#define SPW_PMEM_PER_SLOT	2048u		/* bytes of a file */
#define SPW_PMEM_SLOTS_MOST	((1u << 24) - 2)
#define SPW_PMEM_BOUND		256u		/* bytes under slot.bind */

struct spw_pmem_head {
	char magic[8];
	uint32_t crc;			/* of the head, from version on */
	uint16_t version;
	uint16_t spare;
	uint64_t size;			/* of the file */
	uint64_t data_at;
	uint32_t nslots;
	uint32_t number;		/* as in the name of the file */
	uint64_t spares[3];
};

#define SPW_PMEM_USED	UINT64_C(0x53504f42)	/* upper half of a state */

struct spw_pmem_slot {
	uint64_t state;			/* 0, or USED and the CRC32C of the
					 * rest of the slot */
	uint64_t at;			/* of the object, from the start of
					 * the file */
	uint64_t len;
	uint32_t gen;			/* counts the uses of the slot */
	uint32_t bind;			/* CRC32C of the first bytes of the
					 * object: what lies there is what the
					 * slot was written for */
	uint64_t turn;			/* see the mark */
	uint64_t spares[3];
};

static_assert(sizeof(struct spw_pmem_head) == 64 &&
	      offsetof(struct spw_pmem_head, version) == 12 &&
	      offsetof(struct spw_pmem_head, size) == 16 &&
	      offsetof(struct spw_pmem_head, number) == 36, "stored");
static_assert(sizeof(struct spw_pmem_slot) == 64 &&
	      offsetof(struct spw_pmem_slot, len) == 16 &&
	      offsetof(struct spw_pmem_slot, bind) == 28, "stored");
static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
	      "used where they lie");

#endif
