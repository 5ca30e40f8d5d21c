/* SPDX-License-Identifier: BSD-3-Clause */
/* proc.c -- process records; a pid counts only with its start time */

/*
 * A segment is removed by who has its lock (SPW_LOCK_BYTE_JOIN), says so in
 * seg.removing, and finds no record of anybody else afterwards. Who joins makes
 * his record and looks at that word afterwards: one of the two sees the other.
 * So nobody who joins waits for another who does, and may be stopped; only for
 * who may be about to remove it, and not for ever.
 *
 * A robust mutex would die with the thread that took it, so a process is
 * known by pid, start time and pid namespace. Pids of another namespace mean
 * nothing to us: there a process lives until the namespace ends. A record
 * copied for a child before fork carries the parent's pid with EMBRYO set and
 * no start time. If there never is a child, it goes with the parent; else
 * parent and child both put the child's pid there, for the parent may end
 * before the child has run. A parent that was killed right after fork names
 * nobody: its embryo is given some time to be born.
 */
#include "shm/proc.h"

#include <errno.h>

#include "shm/failpoint.h"
#include "shm/files.h"
#include "shm/lane.h"
#include "shm/pidns.h"
#include "shm/sys.h"
#include "shm/text.h"
#include "shm/util.h"

#define EMBRYO 0x80000000u

enum {
	BIRTH_MS = 5000,
	JOIN_MS = 10000, REMOVE_MS = 1000, LOOK_US = 500,
};

/* A number of /proc/PID/stat; p is at the end of field 2. */
static uint64_t
field_of(const char *p, int no)
{
	uint64_t value = 0;

	for (int field = 2; field < no && *p; p++)
		field += *p == ' ';
	while (*p >= '0' && *p <= '9')
		value = value * 10 + (uint64_t)(*p++ - '0');
	return value;
}

/* Who cannot look, for want of descriptors say, has not seen anybody dead. */
static uint64_t
without_looking(uint32_t pid, int64_t err)
{
	return err == -ENOENT || err == -ESRCH ||
	       spw_sys_kill((int)pid, 0) == -ESRCH ? 0 : SPW_PROC_UNREAD;
}

enum { STAT_MAX = 512 };

/* /proc/PID/stat; 0 or a negative errno. *ret_end: of field 2, or NULL. */
static int64_t
read_stat(uint32_t pid, char line[STAT_MAX], char **ret_end)
{
	char path[32];
	struct spw_text t;
	int64_t n;
	int fd;

	spw_text_init(&t, path, sizeof(path));
	spw_text_fmt(&t, "/proc/%u/stat", pid);
	fd = spw_sys_open(path, O_RDONLY | O_CLOEXEC, 0);
	if (fd < 0)
		return fd;
	n = spw_sys_read(fd, line, STAT_MAX - 1);
	spw_sys_close(fd);
	if (n < 0)
		return n;
	line[n] = '\0';
	/* The name in parentheses may hold blanks; fields count from it. */
	*ret_end = strrchr(line, ')');
	return 0;
}

/* A first thread that ended is a zombie as long as others live: field 20 is
 * how many there are. */
uint64_t
spw_proc_start_time(uint32_t pid)
{
	char line[STAT_MAX], *p;
	int64_t r = read_stat(pid, line, &p);

	if (r < 0)
		return without_looking(pid, r);
	if (!p || p[1] == '\0' || p[2] == 'X' ||
	    (p[2] == 'Z' && field_of(p, 20) <= 1))
		return 0;		/* gone, or a zombie: writes no more */
	return field_of(p, 22);
}

static uint64_t
own_start_time(uint32_t pid)
{
	uint64_t start = spw_proc_start_time(pid);

	return start == SPW_PROC_UNREAD ? 0 : start;
}

/* -ESTALE: the segment was removed before our record was in it; -EAGAIN: there
 * is no room for more records. */
