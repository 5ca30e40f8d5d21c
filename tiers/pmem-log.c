/* SPDX-License-Identifier: BSD-3-Clause */
/* pmem-log.c -- puts objects into a file of tier pmem, and takes them out */

#include "tiers/pmem-log.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shm/crc32c.h"
#include "shm/failpoint.h"
#include "shm/sys.h"
#include "shm/util.h"

static uint32_t
slots_for(uint64_t size)
{
	uint64_t n = size / SPW_PMEM_PER_SLOT;

	return (uint32_t)SPW_MIN(n, SPW_PMEM_SLOTS_MOST);
}

uint64_t
spw_pmem_log_overhead(uint64_t size)
{
	return SPW_PMEM_SLOTS_AT + (uint64_t)slots_for(size) *
	       sizeof(struct spw_pmem_slot);
}

void
spw_pmem_log_name(uint32_t number, char ret_name[32])
{
	(void)snprintf(ret_name, 32, "pmem-%04x.log", number);
}

bool
spw_pmem_log_number(const char *name, uint32_t *ret_number)
{
	char again[32];

	if (sscanf(name, "pmem-%4x.log", ret_number) != 1 || !*ret_number)
		return false;
	spw_pmem_log_name(*ret_number, again);
	return !strcmp(name, again);
}

static uint64_t
slot_at(uint32_t slot)
{
	return SPW_PMEM_SLOTS_AT + (uint64_t)slot *
	       sizeof(struct spw_pmem_slot);
}

/* Storing. */

static void
note_written(struct spw_pmem_log *l, uint64_t at, uint64_t n)
{
	if (!l->real)
		l->to = SPW_MAX(l->to, at + n);
}

/* On persistent memory: on its way, until the next drain. */
static int
store(struct spw_pmem_log *l, uint64_t at, const void *buf, size_t n)
{
	note_written(l, at, n);
	if (!l->is_pmem)
		return spw_share_write(l->fd, buf, n, at);
	l->env->calls->copy(l->base + at, buf, n);
	return 0;
}

/* One word, whole or not at all, after everything stored before. */
static int
store_word(struct spw_pmem_log *l, uint64_t at, uint64_t word)
{
	if (!l->is_pmem)
		return store(l, at, &word, sizeof(word));
	note_written(l, at, sizeof(word));
	l->env->calls->drain();
	SPW_FAILPOINT("pmem-drained");
	atomic_store_explicit((_Atomic uint64_t *)(l->base + at), word,
			      memory_order_release);
	l->env->calls->flush(l->base + at, sizeof(word));
	l->env->calls->drain();
	return 0;
}

static int
store_slot(struct spw_pmem_log *l, uint32_t slot, const struct spw_pmem_slot *s)
{
	const size_t word = sizeof(s->state);
	int r;

	if (!l->is_pmem)		/* a sector is written whole */
		return store(l, slot_at(slot), s, sizeof(*s));
	r = store(l, slot_at(slot) + word, &s->at, sizeof(*s) - word);
	SPW_FAILPOINT("pmem-slot");
	return r < 0 ? r : store_word(l, slot_at(slot), s->state);
}

static uint64_t
state_of(const struct spw_pmem_slot *s)
{
	return SPW_PMEM_USED << 32 |
	       spw_crc32c(0, &s->at, sizeof(*s) - sizeof(s->state));
}

static uint64_t
reach_word(uint32_t reach)
{
	return reach | (uint64_t)spw_crc32c(0, &reach, sizeof(reach)) << 32;
}

/* Opening. */

static void
set_real(struct spw_pmem_log *l)
{
	l->real = l->is_pmem && l->env->trusted;
}

static struct spw_pmem_log *
new_log(const struct spw_pmem_env *env, uint32_t number)
{
	struct spw_pmem_log *l = calloc(1, sizeof(*l));

	if (!l)
		return NULL;
	l->env = env;
	l->number = number;
	l->fd = -1;
	return l;
}

