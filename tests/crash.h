/* SPDX-License-Identifier: BSD-3-Clause */
/* crash.h -- the crash tests: a ledger of promises, doors, an audit */

/*
 * Writers note in the ledger, which lies outside Spillway's directories, what
 * they are about to write (phase INTENT) and that the write has returned
 * (phase KEPT) before they bring the ledger's own image of the file up to
 * date. So whenever a writer is killed, the ledger tells which bytes were
 * promised and which single write was under way.
 */
#ifndef SPW_TESTS_CRASH_H
#define SPW_TESTS_CRASH_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum {
	CRASH_WRITERS = 4,
	CRASH_REGION = 100001,		/* a writer's part of the shared file */
	CRASH_OWN = 120000,		/* a writer's own file at most */
	CRASH_RECORD = 70000,		/* an appended record at most */
	CRASH_RECORDS = 300,		/* records a writer appends at most */
	CRASH_BLOCK = 4096,
};

enum crash_kind { CRASH_SHARED, CRASH_OWNED, CRASH_CUT, CRASH_APPEND };
enum crash_phase { CRASH_NOTHING, CRASH_INTENT, CRASH_KEPT };
enum crash_record { CRASH_NONE, CRASH_BEGUN, CRASH_ACKED, CRASH_TORN };

struct crash_writer {
	_Atomic uint32_t phase;		/* enum crash_phase; the rest below it */
	uint32_t kind;
	uint64_t seq, off, len;		/* the write under way */
	uint64_t shared_end, own_size;	/* acknowledged */
	uint32_t next_record;
	uint64_t rng;
	uint64_t ops;
	uint8_t record[CRASH_RECORDS];	/* enum crash_record */
	uint8_t shared[CRASH_REGION];	/* acknowledged content */
	uint8_t own[CRASH_OWN];
};

struct crash_ledger {
	_Atomic uint32_t go;		/* futex: writers write while it is 1 */
	_Atomic uint32_t parked[CRASH_WRITERS];
	_Atomic uint32_t finish;	/* the drainer is asked to finish */
	_Atomic uint32_t finished;	/* its answer: 1 all home, 2 not */
	_Atomic uint32_t serving;	/* a drainer is in office */
	_Atomic uint32_t bad;		/* a reader saw something else */
	struct crash_writer writer[CRASH_WRITERS];
};

/* How a writer reaches its files. The three calls return 0 when all bytes
 * were taken. */
struct crash_door {
	int (*write)(struct crash_door *door, int which, const void *buf,
		     uint64_t n, uint64_t off);
	int (*append)(struct crash_door *door, const void *buf, uint64_t n);
	int (*cut)(struct crash_door *door, uint64_t size);
	int (*read)(struct crash_door *door, int which, void *buf, uint64_t n,
		    uint64_t off, uint64_t *ret_n);
	/* Opens and closes another file, gives one a second name: things that
	 * leave no byte anywhere. May be NULL. */
	int (*visit)(struct crash_door *door);
};

enum { CRASH_FILE_SHARED, CRASH_FILE_OWN, CRASH_FILE_APPEND, CRASH_FILES };

/* The name of a file in the working directory. */
void crash_name(char name[32], int which, int writer);

struct crash_ledger *crash_ledger_new(void);
void crash_ledger_clear(struct crash_ledger *l);
uint64_t crash_random(uint64_t *state);

/* One operation of writer no through the door; -1: the door failed. */
int crash_step(struct crash_ledger *l, int no, struct crash_door *door);
int crash_do(struct crash_ledger *l, int no, struct crash_door *door,
	     enum crash_kind kind, uint64_t off, uint64_t len);

/* Compares the files at home with the ledger and forgets what was under way.
 * False, with a message, when a promise was broken. */
bool crash_check(struct crash_ledger *l);

/* A door straight into the core: a process, a lane and three files. */
struct spw_map;
struct crash_door *crash_core_door(struct spw_map *map, int writer);

/* Whether the segment, at rest and home, is consistent: every slot and block
 * in exactly one place. Prints what is not. */
bool crash_audit(struct spw_map *map);

/* Prints the blocks that are not home, and why they may not be. */
void crash_show_left(struct spw_map *map);

#endif
