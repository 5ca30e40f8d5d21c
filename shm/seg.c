/* SPDX-License-Identifier: BSD-3-Clause */
/* seg.c -- making, mapping, checking and growing the segment */

/*
 * A segment file is as large as it may ever become, but only the memory in
 * use is reserved: first the tables' heads, then parts of the buckets and, pool
 * by pool, what `ready` says. Reserving (fallocate) and not touching is what
 * keeps a full /dev/shm an error and not a SIGBUS, and a short program from
 * paying for gigabytes.
 */
#include "shm/seg.h"

#include <errno.h>
#include <limits.h>

#include "shm/crc32c.h"
#include "shm/failpoint.h"
#include "shm/nofile.h"
#include "shm/reserve.h"
#include "shm/sys.h"
#include "shm/text.h"
#include "shm/util.h"

enum {
	LANES = 4096, PROCS = 1024, MAPS = 4096,
	FILES_MIN = 1024, FILES_MAX = 65536,
	SLOTS_MIN = 256,		/* 1 MiB: SPW_RAM_MIN */
	GROW_MAX = 16384,		/* items at once: 64 MiB of slots */
	GROW_PATIENCE_MS = 20, GROW_LOOK_US = 200,
	CHUNKS_MIN = 64, CHUNKS_MAX = 1 << 23,
	DECISIONS = 512, DECISIONS_MAX = 1 << 16,
	PART_MIN = 1024,		/* buckets: a page of them */
	TICK_MIN = 64 << 10, TICK_MAX = 64 << 20,	/* bytes */
};

/* A page costs a microsecond, and the first process of a job waits for all of
 * them: what a program with a few files needs, and the rest as it is needed. */
static const struct {
	uint32_t item_size, first;	/* items that are made ready first, */
	enum spw_seg_made made;		/* also where no more is asked for */
} pool_shape[SPW_POOL_COUNT] = {
	[SPW_POOL_LANES] = { sizeof(struct spw_lane), 16, SPW_MADE_TO_READ },
	[SPW_POOL_PROCS] = { sizeof(struct spw_proc), 16, SPW_MADE_TO_READ },
	[SPW_POOL_FILES] = { sizeof(struct spw_file), 16, SPW_MADE_TO_READ },
	[SPW_POOL_OFDS] = { sizeof(struct spw_ofd), 64, SPW_MADE_TO_READ },
	[SPW_POOL_MAPS] = { SPW_MAP_FDS * 4, 16, SPW_MADE_TO_READ },
	[SPW_POOL_BLOCKS] = { sizeof(struct spw_block), 64, SPW_MADE_TO_WRITE },
	[SPW_POOL_SLOTS] = { SPW_BLOCK_SIZE, 16, SPW_MADE_TO_WRITE },
	[SPW_POOL_CHUNKS] = { sizeof(struct spw_chunk), 64, SPW_MADE_WHOLE },
};

/* Changes with every size that both sides must agree on. */
static uint32_t
layout_hash(void)
{
	const uint32_t sizes[] = {
		sizeof(struct spw_seg), sizeof(struct spw_lane),
		sizeof(struct spw_proc), sizeof(struct spw_file),
		sizeof(struct spw_ofd), sizeof(struct spw_block),
		sizeof(pthread_mutex_t), SPW_BLOCK_SIZE, SPW_BATCH,
		SPW_BYPASS_COUNT, sizeof(struct spw_chunk),
		sizeof(struct spw_decision),
	};

	return spw_crc32c(0, sizes, sizeof(sizes));
}

int
spw_seg_path(const char *dir, const char *job, char *buf, size_t cap)
{
	struct spw_text t;

	spw_text_init(&t, buf, cap);
	spw_text_fmt(&t, "%s/spillway.%u/", dir, spw_sys_geteuid());
	if (job)
		spw_text_fmt(&t, "%s.seg", job);
	return t.cut ? -ENAMETOOLONG : 0;
}

static int
boot_id(char id[40])
{
	int fd = spw_sys_open("/proc/sys/kernel/random/boot_id",
			      O_RDONLY | O_CLOEXEC, 0);
	int64_t n = fd < 0 ? fd : spw_sys_read(fd, id, 36);

	if (fd >= 0)
		spw_sys_close(fd);
	memset(id + (n == 36 ? 36 : 0), 0, n == 36 ? 4 : 40);
	return n < 0 ? (int)n : 0;
}

