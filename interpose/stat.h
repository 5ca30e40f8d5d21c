/* SPDX-License-Identifier: BSD-3-Clause */
/* stat.h -- putting the kernel's answer about a file right */
#ifndef SPW_INTERPOSE_STAT_H
#define SPW_INTERPOSE_STAT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

/* The record of the file that the kernel describes, or SPW_NONE. There must
 * be a segment (spw_front_look). */
uint32_t spw_sight_find(const struct stat *st);

struct spw_sight {			/* one stat-like call */
	uint32_t settled;		/* seg.settled before the real call */
	int64_t doubt;			/* of the last answer, see stat.c */
	int asks;
	bool known;
};

/* Before the real call. */
struct spw_sight spw_sight_begin(void);

/* After it: puts size, blocks and times right for a file with bytes that are
 * not home. True when the kernel has to be asked again, because bytes came
 * home between its answer and our look. */
bool spw_sight_blurred(struct spw_sight *s, struct stat *st);

#endif
