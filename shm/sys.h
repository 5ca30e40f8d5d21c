/* SPDX-License-Identifier: BSD-3-Clause */
/* sys.h -- system calls made directly, so that no wrapper sees our own I/O */

/*
 * Everything below returns a count or a negative errno and leaves errno
 * alone. Code in shm/ runs inside other people's programs, where the libc
 * names are our own wrappers; it calls the kernel through here and nothing
 * else.
 */
#ifndef SPW_SHM_SYS_H
#define SPW_SHM_SYS_H

#include <fcntl.h>
#include <linux/futex.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>

/* Never a function of its own: a child that shares our stack (nofile.c) must
 * not come back through a frame that it or its parent has left. */
#define SPW_SYSCALL static inline __attribute__((always_inline)) long

#if defined(__x86_64__)
SPW_SYSCALL
spw_syscall(long nr, long a, long b, long c, long d, long e, long f)
{
	register long r10 __asm__("r10") = d;
	register long r8 __asm__("r8") = e;
	register long r9 __asm__("r9") = f;
	long ret;

	__asm__ volatile("syscall" : "=a"(ret)
			 : "0"(nr), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8),
			   "r"(r9)
			 : "rcx", "r11", "memory");
	return ret;
}
#elif defined(__aarch64__)
SPW_SYSCALL
spw_syscall(long nr, long a, long b, long c, long d, long e, long f)
{
	register long x8 __asm__("x8") = nr;
	register long x0 __asm__("x0") = a;
	register long x1 __asm__("x1") = b;
	register long x2 __asm__("x2") = c;
	register long x3 __asm__("x3") = d;
	register long x4 __asm__("x4") = e;
	register long x5 __asm__("x5") = f;

	__asm__ volatile("svc 0" : "+r"(x0)
			 : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4),
			   "r"(x5)
			 : "memory");
	return x0;
}
#else
#error "spw_syscall: this processor is not known yet"
#endif

static inline int
spw_sys_openat(int dir, const char *path, int flags, int mode)
{
	return (int)spw_syscall(SYS_openat, dir, (long)path, flags, mode, 0, 0);
}

static inline int
spw_sys_open(const char *path, int flags, int mode)
{
	return spw_sys_openat(AT_FDCWD, path, flags, mode);
}

static inline int
spw_sys_close(int fd)
{
	return (int)spw_syscall(SYS_close, fd, 0, 0, 0, 0, 0);
}

static inline int64_t
spw_sys_read(int fd, void *buf, uint64_t n)
{
	return spw_syscall(SYS_read, fd, (long)buf, (long)n, 0, 0, 0);
}

static inline int64_t
spw_sys_write(int fd, const void *buf, uint64_t n)
{
	return spw_syscall(SYS_write, fd, (long)buf, (long)n, 0, 0, 0);
}

static inline int64_t
spw_sys_pread(int fd, void *buf, uint64_t n, uint64_t off)
{
	return spw_syscall(SYS_pread64, fd, (long)buf, (long)n, (long)off,
			   0, 0);
}

static inline int64_t
spw_sys_pwrite(int fd, const void *buf, uint64_t n, uint64_t off)
{
	return spw_syscall(SYS_pwrite64, fd, (long)buf, (long)n, (long)off,
			   0, 0);
}

static inline int64_t
spw_sys_pwritev(int fd, const struct iovec *iov, int n, uint64_t off)
{
	return spw_syscall(SYS_pwritev, fd, (long)iov, n, (long)off,
			   (long)(off >> 32), 0);
}

static inline int64_t
spw_sys_lseek(int fd, int64_t off, int whence)
{
	return spw_syscall(SYS_lseek, fd, (long)off, whence, 0, 0, 0);
}

static inline int
spw_sys_fstatat(int dir, const char *path, struct stat *st, int flags)
{
	return (int)spw_syscall(SYS_newfstatat, dir, (long)path, (long)st,
				flags, 0, 0);
}

static inline int
spw_sys_fstat(int fd, struct stat *st)
{
	return spw_sys_fstatat(fd, "", st, AT_EMPTY_PATH);
}

static inline int
spw_sys_statx(int dir, const char *path, int flags, unsigned mask,
	      struct statx *stx)
{
	return (int)spw_syscall(SYS_statx, dir, (long)path, flags, mask,
				(long)stx, 0);
}

static inline int
spw_sys_fallocate(int fd, int mode, uint64_t off, uint64_t n)
{
	return (int)spw_syscall(SYS_fallocate, fd, mode, (long)off, (long)n,
				0, 0);
}

