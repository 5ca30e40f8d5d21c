/* SPDX-License-Identifier: BSD-3-Clause */
/* fdtab.c -- managing descriptors: open, close, dup, hand on */
#include "interpose/fdtab.h"

#include <linux/xattr.h>
#include <sys/single_threaded.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "interpose/agent.h"
#include "interpose/jobs.h"
#include "interpose/kept.h"
#include "interpose/leave.h"
#include "interpose/own.h"
#include "interpose/process.h"
#include "shm/below.h"
#include "shm/claims.h"
#include "shm/names.h"
#include "shm/proc.h"
#include "shm/stamp.h"
#include "shm/text.h"

enum { SECURE_US = 30, SECURE_MS = 100 };

_Atomic uint32_t spw_fdtab[SPW_FD_MAX];

static int64_t
nanoseconds(const struct statx_timestamp *ts)
{
	return ts->tv_sec * 1000000000 + ts->tv_nsec;
}

static inline uint32_t
entry(int fd)
{
	return (unsigned)fd < SPW_FD_MAX
	       ? atomic_load_explicit(&spw_fdtab[fd], memory_order_relaxed)
	       : 0;
}

static inline void
take_hold(struct spw_grip *g, int fd, uint32_t ofd)
{
	g->ofd = &spw_front.map.ofds[ofd - 1];
	g->t.file = g->ofd->file;
	g->t.fd = fd;
	g->t.readable = atomic_load_explicit(&g->ofd->flags,
					     memory_order_relaxed) &
			SPW_OFD_READ;
	g->t.end_locked = false;
	g->f = &spw_front.map.files[g->t.file];
}

static inline bool
look(int fd, struct spw_grip *g)
{
	uint32_t ofd = entry(fd);

	if (!ofd)
		return false;
	g->me = spw_front_me();
	take_hold(g, fd, ofd);
	return g->me != NULL;
}

/* Ordered before the second look at the table: who parts with a description
 * changes that first, and looks at the lanes afterwards. */
static inline bool
look_and_keep(int fd, struct spw_grip *g)
{
	bool alone = __libc_single_threaded;
	uint32_t ofd = entry(fd);

	g->me = ofd ? spw_front_me() : NULL;
	if (!g->me)
		return false;
	g->held = atomic_load_explicit(&g->me->lane->holds,
				       memory_order_relaxed);
	while (!alone && ofd) {
		uint32_t was = ofd;

		atomic_store(&g->me->lane->holds, ofd);
		ofd = entry(fd);
		if (ofd == was)
			break;
	}
	if (!ofd) {
		spw_fdtab_let_go(g);
		return false;
	}
	take_hold(g, fd, ofd);
	return true;
}

void
spw_fdtab_step_slow(struct spw_grip *g)
{
	(void)spw_sys_lseek(g->t.fd, (int64_t)atomic_load(&g->ofd->pos),
			    SEEK_SET);
}

/* stdio wrote through the kernel: it goes on from there. */
static void
leave_if_out_of_step(struct spw_grip *g)
{
	int64_t pos = spw_sys_lseek(g->t.fd, 0, SEEK_CUR);

	if (pos < 0 || (uint64_t)pos == atomic_load(&g->ofd->pos))
		return;
	atomic_store(&g->ofd->pos, (uint64_t)pos);
	(void)spw_leave(g->t.fd, SPW_BYPASS_STDIO);
}

/* Whether this description may be cached under a standard number. */
static bool
suits_stdout(int fd, uint32_t flags)
{
	return fd == STDOUT_FILENO && flags & SPW_OFD_WRITE &&
	       !(flags & (SPW_OFD_APPEND | SPW_OFD_KERNEL));
}

bool
spw_fdtab_peek(int fd, struct spw_grip *ret)
{
	return look(fd, ret);
}

static inline bool
serves(struct spw_grip *g)
{
	if (SPW_UNLIKELY(atomic_load_explicit(&g->f->bypass,
					      memory_order_acquire)))
		spw_fdtab_to_kernel(g);
	else if (SPW_UNLIKELY(atomic_load_explicit(&g->ofd->flags,
						   memory_order_relaxed) &
			      SPW_OFD_STDOUT))
		leave_if_out_of_step(g);
	return !(atomic_load_explicit(&g->ofd->flags,
				      memory_order_acquire) & SPW_OFD_KERNEL);
}

