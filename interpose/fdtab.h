/* SPDX-License-Identifier: BSD-3-Clause */
/* fdtab.h -- which descriptors are managed, and by which description */
#ifndef SPW_INTERPOSE_FDTAB_H
#define SPW_INTERPOSE_FDTAB_H

#include "interpose/front.h"

/*
 * Standard descriptors. libc's own stdin, stdout and stderr call the kernel
 * past our wrappers, at the kernel's position. So 0 and 2 are never cached.
 * 1 is, since dd and others put their output there, but both positions are
 * kept in step: what stdio writes lands in the right place, and when the
 * kernel's position moved without us the file leaves.
 */
#define SPW_FD_MAX 65536		/* higher ones are not managed */

/* Description + 1 by fd; 0: not ours. A copy of the process's fd map in the
 * segment, which others read when we are dead. */
extern _Atomic uint32_t spw_fdtab[SPW_FD_MAX];

static inline bool
spw_fdtab_has(int fd)
{
	return (unsigned)fd < SPW_FD_MAX &&
	       atomic_load_explicit(&spw_fdtab[fd], memory_order_relaxed) &&
	       !spw_front_outside;
}

struct spw_grip {			/* a managed descriptor in use */
	struct spw_me *me;
	struct spw_ofd *ofd;
	struct spw_file *f;
	struct spw_target t;
	bool shared;			/* io.c: others may move the position */
	uint32_t held;			/* lane.holds before */
};

/* Fills in ret when fd is managed and the cache serves it. False: call the
 * real function; the kernel's position is right then. */
bool spw_fdtab_grip(int fd, struct spw_grip *ret);

/* Like grip, for a description that is open that way (SPW_OFD_READ or _WRITE,
 * 0: any). Another thread that closes the number, or puts another file there,
 * waits until this one lets go: what is written goes to the file that it stood
 * for, and its record to nobody else meanwhile. */
bool spw_fdtab_hold(int fd, uint32_t way, struct spw_grip *ret);

static inline void
spw_fdtab_let_go(struct spw_grip *g)
{
	atomic_store_explicit(&g->me->lane->holds, g->held,
			      memory_order_release);
}

/* Like grip, but also for files the kernel serves: who wants to know the
 * record of a managed descriptor. */
bool spw_fdtab_peek(int fd, struct spw_grip *ret);

/* Looks at a freshly opened fd and manages it if it is to be; flags are
 * those of open. What cannot be managed is the kernel's. -EIO: what it is a
 * stub of cannot be had, and nobody is to read that for the file; -ENFILE:
 * neither are the bytes that others have of it (spw_front_is_cut_off). */
int spw_fdtab_opened(int fd, int flags);

/* Whether the file's name is one of those that are managed. */
bool spw_fdtab_is_wanted(int fd);

/* openat2, which libc need not have: it returns a descriptor, or -1. */
struct open_how;
int spw_open_how(int dir, const char *path, const struct open_how *how,
		 size_t size);

/* Before the kernel closes or reuses the number. Returns the positive errno
 * of a write-back error that close should report, or 0. */
int spw_fdtab_closing(int fd);
/* The same wait for the drainer where the process ends with files open. */
void spw_fdtab_secure_all(void);
void spw_fdtab_closing_range(unsigned first, unsigned last);

/* After the kernel made `to`, which was free, a copy of `from`. */
void spw_fdtab_duped(int from, int to);

/*
 * Around the kernel's dup2 of from onto to. Other threads may write to `to`
 * all the while: it stands for the one description or the other at every
 * moment, and never for nothing, which would let the kernel write to a file
 * that is cached.
 */
struct spw_onto {
	int from, to;
	uint32_t was, is;		/* description + 1 of `to`; 0: none */
	bool shared;			/* that of `from` is entered */
};
void spw_fdtab_onto_begins(struct spw_onto *o);
void spw_fdtab_onto_ends(const struct spw_onto *o, bool done);

/* At start, for a descriptor that came over exec. */
void spw_fdtab_inherited(int fd);

/* After another process gave us fd through a socket, or we took it from one:
 * pid 0: not known. */
void spw_fdtab_received(int fd, uint32_t pid, int its_fd);

/* Takes a reference to a description that may be gone, and the number reused:
 * false then. */
bool spw_fdtab_refer(int fd, uint32_t ofd);

/* Before fork: makes the child's record with all our descriptors; SPW_NONE
 * when there is nothing to hand on. After a failed fork it is taken back. */
uint32_t spw_fdtab_prepare_child(void);
void spw_fdtab_abandon_child(uint32_t proc);

/* Makes the kernel's position count from now on, and sets it. */
void spw_fdtab_to_kernel(struct spw_grip *g);

void spw_fdtab_step_slow(struct spw_grip *g);

/* After the position moved: keeps the kernel's in step where stdio may use
 * it. */
static inline void
spw_fdtab_step(struct spw_grip *g)
{
	if (SPW_UNLIKELY(atomic_load_explicit(&g->ofd->flags,
					      memory_order_relaxed) &
			 SPW_OFD_STDOUT))
		spw_fdtab_step_slow(g);
}

#endif
