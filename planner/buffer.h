/* SPDX-License-Identifier: BSD-3-Clause */
/* buffer.h -- bytes in memory, packed as objects one after the other */

/* A buffer is cut into pieces of SPW_BUFFER_PIECE, each an object without a
 * path (tiers/object.h).  Its offset is the piece's place in the buffer, its
 * file_size the length of the buffer, its seq the sum of the head before it,
 * 0 for the first; so pieces that are missing, doubled or of another buffer
 * are noticed.  A buffer without bytes is one object without blocks.
 */

#ifndef SPW_PLANNER_BUFFER_H
#define SPW_PLANNER_BUFFER_H

#include "tiers/object.h"

#define SPW_BUFFER_PIECE ((size_t)1 << 20)
#define SPW_BUFFER_MAX ((uint64_t)1 << 46)

size_t spw_buffer_bound(size_t n);		/* 0: too many */

/* Bytes of it that are not the piece's own. */
size_t spw_buffer_head(size_t n);

/* On the way through a buffer, in either direction; starts as zeros, with
 * the total.
 */
struct spw_buffer_at {
	uint64_t total, offset;
	uint32_t sum;			/* of the last head */
};

/* The next piece, of n bytes, into scratch, which is aligned to 64 and has
 * room for spw_object_bound(0, n).  As spw_object_encode.
 */
int64_t spw_buffer_pack(struct spw_packer *p, struct spw_buffer_at *at,
			const struct spw_object_pack *pack, void *scratch,
			const void *src, size_t n);

/* The piece at the start of src, of n bytes: its head, of which scratch, for
 * SPW_BUFFER_HEAD bytes aligned to 64, keeps the index.  0 or -EBADMSG.  The
 * first one sets the total.
 */
#define SPW_BUFFER_HEAD ((size_t)1 << 17)
int spw_buffer_look(struct spw_buffer_at *at, const void *src, size_t n,
		    void *scratch, struct spw_object *ret_o);

#endif
