/* SPDX-License-Identifier: BSD-3-Clause */
/* program.h -- can the loader put our library into this program? */
#ifndef SPW_TOOLS_PROGRAM_H
#define SPW_TOOLS_PROGRAM_H

#include <stddef.h>

#include "shm/diag.h"

/*
 * Finds the program as execvp would. 0, or -ENOENT, or -EACCES when there is
 * one that may not be executed.
 */
int spw_program_find(const char *name, char *ret_path, size_t cap);

/*
 * Looks at the program, at a script's interpreter, and at what env would
 * start. 0: it can be preloaded, perhaps with a warning in ret_diag; -EINVAL
 * with the reason.
 */
int spw_program_check(const char *path, struct spw_diag *ret_diag);

#endif
