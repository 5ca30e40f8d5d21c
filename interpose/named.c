/* SPDX-License-Identifier: BSD-3-Clause */
/* named.c -- holding on to a file while its name changes */
#include "interpose/named.h"

#include <errno.h>

#include "interpose/stat.h"
#include "shm/paths.h"
#include "shm/sys.h"
#include "shm/text.h"

static bool
read_link(const char *link, char path[SPW_FILE_PATH])
{
	int64_t n = spw_sys_readlink(link, path, SPW_FILE_PATH);

	if (n < 0 || n >= SPW_FILE_PATH || path[0] != '/')
		n = 0;
	path[n] = '\0';
	return n > 0;
}

static bool
read_path(int fd, char path[SPW_FILE_PATH])
{
	char link[32];
	struct spw_text t;

	spw_text_init(&t, link, sizeof(link));
	spw_text_fmt(&t, "/proc/thread-self/fd/%u", (unsigned)fd);
	return read_link(link, path);
}

/* A removed file is shown with a remark behind its old name. */
static bool
leads_to(const char *path, int fd)
{
	struct stat a, b;

	return spw_sys_fstat(fd, &a) == 0 &&
	       spw_sys_fstatat(AT_FDCWD, path, &b, AT_SYMLINK_NOFOLLOW) == 0 &&
	       a.st_ino == b.st_ino && a.st_dev == b.st_dev;
}

/* What the descriptor holds: a name may have changed hands before it. */
static bool
identify(bool dirs, struct spw_named *n)
{
	struct stat st;

	if (spw_sys_fstat(n->fd, &st) < 0)
		return false;
	n->file = spw_sight_find(&st);
	n->nlink = st.st_nlink;
	if (n->file == SPW_NONE)
		return dirs && S_ISDIR(st.st_mode);
	n->gen = spw_front.map.files[n->file].gen;
	return spw_front.map.files[n->file].ino == st.st_ino;
}

int
spw_named_take(int dir, const char *path, bool dirs, struct spw_named *ret)
{
	struct stat st;
	int r = spw_sys_fstatat(dir, path, &st, AT_SYMLINK_NOFOLLOW);

	ret->fd = -1;
	if (r < 0 ||
	    (spw_sight_find(&st) == SPW_NONE && !(dirs && S_ISDIR(st.st_mode))))
		return r;
	ret->fd = spw_sys_openat(dir, path, O_PATH | O_NOFOLLOW | O_CLOEXEC,
				 0);
	if (ret->fd < 0)
		return ret->fd;
	if (!identify(dirs, ret)) {
		spw_named_drop(ret);
		return 0;
	}
	read_path(ret->fd, ret->path);
	return 1;
}

void
spw_named_drop(struct spw_named *n)
{
	if (n->fd >= 0)
		spw_sys_close(n->fd);
	n->fd = -1;
}

bool
spw_named_path(const struct spw_named *n, char path[SPW_FILE_PATH])
{
	return read_path(n->fd, path) && leads_to(path, n->fd);
}

bool
spw_named_absolute(int dir, const char *name, char path[SPW_FILE_PATH])
{
	size_t len = strlen(name);
	struct spw_text t;

	while (len > 1 && name[len - 1] == '/')
		len--;
	path[0] = '\0';
	if (name[0] != '/' &&
	    !(dir == AT_FDCWD ? read_link("/proc/thread-self/cwd", path)
			      : read_path(dir, path)))
		return false;
	spw_text_init(&t, path + strlen(path), SPW_FILE_PATH - strlen(path));
	if (name[0] != '/')
		spw_text_putc(&t, '/');
	spw_text_putn(&t, name, len);
	return !t.cut;
}

/* The same without links. */
static __attribute__((noinline)) bool
leads_outside(const char *path, const char *base)
{
	char dir[SPW_FILE_PATH], real[SPW_PATH_MAX + SPW_FILE_PATH];
	struct spw_text t;

	spw_text_init(&t, dir, sizeof(dir));
	spw_text_putn(&t, path, (size_t)(base - path) + 1);
	if (t.cut || spw_path_real(dir, real) < 0)
		return true;
	spw_text_init(&t, real + strlen(real), SPW_FILE_PATH);
	spw_text_put(&t, base);
	return !spw_front_wants(real);
}

bool
spw_named_is_outside(const char *path)
{
	const char *base = strrchr(path, '/');

	return base && !spw_front_wants(path) && leads_outside(path, base);
}

bool
spw_named_may_be_hidden(int dir, const char *name)
{
	char path[SPW_FILE_PATH];
	struct stat st;

	if (spw_front_look())
		return false;
	/* Also finds out whether it points anywhere. */
	return name && spw_sys_fstatat(dir, name, &st, 0) != -EFAULT &&
	       spw_named_absolute(dir, name, path) &&
	       !spw_named_is_outside(path);
}

void
spw_named_leaving(struct spw_me *me, const struct spw_named *n)
{
	const struct spw_file *f;

	if (n->file == SPW_NONE || n->nlink == 1)
		return;
	/* It lives on under a name that we may not know. */
	f = &me->map->files[n->file];
	if (spw_file_is_unsettled(f) && !spw_name_has_other(f, n->path))
		(void)spw_gate_settle(me, n->file);	/* close will tell */
}

/* Nobody can open it any more. If nobody has it open either, its bytes are
 * dropped; the record goes with the drainer's descriptor, in its own time. */
static void
forget(struct spw_me *me, const struct spw_named *n)
{
	struct spw_file *f = &me->map->files[n->file];

	spw_gate_close(me, n->file);
	if (f->gen == n->gen)
		spw_file_flag(f, SPW_FILE_UNLINKED);
	/* What is on its way home now the drainer drops afterwards. */
	if (f->gen == n->gen && !atomic_load(&f->opens) &&
	    !atomic_load(&f->bypass) && !atomic_load(&f->inflight)) {
		spw_gate_hold(me, n->file);
		spw_gate_drop(me, n->file, 0);
		atomic_fetch_and(&f->flags, ~(uint32_t)SPW_FILE_UNSETTLED);
		spw_gate_unhold(me, n->file);
	}
	spw_gate_open(me, n->file);
}

void
spw_named_left(struct spw_me *me, const struct spw_named *n)
{
	struct stat st;

	if (n->file == SPW_NONE || spw_sys_fstat(n->fd, &st) < 0)
		return;
	if (st.st_nlink == 0)
		forget(me, n);
	else if (n->path[0] && !leads_to(n->path, n->fd))
		spw_name_remove(me, n->file, n->gen, n->path);
}
