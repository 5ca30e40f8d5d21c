/* SPDX-License-Identifier: BSD-3-Clause */
/* other.c -- calls that reach a file past read and write: the kernel's */
#include <errno.h>
#include <linux/fs.h>
#include <linux/loop.h>
#include <stdarg.h>

#include "interpose/leave.h"
#include "interpose/real.h"

SPW_WRAP void *
mmap(void *at, size_t n, int prot, int flags, int fd, off_t off)
{
	struct spw_grip g;
	int r;

	if (SPW_LIKELY(fd < 0 || flags & MAP_ANONYMOUS ||
		       !spw_fdtab_has(fd)))
		return REAL(mmap)(at, n, prot, flags, fd, off);
	r = spw_leave(fd, SPW_BYPASS_MMAP);
	if (r < 0) {
		errno = -r;
		return MAP_FAILED;
	}
	if (spw_fdtab_peek(fd, &g))	/* it outlives the descriptor */
		spw_leave_pin(g.me, g.t.file);
	return REAL(mmap)(at, n, prot, flags, fd, off);
}
SPW_ALIAS(mmap64, mmap);

/*
 * A source is brought home and read by the kernel, at our position if the
 * call uses one. The gate stays open: the call may wait for a pipe or a
 * socket for ever.
 */
struct source {
	struct spw_grip g;
	bool managed, moves;
};

static int
begin_source(struct source *s, int fd, bool moves)
{
	int r;

	s->moves = moves;
	s->managed = spw_fdtab_has(fd) && spw_fdtab_grip(fd, &s->g);
	if (!s->managed)
		return 0;
	r = spw_gate_settle(s->g.me, s->g.t.file);
	if (r == 0 && moves)
		(void)spw_sys_lseek(fd, (int64_t)atomic_load(&s->g.ofd->pos),
				    SEEK_SET);
	return r;
}

static void
end_source(struct source *s)
{
	int64_t pos;

	if (!s->managed || !s->moves)
		return;
	pos = spw_sys_lseek(s->g.t.fd, 0, SEEK_CUR);
	if (pos >= 0)
		atomic_store(&s->g.ofd->pos, (uint64_t)pos);
}

SPW_WRAP ssize_t
sendfile(int out, int in, off_t *off, size_t n)
{
	struct source s;
	ssize_t r;
	int err = spw_leave(out, SPW_BYPASS_SENDFILE);

	if (err == 0)
		err = begin_source(&s, in, off == NULL);
	if (err < 0)
		return spw_ret(err);
	r = REAL(sendfile)(out, in, off, n);
	end_source(&s);
	return r;
}
SPW_ALIAS(sendfile64, sendfile);

SPW_WRAP ssize_t
splice(int in, off64_t *off_in, int out, off64_t *off_out, size_t n,
       unsigned flags)
{
	struct source s;
	ssize_t r;
	int err = spw_leave(out, SPW_BYPASS_SENDFILE);

	if (err == 0)
		err = begin_source(&s, in, off_in == NULL);
	if (err < 0)
		return spw_ret(err);
	r = REAL(splice)(in, off_in, out, off_out, n, flags);
	end_source(&s);
	return r;
}

/* Both are files, so it ends: the target is visited behind its gate, unless
 * it is the source as well. */
SPW_WRAP ssize_t
copy_file_range(int in, off64_t *off_in, int out, off64_t *off_out, size_t n,
		unsigned flags)
{
	struct spw_grip a, b;
	struct spw_visit v;
	struct source s;
	bool visiting;
	ssize_t r;
	int err;

	if (!spw_fdtab_has(in) && !spw_fdtab_has(out))
		return REAL(copy_file_range)(in, off_in, out, off_out, n,
					     flags);
	pthread_testcancel();
	if (spw_fdtab_peek(in, &a) && spw_fdtab_peek(out, &b) &&
	    a.t.file == b.t.file)
		(void)spw_leave(out, SPW_BYPASS_SENDFILE);
	err = begin_source(&s, in, off_in == NULL);
	if (err < 0)
		return spw_ret(err);
	visiting = spw_visit_begin(out, true, &v);
	r = visiting && v.err < 0 ? spw_ret(v.err)
	    : REAL(copy_file_range)(in, off_in, out, off_out, n, flags);
	if (visiting)
		spw_visit_end(&v);
	end_source(&s);
	return r;
}

static int
clone_into(int fd, unsigned long request, void *arg, int from)
{
	struct spw_visit v;
	bool visiting;
	int r = spw_settle_fd(from);

	if (r < 0)
		return (int)spw_ret(r);
	visiting = spw_visit_begin(fd, true, &v);
	r = visiting && v.err < 0 ? (int)spw_ret(v.err)
				  : REAL(ioctl)(fd, request, arg);
	if (visiting)
		spw_visit_end(&v);
	return r;
}

/* The kernel compares bytes before it shares them: ours must be there. What is
 * longer than a page it does not even look at. */
