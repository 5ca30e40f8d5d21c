/* SPDX-License-Identifier: BSD-3-Clause */
/* object.h -- what a tier stores: a run of a file, framed and checksummed */

#ifndef SPW_TIERS_OBJECT_H
#define SPW_TIERS_OBJECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * An object tells all about itself: which file and which bytes of it, packed
 * how, and which of two is newer. It can be found, checked and brought home
 * with nothing else at hand. Little endian; numbers keep their meaning.
 *
 *	head	fixed part, index of blocks, path; one CRC32C over all of it
 *	blocks	from payload_at on, each packed by itself, each with a CRC32C
 *		of the bytes as they are stored
 *
 * An object without blocks (length 0) notes a file's size: a truncation that
 * must not be forgotten.
 */
#define SPW_OBJECT_BLOCK	(128u * 1024)	/* raw bytes packed at once */
#define SPW_OBJECT_BLOCK_MIN	4096u		/* fewer are not packed at once */
#define SPW_OBJECT_MAX		(16u << 20)	/* raw bytes in an object */
#define SPW_OBJECT_PATH		4096

enum spw_object_flag {
	SPW_OBJECT_WHOLE = 1,		/* blocks that left memory for it */
	SPW_OBJECT_SYNC = 2,		/* a copy made for fsync */
	SPW_OBJECT_HOME = 4,		/* all of the file up to this one is
					 * home: older ones count no more */
	SPW_OBJECT_FIRM = 8,		/* home keeps what was cut off before:
					 * what it has beyond file_size is
					 * another node's */
};

struct spw_object_block {		/* 16 bytes in the index */
	uint32_t at;			/* from payload_at */
	uint32_t stored;		/* bytes */
	uint32_t crc;			/* of the stored bytes */
	uint8_t codec;			/* enum spw_codec_id */
	uint8_t filter, width;		/* prefilter; 0: none */
	uint8_t level;			/* told by `place`; as it was asked */
};

struct spw_object {			/* a head, unpacked */
	uint64_t dev, ino;
	int64_t btime;			/* ns; 0: the file system has none */
	uint64_t offset, length;	/* in the file, raw */
	uint64_t seq;			/* a newer object has a higher one */
	uint64_t file_size;		/* when it was made */
	uint64_t cut;			/* the file was cut to this size since
					 * its last object; UINT64_MAX: not */
	int64_t wtime;			/* the file's mtime, ns */
	int64_t home_time;		/* that of home then; 0: not known */
	uint32_t flags;			/* enum spw_object_flag */
	uint32_t block_size;		/* raw bytes a block; the last: less */
	uint32_t nblocks;
	uint32_t payload_at;		/* from the start of the object */
	uint64_t stored;		/* all of it, head and blocks */
	uint32_t path_len;
	const char *path;		/* not terminated */
	const struct spw_object_block *blocks;
};

/* Bytes of the head for a path and a number of blocks; blocks begin there,
 * on a multiple of 64. */
size_t spw_object_head_size(uint32_t path_len, uint32_t nblocks);

/* The most bytes an object with this many raw bytes can take, in blocks of
 * any size. */
size_t spw_object_bound(uint32_t path_len, uint64_t length);

/* How blocks are to be packed: one for all, or several, each for a number of
 * blocks, the last for those that are left. */
struct spw_object_pack {
	uint8_t codec;
	int level;
	uint8_t filter, width;
	uint32_t nblocks;		/* 0: all that are left */
};

struct spw_packer;			/* contexts and scratch, for a thread */
int spw_packer_new(struct spw_packer **ret_packer);
void spw_packer_free(struct spw_packer *p);	/* takes NULL */

/*
 * Builds an object in dst (aligned to 64) from o->length raw bytes. o gives
 * all but nblocks, payload_at, stored and blocks, which are worked out;
 * block_size 0 means SPW_OBJECT_BLOCK; pack NULL means raw. A block that
 * packing does not make smaller is stored raw. src may be
 * dst + spw_object_head_size(...), where raw bytes need no copying; else it
 * lies outside of dst. Returns the stored size; -E2BIG: cap is too small;
 * -ENOTSUP: codec or filter not to be had; -EINVAL: a level, size or path
 * that cannot be; -ENOMEM. Bytes at src are as before when it fails.
 */
int64_t spw_object_encode(struct spw_packer *p, const struct spw_object *o,
			  const struct spw_object_pack *pack, void *dst,
			  size_t cap, const void *src);

/*
 * Unpacks and checks a head from the first n bytes of an object. 0;
 * -EAGAIN: n is too few, *ret_need bytes are needed; -EBADMSG: no object, or
 * damaged; -EPROTONOSUPPORT: from a newer version. path and blocks point into
 * buf, which must stay and be aligned to 8. That all of ret_o->stored bytes
 * are there is for the caller to see.
 */
int spw_object_parse(const void *buf, size_t n, struct spw_object *ret_o,
		     size_t *ret_need);

/* The blocks that hold raw bytes [from, to) of the object (not the file), and
 * the stored bytes to read for them, from the start of the object. What lies
 * past the object's end is left out; all is 0 where nothing is left. */
struct spw_object_part {
	uint32_t first, count;		/* blocks */
	uint64_t at, len;		/* stored */
	uint64_t raw_at, raw_len;	/* raw bytes these blocks unpack to */
};
void spw_object_part(const struct spw_object *o, uint64_t from, uint64_t to,
		     struct spw_object_part *ret_part);

/*
 * Checks and unpacks the blocks of a part from its stored bytes into dst
 * (raw_len bytes). 0; -EBADMSG: damaged; -ENOTSUP: a codec or filter not to
 * be had here; -ENOMEM. *ret_bad is then the raw offset of the block, and dst
 * holds nothing of use from there on.
 */
int spw_object_decode(struct spw_packer *p, const struct spw_object *o,
		      const struct spw_object_part *part, const void *stored,
		      void *dst, uint64_t *ret_bad);

/* The same for block i alone, whose stored bytes are given; returns how many
 * raw bytes it has. What is stored as it is is not copied: *ret_raw is there
 * then, or in the packer until its next use. */
int64_t spw_object_view(struct spw_packer *p, const struct spw_object *o,
			uint32_t i, const void *stored,
			const uint8_t **ret_raw);

#endif
