/* SPDX-License-Identifier: BSD-3-Clause */
/* pidns.c -- namespaces: which is ours, and whether one has ended */
#include "shm/pidns.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "shm/proc.h"
#include "shm/sys.h"
#include "shm/text.h"

#define FIRST 0xEFFFFFFCu		/* PROC_PID_INIT_INO of the kernel */

struct entry {				/* as getdents64 has it */
	uint64_t ino;
	int64_t off;
	uint16_t len;
	uint8_t type;
	char name[];
};

static uint64_t
number_at(const char *p)
{
	uint64_t value = 0;

	while (*p >= '0' && *p <= '9')
		value = value * 10 + (uint64_t)(*p++ - '0');
	return value;
}

/* The inode of the namespace that a link in /proc names, as in pid:[123]; or
 * a negative errno. It is not followed: where a tracer gives a program another
 * root and walks its paths, as proot does, that leads nowhere. */
static int64_t
namespace_at(const char *link)
{
	char text[64], *p;
	long n = spw_syscall(SYS_readlinkat, AT_FDCWD, (long)link, (long)text,
			     sizeof(text) - 1, 0, 0);

	if (n < 0)
		return n;
	text[n] = '\0';
	p = strchr(text, '[');
	return p ? (int64_t)number_at(p + 1) : -ENOENT;
}

/* 0: not to be told. */
static uint64_t
inode_at(const char *link)
{
	int64_t ino = namespace_at(link);

	return ino < 0 ? 0 : (uint64_t)ino;
}

/* Whoever has no parent here was born into a namespace that his parent is not
 * in. */
static bool
is_first(void)
{
	return spw_syscall(SYS_getppid, 0, 0, 0, 0, 0, 0) == 0;
}

/* It never changes, and children have it too: without /proc, as after chroot,
 * it is what it was. */
uint64_t
spw_pidns_own(void)
{
	static _Atomic uint64_t known;
	uint64_t own = inode_at("/proc/thread-self/ns/pid");

	if (own || is_first())
		atomic_store(&known, own);
	return atomic_load(&known);
}

bool
spw_pidns_may_end(void)
{
	uint64_t own = spw_pidns_own();

	return own && own != FIRST;
}

bool
spw_mntns_differs(uint32_t pid)
{
	uint64_t own = inode_at("/proc/thread-self/ns/mnt");
	char path[48];
	struct spw_text t;

	spw_text_init(&t, path, sizeof(path));
	spw_text_fmt(&t, "/proc/%u/ns/mnt", pid);
	return own && own != inode_at(path);
}

bool
spw_pidns_is_shown(void)
{
	char own[16], shown[16];
	struct spw_text t;
	long n = spw_syscall(SYS_readlinkat, AT_FDCWD, (long)"/proc/self",
			     (long)shown, sizeof(shown) - 1, 0, 0);

	spw_text_init(&t, own, sizeof(own));
	spw_text_fmt(&t, "%u", (unsigned)spw_sys_getpid());
	return n == (long)strlen(own) && memcmp(own, shown, (size_t)n) == 0;
}

/* Whether it may be in a namespace below ours: NSpid has its pid in each. */
static bool
may_be_below(const char *pid)
{
	char path[32], status[4096];
	struct spw_text t;
	const char *p;
	int64_t n;
	int fd;

	spw_text_init(&t, path, sizeof(path));
	spw_text_fmt(&t, "/proc/%s/status", pid);
	fd = spw_sys_open(path, O_RDONLY | O_CLOEXEC, 0);
	if (fd < 0)
		return fd != -ENOENT && fd != -ESRCH;
	n = spw_sys_read(fd, status, sizeof(status) - 1);
	spw_sys_close(fd);
	if (n <= 0)
		return n != -ESRCH;
	status[n] = '\0';
	p = strstr(status, "\nNSpid:\t");
	return !p || strcspn(p + 8, "\t") < strcspn(p + 8, "\n");
}

/* A zombie is in its namespace until somebody waits for it. */
static bool
is_zombie(const char *pid)
{
	return !spw_proc_start_time((uint32_t)number_at(pid));
}

static bool
may_be_in(const char *pid, uint64_t ns)
{
	char path[32];
	struct spw_text t;
	int64_t its;

	spw_text_init(&t, path, sizeof(path));
	spw_text_fmt(&t, "/proc/%s/ns/pid", pid);
	its = namespace_at(path);
	if (its >= 0)
		return (uint64_t)its == ns && !is_zombie(pid);
	return its != -ENOENT && its != -ESRCH && may_be_below(pid);
}

static bool
is_anybody_in(const char *entries, int64_t n, uint64_t ns)
{
	const struct entry *e;

	for (int64_t at = 0; at < n; at += e->len) {
		e = (const struct entry *)(entries + at);
		if (e->name[0] >= '1' && e->name[0] <= '9' &&
		    strlen(e->name) < 12 && may_be_in(e->name, ns))
			return true;
	}
	return false;
}

bool
spw_pidns_has_ended(uint64_t ns)
{
	_Alignas(8) char entries[4096];
	bool found = false;
	int64_t n = 0;
	struct stat st;
	int fd;

	/* /proc/1 is not there if others are hidden from us (hidepid). */
	if (!ns || spw_pidns_own() != FIRST ||
	    spw_sys_fstatat(AT_FDCWD, "/proc/1/status", &st, 0) < 0)
		return false;
	fd = spw_sys_open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
	if (fd < 0)
		return false;
	while (!found && (n = spw_syscall(SYS_getdents64, fd, (long)entries,
					  sizeof(entries), 0, 0, 0)) > 0)
		found = is_anybody_in(entries, n, ns);
	spw_sys_close(fd);
	return !found && n == 0;
}
