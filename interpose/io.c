/* SPDX-License-Identifier: BSD-3-Clause */
/* io.c -- read and write in all their forms, through the cache */
#include <errno.h>
#include <limits.h>
#include <sys/single_threaded.h>

#include "interpose/agent.h"
#include "interpose/leave.h"
#include "interpose/real.h"

/* A tier that stalls is done without before that: see tiers/apart.h. */
enum { ROOM_MS = 100, PATIENCE = 50 };

/* Most calls have one vector. What is common to all is compiled for it once
 * more, without the loops. */
#define ONCE_MORE static inline __attribute__((always_inline))

/* The kernel moves no more than this per call. */
#define CALL_MAX ((uint64_t)INT_MAX & ~(uint64_t)4095)

/* File systems end somewhere beyond it. */
#define FAR (1ull << 43)

/* Offsets for the kernel to refuse: negative ones, and those from which a
 * call could lead beyond all offsets. */
static bool
is_no_offset(off_t off)
{
	return (uint64_t)off > (uint64_t)INT64_MAX - CALL_MAX;
}

static bool
appends(const struct spw_grip *g)
{
	return atomic_load_explicit(&g->ofd->flags, memory_order_relaxed) &
	       SPW_OFD_APPEND;
}

/* The file left the cache in the middle of a write. Its place is reserved,
 * so the kernel writes the rest there; the position moves with the file. */
static int64_t
write_rest(struct spw_grip *g, struct spw_source *src, uint64_t n,
	   uint64_t off, uint64_t done)
{
	if (!done && appends(g))
		return -ESTALE;		/* the kernel knows where */
	while (done < n) {
		uint64_t len = SPW_MIN(src->left, n - done);
		int64_t r;

		if (!len) {
			spw_source_turn(src);
			continue;
		}
		r = spw_sys_pwrite(g->t.fd, src->at, len, off + done);
		if (r < 0)
			return done ? (int64_t)done : r;
		spw_source_skip(src, (uint64_t)r);
		done += (uint64_t)r;
		if ((uint64_t)r < len)
			break;
	}
	return (int64_t)done;
}

static void
lock_end(struct spw_grip *g)
{
	spw_lock(g->me, SPW_LOCK_APPEND, &g->f->append);
	g->t.end_locked = true;
}

static void
unlock_end(struct spw_grip *g)
{
	g->t.end_locked = false;
	spw_unlock(&g->f->append);
}

static int
leave_now(struct spw_grip *g, enum spw_bypass why)
{
	return (g->t.end_locked ? spw_leave_locked
				: spw_leave_file)(g->me, g->t.file, why);
}

/* Requests that the drainer has ended well: while there are more of them, room
 * is on its way. */
static uint64_t
progress(struct spw_seg *seg)
{
	return atomic_load(&seg->requests_down) +
	       atomic_load(&seg->requests_home);
}

/*
 * All n bytes, waiting for room where there is none. A write-back error that
 * keeps room from coming free ends the wait: a full disk at home must not
 * become a program that hangs. If no room comes at all, since idle threads
 * hold it, the file leaves: not sooner, since home may stall; but at once where
 * there is no memory for the first block. A write that moves the end of a file
 * to which others append keeps them off until it is done. -ESTALE: it is the
 * kernel's by now, and nothing was written. r: what the cache said at first.
 */
