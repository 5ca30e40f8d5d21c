/* SPDX-License-Identifier: BSD-3-Clause */
/* object.c -- heads of objects: written, checked, and searched */

#include "tiers/object.h"

#include <errno.h>
#include <string.h>

#include "shm/crc32c.h"
#include "tiers/codec.h"
#include "tiers/object-layout.h"

size_t
spw_object_head_size(uint32_t path_len, uint32_t nblocks)
{
	size_t n = sizeof(struct spw_object_head) + path_len +
		   (size_t)nblocks * sizeof(struct spw_object_block);

	return (n + SPW_OBJECT_HEAD_ALIGN - 1) &
	       ~(size_t)(SPW_OBJECT_HEAD_ALIGN - 1);
}

size_t
spw_object_bound(uint32_t path_len, uint64_t length)
{
	uint64_t nblocks = length / SPW_OBJECT_BLOCK_MIN + 1;

	return spw_object_head_size(path_len, (uint32_t)nblocks) + length;
}

uint32_t
spw_object_raw(const struct spw_object *o, uint32_t i)
{
	uint64_t left = o->length - (uint64_t)i * o->block_size;

	return left < o->block_size ? (uint32_t)left : o->block_size;
}

/* Sizes and offsets are off_t in the end, so none may be above its range.
 * The path is not looked at: it may not be in memory yet. */
static bool
is_possible(const struct spw_object *o)
{
	return o->length <= SPW_OBJECT_MAX &&
	       o->offset <= (uint64_t)INT64_MAX - o->length &&
	       o->file_size <= INT64_MAX &&
	       (o->cut <= INT64_MAX || o->cut == UINT64_MAX) &&
	       o->block_size >= SPW_OBJECT_BLOCK_MIN &&
	       o->block_size <= SPW_OBJECT_MAX &&
	       o->path_len <= SPW_OBJECT_PATH;
}

static bool
is_path(const struct spw_object *o)
{
	return !o->path_len || !memchr(o->path, '\0', o->path_len);
}

static uint32_t
count_blocks(const struct spw_object *o)
{
	return (uint32_t)((o->length + o->block_size - 1) / o->block_size);
}

int
spw_object_lay_out(struct spw_object *o)
{
	if (!o->block_size)
		o->block_size = SPW_OBJECT_BLOCK;
	if (!is_possible(o) || !is_path(o))
		return -EINVAL;
	o->nblocks = count_blocks(o);
	o->payload_at = (uint32_t)spw_object_head_size(o->path_len,
						       o->nblocks);
	return 0;
}

static uint32_t
sum_head(const uint8_t *buf, uint32_t size)
{
	const size_t from = offsetof(struct spw_object_head, version);

	return spw_crc32c(0, buf + from, size - from);
}

void
spw_object_write_head(const struct spw_object *o, void *dst)
{
	struct spw_object_head head = {
		.magic = { 0 },
		.version = SPW_OBJECT_VERSION,
		.size = o->payload_at,
		.nblocks = o->nblocks,
		.stored = o->stored,
		.dev = o->dev,
		.ino = o->ino,
		.btime = o->btime,
		.offset = o->offset,
		.length = o->length,
		.seq = o->seq,
		.file_size = o->file_size,
		.cut = o->cut,
		.wtime = o->wtime,
		.home_time = o->home_time,
		.flags = o->flags,
		.block_size = o->block_size,
		.path_len = o->path_len,
	};
	uint8_t *buf = dst;
	size_t at = sizeof(head) + o->nblocks * sizeof(*o->blocks);

	memcpy(head.magic, SPW_OBJECT_MAGIC, sizeof(head.magic));
	memcpy(buf, &head, sizeof(head));
	if (o->path_len)
		memcpy(buf + at, o->path, o->path_len);
	at += o->path_len;
	memset(buf + at, 0, o->payload_at - at);
	head.crc = sum_head(buf, o->payload_at);
	memcpy(buf + offsetof(struct spw_object_head, crc), &head.crc,
	       sizeof(head.crc));
}