int
spw_seg_note_boot(char id[40])
{
	int r = boot_id(id);

	return r == -EMFILE || r == -ENFILE ? r : 0;
}

bool
spw_seg_is_of_boot(const char id[40])
{
	char now[40];

	return boot_id(now) < 0 || !id[0] ||
	       !memcmp(id, now, sizeof(now));
}

int
spw_seg_own_dir(const char *dir)
{
	char path[SPW_SEG_PATH_MAX];
	struct stat st;
	int fd, r = spw_seg_path(dir, NULL, path, sizeof(path));

	if (r < 0)
		return r;
	path[strlen(path) - 1] = '\0';	/* a link would be followed */
	r = spw_sys_mkdir(path, 0700);
	if (r < 0 && r != -EEXIST)
		return r;
	fd = spw_sys_open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW |
			  O_CLOEXEC, 0);
	if (fd < 0)
		return fd == -ELOOP || fd == -ENOTDIR ? -EPERM : fd;
	r = spw_sys_fstat(fd, &st);
	if (r == 0 && (st.st_uid != spw_sys_geteuid() ||
		       (st.st_mode & 0777) != 0700))
		r = -EPERM;
	spw_sys_close(fd);
	return r;
}

static uint64_t
place(uint64_t *at, uint64_t bytes)
{
	uint64_t here = *at;

	*at = spw_round_up(*at + bytes, SPW_BLOCK_SIZE);
	return here;
}

/* Twice what full chunks would need: some will have gaps. */
static uint32_t
count_chunks(uint64_t bytes)
{
	uint64_t n = bytes / ((uint64_t)SPW_CHUNK_BLOCKS *
			      SPW_BLOCK_SIZE) * 2;

	return (uint32_t)spw_round_up(SPW_MIN(SPW_MAX(n, CHUNKS_MIN),
					      CHUNKS_MAX), 64);
}

static uint32_t
power_of_two(uint32_t least)
{
	uint32_t n = 64;

	while (n < least)
		n *= 2;
	return n;
}

static void
lay_out(struct spw_seg_fixed *f, const struct spw_seg_request *req)
{
	uint32_t nslots = (uint32_t)spw_round_up(
		SPW_MAX(req->bytes >> SPW_BLOCK_SHIFT, SLOTS_MIN), 64);
	uint32_t nfiles = (uint32_t)spw_round_up(
		SPW_MIN(SPW_MAX(nslots / 16, FILES_MIN), FILES_MAX), 64);
	const uint32_t counts[SPW_POOL_COUNT] = {
		LANES, PROCS, nfiles, 2 * nfiles, MAPS, nslots, nslots,
		count_chunks(req->below),
	};
	uint64_t at = 0;

	f->nbuckets = power_of_two(nslots);
	f->nfbuckets = power_of_two(nfiles);
	f->ncbuckets = power_of_two(counts[SPW_POOL_CHUNKS]);
	place(&at, sizeof(struct spw_seg));
	f->asks_off = place(&at, nfiles / 8);
	f->syncs_off = place(&at, nfiles / 8);
	f->ndecisions = req->below ? DECISIONS : 0;
	f->decisions_off = place(&at, sizeof(struct spw_decision) *
				 f->ndecisions);
	/* Up to here everything is reserved at once; the rest as it grows. */
	f->fbuckets_off = place(&at, 4ull * f->nfbuckets);
	f->fbucket_locks_off = place(&at, sizeof(struct spw_lock) *
				     (f->nfbuckets / 16));
	f->buckets_off = place(&at, 4ull * f->nbuckets);
	f->bucket_locks_off = place(&at, sizeof(struct spw_lock) *
				    (f->nbuckets / 16));
	f->dirty_off = place(&at, nslots / 8);
	f->cbuckets_off = place(&at, 4ull * f->ncbuckets);
	for (int i = 0; i < SPW_POOL_COUNT; i++) {
		struct spw_table *t = &f->tables[i];

		t->item_size = pool_shape[i].item_size;
		t->count = counts[i];
		t->bits_off = place(&at, counts[i] / 8);
		t->owners_off = place(&at, 4ull * counts[i]);
		t->items_off = place(&at, (uint64_t)t->item_size * counts[i]);
	}
	f->size = at;
}

