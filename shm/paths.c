/* SPDX-License-Identifier: BSD-3-Clause */
/* paths.c -- lists of directories, and what lies below them */

#include "shm/paths.h"

#include "shm/sys.h"
#include "shm/text.h"

#include <errno.h>
#include <string.h>

int
spw_dirs_add(struct spw_dirs *dirs, const char *path)
{
	size_t n = strlen(path) + 1;

	if (dirs->n == SPW_DIRS_MAX || n > sizeof(dirs->text) - dirs->used)
		return -E2BIG;
	memcpy(dirs->text + dirs->used, path, n);
	dirs->at[dirs->n++] = dirs->used;
	dirs->used += n;
	return 0;
}

const char *
spw_dirs_get(const struct spw_dirs *dirs, unsigned i)
{
	return dirs->text + dirs->at[i];
}

void
spw_path_normalise(char *path)
{
	const char *from = path;
	char *to = path;

	while (*from) {
		const char *end = strchrnul(from, '/');
		size_t n = end - from;

		if (n && !(n == 1 && from[0] == '.')) {
			*to++ = '/';
			memmove(to, from, n);
			to += n;
		}
		from = *end ? end + 1 : end;
	}
	if (to == path)
		*to++ = '/';
	*to = '\0';
}

bool
spw_path_is_below(const char *path, const char *dir)
{
	size_t n = strlen(dir);

	if (n == 1)
		return true;		/* the root holds everything */
	return !strncmp(path, dir, n) && (!path[n] || path[n] == '/');
}

int
spw_path_cwd(char *ret_path)
{
	long n = spw_syscall(SYS_getcwd, (long)ret_path, SPW_PATH_MAX, 0, 0,
			     0, 0);

	/* one that has no name any more begins with "(unreachable)" */
	return n < 0 ? n : ret_path[0] == '/' ? 0 : -ENOENT;
}

int
spw_path_real(const char *path, char *ret_path)
{
	char link[40];
	struct spw_text t;
	ssize_t n;
	int fd;

	fd = spw_sys_open(path, O_PATH | O_DIRECTORY | O_CLOEXEC, 0);
	if (fd < 0)
		return fd;
	spw_text_init(&t, link, sizeof(link));
	spw_text_fmt(&t, "/proc/thread-self/fd/%u", (unsigned)fd);
	n = spw_sys_readlink(link, ret_path, SPW_PATH_MAX - 1);
	(void)spw_sys_close(fd);
	if (n < 0)
		return n;
	ret_path[n] = '\0';
	return 0;
}