void
spw_pmem_log_close(struct spw_pmem_log *l)
{
	if (!l)
		return;
	if (l->base)
		(void)l->env->calls->unmap(l->base, l->mapped);
	if (l->fd >= 0)
		spw_sys_close(l->fd);
	spw_extents_free(&l->free);
	free(l->taken);
	free(l);
}

/* len 0: the file is there. */
static int
map_file(struct spw_pmem_log *l, const char *name, size_t len)
{
	const struct spw_pmem_env *env = l->env;
	char path[PATH_MAX + 40];

	(void)snprintf(path, sizeof(path), "%s/%s", env->share->path, name);
	errno = EIO;
	l->base = env->calls->map(path, len, &l->mapped, &l->is_pmem);
	if (!l->base)
		return -errno;
	set_real(l);
	return 0;
}

static int
open_file(struct spw_pmem_log *l, const char *name)
{
	int flags = l->env->calls ? O_RDWR : O_RDONLY;

	l->fd = spw_share_open_file(l->env->share, name, flags);
	return l->fd < 0 ? l->fd : 0;
}

static int
prepare(struct spw_pmem_log *l, struct spw_extent *used, size_t nused)
{
	if (!l->taken)
		l->taken = calloc(l->nslots / 64 + 1, sizeof(*l->taken));
	if (!l->taken)
		return -ENOMEM;
	return spw_extents_build(&l->free, l->data_at, l->size, used, nused);
}

static int
write_head(struct spw_pmem_log *l)
{
	struct spw_pmem_head h = {
		.magic = SPW_PMEM_MAGIC, .version = SPW_PMEM_VERSION,
		.size = l->size, .data_at = l->data_at, .nslots = l->nslots,
		.number = l->number,
	};
	int r;

	h.crc = spw_crc32c(0, &h.version, sizeof(h) -
			   offsetof(struct spw_pmem_head, version));
	r = store(l, 0, &h, sizeof(h));
	if (r == 0 && l->is_pmem)
		l->env->calls->drain();
	return r < 0 ? r : (int)spw_syscall(SYS_fsync, l->fd, 0, 0, 0, 0, 0);
}

static int
build(struct spw_pmem_log *l, const char *fresh, const char *name)
{
	const struct spw_share *share = l->env->share;
	int r;

	(void)spw_share_unlink(share, fresh);	/* of one who died */
	r = map_file(l, fresh, l->size);
	if (r == 0)
		r = open_file(l, fresh);
	if (r == 0)
		r = prepare(l, NULL, 0);
	if (r == 0)
		r = write_head(l);
	SPW_FAILPOINT("pmem-head");
	if (r == 0)
		r = spw_share_publish(share, fresh, name);
	if (r < 0)
		return r;
	r = spw_share_sync(share);
	if (r < 0)
		(void)spw_share_unlink(share, name);
	return r;
}

int
spw_pmem_log_create(const struct spw_pmem_env *env, uint32_t number,
		    uint64_t size, struct spw_pmem_log **ret_log)
{
	struct spw_pmem_log *l = new_log(env, number);
	char name[32], fresh[40];
	int r;

	if (!l)
		return -ENOMEM;
	l->size = l->there = size;
	l->nslots = slots_for(size);
	l->data_at = spw_pmem_log_overhead(size);
	spw_pmem_log_name(number, name);
	(void)snprintf(fresh, sizeof(fresh), "%s.new", name);
	r = build(l, fresh, name);
	if (r < 0) {
		(void)spw_share_unlink(env->share, fresh);
		spw_pmem_log_close(l);
		return r;
	}
	*ret_log = l;
	return 0;
}

static bool
is_head(const struct spw_pmem_head *h, uint32_t number)
{
	uint64_t slots_end = SPW_PMEM_SLOTS_AT + (uint64_t)h->nslots *
			     sizeof(struct spw_pmem_slot);

	return !memcmp(h->magic, SPW_PMEM_MAGIC, sizeof(h->magic)) &&
	       h->crc == spw_crc32c(0, &h->version, sizeof(*h) -
				    offsetof(struct spw_pmem_head, version)) &&
	       h->version == SPW_PMEM_VERSION && h->number == number &&
	       h->nslots <= SPW_PMEM_SLOTS_MOST && h->data_at <= h->size &&
	       slots_end <= h->data_at;
}

