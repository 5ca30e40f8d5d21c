/* SPDX-License-Identifier: BSD-3-Clause */
/* whole.h -- is a shared object all there, before the loader maps it? */
#ifndef SPW_SHM_WHOLE_H
#define SPW_SHM_WHOLE_H

/* May the loader be given this file?  0, or -ELIBACC with a reason: it cannot
 * be opened, is no regular file, or ends before what its headers tell of. */
int spw_whole(const char *path, const char **ret_reason);

#endif