static bool
fits(const struct spw_seg_fixed *f, uint64_t off, uint64_t bytes)
{
	return off % 64 == 0 && off >= sizeof(struct spw_seg) &&
	       off <= f->size && bytes <= f->size - off;
}

static bool
is_sound(const struct spw_seg_fixed *f)
{
	for (int i = 0; i < SPW_POOL_COUNT; i++) {
		const struct spw_table *t = &f->tables[i];

		if (t->item_size != pool_shape[i].item_size ||
		    t->count % 64 || t->count < 64 || t->count >= 1u << 28 ||
		    !fits(f, t->items_off, (uint64_t)t->item_size *
			  t->count) ||
		    !fits(f, t->owners_off, 4ull * t->count) ||
		    !fits(f, t->bits_off, t->count / 8))
			return false;
	}
	return f->block_size == SPW_BLOCK_SIZE && f->nbuckets >= 64 &&
	       f->nfbuckets >= 64 && !(f->nbuckets & (f->nbuckets - 1)) &&
	       !(f->nfbuckets & (f->nfbuckets - 1)) &&
	       fits(f, f->buckets_off, 4ull * f->nbuckets) &&
	       fits(f, f->bucket_locks_off, f->nbuckets) &&
	       fits(f, f->fbuckets_off, 4ull * f->nfbuckets) &&
	       fits(f, f->fbucket_locks_off, f->nfbuckets) &&
	       fits(f, f->dirty_off, f->tables[SPW_POOL_BLOCKS].count / 8) &&
	       fits(f, f->asks_off, f->tables[SPW_POOL_FILES].count / 8) &&
	       fits(f, f->syncs_off, f->tables[SPW_POOL_FILES].count / 8) &&
	       f->ncbuckets >= 64 && !(f->ncbuckets & (f->ncbuckets - 1)) &&
	       fits(f, f->cbuckets_off, 4ull * f->ncbuckets) &&
	       f->ndecisions <= DECISIONS_MAX &&
	       !(f->ndecisions & (f->ndecisions - 1)) &&
	       fits(f, f->decisions_off, sizeof(struct spw_decision) *
		    (uint64_t)f->ndecisions) &&
	       memchr(f->job, '\0', sizeof(f->job)) &&
	       memchr(f->tiers, '\0', sizeof(f->tiers)) &&
	       memchr(f->seed, '\0', sizeof(f->seed));
}

/* 64 parts, or fewer of whole pages. */
static uint32_t
part_shift(uint32_t nbuckets)
{
	return (uint32_t)__builtin_ctz(SPW_MAX(nbuckets / 64, PART_MIN));
}

/* A 32nd of the memory; of a large one, enough. */
static uint32_t
tick_shift(const struct spw_seg_fixed *f)
{
	uint64_t bytes = (uint64_t)f->tables[SPW_POOL_SLOTS].count *
			 SPW_BLOCK_SIZE / 32;

	return 63 - (uint32_t)__builtin_clzll(SPW_MIN(SPW_MAX(bytes, TICK_MIN),
						      TICK_MAX));
}