bool
spw_fdtab_grip(int fd, struct spw_grip *ret)
{
	return look(fd, ret) && serves(ret);
}

bool
spw_fdtab_hold(int fd, uint32_t way, struct spw_grip *ret)
{
	if (!look_and_keep(fd, ret))
		return false;
	if (serves(ret) && (!way || atomic_load_explicit(&ret->ofd->flags,
					memory_order_relaxed) & way))
		return true;
	spw_fdtab_let_go(ret);
	return false;
}

void
spw_fdtab_to_kernel(struct spw_grip *g)
{
	struct spw_ofd *o = g->ofd;

	if (atomic_load(&o->flags) & SPW_OFD_KERNEL)
		return;
	spw_guard_enter();
	spw_lock(g->me, SPW_LOCK_OFD, &o->lock);
	if (!(atomic_load(&o->flags) & SPW_OFD_KERNEL)) {
		/* In step, or ahead of us: stdio's position counts. */
		if (!(atomic_load(&o->flags) & SPW_OFD_STDOUT))
			(void)spw_sys_lseek(g->t.fd,
					    (int64_t)atomic_load(&o->pos),
					    SEEK_SET);
		atomic_fetch_or(&o->flags, SPW_OFD_KERNEL);
	}
	spw_unlock(&o->lock);
	spw_guard_leave();
}

/* The file's own name, as the kernel knows it; the beginning of one that no
 * record has room for. */
static bool
path_of(int fd, char *path, size_t cap)
{
	char link[32];
	struct spw_text t;
	int64_t n;

	spw_text_init(&t, link, sizeof(link));
	spw_text_fmt(&t, "/proc/thread-self/fd/%u", (unsigned)fd);
	n = spw_sys_readlink(link, path, cap - 1);
	if (n <= 0)
		return false;
	path[n] = '\0';
	return true;
}

static uint32_t
ofd_flags(int flags)
{
	static const uint32_t modes[O_ACCMODE + 1] = {
		[O_RDONLY] = SPW_OFD_READ, [O_WRONLY] = SPW_OFD_WRITE,
		[O_RDWR] = SPW_OFD_READ | SPW_OFD_WRITE,
		[O_ACCMODE] = 0,	/* for ioctl alone */
	};

	return modes[flags & O_ACCMODE] |
	       (flags & O_APPEND ? SPW_OFD_APPEND : 0);
}

/* Whether a write may take away set-id bits or capabilities, which it does when
 * it is made and not when it comes home; see modes.c. */
static bool
loses_rights(int fd, int flags, const struct statx *stx)
{
	if ((flags & O_ACCMODE) == O_RDONLY)
		return false;
	if (stx->stx_mode & (S_ISUID | S_ISGID))
		return true;
	/* A new file has none, nor one that the opening has cut. */
	return !(flags & O_TRUNC) &&
	       (flags & (O_CREAT | O_EXCL)) != (O_CREAT | O_EXCL) &&
	       spw_syscall(SYS_fgetxattr, fd, (long)XATTR_NAME_CAPS, 0, 0, 0,
			   0) > 0;
}

/* Why this opening cannot be cached, if so. */
static enum spw_bypass
misfit(int fd, int flags, const struct statx *stx, const char *path)
{
	/* Another name may be where processes read without asking us. */
	if (stx->stx_nlink > 1 || !spw_front_wants(path))
		return SPW_BYPASS_OUTSIDE;
	if (fd <= 2 && !suits_stdout(fd, ofd_flags(flags)))
		return SPW_BYPASS_STDIO;
	if (atomic_load(&spw_front.rings))
		return SPW_BYPASS_IO_URING;
	if (spw_agent_has_failed())
		return SPW_BYPASS_NO_DRAINER;
	if (flags & O_DIRECT)
		return SPW_BYPASS_DIRECT;
	if (flags & (O_SYNC | O_DSYNC))
		return SPW_BYPASS_SYNC;
	/* Created without the right to be opened for writing once more, or
	 * only to append: the drainer, another process, could not get at it. */
	if (stx->stx_attributes & (STATX_ATTR_IMMUTABLE | STATX_ATTR_APPEND))
		return SPW_BYPASS_NO_REOPEN;
	if (loses_rights(fd, flags, stx))
		return SPW_BYPASS_NO_REOPEN;
	if ((flags & O_CREAT) && (flags & O_ACCMODE) != O_RDONLY &&
	    spw_sys_geteuid() != 0 && stx->stx_uid == spw_sys_geteuid() &&
	    !(stx->stx_mode & S_IWUSR))
		return SPW_BYPASS_NO_REOPEN;
	return SPW_BYPASS_NONE;
}