/* Neither is in the sum of the head: what is not there says nothing. */
static void
read_marks(struct spw_pmem_log *l)
{
	uint64_t word[2] = { 0, 0 };

	if (spw_share_read(l->fd, word, sizeof(word), SPW_PMEM_MARK_AT) < 0)
		return;
	l->mark = word[0];
	if (word[1] == reach_word((uint32_t)word[1]))
		l->reach = l->noted = SPW_MIN((uint32_t)word[1], l->nslots);
}

static int
read_head(struct spw_pmem_log *l)
{
	struct spw_pmem_head h;
	struct stat st;
	int r = spw_sys_fstat(l->fd, &st);

	if (r < 0)
		return r;
	l->size = (uint64_t)st.st_size;
	r = spw_share_read(l->fd, &h, sizeof(h), 0);
	l->fault = r < 0 && r != -ENODATA ? r : 0;
	/* Of one that was cut before its first object nothing is left. */
	l->bad = r < 0 || !is_head(&h, l->number) || l->size < h.data_at;
	if (l->bad)
		return 0;
	l->frozen = l->size != h.size;		/* cut, or grown */
	l->there = SPW_MIN(l->size, h.size);
	l->size = h.size;
	l->nslots = h.nslots;
	l->data_at = h.data_at;
	read_marks(l);
	return 0;
}

static int
check_slot(const struct spw_pmem_log *l, uint32_t slot,
	   const struct spw_pmem_slot *s)
{
	if (!s->state)
		return s->at || slot >= l->noted ? -ENOENT : -EBADMSG;
	return s->state == state_of(s) && s->at % SPW_PMEM_UNIT == 0 &&
	       s->at >= l->data_at && s->at <= l->size &&
	       s->len <= l->size - s->at ? 0 : -EBADMSG;
}

static void
note_slot(struct spw_pmem_log *l, uint32_t i, const struct spw_pmem_slot *s,
	  struct spw_extent *used, size_t *nused)
{
	int r = check_slot(l, i, s);

	if (s->at)
		l->reach = SPW_MAX(l->reach, i + 1);
	if (r == -ENOENT)
		return;
	l->taken[i / 64] |= UINT64_C(1) << i % 64;
	if (r < 0) {
		l->frozen = true;
		return;
	}
	l->nlive++;
	l->live += s->len;
	used[(*nused)++] = (struct spw_extent){
		s->at, spw_round_up(s->len, SPW_PMEM_UNIT) };
}

/* They may be of use: list says that they cannot be read. */
static void
note_unread(struct spw_pmem_log *l, uint32_t i, uint32_t end)
{
	l->frozen = true;
	if (l->noted)
		end = SPW_MIN(end, l->noted);
	for (; i < end; i++)
		l->taken[i / 64] |= UINT64_C(1) << i % 64;
}

static int
read_slots(struct spw_pmem_log *l, struct spw_pmem_slot *some, uint32_t most,
	   struct spw_extent *used)
{
	enum { FEW = 4096 / sizeof(*some) };	/* what fails together */
	uint32_t i, k, n;
	size_t nused = 0;
	int r;

	for (i = 0; i < l->nslots; i += n) {
		n = SPW_MIN(most, l->nslots - i);
		r = spw_share_read(l->fd, some, n * sizeof(*some), slot_at(i));
		if (r < 0) {
			n = SPW_MIN((uint32_t)FEW, n);
			r = spw_share_read(l->fd, some, n * sizeof(*some),
					   slot_at(i));
		}
		if (r < 0)
			note_unread(l, i, i + n);
		for (k = 0; k < n && r == 0; k++)
			note_slot(l, i + k, &some[k], used, &nused);
	}
	r = prepare(l, used, nused);
	l->frozen |= r == -EBADMSG;
	return r == -EBADMSG ? 0 : r;
}

