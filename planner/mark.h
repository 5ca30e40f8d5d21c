/* SPDX-License-Identifier: BSD-3-Clause */
/* mark.h -- an object that says: this file is home, older ones count no more */
#ifndef SPW_PLANNER_MARK_H
#define SPW_PLANNER_MARK_H

#include "tiers/tier.h"

/*
 * Puts a mark into a tier in which nothing is under way; it is durable there
 * when this returns 0. Of o, which file it is, its path and size, and seq,
 * the youngest object that it speaks of. buf has room for cap bytes.
 */
int spw_mark_put(struct spw_tier *t, struct spw_packer *p,
		 const struct spw_object *o, void *buf, size_t cap,
		 uint64_t *ret_place);

#endif
