/* SPDX-License-Identifier: BSD-3-Clause */
/* numbers.c -- system calls that the program makes by number */

/*
 * syscall() goes the way of the function of that name as far as it may meet
 * our files. The kernel's structures are libc's here, all offsets have 64
 * bits. What is not listed goes to the kernel as it is.
 */
#include <stdarg.h>
#include <sys/single_threaded.h>
#include <sys/syscall.h>

#include "interpose/fdtab.h"
#include "interpose/modes.h"
#include "interpose/process.h"
#include "interpose/real.h"
#include "interpose/rings.h"
#include "interpose/signals.h"

#define I(k) ((int)a[k])
#define U(k) ((unsigned)a[k])
#define N(k) ((size_t)a[k])
#define P(k) ((void *)a[k])

/* Each is true when the call was made, with what libc would return. */
static bool
moves_bytes(long nr, const long *a, long *ret)
{
	switch (nr) {
	case SYS_read: *ret = read(I(0), P(1), N(2)); break;
	case SYS_write: *ret = write(I(0), P(1), N(2)); break;
	case SYS_pread64: *ret = pread(I(0), P(1), N(2), a[3]); break;
	case SYS_pwrite64: *ret = pwrite(I(0), P(1), N(2), a[3]); break;
	case SYS_readv: *ret = readv(I(0), P(1), I(2)); break;
	case SYS_writev: *ret = writev(I(0), P(1), I(2)); break;
	case SYS_preadv: *ret = preadv(I(0), P(1), I(2), a[3]); break;
	case SYS_pwritev: *ret = pwritev(I(0), P(1), I(2), a[3]); break;
	case SYS_preadv2:
		*ret = preadv2(I(0), P(1), I(2), a[3], I(5));
		break;
	case SYS_pwritev2:
		*ret = pwritev2(I(0), P(1), I(2), a[3], I(5));
		break;
	case SYS_sendfile: *ret = sendfile(I(0), I(1), P(2), N(3)); break;
	case SYS_splice:
		*ret = splice(I(0), P(1), I(2), P(3), N(4), U(5));
		break;
	case SYS_copy_file_range:
		*ret = copy_file_range(I(0), P(1), I(2), P(3), N(4), U(5));
		break;
	case SYS_sendmsg: *ret = sendmsg(I(0), P(1), I(2)); break;
	case SYS_sendmmsg: *ret = sendmmsg(I(0), P(1), U(2), I(3)); break;
	case SYS_recvmsg: *ret = recvmsg(I(0), P(1), I(2)); break;
	case SYS_recvmmsg:
		*ret = recvmmsg(I(0), P(1), U(2), I(3), P(4));
		break;
	case SYS_mmap:
		if (I(3) & MAP_ANONYMOUS)
			return false;
		*ret = (long)mmap(P(0), N(1), I(2), I(3), I(4), a[5]);
		break;
	default: return false;
	}
	return true;
}

static bool
sizes(long nr, const long *a, long *ret)
{
	switch (nr) {
	case SYS_lseek: *ret = lseek(I(0), a[1], I(2)); break;
	case SYS_ftruncate: *ret = ftruncate(I(0), a[1]); break;
	case SYS_truncate: *ret = truncate(P(0), a[1]); break;
	case SYS_fallocate: *ret = fallocate(I(0), I(1), a[2], a[3]); break;
	case SYS_fsync: *ret = fsync(I(0)); break;
	case SYS_fdatasync: *ret = fdatasync(I(0)); break;
	case SYS_syncfs: *ret = syncfs(I(0)); break;
	case SYS_sync: sync(); *ret = 0; break;
	case SYS_sync_file_range:
		*ret = sync_file_range(I(0), a[1], a[2], U(3));
		break;
	case SYS_ioctl: *ret = ioctl(I(0), N(1), P(2)); break;
	case SYS_fcntl: *ret = fcntl(I(0), I(1), a[2]); break;
	default: return false;
	}
	return true;
}