static __attribute__((noinline)) int64_t
write_on(struct spw_grip *g, struct spw_source *src, uint64_t n, uint64_t off,
	 int64_t r)
{
	struct spw_seg *seg = g->me->map->seg;
	uint64_t done = 0, ended = progress(seg);
	int in_vain = 0;
	bool hopeless;

	for (;; r = spw_cache_write(g->me, &g->t, src, n - done,
				    off + done)) {
		if (r >= 0) {
			done += (uint64_t)r;
			in_vain = 0;
			if (done == n)
				return (int64_t)done;
			continue;
		}
		if (r == -ESTALE)
			return write_rest(g, src, n, off, done);
		if (r == -EAGAIN) {
			lock_end(g);
			continue;
		}
		if (r != -ENOBUFS && r != -ENOMEM)
			return done ? (int64_t)done : r;
		hopeless = r == -ENOMEM ||
			   spw_gate_need_drainer(g->me->map) < 0;
		if (!hopeless && !spw_gate_wait_room(g->me, ROOM_MS))
			in_vain = progress(seg) == ended ? in_vain + 1 : 0;
		ended = progress(seg);
		r = -spw_ofd_error(g->me->map, g->ofd);
		/* The file alone: the position is ours until we are done,
		 * and moves to the kernel with the next call. */
		if (r == 0 && (hopeless || in_vain > PATIENCE)) {
			r = leave_now(g, SPW_BYPASS_NO_ROOM);
			if (r == 0)
				return write_rest(g, src, n, off, done);
		}
		if (r < 0)
			return done ? (int64_t)done : r;
	}
}

ONCE_MORE int64_t
write_at(struct spw_grip *g, struct spw_source *src, uint64_t n, uint64_t off)
{
	bool had_end = g->t.end_locked;
	int64_t r = spw_cache_write(g->me, &g->t, src, n, off);

	if (SPW_UNLIKELY(r != (int64_t)n)) {
		r = write_on(g, src, n, off, r);
		if (g->t.end_locked != had_end)
			unlock_end(g);
	}
	/* Nobody would bring it home before somebody asks. */
	if (SPW_UNLIKELY(atomic_load_explicit(&spw_agent_is_missing,
					      memory_order_relaxed)))
		(void)leave_now(g, SPW_BYPASS_NO_DRAINER);
	return r;
}

/* Past these sizes the kernel has its own opinion, and signals. */
static bool
is_too_far(uint64_t off, uint64_t n)
{
	uint64_t limit = atomic_load_explicit(&spw_front.fsize_limit,
					      memory_order_relaxed);

	return off + n > limit || off + n > FAR || off + n < off;
}

/*
 * The position may be moved: nobody else does meanwhile. Without a lock where
 * nobody else can have the description. -ESTALE: it is the kernel's by now.
 */
static int
take_position(struct spw_grip *g)
{
	g->shared = !__libc_single_threaded ||
		    atomic_load_explicit(&g->ofd->refs,
					 memory_order_relaxed) > 1;
	if (SPW_LIKELY(!g->shared))
		return 0;
	spw_lock(g->me, SPW_LOCK_OFD, &g->ofd->lock);
	if (!(atomic_load(&g->ofd->flags) & SPW_OFD_KERNEL))
		return 0;
	spw_unlock(&g->ofd->lock);
	return -ESTALE;
}

static void
give_position(struct spw_grip *g)
{
	if (SPW_UNLIKELY(g->shared))
		spw_unlock(&g->ofd->lock);
}

static uint64_t
position(const struct spw_grip *g)
{
	return atomic_load_explicit(&g->ofd->pos, memory_order_relaxed);
}

static void
move_to(struct spw_grip *g, uint64_t pos)
{
	atomic_store_explicit(&g->ofd->pos, pos, memory_order_release);
}

/* A touch outside all locks: bad memory faults here. */
ONCE_MORE void
touch(const void *buf, uint64_t n)
{
	const volatile char *p = buf;

	for (uint64_t i = 0; i < n; i += 4096)
		(void)p[i];
	if (n)
		(void)p[n - 1];
}

ONCE_MORE int64_t
total(const struct iovec *iov, int n)
{
	uint64_t sum = 0;

	if (n < 0 || n > IOV_MAX)
		return -EINVAL;
	if (spw_cache_bad_pointer(iov, (uint64_t)n * sizeof(*iov)))
		return -EFAULT;
	for (int i = 0; i < n; i++)
		if (iov[i].iov_len > SSIZE_MAX)
			return -EINVAL;
	for (int i = 0; i < n; i++) {
		if (spw_cache_is_alien(iov[i].iov_base, iov[i].iov_len))
			return -EFAULT;
		sum += SPW_MIN(iov[i].iov_len, CALL_MAX);
	}
	return (int64_t)SPW_MIN(sum, CALL_MAX);
}

