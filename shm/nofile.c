/* SPDX-License-Identifier: BSD-3-Clause */
/* nofile.c -- work that needs a descriptor, where the process can have none */
#include "shm/nofile.h"

#include <errno.h>

#include "shm/guest.h"
#include "shm/sys.h"

enum { ROOM = 4 };			/* descriptors that the work may need */

struct task {
	int (*work)(void *arg);
	void *arg;
};

/* The numbers it closes are those of its own table: ours stay open, and locks
 * stay held. */
static int
do_with_room(void *arg)
{
	const struct task *t = arg;

	for (int fd = 0; fd < ROOM; fd++)
		spw_sys_close(fd);
	return t->work(t->arg);
}

int
spw_nofile_do(int (*work)(void *arg), void *arg)
{
	struct task t = { work, arg };
	int r = work(arg);

	return r == -EMFILE ? spw_guest_do(do_with_room, &t, r) : r;
}
