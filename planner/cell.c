/* SPDX-License-Identifier: BSD-3-Clause */
/* cell.c -- robust averages of the figures of one choice */

#include "planner/cell.h"
#include "shm/util.h"

#include <math.h>
#include <stdlib.h>

#define MOST_SEEN 1000.0f
#define OFF_LIMIT 3.0f		/* deviations before something is cut */
#define FIRST_LIMIT 1.5f	/* ln, for a first block: 4.5 times */
#define FEW 3.0f		/* blocks, of which one that took long ... */
#define FEW_LIMIT 0.35f		/* ln; ... does not tell what others will */
#define FIRST_OFF 0.25f		/* deviation assumed at first */
#define LEAST_OFF 0.03f
#define BELIEVED 3		/* blocks in a row on the same side */

/* Blocks after which the past fades. */
static const float memory[FIGURES] = { 12, 12, 2 };

float
spw_cell_cut(struct spw_cell *cell, int k, float expected, float x)
{
	float limit = cell->n[k] > 0 ? OFF_LIMIT * cell->off[k] : FIRST_LIMIT;
	float off = x - expected;
	int side = off < 0 ? -1 : 1;

	if (side > 0 && cell->n[k] > 0 && cell->n[k] < FEW)
		limit = SPW_MIN(limit, FEW_LIMIT);
	else if (side < 0 && cell->n[k] < FEW)
		limit = FIRST_LIMIT;

	if (k == STORED || fabsf(off) <= limit) {
		cell->run[k] = 0;
		return x;
	}
	cell->run[k] = (int8_t)(cell->run[k] * side > 0
				? cell->run[k] + side : side);
	if (abs(cell->run[k]) < BELIEVED)
		return expected + (float)side * limit;
	cell->run[k] = 0;		/* this is how it is now */
	cell->n[k] = 0;
	return x;
}

/* past: blocks that the mean counts for. */
static void
add_to(struct spw_cell *cell, int k, float x, float off, float w, float past)
{
	float gain = w / (past + w);
	float far = 2 * OFF_LIMIT * cell->off[k];

	if (cell->n[k] <= 0) {
		cell->mean[k] = x;
		cell->off[k] = FIRST_OFF;
	} else {
		cell->mean[k] += gain * (x - cell->mean[k]);
		cell->off[k] += 0.2f * (SPW_MIN(fabsf(off), far) -
					cell->off[k]);
		cell->off[k] = SPW_MAX(cell->off[k], LEAST_OFF);
	}
	cell->n[k] = SPW_MIN(cell->n[k] + w, MOST_SEEN);
}

void
spw_cell_add(struct spw_cell *cell, int k, float x, float off, float w,
	     float most)
{
	add_to(cell, k, x, off, w, SPW_MIN(cell->n[k], most));
}

static float
past_of(const struct spw_cell *cell, int k, float x, float w)
{
	float n = cell->n[k];

	if (k == STORED || n >= memory[k])
		return SPW_MIN(n, memory[k]);
	if (x < cell->mean[k])
		return SPW_MIN(n, n < FEW ? w / 8 : w);
	return SPW_MAX(n, FEW);
}

void
spw_cell_learn(struct spw_cell *cell, int k, float x, float off, float w)
{
	add_to(cell, k, x, off, w, past_of(cell, k, x, w));
}