/* How many bytes come before the first bad address. */
ONCE_MORE int64_t
until_bad(const struct iovec *iov, int n, uint64_t sum)
{
	uint64_t good = 0;

	for (int i = 0; i < n && good < sum; i++) {
		if (spw_cache_bad_pointer(iov[i].iov_base, iov[i].iov_len))
			return good ? (int64_t)good : -EFAULT;
		good += iov[i].iov_len;
	}
	return (int64_t)SPW_MIN(good, sum);
}

/* As one: what is in a block must not be torn where a vector ends. */
ONCE_MORE int64_t
write_vectors(struct spw_grip *g, const struct iovec *iov, int n,
	      uint64_t sum, uint64_t off)
{
	struct spw_source src = { iov->iov_base, iov->iov_len, iov + 1 };
	int64_t good = until_bad(iov, n, sum);

	return good < 0 ? good : write_at(g, &src, (uint64_t)good, off);
}

/* Bad memory faults here, where nothing is held. Returns how many vectors
 * count: what comes before a bad address is written. */
ONCE_MORE int
touch_all(const struct iovec *iov, int n)
{
	for (int i = 0; i < n; i++) {
		if (spw_cache_bad_pointer(iov[i].iov_base, iov[i].iov_len))
			return i + 1;
		touch(iov[i].iov_base, iov[i].iov_len);
	}
	return n;
}

/*
 * Under the lock of what gives the place: the file's end, or the position of
 * the description. It moves when the bytes are there, so a killed writer
 * leaves no gap to those who go on. Handlers wait: one that ends the process
 * or jumps away comes before or after.
 */
ONCE_MORE int64_t
append(struct spw_grip *g, const struct iovec *iov, int n, uint64_t sum,
       bool moves)
{
	uint64_t off;
	int64_t r;

	n = touch_all(iov, n);
	spw_guard_enter();
	r = moves ? take_position(g) : 0;
	if (r < 0) {
		spw_guard_leave();
		return r;
	}
	lock_end(g);
	off = atomic_load(&g->f->size);
	r = is_too_far(off, sum) ? -EFBIG
				 : write_vectors(g, iov, n, sum, off);
	unlock_end(g);
	if (r > 0 && moves)
		move_to(g, off + (uint64_t)r);
	if (moves)
		give_position(g);
	spw_guard_leave();
	return r;
}

ONCE_MORE int64_t
write_here(struct spw_grip *g, const struct iovec *iov, int n, uint64_t sum)
{
	uint64_t off;
	int64_t r;

	n = touch_all(iov, n);
	spw_guard_enter();
	r = take_position(g);
	if (r < 0) {
		spw_guard_leave();
		return r;
	}
	off = position(g);
	r = is_too_far(off, sum) ? -EFBIG
				 : write_vectors(g, iov, n, sum, off);
	if (r > 0)
		move_to(g, off + (uint64_t)r);
	give_position(g);
	spw_guard_leave();
	return r;
}

/* Home is full, and the description was not told: the kernel's own write
 * would have said so. Other errors wait for fsync or close. */
static __attribute__((noinline)) int64_t
tell_full(struct spw_grip *g)
{
	return atomic_load(&g->f->full) ? -spw_ofd_error(g->me->map, g->ofd)
					: 0;
}

/* off < 0: at the position, which moves. Linux appends whatever the offset,
 * if the description does. */
