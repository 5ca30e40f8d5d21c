/* SPDX-License-Identifier: BSD-3-Clause */
/* proc.h -- a process's record: who it is, which descriptors it holds */
#ifndef SPW_SHM_PROC_H
#define SPW_SHM_PROC_H

#include "shm/seg.h"

/* Takes a record for this process. -EAGAIN: all are taken. */
int spw_proc_claim(struct spw_map *map, uint32_t *ret_proc);

/* The same, unless the segment was removed meanwhile: -ESTALE, attach anew.
 * -EBUSY: somebody may be removing it, and does not come to an end. */
int spw_proc_join(struct spw_map *map, uint32_t *ret_proc);

/* By an agent before it is loaded: the segment is not a dead job's until it has
 * come, which it says itself, or has ended. */
int spw_proc_expect(struct spw_map *map, uint32_t *ret_proc);
void spw_proc_has_come(struct spw_map *map);

/* Of one that has no descriptors, so that there is nothing to give back. */
void spw_proc_disown(struct spw_map *map, uint32_t proc);

/* Before the segment is removed: who joins from now on waits, or is seen among
 * the records. A descriptor, or -EAGAIN: another one is at it; -ESTALE: it is
 * gone. spw_proc_let_in ends it, also if it was removed. */
int spw_proc_shut_out(struct spw_map *map);
void spw_proc_let_in(struct spw_map *map, int fd);

/* A copy of proc's fd map for a child to be, references counted. The child
 * makes it its own with spw_proc_settle_in. -EAGAIN. */
int spw_proc_copy(struct spw_me *me, uint32_t proc, uint32_t *ret_proc);
void spw_proc_settle_in(struct spw_map *map, uint32_t proc);

/* In the parent, after fork: whose record it is. */
void spw_proc_name_child(struct spw_map *map, uint32_t proc, uint32_t pid);

/* The description + 1 behind fd; 0: none. */
uint32_t spw_proc_get_fd(const struct spw_map *map, uint32_t proc, int fd);

/* -ENOSPC: no room for the entry. */
int spw_proc_set_fd(struct spw_me *me, uint32_t proc, int fd,
		    uint32_t ofd_plus_1);

/* Gives back everything the record holds and frees it. */
void spw_proc_release(struct spw_me *me, uint32_t proc);

/* Its pid if it is stopped, by a signal or who traces it; else, or where that
 * is not shown, 0. */
uint32_t spw_proc_stopped(const struct spw_map *map, uint32_t proc);

/* True while the process lives. One of another pid namespace lives for as long
 * as that is known to, or may, have processes. */
bool spw_proc_is_alive(const struct spw_map *map, uint32_t proc);

/* Whether a process other than pid, of this namespace, lives and is not about
 * to end; with 0 anybody that lives. */
bool spw_proc_any_other(const struct spw_map *map, uint32_t pid);

/* That process is about to end. Each image it was may have a record. */
void spw_proc_leave(const struct spw_map *map, uint32_t pid);

/* Releases the records of dead processes; returns how many still live.
 * For the drainer alone. */
uint32_t spw_proc_reap(struct spw_me *me);

/* Start time of a process in ticks since boot; 0: there is none. Where it
 * cannot be read just now there is one. */
#define SPW_PROC_UNREAD UINT64_MAX
uint64_t spw_proc_start_time(uint32_t pid);

#endif
