/* SPDX-License-Identifier: BSD-3-Clause */
/* analyze-parts.h -- what the files of the analyzer share */

#ifndef SPW_PLANNER_ANALYZE_PARTS_H
#define SPW_PLANNER_ANALYZE_PARTS_H

#include "planner/analyze.h"

#include <stdbool.h>

#include "tiers/cpu.h"

/* Two pieces of a block, a third of it apart: each new place costs a miss in
 * the caches and one in the page tables, each further line there much less.
 * Of a small block, both are its beginning.
 */
enum { WINDOW = 1024, SEEN = 256 };

struct spw_sample {
	const uint8_t *one, *two;	/* of WINDOW bytes */
};

/* By the first bytes of a file. */
uint8_t spw_analyze_format(const uint8_t *p, size_t n);
bool spw_analyze_is_packed(uint8_t format);	/* its bytes do not shrink */

/* Bytes after which records, or elements, seem to start again; 0 for noise. */
unsigned int spw_analyze_stride(const struct spw_sample *s);

/* The bytes of a record of floats of this width, by their exponents; 0: they
 * are all alike.
 */
unsigned int spw_analyze_record(const struct spw_sample *s,
				const struct spw_traits *t);

/* shape and steps from the numbers, whose kind and width t has. */
void spw_analyze_numbers(const struct spw_sample *s, struct spw_traits *t);

#endif