/* Others changed the file while some of ours is on its way home: the drainer
 * has seen it, or it is to be seen now. */
static bool
is_changed(const struct spw_file *f, int fd)
{
	int64_t ours = atomic_load(&f->home_ctime);
	struct stat st;

	if (atomic_load(&f->flags) & SPW_FILE_CHANGED)
		return true;
	return spw_file_is_unsettled(f) && ours != SPW_CTIME_MOVES &&
	       spw_sys_fstat(fd, &st) == 0 &&
	       atomic_load(&f->home_ctime) == ours &&
	       spw_file_is_foreign_time(f, spw_nanoseconds(&st.st_mtim));
}

/* Somebody outside changed the file: what we cached of it is old. What was
 * seen at the open may be older still, if the drainer came home since; behind
 * the gate, with nothing left to bring home, the kernel tells the truth. */
static void
refresh(struct spw_me *me, uint32_t file, int fd,
	const struct spw_file_seen *seen)
{
	struct spw_file *f = &me->map->files[file];
	bool changed = is_changed(f, fd);
	struct stat st;

	if (atomic_load(&f->bypass))
		return;
	if (changed)
		(void)spw_gate_settle(me, file);	/* close will tell */
	else if (spw_file_is_unsettled(f) ||
		 (atomic_load(&f->size) == seen->size &&
		  atomic_load(&f->home_mtime) == seen->mtime))
		return;
	spw_gate_close(me, file);
	if (!spw_file_is_unsettled(f) && spw_sys_fstat(fd, &st) == 0 &&
	    (changed || atomic_load(&f->size) != (uint64_t)st.st_size ||
	     atomic_load(&f->home_mtime) != spw_nanoseconds(&st.st_mtim))) {
		atomic_fetch_and(&f->flags, ~(uint32_t)SPW_FILE_CHANGED);
		spw_gate_drop(me, file, 0);
		atomic_store(&f->size, (uint64_t)st.st_size);
		spw_file_take_times(f, spw_nanoseconds(&st.st_mtim),
				    spw_nanoseconds(&st.st_ctim));
		atomic_fetch_and(&f->flags, ~(uint32_t)SPW_FILE_TIMES);
	}
	spw_gate_open(me, file);
}

static bool
enter_fd(struct spw_me *me, int fd, uint32_t ofd)
{
	if (spw_proc_set_fd(me, spw_front.proc, fd, ofd + 1) < 0)
		return false;
	atomic_store_explicit(&spw_fdtab[fd], ofd + 1, memory_order_release);
	return true;
}

static bool
ask_kernel(int fd, struct statx *stx, struct spw_file_seen *seen)
{
	/* A segment that is joined only now has a count of its own; as long
	 * as it is 0, nobody can have been before us. */
	seen->parted = seen->dropped = 0;
	if (atomic_load(&spw_front.attached)) {
		seen->parted = atomic_load(&spw_front.map.seg->parted);
		seen->dropped = spw_claims_dropped(&spw_front.map);
	}
	if (spw_sys_statx(fd, "", AT_EMPTY_PATH, STATX_BASIC_STATS |
			  STATX_BTIME, stx) < 0 || !S_ISREG(stx->stx_mode))
		return false;
	seen->mtime = nanoseconds(&stx->stx_mtime);
	seen->ctime = nanoseconds(&stx->stx_ctime);
	seen->size = stx->stx_size;
	return true;
}