static bool
opens(long nr, const long *a, long *ret)
{
	switch (nr) {
#ifdef SYS_open
	case SYS_open: *ret = open(P(0), I(1), (mode_t)a[2]); break;
	case SYS_creat: *ret = creat(P(0), (mode_t)a[1]); break;
	case SYS_dup2: *ret = dup2(I(0), I(1)); break;
#endif
	case SYS_openat: *ret = openat(I(0), P(1), I(2), (mode_t)a[3]); break;
	case SYS_openat2: *ret = spw_open_how(I(0), P(1), P(2), N(3)); break;
	case SYS_open_by_handle_at:
		*ret = open_by_handle_at(I(0), P(1), I(2));
		break;
	case SYS_close: *ret = close(I(0)); break;
	case SYS_close_range: *ret = close_range(U(0), U(1), I(2)); break;
	case SYS_dup: *ret = dup(I(0)); break;
	case SYS_pidfd_getfd: *ret = pidfd_getfd(I(0), I(1), U(2)); break;
	case SYS_dup3: *ret = dup3(I(0), I(1), I(2)); break;
	default: return false;
	}
	return true;
}

static bool
names(long nr, const long *a, long *ret)
{
	switch (nr) {
#ifdef SYS_stat
	case SYS_stat: *ret = stat(P(0), P(1)); break;
	case SYS_lstat: *ret = lstat(P(0), P(1)); break;
	case SYS_rename: *ret = rename(P(0), P(1)); break;
	case SYS_link: *ret = link(P(0), P(1)); break;
	case SYS_unlink: *ret = unlink(P(0)); break;
	case SYS_rmdir: *ret = rmdir(P(0)); break;
#endif
	case SYS_fstat: *ret = fstat(I(0), P(1)); break;
	case SYS_newfstatat: *ret = fstatat(I(0), P(1), P(2), I(3)); break;
	case SYS_statx: *ret = statx(I(0), P(1), I(2), U(3), P(4)); break;
	case SYS_renameat: *ret = renameat(I(0), P(1), I(2), P(3)); break;
	case SYS_renameat2:
		*ret = renameat2(I(0), P(1), I(2), P(3), U(4));
		break;
	case SYS_linkat: *ret = linkat(I(0), P(1), I(2), P(3), I(4)); break;
	case SYS_unlinkat: *ret = unlinkat(I(0), P(1), I(2)); break;
	case SYS_utimensat:
		*ret = a[1] ? utimensat(I(0), P(1), P(2), I(3))
			    : futimens(I(0), P(2));
		break;
	default: return false;
	}
	return true;
}

static bool
attributes(long nr, const long *a, long *ret)
{
	switch (nr) {
#ifdef SYS_chmod
	case SYS_chmod: *ret = chmod(P(0), (mode_t)a[1]); break;
	case SYS_chown: *ret = chown(P(0), U(1), U(2)); break;
	case SYS_lchown: *ret = lchown(P(0), U(1), U(2)); break;
	case SYS_utime: *ret = utime(P(0), P(1)); break;
	case SYS_utimes: *ret = utimes(P(0), P(1)); break;
	case SYS_futimesat: *ret = futimesat(I(0), P(1), P(2)); break;
#endif
	case SYS_fchmod: *ret = fchmod(I(0), (mode_t)a[1]); break;
	case SYS_fchmodat:
		*ret = fchmodat(I(0), P(1), (mode_t)a[2], 0);
		break;
	case SYS_fchown: *ret = fchown(I(0), U(1), U(2)); break;
	case SYS_fchownat:
		*ret = fchownat(I(0), P(1), U(2), U(3), I(4));
		break;
	case SYS_removexattr: *ret = removexattr(P(0), P(1)); break;
	case SYS_lremovexattr: *ret = lremovexattr(P(0), P(1)); break;
	case SYS_fremovexattr: *ret = fremovexattr(I(0), P(1)); break;
	case SYS_setxattr:
		*ret = setxattr(P(0), P(1), P(2), N(3), I(4));
		break;
	case SYS_lsetxattr:
		*ret = lsetxattr(P(0), P(1), P(2), N(3), I(4));
		break;
	case SYS_fsetxattr:
		*ret = fsetxattr(I(0), P(1), P(2), N(3), I(4));
		break;
	case SYS_prlimit64: *ret = prlimit(I(0), U(1), P(2), P(3)); break;
	case SYS_setrlimit: *ret = setrlimit(U(0), P(1)); break;
	case SYS_mlockall: *ret = mlockall(I(0)); break;
	default: return spw_modes_by_number(nr, a, ret);
	}
	return true;
}

