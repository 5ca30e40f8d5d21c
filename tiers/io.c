/* SPDX-License-Identifier: BSD-3-Clause */
/* io.c -- chooses a way of moving bytes, and keeps its buffers */

#include "tiers/io.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "config.h"
#include "shm/sys.h"
#include "tiers/io-way.h"

#ifdef SPW_FAILPOINTS
size_t spw_io_at_once = 1 << 30;
unsigned spw_io_entries = SPW_IO_ENTRIES;
unsigned spw_io_completions = 2 * SPW_IO_ENTRIES;
#endif

bool
spw_io_moved(struct spw_io *io, int64_t result)
{
	if (result == -EINTR || result == -EAGAIN)
		return false;
	if (result > 0)
		io->done += (size_t)result;
	else if (result == 0)
		io->err = io->kind == SPW_IO_READ ? -ENODATA : -EIO;
	else
		io->err = (int)result;
	return io->err || io->done >= io->len;
}

/* Out of reach of forked children: a page that the device writes to must
 * not become a copy. */
static uint8_t *
map_pool(void)
{
	const size_t n = (size_t)SPW_IO_BUFFERS * SPW_IO_BUFFER;
	void *pool = spw_sys_mmap(NULL, n, PROT_READ | PROT_WRITE,
				  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (pool == MAP_FAILED)
		return NULL;
	(void)spw_sys_madvise(pool, n, MADV_DONTFORK);
	return pool;
}

static int
open_way(struct spw_ring *r, bool threads)
{
	const char *told = getenv("SPILLWAY_IO");
	int err;

#ifdef HAVE_LIBURING
	if (!threads && !(told && !strcmp(told, "threads"))) {
		r->way = &spw_io_uring;
		err = r->way->open(r);
		if (err == 0)
			return 0;
	}
#else
	(void)threads;
	(void)told;
#endif
	r->way = &spw_io_threads;
	err = r->way->open(r);
	return err;
}

int
spw_ring_new(bool threads, struct spw_ring **ret_ring)
{
	struct spw_ring *r = calloc(1, sizeof(*r));
	int err;

	if (!r)
		return -ENOMEM;
	r->pool = map_pool();
	err = r->pool ? open_way(r, threads) : -ENOMEM;
	if (err < 0) {
		if (r->pool)
			spw_sys_munmap(r->pool, (size_t)SPW_IO_BUFFERS *
				       SPW_IO_BUFFER);
		free(r);
		return err;
	}
	*ret_ring = r;
	return 0;
}

const char *
spw_ring_way(const struct spw_ring *r)
{
	return r->way->name;
}

int
spw_ring_submit(struct spw_ring *r, struct spw_io *io)
{
	if (r->under_way == SPW_RING_DEPTH)
		return -EAGAIN;
	if (io->kind != SPW_IO_FDATASYNC && !io->len)
		return -EINVAL;
	io->err = 0;
	io->done = 0;
	io->synced = false;
	if (io->kind == SPW_IO_FDATASYNC)
		io->len = 0;
	r->under_way++;
	r->way->submit(r, io);
	return 0;
}

struct spw_io *
spw_ring_reap(struct spw_ring *r, bool wait)
{
	struct spw_io *io;

	if (!r->under_way)
		return NULL;
	io = r->way->reap(r, wait);
	if (io)
		r->under_way--;
	return io;
}

struct spw_io *
spw_ring_wait(struct spw_ring *r)
{
	struct spw_io *io = r->way->wait(r);

	if (io)
		r->under_way--;
	return io;
}

void
spw_ring_call(struct spw_ring *r)
{
	r->way->call(r);
}

void *
spw_ring_buffer(struct spw_ring *r, size_t *ret_size)
{
	unsigned i;

	for (i = 0; i < SPW_IO_BUFFERS; i++)
		if (!(r->out & 1u << i)) {
			r->out |= 1u << i;
			*ret_size = SPW_IO_BUFFER;
			return r->pool + (size_t)i * SPW_IO_BUFFER;
		}
	return NULL;
}

void
spw_ring_give(struct spw_ring *r, void *buf)
{
	if (buf)
		r->out &= ~(1u << ((size_t)((uint8_t *)buf - r->pool) /
				   SPW_IO_BUFFER));
}

void
spw_ring_free(struct spw_ring *r)
{
	if (!r)
		return;
	while (spw_ring_reap(r, true))
		;
	r->way->close(r);
	spw_sys_munmap(r->pool, (size_t)SPW_IO_BUFFERS * SPW_IO_BUFFER);
	free(r);
}
