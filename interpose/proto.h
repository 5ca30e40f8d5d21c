/* SPDX-License-Identifier: BSD-3-Clause */
/* proto.h -- every function we wrap, declared; headers leave some out */
#ifndef SPW_INTERPOSE_PROTO_H
#define SPW_INTERPOSE_PROTO_H

#include <aio.h>
#include <execinfo.h>
#include <fcntl.h>
#include <fts.h>
#include <ftw.h>
#include <pty.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
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

/* Of libaio and liburing, which need not be there. */
struct io_uring;
struct io_uring_params;
struct iocb;
int io_submit(void *ctx, long n, struct iocb **list);
int io_uring_queue_init(unsigned entries, struct io_uring *ring,
			unsigned flags);
int io_uring_queue_init_params(unsigned entries, struct io_uring *ring,
			       struct io_uring_params *p);

#endif