/* A record that is older than this opening may know other names, which the file
 * may have no more. */
static void
note_name(struct spw_me *me, uint32_t file, const char *path)
{
	const struct spw_file *f = &me->map->files[file];

	if (path[0] && !spw_name_has(f, path))
		(void)spw_name_add(me, file, f->gen, path);
}

/* The file's record, with this opening counted; or SPW_NONE. */
static uint32_t
take_up(struct spw_me *me, int fd, struct spw_file_seen *seen)
{
	struct statx stx;
	uint32_t file;
	int r;

	do
		r = spw_file_open(me, seen, &file);
	while (r == -ESTALE && ask_kernel(fd, &stx, seen));
	if (r < 0) {
		spw_bypass_count(me->map, r == -ENAMETOOLONG
				 ? SPW_BYPASS_PATH_TOO_LONG
				 : SPW_BYPASS_NO_ROOM);
		return SPW_NONE;
	}
	spw_stamp_saw(me->map, seen->ctime);
	note_name(me, file, seen->path);
	if (!seen->made)		/* somebody may have looked at it */
		spw_stamp_looked(&me->map->files[file]);
	if (r > 0)
		spw_jobs_meet(me, file, fd, seen);
	refresh(me, file, fd, seen);
	return file;
}

/* The number is too high for the tables, or they are full: nobody will tell
 * when it is closed. */
static bool
let_be(struct spw_me *me, uint32_t file)
{
	if (spw_leave_file(me, file, SPW_BYPASS_NO_ROOM) < 0)
		return false;
	spw_leave_pin(me, file);
	return true;
}

/* Puts fd into the tables; false when there is no room for it. */
static bool
manage(struct spw_me *me, int fd, uint32_t flags, struct spw_file_seen *seen)
{
	uint32_t file = take_up(me, fd, seen), ofd = SPW_NONE;

	if (file == SPW_NONE)
		return false;
	if (flags & SPW_OFD_APPEND && fd < SPW_FD_MAX)
		spw_gate_appends(me, file);
	if (fd < SPW_FD_MAX && spw_ofd_new(me, file, flags, 0, &ofd) == 0 &&
	    enter_fd(me, fd, ofd))
		return true;
	(void)let_be(me, file);		/* or old bytes are read there */
	if (ofd != SPW_NONE)
		spw_ofd_unref(me, ofd);
	else
		spw_file_close(me, file);
	return false;
}

static bool
see(int fd, struct statx *stx, char *path, size_t cap,
    struct spw_file_seen *ret)
{
	*ret = (struct spw_file_seen){
		.path = path, .fd = fd,
		/* The first thread may have ended. */
		.pid = (uint32_t)spw_syscall(SYS_gettid, 0, 0, 0, 0, 0, 0),
	};
	if (!ask_kernel(fd, stx, ret))
		return false;
	ret->id = (struct spw_file_id){
		makedev(stx->stx_dev_major, stx->stx_dev_minor), stx->stx_ino,
	};
	ret->btime = stx->stx_mask & STATX_BTIME
		     ? nanoseconds(&stx->stx_btime) : 0;
	if (!path_of(fd, path, cap))
		path[0] = '\0';		/* after chroot there is no /proc */
	return true;
}

/* What has a record is managed under every name, or none. */
static bool
is_known(const struct spw_file_seen *seen)
{
	return atomic_load(&spw_front.attached) &&
	       spw_file_is_known(&spw_front.map, seen);
}

bool
spw_fdtab_is_wanted(int fd)
{
	char path[SPW_FILE_PATH + 16];

	return path_of(fd, path, sizeof(path)) && spw_front_wants(path);
}

