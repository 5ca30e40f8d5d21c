/* SPDX-License-Identifier: BSD-3-Clause */
/* page.c -- a block's worth of memory for one call, not from the stack */
#include "shm/page.h"

#include "shm/layout.h"
#include "shm/sanitized.h"
#include "shm/sys.h"

static __attribute__((noinline)) int
on_the_stack(int (*work)(void *arg, uint8_t *page), void *arg)
{
	uint8_t page[SPW_BLOCK_SIZE];

	return work(arg, page);
}

/* ThreadSanitizer takes the page of one thread for that of the next who gets the
 * address. */
static uint8_t *
get_page(void)
{
#ifdef SPW_WITH_TSAN
	return MAP_FAILED;
#else
	return spw_sys_mmap(NULL, SPW_BLOCK_SIZE, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
#endif
}

int
spw_page_do(int (*work)(void *arg, uint8_t *page), void *arg)
{
	uint8_t *page = get_page();
	int r;

	if (page == MAP_FAILED)
		return on_the_stack(work, arg);
	r = work(arg, page);
	(void)spw_sys_munmap(page, SPW_BLOCK_SIZE);
	return r;
}
