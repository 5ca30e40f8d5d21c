/* SPDX-License-Identifier: BSD-3-Clause */
/* io-threads.c -- reads and writes by threads, where io_uring is forbidden */

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>

#include "shm/sys.h"
#include "shm/util.h"
#include "tiers/io-way.h"
#include "tiers/thread.h"

enum {
	HANDS = 4,
	STACK = 64 << 10,
};

struct crew {
	pthread_mutex_t lock;
	pthread_cond_t work, over;	/* something to do; something done */
	struct spw_io_queue todo, done;
	bool leaving, called;
	unsigned nhands;
	pthread_t hands[HANDS];
};

static int64_t
move_some(const struct spw_io *io)
{
	uint8_t *at = (uint8_t *)io->buf + io->done;
	size_t left = io->len - io->done;

	if (io->kind == SPW_IO_READ)
		return spw_sys_pread(io->fd, at, left, io->off + io->done);
	return spw_sys_pwrite(io->fd, at, SPW_MIN(left, spw_io_at_once),
			      io->off + io->done);
}

static void
carry_out(struct spw_io *io)
{
	if (io->kind != SPW_IO_FDATASYNC)
		while (!spw_io_moved(io, move_some(io)))
			;
	if (!io->err && spw_io_wants_sync(io))
		io->err = (int)spw_syscall(SYS_fdatasync, io->fd, 0, 0, 0, 0,
					   0);
}

static void *
serve(void *arg)
{
	struct crew *c = arg;
	struct spw_io *io;

	spw_thread_begin("spw-io");
	pthread_mutex_lock(&c->lock);
	for (;;) {
		while (!(io = spw_io_pop(&c->todo)) && !c->leaving)
			pthread_cond_wait(&c->work, &c->lock);
		if (!io)
			break;
		pthread_mutex_unlock(&c->lock);
		carry_out(io);
		pthread_mutex_lock(&c->lock);
		spw_io_push(&c->done, io);
		pthread_cond_signal(&c->over);
	}
	pthread_mutex_unlock(&c->lock);
	return NULL;
}

static void
close_threads(struct spw_ring *r)
{
	struct crew *c = r->mine;

	pthread_mutex_lock(&c->lock);
	c->leaving = true;
	pthread_cond_broadcast(&c->work);
	pthread_mutex_unlock(&c->lock);
	while (c->nhands)
		pthread_join(c->hands[--c->nhands], NULL);
	pthread_cond_destroy(&c->over);
	pthread_cond_destroy(&c->work);
	pthread_mutex_destroy(&c->lock);
	free(c);
}

/* The hands block every signal: they are the program's to handle. The mask
 * is the caller's own for the moment in which they inherit it. */
static int
start_hands(struct crew *c)
{
	uint64_t all = ~UINT64_C(0), before;
	pthread_attr_t attr;
	int r = 0;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, STACK);
	(void)spw_syscall(SYS_rt_sigprocmask, SIG_SETMASK, (long)&all,
			  (long)&before, sizeof(all), 0, 0);
	while (c->nhands < HANDS && r == 0) {
		r = -pthread_create(&c->hands[c->nhands], &attr, serve, c);
		c->nhands += r == 0;
	}
	(void)spw_syscall(SYS_rt_sigprocmask, SIG_SETMASK, (long)&before, 0,
			  sizeof(before), 0, 0);
	pthread_attr_destroy(&attr);
	return c->nhands ? 0 : r;	/* one can do it all */
}

static int
open_threads(struct spw_ring *r)
{
	struct crew *c = calloc(1, sizeof(*c));
	int err;

	if (!c)
		return -ENOMEM;
	pthread_mutex_init(&c->lock, NULL);
	pthread_cond_init(&c->work, NULL);
	pthread_cond_init(&c->over, NULL);
	r->mine = c;
	err = start_hands(c);
	if (err < 0)
		close_threads(r);
	return err;
}

static void
submit_threads(struct spw_ring *r, struct spw_io *io)
{
	struct crew *c = r->mine;

	pthread_mutex_lock(&c->lock);
	spw_io_push(&c->todo, io);
	pthread_cond_signal(&c->work);
	pthread_mutex_unlock(&c->lock);
}

static struct spw_io *
reap_threads(struct spw_ring *r, bool wait)
{
	struct crew *c = r->mine;
	struct spw_io *io;

	pthread_mutex_lock(&c->lock);
	while (!(io = spw_io_pop(&c->done)) && wait)
		pthread_cond_wait(&c->over, &c->lock);
	pthread_mutex_unlock(&c->lock);
	return io;
}

static struct spw_io *
wait_threads(struct spw_ring *r)
{
	struct crew *c = r->mine;
	struct spw_io *io;

	pthread_mutex_lock(&c->lock);
	while (!(io = spw_io_pop(&c->done)) && !c->called)
		pthread_cond_wait(&c->over, &c->lock);
	if (!io)
		c->called = false;
	pthread_mutex_unlock(&c->lock);
	return io;
}

static void
call_threads(struct spw_ring *r)
{
	struct crew *c = r->mine;

	pthread_mutex_lock(&c->lock);
	c->called = true;
	pthread_cond_signal(&c->over);
	pthread_mutex_unlock(&c->lock);
}

const struct spw_io_way spw_io_threads = {
	.name = "threads",
	.open = open_threads,
	.submit = submit_threads,
	.reap = reap_threads,
	.wait = wait_threads,
	.call = call_threads,
	.close = close_threads,
};
