/* SPDX-License-Identifier: BSD-3-Clause */
/* guard.c -- the per-thread flags of guard.h */
#include "shm/guard.h"

#include <stddef.h>

__thread struct spw_guard spw_guard;
void (*spw_guard_deliver)(void);
