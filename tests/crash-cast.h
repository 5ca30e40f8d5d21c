/* SPDX-License-Identifier: BSD-3-Clause */
/* crash-cast.h -- the processes of a crash test and how they are led */
#ifndef SPW_TESTS_CRASH_CAST_H
#define SPW_TESTS_CRASH_CAST_H

#include "shm/seg.h"
#include "tests/crash.h"

extern struct crash_ledger *cast_ledger;
extern struct spw_map cast_map;
extern pid_t cast_writer[CRASH_WRITERS], cast_drainer;	/* 0: not there */
extern uint64_t cast_rng;
extern unsigned cast_kills;		/* processes killed so far */
extern uint64_t cast_down, cast_up;	/* bytes that went down, and came up */
extern const char *cast_below;		/* directory of a tier, or NULL */

/* A new segment below dir and new, empty files; and the end of it all. With
 * a tier the drainer sends blocks down as soon as it can and home seldom. */
void cast_begin(const char *dir);
void cast_end(void);

/* Start a writer or a drainer if there is none; point, if not NULL, is the
 * failpoint it is to die at. */
void cast_engage(int no, const char *point);
void cast_hire(const char *point);

void cast_go(void);			/* writers write */
void cast_rest(void);			/* and come to a stop */
void cast_bring_home(void);		/* the drainer finishes */
void cast_recover(void);		/* as `spillway recover` would */
void cast_kill(pid_t *pid);
void cast_kill_all(bool drainer_too);	/* in one moment */

/* The ledger's promises and the segment's consistency; ends the test when
 * one of them is broken. */
void cast_check(unsigned long round);
_Noreturn void cast_die(const char *what, unsigned long n);

#endif
