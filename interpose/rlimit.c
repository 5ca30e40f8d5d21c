/* SPDX-License-Identifier: BSD-3-Clause */
/* rlimit.c -- limits on file sizes, kept up to date, and on address space */

/*
 * A limit that another process sets is not told: what is open is the kernel's
 * before, if we see who sets it, and each opening looks again.
 */
#include <errno.h>
#include <stdarg.h>

#include "interpose/leave.h"
#include "interpose/process.h"
#include "interpose/real.h"
#include "shm/conf.h"
#include "shm/sys.h"

void
spw_process_read_limit(void)
{
	struct rlimit limit;

	if (spw_syscall(SYS_prlimit64, 0, RLIMIT_FSIZE, 0, (long)&limit, 0,
			0) == 0)
		atomic_store_explicit(&spw_front.fsize_limit, limit.rlim_cur,
				      memory_order_relaxed);
}

/* A drainer that is a thread of this process is bound by the new limit. */
static void
bring_home(void)
{
	int err = errno;

	if (spw_front_drainer_mode() == SPW_DRAINER_THREAD)
		(void)spw_settle_all();		/* close will tell */
	errno = err;
}

/* With so little address space the programs that it starts could not map the
 * segment, nor see what is in it. */
static SPW_EARLY void
before_space(const struct rlimit *limit)
{
	if (limit && limit->rlim_cur != RLIM_INFINITY && spw_front_look() &&
	    limit->rlim_cur / 2 < spw_front.map.fixed.size)
		spw_process_withdraws();
}

SPW_WRAP SPW_EARLY int
setrlimit(__rlimit_resource_t resource, const struct rlimit *limit)
{
	int r;

	if (resource == RLIMIT_FSIZE)
		bring_home();
	if (resource == RLIMIT_AS)
		before_space(limit);
	r = REAL(setrlimit)(resource, limit);
	if (resource == RLIMIT_FSIZE)
		spw_process_read_limit();
	return r;
}

SPW_WRAP int
setrlimit64(__rlimit_resource_t resource, const struct rlimit64 *limit)
{
	return setrlimit(resource, (const struct rlimit *)limit);
}

SPW_WRAP int
prlimit(pid_t pid, enum __rlimit_resource resource,
	const struct rlimit *limit, struct rlimit *old)
{
	int r;

	if (resource == RLIMIT_FSIZE && limit) {
		if (pid == 0 || pid == getpid())
			bring_home();
		else
			spw_leave_open(SPW_BYPASS_RLIMIT);
	}
	if (resource == RLIMIT_AS && (pid == 0 || pid == getpid()))
		before_space(limit);
	r = REAL(prlimit)(pid, resource, limit, old);
	if (resource == RLIMIT_FSIZE && limit)
		spw_process_read_limit();
	return r;
}

SPW_WRAP int
prlimit64(pid_t pid, enum __rlimit_resource resource,
	  const struct rlimit64 *limit, struct rlimit64 *old)
{
	return prlimit(pid, resource, (const struct rlimit *)limit,
		       (struct rlimit *)old);
}

SPW_WRAP long
ulimit(int cmd, ...)
{
	va_list ap;
	long arg, r;

	va_start(ap, cmd);
	arg = va_arg(ap, long);		/* there or not, as libc does */
	va_end(ap);
	if (cmd == UL_SETFSIZE)
		bring_home();
	r = REAL(ulimit)(cmd, arg);
	if (cmd == UL_SETFSIZE)
		spw_process_read_limit();
	return r;
}
