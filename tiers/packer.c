/* SPDX-License-Identifier: BSD-3-Clause */
/* packer.c -- blocks of objects: packed, checked and unpacked */

#include "tiers/object.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "shm/crc32c.h"
#include "tiers/codec.h"
#include "tiers/filter.h"
#include "tiers/object-layout.h"

struct scratch {
	void *mem;
	size_t room;
};

struct spw_packer {
	void *contexts[UINT8_MAX + 1];	/* by codec, made when first needed */
	struct scratch packed;		/* a block on its way into place */
	struct scratch filtered;	/* one between filter and codec */
};

int
spw_packer_new(struct spw_packer **ret_packer)
{
	struct spw_packer *p = calloc(1, sizeof(*p));

	if (!p)
		return -ENOMEM;
	*ret_packer = p;
	return 0;
}

void
spw_packer_free(struct spw_packer *p)
{
	size_t i;

	if (!p)
		return;
	for (i = 0; i <= UINT8_MAX; i++)
		if (p->contexts[i])
			spw_codec_by_id((uint8_t)i)->ctx_free(p->contexts[i]);
	free(p->packed.mem);
	free(p->filtered.mem);
	free(p);
}

static int
make_room(struct scratch *s, size_t n)
{
	void *mem;

	if (s->room >= n)
		return 0;
	mem = aligned_alloc(SPW_OBJECT_HEAD_ALIGN,
			    (n + SPW_OBJECT_HEAD_ALIGN - 1) /
			    SPW_OBJECT_HEAD_ALIGN * SPW_OBJECT_HEAD_ALIGN);
	if (!mem)
		return -ENOMEM;
	free(s->mem);
	*s = (struct scratch) { mem, n };
	return 0;
}

static int
get_codec(struct spw_packer *p, uint8_t id, const struct spw_codec **ret_codec)
{
	const struct spw_codec *codec = spw_codec_by_id(id);

	if (!codec)
		return -ENOTSUP;
	if (!p->contexts[id])
		p->contexts[id] = codec->ctx_new();
	if (!p->contexts[id])
		return -ENOMEM;
	*ret_codec = codec;
	return 0;
}

static int
prepare_pack(struct spw_packer *p, const struct spw_object_pack *pack,
	     uint32_t block_size)
{
	const struct spw_filter_spec filter = { pack->filter, pack->width };
	const struct spw_codec *codec;
	int r = get_codec(p, pack->codec, &codec);

	if (r < 0)
		return r;
	if (pack->level < codec->min_level || pack->level > codec->max_level)
		return -EINVAL;
	if (!pack->filter)
		return 0;
	return spw_filter_is_known(&filter) ?
	       make_room(&p->filtered, block_size) : -ENOTSUP;
}

/* Everything that may be missing is looked for before a byte is moved. */
static int
prepare(struct spw_packer *p, const struct spw_object *o,
	const struct spw_object_pack *pack, bool in_place)
{
	uint32_t left = o->nblocks;
	int r;

	for (; left; left -= pack->nblocks, pack++) {
		r = prepare_pack(p, pack, o->block_size);
		if (r < 0)
			return r;
		if (!pack->nblocks || pack->nblocks >= left)
			break;
	}
	return in_place ? make_room(&p->packed, o->block_size) : 0;
}

struct block_job {
	struct spw_packer *packer;
	const struct spw_object_pack *pack;
	uint8_t *dst;
	size_t cap;
	const uint8_t *src;
	uint32_t raw;
	bool in_place;			/* dst and src overlap */
};

/* Copies and sums in steps that stay in the first cache. */
static uint32_t
copy_and_sum(uint8_t *dst, const uint8_t *src, size_t n)
{
	const size_t step = 8192;
	uint32_t crc = 0;
	size_t len;

	if (dst == src)
		return spw_crc32c(0, dst, n);
	for (; n; dst += len, src += len, n -= len) {
		len = n < step ? n : step;
		memmove(dst, src, len);
		crc = spw_crc32c(crc, dst, len);
	}
	return crc;
}

static int
store_raw(const struct block_job *job, struct spw_object_block *b)
{
	if (job->cap < job->raw)
		return -E2BIG;
	b->stored = job->raw;
	b->crc = copy_and_sum(job->dst, job->src, job->raw);
	return 0;
}

/* What the codec is to pack; NULL: the filter would not. */
static const void *
filter_block(const struct block_job *job)
{
	const struct spw_filter_spec filter = {
		job->pack->filter, job->pack->width,
	};
	void *filtered = job->packer->filtered.mem;

	if (!filter.id)
		return job->src;
	if (spw_filter_apply(&filter, filtered, job->src, job->raw) < 0)
		return NULL;
	return filtered;
}

/* 0: it did not get smaller, whatever the reason; src is as before then. */
static uint32_t
pack_block(const struct block_job *job)
{
	struct spw_packer *p = job->packer;
	void *out = job->in_place ? p->packed.mem : job->dst;
	const void *src = filter_block(job);
	size_t cap = job->raw - 1;
	int64_t r;

	if (!src)
		return 0;
	if (cap > job->cap)
		cap = job->cap;
	r = spw_codec_encode(spw_codec_by_id(job->pack->codec),
			     p->contexts[job->pack->codec], job->pack->level,
			     out, cap, src, job->raw);
	if (r <= 0)
		return 0;
	if (job->in_place)
		memcpy(job->dst, out, (size_t)r);
	return (uint32_t)r;
}

