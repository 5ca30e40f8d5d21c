/* SPDX-License-Identifier: BSD-3-Clause */
/* choice.h -- ways to pack a stream, and what each is expected to cost */

#ifndef SPW_PLANNER_CHOICE_H
#define SPW_PLANNER_CHOICE_H

#include <stdint.h>

#define SPW_CHOICES_MAX 64		/* bits in a mask of choices */

/* One way to pack: a codec at a level behind a prefilter.  The numbers are
 * those of the codecs and filters; nothing here looks behind them.
 */
struct spw_choice {
	uint8_t codec;
	uint8_t filter;
	int16_t level;
	uint16_t width;			/* of the filter's items, bytes; 0: as
					 * the data asks for, see ways.h */
};

/* What is packed alike: a file, a dataset or a region of one. */
struct spw_stream {
	uint64_t id;
	uint64_t traits;		/* its class: type, stride, shape */
};

/* Pieces are counted in quanta; the last one of a task counts in full. */
#define SPW_QUANTUM 4096

/* What packing a stream costs, for each choice of the pool.  Choice 0 packs
 * nothing.  An unusable choice has pack = INFINITY; what lies past the last
 * one is never looked at.
 */
struct spw_costs {
	uint64_t version;		/* below 2^40; no other costs had it */
	unsigned n;			/* choices */
	double pack[SPW_CHOICES_MAX];	/* seconds a byte */
	double unpack[SPW_CHOICES_MAX];
	double stored[SPW_CHOICES_MAX];	/* bytes of a packed quantum, whole */
};

#endif
