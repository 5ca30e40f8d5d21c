/* SPDX-License-Identifier: BSD-3-Clause */
/* modes.h -- calls that change rights, made by number */
#ifndef SPW_INTERPOSE_MODES_H
#define SPW_INTERPOSE_MODES_H

#include <stdbool.h>

/* For syscall(): those that no function of libc stands for. True when the call
 * was made, with what syscall returns. */
bool spw_modes_by_number(long nr, const long *a, long *ret);

#endif