static void
point(struct spw_map *map, char *base, const struct spw_seg_fixed *f)
{
	map->seg = (void *)base;
	map->base = base;
	map->fixed = *f;
	map->lanes = (void *)(base + f->tables[SPW_POOL_LANES].items_off);
	map->procs = (void *)(base + f->tables[SPW_POOL_PROCS].items_off);
	map->files = (void *)(base + f->tables[SPW_POOL_FILES].items_off);
	map->ofds = (void *)(base + f->tables[SPW_POOL_OFDS].items_off);
	map->maps = (void *)(base + f->tables[SPW_POOL_MAPS].items_off);
	map->blocks = (void *)(base + f->tables[SPW_POOL_BLOCKS].items_off);
	map->slots = (void *)(base + f->tables[SPW_POOL_SLOTS].items_off);
	map->chunks = (void *)(base + f->tables[SPW_POOL_CHUNKS].items_off);
	map->buckets = (void *)(base + f->buckets_off);
	map->cbuckets = (void *)(base + f->cbuckets_off);
	map->fbuckets = (void *)(base + f->fbuckets_off);
	map->bucket_locks = (void *)(base + f->bucket_locks_off);
	map->fbucket_locks = (void *)(base + f->fbucket_locks_off);
	map->dirty = (void *)(base + f->dirty_off);
	map->decisions = (void *)(base + f->decisions_off);
	map->asks = (void *)(base + f->asks_off);
	map->syncs = (void *)(base + f->syncs_off);
	map->bucket_mask = f->nbuckets - 1;
	map->fbucket_mask = f->nfbuckets - 1;
	map->cbucket_mask = f->ncbuckets - 1;
	map->part_shift = part_shift(f->nbuckets);
	map->fpart_shift = part_shift(f->nfbuckets);
	map->tick_shift = tick_shift(f);
	for (int i = 0; i < SPW_POOL_COUNT; i++) {
		map->bits[i] = (void *)(base + f->tables[i].bits_off);
		map->owners[i] = (void *)(base + f->tables[i].owners_off);
		map->counts[i] = f->tables[i].count;
	}
}

_Atomic bool spw_seg_stays_unlocked;

/* What may not be touched is not brought in. */
static void *
map_unlocked(int fd, uint64_t size)
{
	void *at = spw_sys_mmap(NULL, size, PROT_NONE, MAP_SHARED, fd, 0);

	if (at == MAP_FAILED)
		return at;
	(void)spw_syscall(SYS_munlock, (long)at, (long)size, 0, 0, 0, 0);
	(void)spw_syscall(SYS_mprotect, (long)at, (long)size,
			  PROT_READ | PROT_WRITE, 0, 0, 0);
	return at;
}

void *
spw_seg_map(int fd, uint64_t size)
{
	void *at = atomic_load(&spw_seg_stays_unlocked)
		   ? map_unlocked(fd, size)
		   : spw_sys_mmap(NULL, size, PROT_READ | PROT_WRITE,
				  MAP_SHARED, fd, 0);

	if (at == MAP_FAILED)
		return NULL;
	/* A core file with gigabytes of other people's blocks helps nobody. */
	(void)spw_sys_madvise(at, size, MADV_DONTDUMP);
	return at;
}

static int
map_file(int fd, uint64_t size, char **ret_base)
{
	*ret_base = spw_seg_map(fd, size);
	return *ret_base ? 0 : -ENOMEM;
}

/* A beacon may be in use already, if somebody else has made it (begin_growth):
 * only what tells its kind is written, which does not change. The rest of one
 * that nobody has locked is 0, as fresh memory is. */
static void
init_beacon(pthread_mutex_t *beacon, const pthread_mutex_t *fresh)
{
	_Atomic uint32_t *to = (_Atomic uint32_t *)beacon;
	uint32_t words[sizeof(*fresh) / sizeof(uint32_t)];

	memcpy(words, fresh, sizeof(words));
	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
		if (words[i])
			atomic_store(&to[i], words[i]);
}

static void
init_lanes(struct spw_map *map, uint32_t from, uint32_t to)
{
	pthread_mutexattr_t attr;
	pthread_mutex_t fresh;

	memset(&fresh, 0, sizeof(fresh));
	pthread_mutexattr_init(&attr);
	pthread_mutexattr_setpshared(&attr, PTHREAD_PROCESS_SHARED);
	pthread_mutexattr_setrobust(&attr, PTHREAD_MUTEX_ROBUST);
	pthread_mutex_init(&fresh, &attr);
	pthread_mutexattr_destroy(&attr);
	for (uint32_t i = from; i < to; i++)
		init_beacon(&map->lanes[i].beacon, &fresh);
}

static int
reserve(const struct spw_map *map, int fd, enum spw_pool_id pool,
	uint32_t from, uint32_t n)
{
	const struct spw_seg_fixed *f = &map->fixed;
	const struct spw_table *t = &f->tables[pool];
	int r = spw_reserve(fd, t->items_off + (uint64_t)t->item_size * from,
			    (uint64_t)t->item_size * n);

	if (r == 0)
		r = spw_reserve(fd, t->owners_off + 4ull * from, 4ull * n);
	if (r == 0)
		r = spw_reserve(fd, t->bits_off + from / 8, n / 8);
	if (r == 0 && pool == SPW_POOL_BLOCKS)
		r = spw_reserve(fd, f->dirty_off + from / 8, n / 8);
	if (r == 0 && pool == SPW_POOL_CHUNKS && !from)
		r = spw_reserve(fd, f->cbuckets_off, 4ull * f->ncbuckets);
	return r;
}

