/* SPDX-License-Identifier: BSD-3-Clause */
/* share.c -- makes, locks and removes the directory of an owner */

#include "tiers/share.h"

#include <dirent.h>
#include <errno.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "shm/crc32c.h"
#include "shm/sys.h"
#include "shm/util.h"

enum {
	HEAD = 8192,			/* enough of an object for most */
	HEAD_MOST = 1 << 20,
};
enum { DIR_FLAGS = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC };

static bool
is_name(const char *owner)
{
	return owner && owner[0] && owner[0] != '.' && !strchr(owner, '/') &&
	       strlen(owner) < NAME_MAX;
}

int
spw_share_fdatasync(int fd)
{
	return (int)spw_syscall(SYS_fdatasync, fd, 0, 0, 0, 0, 0);
}

/* Some file systems cannot do this to a directory, and then keep names in
 * order by themselves: there is no more that could be asked for. */
static int
sync_dir(int dir)
{
	int r = (int)spw_syscall(SYS_fsync, dir, 0, 0, 0, 0, 0);

	return r == -EINVAL || r == -EOPNOTSUPP ? 0 : r;
}

int
spw_share_sync(const struct spw_share *s)
{
	return sync_dir(s->dir);
}

int
spw_share_unlink(const struct spw_share *s, const char *name)
{
	return (int)spw_syscall(SYS_unlinkat, s->dir, (long)name, 0, 0, 0, 0);
}

int
spw_share_publish(const struct spw_share *s, const char *from, const char *to)
{
	int dir = s->dir;
	int r = (int)spw_syscall(SYS_renameat2, dir, (long)from, dir, (long)to,
				 RENAME_NOREPLACE, 0);

	if (r != -EINVAL && r != -ENOSYS)
		return r;
	r = (int)spw_syscall(SYS_linkat, dir, (long)from, dir, (long)to, 0, 0);
	if (r == 0)
		return spw_share_unlink(s, from);
	if (r != -EPERM && r != -EOPNOTSUPP && r != -ENOSYS)
		return r;
	return (int)spw_syscall(SYS_renameat, dir, (long)from, dir, (long)to,
				0, 0);
}

/* Looked at before: to open a pipe may take for ever. */
int
spw_share_open_file(const struct spw_share *s, const char *name, int flags)
{
	struct stat st;
	int r = spw_sys_fstatat(s->dir, name, &st, AT_SYMLINK_NOFOLLOW);

	if (r < 0)
		return r;
	if (!S_ISREG(st.st_mode) || st.st_uid != spw_sys_geteuid())
		return -EPERM;
	r = spw_sys_openat(s->dir, name, flags | O_NOFOLLOW | O_CLOEXEC, 0);
	return r == -ELOOP ? -EPERM : r;
}

uint32_t
spw_share_boot(void)
{
	int fd = spw_sys_open("/proc/sys/kernel/random/boot_id",
			      O_RDONLY | O_CLOEXEC, 0);
	char id[64];
	int64_t n = 0;

	if (fd >= 0) {
		n = spw_sys_read(fd, id, sizeof(id));
		spw_sys_close(fd);
	}
	return spw_crc32c(0, id, n > 0 ? (size_t)n : 0);
}

/* Opens a directory of ours below another, made if it is to be made. */
static int
enter(int above, const char *name, bool create)
{
	struct stat st;
	int fd, r = 0;

	if (create) {
		r = (int)spw_syscall(SYS_mkdirat, above, (long)name, 0700, 0,
				     0, 0);
		if (r == 0 || r == -EEXIST)
			r = sync_dir(above);	/* its maker may have died */
		if (r < 0)
			return r;
	}
	fd = spw_sys_openat(above, name, DIR_FLAGS, 0);
	if (fd < 0)
		return fd == -ELOOP || fd == -ENOTDIR ? -EPERM : fd;
	r = spw_sys_fstat(fd, &st);
	if (r == 0 && (st.st_uid != spw_sys_geteuid() || st.st_mode & 022))
		r = -EPERM;
	if (r == 0)
		return fd;
	spw_sys_close(fd);
	return r;
}

static int
enter_share(const struct spw_tier_setup *setup, struct spw_share *s)
{
	bool create = setup->create && !setup->look_only;
	char user[32];
	int place, above;

	(void)snprintf(user, sizeof(user), "spillway-%u",
		       (unsigned)spw_sys_geteuid());
	if ((size_t)snprintf(s->path, sizeof(s->path), "%s/%s/%s",
			     setup->place, user, setup->owner) >=
	    sizeof(s->path))
		return -ENAMETOOLONG;
	place = spw_sys_open(setup->place, O_RDONLY | O_DIRECTORY | O_CLOEXEC,
			     0);
	if (place < 0)
		return place;
	above = enter(place, user, create);
	spw_sys_close(place);
	if (above < 0)
		return above;
	s->dir = enter(above, setup->owner, create);
	spw_sys_close(above);
	return s->dir < 0 ? s->dir : 0;
}

