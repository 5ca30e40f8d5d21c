/* SPDX-License-Identifier: BSD-3-Clause */
/* crash-core.c -- a writer that goes straight into the core, and the audit */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "shm/below.h"
#include "shm/blocks.h"
#include "shm/cache.h"
#include "shm/gate.h"
#include "shm/names.h"
#include "shm/proc.h"
#include "tests/crash.h"

struct core_door {
	struct crash_door door;
	struct spw_me me;
	uint32_t proc, visits;
	struct spw_target target[CRASH_FILES];
};

static int
write_all(struct core_door *c, int which, const void *buf, uint64_t n,
	  uint64_t off)
{
	struct spw_source src = { buf, n, NULL };
	uint64_t done = 0;

	while (done < n) {
		int64_t r = spw_cache_write(&c->me, &c->target[which], &src,
					    n - done, off + done);

		if (r >= 0)
			done += (uint64_t)r;
		else if (r == -ENOBUFS)
			spw_gate_wait_room(&c->me, 5);
		else
			return (int)r;
	}
	return 0;
}

static int
core_write(struct crash_door *door, int which, const void *buf, uint64_t n,
	   uint64_t off)
{
	return write_all((struct core_door *)door, which, buf, n, off);
}

static int
core_append(struct crash_door *door, const void *buf, uint64_t n)
{
	struct core_door *c = (struct core_door *)door;
	struct spw_file *f = &c->me.map->files[c->target[CRASH_FILE_APPEND]
					       .file];
	int r;

	spw_guard_enter();
	spw_lock(&c->me, SPW_LOCK_APPEND, &f->append);
	r = write_all(c, CRASH_FILE_APPEND, buf, n, atomic_load(&f->size));
	spw_unlock(&f->append);
	spw_guard_leave();
	return r;
}

struct cutting {
	int fd;
	uint64_t size;
};

static int
cut_home(void *arg)
{
	struct cutting *c = arg;

	return spw_sys_ftruncate(c->fd, c->size);
}

static int
core_cut(struct crash_door *door, uint64_t size)
{
	struct core_door *c = (struct core_door *)door;
	struct spw_target *t = &c->target[CRASH_FILE_OWN];
	struct cutting cutting = { t->fd, size };

	return spw_gate_resize(&c->me, t->file, size, cut_home, &cutting);
}

static int
core_read(struct crash_door *door, int which, void *buf, uint64_t n,
	  uint64_t off, uint64_t *ret_n)
{
	struct core_door *c = (struct core_door *)door;
	int64_t r = spw_cache_read(&c->me, &c->target[which], buf, n, off);

	if (r < 0)
		return (int)r;
	*ret_n = (uint64_t)r;
	return 0;
}

static bool
open_as(struct core_door *c, const char *name, struct spw_target *ret_target,
	uint32_t *ret_ofd)
{
	struct spw_file_seen seen = { .pid = (uint32_t)getpid() };
	char path[4096];
	struct stat st;
	uint32_t file;
	int r;

	seen.fd = open(name, O_RDWR | O_CREAT, 0600);
	seen.path = realpath(name, path);
	if (seen.fd < 0 || !seen.path)
		return false;
	do {
		seen.parted = atomic_load(&c->me.map->seg->parted);
		if (fstat(seen.fd, &st) < 0)
			return false;
		seen.id = (struct spw_file_id){ st.st_dev, st.st_ino };
		seen.mtime = spw_nanoseconds(&st.st_mtim);
		seen.size = (uint64_t)st.st_size;
		r = spw_file_open(&c->me, &seen, &file);
	} while (r == -ESTALE);
	if (r < 0 ||
	    spw_ofd_new(&c->me, file, SPW_OFD_READ | SPW_OFD_WRITE, 0,
			ret_ofd) < 0 ||
	    spw_proc_set_fd(&c->me, c->proc, seen.fd, *ret_ofd + 1) < 0)
		return false;
	*ret_target = (struct spw_target){
		.file = file, .fd = seen.fd, .readable = true,
	};
	return true;
}

/* A file that has no name any more when it is closed. */
static int
leave_unlinked(struct core_door *c)
{
	static uint8_t bytes[2 * CRASH_BLOCK];
	struct spw_source src = { bytes, sizeof(bytes), NULL };
	struct spw_target t;
	uint32_t ofd;
	char name[32];
	int64_t r;

	snprintf(name, sizeof(name), "gone.%d", (int)getpid());
	if (!open_as(c, name, &t, &ofd))
		return -1;
	r = spw_cache_write(&c->me, &t, &src, sizeof(bytes), 0);
	(void)spw_gate_sync(&c->me, t.file);
	spw_file_flag(&c->me.map->files[t.file], SPW_FILE_UNLINKED);
	unlink(name);
	(void)spw_proc_set_fd(&c->me, c->proc, t.fd, 0);
	spw_ofd_unref(&c->me, ofd);
	close(t.fd);
	return r < 0 && r != -ENOBUFS ? (int)r : 0;
}