/* Somebody else may be at it: see begin_growth. */
static void
raise_ready(struct spw_map *map, enum spw_pool_id pool, uint32_t to)
{
	_Atomic uint32_t *ready = &map->seg->pools[pool].ready;
	uint32_t now = atomic_load(ready);

	while (now < to && !atomic_compare_exchange_weak(ready, &now, to))
		;
}

/* Word by word, the count first: who dies here wastes 64 items at most. */
static void
announce(struct spw_map *map, enum spw_pool_id pool, uint32_t from,
	 uint32_t n)
{
	uint32_t end = from + n;

	if (pool == SPW_POOL_LANES)
		init_lanes(map, from, end);
	while (from < end) {
		uint32_t next = SPW_MIN(from / 64 * 64 + 64, end);
		uint64_t items = UINT64_MAX >> (64 - (next - from));

		raise_ready(map, pool, next);
		atomic_fetch_or(&map->bits[pool][from / 64],
				items << from % 64);
		from = next;
	}
}

/* -ESTALE: its name has gone to another one. */
static int
open_again(const struct spw_map *map)
{
	int fd = spw_sys_open(map->path, O_RDWR | O_CLOEXEC | O_NOFOLLOW, 0);
	struct stat st;
	int r;

	if (fd < 0)
		return fd;
	r = spw_sys_fstat(fd, &st);
	if (r == 0 && spw_seg_is(map, &st))
		return fd;
	spw_sys_close(fd);
	return r < 0 ? r : -ESTALE;
}

int
spw_seg_lock_fd(int fd, int byte)
{
	struct flock lock = {
		.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = byte,
		.l_len = 1,
	};
	int r = spw_sys_fcntl(fd, F_OFD_SETLK, (long)&lock);

	return r == -EACCES ? -EAGAIN : r;
}

int
spw_seg_lock_byte(const struct spw_map *map, int byte)
{
	int r, fd = open_again(map);

	if (fd < 0)
		return fd;
	r = spw_seg_lock_fd(fd, byte);
	if (r < 0) {
		spw_sys_close(fd);
		return r;
	}
	return fd;
}

void
spw_seg_unlock_byte(int fd, int byte)
{
	struct flock lock = {
		.l_type = F_UNLCK, .l_whence = SEEK_SET, .l_start = byte,
		.l_len = 1,
	};

	(void)spw_sys_fcntl(fd, F_OFD_SETLK, (long)&lock);
	spw_sys_close(fd);
}

struct index {				/* buckets and their locks */
	uint64_t heads_off, locks_off;
	uint32_t count, shift;
	_Atomic uint64_t *parts;	/* that have memory */
};

static struct index
index_of_blocks(struct spw_map *map)
{
	const struct spw_seg_fixed *f = &map->fixed;

	return (struct index){ f->buckets_off, f->bucket_locks_off,
			       f->nbuckets, map->part_shift,
			       &map->seg->indexed };
}

static struct index
index_of_files(struct spw_map *map)
{
	const struct spw_seg_fixed *f = &map->fixed;

	return (struct index){ f->fbuckets_off, f->fbucket_locks_off,
			       f->nfbuckets, map->fpart_shift,
			       &map->seg->findexed };
}

/* Parts [from, to), and the locks that go with them. */
static int
reserve_parts(const struct index *x, int fd, uint32_t from, uint32_t to)
{
	uint64_t first = (uint64_t)from << x->shift;
	uint64_t n = SPW_MIN((uint64_t)(to - from) << x->shift,
			     x->count - first);
	uint64_t lock = sizeof(struct spw_lock);
	int r = spw_reserve(fd, x->heads_off + 4 * first, 4 * n);

	if (r == 0)
		r = spw_reserve(fd, x->locks_off + lock * (first / 16),
				lock * (n / 16));
	SPW_FAILPOINT("part-reserved");
	for (uint32_t i = from; r == 0 && i < to; i++)
		atomic_fetch_or(x->parts, 1ull << i);
	return r;
}