ONCE_MORE int64_t
write_all(struct spw_grip *g, const struct iovec *iov, int n, int64_t off)
{
	int64_t sum = total(iov, n);
	int64_t r;

	if (sum <= 0)
		return sum;
	if (SPW_UNLIKELY(atomic_load_explicit(&g->ofd->err_seen,
					      memory_order_relaxed) !=
			 atomic_load_explicit(&g->f->err_seq,
					      memory_order_relaxed))) {
		r = tell_full(g);
		if (r < 0)
			return r;
	}
	if (appends(g))
		return append(g, iov, n, (uint64_t)sum, off < 0);
	if (off < 0)
		return write_here(g, iov, n, (uint64_t)sum);
	if (is_too_far((uint64_t)off, (uint64_t)sum))
		return -EFBIG;
	spw_guard_enter();
	r = write_vectors(g, iov, n, (uint64_t)sum, (uint64_t)off);
	spw_guard_leave();
	return r;
}

static bool
is_for_kernel(struct spw_grip *g, int64_t r)
{
	if (r == -EFBIG)
		(void)spw_leave(g->t.fd, SPW_BYPASS_RLIMIT);
	else if (r == -ESTALE)
		spw_fdtab_to_kernel(g);
	return r == -EFBIG || r == -ESTALE;
}

/* The end of a call. Whether the answer is ours to give; else the real call is
 * made, on a file that was left to the kernel for it. */
static bool
is_final(struct spw_grip *g, int64_t r)
{
	bool ours = SPW_LIKELY(r >= 0) || !is_for_kernel(g, r);

	spw_fdtab_let_go(g);
	return ours;
}

/* The wrappers of the four commonest calls do nothing themselves, so that
 * those who are not ours pay for a test and a jump. Counts like -1, which no
 * memory has, are the kernel's to refuse. */
static __attribute__((noinline)) ssize_t
managed_write(int fd, const void *buf, size_t n)
{
	struct iovec one = { (void *)buf, SPW_MIN(n, CALL_MAX) };
	struct spw_grip g;
	int64_t r;

	if (spw_cache_is_alien(buf, n) ||
	    !spw_fdtab_hold(fd, SPW_OFD_WRITE, &g))
		return REAL(write)(fd, buf, n);
	pthread_testcancel();
	r = write_all(&g, &one, 1, -1);
	spw_fdtab_step(&g);
	return is_final(&g, r) ? spw_ret(r) : REAL(write)(fd, buf, n);
}

SPW_WRAP ssize_t
write(int fd, const void *buf, size_t n)
{
	return SPW_LIKELY(!spw_fdtab_has(fd)) ? REAL(write)(fd, buf, n)
					      : managed_write(fd, buf, n);
}
SPW_ALIAS(__write, write);

static __attribute__((noinline)) ssize_t
managed_pwrite(int fd, const void *buf, size_t n, off_t off)
{
	struct iovec one = { (void *)buf, SPW_MIN(n, CALL_MAX) };
	struct spw_grip g;
	int64_t r;

	if (is_no_offset(off) || spw_cache_is_alien(buf, n) ||
	    !spw_fdtab_hold(fd, SPW_OFD_WRITE, &g))
		return REAL(pwrite)(fd, buf, n, off);
	pthread_testcancel();
	r = write_all(&g, &one, 1, off);
	return is_final(&g, r) ? spw_ret(r) : REAL(pwrite)(fd, buf, n, off);
}

SPW_WRAP ssize_t
pwrite(int fd, const void *buf, size_t n, off_t off)
{
	return SPW_LIKELY(!spw_fdtab_has(fd))
	       ? REAL(pwrite)(fd, buf, n, off)
	       : managed_pwrite(fd, buf, n, off);
}
SPW_ALIAS(pwrite64, pwrite);
SPW_ALIAS(__pwrite64, pwrite);

/* Reserves what can be read at the position and moves it: two readers of one
 * description never get the same bytes. Returns how much, or -ESTALE. */