/* A file that is only looked at, a name that comes to nothing, and at times
 * waiting for everything to be home, whichever drainer it is that answers. */
static int
core_visit(struct crash_door *door)
{
	struct core_door *c = (struct core_door *)door;
	uint32_t ofd, own = c->target[CRASH_FILE_OWN].file;
	uint32_t gen = c->me.map->files[own].gen;
	struct spw_target t;

	if (!open_as(c, "visited", &t, &ofd))
		return -1;
	(void)spw_proc_set_fd(&c->me, c->proc, t.fd, 0);
	spw_ofd_unref(&c->me, ofd);
	close(t.fd);
	(void)spw_name_add(&c->me, own, gen, "/nowhere/at/all");
	spw_name_remove(&c->me, own, gen, "/nowhere/at/all");
	if (++c->visits % 2)		/* answered by a tier, if there is one */
		(void)spw_gate_sync(&c->me, own);
	else if (leave_unlinked(c) < 0)
		return -1;
	return c->visits % 8 ? 0 : spw_gate_settle(&c->me, own);
}

struct crash_door *
crash_core_door(struct spw_map *map, int writer)
{
	static struct core_door c = {
		.door = { core_write, core_append, core_cut, core_read,
			  core_visit },
	};
	char name[32];
	uint32_t ofd;

	if (spw_proc_claim(map, &c.proc) < 0 ||
	    spw_lane_claim(map, c.proc, &c.me) < 0)
		return NULL;
	for (int i = 0; i < CRASH_FILES; i++) {
		crash_name(name, i, writer);
		if (!open_as(&c, name, &c.target[i], &ofd))
			return NULL;
	}
	return &c.door;
}

static uint32_t
ready(const struct spw_map *map, enum spw_pool_id pool)
{
	return SPW_MIN(atomic_load(&map->seg->pools[pool].ready),
		       map->counts[pool]);
}

static bool
has_bit(const struct spw_map *map, enum spw_pool_id pool, uint32_t i)
{
	return atomic_load(&map->bits[pool][i / 64]) >> i % 64 & 1;
}

/* A lane that lives may own spares; a lane that is free owns nothing. */
static bool
is_owner_sound(const struct spw_map *map, enum spw_pool_id pool, uint32_t i)
{
	uint32_t owner = atomic_load(&map->owners[pool][i]);

	if (owner == SPW_FREE)
		return has_bit(map, pool, i);
	if (owner & SPW_IN_USE)
		return true;
	return owner <= map->counts[SPW_POOL_LANES] &&
	       atomic_load(&map->lanes[owner - 1].state) == SPW_LANE_USED;
}

static bool
complain(const char *what, uint32_t i, uint32_t value)
{
	printf("audit: %s %u (%x)\n", what, i, value);
	return false;
}

static bool
audit_block(struct spw_me *me, uint32_t i, uint32_t *uses)
{
	struct spw_map *map = me->map;
	const struct spw_block *b = &map->blocks[i];
	uint32_t slot = b->state.slot;

	if (spw_lock_owner(&b->lock))
		return complain("block is locked:", i,
				spw_lock_owner(&b->lock));
	if (!(atomic_load(&map->owners[SPW_POOL_BLOCKS][i]) & SPW_IN_USE))
		return true;
	if (spw_block_linked(me, i) != i)
		return complain("block in use is not in the index:", i,
				b->file);
	if (b->state.nmoving || b->state.moving_slot != SPW_NONE)
		return complain("block moves still:", i, b->state.nmoving);
	if (b->state.mask != SPW_NONE &&
	    (b->state.mask >= map->counts[SPW_POOL_SLOTS] ||
	     uses[b->state.mask]++ || !b->state.ndirty))
		return complain("block's mask is not its own:", i,
				b->state.mask);
	if (slot == SPW_NONE)
		return b->state.npresent
		       ? complain("block without slot:", i, 0) : true;
	if (slot >= map->counts[SPW_POOL_SLOTS] || uses[slot]++)
		return complain("block's slot is not its own:", i, slot);
	if (atomic_load(&map->owners[SPW_POOL_SLOTS][slot]) !=
	    (SPW_IN_USE | i))
		return complain("slot's owner is another:", slot,
				atomic_load(&map->owners[SPW_POOL_SLOTS]
					    [slot]));
	return true;
}