static inline int
spw_sys_ftruncate(int fd, uint64_t size)
{
	return (int)spw_syscall(SYS_ftruncate, fd, (long)size, 0, 0, 0, 0);
}

static inline int
spw_sys_fcntl(int fd, int cmd, long arg)
{
	return (int)spw_syscall(SYS_fcntl, fd, cmd, arg, 0, 0, 0);
}

static inline int
spw_sys_mkdir(const char *path, int mode)
{
	return (int)spw_syscall(SYS_mkdirat, AT_FDCWD, (long)path, mode, 0,
				0, 0);
}

static inline int
spw_sys_unlink(const char *path)
{
	return (int)spw_syscall(SYS_unlinkat, AT_FDCWD, (long)path, 0, 0, 0,
				0);
}

static inline int
spw_sys_link(const char *from, const char *to)
{
	return (int)spw_syscall(SYS_linkat, AT_FDCWD, (long)from, AT_FDCWD,
				(long)to, 0, 0);
}

static inline int64_t
spw_sys_readlink(const char *path, char *buf, uint64_t n)
{
	return spw_syscall(SYS_readlinkat, AT_FDCWD, (long)path, (long)buf,
			   (long)n, 0, 0);
}

static inline void *
spw_sys_mmap(void *at, uint64_t n, int prot, int flags, int fd, uint64_t off)
{
	long r = spw_syscall(SYS_mmap, (long)at, (long)n, prot, flags, fd,
			     (long)off);

	return r < 0 && r > -4096 ? MAP_FAILED : (void *)r;
}

static inline int
spw_sys_munmap(void *at, uint64_t n)
{
	return (int)spw_syscall(SYS_munmap, (long)at, (long)n, 0, 0, 0, 0);
}

static inline int
spw_sys_mincore(void *at, uint64_t n, unsigned char *ret_pages)
{
	return (int)spw_syscall(SYS_mincore, (long)at, (long)n,
				(long)ret_pages, 0, 0, 0);
}

static inline int
spw_sys_madvise(void *at, uint64_t n, int advice)
{
	return (int)spw_syscall(SYS_madvise, (long)at, (long)n, advice, 0, 0,
				0);
}

static inline int
spw_sys_getpid(void)
{
	return (int)spw_syscall(SYS_getpid, 0, 0, 0, 0, 0, 0);
}

static inline uint32_t
spw_sys_geteuid(void)
{
	return (uint32_t)spw_syscall(SYS_geteuid, 0, 0, 0, 0, 0, 0);
}

static inline int
spw_sys_kill(int pid, int sig)
{
	return (int)spw_syscall(SYS_kill, pid, sig, 0, 0, 0, 0);
}

/* Waits at most ms milliseconds while *word is val; shared between processes.
 * Spurious returns are normal: callers look again. */
static inline int
spw_sys_futex_wait(const _Atomic uint32_t *word, uint32_t val, int64_t ms)
{
	struct timespec ts = { ms / 1000, ms % 1000 * 1000000 };

	return (int)spw_syscall(SYS_futex, (long)word, FUTEX_WAIT, val,
				(long)(ms < 0 ? NULL : &ts), 0, 0);
}

static inline int
spw_sys_futex_wake(const _Atomic uint32_t *word, int n)
{
	return (int)spw_syscall(SYS_futex, (long)word, FUTEX_WAKE, n, 0, 0,
				0);
}

/* The same for one of several who wait for the same word, each with bits of
 * his own: he is woken for these. Until a time of the monotonic clock. */
static inline int
spw_sys_futex_wait_for(const _Atomic uint32_t *word, uint32_t val,
		       uint32_t bits, int64_t until_ms)
{
	struct timespec ts = { until_ms / 1000, until_ms % 1000 * 1000000 };

	return (int)spw_syscall(SYS_futex, (long)word, FUTEX_WAIT_BITSET, val,
				(long)&ts, 0, bits);
}

static inline int
spw_sys_futex_wake_for(const _Atomic uint32_t *word, uint32_t bits)
{
	return (int)spw_syscall(SYS_futex, (long)word, FUTEX_WAKE_BITSET,
				INT32_MAX, 0, 0, bits);
}

static inline void
spw_sys_sleep_us(long us)
{
	struct timespec ts = { us / 1000000, us % 1000000 * 1000 };

	(void)spw_syscall(SYS_nanosleep, (long)&ts, 0, 0, 0, 0, 0);
}

#endif
