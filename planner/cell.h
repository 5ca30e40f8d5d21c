/* SPDX-License-Identifier: BSD-3-Clause */
/* cell.h -- robust averages of the figures of one choice */

/* Logarithms of seconds a byte to pack and to unpack, and of the fraction that
 * is stored.
 */

#ifndef SPW_PLANNER_CELL_H
#define SPW_PLANNER_CELL_H

#include <stdbool.h>
#include <stdint.h>

enum { PACK, UNPACK, STORED, FIGURES };

struct spw_cell {
	float mean[FIGURES], off[FIGURES];	/* and mean deviation */
	float n[FIGURES];		/* blocks */
	int8_t run[FIGURES];		/* blocks cut in a row, by side */
	uint8_t sampled;		/* bit k: only samples so far */
	uint8_t alone;			/* and no class to hold them against */
	bool guessed;			/* at first */
	bool whole;		/* samples stay so, unlike the class's */
	float tide;			/* the stream's, as this was learned */
};

/* x, or the farthest from what is expected that it counts for.  Sizes are
 * what they are.
 */
float spw_cell_cut(struct spw_cell *cell, int k, float expected, float x);

/* x counts for w blocks, what was seen before for at most so many; off: from
 * what was expected, before it was cut.
 */
void spw_cell_add(struct spw_cell *cell, int k, float x, float off, float w,
		  float most);

/* The same, of a stream's own.  Time is lost to others, never won: of the first
 * ones that which took less tells more than those before, and that which took
 * more tells little.
 */
void spw_cell_learn(struct spw_cell *cell, int k, float x, float off, float w);

#endif
