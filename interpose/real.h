/* SPDX-License-Identifier: BSD-3-Clause */
/* real.h -- the functions behind our wrappers */

/*
 * REAL(name) is the next definition of name after ours: libc's, or another
 * preloaded library's. All are looked up when we are loaded. Calls that come
 * earlier (an allocator setting itself up, another library's constructor)
 * reach the kernel through the few stubs in real.c; others are looked up on
 * the spot.
 */
#ifndef SPW_INTERPOSE_REAL_H
#define SPW_INTERPOSE_REAL_H

#include "interpose/proto.h"

#define SPW_REALS(R) \
	SPW_REALS_IO(R) SPW_REALS_META(R) SPW_REALS_STDIO(R) \
	SPW_REALS_PROCESS(R)

#define SPW_REALS_IO(R) \
	R(open) R(openat) R(creat) R(close) R(close_range) R(closefrom) \
	R(mkostemps) R(open_by_handle_at) \
	R(read) R(write) R(pread) R(pwrite) R(readv) R(writev) R(preadv) \
	R(pwritev) R(preadv2) R(pwritev2) R(__read_chk) R(__pread_chk) \
	R(lseek) R(dup) R(dup2) R(dup3) R(fcntl) R(ioctl) R(ftruncate) R(truncate) \
	R(fallocate) R(posix_fallocate) \
	R(fsync) R(fdatasync) R(sync) R(syncfs) R(sync_file_range) \
	R(mmap) R(sendfile) R(splice) \
	R(copy_file_range) R(lockf) R(syscall) R(sendmsg) \
	R(sendmmsg) R(aio_read) R(aio_write) R(aio_fsync) R(lio_listio) \
	R(io_submit) R(io_uring_queue_init) R(io_uring_queue_init_params)

#define SPW_REALS_META(R) \
	R(stat) R(lstat) R(fstat) R(fstatat) R(statx) R(__xstat) R(__lxstat) \
	R(__fxstat) R(__fxstatat) R(utime) R(utimes) R(lutimes) R(futimes) \
	R(futimesat) R(futimens) R(utimensat) R(rename) R(renameat) \
	R(renameat2) R(unlink) R(unlinkat) R(remove) R(link) R(linkat)

#define SPW_REALS_STDIO(R) \
	R(fopen) R(fdopen) R(freopen) R(fclose) R(tmpfile)

#define SPW_REALS_PROCESS(R) \
	R(fork) R(_Fork) R(clone) R(__register_atfork) R(execve) R(execvpe) \
	R(execveat) R(fexecve) R(posix_spawn) R(posix_spawnp) \
	R(posix_spawn_file_actions_init) R(posix_spawn_file_actions_destroy) \
	R(posix_spawn_file_actions_adddup2) \
	R(posix_spawn_file_actions_addopen) R(popen) R(system) R(_exit) R(setrlimit) \
	R(prlimit) R(ulimit) R(sigaction)

struct spw_real {
#define SPW_REAL_FIELD(name) __typeof__(name) *name;
	SPW_REALS(SPW_REAL_FIELD)
#undef SPW_REAL_FIELD
};

extern struct spw_real spw_real;

void *spw_real_find(const char *name);	/* in place, when called early */
void spw_real_find_all(void);

#define REAL(name) \
	(SPW_LIKELY(spw_real.name != NULL) ? spw_real.name \
	 : (__typeof__(name) *)spw_real_find(#name))

/* Makes a wrapper visible in the program. */
#define SPW_WRAP __attribute__((visibility("default")))

/* A second name of a wrapper: same type, same behaviour. Attributes such as
 * nothrow mean nothing here, and gcc need not miss them. */
#ifndef __clang__
#pragma GCC diagnostic ignored "-Wmissing-attributes"
#endif
#define SPW_ALIAS(other, of) \
	extern __typeof__(of) other __attribute__((alias(#of), \
		visibility("default")))

#endif