static int
reserve_all_parts(struct index x, int fd)
{
	return reserve_parts(&x, fd, 0, ((x.count - 1) >> x.shift) + 1);
}

struct part {
	const struct spw_map *map;
	const struct index *x;
	uint32_t no;
};

static int
reserve_this(void *arg)
{
	const struct part *p = arg;
	int r, fd = open_again(p->map);

	if (fd < 0)
		return fd;
	r = reserve_parts(p->x, fd, p->no, p->no + 1);
	spw_sys_close(fd);
	return r;
}

/* Files are known also where there is no descriptor (nofile.h). What is written
 * to them is the kernel's there, if there is no memory for it yet: a drainer
 * that is a thread could not be had either. */
static int
do_for(bool is_data, int (*work)(void *arg), void *arg)
{
	return is_data ? work(arg) : spw_nofile_do(work, arg);
}

/* Without a lock, since the caller may be inside a file: who does it once more
 * changes nothing. */
static int
reserve_part(const struct spw_map *map, struct index x, uint32_t bucket)
{
	struct part part = { map, &x, bucket >> x.shift };
	int cancel, r;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	r = do_for(x.parts == &map->seg->indexed, reserve_this, &part);
	pthread_setcancelstate(cancel, NULL);
	return r;
}

int
spw_seg_index(struct spw_map *map, uint32_t bucket)
{
	return reserve_part(map, index_of_blocks(map), bucket);
}

int
spw_seg_index_files(struct spw_map *map, uint32_t fbucket)
{
	return reserve_part(map, index_of_files(map), fbucket);
}

static int
make_ready(struct spw_map *map, int fd, enum spw_pool_id pool, uint32_t from,
	   uint32_t n)
{
	int r = reserve(map, fd, pool, from, n);

	SPW_FAILPOINT("pool-reserved");
	if (r == 0)
		announce(map, pool, from, n);
	return r;
}

/* How many there should be more: as many as there are, after a full word. */
static uint32_t
next_step(const struct spw_map *map, enum spw_pool_id pool, uint32_t ready)
{
	uint32_t n = !ready ? pool_shape[pool].first
		     : ready < 64 ? 64 - ready : SPW_MIN(ready, GROW_MAX);

	return SPW_MIN(n, map->counts[pool] - ready);
}

/* Locked by us, so that not all who need more do the same at once. Who has it
 * may be stopped, and everybody needs more: after a while we do it as well. A
 * bit that is set once more costs its finder an attempt. A handler that ran
 * meanwhile is no reason to give up. */
static int
begin_growth(const struct spw_map *map)
{
	int64_t until = spw_now_ms() + GROW_PATIENCE_MS;
	int fd;

	for (;;) {
		fd = spw_seg_lock_byte(map, SPW_LOCK_BYTE_GROW);
		if (fd != -EINTR && fd != -EAGAIN)
			return fd;
		if (spw_now_ms() > until)
			return open_again(map);
		spw_sys_sleep_us(GROW_LOOK_US);
	}
}

struct growth {
	struct spw_map *map;
	enum spw_pool_id pool;
};

static int
grow(void *arg)
{
	const struct growth *g = arg;
	struct spw_map *map = g->map;
	enum spw_pool_id pool = g->pool;
	uint32_t count = map->counts[pool];
	uint32_t had = atomic_load(&map->seg->pools[pool].ready);
	uint32_t ready;
	int fd, r;

	if (had >= count)
		return -ENOSPC;
	fd = begin_growth(map);
	if (fd < 0)
		return fd;
	ready = atomic_load(&map->seg->pools[pool].ready);
	if (ready != had) {
		spw_seg_unlock_byte(fd, SPW_LOCK_BYTE_GROW);
		return 0;		/* somebody else did it */
	}
	r = make_ready(map, fd, pool, ready, next_step(map, pool, ready));
	if (r < 0 && count - ready > 64)
		r = make_ready(map, fd, pool, ready, 64 - ready % 64);
	spw_seg_unlock_byte(fd, SPW_LOCK_BYTE_GROW);
	return r;
}

