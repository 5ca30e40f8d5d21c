/* SPDX-License-Identifier: BSD-3-Clause */
/* api.c -- the functions of spillway.h */
#include "shm/spillway.h"

#include <errno.h>

#include "interpose/agent.h"
#include "interpose/leave.h"
#include "shm/blocks.h"
#include "shm/fill.h"
#include "shm/text.h"
#include "shm/weights.h"

int
spillway_flush(int fd)
{
	if (fd < -1 || (fd >= 0 && spw_sys_fcntl(fd, F_GETFD, 0) < 0))
		return (int)spw_ret(-EBADF);
	return (int)spw_ret(fd == -1 ? spw_settle_all() : spw_settle_fd(fd));
}

static void
count(const struct spw_map *map, uint32_t file, struct spillway_info *info)
{
	uint32_t ready = spw_seg_ready(map, SPW_POOL_BLOCKS);

	for (uint32_t i = 0; i < ready; i++) {
		const struct spw_block *b = &map->blocks[i];

		if (spw_glance32(&b->file) != file ||
		    !(atomic_load(&map->owners[SPW_POOL_BLOCKS][i]) &
		      SPW_IN_USE))
			continue;
		info->bytes_cached += SPW_BLOCK_SIZE;
		if (spw_block_is_dirty(b))
			info->bytes_dirty += SPW_BLOCK_SIZE;
	}
}

int
spillway_query(int fd, struct spillway_info *ret_info)
{
	struct spillway_info info = { .size = sizeof(info) };
	struct spw_text t;
	struct spw_grip g;

	if (spw_sys_fcntl(fd, F_GETFD, 0) < 0)
		return (int)spw_ret(-EBADF);
	if (ret_info->size != sizeof(info))
		return (int)spw_ret(-EINVAL);
	if (spw_fdtab_peek(fd, &g)) {
		enum spw_bypass why = atomic_load(&g.f->bypass);

		info.managed = 1;
		info.cached = why == SPW_BYPASS_NONE;
		info.pinned = (atomic_load(&g.f->flags) & SPW_FILE_PINNED)
			      != 0;
		spw_text_init(&t, info.bypass, sizeof(info.bypass));
		if (why)
			spw_text_put(&t, spw_bypass_name(why));
		count(g.me->map, g.t.file, &info);
	}
	*ret_info = info;
	return 0;
}

int
spillway_pin(int fd, int pin)
{
	struct spw_grip g;

	if (!spw_fdtab_peek(fd, &g))
		return (int)spw_ret(-EBADF);
	if (pin)
		atomic_fetch_or(&g.f->flags, SPW_FILE_PINNED);
	else
		atomic_fetch_and(&g.f->flags, ~(uint32_t)SPW_FILE_PINNED);
	return 0;
}

ssize_t
spillway_stage(int fd, off_t offset, size_t n, unsigned seconds)
{
	struct spw_grip g;
	uint64_t at = (uint64_t)offset, size, first;
	int64_t done;

	if (offset < 0)
		return spw_ret(-EINVAL);
	if (!spw_fdtab_peek(fd, &g))
		return spw_ret(-EBADF);
	if (!spw_fdtab_grip(fd, &g))
		return spw_ret(-EBUSY);
	size = atomic_load(&g.f->size);
	spw_fill_hold(g.me->map, g.t.file, (int64_t)seconds * 1000);
	(void)spw_agent_need(g.me->map);
	if (at >= size)
		return 0;
	n = SPW_MIN(n, size - at);
	first = at >> SPW_BLOCK_SHIFT;
	done = spw_fill(g.me, &g.t, first,
			((at + n + SPW_BLOCK_SIZE - 1) >> SPW_BLOCK_SHIFT) -
			first);
	if (done <= 0)
		return spw_ret(done);
	return (ssize_t)SPW_MIN(n, (first + (uint64_t)done) * SPW_BLOCK_SIZE -
				   at);
}

int
spillway_weigh_job(const char *weights)
{
	char why[SPW_WEIGHTS_WHY];
	struct spw_weights w;

	if (!weights || spw_weights_parse(weights, &w, why, sizeof(why)) < 0)
		return (int)spw_ret(-EINVAL);
	if (spw_front_attach(false) < 0)
		return (int)spw_ret(-ENOENT);
	atomic_store(&spw_front.map.seg->weights, spw_weights_pack(&w));
	return 0;
}
