/* SPDX-License-Identifier: BSD-3-Clause */
/* unit-grow-cancel.c -- a thread that is cancelled while the segment grows
 * leaves no lock behind */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>

#include "shm/layout.h"
#include "shm/sanitized.h"
#include "tests/counted.h"
#include "tests/one-lane.h"

enum { ROUNDS = 20 };

static _Atomic bool over;

static void *
grow(void *arg)
{
	pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL);
	(void)spw_seg_grow(&map, SPW_POOL_SLOTS);
	atomic_store(&over, true);
	return arg;
}

static bool
is_locked(void)
{
	int fd = spw_seg_lock_byte(&map, SPW_LOCK_BYTE_GROW);

	if (fd >= 0)
		spw_seg_unlock_byte(fd, SPW_LOCK_BYTE_GROW);
	return fd == -EAGAIN;
}

int
main(void)
{
#if defined(SPW_WITH_ASAN) || defined(SPW_WITH_TSAN)
	puts("CANNOT: sanitizers do not follow a stack that is cut off");
	return 77;
#endif
	lane_begin_in((struct spw_seg_request){ .bytes = 1 << 30 });
	for (int i = 0; i < ROUNDS && !failures; i++) {
		pthread_t thread;

		atomic_store(&over, false);
		CHECK(!pthread_create(&thread, NULL, grow, NULL));
		while (!is_locked() && !atomic_load(&over))
			;
		pthread_cancel(thread);
		pthread_join(thread, NULL);
		CHECK(!is_locked());
	}
	lane_end();
	return failures != 0;
}