static bool
lasts(int dir)
{
	struct statfs fs;

	return fstatfs(dir, &fs) < 0 ||
	       (fs.f_type != TMPFS_MAGIC && fs.f_type != RAMFS_MAGIC);
}

/* The name, in a directory, leads to what was locked. */
static bool
leads_to(const struct spw_share *s, int dir, const char *name)
{
	struct stat held, named;

	return spw_sys_fstat(s->lock, &held) == 0 &&
	       spw_sys_fstatat(dir, name, &named, AT_SYMLINK_NOFOLLOW) == 0 &&
	       held.st_ino == named.st_ino && held.st_dev == named.st_dev;
}

/* It was not removed meanwhile. */
static bool
is_current(const struct spw_share *s, const char *name)
{
	return leads_to(s, s->dir, name);
}

static int
take_lock(struct spw_share *s, const char *name)
{
	struct flock whole = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
	int r;

	s->lock = spw_sys_openat(s->dir, name, O_RDWR | O_CREAT | O_NOFOLLOW |
				 O_CLOEXEC, 0600);
	if (s->lock < 0)
		return s->lock;
	r = spw_sys_fcntl(s->lock, F_OFD_SETLK, (long)&whole);
	if (r == -EAGAIN || r == -EACCES)
		return -EBUSY;
	s->unlocked = r < 0;
	return is_current(s, name) ? 0 : -EAGAIN;
}

enum { LOCK_NAME = 32, FIND_NS = 1000000 };

static void
name_lock(const char *kind, char name[LOCK_NAME])
{
	(void)snprintf(name, LOCK_NAME, "%s.lock", kind);
}

bool
spw_share_is_there(const struct spw_share *s, const char *kind)
{
	char name[LOCK_NAME];

	name_lock(kind, name);
	return s->lock < 0 || is_current(s, name);
}

int
spw_share_find(struct spw_share *s, const char *kind)
{
	char path[PATH_MAX + LOCK_NAME];
	int64_t now = spw_now_ns();

	if (s->found_ns && now - s->found_ns < FIND_NS)
		return 0;
	(void)snprintf(path, sizeof(path), "%s/%s.lock", s->path, kind);
	if (!leads_to(s, AT_FDCWD, path))
		return -ESTALE;
	s->found_ns = now;
	return 0;
}

static int
lock_share(struct spw_share *s, const char *kind)
{
	char name[LOCK_NAME];
	int r, tries;

	name_lock(kind, name);
	for (tries = 0; tries < 8; tries++) {
		r = take_lock(s, name);
		if (r != -EAGAIN)
			return r;
		spw_sys_close(s->lock);
		s->lock = -1;
	}
	return -EBUSY;			/* somebody is removing it */
}

/* Asked, not tried: nobody is disturbed. */
static bool
is_held(const struct spw_share *s, const char *kind)
{
	struct flock whole = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
	char name[LOCK_NAME];
	int fd, r;

	name_lock(kind, name);
	fd = spw_share_open_file(s, name, O_RDONLY);
	if (fd < 0)
		return false;
	r = spw_sys_fcntl(fd, F_OFD_GETLK, (long)&whole);
	spw_sys_close(fd);
	return r >= 0 && whole.l_type != F_UNLCK;
}

