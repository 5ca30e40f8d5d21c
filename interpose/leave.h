/* SPDX-License-Identifier: BSD-3-Clause */
/* leave.h -- handing a file to the kernel, for good or for one call */
#ifndef SPW_INTERPOSE_LEAVE_H
#define SPW_INTERPOSE_LEAVE_H

#include "interpose/fdtab.h"

/* The kernel serves the file behind fd from now on, for everybody, until it
 * is closed everywhere: everything is brought home first and the position is
 * the kernel's. 0, also for descriptors that are not managed; the negative
 * errno of the write-back when the bytes cannot be brought home: then
 * nothing changed. */
int spw_leave(int fd, enum spw_bypass why);

/* The same by record, for one that nobody needs to have open. */
int spw_leave_file(struct spw_me *me, uint32_t file, enum spw_bypass why);

/* Around it: an append that has begun ends first, since it is one record. The
 * same for who has file.append: spw_leave_locked. */
void spw_leave_begin(struct spw_me *me, uint32_t file);
void spw_leave_end(struct spw_me *me, uint32_t file);
int spw_leave_locked(struct spw_me *me, uint32_t file, enum spw_bypass why);

/* After it, where a use of the file outlives all descriptors that we know: it
 * stays the kernel's until this process ends, if there is a place to note it,
 * else for good. */
void spw_leave_pin(struct spw_me *me, uint32_t file);

/*
 * A visit to the kernel: between begin and end the gate is closed, all bytes
 * are home, no block is cached and the kernel's position is ours; afterwards
 * size and position are read back. For calls like fallocate, sendfile or
 * lseek(SEEK_HOLE). The thread cannot be cancelled in between, nobody would
 * open the gate: where libc's call is a cancellation point, the wrapper is one
 * before. False from begin: fd is not managed, call the kernel
 * plainly and do not end. Nothing in between may touch this file by us.
 */
struct spw_visit {
	struct spw_grip g;
	int err;			/* of the write-back, negative */
	bool changes;			/* the call may change size or data */
	int cancel;			/* the thread's state before */
};

bool spw_visit_begin(int fd, bool changes, struct spw_visit *ret);
void spw_visit_end(struct spw_visit *v);

/* Brings the file home without leaving; 0 or negative errno. */
int spw_settle_fd(int fd);
int spw_settle_all(void);		/* every file of the segment */

/* The same before the kernel makes home durable by itself: no tier has older
 * bytes then. */
int spw_hand_over_all(void);

/* Everything home, before somebody runs who does not know of us: what is open
 * is the kernel's, since he may write to it; what is not is compared with home
 * when it is opened. */
void spw_leave_open(enum spw_bypass why);

/* Brings home what is on this device, and has the drainer close what no
 * program has open there. */
void spw_let_go_of(uint64_t dev);

/* The same for what has no name any more and no program has open; false: there
 * was nothing. */
bool spw_let_go_of_removed(uint64_t dev);

/* The record of the file at a path, if it is managed; SPW_NONE else. */
uint32_t spw_lookup_path(int dirfd, const char *path, int at_flags);

/* The same for whoever changes something there: the record stays until
 * spw_file_close(*ret_me, file). */
uint32_t spw_take_path(int dirfd, const char *path, int at_flags,
		       struct spw_me **ret_me);

/* Sets the size, as ftruncate and O_TRUNC do: truncate is the kernel's call,
 * made while the gate is closed; its result is returned. */
int spw_resize(struct spw_me *me, uint32_t file, uint64_t size,
	       int (*truncate)(void *arg), void *arg);

/* For that call, when it was made: the file's time is that of the cut. By path,
 * or by fd where that is NULL; begun: the time before the call. */
void spw_note_cut(struct spw_map *map, struct spw_file *f, int fd,
		  const char *path, int64_t begun);

#endif
