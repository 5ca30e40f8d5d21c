/* SPDX-License-Identifier: BSD-3-Clause */
/* io-way.h -- what the two ways of moving bytes have in common */

#ifndef SPW_TIERS_IO_WAY_H
#define SPW_TIERS_IO_WAY_H

#include "tiers/io.h"

enum {
	SPW_IO_BUFFERS = 4,		/* 4 MiB: half of the usual memlock */
	SPW_IO_BUFFER = 1 << 20,
};

struct spw_io_queue {			/* first in, first out */
	struct spw_io *first, *last;
};

struct spw_ring {
	const struct spw_io_way *way;
	void *mine;			/* the way's */
	unsigned under_way;
	uint8_t *pool;			/* SPW_IO_BUFFERS of them */
	unsigned out;			/* a bit for each that is */
};

/* submit: never fails, what goes wrong is told when it is reaped. reap: NULL
 * only if not to wait; something is under way. wait: NULL if called, or if
 * nothing is under way and it cannot be. */
struct spw_io_way {
	const char *name;
	int (*open)(struct spw_ring *r);
	void (*submit)(struct spw_ring *r, struct spw_io *io);
	struct spw_io *(*reap)(struct spw_ring *r, bool wait);
	struct spw_io *(*wait)(struct spw_ring *r);
	void (*call)(struct spw_ring *r);
	void (*close)(struct spw_ring *r);
};

extern const struct spw_io_way spw_io_uring, spw_io_threads;

/* The most bytes of a write that are asked for at once: with failpoints, a
 * number that a test sets, as if every write came back short. */
#ifdef SPW_FAILPOINTS
extern size_t spw_io_at_once;
#else
enum { spw_io_at_once = 1 << 30 };
#endif

/* How many a ring of the kernel's takes at once, and how many of its
 * completions there is room for: enough for all; a test sets fewer. */
enum { SPW_IO_ENTRIES = 4 * SPW_RING_DEPTH };
#ifdef SPW_FAILPOINTS
extern unsigned spw_io_entries, spw_io_completions;
#else
enum {
	spw_io_entries = SPW_IO_ENTRIES,
	spw_io_completions = 2 * SPW_IO_ENTRIES,
};
#endif

/* Bytes moved, or a negative errno, by the system call for a read or write.
 * Notes what is done. False: there is more to do. */
bool spw_io_moved(struct spw_io *io, int64_t result);

static inline bool
spw_io_wants_sync(const struct spw_io *io)
{
	return io->kind == SPW_IO_FDATASYNC || io->then_sync;
}

static inline void
spw_io_push(struct spw_io_queue *q, struct spw_io *io)
{
	io->next = NULL;
	if (q->first)
		q->last->next = io;
	else
		q->first = io;
	q->last = io;
}

static inline struct spw_io *
spw_io_pop(struct spw_io_queue *q)
{
	struct spw_io *io = q->first;

	if (io)
		q->first = io->next;
	return io;
}

#endif
