/* SPDX-License-Identifier: BSD-3-Clause */
/* powercut.h -- what the parts of powercut share
 *
 * A cut is before op number `end`: what was recorded from there on was never
 * done.  Of what was done and not synced, chance decides; see powercut.c.
 */

#ifndef SPW_TESTS_POWERCUT_H
#define SPW_TESTS_POWERCUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tests/record.h"

#define NONE SIZE_MAX

struct op {
	const struct record *r;
	const char *name, *name2, *data;
	size_t next;			/* done to the same node, or NONE */
};

struct recording {
	struct op *ops;
	size_t n;
	size_t start;			/* the first op after RECORD_START */
	uint64_t nnodes;		/* node numbers are below */
	size_t *first;			/* op done to each node, or NONE */
	size_t *made;			/* the op that made it, or NONE */
};

struct cut {
	const struct recording *rec;
	size_t end;
	uint64_t seed;
	bool names_with_files;		/* fsync of a file syncs its names */
};

/* A name that survived. */
struct entry {
	struct entry *next;		/* in the same directory */
	const char *name;		/* not ended by a zero */
	size_t len;
	uint64_t dir, node;
};

/* A recording, checked, in memory until the program ends; a message and exit
 * status 1 if it is not one. */
struct recording recording_read(const char *path);

/* The names in each directory, by its number; the program's to keep. */
struct entry **names_after(const struct cut *cut);

/* Chance, the same for each seed and number: a value from lo to hi.  Seed 0
 * always gives lo, what was synced at least, and 1 hi, all that was done. */
struct chance {
	uint64_t seed, state;
};

struct chance chance_of(const struct cut *cut, uint64_t number);
uint64_t chance_draw(struct chance *c);
size_t chance_pick(struct chance *c, size_t lo, size_t hi);

/* Does the seed leave anything to chance? */
bool chance_is_free(const struct chance *c);

/* Bytes, size and attributes of a file into the descriptor; attributes only,
 * of a directory.  The recording knows how it was made. */
void file_after(const struct cut *cut, uint64_t node, int fd);
void attributes_after(const struct cut *cut, uint64_t node, struct chance *c,
		      int fd);

/* Memory or the end. */
void *need(size_t n, size_t size);
void die(const char *what);

#endif
