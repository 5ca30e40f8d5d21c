/* SPDX-License-Identifier: BSD-3-Clause */
/* own.h -- files that libc and the loader open for themselves */
#ifndef SPW_INTERPOSE_OWN_H
#define SPW_INTERPOSE_OWN_H

#include "interpose/front.h"

/* Whether the file begins like those that they read without being asked for
 * one by name, or cannot be read. For the last who has it open, as fd. */
bool spw_own_is(struct spw_me *me, uint32_t file, int fd);

#endif
