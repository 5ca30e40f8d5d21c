/* SPDX-License-Identifier: BSD-3-Clause */
/* suggest.h -- the name that a mistyped word was probably meant to be */

#ifndef SPW_SHM_SUGGEST_H
#define SPW_SHM_SUGGEST_H

#include <stddef.h>

/*
 * The nearest of `count` names to the n bytes at word, or NULL when none is
 * near: at most one slip (letter wrong, missing, extra, or two swapped) per
 * three letters.  Case does not count, nor does - against _.
 */
const char *spw_suggest(const char *word, size_t n, const char *const *names,
			size_t count);

#endif
