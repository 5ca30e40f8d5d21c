/* SPDX-License-Identifier: BSD-3-Clause */
/* filter.c -- which filters there are, and how they are put together */

/* A filter is a difference (or none) and a shuffle (or none); columns are by
 * themselves.  What takes two steps goes chunk by chunk, so that the bytes
 * between the steps stay in the first cache.  A bit shuffle is itself three:
 * each byte plane of the chunk has the bits of every 8 bytes turned, and these
 * are then shuffled as elements of 8 bytes into the 8 bit planes.
 */

#include "tiers/filter.h"

#include <errno.h>
#include <stdatomic.h>
#include <string.h>

#include "tiers/cpu.h"
#include "tiers/filter-columns.h"
#include "tiers/filter-way.h"

#define ARRAY_LEN(a) (sizeof(a) / sizeof((a)[0]))

enum { CHUNK = 16384 };			/* bytes between the steps */

enum difference { PLAIN, DELTA, XOR };
enum order { IN_PLACE, BYTES, BITS };

#define NUMBERS (1u << 1 | 1u << 2 | 1u << 4 | 1u << 8)

static const struct filter {
	const char *name;
	enum difference difference;
	enum order order;
	uint8_t least, most;		/* width */
	bool numbers;			/* widths of NUMBERS only */
	bool big;
} filters[SPW_FILTERS] = {
	[SPW_FILTER_NONE] = { "none", PLAIN, IN_PLACE, 0, 0, false, false },
	[SPW_FILTER_SHUFFLE] = { "shuffle", PLAIN, BYTES, 2, 255, false,
				 false },
	[SPW_FILTER_BITSHUFFLE] = { "bitshuffle", PLAIN, BITS, 1, 255, false,
				    false },
	[SPW_FILTER_DELTA] = { "delta", DELTA, IN_PLACE, 1, 8, true, false },
	[SPW_FILTER_XOR] = { "xor-delta", XOR, IN_PLACE, 1, 8, true, false },
	[SPW_FILTER_DELTA_SHUFFLE] = { "delta+shuffle", DELTA, BYTES, 2, 8,
				       true, false },
	[SPW_FILTER_XOR_SHUFFLE] = { "xor-delta+shuffle", XOR, BYTES, 2, 8,
				     true, false },
	[SPW_FILTER_DELTA_BITSHUFFLE] = { "delta+bitshuffle", DELTA, BITS, 1,
					  8, true, false },
	[SPW_FILTER_COLUMNS] = { "columns", PLAIN, IN_PLACE, 1, 1, false,
				 false },
	[SPW_FILTER_BIG_DELTA_SHUFFLE] = { "big-delta+shuffle", DELTA, BYTES,
					   2, 8, true, true },
	[SPW_FILTER_BIG_DELTA_BITSHUFFLE] = { "big-delta+bitshuffle", DELTA,
					      BITS, 2, 8, true, true },
};

bool
spw_filter_is_known(const struct spw_filter_spec *f)
{
	const struct filter *filter;

	if (f->id >= SPW_FILTERS)
		return false;
	filter = &filters[f->id];
	return f->width >= filter->least && f->width <= filter->most &&
	       (!filter->numbers || NUMBERS >> f->width & 1);
}

const char *
spw_filter_name(uint8_t id)
{
	return id < SPW_FILTERS ? filters[id].name : NULL;
}

const struct spw_filter_way *
spw_filter_way(size_t i)
{
	const struct spw_filter_way *ways[3];
	size_t n = 0;

#ifdef SPW_FILTER_VECTORS
#ifdef __x86_64__
	if (spw_has_avx2())
		ways[n++] = &spw_filter_avx2;
#endif
	ways[n++] = &spw_filter_vec16;
#endif
	ways[n++] = &spw_filter_portable;
	return i < n ? ways[i] : NULL;
}

/* A run under way. */
struct run {
	const struct spw_filter_way *way;
	const struct filter *filter;
	size_t w;
	size_t m;			/* elements; what follows is kept */
	size_t step;			/* elements of a chunk */
	uint64_t prev;
};

/* Elements.  Of 256, each bit plane gets 32 bytes, a whole vector. */
static size_t
chunk_of(size_t w)
{
	size_t fit = CHUNK / w;

	return fit >= 256 ? fit / 256 * 256 : fit / 32 * 32;
}

static int
begin(struct run *r, const struct spw_filter_way *way,
      const struct spw_filter_spec *f, size_t n)
{
	if (!spw_filter_is_known(f))
		return -EINVAL;
	*r = (struct run){ .way = way, .filter = &filters[f->id],
			   .w = f->width };
	if (!r->w)
		return 0;
	r->m = n / r->w;
	if (r->filter->order == BITS)
		r->m &= ~(size_t)7;
	r->step = chunk_of(r->w);
	if (r->filter->difference == PLAIN && r->filter->order != BITS)
		r->step = r->m;		/* one step: no chunks */
	return 0;
}

static void
copy_rest(const struct run *r, uint8_t *dst, const uint8_t *src, size_t n)
{
	size_t done = r->m * r->w;

	if (n > done)
		memcpy(dst + done, src + done, n - done);
}

