/* SPDX-License-Identifier: BSD-3-Clause */
/* deep.h -- rare work on a stack of its own */
#ifndef SPW_INTERPOSE_DEEP_H
#define SPW_INTERPOSE_DEEP_H

/* Calls fn(arg). A thread of the program may have 16 KiB of stack, of which
 * paths and settings take more: there it runs on a stack made for the call.
 * Signals run their handlers on it meanwhile, so the caller defers them if
 * they might jump away; who is on a stack for signals (sigaltstack) is not
 * interrupted. */
void spw_deep_call(void (*fn)(void *arg), void *arg);

/* The same for what takes some KiB only: elsewhere if the caller is on a stack
 * for signals, which may be small as well. */
void spw_deep_call_in_handler(void (*fn)(void *arg), void *arg);

#endif