static int
store_block(const struct block_job *job, struct spw_object_block *b)
{
	uint32_t stored = 0;

	if (job->pack->codec != SPW_CODEC_NONE)
		stored = pack_block(job);
	if (!stored)
		return store_raw(job, b);
	b->stored = stored;
	b->crc = spw_crc32c(0, job->dst, stored);
	b->codec = job->pack->codec;
	b->level = (uint8_t)job->pack->level;
	b->filter = job->pack->filter;
	b->width = b->filter ? job->pack->width : 0;
	return 0;
}

/* Stored bytes of all blocks. In place, a block never ends behind its raw
 * bytes, so those that follow are still whole. */
static int64_t
store_blocks(const struct spw_object *o, struct block_job job,
	     struct spw_object_block *blocks)
{
	uint32_t at = 0, i, of_pack = 0;
	int r;

	for (i = 0; i < o->nblocks; i++) {
		struct spw_object_block b = { .at = at };

		job.raw = spw_object_raw(o, i);
		r = store_block(&job, &b);
		if (r < 0)
			return r;
		blocks[i] = b;
		at += b.stored;
		job.dst += b.stored;
		job.cap -= b.stored;
		job.src += job.raw;
		if (++of_pack == job.pack->nblocks) {
			job.pack++;
			of_pack = 0;
		}
	}
	return at;
}

static struct spw_object_block *
index_of(void *object)
{
	return (void *)((char *)object + sizeof(struct spw_object_head));
}

int64_t
spw_object_encode(struct spw_packer *p, const struct spw_object *o,
		  const struct spw_object_pack *pack, void *dst, size_t cap,
		  const void *src)
{
	static const struct spw_object_pack raw = { .codec = SPW_CODEC_NONE };
	struct spw_object own = *o;
	struct block_job job = { .packer = p, .pack = pack ? pack : &raw };
	int64_t r = spw_object_lay_out(&own);

	if (r < 0)
		return r;
	if (cap < own.payload_at)
		return -E2BIG;
	job.dst = (uint8_t *)dst + own.payload_at;
	job.cap = cap - own.payload_at;
	job.src = src;
	job.in_place = job.src == job.dst;
	if (job.in_place && job.cap < own.length)
		return -E2BIG;
	r = prepare(p, &own, job.pack, job.in_place);
	if (r < 0)
		return r;
	r = store_blocks(&own, job, index_of(dst));
	if (r < 0)
		return r;
	own.stored = own.payload_at + (uint64_t)r;
	spw_object_write_head(&own, dst);
	return (int64_t)own.stored;
}

static int
unpack_filtered(struct spw_packer *p, const struct spw_codec *codec,
		const struct spw_object_block *b, const void *stored,
		void *dst, uint32_t raw)
{
	const struct spw_filter_spec filter = { b->filter, b->width };
	int r;

	if (!spw_filter_is_known(&filter))
		return -ENOTSUP;
	r = make_room(&p->filtered, raw);
	if (r < 0)
		return r;
	r = spw_codec_decode(codec, p->contexts[codec->id], p->filtered.mem,
			     raw, stored, b->stored);
	if (r < 0)
		return r;
	return spw_filter_undo(&filter, dst, p->filtered.mem, raw);
}

static int
unpack_block(struct spw_packer *p, const struct spw_object_block *b,
	     const void *stored, void *dst, uint32_t raw)
{
	const struct spw_codec *codec;
	int r;

	if (b->codec == SPW_CODEC_NONE)
		return copy_and_sum(dst, stored, raw) == b->crc ? 0 : -EBADMSG;
	if (spw_crc32c(0, stored, b->stored) != b->crc)
		return -EBADMSG;
	r = get_codec(p, b->codec, &codec);
	if (r < 0)
		return r;
	if (b->filter)
		return unpack_filtered(p, codec, b, stored, dst, raw);
	return spw_codec_decode(codec, p->contexts[codec->id], dst, raw,
				stored, b->stored);
}

int64_t
spw_object_view(struct spw_packer *p, const struct spw_object *o, uint32_t i,
		const void *stored, const uint8_t **ret_raw)
{
	const struct spw_object_block *b = &o->blocks[i];
	uint32_t raw = spw_object_raw(o, i);
	/* Onto themselves raw bytes are checked, and not copied. */
	void *to = (void *)stored;
	int r = 0;

	if (b->codec != SPW_CODEC_NONE) {
		r = make_room(&p->packed, raw);
		to = p->packed.mem;
	}
	if (r == 0)
		r = unpack_block(p, b, stored, to, raw);
	if (r < 0)
		return r;
	*ret_raw = to;
	return raw;
}

int
spw_object_decode(struct spw_packer *p, const struct spw_object *o,
		  const struct spw_object_part *part, const void *stored,
		  void *dst, uint64_t *ret_bad)
{
	const uint8_t *from = stored;
	uint8_t *to = dst;
	uint32_t i;
	int r;

	for (i = part->first; i < part->first + part->count; i++) {
		const struct spw_object_block *b = &o->blocks[i];
		uint32_t raw = spw_object_raw(o, i);

		r = unpack_block(p, b, from, to, raw);
		if (r < 0) {
			*ret_bad = (uint64_t)i * o->block_size;
			return r;
		}
		from += b->stored;
		to += raw;
	}
	return 0;
}
