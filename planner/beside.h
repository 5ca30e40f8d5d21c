/* SPDX-License-Identifier: BSD-3-Clause */
/* beside.h -- numbers noted for files in a file beside them */
#ifndef SPW_PLANNER_BESIDE_H
#define SPW_PLANNER_BESIDE_H

#include <stdint.h>

/* Notes a number for the file, durably; 0: its note goes. One writer for a
 * share at a time. */
int spw_beside_set(int fd, const char *share, uint64_t number);

/* 0: there is none. */
uint64_t spw_beside_get(int fd, const char *share);

#endif