int
spw_fdtab_opened(int fd, int flags)
{
	struct spw_file_seen seen;
	char path[SPW_FILE_PATH + 16];
	enum spw_bypass why;
	struct statx stx;
	struct spw_me *me;
	bool known;
	int r;

	if (spw_fdtab_has(fd))		/* closed behind our back */
		(void)spw_fdtab_closing(fd);
	if (!spw_front_is_on() || flags & O_PATH ||
	    (flags & O_TMPFILE) == O_DIRECTORY)
		return 0;
	if (!see(fd, &stx, path, sizeof(path), &seen))
		return 0;
	known = is_known(&seen);
	if (!known && (!spw_front_wants(path) ||
		       spw_front_attach((flags & O_ACCMODE) != O_RDONLY) < 0))
		return spw_front_is_cut_off() && spw_front_wants(path)
		       ? -ENFILE : 0;
	r = spw_kept_settle_fd(fd, &stx);
	if (r < 0 || (r && !see(fd, &stx, path, sizeof(path), &seen)))
		return SPW_MIN(r, 0);
	seen.made = flags & (O_TRUNC | O_EXCL);
	spw_process_read_limit();
	me = spw_front_me();
	why = misfit(fd, flags, &stx, path);
	/* The drainer would find no way to it. */
	if (!known && stx.stx_nlink == 0)
		why = SPW_BYPASS_TMPFILE;
	if (!path[0])
		why = SPW_BYPASS_NO_REOPEN;
	if (!me || !manage(me, fd, ofd_flags(flags) |
			   (fd == STDOUT_FILENO ? SPW_OFD_STDOUT : 0), &seen))
		return 0;
	if (why)
		(void)spw_leave(fd, why);
	return 0;
}

/* The kernel serves it here, and so for everybody. */
static void
hold(int fd, enum spw_bypass why)
{
	struct spw_file_seen seen;
	char path[SPW_FILE_PATH + 16];
	int flags = spw_sys_fcntl(fd, F_GETFL, 0);
	struct spw_me *me;
	struct statx stx;

	if (flags < 0 || flags & O_PATH ||
	    !see(fd, &stx, path, sizeof(path), &seen) ||
	    (!is_known(&seen) &&
	     (!spw_front_wants(path) || spw_front_attach(false) < 0)))
		return;
	me = spw_front_me();
	if (me && manage(me, fd, ofd_flags(flags) | SPW_OFD_KERNEL, &seen))
		(void)spw_leave(fd, why);
}

void
spw_fdtab_inherited(int fd)
{
	hold(fd, SPW_BYPASS_EXEC);
}

bool
spw_fdtab_refer(int fd, uint32_t ofd)
{
	struct spw_map *map = &spw_front.map;
	struct spw_ofd *o = &map->ofds[ofd];
	uint32_t refs = atomic_load(&o->refs);
	const struct spw_file *f;
	struct stat st;

	while (refs && !atomic_compare_exchange_weak(&o->refs, &refs,
						     refs + 1))
		;
	if (!refs)
		return false;
	f = &map->files[SPW_MIN(o->file, map->counts[SPW_POOL_FILES] - 1)];
	if (spw_sys_fstat(fd, &st) == 0 && st.st_ino == f->ino &&
	    st.st_dev == f->dev && o->file_gen == f->gen)
		return true;
	spw_ofd_unref(spw_front_me(), ofd);
	return false;
}

/* Which description stands behind another process's descriptor; + 1. */
static uint32_t
description_of(uint32_t pid, int fd)
{
	struct spw_map *map = &spw_front.map;
	uint32_t ofd;

	for (uint32_t p = 0; p < spw_seg_ready(map, SPW_POOL_PROCS); p++) {
		if (atomic_load(&map->procs[p].pid) != pid)
			continue;
		ofd = spw_proc_get_fd(map, p, fd);
		if (ofd && ofd <= map->counts[SPW_POOL_OFDS])
			return ofd;
	}
	return 0;
}

/* The same description as there, with its position; false when it has none
 * that we know. */
static bool
share(int fd, uint32_t pid, int its_fd)
{
	struct spw_me *me = spw_front_look() ? spw_front_me() : NULL;
	uint32_t ofd = me && pid ? description_of(pid, its_fd) : 0;

	if (!ofd || fd >= SPW_FD_MAX || !spw_fdtab_refer(fd, ofd - 1))
		return false;
	if (!enter_fd(me, fd, ofd - 1)) {
		spw_ofd_unref(me, ofd - 1);
		return false;
	}
	(void)spw_leave(fd, SPW_BYPASS_SCM_RIGHTS);
	return true;
}

