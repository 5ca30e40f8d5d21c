/* SPDX-License-Identifier: BSD-3-Clause */
/* deaf.h -- whether the file system of a tier's place stalls */
#ifndef SPW_INTERPOSE_DEAF_H
#define SPW_INTERPOSE_DEAF_H

#include <stdbool.h>

/* True: nothing could be made there within three seconds. */
bool spw_deaf_is(const char *place);

#endif
