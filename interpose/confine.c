/* SPDX-License-Identifier: BSD-3-Clause */
/* confine.c -- a process becomes another user, has another root, or may call
 * the kernel less, or traces others */

/*
 * Another user has segments of his own: the process, and whatever it starts,
 * could not see what others write to this one, nor start a drainer for it. A
 * filter of system calls may kill who waits for a lock, a drainer or a thread
 * that the program does not know of; Landlock may keep it from the segment. A
 * tracer stops others anywhere, also with a lock in their hands that it would
 * wait for, to write down what they did. In all these cases everything is
 * brought home first, and the kernel serves the process from then on.
 */
#include <linux/seccomp.h>
#include <stdarg.h>

#include "interpose/front.h"
#include "interpose/process.h"
#include "interpose/real.h"
#include "shm/conf.h"
#include "shm/sys.h"

void
spw_process_becomes(uid_t user)
{
	if (user != (uid_t)-1 && user != spw_sys_geteuid())
		spw_process_withdraws();
}

SPW_WRAP int
setuid(uid_t user)
{
	spw_process_becomes(user);
	return REAL(setuid)(user);
}

SPW_WRAP int
seteuid(uid_t user)
{
	spw_process_becomes(user);
	return REAL(seteuid)(user);
}

SPW_WRAP int
setreuid(uid_t real, uid_t effective)
{
	spw_process_becomes(effective);
	return REAL(setreuid)(real, effective);
}

SPW_WRAP int
setresuid(uid_t real, uid_t effective, uid_t saved)
{
	spw_process_becomes(effective);
	return REAL(setresuid)(real, effective, saved);
}

/* A drainer that is a thread may not have got hold of the segment yet, and
 * nobody could start one from there. */
SPW_WRAP int
chroot(const char *path)
{
	if (spw_front_drainer_mode() == SPW_DRAINER_THREAD)
		spw_process_withdraws();
	return REAL(chroot)(path);
}

/* Some only ask, with a filter that is none. */
static bool
confines(int how, unsigned long mode, unsigned long filter)
{
	return how == PR_SET_SECCOMP &&
	       (mode == SECCOMP_MODE_STRICT ||
		(mode == SECCOMP_MODE_FILTER && filter));
}

SPW_WRAP int
prctl(int what, ...)
{
	unsigned long a[4];
	va_list ap;

	va_start(ap, what);
	for (int i = 0; i < 4; i++)
		a[i] = va_arg(ap, unsigned long);
	va_end(ap);
	if (confines(what, a[0], a[1]))
		spw_process_withdraws();
	return REAL(prctl)(what, a[0], a[1], a[2], a[3]);
}

/* Whoever asks for anything else than to be traced is a tracer. */
SPW_WRAP long
ptrace(enum __ptrace_request request, ...)
{
	void *a[3];
	va_list ap;

	va_start(ap, request);
	for (int i = 0; i < 3; i++)
		a[i] = va_arg(ap, void *);
	va_end(ap);
	if (request != PTRACE_TRACEME)
		spw_process_withdraws();
	return REAL(ptrace)(request, a[0], a[1], a[2]);
}

long
spw_process_seccomp(const long *a)
{
	if (a[0] == SECCOMP_SET_MODE_STRICT ||
	    (a[0] == SECCOMP_SET_MODE_FILTER && a[2]))
		spw_process_withdraws();
	return REAL(syscall)(SYS_seccomp, a[0], a[1], a[2]);
}