static int
claim_as(struct spw_map *map, uint32_t pid, uint32_t *ret_proc)
{
	int r;

	do {
		uint32_t ready = spw_seg_ready(map, SPW_POOL_PROCS);

		for (uint32_t i = 0; i < ready; i++) {
			struct spw_proc *p = &map->procs[i];
			uint32_t nobody = 0;

			if (!atomic_compare_exchange_strong(&p->pid, &nobody,
							    pid))
				continue;
			for (int k = 0; k < SPW_MAP_CHUNKS; k++)
				p->chunks[k] = SPW_NONE;
			p->pidns = spw_pidns_own();
			atomic_store(&p->stands_by, 0);
			atomic_store(&p->orphaned, 0);
			atomic_store(&p->leaving, 0);
			atomic_store(&p->start, pid & EMBRYO ? 0
				     : own_start_time(pid));
			*ret_proc = i;
			return 0;
		}
		r = spw_seg_grow(map, SPW_POOL_PROCS);
	} while (r == 0);
	return r == -ENOENT ? -ESTALE : r == -ENOSPC ? -EAGAIN : r;
}

int
spw_proc_claim(struct spw_map *map, uint32_t *ret_proc)
{
	return claim_as(map, (uint32_t)spw_sys_getpid(), ret_proc);
}

/* The lock, if it is to be had before long. */
static int
lock_soon(const struct spw_map *map, int64_t ms)
{
	int64_t until = spw_now_ms() + ms;
	int fd;

	while ((fd = spw_seg_lock_byte(map, SPW_LOCK_BYTE_JOIN)) == -EAGAIN &&
	       spw_now_ms() < until)
		spw_sys_sleep_us(LOOK_US);
	return fd == -ENOENT ? -ESTALE : fd;
}

int
spw_proc_shut_out(struct spw_map *map)
{
	int fd = lock_soon(map, REMOVE_MS);

	if (fd >= 0)
		atomic_store(&map->seg->removing, 1);
	return fd;
}

void
spw_proc_let_in(struct spw_map *map, int fd)
{
	atomic_store(&map->seg->removing, 0);
	spw_seg_unlock_byte(fd, SPW_LOCK_BYTE_JOIN);
}

static int
is_linked(const struct spw_map *map)
{
	struct stat st;
	int r = spw_sys_fstatat(AT_FDCWD, map->path, &st, AT_SYMLINK_NOFOLLOW);

	if (r < 0)
		return r == -ENOENT ? -ESTALE : r;
	return spw_seg_is(map, &st) ? 0 : -ESTALE;
}

/* Whether it stays, for one whose record is there. */
static int
await_decision(struct spw_map *map)
{
	int fd;

	if (atomic_load(&map->seg->removing)) {
		fd = lock_soon(map, JOIN_MS);
		if (fd < 0)
			return fd == -EAGAIN ? -EBUSY : fd;
		spw_proc_let_in(map, fd);	/* he may have died */
	}
	return is_linked(map);
}

void
spw_proc_disown(struct spw_map *map, uint32_t proc)
{
	atomic_store(&map->procs[proc].start, 0);
	atomic_store(&map->procs[proc].pid, 0);
}

int
spw_proc_expect(struct spw_map *map, uint32_t *ret_proc)
{
	int r = spw_proc_claim(map, ret_proc);

	if (r == 0)
		atomic_store(&map->procs[*ret_proc].stands_by, 1);
	return r;
}

int
spw_proc_join(struct spw_map *map, uint32_t *ret_proc)
{
	int r = spw_proc_claim(map, ret_proc);

	if (r < 0)
		return r;
	SPW_FAILPOINT("proc-joining");
	r = await_decision(map);
	if (r < 0)
		spw_proc_disown(map, *ret_proc);
	return r;
}

static _Atomic uint32_t *
entry(const struct spw_map *map, uint32_t proc, int fd)
{
	uint32_t chunk;

	if (fd < 0 || fd >= SPW_MAP_FDS * SPW_MAP_CHUNKS)
		return NULL;
	chunk = map->procs[proc].chunks[fd / SPW_MAP_FDS];
	if (chunk >= map->counts[SPW_POOL_MAPS])
		return NULL;
	return &map->maps[(uint64_t)chunk * SPW_MAP_FDS +
			  (uint32_t)fd % SPW_MAP_FDS];
}

uint32_t
spw_proc_get_fd(const struct spw_map *map, uint32_t proc, int fd)
{
	_Atomic uint32_t *e = entry(map, proc, fd);

	return e ? atomic_load(e) : 0;
}