static int
load_slots(struct spw_pmem_log *l)
{
	enum { MOST = 4096 };
	struct spw_pmem_slot *some = calloc(MOST, sizeof(*some));
	struct spw_extent *used = calloc(l->nslots + 1, sizeof(*used));
	int r = -ENOMEM;

	l->taken = calloc(l->nslots / 64 + 1, sizeof(*l->taken));
	if (some && used && l->taken)
		r = read_slots(l, some, MOST, used);
	free(some);
	free(used);
	return r;
}

int
spw_pmem_log_open(const struct spw_pmem_env *env, uint32_t number,
		  struct spw_pmem_log **ret_log)
{
	struct spw_pmem_log *l = new_log(env, number);
	char name[32];
	int r;

	if (!l)
		return -ENOMEM;
	spw_pmem_log_name(number, name);
	r = open_file(l, name);
	if (r == 0)
		r = read_head(l);
	if (env->keeps && r != -ENOENT && spw_share_is_its_own(r)) {
		l->bad = true;
		l->fault = r == -EPERM ? 0 : r;	/* something else has its
						 * name */
	}
	if (l->bad)
		r = 0;
	if (r == 0 && !l->bad)
		r = load_slots(l);
	if (r == 0 && !l->bad && !l->frozen && env->calls)
		r = map_file(l, name, 0);
	if (r == 0 && l->base && l->mapped < l->size)
		r = -EAGAIN;			/* cut just now */
	set_real(l);
	if (r < 0) {
		spw_pmem_log_close(l);
		return r;
	}
	if (!l->real && l->nlive)	/* by one who died before a sync */
		l->to = l->size;
	*ret_log = l;
	return 0;
}

/* Putting. */

/* The file is not the one in the share any more, or not as long as it was. */
static bool
is_cut(struct spw_pmem_log *l)
{
	struct stat st;

	if (spw_sys_fstat(l->fd, &st) < 0 || st.st_nlink == 0 ||
	    (uint64_t)st.st_size < l->there)
		l->cut = l->frozen = true;
	return l->frozen;
}

static uint32_t
find_slot(struct spw_pmem_log *l)
{
	uint32_t i, words = l->nslots / 64 + 1, w, bit;

	for (i = 0; i < words; i++) {
		w = (l->next + i) % words;
		if (l->taken[w] == UINT64_MAX)
			continue;
		bit = (uint32_t)__builtin_ctzll(~l->taken[w]);
		if (w * 64 + bit >= l->nslots)
			continue;
		l->next = w;
		return w * 64 + bit;
	}
	return UINT32_MAX;
}

/* Pages that are touched for the first time come one by one, each at the price
 * of a small put: they are asked for together. Where the kernel does not know
 * that, they come as before; where the file was cut meanwhile, it says so. */
static void
meet_pages(struct spw_pmem_log *l, uint64_t at, uint64_t len)
{
	enum { TOGETHER = 256 << 10 };	/* bytes: 64 pages, or 4 large ones */
	uint64_t from = SPW_MAX(at - at % TOGETHER, l->met);
	uint64_t to = SPW_MIN(spw_round_up(at + len, TOGETHER),
			      (uint64_t)l->mapped);

	if (!l->is_pmem || at + len <= l->met || from >= to)
		return;
	(void)spw_sys_madvise(l->base + from, to - from, MADV_POPULATE_WRITE);
	l->met = to;
}

static int
write_object(struct spw_pmem_log *l, uint32_t slot, const void *buf,
	     struct spw_pmem_slot *s)
{
	struct spw_pmem_slot was = { .state = 0 };
	int r;

	r = spw_share_read(l->fd, &was, sizeof(was), slot_at(slot));
	s->gen = (was.gen + 1) & 0xffffff;
	s->turn = l->real ? 0 : l->mark + 1;
	s->bind = spw_crc32c(0, buf, SPW_MIN(s->len, SPW_PMEM_BOUND));
	s->state = state_of(s);
	if (r == 0)
		r = store(l, s->at, buf, s->len);
	SPW_FAILPOINT("pmem-data");
	return r < 0 ? r : store_slot(l, slot, s);
}

