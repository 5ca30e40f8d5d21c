/* SPDX-License-Identifier: BSD-3-Clause */
/* stdio-double.h -- managed descriptors played by a test, without a segment */
#ifndef SPW_TESTS_STDIO_DOUBLE_H
#define SPW_TESTS_STDIO_DOUBLE_H

#include "interpose/leave.h"

/*
 * Files whose name starts with "m-" are managed. Their position is kept here,
 * and the kernel's is somewhere far off, so that a call that passes us by
 * gets the wrong bytes. After spw_leave the kernel's position is right and
 * ours is forgotten, as in the real thing.
 */
struct double_counts {
	unsigned opened, left, closed, reads, writes;
	enum spw_bypass why;		/* of the last that left */
};

extern struct double_counts double_counts;

/* One in so many calls is short; 0: none. Which ones follows from turns. */
extern unsigned double_short;
extern uint32_t double_turns;
/* What the next close or leave reports, once. */
extern int double_close_error, double_leave_error;

void double_begin(void);

#endif