/* What can be said of the first bytes, before they were checked. */
static bool
is_like_head(const struct spw_object_head *head)
{
	return !memcmp(head->magic, SPW_OBJECT_MAGIC, sizeof(head->magic)) &&
	       head->version && head->size >= sizeof(*head) &&
	       head->size <= SPW_OBJECT_HEAD_MAX &&
	       head->size % SPW_OBJECT_HEAD_ALIGN == 0;
}

static void
unpack_numbers(const struct spw_object_head *head, struct spw_object *ret_o)
{
	*ret_o = (struct spw_object) {
		.dev = head->dev,
		.ino = head->ino,
		.btime = head->btime,
		.offset = head->offset,
		.length = head->length,
		.seq = head->seq,
		.file_size = head->file_size,
		.cut = head->cut,
		.wtime = head->wtime,
		.home_time = head->home_time,
		.flags = head->flags,
		.block_size = head->block_size,
		.nblocks = head->nblocks,
		.payload_at = head->size,
		.stored = head->stored,
		.path_len = head->path_len,
	};
}

static bool
fits_head(const struct spw_object *o)
{
	return is_possible(o) && o->nblocks == count_blocks(o) &&
	       o->payload_at == spw_object_head_size(o->path_len, o->nblocks);
}

static bool
is_block(const struct spw_object_block *b, uint32_t at, uint32_t raw)
{
	if (b->at != at)
		return false;
	if (b->codec == SPW_CODEC_NONE)
		return b->stored == raw && !b->filter && !b->width;
	return b->stored && b->stored < raw;
}

/* Blocks lie one after the other and fill what is stored, so none can reach
 * into another or past the end. */
static bool
is_index(const struct spw_object *o)
{
	uint32_t at = 0, i;

	for (i = 0; i < o->nblocks; i++) {
		if (!is_block(&o->blocks[i], at, spw_object_raw(o, i)))
			return false;
		at += o->blocks[i].stored;
	}
	return o->stored == (uint64_t)o->payload_at + at;
}

int
spw_object_parse(const void *buf, size_t n, struct spw_object *ret_o,
		 size_t *ret_need)
{
	struct spw_object_head head;
	struct spw_object o;

	if (n < sizeof(head)) {
		*ret_need = sizeof(head);
		return -EAGAIN;
	}
	memcpy(&head, buf, sizeof(head));
	if (!is_like_head(&head))
		return -EBADMSG;
	if (n < head.size) {
		*ret_need = head.size;
		return -EAGAIN;
	}
	if (sum_head(buf, head.size) != head.crc)
		return -EBADMSG;
	if (head.version != SPW_OBJECT_VERSION)
		return -EPROTONOSUPPORT;
	unpack_numbers(&head, &o);
	if (!fits_head(&o))
		return -EBADMSG;
	o.blocks = (const void *)((const char *)buf + sizeof(head));
	o.path = (const char *)(o.blocks + o.nblocks);
	if (!is_path(&o) || !is_index(&o))
		return -EBADMSG;
	*ret_o = o;
	return 0;
}

void
spw_object_part(const struct spw_object *o, uint64_t from, uint64_t to,
		struct spw_object_part *ret_part)
{
	struct spw_object_part part = { 0 };
	uint32_t last;

	if (to > o->length)
		to = o->length;
	if (from < to) {
		part.first = (uint32_t)(from / o->block_size);
		last = (uint32_t)((to - 1) / o->block_size);
		part.count = last - part.first + 1;
		part.at = (uint64_t)o->payload_at + o->blocks[part.first].at;
		part.len = (uint64_t)o->payload_at + o->blocks[last].at +
			   o->blocks[last].stored - part.at;
		part.raw_at = (uint64_t)part.first * o->block_size;
		part.raw_len = (uint64_t)last * o->block_size +
			       spw_object_raw(o, last) - part.raw_at;
	}
	*ret_part = part;
}
