/* SPDX-License-Identifier: BSD-3-Clause */
/* modes.c -- rights that would get in the way of bytes on their way home */

/*
 * The drainer writes later and from another process. It could not open a file
 * that its owner may no longer write, and its write would take away set-id
 * bits and capabilities, as every write does, that the program set after its
 * own. So before such a change the file is brought home, and it is the kernel's
 * from then on where writes may follow.
 */
#include "interpose/modes.h"

#include <linux/fs.h>
#include <linux/xattr.h>

#include "interpose/changed.h"
#include "interpose/leave.h"
#include "interpose/real.h"
#include "shm/sys.h"

struct object {				/* path NULL: dir is the file */
	int dir, flags;
	const char *path;
};

static uint32_t
look_up(const struct object *o)
{
	return o->path ? spw_lookup_path(o->dir, o->path, o->flags)
		       : spw_lookup_path(o->dir, "", AT_EMPTY_PATH);
}

static void
bring_home(uint32_t file)
{
	const struct spw_file *f = &spw_front.map.files[file];
	struct spw_me *me = spw_front_me();
	int err = errno;

	if (me && !atomic_load(&f->bypass) && spw_file_is_unsettled(f))
		(void)spw_gate_settle(me, file);	/* close will tell */
	errno = err;
}

/* Bits that the next write takes away, when it is made and not when it comes
 * home. */
static void
leave(const struct object *o)
{
	uint32_t file = look_up(o);
	struct spw_me *me = file == SPW_NONE ? NULL : spw_front_me();
	int err = errno;

	if (me)
		(void)spw_leave_file(me, file, SPW_BYPASS_NO_REOPEN);
	errno = err;
}

/* Held open by the drainer that serves now, until it is settled. */
static bool
is_held(uint32_t file)
{
	const struct spw_map *map = &spw_front.map;

	return atomic_load(&map->files[file].handled) ==
	       atomic_load(&map->seg->drainer_epoch) &&
	       atomic_load(&map->seg->wake) != SPW_DRAINER_NONE;
}

static void
before_mode(const struct object *o, mode_t mode)
{
	bool set_id = mode & (S_ISUID | S_ISGID);
	uint32_t file;

	/* The superuser writes anyway. */
	if ((!set_id && (mode & S_IWUSR || spw_sys_geteuid() == 0)) ||
	    !spw_front_look())
		return;
	file = look_up(o);
	if (set_id || (file != SPW_NONE && !is_held(file)))
		leave(o);
}

static int
after(const struct object *o, int r)
{
	return spw_changed(o->dir, o->path, o->flags, r);
}

SPW_WRAP int
chmod(const char *path, mode_t mode)
{
	struct object o = { AT_FDCWD, 0, path };

	before_mode(&o, mode);
	return after(&o, REAL(chmod)(path, mode));
}

SPW_WRAP int
lchmod(const char *path, mode_t mode)
{
	struct object o = { AT_FDCWD, AT_SYMLINK_NOFOLLOW, path };

	before_mode(&o, mode);
	return after(&o, REAL(lchmod)(path, mode));
}

SPW_WRAP int
fchmod(int fd, mode_t mode)
{
	struct object o = { fd, 0, NULL };

	before_mode(&o, mode);
	return after(&o, REAL(fchmod)(fd, mode));
}

SPW_WRAP int
fchmodat(int dir, const char *path, mode_t mode, int flags)
{
	struct object o = { dir, flags, path };

	before_mode(&o, mode);
	return after(&o, REAL(fchmodat)(dir, path, mode, flags));
}

/* All but the user's own: capabilities, access lists, labels. */
static void
before_xattr(const struct object *o, const char *name)
{
	uint32_t file = spw_front_look() ? look_up(o) : SPW_NONE;

	if (file == SPW_NONE || strncmp(name, "user.", 5) == 0)
		return;
	if (strcmp(name, XATTR_NAME_CAPS) == 0)
		leave(o);
	else
		bring_home(file);
}

SPW_WRAP int
setxattr(const char *path, const char *name, const void *value, size_t n,
	 int flags)
{
	struct object o = { AT_FDCWD, 0, path };

	before_xattr(&o, name);
	return after(&o, REAL(setxattr)(path, name, value, n, flags));
}

SPW_WRAP int
lsetxattr(const char *path, const char *name, const void *value, size_t n,
	  int flags)
{
	struct object o = { AT_FDCWD, AT_SYMLINK_NOFOLLOW, path };

	before_xattr(&o, name);
	return after(&o, REAL(lsetxattr)(path, name, value, n, flags));
}

SPW_WRAP int
fsetxattr(int fd, const char *name, const void *value, size_t n, int flags)
{
	struct object o = { fd, 0, NULL };

	before_xattr(&o, name);
	return after(&o, REAL(fsetxattr)(fd, name, value, n, flags));
}

/* Calls that this libc has no names for, with the same number everywhere. */
enum {
	NR_FCHMODAT2 = 452, NR_SETXATTRAT = 463, NR_REMOVEXATTRAT = 466,
	NR_FILE_SETATTR = 469,
};

/* The first of the kernel's struct file_attr; as locks_up of other.c. */
static bool
locks_up(const uint64_t *xflags)
{
	return !spw_cache_bad_pointer(xflags, sizeof(*xflags)) &&
	       *xflags & (FS_XFLAG_IMMUTABLE | FS_XFLAG_APPEND);
}

bool
spw_modes_by_number(long nr, const long *a, long *ret)
{
	struct object o = { (int)a[0], (int)a[2], (const char *)a[1] };

	switch (nr) {
	case NR_FCHMODAT2:
		o.flags = (int)a[3];
		before_mode(&o, (mode_t)a[2]);
		break;
	case NR_SETXATTRAT:
		before_xattr(&o, (const char *)a[3]);
		break;
	case NR_REMOVEXATTRAT:
		break;
	case NR_FILE_SETATTR:
		o.flags = (int)a[4];
		if (locks_up((const uint64_t *)a[2]))
			leave(&o);
		break;
	default:
		return false;
	}
	*ret = after(&o, (int)REAL(syscall)(nr, a[0], a[1], a[2], a[3], a[4],
					    a[5]));
	return true;
}
