/* SPDX-License-Identifier: BSD-3-Clause */
/* ways.h -- the ways to pack that are chosen from, and which fit the data */

/* A way is a codec at a level behind a filter.  The width of the filter's
 * items is not part of it but comes from the data: shuffles take whole
 * records where there are any, else numbers; differences take numbers, in the
 * order of bytes that these have.  So what was learned of a way holds for data
 * of every width and order.
 */

#ifndef SPW_PLANNER_WAYS_H
#define SPW_PLANNER_WAYS_H

#include "planner/analyze.h"
#include "planner/choice.h"
#include "tiers/codec.h"
#include "tiers/object.h"

struct spw_ways {
	unsigned n;			/* the first packs nothing */
	struct spw_choice at[SPW_CHOICES_MAX];
	uint16_t speed[SPW_CHOICES_MAX];	/* as in spw_codec_choice */
};

/* The codecs that tiers are pinned to, each with all filters, then those of the
 * pool with the filters that are worth it.  Codecs are loaded before.
 */
void spw_ways_fill(struct spw_ways *ways, const struct spw_codec_choice *pins,
		   unsigned n_pins);

/* Ways that make sense for the data, those of a codec at a level, and those
 * without a filter; a bit each, and raw among them in any case.
 */
uint64_t spw_ways_fit(const struct spw_ways *ways,
		      const struct spw_traits *traits);
uint64_t spw_ways_of(const struct spw_ways *ways,
		     const struct spw_codec_choice *pin);
uint64_t spw_ways_plain(const struct spw_ways *ways);

/* One of them, as an object is told. */
struct spw_object_pack spw_ways_pack(const struct spw_choice *way,
				     const struct spw_traits *traits);

#endif
