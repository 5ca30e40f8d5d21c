/* SPDX-License-Identifier: BSD-3-Clause */
/* attr.h -- extended attributes of a file that its mode may shut */
#ifndef SPW_PLANNER_ATTR_H
#define SPW_PLANNER_ATTR_H

#include <stddef.h>

/* Attributes of this kind (user.*) need the rights on the file itself,
 * whatever the descriptor may do: its owner has them for a moment. A count of
 * bytes, 0, or a negative errno; -ENODATA: there is none. */
int spw_attr_get(int fd, const char *name, char *text, size_t n);
int spw_attr_set(int fd, const char *name, const char *text, size_t n);
int spw_attr_remove(int fd, const char *name);

#endif