static int
dedupe(int fd, struct file_dedupe_range *to)
{
	const unsigned most = (4096 - sizeof(*to)) / sizeof(to->info[0]);
	unsigned n = to->dest_count > most ? 0 : to->dest_count;
	int r = spw_settle_fd(fd);

	for (unsigned i = 0; r == 0 && i < n; i++)
		r = spw_settle_fd((int)to->info[i].dest_fd);
	return r < 0 ? (int)spw_ret(r) : REAL(ioctl)(fd, FIDEDUPERANGE, to);
}

/* A device made of a file, which it keeps when everybody has closed it. */
static int
make_device(int device, unsigned long request, void *arg, int fd)
{
	struct spw_grip g;
	int r = spw_leave(fd, SPW_BYPASS_MMAP);

	if (r < 0)
		return (int)spw_ret(r);
	r = REAL(ioctl)(device, request, arg);
	if (r >= 0 && spw_fdtab_peek(fd, &g))
		atomic_fetch_add(&g.f->opens, 1);
	return r;
}

/* Attributes with which nobody could bring bytes home afterwards. */
static bool
locks_up(unsigned long request, const void *arg)
{
	const struct fsxattr *x = arg;

	if (request == FS_IOC_SETFLAGS)
		return !spw_cache_bad_pointer(arg, sizeof(int)) &&
		       *(const unsigned *)arg &
		       (FS_IMMUTABLE_FL | FS_APPEND_FL);
	return request == FS_IOC_FSSETXATTR &&
	       !spw_cache_bad_pointer(x, sizeof(*x)) &&
	       x->fsx_xflags & (FS_XFLAG_IMMUTABLE | FS_XFLAG_APPEND);
}

/* Requests that name another file, or several. False: not one of them. */
static bool
is_about_another(int fd, unsigned long request, void *arg, int *ret)
{
	struct file_dedupe_range *same = arg;
	struct file_clone_range *range = arg;
	struct loop_config *loop = arg;

	switch (request) {
	case FICLONE:
		*ret = clone_into(fd, request, arg, (int)(intptr_t)arg);
		return true;
	case FICLONERANGE:
		if (spw_cache_bad_pointer(range, sizeof(*range)))
			return false;
		*ret = clone_into(fd, request, arg, (int)range->src_fd);
		return true;
	case FIDEDUPERANGE:
		if (spw_cache_bad_pointer(same, sizeof(*same)))
			return false;
		*ret = dedupe(fd, same);
		return true;
	case LOOP_SET_FD:
	case LOOP_CHANGE_FD:
		*ret = make_device(fd, request, arg, (int)(intptr_t)arg);
		return true;
	case LOOP_CONFIGURE:
		if (spw_cache_bad_pointer(loop, sizeof(*loop)))
			return false;
		*ret = make_device(fd, request, arg, (int)loop->fd);
		return true;
	default:
		return false;
	}
}

SPW_WRAP int
ioctl(int fd, unsigned long request, ...)
{
	struct spw_visit v;
	va_list ap;
	void *arg;
	int r;

	va_start(ap, request);
	arg = va_arg(ap, void *);
	va_end(ap);
	if (is_about_another(fd, request, arg, &r))
		return r;
	if (SPW_LIKELY(!spw_fdtab_has(fd)))
		return REAL(ioctl)(fd, request, arg);
	if (locks_up(request, arg))
		(void)spw_leave(fd, SPW_BYPASS_NO_REOPEN);
	if (!spw_visit_begin(fd, true, &v))
		return REAL(ioctl)(fd, request, arg);
	r = REAL(ioctl)(fd, request, arg);
	spw_visit_end(&v);
	return r;
}

/* libc's aio threads call the kernel themselves. */
static int
leave_aio(const struct aiocb *cb)
{
	return cb ? spw_leave(cb->aio_fildes, SPW_BYPASS_AIO) : 0;
}

SPW_WRAP int
aio_read(struct aiocb *cb)
{
	int r = leave_aio(cb);

	return r < 0 ? (int)spw_ret(r) : REAL(aio_read)(cb);
}
extern int aio_read64(struct aiocb64 *cb)
	__attribute__((alias("aio_read"), visibility("default")));

SPW_WRAP int
aio_write(struct aiocb *cb)
{
	int r = leave_aio(cb);

	return r < 0 ? (int)spw_ret(r) : REAL(aio_write)(cb);
}
extern int aio_write64(struct aiocb64 *cb)
	__attribute__((alias("aio_write"), visibility("default")));

SPW_WRAP int
aio_fsync(int op, struct aiocb *cb)
{
	int r = leave_aio(cb);

	return r < 0 ? (int)spw_ret(r) : REAL(aio_fsync)(op, cb);
}
extern int aio_fsync64(int op, struct aiocb64 *cb)
	__attribute__((alias("aio_fsync"), visibility("default")));

SPW_WRAP int
lio_listio(int mode, struct aiocb *const *list, int n, struct sigevent *sig)
{
	for (int i = 0; i < n; i++) {
		int r = leave_aio(list[i]);

		if (r < 0)
			return (int)spw_ret(r);
	}
	return REAL(lio_listio)(mode, list, n, sig);
}
extern int lio_listio64(int mode, struct aiocb64 *const *list, int n,
			struct sigevent *sig)
	__attribute__((alias("lio_listio"), visibility("default")));
