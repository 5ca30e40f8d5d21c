/* SPDX-License-Identifier: BSD-3-Clause */
/* program-interposer.c -- another library in front of read, write and open */
#include <dlfcn.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

static int writes, opens;

int
open(const char *path, int flags, ...)
{
	int (*next)(const char *, int, ...) = dlsym(RTLD_NEXT, "open");
	va_list ap;
	int mode;

	va_start(ap, flags);
	mode = flags & O_CREAT ? va_arg(ap, int) : 0;
	va_end(ap);
	opens++;
	return next(path, flags, mode);
}

ssize_t
write(int fd, const void *buf, size_t n)
{
	ssize_t (*next)(int, const void *, size_t) = dlsym(RTLD_NEXT, "write");

	writes++;
	if (getenv("INTERPOSER_BY_NUMBER"))
		return syscall(SYS_write, fd, buf, n);
	return next(fd, buf, n);
}

/* The figures go where the test asks for them. */
__attribute__((destructor)) static void
tell(void)
{
	const char *path = getenv("INTERPOSER_OUT");
	FILE *out = path ? fopen(path, "a") : NULL;

	if (!out)
		return;
	fprintf(out, "opens %s writes %s\n", opens ? "some" : "none",
		writes ? "some" : "none");
	fclose(out);
}
