/* SPDX-License-Identifier: BSD-3-Clause */
/* real.c -- finding the functions behind the wrappers */
#include "interpose/real.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <link.h>
#include <stdarg.h>
#include <string.h>

#include "shm/sys.h"

static long
result(long r)
{
	if (r < 0 && r > -4096) {
		errno = (int)-r;
		return -1;
	}
	return r;
}

/* What an allocator or a constructor before ours may call: the kernel. */

static int
early_open(const char *path, int flags, ...)
{
	va_list ap;
	int mode;

	va_start(ap, flags);
	mode = va_arg(ap, int);
	va_end(ap);
	return (int)result(spw_sys_open(path, flags, mode));
}

static int
early_openat(int dir, const char *path, int flags, ...)
{
	va_list ap;
	int mode;

	va_start(ap, flags);
	mode = va_arg(ap, int);
	va_end(ap);
	return (int)result(spw_sys_openat(dir, path, flags, mode));
}

static int
early_close(int fd)
{
	return (int)result(spw_sys_close(fd));
}

static ssize_t
early_read(int fd, void *buf, size_t n)
{
	return result(spw_sys_read(fd, buf, n));
}

static ssize_t
early_write(int fd, const void *buf, size_t n)
{
	return result(spw_sys_write(fd, buf, n));
}

static ssize_t
early_pread(int fd, void *buf, size_t n, off_t off)
{
	return result(spw_sys_pread(fd, buf, n, (uint64_t)off));
}

static off_t
early_lseek(int fd, off_t off, int whence)
{
	return result(spw_sys_lseek(fd, off, whence));
}

static void *
early_mmap(void *at, size_t n, int prot, int flags, int fd, off_t off)
{
	long r = spw_syscall(SYS_mmap, (long)at, (long)n, prot, flags, fd,
			     off);

	return r < 0 && r > -4096 ? (errno = (int)-r, MAP_FAILED) : (void *)r;
}

static int
early_fstat(int fd, struct stat *st)
{
	return (int)result(spw_sys_fstat(fd, st));
}

static int
early_stat(const char *path, struct stat *st)
{
	return (int)result(spw_sys_fstatat(AT_FDCWD, path, st, 0));
}

static int
early_fcntl(int fd, int cmd, ...)
{
	va_list ap;
	long arg;

	va_start(ap, cmd);
	arg = va_arg(ap, long);
	va_end(ap);
	return (int)result(spw_sys_fcntl(fd, cmd, arg));
}

struct spw_real spw_real = {
	.open = early_open, .openat = early_openat, .close = early_close,
	.read = early_read, .write = early_write, .pread = early_pread,
	.lseek = early_lseek, .mmap = early_mmap,
	.fstat = early_fstat, .stat = early_stat, .fcntl = early_fcntl,
};

SPW_EARLY void *
spw_real_find(const char *name)
{
	return dlsym(RTLD_NEXT, name);
}

/* What one of the loaded objects has, or one that it was loaded with. */
static void *
find_in(const char *path, const char *name)
{
	void *object = *path ? REAL(dlopen)(path, RTLD_LAZY | RTLD_NOLOAD) : NULL;
	void *found = object ? dlsym(object, name) : NULL;
	Dl_info ours, its;

	if (object)
		dlclose(object);
	if (!found || !dladdr(&spw_real, &ours) || !dladdr(found, &its) ||
	    its.dli_fbase == ours.dli_fbase)
		return NULL;
	return found;
}

struct nth {
	int n;
	char path[PATH_MAX];
};

static int
note_nth(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct nth *nth = arg;

	(void)size;
	if (nth->n--)
		return 0;
	nth->path[0] = '\0';
	if (strlen(info->dlpi_name) < sizeof(nth->path))
		strcpy(nth->path, info->dlpi_name);
	return 1;
}

/* The caller is the first to ask: there may be two such libraries. But it is
 * not seen where its call to us was its last act. */
void *
spw_real_find_for(const char *name, const void *caller)
{
	void *found = spw_real_find(name);
	struct nth nth;
	Dl_info info;

	if (!found && dladdr(caller, &info))
		found = find_in(info.dli_fname, name);
	for (int i = 0; !found; i++) {
		nth.n = i;
		if (!dl_iterate_phdr(note_nth, &nth))
			break;
		found = find_in(nth.path, name);
	}
	return found;
}

void
spw_real_find_all(void)
{
	void *at;

#define FIND(name) \
	at = spw_real_find(#name); \
	if (at) \
		spw_real.name = (__typeof__(name) *)at;
	SPW_REALS(FIND)
#undef FIND
}