static bool
audit_file(struct spw_map *map, uint32_t i)
{
	const struct spw_file *f = &map->files[i];
	struct spw_file_id id = { f->dev, f->ino };
	struct stat st;

	if (!(atomic_load(&map->owners[SPW_POOL_FILES][i]) & SPW_IN_USE))
		return true;
	/* The number of one that is gone may be another's by now. */
	if (spw_file_find(map, &id) != i &&
	    !(atomic_load(&f->flags) & SPW_FILE_UNLINKED))
		return complain("file in use is not in the index:", i,
				atomic_load(&f->flags));
	if (atomic_load(&f->hold) || atomic_load(&f->cut) ||
	    atomic_load(&f->inflight))
		return complain("file is held, cut or in flight:", i,
				atomic_load(&f->hold));
	if (spw_lock_owner(&f->gate) || spw_lock_owner(&f->append))
		return complain("file is locked:", i,
				spw_lock_owner(&f->gate));
	if (atomic_load(&f->flags) & SPW_FILE_UNLINKED)
		return true;
	if (stat(f->path, &st) < 0 || st.st_ino != f->ino)
		return complain("file is not at its path:", i, 0);
	if ((uint64_t)st.st_size != atomic_load(&f->size))
		return complain("file's size is not that of its home:", i,
				(uint32_t)atomic_load(&f->size));
	return true;
}

/* Everything is home: every chunk in use is found, and empty. */
static bool
audit_chunks(struct spw_map *map)
{
	uint32_t n = ready(map, SPW_POOL_CHUNKS), linked = 0;

	for (uint32_t i = 0; i < n; i++) {
		const struct spw_chunk *c = &map->chunks[i];

		if (!(atomic_load(&map->owners[SPW_POOL_CHUNKS][i]) &
		      SPW_IN_USE))
			continue;
		if (spw_below_chunk(map, c->file, c->file_gen, c->number) !=
		    i)
			return complain("chunk in use is not found:", i,
					c->file);
		for (int w = 0; w < SPW_CHUNK_BLOCKS / 64; w++)
			if (atomic_load(&c->below[w]) &&
			    !(atomic_load(&map->files[c->file].flags) &
			      SPW_FILE_UNLINKED))
				return complain("chunk is not empty:", i,
						c->file);
		linked++;
	}
	for (uint32_t i = 0; i < ready(map, SPW_POOL_FILES); i++)
		if (atomic_load(&map->owners[SPW_POOL_FILES][i]) & SPW_IN_USE)
			linked -= atomic_load(&map->files[i].nchunks);
	return linked ? complain("chunks are miscounted by", linked, 0) : true;
}

static bool
audit_pools(struct spw_map *map, const uint32_t *uses)
{
	for (int pool = SPW_POOL_FILES; pool < SPW_POOL_COUNT; pool++)
		for (uint32_t i = 0; i < ready(map, pool); i++)
			if (!is_owner_sound(map, pool, i))
				return complain("item is lost, pool and item",
						i, (uint32_t)pool);
	for (uint32_t i = 0; i < ready(map, SPW_POOL_SLOTS); i++)
		if (atomic_load(&map->owners[SPW_POOL_SLOTS][i]) &
		    SPW_IN_USE && !uses[i])
			return complain("slot is in use by nobody:", i,
					atomic_load(&map->owners
						    [SPW_POOL_SLOTS][i]));
	return true;
}

bool
crash_audit(struct spw_map *map)
{
	uint32_t *uses = calloc(map->counts[SPW_POOL_SLOTS], sizeof(*uses));
	struct spw_me me;
	bool ok = uses && spw_lane_claim(map, SPW_NONE, &me) == 0;

	if (!ok)
		return complain("no lane to be had", 0, 0);
	spw_lane_adopt_all(&me);
	for (uint32_t i = 0; i < ready(map, SPW_POOL_BLOCKS); i++)
		ok &= audit_block(&me, i, uses);
	for (uint32_t i = 0; i < ready(map, SPW_POOL_FILES); i++)
		ok &= audit_file(map, i);
	spw_lane_release(&me);
	ok &= audit_pools(map, uses);
	ok &= audit_chunks(map);
	free(uses);
	return ok;
}

void
crash_show_left(struct spw_map *map)
{
	for (uint32_t i = 0; i < ready(map, SPW_POOL_BLOCKS); i++) {
		const struct spw_block *b = &map->blocks[i];
		const struct spw_file *f = &map->files[b->file];

		if (!(atomic_load(&map->owners[SPW_POOL_BLOCKS][i]) &
		      SPW_IN_USE) || !spw_block_is_dirty(b) ||
		    b->file >= map->counts[SPW_POOL_FILES])
			continue;
		printf("block %u: file %u number %lu, %u dirty, %u moving, "
		       "marked %d, lock %x; file: flags %x, hold %u, cut %lu, "
		       "in flight %u, gate %x, errno %d\n", i, b->file,
		       (unsigned long)b->number, b->state.ndirty,
		       b->state.nmoving,
		       (int)(atomic_load(&map->dirty[i / 64]) >> i % 64 & 1),
		       spw_lock_owner(&b->lock), atomic_load(&f->flags),
		       atomic_load(&f->hold), (unsigned long)atomic_load(
		       &f->cut), atomic_load(&f->inflight),
		       spw_lock_owner(&f->gate), atomic_load(&f->err));
	}
}
