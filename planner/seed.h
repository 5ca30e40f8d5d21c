/* SPDX-License-Identifier: BSD-3-Clause */
/* seed.h -- the file in which costs outlive a run */

/* A JSON file:
 *
 *	{
 *	  "spillway-seed": 1,
 *	  "machine": { "cpu": "...", "cores": 64 },
 *	  "updated": "2026-01-31T12:00:00Z",
 *	  "costs": [ { "traits": "0000000000000304", "codec": 2,
 *		"level": 3, "filter": 1, "width": 4, "weight": 2.5,
 *		"compress": 712000000, "decompress": 1300000000,
 *		"fraction": 0.61 }, ... ]
 *	}
 *
 * with speeds in bytes a second, left out where they are not known.  Other
 * members are kept as they are.
 *
 * Any number of processes may save to one file: each takes the lock PATH.lock,
 * reads what is there, adds what it learned, weight by weight, and puts the
 * result in its place by rename.
 */

#ifndef SPW_PLANNER_SEED_H
#define SPW_PLANNER_SEED_H

#include <stddef.h>

#include "planner/predict.h"

#define SPW_SEED_VERSION 1
#define SPW_SEED_CPU 96

struct spw_seed {
	char cpu[SPW_SEED_CPU];
	unsigned cores;
	size_t n, room;
	struct spw_known *at;
};

/* One line for people, empty when there is nothing to say. */
struct spw_seed_note {
	char text[256];
};

/* Tell the predictor what the file knows.  0, also if there is no file; else
 * a negative errno, with a note, and nothing was told: -EBADMSG it is
 * damaged, and the next save builds it anew; -EPROTONOSUPPORT it is of a
 * later version and stays as it is; -EOPNOTSUPP no JSON in this build.
 *
 * A file of another machine: its speeds are left out, which the note says,
 * and its fractions are told.
 */
int spw_seed_load(struct spw_predictor *p, const char *path,
		  struct spw_seed_note *ret_note);

/* Add to the file what the predictor learned since the last time.  0, or a
 * negative errno with a note; what was learned waits for the next save then.
 * Waits at most some seconds for others that save.
 */
int spw_seed_save(struct spw_predictor *p, const char *path,
		  struct spw_seed_note *ret_note);

/* The parts, for those who have a seed in memory. */

/* This machine. */
void spw_seed_machine(char cpu[SPW_SEED_CPU], unsigned *ret_cores);

/* Add figures; -ENOMEM.  Settle puts all in order, and those of the same
 * traits and choice together.
 */
int spw_seed_add(struct spw_seed *seed, const struct spw_known *known);
void spw_seed_settle(struct spw_seed *seed);

void spw_seed_clear(struct spw_seed *seed);	/* frees what it holds */

/* Read and write the text, settled.  parse: text[n] is 0; -EBADMSG or
 * -EPROTONOSUPPORT with a reason, -ENOMEM, -EOPNOTSUPP; the seed is empty
 * then.  Entries that make no sense are left out.  print: old, or NULL, is a
 * text whose other members are kept; *ret_text is for free().
 */
int spw_seed_parse(const char *text, size_t n, struct spw_seed *ret,
		   const char **ret_reason);
int spw_seed_print(const char *old, const struct spw_seed *seed,
		   char **ret_text);

#endif