static int
add_chunk(struct spw_me *me, uint32_t proc, int fd)
{
	struct spw_map *map = me->map;
	uint32_t chunk;

	if (fd < 0 || fd >= SPW_MAP_FDS * SPW_MAP_CHUNKS ||
	    !spw_pool_take(me, SPW_POOL_MAPS, 1, &chunk))
		return -ENOSPC;
	memset((void *)&map->maps[(uint64_t)chunk * SPW_MAP_FDS], 0,
	       SPW_MAP_FDS * sizeof(*map->maps));
	spw_pool_use(map, SPW_POOL_MAPS, chunk, 0);
	map->procs[proc].chunks[fd / SPW_MAP_FDS] = chunk;
	return 0;
}

int
spw_proc_set_fd(struct spw_me *me, uint32_t proc, int fd, uint32_t ofd)
{
	_Atomic uint32_t *e = entry(me->map, proc, fd);
	int r;

	if (!e && !ofd)
		return 0;
	if (!e) {
		r = add_chunk(me, proc, fd);
		if (r < 0)
			return r;
		e = entry(me->map, proc, fd);
	}
	atomic_store(e, ofd);
	return 0;
}

/* Mappings live on in a child. */
static void
copy_pins(struct spw_map *map, uint32_t from, uint32_t to)
{
	for (int i = 0; i < SPW_PROC_PINS; i++) {
		uint32_t pin = atomic_load(&map->procs[from].pins[i]);

		if (!pin)
			continue;
		atomic_fetch_add(&map->files[pin - 1].opens, 1);
		atomic_store(&map->procs[to].pins[i], pin);
	}
}

int
spw_proc_copy(struct spw_me *me, uint32_t proc, uint32_t *ret_proc)
{
	struct spw_map *map = me->map;
	uint32_t copy;
	int r = claim_as(map, (uint32_t)spw_sys_getpid() | EMBRYO, &copy);

	if (r < 0)
		return r;
	copy_pins(map, proc, copy);
	for (int fd = 0; fd < SPW_MAP_FDS * SPW_MAP_CHUNKS; fd++) {
		uint32_t ofd = 0;

		if (map->procs[proc].chunks[fd / SPW_MAP_FDS] >=
		    map->counts[SPW_POOL_MAPS])
			fd |= SPW_MAP_FDS - 1;	/* the whole chunk */
		else
			ofd = spw_proc_get_fd(map, proc, fd);
		if (!ofd)
			continue;
		spw_ofd_ref(map, ofd - 1);
		r = spw_proc_set_fd(me, copy, fd, ofd);
		if (r < 0) {
			spw_ofd_unref(me, ofd - 1);
			spw_proc_release(me, copy);
			return r;
		}
	}
	*ret_proc = copy;
	return 0;
}

void
spw_proc_name_child(struct spw_map *map, uint32_t proc, uint32_t pid)
{
	uint32_t embryo = (uint32_t)spw_sys_getpid() | EMBRYO;

	/* Else the child has settled in already. */
	(void)atomic_compare_exchange_strong(&map->procs[proc].pid, &embryo,
					     pid);
}

void
spw_proc_settle_in(struct spw_map *map, uint32_t proc)
{
	struct spw_proc *p = &map->procs[proc];
	uint32_t pid = (uint32_t)spw_sys_getpid();

	/* At no time is there one's pid with the other's start. */
	p->pidns = spw_pidns_own();
	atomic_store(&p->start, 0);
	atomic_store(&p->pid, pid);
	atomic_store(&p->start, own_start_time(pid));
}

void
spw_proc_release(struct spw_me *me, uint32_t proc)
{
	struct spw_map *map = me->map;
	struct spw_proc *p = &map->procs[proc];

	for (int k = 0; k < SPW_MAP_CHUNKS; k++) {
		uint32_t chunk = p->chunks[k];

		if (chunk >= map->counts[SPW_POOL_MAPS])
			continue;
		for (int i = 0; i < SPW_MAP_FDS; i++) {
			uint32_t ofd = atomic_exchange(
				entry(map, proc, k * SPW_MAP_FDS + i), 0);

			if (ofd && ofd <= map->counts[SPW_POOL_OFDS])
				spw_ofd_unref(me, ofd - 1);
		}
		p->chunks[k] = SPW_NONE;
		spw_pool_give(me, SPW_POOL_MAPS, chunk);
	}
	for (int i = 0; i < SPW_PROC_PINS; i++) {
		uint32_t file = atomic_exchange(&p->pins[i], 0);

		if (file && file <= map->counts[SPW_POOL_FILES])
			spw_file_close(me, file - 1);
	}
	atomic_store(&p->start, 0);
	atomic_store(&p->pid, 0);
}

