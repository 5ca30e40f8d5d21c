/* SPDX-License-Identifier: BSD-3-Clause */
/* io-uring.c -- reads and writes by io_uring */

/*
 * At most SPW_RING_DEPTH requests are under way, each with two entries (write
 * and fdatasync), so neither queue fills up. Where one does all the same, what
 * finds no entry waits for the next call, and completions that find no room
 * are kept by the kernel, which takes nothing new until some were taken in.
 *
 * A write and its fdatasync are linked. A short write breaks the link; then
 * the rest and a new fdatasync go down together.
 *
 * Calls come by an eventfd, which one more request reads: without a buffer
 * that anybody looks at, and again after each.
 */

#include <errno.h>
#include <liburing.h>
#include <stdlib.h>
#include <sys/eventfd.h>

#include "shm/sys.h"
#include "shm/util.h"
#include "tiers/io-way.h"

enum {
	EACH = 2,			/* entries, at most */
	WORKERS = 4,			/* threads of the kernel's, for us */
	PAUSE_US = 500,
	IS_SYNC = 1,			/* in user_data, beside the pointer */
};

struct uring {
	struct io_uring ring;
	struct spw_io_queue done, waiting;
	bool fixed;			/* the pool is registered */
	int calls;			/* eventfd, or negative */
	uint64_t ncalls;		/* read from it */
	bool listens, armed, called;
};

static int
init_queues(struct io_uring *ring)
{
	static const unsigned tries[] = {
		IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN,
		IORING_SETUP_COOP_TASKRUN,
		0,
	};
	int err = -EINVAL;
	size_t i;

	for (i = 0; i < sizeof(tries) / sizeof(*tries); i++) {
		struct io_uring_params p = {
			.flags = tries[i] | IORING_SETUP_CQSIZE,
			.cq_entries = spw_io_completions,
		};

		err = io_uring_queue_init_params(spw_io_entries, ring, &p);
		if (err != -EINVAL)
			break;
	}
	return err;
}

/* Pinned memory is limited for each user; without it we are a little slower. */
static bool
register_pool(struct io_uring *ring, uint8_t *pool)
{
	const struct iovec all = {
		pool, (size_t)SPW_IO_BUFFERS * SPW_IO_BUFFER
	};

	return io_uring_register_buffers(ring, &all, 1) == 0;
}

static void
arm(struct uring *u)
{
	struct io_uring_sqe *sqe;

	if (!u->listens || u->armed)
		return;
	sqe = io_uring_get_sqe(&u->ring);
	if (!sqe)
		return;
	u->armed = true;
	io_uring_prep_read(sqe, u->calls, &u->ncalls, sizeof(u->ncalls), 0);
	io_uring_sqe_set_data64(sqe, 0);
}

/* Where it fails, who calls is heard when something is over. */
static void
hear(struct uring *u, int res)
{
	u->listens = res >= 0 || res == -EINTR || res == -EAGAIN;
	u->armed = false;
	u->called = true;
}

static int
open_uring(struct spw_ring *r)
{
	struct uring *u = calloc(1, sizeof(*u));
	unsigned workers[2] = { WORKERS, WORKERS };
	int err;

	if (!u)
		return -ENOMEM;
	err = init_queues(&u->ring);
	if (err == 0) {
		err = io_uring_ring_dontfork(&u->ring);
		if (err < 0)
			io_uring_queue_exit(&u->ring);
	}
	if (err < 0) {
		free(u);
		return err;
	}
	(void)io_uring_register_iowq_max_workers(&u->ring, workers);
	u->fixed = register_pool(&u->ring, r->pool);
	u->calls = (int)spw_syscall(SYS_eventfd2, 0, EFD_CLOEXEC, 0, 0, 0,
				    0);
	u->listens = u->calls >= 0;
	r->mine = u;
	return 0;
}

static bool
is_fixed(const struct spw_ring *r, const struct spw_io *io)
{
	const struct uring *u = r->mine;
	uintptr_t from = (uintptr_t)r->pool, at = (uintptr_t)io->buf;
	size_t room = (size_t)SPW_IO_BUFFERS * SPW_IO_BUFFER;

	return u->fixed && at >= from && at - from < room &&
	       io->len <= room - (at - from);
}

static void
queue_move(const struct spw_ring *r, struct io_uring_sqe *sqe,
	   struct spw_io *io)
{
	void *at = (uint8_t *)io->buf + io->done;
	size_t left = SPW_MIN(io->len - io->done, spw_io_at_once);
	unsigned n = (unsigned)left;
	uint64_t off = io->off + io->done;
	bool fixed = is_fixed(r, io);

