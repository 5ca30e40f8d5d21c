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
 *		"fraction": 0.61 }, ... ],
 *	  "profiled": "2026-01-31T12:00:00Z",
 *	  "versions": { "spillway": "...", "lz4": "...", ... },
 *	  "tiers": { "nvme:/scratch": { "write": 1200000000,
 *		"read": 2100000000, "latency": 0.00012, "points": [
 *			{ "size": 65536, "depth": 1, "write": 310000000,
 *			  "read": 400000000 }, ... ] }, ... }
 *	}
 *
 * with speeds in bytes a second, left out where they are not known.  The last
 * three come from `spillway profile`.  Other members are kept as they are.
 *
 * Any number of processes may save to one file: each leaves what it learned
 * beside it, see seed-queue.h, and takes the lock PATH.lock; who has that reads
 * what is there, adds all that waits, weight by weight, and puts the result in
 * its place by rename.
 */

#ifndef SPW_PLANNER_SEED_H
#define SPW_PLANNER_SEED_H

#include <stddef.h>

#include "planner/predict.h"

#define SPW_SEED_VERSION 1
#define SPW_SEED_CPU 96
#define SPW_SEED_MOST (4 << 20)		/* bytes */
#define SPW_SEED_KNOWN 16384u		/* entries of some 220 bytes */

#define SPW_SEED_TIERS 17
#define SPW_SEED_POINTS 8
#define SPW_SEED_NAME_MAX 512

/* What a tier was measured to be, by kind and place: "nvme:/scratch". */
struct spw_seed_tier {
	char name[SPW_SEED_NAME_MAX];
	double write, read;		/* bytes a second, large and many */
	double latency;			/* seconds until a small one is safe */
	unsigned n;
	struct {
		uint32_t size, depth;	/* of each, and under way at once */
		double write, read;
	} point[SPW_SEED_POINTS];
};

struct spw_seed_version {
	const char *name, *text;
};

/* What a profile adds. */
struct spw_seed_profile {
	unsigned n_tiers;
	struct spw_seed_tier tier[SPW_SEED_TIERS];
	unsigned n_versions;
	struct spw_seed_version version[16];
};

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
 * damaged, and the next save builds it anew, beside PATH.damaged; -EINVAL it
 * is no regular file, and stays as it is; -EPROTONOSUPPORT it is of a
 * later version and stays as it is; -EOPNOTSUPP no JSON in this build.
 *
 * A file above SPW_SEED_MOST is taken for damaged: it would take long to read,
 * and save makes none that large.
 * A file of another machine: its speeds are left out, which the note says,
 * and its fractions are told.
 */
int spw_seed_load(struct spw_predictor *p, const char *path,
		  struct spw_seed_note *ret_note);

/* Add to the file what the predictor learned since the last time; of an
 * absolute path the directories are made.  0, or a negative errno with a note;
 * what was learned waits for the next save then.  Waits at most some seconds
 * for others that save; a process that ends meanwhile loses nothing.
 */
int spw_seed_save(struct spw_predictor *p, const char *path,
		  struct spw_seed_note *ret_note);

/* The same with what a profile measured, in place of what is there of it. */
int spw_seed_save_profile(struct spw_predictor *p, const char *path,
			  const struct spw_seed_profile *profile,
			  struct spw_seed_note *ret_note);

/* The same for what several predictors learned: collect takes it over from
 * one, which then has nothing to save, and merge adds it to the file.  -ENOMEM
 * leaves both as they were.
 */
int spw_seed_collect(struct spw_predictor *p, struct spw_seed *into);
int spw_seed_merge(const struct spw_seed *more, const char *path,
		   struct spw_seed_note *ret_note);

/* What the file knows of the n tiers of these names on this machine; the
 * `write` of those it does not know is 0.
 */
void spw_seed_tiers(const char *path, struct spw_seed_tier *tiers, unsigned n);

/* The parts, for those who have a seed in memory. */

/* This machine, and whether a seed is of it. */
void spw_seed_machine(char cpu[SPW_SEED_CPU], unsigned *ret_cores);
bool spw_seed_is_ours(const struct spw_seed *seed);

/* Add figures; -ENOMEM.  Settle puts all in order, and those of the same
 * traits and choice together.
 */
int spw_seed_add(struct spw_seed *seed, const struct spw_known *known);
void spw_seed_settle(struct spw_seed *seed);

void spw_seed_clear(struct spw_seed *seed);	/* frees what it holds */

/* Read and write the text, settled.  parse: text[n] is 0; -EBADMSG or
 * -EPROTONOSUPPORT with a reason, -ENOMEM, -EOPNOTSUPP; the seed is empty
 * then.  Entries that make no sense are left out.  print: old, or NULL, is a
 * text whose other members are kept, profile may be NULL; *ret_text is for
 * free().  find_tiers: as spw_seed_tiers.
 */
int spw_seed_parse(const char *text, size_t n, struct spw_seed *ret,
		   const char **ret_reason);
int spw_seed_print(const char *old, const struct spw_seed *seed,
		   const struct spw_seed_profile *profile, char **ret_text);
void spw_seed_find_tiers(const char *text, struct spw_seed_tier *tiers,
			 unsigned n);

#endif
