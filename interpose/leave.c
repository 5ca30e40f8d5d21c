/* SPDX-License-Identifier: BSD-3-Clause */
/* leave.c -- everything home, then the kernel: for good, or for one call */
#include "interpose/leave.h"

#include "interpose/real.h"
#include "shm/names.h"
#include "shm/stamp.h"

int
spw_leave_locked(struct spw_me *me, uint32_t file, enum spw_bypass why)
{
	struct spw_file *f = &me->map->files[file];
	int r = 0;

	if (atomic_load(&f->bypass))
		return 0;
	spw_gate_close(me, file);
	if (!atomic_load(&f->bypass))
		r = spw_gate_hand_over(me, file);
	if (r == 0) {
		spw_gate_drop(me, file, 0);
		spw_file_bypass(me->map, file, why);
		/* Another's fsync may have come in between; none does now. */
		(void)spw_gate_hand_over(me, file);
	}
	spw_gate_open(me, file);
	return r;
}

void
spw_leave_begin(struct spw_me *me, uint32_t file)
{
	spw_guard_enter();
	spw_lock(me, SPW_LOCK_APPEND, &me->map->files[file].append);
}

void
spw_leave_end(struct spw_me *me, uint32_t file)
{
	spw_unlock(&me->map->files[file].append);
	spw_guard_leave();
}

int
spw_leave_file(struct spw_me *me, uint32_t file, enum spw_bypass why)
{
	int r;

	if (atomic_load(&me->map->files[file].bypass))
		return 0;
	spw_leave_begin(me, file);
	r = spw_leave_locked(me, file, why);
	spw_leave_end(me, file);
	return r;
}

int
spw_leave(int fd, enum spw_bypass why)
{
	struct spw_grip g;
	int r;

	if (!spw_fdtab_peek(fd, &g))
		return 0;
	r = spw_leave_file(g.me, g.t.file, why);
	if (r == 0)
		spw_fdtab_to_kernel(&g);
	return r;
}

void
spw_leave_pin(struct spw_me *me, uint32_t file)
{
	struct spw_proc *p = &me->map->procs[spw_front.proc];
	struct spw_file *f = &me->map->files[file];

	atomic_fetch_add(&f->opens, 1);
	for (int i = 0; i < SPW_PROC_PINS; i++) {
		uint32_t none = 0;

		if (atomic_load(&p->pins[i]) == file + 1) {
			atomic_fetch_sub(&f->opens, 1);
			return;
		}
		if (atomic_compare_exchange_strong(&p->pins[i], &none,
						   file + 1))
			return;
	}
}

static void
let_position_go(struct spw_visit *v)
{
	spw_unlock(&v->g.ofd->lock);
	spw_guard_leave();
	pthread_setcancelstate(v->cancel, NULL);
}

bool
spw_visit_begin(int fd, bool changes, struct spw_visit *ret)
{
	struct spw_grip *g = &ret->g;

	if (!spw_fdtab_grip(fd, g))
		return false;
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &ret->cancel);
	ret->changes = changes;
	spw_guard_enter();
	spw_lock(g->me, SPW_LOCK_OFD, &g->ofd->lock);
	if (atomic_load(&g->ofd->flags) & SPW_OFD_KERNEL) {
		let_position_go(ret);	/* since a moment ago */
		return false;
	}
	if (changes)			/* the end may move */
		spw_lock(g->me, SPW_LOCK_APPEND, &g->f->append);
	spw_gate_close(g->me, g->t.file);
	ret->err = changes ? spw_gate_hand_over(g->me, g->t.file)
			   : spw_gate_settle(g->me, g->t.file);
	if (ret->err == 0 && changes)
		spw_gate_drop(g->me, g->t.file, 0);
	(void)spw_sys_lseek(fd, (int64_t)atomic_load(&g->ofd->pos), SEEK_SET);
	return true;
}

/* What the kernel wrote stays home, also where files are to be kept. The
 * drainer will not look: there is nothing for it to bring. */
static void
tell_if_home(const struct spw_visit *v, int64_t pos)
{
	uint32_t unknown = SPW_KEEP_UNKNOWN;
	int64_t data;

	if (!v->g.me->map->fixed.keep || pos < 0)
		return;
	data = spw_sys_lseek(v->g.t.fd, 0, SEEK_DATA);
	(void)spw_sys_lseek(v->g.t.fd, pos, SEEK_SET);
	if (data >= 0)
		atomic_compare_exchange_strong(&v->g.f->keep, &unknown,
					       SPW_KEEP_PARTLY);
}

void
spw_visit_end(struct spw_visit *v)
{
	struct spw_file *f = v->g.f;
	int64_t pos = spw_sys_lseek(v->g.t.fd, 0, SEEK_CUR);
	struct stat st;

	if (pos >= 0)
		atomic_store(&v->g.ofd->pos, (uint64_t)pos);
	if (v->changes && v->err == 0 &&
	    spw_sys_fstat(v->g.t.fd, &st) == 0) {
		atomic_store(&f->size, (uint64_t)st.st_size);
		spw_file_take_times(f, spw_nanoseconds(&st.st_mtim),
				    spw_nanoseconds(&st.st_ctim));
		spw_stamp_saw(v->g.me->map, spw_nanoseconds(&st.st_ctim));
		tell_if_home(v, pos);
	}
	if (v->changes)
		spw_file_flag(f, SPW_FILE_TOUCHED);
	spw_gate_open(v->g.me, v->g.t.file);
	if (v->changes)
		spw_unlock(&f->append);
	let_position_go(v);
}