static bool
is_gone(const struct spw_share *s, const char *kind)
{
	char name[32];
	struct stat st;

	(void)snprintf(name, sizeof(name), "%s.gone", kind);
	return spw_sys_fstatat(s->dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0;
}

int
spw_share_open(const struct spw_tier_setup *setup, const char *kind,
	       struct spw_share *ret_share)
{
	struct spw_share s = { .dir = -1, .lock = -1,
			       .look_only = setup->look_only };
	int r;

	if (!is_name(setup->owner))
		return -EINVAL;
	r = enter_share(setup, &s);
	if (r == 0 && !s.look_only)
		r = lock_share(&s, kind);
	if (r < 0) {
		spw_share_close(&s);
		return r;
	}
	s.held = s.look_only && is_held(&s, kind);
	s.lasts = lasts(s.dir);
	s.gone = is_gone(&s, kind);
	*ret_share = s;
	return 0;
}

void
spw_share_introduce(const struct spw_share *s, struct spw_tier *tier)
{
	tier->durable = s->lasts;
	tier->unlocked = s->unlocked;
	tier->held = s->held;
	tier->lock = s->lock;
	if (s->unlocked)
		tier->caution = "no locks on this file system: nothing but the "
				"segment's own lock keeps a second drainer out";
}

void
spw_share_close(struct spw_share *s)
{
	if (s->lock >= 0)
		spw_sys_close(s->lock);
	if (s->dir >= 0)
		spw_sys_close(s->dir);
	s->lock = s->dir = -1;
}

/* Ours is last in the directory above: that goes too, if it is empty. */
static int
remove_dirs(const char *path)
{
	char above[PATH_MAX];
	char *slash;
	int fd, r;

	(void)snprintf(above, sizeof(above), "%s", path);
	r = rmdir(path) < 0 ? -errno : 0;
	slash = strrchr(above, '/');
	*slash = '\0';
	if (r == 0 && rmdir(above) == 0)
		*strrchr(above, '/') = '\0';
	/* Who let go of it a moment before us may have removed it. */
	if (r < 0)
		return r == -ENOTEMPTY || r == -EEXIST || r == -ENOENT ? 0 : r;
	fd = spw_sys_open(above[0] ? above : "/", DIR_FLAGS, 0);
	if (fd < 0)
		return fd == -ELOOP || fd == -ENOTDIR ? 0 : fd;
	r = sync_dir(fd);
	spw_sys_close(fd);
	return r;
}

int
spw_share_each(const struct spw_share *s,
	       int (*seen)(void *arg, const char *name), void *arg)
{
	int fd = spw_sys_openat(s->dir, ".", DIR_FLAGS, 0), r = 0;
	const struct dirent *e;
	DIR *d;

	if (fd < 0)
		return fd;
	d = fdopendir(fd);
	if (!d) {
		spw_sys_close(fd);
		return -ENOMEM;
	}
	while (r == 0 && (errno = 0, e = readdir(d)))
		if (e->d_name[0] != '.')
			r = seen(arg, e->d_name);
	if (r == 0 && !e)
		r = -errno;
	closedir(d);
	return r;
}

int
spw_share_clear(struct spw_share *s, const char *kind,
		int (*remove)(void *arg, const char *name), void *arg)
{
	char name[32];
	int fd, r;

	(void)snprintf(name, sizeof(name), "%s.gone", kind);
	fd = spw_sys_openat(s->dir, name, O_WRONLY | O_CREAT | O_NOFOLLOW |
			    O_CLOEXEC, 0600);
	if (fd < 0)
		return fd;
	spw_sys_close(fd);
	r = sync_dir(s->dir);
	if (r == 0)
		r = spw_share_each(s, remove, arg);
	if (r == 0)
		r = sync_dir(s->dir);
	if (r == 0)
		r = spw_share_unlink(s, name);
	s->gone = r < 0;
	return r;
}

int
spw_share_discard(struct spw_share *s, const char *kind,
		  int (*remove)(void *arg, const char *name), void *arg)
{
	char name[LOCK_NAME];
	int r = s->look_only ? -EROFS : spw_share_clear(s, kind, remove, arg);

	if (r < 0)
		return r;
	name_lock(kind, name);
	r = spw_share_unlink(s, name);
	if (r == 0)
		r = sync_dir(s->dir);
	return r < 0 ? r : remove_dirs(s->path);
}

int
spw_share_read(int fd, void *buf, size_t n, uint64_t at)
{
	int64_t got;

	for (; n; buf = (char *)buf + got, n -= (size_t)got, at += got) {
		got = spw_sys_pread(fd, buf, n, at);
		if (got == -EINTR)
			got = 0;
		else if (got <= 0)
			return got < 0 ? (int)got : -ENODATA;
	}
	return 0;
}

int
spw_share_write(int fd, const void *buf, size_t n, uint64_t at)
{
	int64_t put;

	for (; n; buf = (const char *)buf + put, n -= (size_t)put, at += put) {
		put = spw_sys_pwrite(fd, buf, n, at);
		if (put == -EINTR)
			put = 0;
		else if (put <= 0)
			return put < 0 ? (int)put : -EIO;
	}
	return 0;
}

static int
make_room(struct spw_share_head *h, size_t n)
{
	void *more;

	if (n <= h->room)
		return 0;
	more = realloc(h->buf, n);
	if (!more)
		return -ENOMEM;
	h->buf = more;
	h->room = n;
	return 0;
}

int
spw_share_parse(struct spw_share_head *h, int fd, uint64_t at, uint64_t len,
		struct spw_object *ret_o)
{
	size_t n = len < HEAD ? (size_t)len : HEAD;
	int r;

	for (;;) {
		r = make_room(h, n);
		if (r == 0)
			r = spw_share_read(fd, h->buf, n, at);
		if (r == 0)
			r = spw_object_parse(h->buf, n, ret_o, &n);
		if (r != -EAGAIN)
			return r;
		if (n > len || n > HEAD_MOST)
			return -EBADMSG;
	}
}

/* A file that is too short has lost something. */
int
spw_share_fault(int err)
{
	return err < 0 && err != -ENODATA ? err : -EBADMSG;
}

bool
spw_share_is_its_own(int err)
{
	return err < 0 && err != -ENOMEM && err != -EMFILE && err != -ENFILE;
}