static void
apply_bits(const struct run *r, uint8_t *dst, const uint8_t *src, size_t i,
	   size_t g)
{
	const size_t plane = r->m / 8;
	uint8_t bytes[CHUNK];
	size_t c;

	r->way->shuffle(bytes, g, src, g, r->w);
	r->way->turn_bits(bytes, g * r->w);
	for (c = 0; c < r->w; c++)
		r->way->shuffle(dst + c * 8 * plane + i / 8, plane,
				bytes + c * g, g / 8, 8);
}

/* Elements i to i + g of the run. */
static void
apply_chunk(struct run *r, uint8_t *dst, const uint8_t *src, size_t i,
	    size_t g)
{
	uint8_t between[CHUNK], swapped[CHUNK];
	uint8_t *to = r->filter->order == IN_PLACE ? dst + i * r->w : between;

	src += i * r->w;
	if (r->filter->big) {
		r->way->swap(swapped, src, g, r->w);
		src = swapped;
	}
	if (r->filter->difference == DELTA)
		r->way->delta(to, src, g, r->w, &r->prev);
	if (r->filter->difference == XOR)
		r->way->xor(to, src, g, r->w, &r->prev);
	if (r->filter->difference != PLAIN)
		src = to;
	if (r->filter->order == BYTES)
		r->way->shuffle(dst + i, r->m, src, g, r->w);
	if (r->filter->order == BITS)
		apply_bits(r, dst, src, i, g);
}

static void
undo_bits(const struct run *r, uint8_t *dst, const uint8_t *src, size_t i,
	  size_t g)
{
	const size_t plane = r->m / 8;
	uint8_t bytes[CHUNK];
	size_t c;

	for (c = 0; c < r->w; c++)
		r->way->unshuffle(bytes + c * g,
				  src + c * 8 * plane + i / 8, plane, g / 8,
				  8);
	r->way->turn_bits(bytes, g * r->w);
	r->way->unshuffle(dst, bytes, g, g, r->w);
}

static void
undo_chunk(struct run *r, uint8_t *dst, const uint8_t *src, size_t i, size_t g)
{
	const uint8_t *from = dst + i * r->w;

	dst += i * r->w;
	if (r->filter->order == IN_PLACE)
		from = src + i * r->w;
	if (r->filter->order == BYTES)
		r->way->unshuffle(dst, src + i, r->m, g, r->w);
	if (r->filter->order == BITS)
		undo_bits(r, dst, src, i, g);
	if (r->filter->difference == DELTA)
		r->way->undelta(dst, from, g, r->w, &r->prev);
	if (r->filter->difference == XOR)
		r->way->unxor(dst, from, g, r->w, &r->prev);
	if (r->filter->big)
		r->way->swap(dst, dst, g, r->w);
}

static size_t
chunk_at(const struct run *r, size_t i)
{
	return r->m - i < r->step ? r->m - i : r->step;
}

int
spw_filter_apply_by(const struct spw_filter_way *way,
		    const struct spw_filter_spec *f, void *dst,
		    const void *src, size_t n)
{
	struct run run;
	size_t i;
	int r = begin(&run, way, f, n);

	if (r < 0)
		return r;
	if (f->id == SPW_FILTER_COLUMNS) {
		spw_filter_apply_columns(dst, src, n);
		return 0;
	}
	for (i = 0; i < run.m; i += chunk_at(&run, i))
		apply_chunk(&run, dst, src, i, chunk_at(&run, i));
	copy_rest(&run, dst, src, n);
	return 0;
}

int
spw_filter_undo_by(const struct spw_filter_way *way,
		   const struct spw_filter_spec *f, void *dst,
		   const void *src, size_t n)
{
	struct run run;
	size_t i;
	int r = begin(&run, way, f, n);

	if (r < 0)
		return r;
	if (f->id == SPW_FILTER_COLUMNS) {
		spw_filter_undo_columns(dst, src, n);
		return 0;
	}
	for (i = 0; i < run.m; i += chunk_at(&run, i))
		undo_chunk(&run, dst, src, i, chunk_at(&run, i));
	copy_rest(&run, dst, src, n);
	return 0;
}

/* Relaxed: every thread that finds NULL stores the same pointer, and what it
 * points to is constant.
 */
static _Atomic(const struct spw_filter_way *) chosen;

static const struct spw_filter_way *
choose(void)
{
	const struct spw_filter_way *way =
		atomic_load_explicit(&chosen, memory_order_relaxed);

	if (!way) {
		way = spw_filter_way(0);
		atomic_store_explicit(&chosen, way, memory_order_relaxed);
	}
	return way;
}

int
spw_filter_apply(const struct spw_filter_spec *f, void *dst, const void *src,
		 size_t n)
{
	return spw_filter_apply_by(choose(), f, dst, src, n);
}

int
spw_filter_undo(const struct spw_filter_spec *f, void *dst, const void *src,
		size_t n)
{
	return spw_filter_undo_by(choose(), f, dst, src, n);
}