int
spw_settle_fd(int fd)
{
	struct spw_grip g;

	if (!spw_fdtab_grip(fd, &g))
		return 0;
	return spw_gate_settle(g.me, g.t.file);
}

static uint32_t
count_files(const struct spw_me *me)
{
	return me ? spw_seg_ready(me->map, SPW_POOL_FILES) : 0;
}

static int
settle_each(int (*settle)(struct spw_me *me, uint32_t file))
{
	struct spw_me *me = spw_front_look() ? spw_front_me() : NULL;
	uint32_t n = count_files(me);
	int err = 0;

	for (uint32_t i = 0; i < n; i++)
		if (atomic_load(&me->map->owners[SPW_POOL_FILES][i]) &
		    SPW_IN_USE) {
			int r = settle(me, i);

			err = err ? err : r;
		}
	return err;
}

int
spw_settle_all(void)
{
	return settle_each(spw_gate_settle);
}

int
spw_hand_over_all(void)
{
	return settle_each(spw_gate_hand_over);
}

void
spw_leave_open(enum spw_bypass why)
{
	struct spw_me *me = spw_front_look() ? spw_front_me() : NULL;
	uint32_t n = count_files(me);

	for (uint32_t i = 0; i < n; i++) {
		struct spw_file *f = &me->map->files[i];

		if (!(atomic_load(&me->map->owners[SPW_POOL_FILES][i]) &
		      SPW_IN_USE))
			continue;
		if (atomic_load(&f->opens))
			(void)spw_leave_file(me, i, why);
		else if (spw_file_is_unsettled(f))
			(void)spw_gate_settle(me, i);
	}
}

/* Nothing cached, nothing open: the last ask lets the drainer close it. */
static void
let_go(struct spw_me *me, uint32_t file)
{
	spw_gate_close(me, file);
	if (spw_gate_hand_over(me, file) == 0) {
		spw_gate_drop(me, file, 0);
		(void)spw_gate_ask(me, file);
	}
	spw_gate_open(me, file);
}

void
spw_let_go_of(uint64_t dev)
{
	struct spw_me *me = spw_front_look() ? spw_front_me() : NULL;
	uint32_t n = count_files(me);

	for (uint32_t i = 0; i < n; i++) {
		struct spw_file *f = &me->map->files[i];

		if (atomic_load(&me->map->owners[SPW_POOL_FILES][i]) &
		    SPW_IN_USE && f->dev == dev && !atomic_load(&f->opens) &&
		    (atomic_load(&f->handled) || spw_file_is_unsettled(f)))
			let_go(me, i);
	}
}

static bool
is_removed(const struct spw_file *f)
{
	char path[SPW_FILE_PATH];

	return atomic_load(&f->flags) & SPW_FILE_UNLINKED ||
	       (!spw_name_copy(f, 0, path) && !spw_name_copy(f, 1, path));
}

bool
spw_let_go_of_removed(uint64_t dev)
{
	struct spw_me *me = spw_front_look() ? spw_front_me() : NULL;
	uint32_t n = count_files(me);
	bool any = false;

	for (uint32_t i = 0; i < n; i++) {
		struct spw_file *f = &me->map->files[i];

		if (!(atomic_load(&me->map->owners[SPW_POOL_FILES][i]) &
		      SPW_IN_USE) || f->dev != dev ||
		    atomic_load(&f->opens) || !atomic_load(&f->handled) ||
		    !is_removed(f))
			continue;
		let_go(me, i);
		any = true;
	}
	return any;
}

static bool
identify(int dirfd, const char *path, int at_flags, struct spw_file_id *ret)
{
	struct stat st;

	if (!path || !spw_front_look() ||
	    spw_sys_fstatat(dirfd, path, &st, at_flags) < 0 ||
	    !S_ISREG(st.st_mode))
		return false;
	*ret = (struct spw_file_id){ st.st_dev, st.st_ino };
	return true;
}

uint32_t
spw_lookup_path(int dirfd, const char *path, int at_flags)
{
	struct spw_file_id id;

	if (!identify(dirfd, path, at_flags, &id))
		return SPW_NONE;
	return spw_file_find(&spw_front.map, &id);
}

uint32_t
spw_take_path(int dirfd, const char *path, int at_flags,
	      struct spw_me **ret_me)
{
	struct spw_me *me;
	struct spw_file_id id;

	if (!identify(dirfd, path, at_flags, &id) ||
	    spw_file_find(&spw_front.map, &id) == SPW_NONE)
		return SPW_NONE;
	me = spw_front_me();
	if (!me)
		return SPW_NONE;
	*ret_me = me;
	return spw_file_take(me, &id);
}

int
spw_resize(struct spw_me *me, uint32_t file, uint64_t size,
	   int (*truncate)(void *arg), void *arg)
{
	int cancel, r;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	/* Above the limit a file may be cut, but home must not grow by it. */
	if (SPW_UNLIKELY(size > atomic_load_explicit(&spw_front.fsize_limit,
						     memory_order_relaxed)))
		(void)spw_gate_settle(me, file);	/* close will tell */
	r = spw_gate_resize(me, file, size, truncate, arg);
	pthread_setcancelstate(cancel, NULL);
	return r;
}
