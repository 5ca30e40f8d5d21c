/* SPDX-License-Identifier: BSD-3-Clause */
/* library.h -- where the preloaded library of this very command lies */
#ifndef SPW_TOOLS_LIBRARY_H
#define SPW_TOOLS_LIBRARY_H

#include <stddef.h>

/* The absolute path of libspillway.so: beside the command in a build tree,
 * else where it was installed, also below another prefix. -ENOENT. */
int spw_library_find(char *ret_path, size_t cap);

/* The path of this command. */
int spw_library_self(char *ret_path, size_t cap);

#endif
