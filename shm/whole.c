/* SPDX-License-Identifier: BSD-3-Clause */
/* whole.c -- is a shared object all there, before the loader maps it? */

/* The loader waits for a FIFO, and dies of SIGBUS, with the process, where
 * a file ends before what its headers say is to be mapped.
 */
#include "shm/whole.h"

#include <errno.h>
#include <link.h>
#include <stdbool.h>
#include <string.h>

#include "shm/diag.h"
#include "shm/sys.h"

static bool
read_at(int fd, uint64_t at, void *to, size_t n)
{
	return spw_sys_pread(fd, to, n, at) == (int64_t)n;
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
spw_whole(const char *path, const char **ret_reason)
{
	int fd = spw_sys_open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK |
			      O_NOCTTY, 0);
	struct stat st;
	int r = 0;

	if (fd < 0) {
		*ret_reason = spw_diag_errno(-fd);
		return -ELIBACC;
	}
	if (spw_sys_fstat(fd, &st) < 0 || !S_ISREG(st.st_mode)) {
		*ret_reason = "no regular file";
		r = -ELIBACC;
	} else if (!is_mappable(fd, (uint64_t)st.st_size)) {
		*ret_reason = "file is cut short";
		r = -ELIBACC;
	}
	spw_sys_close(fd);
	return r;
}
