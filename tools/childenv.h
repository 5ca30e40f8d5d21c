/* SPDX-License-Identifier: BSD-3-Clause */
/* childenv.h -- the environment a program under Spillway starts with */
#ifndef SPW_TOOLS_CHILDENV_H
#define SPW_TOOLS_CHILDENV_H

#include "shm/conf.h"

/*
 * A copy of envp with our library last in LD_PRELOAD and every setting that
 * did not come by itself spelled out, so that the program finds them wherever
 * it goes. NULL when there is no memory. It lasts as long as we do.
 */
char **spw_childenv_make(char *const *envp, const struct spw_config *cfg,
			 const char *library);

/* Removes our library from an LD_PRELOAD value, in place; true if it was
 * there. */
bool spw_childenv_strip(char *preload);

/*
 * The loader divides LD_PRELOAD at blanks and colons. A library whose path
 * has some is linked to from dir, a private directory; the name to use comes
 * back. A negative errno if there is none.
 */
int spw_childenv_library(const char *library, const char *dir,
			 char *ret_path, size_t cap);

#endif
