/* SPDX-License-Identifier: BSD-3-Clause */
/* buffer.c -- pieces of a buffer: framed, and checked in their order */

#include "planner/buffer.h"
#include "shm/util.h"
#include "tiers/object-layout.h"

#include <errno.h>

size_t
spw_buffer_bound(size_t n)
{
	size_t pieces = n / SPW_BUFFER_PIECE;
	size_t whole = spw_object_bound(0, SPW_BUFFER_PIECE);

	if (n > SPW_BUFFER_MAX)
		return 0;
	return pieces * whole + spw_object_bound(0, n % SPW_BUFFER_PIECE);
}

size_t
spw_buffer_head(size_t n)
{
	size_t blocks = (n + SPW_OBJECT_BLOCK - 1) / SPW_OBJECT_BLOCK;

	return spw_object_head_size(0, (uint32_t)blocks);
}

/* The next head follows this one. */
static void
go_on(struct spw_buffer_at *at, const void *head, uint64_t length)
{
	const uint8_t *from = head;

	from += offsetof(struct spw_object_head, crc);
	memcpy(&at->sum, from, sizeof(at->sum));
	at->offset += length;
}

int64_t
spw_buffer_pack(struct spw_packer *p, struct spw_buffer_at *at,
		const struct spw_object_pack *pack, void *scratch,
		const void *src, size_t n)
{
	const struct spw_object o = {
		.offset = at->offset, .length = n, .seq = at->sum,
		.file_size = at->total, .cut = UINT64_MAX,
	};
	int64_t r = spw_object_encode(p, &o, pack, scratch,
				      spw_object_bound(0, n), src);

	if (r > 0)
		go_on(at, scratch, n);
	return r;
}

static bool
is_next(const struct spw_buffer_at *at, const struct spw_object *o)
{
	uint64_t left = at->total - at->offset;

	return !o->path_len && !o->flags && o->cut == UINT64_MAX &&
	       o->offset == at->offset && o->seq == at->sum &&
	       o->file_size == at->total && o->length <= left &&
	       (o->length || !at->total);
}

int
spw_buffer_look(struct spw_buffer_at *at, const void *src, size_t n,
		void *scratch, struct spw_object *ret_o)
{
	size_t need = SPW_MIN(n, sizeof(struct spw_object_head));
	int r;

	memcpy(scratch, src, need);
	r = spw_object_parse(scratch, need, ret_o, &need);
	if (r == -EAGAIN && need <= SPW_MIN(n, SPW_BUFFER_HEAD)) {
		memcpy(scratch, src, need);
		r = spw_object_parse(scratch, need, ret_o, &need);
	}
	if (r < 0 || ret_o->stored > n)
		return -EBADMSG;
	if (!at->offset && !at->sum)
		at->total = ret_o->file_size;
	if (!is_next(at, ret_o))
		return -EBADMSG;
	go_on(at, scratch, ret_o->length);
	return 0;
}
