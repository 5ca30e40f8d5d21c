/* SPDX-License-Identifier: BSD-3-Clause */
/* aside.h -- calls to a home that may not return for long, made aside */
#ifndef SPW_PLANNER_ASIDE_H
#define SPW_PLANNER_ASIDE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * A file system that stalls keeps whoever calls it. The drainer has others to
 * serve: where there are tiers it has such calls made by another thread, and
 * waits for SPW_ASIDE_MS, or a third of it if somebody is in a hurry: a writer
 * without room loses patience before long, and waits for home himself then.
 * After that the call goes on without it, and others to the same device are
 * not begun before that one is over.
 */
enum { SPW_ASIDE_MS = 3000, SPW_ASIDE_MAX = 512 };

struct spw_aside;

int spw_aside_new(bool (*hurries)(void *arg), void *arg,
		  struct spw_aside **ret_aside);

/* Not for what is still under way: it stays for good. */
void spw_aside_free(struct spw_aside *a);

/*
 * Has act called with a copy of arg, and copies that back; returns what it
 * returned. -ETIMEDOUT: it is under way, or another one is and this has not
 * begun; undo, if any, is called when it is over all the same, by the
 * drainer, with the copy and the result: -ECANCELED if act never was. With a
 * NULL for a act is called right here.
 */
int64_t spw_aside_call(struct spw_aside *a, uint64_t dev,
		       int64_t (*act)(void *arg), void *arg, size_t size,
		       void (*undo)(void *arg, int64_t result));

#endif
