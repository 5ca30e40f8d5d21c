/* SPDX-License-Identifier: BSD-3-Clause */
/* find.c -- a file found again by what it is, wherever its name went */
#include "planner/find.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "shm/paths.h"
#include "shm/sys.h"
#include "shm/text.h"
#include "shm/util.h"

enum {
	OPEN_FLAGS = O_CLOEXEC | O_NOCTTY | O_NONBLOCK | O_NOATIME,
	DEPTH = 24, CLIMB = 4,		/* directories down, and up */
};

/* The number alone may belong to a younger file by now. */
bool
spw_find_is(int fd, const struct spw_identity *id)
{
	struct statx stx;
	struct timespec born;

	if (spw_sys_statx(fd, "", AT_EMPTY_PATH, STATX_BASIC_STATS |
			  STATX_BTIME, &stx) < 0 || stx.stx_ino != id->ino ||
	    (!id->any_dev && makedev(stx.stx_dev_major, stx.stx_dev_minor) !=
	     id->dev))
		return false;
	born = (struct timespec){ stx.stx_btime.tv_sec,
				  stx.stx_btime.tv_nsec };
	if (!id->btime || !(stx.stx_mask & STATX_BTIME))
		return !id->born_too;
	return spw_nanoseconds(&born) == id->btime;
}

/*
 * The owner took away his own right to write after he had written. The right
 * comes back for the moment of opening: the bytes were written when it was
 * there. Nothing but the ctime tells.
 */
static int
open_as_owner(const char *path, int flags, const struct spw_identity *id)
{
	int fd, at = spw_sys_open(path, O_PATH | O_CLOEXEC | flags, 0);
	struct spw_text t;
	struct stat st;
	char self[48];

	if (at < 0)
		return at;
	spw_text_init(&t, self, sizeof(self));
	spw_text_fmt(&t, "/proc/thread-self/fd/%u", (unsigned)at);
	fd = -EACCES;
	if ((!id || spw_find_is(at, id)) && spw_sys_fstat(at, &st) == 0 &&
	    st.st_uid == spw_sys_geteuid() && !(st.st_mode & S_IWUSR) &&
	    chmod(self, (st.st_mode & 07777) | S_IRUSR | S_IWUSR) == 0) {
		fd = spw_sys_open(self, O_RDWR | OPEN_FLAGS, 0);
		(void)chmod(self, st.st_mode & 07777);	/* ours to change */
	}
	spw_sys_close(at);
	return fd;
}

bool
spw_find_is_elsewhere(int err)
{
	return err == -ENOENT || err == -ESTALE || err == -ENOTDIR ||
	       err == -ELOOP;
}

/* It is only its own error that tells of a file. */
static int
blame(const char *path, int flags, const struct spw_identity *id, int err)
{
	int at = spw_sys_open(path, O_PATH | O_CLOEXEC | flags, 0);
	bool other = at >= 0 && !spw_find_is(at, id);

	if (at >= 0)
		spw_sys_close(at);
	return other ? -ESTALE : err;
}

int
spw_find_open(const char *path, int flags, const struct spw_identity *id)
{
	int fd = spw_sys_open(path, O_RDWR | OPEN_FLAGS | flags, 0);

	if (fd == -EPERM)		/* O_NOATIME is the owner's right */
		fd = spw_sys_open(path, O_RDWR | flags |
				  (OPEN_FLAGS & ~O_NOATIME), 0);
	if (fd == -EACCES)
		fd = spw_sys_open(path, O_WRONLY | flags |
				  (OPEN_FLAGS & ~O_NOATIME), 0);
	if (fd == -EACCES)
		fd = open_as_owner(path, flags, id);
	if (fd < 0 && id && !spw_find_is_elsewhere(fd))
		return blame(path, flags, id, fd);
	if (fd >= 0 && id && !spw_find_is(fd, id)) {
		spw_sys_close(fd);
		return -ESTALE;
	}
	return fd;
}

int
spw_find_beside(const char *path, const struct spw_identity *id)
{
	char name[SPW_PATH_MAX + 258];
	const char *slash = strrchr(path, '/');
	const struct dirent *e;
	size_t len;
	int fd = -ENOENT;
	DIR *dir;

	if (!slash || strlen(path) >= SPW_PATH_MAX)
		return -ENOENT;
	len = (size_t)(slash - path) + 1;
	memcpy(name, path, len);
	name[len] = '\0';
	dir = opendir(name);
	if (!dir)
		return -errno;
	while (spw_find_is_elsewhere(fd) && (e = readdir(dir)))
		if (e->d_ino == id->ino) {
			snprintf(name + len, 258, "%s", e->d_name);
			fd = spw_find_open(name, O_NOFOLLOW, id);
		}
	closedir(dir);
	return fd;
}

struct search {
	const struct spw_identity *id;
	uint64_t *left;			/* names */
	dev_t dev;
	ino_t seen;			/* a directory that was searched */
};

static int search_dir(int fd, struct search *s, int depth);

static int
look_at(int dir, const struct dirent *e, struct search *s, int depth)
{
	char name[48 + 256];
	struct stat st;
	int fd;

	if (e->d_ino == s->id->ino) {
		snprintf(name, sizeof(name), "/proc/thread-self/fd/%d/%s", dir,
			 e->d_name);
		return spw_find_open(name, O_NOFOLLOW, s->id);
	}
	if ((e->d_type != DT_DIR && e->d_type != DT_UNKNOWN) ||
	    e->d_ino == s->seen || depth == DEPTH)
		return -ENOENT;
	fd = spw_sys_openat(dir, e->d_name, O_RDONLY | O_DIRECTORY |
			    O_NOFOLLOW | O_CLOEXEC, 0);
	if (fd < 0)
		return -ENOENT;
	if (spw_sys_fstat(fd, &st) == 0 && st.st_dev == s->dev)
		return search_dir(fd, s, depth + 1);
	spw_sys_close(fd);
	return -ENOENT;
}

static int
search_dir(int fd, struct search *s, int depth)
{
	const struct dirent *e;
	DIR *dir = fdopendir(fd);
	int r = -ENOENT;

	if (!dir) {
		spw_sys_close(fd);
		return -ENOMEM;
	}
	while (spw_find_is_elsewhere(r) && *s->left && (e = readdir(dir))) {
		if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, ".."))
			continue;
		--*s->left;
		r = look_at(fd, e, s, depth);
	}
	closedir(dir);
	return r;
}

int
spw_find_near(const char *path, const struct spw_identity *id,
	      uint64_t *left)
{
	struct spw_identity strict = *id;
	struct search s = { .id = &strict, .left = left };
	char above[SPW_PATH_MAX];
	struct stat st;
	char *slash;
	int fd, r = -ENOENT;

	if (strlen(path) >= sizeof(above))
		return -ENOENT;
	strict.born_too = true;
	strcpy(above, path);
	for (int i = 0; i <= CLIMB && spw_find_is_elsewhere(r) && *left; i++) {
		slash = strrchr(above, '/');
		if (!slash || slash == above)
			break;		/* not all there is */
		*slash = '\0';
		fd = spw_sys_open(above, O_RDONLY | O_DIRECTORY | O_CLOEXEC,
				  0);
		if (fd < 0 || spw_sys_fstat(fd, &st) < 0 ||
		    (s.dev && st.st_dev != s.dev)) {
			if (fd >= 0)
				spw_sys_close(fd);
			continue;
		}
		s.dev = st.st_dev;
		r = search_dir(fd, &s, 0);
		s.seen = st.st_ino;
	}
	return r;
}
