/* SPDX-License-Identifier: BSD-3-Clause */
/* attr.c -- extended attributes of a file that its mode may shut */
#include "planner/attr.h"

#include <errno.h>
#include <stdint.h>
#include <sys/stat.h>

#include "shm/sys.h"

struct call {				/* arguments after the descriptor */
	long number;
	const char *name;
	void *text;
	size_t n;
};

static int
make(int fd, const struct call *c)
{
	return (int)spw_syscall(c->number, fd, (long)c->name,
				(long)c->text, (long)c->n, 0, 0);
}

static int
set_mode(int fd, uint32_t mode)
{
	return (int)spw_syscall(SYS_fchmod, fd, (long)mode, 0, 0, 0, 0);
}

static int
with_rights(int fd, const struct call *c)
{
	struct stat st;
	int r = make(fd, c), e;

	if (r != -EACCES && r != -EPERM)
		return r;
	e = spw_sys_fstat(fd, &st);
	if (e == 0)
		e = set_mode(fd, (st.st_mode & 07777) | S_IRUSR | S_IWUSR);
	if (e < 0)
		return r;
	r = make(fd, c);
	e = set_mode(fd, st.st_mode & 07777);
	return r < 0 ? r : e < 0 ? e : r;
}

int
spw_attr_get(int fd, const char *name, char *text, size_t n)
{
	int r = with_rights(fd, &(struct call){ SYS_fgetxattr, name, text,
						n });

	return r == -EOPNOTSUPP ? -ENODATA : r;
}

int
spw_attr_set(int fd, const char *name, const char *text, size_t n)
{
	return with_rights(fd, &(struct call){ SYS_fsetxattr, name,
					       (void *)text, n });
}

int
spw_attr_remove(int fd, const char *name)
{
	return with_rights(fd, &(struct call){ SYS_fremovexattr, name,
					       NULL, 0 });
}
