/* SPDX-License-Identifier: BSD-3-Clause */
/* machine.h -- how much memory and space there is to take */

#ifndef SPW_SHM_MACHINE_H
#define SPW_SHM_MACHINE_H

#include <stdint.h>

#define SPW_UNLIMITED UINT64_MAX

struct spw_machine {			/* bytes, or SPW_UNLIMITED: unknown */
	uint64_t mem_available;		/* of the node */
	uint64_t cgroup_left;		/* below the tightest memory.max */
	uint64_t address_space;		/* of this process: ulimit -v */
};

/*
 * Read /proc/meminfo and, with cgroup version 2, memory.max of our group and
 * its parents.  What cannot be read is unlimited.  `root` goes before every
 * path: "" for this machine, a directory for a test's.
 */
void spw_machine_probe(const char *root, struct spw_machine *ret);

/* The smaller of the two. */
uint64_t spw_machine_memory(const struct spw_machine *m);

/* Bytes that an ordinary user may still use in the file system of dir. */
int spw_machine_space(const char *dir, uint64_t *ret_free);

#endif
