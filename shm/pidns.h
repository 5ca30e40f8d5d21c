/* SPDX-License-Identifier: BSD-3-Clause */
/* pidns.h -- namespaces: which is ours, and whether one has ended */
#ifndef SPW_SHM_PIDNS_H
#define SPW_SHM_PIDNS_H

#include <stdbool.h>
#include <stdint.h>

/* The one of this process, by its inode; 0: /proc does not tell. */
uint64_t spw_pidns_own(void);

/* Whether ours ends before the node does, and all processes in it at once. */
bool spw_pidns_may_end(void);

/* Whether a process sees other mounts than we do, as far as can be told. */
bool spw_mntns_differs(uint32_t pid);

/* Whether /proc shows the pids that processes of our namespace know. */
bool spw_pidns_is_shown(void);

/* True if no process is left in it but zombies. Only the first namespace of a
 * node sees all the others: elsewhere, or in doubt, it is false. */
bool spw_pidns_has_ended(uint64_t ns);

#endif
