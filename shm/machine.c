/* SPDX-License-Identifier: BSD-3-Clause */
/* machine.c -- how much memory and space there is to take */

#include "shm/machine.h"

#include "shm/sys.h"
#include "shm/size.h"
#include "shm/text.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/vfs.h>

/*
 * This may run on a thread with a small stack: what is looked for stands in
 * the first lines of these files, and names of groups are short.
 */
#define GROUP_PATH 1024

/* The beginning of a small file in /proc or /sys, NUL-terminated. */
static int
read_start(const char *path, char *ret_buf, size_t cap)
{
	size_t have = 0;
	ssize_t r;
	int fd;

	fd = spw_sys_open(path, O_RDONLY | O_CLOEXEC, 0);
	if (fd < 0)
		return fd;
	do {
		r = spw_sys_read(fd, ret_buf + have, cap - 1 - have);
		if (r > 0)
			have += r;
	} while (r > 0 && have < cap - 1);
	(void)spw_sys_close(fd);	/* nothing was written to it */
	if (r < 0)
		return r;
	ret_buf[have] = '\0';
	return 0;
}

/* The number behind the line that starts with key, blanks skipped. */
static bool
number_after(const char *text, const char *key, uint64_t *ret_value)
{
	size_t n = strlen(key);

	for (const char *p = text; p && *p; p = strchr(p, '\n')) {
		if (*p == '\n')
			p++;
		if (strncmp(p, key, n))
			continue;
		p += n;
		p += strspn(p, " \t");
		return !spw_size_number(p, strspn(p, "0123456789"),
					ret_value);
	}
	return false;
}

static bool
read_number(const char *dir, const char *file, const char *key,
	    uint64_t *ret_value)
{
	char path[GROUP_PATH + 32], buf[2048];
	struct spw_text t;

	spw_text_init(&t, path, sizeof(path));
	spw_text_fmt(&t, "%s/%s", dir, file);
	return !t.cut && !read_start(path, buf, sizeof(buf))
	    && number_after(buf, key, ret_value);
}

/*
 * What one group may still take.  Pages of files that were not used lately
 * are given back under pressure, so they do not count as taken, just as in
 * the kernel's own MemAvailable.
 */
static uint64_t
group_left(const char *dir)
{
	uint64_t max, current = 0, idle = 0;

	if (!read_number(dir, "memory.max", "", &max))
		return SPW_UNLIMITED;	/* "max", or the root group */
	(void)read_number(dir, "memory.current", "", &current);
	(void)read_number(dir, "memory.stat", "inactive_file", &idle);
	current -= idle < current ? idle : current;
	return max > current ? max - current : 0;
}

/* Our group's path: the line "0::/path" of /proc/self/cgroup. */
static const char *
find_group(char *text)
{
	char *p = text;

	if (strncmp(p, "0::", 3)) {
		p = strstr(p, "\n0::");
		if (!p)
			return NULL;
		p++;
	}
	p += 3;
	p[strcspn(p, "\n")] = '\0';
	return p;
}

static uint64_t
cgroup_left(const char *root)
{
	char text[2048], dir[GROUP_PATH];
	uint64_t least = SPW_UNLIMITED, left;
	const char *group;
	struct spw_text t;
	size_t base;

	spw_text_init(&t, dir, sizeof(dir));
	spw_text_fmt(&t, "%s/proc/self/cgroup", root);
	if (t.cut || read_start(dir, text, sizeof(text)) < 0)
		return least;
	group = find_group(text);
	if (!group || *group != '/' || strstr(group, "/.."))
		return least;
	spw_text_init(&t, dir, sizeof(dir));
	spw_text_fmt(&t, "%s/sys/fs/cgroup", root);
	base = t.len;
	spw_text_put(&t, group);
	if (t.cut)
		return least;
	for (;;) {
		left = group_left(dir);
		least = left < least ? left : least;
		if (strlen(dir) <= base)
			return least;
		*strrchr(dir, '/') = '\0';	/* on to the parent */
	}
}

void
spw_machine_probe(const char *root, struct spw_machine *ret)
{
	struct rlimit limit;
	uint64_t kib;

	ret->mem_available = SPW_UNLIMITED;
	if (read_number(root, "proc/meminfo", "MemAvailable:", &kib)
	    && kib < SPW_UNLIMITED / 1024)
		ret->mem_available = kib * 1024;
	ret->cgroup_left = cgroup_left(root);
	ret->address_space = SPW_UNLIMITED;
	if (spw_syscall(SYS_prlimit64, 0, RLIMIT_AS, 0, (long)&limit, 0, 0)
	    == 0 && limit.rlim_cur != RLIM_INFINITY)
		ret->address_space = limit.rlim_cur;
}

uint64_t
spw_machine_memory(const struct spw_machine *m)
{
	return m->mem_available < m->cgroup_left ? m->mem_available
						 : m->cgroup_left;
}

int
spw_machine_space(const char *dir, uint64_t *ret_free)
{
	struct statfs fs;
	int r;

	r = spw_syscall(SYS_statfs, (long)dir, (long)&fs, 0, 0, 0, 0);
	if (r < 0)
		return r;
	*ret_free = (uint64_t)fs.f_bavail * fs.f_frsize;
	return 0;
}