/* populated: a namespace that is known to have processes, for the next. */
static bool
lives(const struct spw_map *map, uint32_t proc, uint64_t *populated)
{
	const struct spw_proc *p = &map->procs[proc];
	uint32_t now, pid = atomic_load(&p->pid);
	uint64_t start = atomic_load(&p->start), found;

	while ((now = atomic_load(&p->pid)) != pid) {
		pid = now;
		start = atomic_load(&p->start);
	}
	pid &= ~EMBRYO;
	if (!pid)
		return false;
	if (p->pidns != spw_pidns_own() || !spw_pidns_is_shown()) {
		if (p->pidns != *populated &&
		    spw_pidns_has_ended(p->pidns))
			return false;
		*populated = p->pidns;
		return true;
	}
	found = spw_proc_start_time(pid);
	/* start 0: claimed a moment ago, or died while claiming. */
	return found && (!start || found == start || found == SPW_PROC_UNREAD);
}

uint32_t
spw_proc_stopped(const struct spw_map *map, uint32_t proc)
{
	const struct spw_proc *p = &map->procs[proc];
	uint32_t pid = atomic_load(&p->pid);
	char line[STAT_MAX], *end;

	return pid && p->pidns == spw_pidns_own() &&
	       read_stat(pid, line, &end) == 0 && end && end[1] &&
	       (end[2] == 'T' || end[2] == 't') ? pid : 0;
}

bool
spw_proc_is_alive(const struct spw_map *map, uint32_t proc)
{
	uint64_t populated = 0;

	return lives(map, proc, &populated);
}

/* A child in the making carries a mark beside the number. */
static bool
is_of(const struct spw_proc *p, uint32_t pid)
{
	return atomic_load(&p->pid) == pid && p->pidns == spw_pidns_own();
}

void
spw_proc_has_come(struct spw_map *map)
{
	uint32_t ready = spw_seg_ready(map, SPW_POOL_PROCS);

	for (uint32_t i = 0; i < ready; i++)
		if (is_of(&map->procs[i], (uint32_t)spw_sys_getpid()) &&
		    atomic_load(&map->procs[i].stands_by))
			spw_proc_disown(map, i);
}

void
spw_proc_leave(const struct spw_map *map, uint32_t pid)
{
	uint32_t ready = spw_seg_ready(map, SPW_POOL_PROCS);

	for (uint32_t i = 0; i < ready; i++)
		if (is_of(&map->procs[i], pid))
			atomic_store(&map->procs[i].leaving, 1);
}

bool
spw_proc_any_other(const struct spw_map *map, uint32_t pid)
{
	uint32_t ready = spw_seg_ready(map, SPW_POOL_PROCS);

	for (uint32_t i = 0; i < ready; i++) {
		const struct spw_proc *p = &map->procs[i];

		if (atomic_load(&p->pid) && !is_of(p, pid) &&
		    !(pid && atomic_load(&p->leaving)) &&
		    spw_proc_is_alive(map, i))
			return true;
	}
	return false;
}

static bool
may_be_born(struct spw_proc *p)
{
	int64_t now = spw_now_ms(), since = atomic_load(&p->orphaned);

	if (!(atomic_load(&p->pid) & EMBRYO))
		return false;
	if (!since)
		atomic_store(&p->orphaned, since = now);
	return now - since < BIRTH_MS;
}

uint32_t
spw_proc_reap(struct spw_me *me)
{
	uint32_t alive = 0, ready = spw_seg_ready(me->map, SPW_POOL_PROCS);
	uint64_t populated = 0;

	for (uint32_t i = 0; i < ready; i++) {
		if (!atomic_load(&me->map->procs[i].pid))
			continue;
		if (lives(me->map, i, &populated) ||
		    may_be_born(&me->map->procs[i]))
			alive++;
		else
			spw_proc_release(me, i);
	}
	return alive;
}