/* Elsewhere it waits for the sync that makes the slot durable. */
static void
note_reach(struct spw_pmem_log *l, uint32_t slot)
{
	if (slot < l->reach)
		return;
	l->reach = slot + 1;
	if (l->real && store_word(l, SPW_PMEM_REACH_AT,
				  reach_word(l->reach)) == 0)
		l->noted = l->reach;
}

int
spw_pmem_log_put(struct spw_pmem_log *l, const void *buf, size_t len,
		 uint64_t below, uint32_t *ret_slot, uint32_t *ret_gen)
{
	uint64_t room = spw_round_up(len, SPW_PMEM_UNIT);
	struct spw_pmem_slot s = { .len = len };
	uint32_t slot;
	int r;

	if (!l->base || l->frozen || l->err || room > l->free.fits || is_cut(l))
		return -ENOSPC;
	slot = find_slot(l);
	if (slot == UINT32_MAX)
		return -ENOSPC;
	s.at = spw_extents_take(&l->free, room, below);
	if (s.at == UINT64_MAX)
		return -ENOSPC;
	meet_pages(l, s.at, len);
	r = write_object(l, slot, buf, &s);
	if (r < 0) {
		(void)spw_extents_give(&l->free, s.at, room);
		return r;
	}
	SPW_FAILPOINT("pmem-put");
	note_reach(l, slot);
	l->taken[slot / 64] |= UINT64_C(1) << slot % 64;
	l->nlive++;
	l->live += len;
	*ret_slot = slot;
	*ret_gen = s.gen;
	return 0;
}

int
spw_pmem_log_slot(struct spw_pmem_log *l, uint32_t slot,
		  struct spw_pmem_slot *ret_slot)
{
	int r;

	if (slot >= l->nslots)
		return -ENOENT;
	r = spw_share_read(l->fd, ret_slot, sizeof(*ret_slot), slot_at(slot));
	return r < 0 ? spw_share_fault(r) : check_slot(l, slot, ret_slot);
}

int
spw_pmem_log_clear(struct spw_pmem_log *l, uint32_t slot,
		   const struct spw_pmem_slot *was)
{
	int r;

	if (!l->base || is_cut(l))	/* then not through the mapping */
		l->real = l->is_pmem = false;
	if (!was)			/* damaged: not all zero, for once */
		(void)store_word(l, slot_at(slot) +
				 offsetof(struct spw_pmem_slot, at),
				 l->data_at);
	r = store_word(l, slot_at(slot), 0);
	if (r < 0 || !was)
		return r;
	l->nlive--;
	l->live -= was->len;
	return 0;
}

int
spw_pmem_log_release(struct spw_pmem_log *l, uint32_t slot,
		     const struct spw_extent *was)
{
	int r = 0;

	if (was->len && !l->frozen)
		r = spw_extents_give(&l->free, was->at, was->len);
	if (r == 0)
		l->taken[slot / 64] &= ~(UINT64_C(1) << slot % 64);
	return r;
}

/* Not waited for: it goes to disk with the next sync, or before. */
static void
move_mark(struct spw_pmem_log *l)
{
	uint64_t word[2] = { ++l->mark, reach_word(l->reach) };

	if (spw_share_write(l->fd, word, sizeof(word), SPW_PMEM_MARK_AT) == 0)
		l->noted = l->reach;
}

/* After a failure nobody knows what of it is on the disk, and the kernel
 * tells it once. So it is an error until the objects are gone. Pages that
 * were not written are clean, and cost nothing. */
int
spw_pmem_log_sync(struct spw_pmem_log *l)
{
	if (l->err && l->nlive)
		return l->err;
	(void)is_cut(l);
	if (l->cut && l->nlive)
		return -EIO;
	if (!l->to)
		return 0;
	l->err = 0;
	if (l->base)
		l->err = l->env->calls->msync(l->base, l->to) < 0 ? -errno : 0;
	else
		l->err = spw_share_fdatasync(l->fd);
	if (l->err)
		return l->err;
	l->to = 0;
	move_mark(l);
	return 0;
}
