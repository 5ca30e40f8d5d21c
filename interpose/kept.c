/* SPDX-License-Identifier: BSD-3-Clause */
/* kept.c -- files whose bytes are kept in tiers come home when opened */

/*
 * A stub (planner/stub.h) has mode 0000 and an attribute. Its owner cannot
 * open it, so nothing is looked at before an open fails with EACCES; root can,
 * and sees the mode in what is asked of every managed file anyway. Where
 * somebody gave it rights, it is looked at for having next to no blocks.
 * `spillway stage out' then brings it home while the open waits: the same
 * inode, so what is open stays valid. A process of its own does it, as for the
 * agent: this one would lose the program's locks on the file, and must not
 * load the back.
 */
#include "interpose/kept.h"

#include <errno.h>
#include <limits.h>
#include <string.h>

#include "interpose/agent.h"
#include "interpose/deep.h"
#include "interpose/front.h"
#include "shm/stubmark.h"
#include "shm/sys.h"
#include "shm/text.h"
#include "shm/util.h"

enum { STUB_MOST = 1 << 20 };		/* more on disk is no stub */

struct staging {
	int fd;
	bool done;
};

static bool
looks_kept(const struct stat *st)
{
	return S_ISREG(st->st_mode) && !(st->st_mode & 0777) && st->st_size;
}

static void
stage_out(void *arg)
{
	struct staging *s = arg;
	char link[32], path[PATH_MAX];
	struct spw_text t;
	int64_t n;

	spw_text_init(&t, link, sizeof(link));
	spw_text_fmt(&t, "/proc/thread-self/fd/%u", (unsigned)s->fd);
	n = spw_sys_readlink(link, path, sizeof(path) - 1);
	if (n <= 0)
		return;
	path[n] = '\0';
	s->done = spw_agent_stage_out(path) == 0;
}

bool
spw_kept_settle(int dirfd, const char *path)
{
	struct staging s = { .fd = -1 };
	int saved = errno;
	struct stat st;

	if (!spw_front_is_on())
		return false;
	s.fd = spw_sys_openat(dirfd, path, O_PATH | O_CLOEXEC, 0);
	if (s.fd >= 0 && spw_sys_fstat(s.fd, &st) == 0 && looks_kept(&st) &&
	    st.st_uid == spw_sys_geteuid())
		spw_deep_call(stage_out, &s);
	if (s.fd >= 0)
		spw_sys_close(s.fd);
	errno = saved;
	return s.done;
}

/* Who has written something else over it gets that, as without us. */
static bool
has_notice(int fd, uint64_t size)
{
	static const char notice[] = SPW_STUB_NOTICE;
	uint64_t n = SPW_MIN(size, sizeof(notice) - 1);
	char got[sizeof(notice)];

	return spw_sys_pread(fd, got, n, 0) == (int64_t)n &&
	       !memcmp(got, notice, n);
}

int
spw_kept_settle_fd(int fd, const struct statx *stx)
{
	struct staging s = { .fd = fd };
	uint64_t bytes = stx->stx_blocks * 512;
	int saved = errno;
	char none;

	if (SPW_LIKELY(stx->stx_mode & 0777 &&
		       (bytes >= stx->stx_size || bytes > STUB_MOST)) ||
	    !S_ISREG(stx->stx_mode) || !spw_front_is_on() ||
	    spw_syscall(SYS_fgetxattr, fd, (long)SPW_STUB_ATTR, (long)&none, 0,
			0, 0) <= 0)
		return 0;
	if (stx->stx_uid == spw_sys_geteuid())	/* else it is not ours */
		spw_deep_call(stage_out, &s);
	errno = saved;
	if (s.done)
		return 1;
	return has_notice(fd, stx->stx_size) ? -EIO : 0;
}

void
spw_kept_truncating(int dirfd, const char *path)
{
	struct stat st;

	if (spw_front_is_on() && spw_sys_geteuid() == 0 &&
	    spw_sys_fstatat(dirfd, path, &st, 0) == 0 && looks_kept(&st))
		(void)spw_kept_settle(dirfd, path);
}