int
spw_seg_grow(struct spw_map *map, enum spw_pool_id pool)
{
	struct growth g = { map, pool };
	int cancel, r;

	/* A thread that was cancelled would leave the lock behind: it goes
	 * with the descriptor, and that with the process. */
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	r = do_for(pool_shape[pool].made != SPW_MADE_TO_READ, grow, &g);
	pthread_setcancelstate(cancel, NULL);
	return r;
}

/* Whether somebody has used it, in any process. */
static bool
is_warm(uint8_t *page)
{
	unsigned char there = 0;

	return spw_sys_mincore(page, SPW_BLOCK_SIZE, &there) == 0 && there & 1;
}

void
spw_seg_meet_slots(struct spw_map *map, uint32_t slot)
{
	uint32_t word = slot / 64;
	uint32_t n = SPW_MIN(spw_seg_ready(map, SPW_POOL_SLOTS) - word * 64,
			     64u);
	uint64_t bit = 1ull << word % 64;
	_Atomic uint64_t *seen;

	if (word / 64 >= sizeof(map->mapped) / sizeof(*map->mapped))
		return;
	seen = &map->mapped[word / 64];
	if (atomic_load_explicit(seen, memory_order_relaxed) & bit)
		return;
	if (n == 64)			/* else there will be more */
		atomic_fetch_or_explicit(seen, bit, memory_order_relaxed);
	/* Older kernels do not know it: then the pages come one by one. Those
	 * that somebody has used, or made ready, are mapped many at once if
	 * it is to be read, and may be written nevertheless: that took 0.28 us
	 * a page and not 0.95. Of others it took 1.5. */
	(void)spw_sys_madvise(spw_slot(map, word * 64),
			      (uint64_t)n * SPW_BLOCK_SIZE,
			      is_warm(spw_slot(map, word * 64 + n - 1))
			      ? MADV_POPULATE_READ : MADV_POPULATE_WRITE);
}

static int
fill(struct spw_map *map, int fd, char *base, const struct spw_seg_fixed *f,
     enum spw_seg_made made)
{
	int r = spw_reserve(fd, 0, f->fbuckets_off);

	if (r < 0)
		return r;
	map->seg = (void *)base;
	map->seg->fixed = *f;
	map->seg->crc = spw_crc32c(0, f, sizeof(*f));
	point(map, base, f);
	if (made == SPW_MADE_WHOLE)
		r = reserve_all_parts(index_of_blocks(map), fd);
	if (r == 0 && made == SPW_MADE_WHOLE)
		r = reserve_all_parts(index_of_files(map), fd);
	for (int i = 0; i < SPW_POOL_COUNT && r == 0; i++)
		if (made <= pool_shape[i].made)
			r = make_ready(map, fd, i, 0, next_step(map, i, 0));
	return r;
}

static int
build(struct spw_map *map, int fd, const struct spw_seg_request *req)
{
	struct spw_seg_fixed f = {
		.magic = SPW_MAGIC, .version = SPW_VERSION,
		.layout = layout_hash(), .created = (uint64_t)spw_file_time(),
		.uid = spw_sys_geteuid(), .block_size = SPW_BLOCK_SIZE,
		.delay_ms = req->delay_ms, .workers = req->workers,
		.ends = req->ends, .margin_ms = req->margin_ms,
		.keep = req->keep,
	};
	struct spw_text job, tiers, seed;
	char *base;
	int r;

	spw_text_init(&job, f.job, sizeof(f.job));
	spw_text_put(&job, req->job);
	spw_text_init(&tiers, f.tiers, sizeof(f.tiers));
	spw_text_put(&tiers, req->tiers ? req->tiers : "");
	spw_text_init(&seed, f.seed, sizeof(f.seed));
	spw_text_put(&seed, req->seed ? req->seed : "");
	if (tiers.cut || seed.cut)
		return -ENAMETOOLONG;
	r = spw_seg_note_boot(f.boot_id);
	if (r < 0)
		return r;
	lay_out(&f, req);
	r = spw_reserve_size(fd, f.size);
	if (r < 0)
		return r;
	r = map_file(fd, f.size, &base);
	if (r < 0)
		return r;
	r = fill(map, fd, base, &f, req->made);
	if (r < 0)
		spw_sys_munmap(base, f.size);
	else
		atomic_store(&map->seg->weights, req->weights);
	return r;
}