static int64_t
reserve(struct spw_grip *g, uint64_t n, uint64_t *ret_pos)
{
	int r = take_position(g);
	uint64_t size;

	if (r < 0)
		return r;
	*ret_pos = position(g);
	size = atomic_load(&g->f->size);
	n = *ret_pos < size ? SPW_MIN(n, size - *ret_pos) : 0;
	if (n)
		move_to(g, *ret_pos + n);
	give_position(g);
	return (int64_t)n;
}

/* The end of what was reserved could not be read. */
static void
give_back(struct spw_grip *g, uint64_t n)
{
	if (take_position(g) < 0)
		return;
	if (position(g) >= n)		/* else somebody went elsewhere */
		move_to(g, position(g) - n);
	give_position(g);
}

static int64_t
read_here(struct spw_grip *g, void *buf, uint64_t n)
{
	uint64_t pos;
	int64_t want, r;

	spw_guard_enter();
	want = reserve(g, n, &pos);
	if (want > 0)
		r = spw_cache_read(g->me, &g->t, buf, (uint64_t)want, pos);
	else if (want == 0)
		r = spw_cache_is_alien(buf, n) ? -EFAULT : 0;
	else
		r = want;
	if (SPW_UNLIKELY(r < want))
		give_back(g, (uint64_t)(want - SPW_MAX(r, 0)));
	spw_guard_leave();
	return r;
}

static __attribute__((noinline)) ssize_t
managed_read(int fd, void *buf, size_t n)
{
	struct spw_grip g;
	int64_t r;

	if (spw_cache_is_alien(buf, n) ||
	    !spw_fdtab_hold(fd, SPW_OFD_READ, &g))
		return REAL(read)(fd, buf, n);
	pthread_testcancel();
	r = read_here(&g, buf, SPW_MIN(n, CALL_MAX));
	spw_fdtab_step(&g);
	spw_fdtab_let_go(&g);
	return r == -ESTALE ? REAL(read)(fd, buf, n) : spw_ret(r);
}

SPW_WRAP ssize_t
read(int fd, void *buf, size_t n)
{
	return SPW_LIKELY(!spw_fdtab_has(fd)) ? REAL(read)(fd, buf, n)
					      : managed_read(fd, buf, n);
}
SPW_ALIAS(__read, read);

static __attribute__((noinline)) ssize_t
managed_pread(int fd, void *buf, size_t n, off_t off)
{
	struct spw_grip g;
	int64_t r;

	if (is_no_offset(off) || spw_cache_is_alien(buf, n) ||
	    !spw_fdtab_hold(fd, SPW_OFD_READ, &g))
		return REAL(pread)(fd, buf, n, off);
	pthread_testcancel();
	r = spw_cache_read(g.me, &g.t, buf, SPW_MIN(n, CALL_MAX),
			   (uint64_t)off);
	spw_fdtab_let_go(&g);
	return spw_ret(r);
}

SPW_WRAP ssize_t
pread(int fd, void *buf, size_t n, off_t off)
{
	return SPW_LIKELY(!spw_fdtab_has(fd))
	       ? REAL(pread)(fd, buf, n, off)
	       : managed_pread(fd, buf, n, off);
}
SPW_ALIAS(pread64, pread);
SPW_ALIAS(__pread64, pread);

SPW_WRAP ssize_t
__read_chk(int fd, void *buf, size_t n, size_t cap)
{
	if (n > cap || !spw_fdtab_has(fd))
		return REAL(__read_chk)(fd, buf, n, cap);
	return read(fd, buf, n);
}

SPW_WRAP ssize_t
__pread_chk(int fd, void *buf, size_t n, off_t off, size_t cap)
{
	if (n > cap || !spw_fdtab_has(fd))
		return REAL(__pread_chk)(fd, buf, n, off, cap);
	return pread(fd, buf, n, off);
}
SPW_ALIAS(__pread64_chk, __pread_chk);