	if (io->kind == SPW_IO_READ && fixed)
		io_uring_prep_read_fixed(sqe, io->fd, at, n, off, 0);
	else if (io->kind == SPW_IO_READ)
		io_uring_prep_read(sqe, io->fd, at, n, off);
	else if (fixed)
		io_uring_prep_write_fixed(sqe, io->fd, at, n, off, 0);
	else
		io_uring_prep_write(sqe, io->fd, at, n, off);
	io_uring_sqe_set_data64(sqe, (uint64_t)(uintptr_t)io);
}

/* What is left of a request; there are entries for it. A link ends with what
 * is handed over at once, so both go together. */
static void
queue_rest(struct spw_ring *r, struct spw_io *io)
{
	struct uring *u = r->mine;
	bool move = io->done < io->len;
	struct io_uring_sqe *sqe;

	io->parts = 0;
	io->synced = false;
	if (move) {
		sqe = io_uring_get_sqe(&u->ring);
		queue_move(r, sqe, io);
		io->parts++;
	}
	if (spw_io_wants_sync(io)) {
		if (move)
			sqe->flags |= IOSQE_IO_LINK;
		sqe = io_uring_get_sqe(&u->ring);
		io_uring_prep_fsync(sqe, io->fd, IORING_FSYNC_DATASYNC);
		io_uring_sqe_set_data64(sqe, (uint64_t)(uintptr_t)io |
					IS_SYNC);
		io->parts++;
	}
}

static void
note(struct spw_ring *r, uint64_t data, int res)
{
	struct spw_io *io = (void *)(uintptr_t)(data & ~(uint64_t)IS_SYNC);
	struct uring *u = r->mine;

	if (!(data & IS_SYNC))
		(void)spw_io_moved(io, res);
	else if (res >= 0)
		io->synced = true;
	else if (res != -ECANCELED && res != -EINTR && !io->err)
		io->err = res;
	if (--io->parts)
		return;
	if (io->err || (io->done == io->len &&
			io->synced == spw_io_wants_sync(io)))
		spw_io_push(&u->done, io);
	else
		spw_io_push(&u->waiting, io);
}

static void
take_in(struct spw_ring *r)
{
	struct uring *u = r->mine;
	struct io_uring_cqe *cqe;

	while (io_uring_peek_cqe(&u->ring, &cqe) == 0) {
		uint64_t data = cqe->user_data;
		int res = cqe->res;

		io_uring_cqe_seen(&u->ring, cqe);
		if (data)
			note(r, data, res);
		else
			hear(u, res);
	}
}

static void
queue_waiting(struct spw_ring *r)
{
	struct uring *u = r->mine;

	arm(u);
	while (u->waiting.first && io_uring_sq_space_left(&u->ring) >= EACH)
		queue_rest(r, spw_io_pop(&u->waiting));
}

/* Hands over what is queued and lets completions in; waits for one. */
static void
enter(struct spw_ring *r, bool wait)
{
	struct uring *u = r->mine;
	int err;

	queue_waiting(r);
	if (wait)
		err = io_uring_submit_and_wait(&u->ring, 1);
	else
		err = io_uring_submit_and_get_events(&u->ring);
	if (err < 0 && err != -EINTR && err != -EBUSY)
		spw_sys_sleep_us(PAUSE_US);	/* short of memory */
	take_in(r);
}

static void
submit_uring(struct spw_ring *r, struct spw_io *io)
{
	spw_io_push(&((struct uring *)r->mine)->waiting, io);
	enter(r, false);
}

static struct spw_io *
reap_uring(struct spw_ring *r, bool wait)
{
	struct uring *u = r->mine;
	struct spw_io *io;

	while (!(io = spw_io_pop(&u->done))) {
		enter(r, wait);
		if (!wait)
			return spw_io_pop(&u->done);
	}
	return io;
}

static struct spw_io *
wait_uring(struct spw_ring *r)
{
	struct uring *u = r->mine;
	struct spw_io *io;

	while (!(io = spw_io_pop(&u->done)) && !u->called &&
	       (r->under_way || u->listens))
		enter(r, true);
	if (!io)
		u->called = false;
	return io;
}

static void
call_uring(struct spw_ring *r)
{
	const struct uring *u = r->mine;
	const uint64_t one = 1;

	if (u->calls >= 0)
		(void)spw_sys_write(u->calls, &one, sizeof(one));
}

static void
close_uring(struct spw_ring *r)
{
	struct uring *u = r->mine;

	io_uring_queue_exit(&u->ring);
	if (u->calls >= 0)
		spw_sys_close(u->calls);
	free(u);
}

const struct spw_io_way spw_io_uring = {
	.name = "io_uring",
	.open = open_uring,
	.submit = submit_uring,
	.reap = reap_uring,
	.wait = wait_uring,
	.call = call_uring,
	.close = close_uring,
};
