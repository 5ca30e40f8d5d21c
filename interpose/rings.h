/* SPDX-License-Identifier: BSD-3-Clause */
/* rings.h -- leaving the files that a ring will touch behind our back */
#ifndef SPW_INTERPOSE_RINGS_H
#define SPW_INTERPOSE_RINGS_H

/* A ring reads and writes descriptors by itself: whatever this process has
 * open, or will open, is the kernel's from now on. */
void spw_rings_begin(void);

/* The files of n iocbs; a negative errno when one cannot be brought home. */
int spw_rings_submit(long n, void *iocbs);

#endif