void
spw_fdtab_received(int fd, uint32_t pid, int its_fd)
{
	if (spw_fdtab_has(fd))		/* closed behind our back */
		(void)spw_fdtab_closing(fd);
	if (spw_front_is_on() && !share(fd, pid, its_fd))
		hold(fd, SPW_BYPASS_SCM_RIGHTS);
}

/* Not so after a truncation to nothing: it has no place that could be lost,
 * and the drainer no reason to open it. */
static bool
holds_bytes(const struct spw_file *f)
{
	return atomic_load(&f->nblocks) || spw_below_any(f);
}

/*
 * The last one to have the file open waits until the drainer has it: a moment
 * later it may be renamed or deleted by a program without us, and nobody
 * could tell where its bytes belong. The path noted at open is the second
 * best, for those who are killed here. What libc may read next without us is
 * home before.
 */
static void
wait_until_secured(struct spw_me *me, const struct spw_ofd *ofd, int fd,
		   int64_t until)
{
	struct spw_file *f = &me->map->files[ofd->file];

	if (!spw_file_is_unsettled(f) || atomic_load(&f->bypass) ||
	    atomic_load(&f->opens) > 1 || atomic_load(&ofd->refs) > 1)
		return;
	if (atomic_load(&spw_front.apart) ||	/* no path would lead there */
	    spw_own_is(me, ofd->file, fd)) {
		(void)spw_gate_settle(me, ofd->file);	/* close tells */
		return;
	}
	while (holds_bytes(f) && spw_file_is_unsettled(f) &&
	       atomic_load(&f->handled) !=
	       atomic_load(&me->map->seg->drainer_epoch) &&
	       spw_now_ms() < until) {
		spw_gate_hurry(me->map);
		spw_sys_sleep_us(SECURE_US);
	}
}

/* Meanwhile other threads may write there. */
static void
secure(int fd, int64_t until)
{
	uint32_t ofd = spw_fdtab_has(fd) ? atomic_load(&spw_fdtab[fd]) : 0;
	struct spw_me *me = ofd ? spw_front_me() : NULL;

	if (me)
		wait_until_secured(me, &me->map->ofds[ofd - 1], fd, until);
}

/* One that does not answer keeps nobody for longer, however many are open. */
void
spw_fdtab_secure_all(void)
{
	int64_t until = spw_now_ms() + SECURE_MS;

	for (int fd = spw_process_next_fd(0); fd >= 0;
	     fd = spw_process_next_fd(fd + 1))
		secure(fd, until);
}

/* Other threads that are in a call about it, bounded, since one may have left
 * that by a jump. */
static void
wait_for_holders(const struct spw_me *me, uint32_t ofd)
{
	int64_t until;

	if (__libc_single_threaded)
		return;
	atomic_thread_fence(memory_order_seq_cst);
	until = spw_now_ms() + SECURE_MS;
	for (uint32_t i = 0; i < spw_lane_count(me->map); i++) {
		const struct spw_lane *lane = &me->map->lanes[i];

		while (lane != me->lane &&
		       atomic_load(&lane->proc) == spw_front.proc &&
		       atomic_load(&lane->holds) == ofd &&
		       atomic_load(&lane->state) == SPW_LANE_USED &&
		       spw_now_ms() < until)
			spw_sys_sleep_us(SECURE_US);
	}
}

/* ofd + 1, which no number of this process stands for any more, or one less. */
static void
part_with(struct spw_me *me, uint32_t ofd)
{
	wait_for_holders(me, ofd);
	spw_ofd_unref(me, ofd - 1);
}

/* The number stands for nothing of ours any more. */
static int
forget(int fd)
{
	uint32_t ofd = atomic_exchange(&spw_fdtab[fd], 0);
	struct spw_me *me = ofd ? spw_front_me() : NULL;
	int err;

	if (!me)
		return 0;
	err = spw_ofd_error(me->map, &me->map->ofds[ofd - 1]);
	(void)spw_proc_set_fd(me, spw_front.proc, fd, 0);
	part_with(me, ofd);
	return err;
}