SPW_WRAP ssize_t
writev(int fd, const struct iovec *iov, int n)
{
	struct spw_grip g;
	int64_t r;

	if (SPW_LIKELY(!spw_fdtab_has(fd)) ||
	    !spw_fdtab_hold(fd, SPW_OFD_WRITE, &g))
		return REAL(writev)(fd, iov, n);
	pthread_testcancel();
	spw_guard_enter();
	r = write_all(&g, iov, n, -1);
	spw_guard_leave();
	spw_fdtab_step(&g);
	return is_final(&g, r) ? spw_ret(r) : REAL(writev)(fd, iov, n);
}

SPW_WRAP ssize_t
pwritev(int fd, const struct iovec *iov, int n, off_t off)
{
	struct spw_grip g;
	int64_t r;

	if (SPW_LIKELY(!spw_fdtab_has(fd)) || is_no_offset(off) ||
	    !spw_fdtab_hold(fd, SPW_OFD_WRITE, &g))
		return REAL(pwritev)(fd, iov, n, off);
	pthread_testcancel();
	spw_guard_enter();
	r = write_all(&g, iov, n, off);
	spw_guard_leave();
	return is_final(&g, r) ? spw_ret(r) : REAL(pwritev)(fd, iov, n, off);
}
SPW_ALIAS(pwritev64, pwritev);

static int64_t
read_vectors(struct spw_grip *g, const struct iovec *iov, int n,
	     uint64_t left, uint64_t off)
{
	uint64_t done = 0;

	for (int i = 0; i < n && left; i++) {
		uint64_t len = SPW_MIN(iov[i].iov_len, left);
		int64_t r = spw_cache_read(g->me, &g->t, iov[i].iov_base, len,
					   off + done);

		if (r < 0)
			return done ? (int64_t)done : r;
		done += (uint64_t)r;
		left -= (uint64_t)r;
		if ((uint64_t)r < len)
			break;
	}
	return (int64_t)done;
}

static int64_t
read_all(struct spw_grip *g, const struct iovec *iov, int n, int64_t off)
{
	int64_t sum = total(iov, n), want, r;
	uint64_t pos;

	if (sum <= 0)
		return sum;
	if (off >= 0)
		return read_vectors(g, iov, n, (uint64_t)sum, (uint64_t)off);
	want = reserve(g, (uint64_t)sum, &pos);
	if (want < 0)
		return want;
	r = read_vectors(g, iov, n, (uint64_t)want, pos);
	if (r < want)
		give_back(g, (uint64_t)(want - SPW_MAX(r, 0)));
	return r;
}

SPW_WRAP ssize_t
readv(int fd, const struct iovec *iov, int n)
{
	struct spw_grip g;
	int64_t r;

	if (SPW_LIKELY(!spw_fdtab_has(fd)) ||
	    !spw_fdtab_hold(fd, SPW_OFD_READ, &g))
		return REAL(readv)(fd, iov, n);
	pthread_testcancel();
	spw_guard_enter();
	r = read_all(&g, iov, n, -1);
	spw_guard_leave();
	spw_fdtab_step(&g);
	spw_fdtab_let_go(&g);
	return r == -ESTALE ? REAL(readv)(fd, iov, n) : spw_ret(r);
}

SPW_WRAP ssize_t
preadv(int fd, const struct iovec *iov, int n, off_t off)
{
	struct spw_grip g;
	int64_t r;

	if (SPW_LIKELY(!spw_fdtab_has(fd)) || is_no_offset(off) ||
	    !spw_fdtab_hold(fd, SPW_OFD_READ, &g))
		return REAL(preadv)(fd, iov, n, off);
	pthread_testcancel();
	r = read_all(&g, iov, n, off);
	spw_fdtab_let_go(&g);
	return spw_ret(r);
}
SPW_ALIAS(preadv64, preadv);

/* Offset -1 is the position. Flags that change what is promised, all but
 * hints, are the kernel's business. */
