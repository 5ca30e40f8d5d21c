/* SPDX-License-Identifier: BSD-3-Clause */
/* guest.h -- work done by a child that shares our memory and nothing else */
#ifndef SPW_SHM_GUEST_H
#define SPW_SHM_GUEST_H

/*
 * Returns what work(arg) returns there, or fallback where no child can be had
 * or it was killed. It has copies of our descriptors, on our stack, while this
 * thread waits; it must leave nothing behind. Its end sends no signal, and
 * waits of the program do not see it.
 */
int spw_guest_do(int (*work)(void *arg), void *arg, int fallback);

#endif
