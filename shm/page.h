/* SPDX-License-Identifier: BSD-3-Clause */
/* page.h -- a block's worth of memory for one call, not from the stack */
#ifndef SPW_SHM_PAGE_H
#define SPW_SHM_PAGE_H

#include <stdint.h>

/*
 * The kernel takes nothing of a program's stack for a read or a write, and a
 * handler may be on one of a few KiB (sigaltstack). So what needs a whole block
 * for a moment, which is rare, asks for a page. Returns what `work` does. If a
 * handler jumps away meanwhile, the page is lost, and nothing else.
 */
int spw_page_do(int (*work)(void *arg, uint8_t *page), void *arg);

#endif
