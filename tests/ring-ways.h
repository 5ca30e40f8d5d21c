/* SPDX-License-Identifier: BSD-3-Clause */
/* ring-ways.h -- a ring set up in one of liburing's ways */
#ifndef SPW_TESTS_RING_WAYS_H
#define SPW_TESTS_RING_WAYS_H

/* how: init, mem, params, mmap or setup; what it returned. */
__attribute__((visibility("default"))) int ring_set_up(const char *how);

#endif