int
spw_seg_link(int fd, const char *path)
{
	char self[40];
	struct spw_text t;

	spw_text_init(&t, self, sizeof(self));
	spw_text_fmt(&t, "/proc/thread-self/fd/%u", (unsigned)fd);
	return (int)spw_syscall(SYS_linkat, AT_FDCWD, (long)self, AT_FDCWD,
				(long)path, AT_SYMLINK_FOLLOW, 0);
}

static int
publish(struct spw_map *map, int fd)
{
	struct stat st;
	int r = spw_sys_fstat(fd, &st);

	if (r < 0)
		return r;
	map->dev = st.st_dev;
	map->ino = st.st_ino;
	return spw_seg_link(fd, map->path);
}

int
spw_seg_create(const struct spw_seg_request *req, struct spw_map *ret_map)
{
	struct spw_map map = { 0 };
	char dir[SPW_SEG_PATH_MAX];
	int fd, r = spw_seg_own_dir(req->dir);

	if (r < 0)
		return r;
	r = spw_seg_path(req->dir, req->job, map.path, sizeof(map.path));
	if (r < 0)
		return r;
	spw_seg_path(req->dir, NULL, dir, sizeof(dir));
	fd = spw_sys_open(dir, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	if (fd < 0)
		return fd;
	r = build(&map, fd, req);
	if (r == 0) {
		r = publish(&map, fd);
		if (r < 0)
			spw_sys_munmap(map.base, map.fixed.size);
	}
	spw_sys_close(fd);
	if (r == 0) {
		SPW_FAILPOINT("seg-linked");
		*ret_map = map;
	}
	return r;
}

static int
check(int fd, struct spw_seg_fixed *ret_fixed, struct spw_map *ret_map)
{
	struct spw_seg head;
	struct stat st;
	int r = spw_sys_fstat(fd, &st);

	if (r < 0)
		return r;
	if (st.st_nlink == 0)
		return -ENOENT;		/* removed just now */
	if (!S_ISREG(st.st_mode) || st.st_uid != spw_sys_geteuid() ||
	    (st.st_mode & 077) || st.st_nlink != 1)
		return -EPERM;
	if (spw_sys_pread(fd, &head, sizeof(head), 0) != sizeof(head))
		return -EBADMSG;
	if (head.fixed.magic != SPW_MAGIC)
		return -EBADMSG;
	if (head.fixed.version != SPW_VERSION ||
	    head.fixed.layout != layout_hash())
		return -EPROTO;
	if (spw_crc32c(0, &head.fixed, sizeof(head.fixed)) != head.crc ||
	    head.fixed.size != (uint64_t)st.st_size || !is_sound(&head.fixed))
		return -EBADMSG;
	if (head.fixed.uid != st.st_uid)
		return -EPERM;
	if (!spw_seg_is_of_boot(head.fixed.boot_id))
		return -ESTALE;
	*ret_fixed = head.fixed;
	ret_map->dev = st.st_dev;
	ret_map->ino = st.st_ino;
	return 0;
}

int
spw_seg_attach(const char *path, struct spw_map *ret_map)
{
	int fd = spw_sys_open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW, 0);
	struct spw_map map = { 0 };
	struct spw_seg_fixed fixed;
	struct spw_text t;
	char *base;
	int r;

	if (fd < 0)
		return fd == -ELOOP ? -EPERM : fd;
	spw_text_init(&t, map.path, sizeof(map.path));
	spw_text_put(&t, path);
	r = t.cut ? -ENAMETOOLONG : check(fd, &fixed, &map);
	if (r == 0)
		r = map_file(fd, fixed.size, &base);
	spw_sys_close(fd);
	if (r < 0)
		return r;
	/* The copy that was checked rules, whatever the mapping says later. */
	point(&map, base, &fixed);
	*ret_map = map;
	return 0;
}

void
spw_seg_detach(struct spw_map *map)
{
	if (map->base)
		spw_sys_munmap(map->base, map->fixed.size);
	map->base = NULL;
}
