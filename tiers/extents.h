/* SPDX-License-Identifier: BSD-3-Clause */
/* extents.h -- the free stretches of a file, in order */

#ifndef SPW_TIERS_EXTENTS_H
#define SPW_TIERS_EXTENTS_H

#include <stddef.h>
#include <stdint.h>

struct spw_extent {
	uint64_t at, len;
};

struct spw_extents {
	struct spw_extent *e;		/* by place, none touching another */
	size_t n, room;
	uint64_t free;			/* bytes in all */
	uint64_t fits;			/* nothing longer than this is there */
};

/* What of [from, to) is not used; sorts used. -EBADMSG: two overlap, or one
 * lies outside. */
int spw_extents_build(struct spw_extents *x, uint64_t from, uint64_t to,
		      struct spw_extent *used, size_t nused);
void spw_extents_free(struct spw_extents *x);

/* The first stretch of len bytes that ends at or before `below`;
 * UINT64_MAX: there is none. */
uint64_t spw_extents_take(struct spw_extents *x, uint64_t len,
			  uint64_t below);

/* -ENOMEM: it is not free again, for want of memory to say so. */
int spw_extents_give(struct spw_extents *x, uint64_t at, uint64_t len);

#endif
