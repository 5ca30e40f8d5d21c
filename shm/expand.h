/* SPDX-License-Identifier: BSD-3-Clause */
/* expand.h -- ${NAME} and %XX in places and paths */

#ifndef SPW_SHM_EXPAND_H
#define SPW_SHM_EXPAND_H

#include "shm/text.h"

#include <stdbool.h>

enum spw_expand_mode {
	SPW_EXPAND_PATH,
	SPW_EXPAND_PERCENT,		/* and %XX is a byte */
	SPW_EXPAND_LIST			/* and \: is a colon, \\ a backslash */
};

struct spw_expand_fault {		/* the bytes of s that are to blame */
	size_t at, len;
};

/*
 * Append the n bytes at s to t, with ${NAME} and $NAME replaced from envp
 * (NULL: everything is unset), $$ by a dollar sign, and what the mode adds.
 * What comes out of a variable is taken as it is.
 * Returns 0 or
 *   -ENOENT  the variable is unset or empty
 *   -EINVAL  ${ without a name or without }
 *   -EILSEQ  % without two hexadecimal digits, or %00
 *   -E2BIG   the result does not fit
 */
int spw_expand(const char *s, size_t n, char *const *envp,
	       enum spw_expand_mode mode, struct spw_text *t,
	       struct spw_expand_fault *ret_fault);

/* The value of the variable whose name has n bytes, or NULL. */
const char *spw_expand_getenv(char *const *envp, const char *name, size_t n);

#endif
