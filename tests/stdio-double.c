/* SPDX-License-Identifier: BSD-3-Clause */
/* stdio-double.c -- managed descriptors played by a test, without a segment */
#include "tests/stdio-double.h"

#include <stdarg.h>
#include <unistd.h>

#include "interpose/real.h"
#include "shm/sys.h"

#define FAR_OFF ((off_t)1 << 40)

struct description {
	int refs;
	bool left, append;
	off_t pos;
};

struct spw_front spw_front;
__thread bool spw_front_outside;
_Atomic uint32_t spw_fdtab[SPW_FD_MAX];
struct double_counts double_counts;
unsigned double_short;
int double_close_error, double_leave_error;
static struct description all[256];
uint32_t double_turns;

static struct description *
of(int fd)
{
	return spw_fdtab_has(fd) ? &all[spw_fdtab[fd] - 1] : NULL;
}

static size_t
shorten(size_t n)
{
	double_turns = double_turns * 1664525 + 1013904223;
	if (double_short && n > 1 && (double_turns >> 8) % double_short == 0)
		return 1 + (double_turns >> 16) % (n - 1);
	return n;
}

void
double_begin(void)
{
	spw_real_find_all();
	atomic_store(&spw_front.live, true);
}

int
spw_fdtab_opened(int fd, int flags)
{
	uint32_t i = 0;

	while (all[i].refs)
		i++;
	all[i] = (struct description){ 1, false, flags & O_APPEND, 0 };
	spw_fdtab[fd] = i + 1;
	spw_sys_lseek(fd, FAR_OFF, SEEK_SET);
	double_counts.opened++;
	return 0;
}

int
spw_fdtab_closing(int fd)
{
	struct description *d = of(fd);
	int err = double_close_error;

	if (!d)
		return 0;
	d->refs--;
	spw_fdtab[fd] = 0;
	double_counts.closed++;
	double_close_error = 0;
	return err;
}

int
spw_leave(int fd, enum spw_bypass why)
{
	struct description *d = of(fd);
	int err = double_leave_error;

	double_leave_error = 0;
	if (d && err)
		return -err;
	if (d && !d->left) {
		spw_sys_lseek(fd, d->pos, SEEK_SET);
		d->left = true;
		double_counts.left++;
		double_counts.why = why;
	}
	return 0;
}

int
open(const char *path, int flags, ...)
{
	va_list ap;
	int fd;

	va_start(ap, flags);
	fd = (int)spw_ret(spw_sys_open(path, flags, va_arg(ap, int)));
	va_end(ap);
	if (fd >= 0) {
		char name[4096], link[64];
		int64_t n;

		snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
		n = spw_sys_readlink(link, name, sizeof(name) - 1);
		name[n < 0 ? 0 : n] = '\0';
		if (strstr(name, "/m-"))
			(void)spw_fdtab_opened(fd, flags);
	}
	return fd;
}

int
close(int fd)
{
	int err = spw_fdtab_closing(fd);
	int r = (int)spw_ret(spw_sys_close(fd));

	return err && r == 0 ? (errno = err, -1) : r;
}

ssize_t
read(int fd, void *buf, size_t n)
{
	struct description *d = of(fd);
	ssize_t r;

	if (!d || d->left)
		return spw_ret(spw_sys_read(fd, buf, shorten(n)));
	double_counts.reads++;
	r = spw_ret(spw_sys_pread(fd, buf, shorten(n), (uint64_t)d->pos));
	if (r > 0)
		d->pos += r;
	return r;
}

ssize_t
write(int fd, const void *buf, size_t n)
{
	struct description *d = of(fd);
	struct stat st;
	ssize_t r;

	if (!d || d->left)
		return spw_ret(spw_sys_write(fd, buf, shorten(n)));
	double_counts.writes++;
	r = spw_ret(spw_sys_pwrite(fd, buf, shorten(n), (uint64_t)d->pos));
	if (r >= 0 && d->append) {
		spw_sys_fstat(fd, &st);
		d->pos = st.st_size;
	} else if (r > 0) {
		d->pos += r;
	}
	return r;
}

off_t
lseek(int fd, off_t off, int whence)
{
	struct description *d = of(fd);
	struct stat st;

	if (!d || d->left)
		return spw_ret(spw_sys_lseek(fd, off, whence));
	spw_sys_fstat(fd, &st);
	if (whence == SEEK_CUR)
		off += d->pos;
	else if (whence == SEEK_END)
		off += st.st_size;
	else if (whence != SEEK_SET)
		off = -1;
	if (off < 0)
		return spw_ret(-EINVAL);
	return d->pos = off;
}

static int
copied(int from, int to)
{
	(void)spw_fdtab_closing(to);
	if (to >= 0 && of(from)) {
		spw_fdtab[to] = spw_fdtab[from];
		of(to)->refs++;
	}
	return to;
}

int
dup3(int from, int to, int flags)
{
	return copied(from, (int)spw_ret(spw_syscall(SYS_dup3, from, to,
						     flags, 0, 0, 0)));
}

int
fcntl(int fd, int cmd, ...)
{
	va_list ap;
	long arg;
	int r;

	va_start(ap, cmd);
	arg = va_arg(ap, long);
	va_end(ap);
	r = (int)spw_ret(spw_sys_fcntl(fd, cmd, arg));
	if (r >= 0 && (cmd == F_DUPFD || cmd == F_DUPFD_CLOEXEC))
		return copied(fd, r);
	if (r == 0 && cmd == F_SETFL && of(fd))
		of(fd)->append = arg & O_APPEND;
	return r;
}
