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
	R(sendmmsg) R(recvmsg) R(recvmmsg) \
	R(aio_read) R(aio_write) R(aio_fsync) R(lio_listio) \
	R(io_submit) R(io_uring_queue_init) R(io_uring_queue_init_params) \
	R(io_uring_queue_init_mem) R(io_uring_queue_mmap) R(io_uring_setup)

#define SPW_REALS_META(R) \
	R(stat) R(lstat) R(fstat) R(fstatat) R(statx) R(__xstat) R(__lxstat) \
	R(__fxstat) R(__fxstatat) R(utime) R(utimes) R(lutimes) R(futimes) \
	R(futimesat) R(futimens) R(utimensat) R(rename) R(renameat) \
	R(renameat2) R(unlink) R(unlinkat) R(rmdir) R(remove) R(link) R(linkat) \
	R(chmod) R(lchmod) R(fchmod) R(fchmodat) R(setxattr) R(lsetxattr) \
	R(fsetxattr) R(chown) R(lchown) R(fchown) R(fchownat) R(removexattr) \
	R(lremovexattr) R(fremovexattr) R(fts_read) R(fts_children) R(ftw) R(nftw) \
	R(backtrace_symbols_fd) R(login_tty) R(updwtmp) R(updwtmpx) \
	R(utmpname) R(utmpxname)

#define SPW_REALS_STDIO(R) \
	R(fopen) R(fdopen) R(freopen) R(fclose) R(fread) R(fread_unlocked) \
	R(fseeko) R(ftello) R(setvbuf) R(ungetc) \
	R(__fread_chk) R(__fread_unlocked_chk) R(vdprintf) R(__vdprintf_chk) \
	R(fwide) R(fgetwc) R(fgetwc_unlocked) R(getwchar) \
	R(getwchar_unlocked) R(fputwc) R(fputwc_unlocked) R(putwchar) \
	R(putwchar_unlocked) R(ungetwc) R(__woverflow) R(__wuflow) \
	R(__wunderflow) R(fgetws) R(fgetws_unlocked) R(__fgetws_chk) \
	R(__fgetws_unlocked_chk) R(fputws) R(fputws_unlocked) R(vfwprintf) \
	R(__vfwprintf_chk) R(vfwscanf) R(__isoc99_vfwscanf) \
	R(__isoc23_vfwscanf)

#define SPW_REALS_PROCESS(R) \
	R(fork) R(_Fork) R(clone) R(unshare) R(setns) R(dlmopen) R(dlopen) \
	R(mount) R(umount) R(umount2) R(prctl) R(ptrace) R(chroot) \
	R(setuid) R(seteuid) R(setreuid) R(setresuid) \
	R(__register_atfork) R(execve) R(execvpe) \
	R(execveat) R(fexecve) R(posix_spawn) R(posix_spawnp) \
	R(posix_spawn_file_actions_init) R(posix_spawn_file_actions_destroy) \
	R(posix_spawn_file_actions_adddup2) \
	R(posix_spawn_file_actions_addopen) \
	R(posix_spawn_file_actions_addchdir_np) \
	R(posix_spawn_file_actions_addfchdir_np) \
	R(pidfd_spawn) R(pidfd_spawnp) \
	R(popen) R(system) R(_exit) \
	R(setrlimit) R(prlimit) R(ulimit) R(sigaction) R(mlockall) \
	R(munlockall)

struct spw_real {
#define SPW_REAL_FIELD(name) __typeof__(name) *name;
	SPW_REALS(SPW_REAL_FIELD)
#undef SPW_REAL_FIELD
};

extern struct spw_real spw_real;

void *spw_real_find(const char *name);	/* in place, when called early */
/* Also where only the library that calls us has it. */
void *spw_real_find_for(const char *name, const void *caller);
void spw_real_find_all(void);

#define REAL(name) \
	(SPW_LIKELY(spw_real.name != NULL) ? spw_real.name \
	 : (__typeof__(name) *)spw_real_find(#name))

/* Of a library that need not be there, and may have been loaded for another
 * one alone; in the wrapper itself. NULL: nowhere. */
#define REAL_OF_CALLER(name) \
	(SPW_LIKELY(spw_real.name != NULL) ? spw_real.name \
	 : (__typeof__(name) *)spw_real_find_for(#name, \
					__builtin_return_address(0)))

/* Of what the run-time library of a sanitizer calls before it is ready. */
#define SPW_EARLY __attribute__((no_sanitize("address"), no_sanitize("thread")))

/* A wrapper that ends in a jump, however it is built: libc looks at whom the
 * real function returns to, to find the library that asks. */
#ifdef __clang__
#define SPW_JUMPS
#define SPW_JUMP_TO __attribute__((musttail)) return
#else
#define SPW_JUMPS __attribute__((optimize("O2")))
#define SPW_JUMP_TO return
#endif

/* Makes a wrapper visible in the program. */
#define SPW_WRAP __attribute__((visibility("default")))

/*
 * A second name of a wrapper: same type, same behaviour. It is named for the
 * linker only, since headers declare some of these with types of their own
 * that are laid out alike (struct stat64).
 */
#ifndef __clang__
#define SPW_COPY(of) , copy(of)		/* gcc compares attributes */
#else
#define SPW_COPY(of)
#endif
#define SPW_ALIAS(name, of) \
	extern __typeof__(of) spw_alias_##name __asm__(#name) \
		__attribute__((alias(#of), visibility("default") \
			       SPW_COPY(of)))

#endif