static bool
processes(long nr, const long *a, long *ret)
{
	switch (nr) {
#ifdef SYS_fork
	case SYS_fork: *ret = _Fork(); break;
	case SYS_vfork: *ret = vfork(); break;
#endif
	case SYS_clone:
	case SYS_clone3: *ret = spw_process_clone(nr, a); break;
	case SYS_unshare: *ret = unshare(I(0)); break;
	case SYS_setns: *ret = setns(I(0), I(1)); break;
	case SYS_execve: *ret = execve(P(0), P(1), P(2)); break;
	case SYS_execveat:
		*ret = execveat(I(0), P(1), P(2), P(3), I(4));
		break;
	case SYS_setuid:
		spw_process_becomes((uid_t)a[0]);
		return false;
	case SYS_setreuid:
	case SYS_setresuid:
		spw_process_becomes((uid_t)a[1]);
		return false;
	case SYS_rt_sigaction: return spw_signals_by_number(a, ret);
#ifdef SYS_landlock_restrict_self
	case SYS_landlock_restrict_self:
		spw_process_withdraws();
		return false;
#endif
	case SYS_seccomp: *ret = spw_process_seccomp(a); break;
	case SYS_chroot: *ret = chroot(P(0)); break;
	case SYS_mount: *ret = mount(P(0), P(1), P(2), N(3), P(4)); break;
	case SYS_umount2: *ret = umount2(P(0), I(1)); break;
	case SYS_prctl: *ret = prctl(I(0), a[1], a[2], a[3], a[4]); break;
	case SYS_exit_group: _exit(I(0));
	default: return false;
	}
	return true;
}

static bool
is_cancelled_anywhere(void)
{
	int type;

	pthread_setcanceltype(PTHREAD_CANCEL_DEFERRED, &type);
	pthread_setcanceltype(type, NULL);
	return type == PTHREAD_CANCEL_ASYNCHRONOUS;
}

/* What is a cancellation point by name is none by number. */
static bool
may_wait(long nr, const long *a, long *ret)
{
	bool switched = !__libc_single_threaded && !is_cancelled_anywhere();
	bool done;
	int state;

	if (switched)
		pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
	done = moves_bytes(nr, a, ret) || sizes(nr, a, ret) ||
	       opens(nr, a, ret);
	if (switched)
		pthread_setcancelstate(state, NULL);
	return done;
}

static bool
goes_by_name(long nr, const long *a, long *ret)
{
	return may_wait(nr, a, ret) || names(nr, a, ret) ||
	       attributes(nr, a, ret) || processes(nr, a, ret);
}

/*
 * A library that comes after us, such as tcmalloc, may make by number the
 * call that we pass on to it by name, and is back here: then it is the
 * kernel's turn. It is deeper in the stack than the call it belongs to, which
 * one is not that was left by a jump.
 */
struct numbered {
	long nr, first;
	const char *frame;
};
static __thread struct numbered under_way;

static bool
comes_back(const struct numbered *call)
{
	return call->frame < under_way.frame && call->nr == under_way.nr &&
	       call->first == under_way.first;
}

SPW_WRAP long
syscall(long nr, ...)
{
	struct numbered outer = under_way, call;
	long a[6], r;
	va_list ap;

	va_start(ap, nr);
	for (int i = 0; i < 6; i++)
		a[i] = va_arg(ap, long);
	va_end(ap);
	call = (struct numbered){ nr, a[0], __builtin_frame_address(0) };
	if (!comes_back(&call)) {
		bool done;

		under_way = call;
		done = goes_by_name(nr, a, &r);
		under_way = outer;
		if (done)
			return r;
	}
	if (nr == SYS_io_uring_setup)
		spw_rings_begin();
	else if (nr == SYS_io_submit)
		(void)spw_rings_submit(a[1], P(2));	/* the kernel tells */
	return REAL(syscall)(nr, a[0], a[1], a[2], a[3], a[4], a[5]);
}