SPW_WRAP ssize_t
preadv2(int fd, const struct iovec *iov, int n, off_t off, int flags)
{
	struct spw_visit v;
	ssize_t r;

	if (SPW_LIKELY(!spw_fdtab_has(fd)))
		return REAL(preadv2)(fd, iov, n, off, flags);
	if (!(flags & ~RWF_HIPRI))
		return off == -1 ? readv(fd, iov, n)
				 : preadv(fd, iov, n, off);
	pthread_testcancel();
	if (!spw_visit_begin(fd, false, &v))
		return REAL(preadv2)(fd, iov, n, off, flags);
	r = v.err < 0 ? spw_ret(v.err)
		      : REAL(preadv2)(fd, iov, n, off, flags);
	spw_visit_end(&v);
	return r;
}
SPW_ALIAS(preadv64v2, preadv2);

SPW_WRAP ssize_t
pwritev2(int fd, const struct iovec *iov, int n, off_t off, int flags)
{
	struct spw_visit v;
	ssize_t r;

	if (SPW_LIKELY(!spw_fdtab_has(fd)))
		return REAL(pwritev2)(fd, iov, n, off, flags);
	if (!(flags & ~RWF_HIPRI))
		return off == -1 ? writev(fd, iov, n)
				 : pwritev(fd, iov, n, off);
	pthread_testcancel();
	if (!spw_visit_begin(fd, true, &v))
		return REAL(pwritev2)(fd, iov, n, off, flags);
	r = v.err < 0 ? spw_ret(v.err)
		      : REAL(pwritev2)(fd, iov, n, off, flags);
	spw_visit_end(&v);
	return r;
}
SPW_ALIAS(pwritev64v2, pwritev2);

/* Where the position would go, or a negative errno. The kernel knows how far
 * this file system goes. */
static int64_t
target(const struct spw_grip *g, int64_t off, int whence)
{
	int64_t base = whence == SEEK_SET ? 0
		       : whence == SEEK_CUR ? (int64_t)position(g)
		       : (int64_t)atomic_load(&g->f->size);
	int64_t to, r;

	if (__builtin_add_overflow(base, off, &to) || to < 0)
		return -EINVAL;
	if ((uint64_t)to < FAR)
		return to;
	r = spw_sys_lseek(g->t.fd, to, SEEK_SET);
	return r < 0 ? r : to;
}

static int64_t
seek(struct spw_grip *g, int64_t off, int whence)
{
	int64_t to;

	if (whence == SEEK_CUR && off == 0)
		return (int64_t)position(g);
	spw_guard_enter();
	to = take_position(g);
	if (to == 0) {
		to = target(g, off, whence);
		if (to >= 0)
			move_to(g, (uint64_t)to);
		give_position(g);
	}
	spw_guard_leave();
	return to;
}

SPW_WRAP off_t
lseek(int fd, off_t off, int whence)
{
	struct spw_visit v;
	struct spw_grip g;
	off_t r;

	if (SPW_LIKELY(!spw_fdtab_has(fd)))
		return REAL(lseek)(fd, off, whence);
	if (whence == SEEK_SET || whence == SEEK_CUR || whence == SEEK_END) {
		if (!spw_fdtab_hold(fd, 0, &g))
			return REAL(lseek)(fd, off, whence);
		r = seek(&g, off, whence);
		spw_fdtab_step(&g);
		spw_fdtab_let_go(&g);
		return r == -ESTALE ? REAL(lseek)(fd, off, whence)
				    : spw_ret(r);
	}
	if (!spw_visit_begin(fd, false, &v))
		return REAL(lseek)(fd, off, whence);
	r = v.err < 0 ? spw_ret(v.err) : REAL(lseek)(fd, off, whence);
	spw_visit_end(&v);
	return r;
}
SPW_ALIAS(lseek64, lseek);
SPW_ALIAS(__lseek, lseek);
SPW_ALIAS(llseek, lseek);
