/* SPDX-License-Identifier: BSD-3-Clause */
/* module-whole.c -- is a module all there, before the loader maps it? */

/* The loader waits for a FIFO, and dies of SIGBUS, with the process, where
 * a file ends before what its headers say is to be mapped.
 */

#include "tiers/module.h"

#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool
read_at(int fd, uint64_t at, void *to, size_t n)
{
	return pread(fd, to, n, (off_t)at) == (ssize_t)n;
}

/* What is no shared object at all is the loader's to refuse. */
static bool
is_mappable(int fd, uint64_t size)
{
	ElfW(Ehdr) head;
	ElfW(Phdr) part;

	if (!read_at(fd, 0, &head, sizeof(head)) ||
	    memcmp(head.e_ident, ELFMAG, SELFMAG))
		return true;
	for (unsigned i = 0; i < head.e_phnum; i++) {
		if (!read_at(fd, head.e_phoff + i * sizeof(part), &part,
			     sizeof(part)))
			return false;
		if (part.p_type == PT_LOAD &&
		    (part.p_offset > size ||
		     part.p_filesz > size - part.p_offset))
			return false;
	}
	return true;
}

int
spw_module_whole(const char *path, const char **ret_reason)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct stat st;
	int r = 0;

	if (fd < 0) {
		*ret_reason = strerror(errno);
		return -ELIBACC;
	}
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode)) {
		*ret_reason = "no regular file";
		r = -ELIBACC;
	} else if (!is_mappable(fd, (uint64_t)st.st_size)) {
		*ret_reason = "file is cut short";
		r = -ELIBACC;
	}
	close(fd);
	return r;
}
