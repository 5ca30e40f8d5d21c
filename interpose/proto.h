/* SPDX-License-Identifier: BSD-3-Clause */
/* proto.h -- every function we wrap, declared; headers leave some out */
#ifndef SPW_INTERPOSE_PROTO_H
#define SPW_INTERPOSE_PROTO_H

#include <aio.h>
#include <dlfcn.h>
#include <execinfo.h>
#include <fcntl.h>
#include <fts.h>
#include <ftw.h>
#include <mntent.h>
#include <pty.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/xattr.h>
#include <ulimit.h>
#include <unistd.h>
#include <utime.h>
#include <utmp.h>
#include <utmpx.h>
#include <wchar.h>

#include "shm/util.h"

/* Aliases and checked forms that libc exports without declaring them. */
ssize_t __read_chk(int fd, void *buf, size_t n, size_t cap);
ssize_t __pread_chk(int fd, void *buf, size_t n, off_t off, size_t cap);
int __open_2(const char *path, int flags);
int __openat_2(int dir, const char *path, int flags);
int __xstat(int ver, const char *path, struct stat *st);
int __lxstat(int ver, const char *path, struct stat *st);
int __fxstat(int ver, int fd, struct stat *st);
int __fxstatat(int ver, int dir, const char *path, struct stat *st,
	       int flags);

int __register_atfork(void (*before)(void), void (*parent)(void),
		      void (*child)(void), void *object);

/* Of newer C libraries. */
int pidfd_getfd(int pidfd, int fd, unsigned flags);
int pidfd_spawn(int *pidfd, const char *path,
		const posix_spawn_file_actions_t *actions,
		const posix_spawnattr_t *attr, char *const argv[],
		char *const envp[]);
int pidfd_spawnp(int *pidfd, const char *file,
		 const posix_spawn_file_actions_t *actions,
		 const posix_spawnattr_t *attr, char *const argv[],
		 char *const envp[]);

/* Of libaio and liburing, which need not be there. */
struct io_uring;
struct io_uring_params;
struct iocb;
int io_submit(void *ctx, long n, struct iocb **list);
int io_uring_queue_init(unsigned entries, struct io_uring *ring,
			unsigned flags);
int io_uring_queue_init_params(unsigned entries, struct io_uring *ring,
			       struct io_uring_params *p);
int io_uring_queue_init_mem(unsigned entries, struct io_uring *ring,
			    struct io_uring_params *p, void *buf, size_t n);
int io_uring_queue_mmap(int fd, struct io_uring_params *p,
			struct io_uring *ring);
int io_uring_setup(unsigned entries, struct io_uring_params *p);

/* The same of streams. */
size_t __fread_chk(void *to, size_t cap, size_t size, size_t n, FILE *fp);
size_t __fread_unlocked_chk(void *to, size_t cap, size_t size, size_t n,
			    FILE *fp);
int __dprintf_chk(int fd, int level, const char *fmt, ...);
int __vdprintf_chk(int fd, int level, const char *fmt, va_list ap);
int __vsnprintf_chk(char *buf, size_t n, int level, size_t cap,
		    const char *fmt, va_list ap);
wint_t __woverflow(FILE *fp, wint_t c);
wint_t __wuflow(FILE *fp);
wint_t __wunderflow(FILE *fp);
wchar_t *__fgetws_chk(wchar_t *buf, size_t cap, int n, FILE *fp);
wchar_t *__fgetws_unlocked_chk(wchar_t *buf, size_t cap, int n, FILE *fp);
int __fwprintf_chk(FILE *fp, int level, const wchar_t *fmt, ...);
int __vfwprintf_chk(FILE *fp, int level, const wchar_t *fmt, va_list ap);
int __wprintf_chk(int level, const wchar_t *fmt, ...);
int __vwprintf_chk(int level, const wchar_t *fmt, va_list ap);
int __isoc99_fwscanf(FILE *fp, const wchar_t *fmt, ...);
int __isoc99_vfwscanf(FILE *fp, const wchar_t *fmt, va_list ap);
int __isoc99_wscanf(const wchar_t *fmt, ...);
int __isoc99_vwscanf(const wchar_t *fmt, va_list ap);
int __isoc23_fwscanf(FILE *fp, const wchar_t *fmt, ...);
int __isoc23_vfwscanf(FILE *fp, const wchar_t *fmt, va_list ap);
int __isoc23_wscanf(const wchar_t *fmt, ...);
int __isoc23_vwscanf(const wchar_t *fmt, va_list ap);

#endif
