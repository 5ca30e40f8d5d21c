/* SPDX-License-Identifier: BSD-3-Clause */
/* over.c -- whether a program has ended but for threads of ours */
#include "planner/over.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shm/sys.h"

/* /proc/.../stat: pid (name) state, numbers. NULL: no such thread. */
static const char *
read_stat(const char *path, char *line, size_t cap)
{
	int fd = spw_sys_open(path, O_RDONLY | O_CLOEXEC, 0);
	int64_t n = fd < 0 ? 0 : spw_sys_read(fd, line, cap - 1);
	const char *end;

	if (fd >= 0)
		spw_sys_close(fd);
	line[n > 0 ? n : 0] = '\0';
	end = strrchr(line, ')');
	return end && end[1] ? end + 2 : NULL;
}

static bool
has_ended(const char *state)
{
	return !state || *state == 'Z' || *state == 'X';
}

/* By the names that the drainer's threads have. The kernel's own, for rings,
 * count as ours. */
static bool
is_ours(const char *line)
{
	const char *name = strchr(line, '(');

	return name && (strncmp(name, "(spillway", 9) == 0 ||
			strncmp(name, "(spw-", 5) == 0 ||
			strncmp(name, "(iou-", 5) == 0);
}

static bool
are_all_ours(DIR *dir)
{
	const struct dirent *e;
	char path[320], line[1024];

	while ((e = readdir(dir))) {
		const char *state;

		if (e->d_name[0] == '.')
			continue;
		snprintf(path, sizeof(path), "/proc/self/task/%s/stat",
			 e->d_name);
		state = read_stat(path, line, sizeof(line));
		if (!has_ended(state) && !is_ours(line))
			return false;
	}
	return true;
}

bool
spw_is_over(int *ret_status)
{
	char line[1024];
	const char *state = read_stat("/proc/self/stat", line, sizeof(line));
	const char *code = strrchr(line, ' ');	/* the last field */
	DIR *dir;
	bool over;

	if (!state || *state != 'Z')
		return false;
	dir = opendir("/proc/self/task");
	if (!dir)
		return false;
	over = are_all_ours(dir);
	closedir(dir);
	*ret_status = code ? atoi(code) >> 8 & 0xff : 0;
	return over;
}
