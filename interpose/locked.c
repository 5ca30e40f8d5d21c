/* SPDX-License-Identifier: BSD-3-Clause */
/* locked.c -- a program that locks its memory does not lock the segment */

/*
 * mlockall brings all memory in, and counts it against a limit. The segment is
 * not the program's: what the program has is locked piece by piece, as the
 * kernel lists it. What is mapped later is the kernel's to lock, but for ours
 * (spw_seg_map).
 */
#include <errno.h>
#include <linux/capability.h>
#include <sys/syscall.h>

#include "interpose/front.h"
#include "interpose/real.h"
#include "shm/claims.h"
#include "shm/sys.h"

enum { KNOWN = MCL_CURRENT | MCL_FUTURE | MCL_ONFAULT };

typedef void (*on_piece)(uint64_t from, uint64_t to, void *arg);

struct line {				/* its beginning: "from-to ", hexadecimal */
	char text[64];
	size_t len;
};

static bool
is_ours(uint64_t at)
{
	const struct spw_map *map = &spw_front.map;
	uint64_t base = (uint64_t)(uintptr_t)map->base;

	return (base && at >= base && at < base + map->fixed.size) ||
	       spw_claims_lie_at(at);
}

static void
end_line(struct line *line, on_piece each, void *arg)
{
	uint64_t from, to;
	char *end;

	line->text[line->len] = '\0';
	line->len = 0;
	from = strtoul(line->text, &end, 16);
	to = *end == '-' ? strtoul(end + 1, NULL, 16) : 0;
	/* Addresses of the kernel are not memory of ours to lock. */
	if (from < to && to < UINT64_C(1) << 63 && !is_ours(from))
		each(from, to, arg);
}

/* Every mapping but ours; 0 or a negative errno. */
static int
walk(on_piece each, void *arg)
{
	struct line line = { .len = 0 };
	char buf[512];
	int64_t n;
	int fd = spw_sys_open("/proc/self/maps", O_RDONLY | O_CLOEXEC, 0);

	if (fd < 0)
		return fd;
	while ((n = spw_sys_read(fd, buf, sizeof(buf))) > 0)
		for (int64_t i = 0; i < n; i++)
			if (buf[i] == '\n')
				end_line(&line, each, arg);
			else if (line.len < sizeof(line.text) - 1)
				line.text[line.len++] = buf[i];
	spw_sys_close(fd);
	return (int)n;
}

static void
add(uint64_t from, uint64_t to, void *sum)
{
	*(uint64_t *)sum += to - from;
}

/* What cannot be brought in, mlockall does not mind. */
static void
lock(uint64_t from, uint64_t to, void *flags)
{
	(void)spw_syscall(SYS_mlock2, (long)from, (long)(to - from),
			  *(int *)flags & MCL_ONFAULT ? MLOCK_ONFAULT : 0, 0,
			  0, 0);
}

static bool
is_above_limits(void)
{
	struct __user_cap_header_struct who = {
		.version = _LINUX_CAPABILITY_VERSION_3,
	};
	struct __user_cap_data_struct caps[2] = { { 0 } };

	return spw_syscall(SYS_capget, (long)&who, (long)caps, 0, 0, 0, 0) ==
	       0 && caps[0].effective & 1u << CAP_IPC_LOCK;
}

/* Whether the kernel would lock what is the program's. */
static int
is_allowed(void)
{
	uint64_t sum = 0;
	struct rlimit limit;

	if (spw_syscall(SYS_prlimit64, 0, RLIMIT_MEMLOCK, 0, (long)&limit, 0,
			0) < 0 || is_above_limits())
		return 0;
	if (!limit.rlim_cur)
		return -EPERM;
	return walk(add, &sum) == 0 && sum > limit.rlim_cur ? -ENOMEM : 0;
}

static int
lock_but_ours(int flags)
{
	int saved = errno, r = is_allowed();

	if (r < 0)
		return (int)spw_ret(r);
	if (flags & MCL_FUTURE)
		r = REAL(mlockall)(flags & ~MCL_CURRENT);
	else				/* later mappings are not, from now on */
		r = REAL(munlockall)();
	if (r < 0)
		return r;
	if (walk(lock, &flags) < 0)	/* no list, no choice */
		return REAL(mlockall)(flags);
	errno = saved;
	return 0;
}

SPW_WRAP int
mlockall(int flags)
{
	if (flags & MCL_FUTURE && !(flags & ~KNOWN))
		atomic_store(&spw_seg_stays_unlocked, true);
	if (flags & MCL_CURRENT && !(flags & ~KNOWN) && spw_front.map.base)
		return lock_but_ours(flags);
	return REAL(mlockall)(flags);
}
