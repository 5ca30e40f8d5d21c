/* SPDX-License-Identifier: BSD-3-Clause */
/* powercut-work.h -- what a rank does to its files, known beforehand
 *
 * All that a rank does follows from the seed and its number, so who looks at
 * the files after a power cut knows what was ever written. A rank has a few
 * names, each of a file or of none, and a part of a file that all share. It
 * tells by marks in the recording what it may rely on:
 *
 *	c RANK FILE INODE	the file is made, and its name is synced
 *	s RANK FILE STEP	all steps up to this one are synced
 *	n RANK STEP		this step is about to change names
 *
 * Files have numbers from 1 on for each rank; 0 is its part of the shared
 * one.
 */

#ifndef SPW_TESTS_POWERCUT_WORK_H
#define SPW_TESTS_POWERCUT_WORK_H

#include <stdbool.h>
#include <stdint.h>

enum {
	WORK_NAMES = 4,			/* of a rank; one more is shared */
	WORK_SIZE = 256 * 1024,		/* of a file, or a part, at most */
	WORK_SHARED = WORK_NAMES,	/* the slot of the shared one */
	WORK_RANKS = 8,
};

enum work_kind {
	WORK_CREATE, WORK_WRITE, WORK_CUT, WORK_FSYNC, WORK_FDATASYNC,
	WORK_PUNCH, WORK_RENAME, WORK_REPLACE, WORK_REMOVE, WORK_HOME,
	WORK_REST,
};

struct work_step {
	enum work_kind kind;
	unsigned number;		/* from 1 on */
	unsigned file;			/* that it is done to */
	unsigned lost;			/* file that has no name after it */
	int slot, onto;			/* names; onto: of WORK_REPLACE */
	uint64_t off, len;		/* len: the size, of WORK_CUT */
};

struct work {				/* a rank, between two steps */
	uint64_t rng;
	unsigned rank, number, files;
	unsigned file[WORK_NAMES + 1];	/* by slot; 0: none */
	bool moved[WORK_NAMES];		/* goes by its other name */
	uint64_t size[WORK_NAMES + 1];
};

void work_begin(struct work *w, uint64_t seed, unsigned rank);

/* The next step; w is as after it. */
struct work_step work_next(struct work *w);

/* What a step writes at an offset; never 0. */
uint8_t work_byte(unsigned rank, unsigned file, unsigned step, uint64_t off);

/* The name of a slot. */
void work_name(const struct work *w, int slot, char ret_name[32]);

/* Where a rank's part of the shared file begins. */
uint64_t work_part(unsigned rank);

#endif
