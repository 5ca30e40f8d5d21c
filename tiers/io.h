/* SPDX-License-Identifier: BSD-3-Clause */
/* io.h -- many reads and writes under way at once: io_uring, or threads */

#ifndef SPW_TIERS_IO_H
#define SPW_TIERS_IO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Both ways give the same results: every request ends with all its bytes
 * moved or an error; short writes are continued inside. A ring belongs to the
 * thread that made it. SPILLWAY_IO=threads, or a kernel that forbids io_uring,
 * takes the threads.
 */
enum spw_io_kind { SPW_IO_READ, SPW_IO_WRITE, SPW_IO_FDATASYNC };

struct spw_io {
	enum spw_io_kind kind;
	int fd;
	void *buf;
	size_t len;
	uint64_t off;
	bool then_sync;			/* write: followed by fdatasync */
	int err;			/* when reaped; a read past the end of
					 * the file: -ENODATA */
	void *user;
	struct spw_io *next;		/* from here on: ours */
	size_t done;
	uint8_t parts;			/* answers that are still to come */
	bool synced;
};

struct spw_ring;

enum { SPW_RING_DEPTH = 24 };		/* under way at once */

/* threads: do not try io_uring. */
int spw_ring_new(bool threads, struct spw_ring **ret_ring);
const char *spw_ring_way(const struct spw_ring *r);	/* "io_uring", ... */

/* -EAGAIN: SPW_RING_DEPTH are under way; reap one. */
int spw_ring_submit(struct spw_ring *r, struct spw_io *io);
struct spw_io *spw_ring_reap(struct spw_ring *r, bool wait);

/* Waits until one is over, or somebody calls who has more to do: NULL. Any
 * thread may call, also ahead of the wait. */
struct spw_io *spw_ring_wait(struct spw_ring *r);
void spw_ring_call(struct spw_ring *r);

/* A buffer of the ring's own (registered where memlock allows), aligned to
 * 4096; NULL: all are out. */
void *spw_ring_buffer(struct spw_ring *r, size_t *ret_size);
void spw_ring_give(struct spw_ring *r, void *buf);

void spw_ring_free(struct spw_ring *r);		/* waits for all */

#endif