int
spw_fdtab_closing(int fd)
{
	if (!spw_fdtab_has(fd))
		return 0;
	secure(fd, spw_now_ms() + SECURE_MS);
	return forget(fd);
}

void
spw_fdtab_closing_range(unsigned first, unsigned last)
{
	if (!atomic_load(&spw_front.attached))
		return;
	for (unsigned fd = first; fd <= last && fd < SPW_FD_MAX; fd++)
		(void)spw_fdtab_closing((int)fd);
}

/* A copy that is not ours to track: the kernel serves both. */
static bool
share_number(struct spw_grip *g, int to)
{
	uint32_t ofd = (uint32_t)(g->ofd - g->me->map->ofds);

	spw_ofd_ref(g->me->map, ofd);
	if (to < SPW_FD_MAX && enter_fd(g->me, to, ofd))
		return true;
	spw_ofd_unref(g->me, ofd);
	if (let_be(g->me, g->t.file))
		spw_fdtab_to_kernel(g);
	return false;
}

static void
suit_standard(struct spw_grip *g, int to)
{
	if (!suits_stdout(to, atomic_load(&g->ofd->flags))) {
		(void)spw_leave(g->t.fd, SPW_BYPASS_STDIO);
		return;
	}
	if (atomic_fetch_or(&g->ofd->flags, SPW_OFD_STDOUT) & SPW_OFD_STDOUT)
		leave_if_out_of_step(g);	/* stdio had it before */
	spw_fdtab_step(g);
}

void
spw_fdtab_duped(int from, int to)
{
	struct spw_grip g;

	if (spw_fdtab_has(to))		/* closed behind our back */
		(void)spw_fdtab_closing(to);
	if (look(from, &g) && share_number(&g, to) && to <= 2)
		suit_standard(&g, to);
}

/* A number that stood for an unmanaged file may be that of a stream of libc,
 * which goes on writing to it without us. */
static bool
may_have_stream(int to)
{
	return to > 2 && !spw_fdtab_has(to) &&
	       spw_sys_fcntl(to, F_GETFD, 0) >= 0;
}

void
spw_fdtab_onto_begins(struct spw_onto *o)
{
	struct spw_grip g;

	o->shared = false;
	o->was = 0;
	if (o->from == o->to || o->to < 0)
		return;
	secure(o->to, spw_now_ms() + SECURE_MS);
	if (!spw_fdtab_has(o->from) || !look(o->from, &g))
		return;
	if (o->to <= 2)
		suit_standard(&g, o->to);
	else if (may_have_stream(o->to))
		(void)spw_leave(o->from, SPW_BYPASS_STDIO);
	spw_guard_enter();
	if (spw_fdtab_has(o->to))
		o->was = atomic_load(&spw_fdtab[o->to]);
	o->is = (uint32_t)(g.ofd - g.me->map->ofds) + 1;
	o->shared = share_number(&g, o->to);
	if (!o->shared)
		spw_guard_leave();
}

/* The kernel did not do it. */
static void
take_back(struct spw_me *me, const struct spw_onto *o)
{
	if (!o->was || !enter_fd(me, o->to, o->was - 1))
		(void)forget(o->to);
	else
		part_with(me, o->is);
}

void
spw_fdtab_onto_ends(const struct spw_onto *o, bool done)
{
	struct spw_me *me = o->shared ? spw_front_me() : NULL;

	if (!o->shared) {
		if (done && o->from != o->to && spw_fdtab_has(o->to))
			(void)forget(o->to);
		return;
	}
	if (!done)
		take_back(me, o);
	else if (o->was)
		part_with(me, o->was);
	spw_guard_leave();
}

uint32_t
spw_fdtab_prepare_child(void)
{
	uint32_t child = SPW_NONE;
	struct spw_me *me;

	if (!atomic_load(&spw_front.attached))
		return SPW_NONE;
	me = spw_front_me();
	if (!me || spw_proc_copy(me, spw_front.proc, &child) < 0)
		return SPW_NONE;
	return child;
}

void
spw_fdtab_abandon_child(uint32_t proc)
{
	struct spw_me *me = spw_front_me();

	if (me && proc != SPW_NONE)
		spw_proc_release(me, proc);
}
