/* SPDX-License-Identifier: BSD-3-Clause */
/* needs.c -- what a shared object asks for, read before the loader does */

/* A library that is cut short, or a FIFO by its name, is found by the loader
 * when it is too late: see shm/whole.c.  So we go the loader's way: names from
 * the dynamic section, directories as dlinfo(3) tells them.
 */
#include "tiers/needs.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shm/whole.h"

enum { DEEP = 8 };		/* libraries of libraries; loops end there */
#define NOWHERE UINT64_MAX

struct image {
	uint8_t *p;
	uint64_t n;
};

struct walk {
	Dl_serinfo *dirs;
	char *which;
	const char **reason;
};

static bool
open_image(const char *path, struct image *ret)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat st;
	void *p = MAP_FAILED;

	if (fd < 0)
		return false;
	if (!fstat(fd, &st) && st.st_size > 0)
		p = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd,
			 0);
	close(fd);
	if (p == MAP_FAILED)
		return false;
	*ret = (struct image){ p, (uint64_t)st.st_size };
	return true;
}

static bool
get(const struct image *im, uint64_t at, void *to, size_t n)
{
	if (at > im->n || n > im->n - at)
		return false;
	memcpy(to, im->p + at, n);
	return true;
}

/* The first part of this type with this address in it; 0: any address. */
static bool
get_part(const struct image *im, uint32_t type, uint64_t address,
	 ElfW(Phdr) *ret)
{
	ElfW(Ehdr) head;

	if (!get(im, 0, &head, sizeof(head)) ||
	    memcmp(head.e_ident, ELFMAG, SELFMAG))
		return false;
	for (unsigned i = 0; i < head.e_phnum; i++) {
		if (!get(im, head.e_phoff + i * sizeof(*ret), ret,
			 sizeof(*ret)))
			return false;
		if (ret->p_type == type &&
		    (!address || address - ret->p_vaddr < ret->p_filesz))
			return true;
	}
	return false;
}

/* Where the names are. */
static uint64_t
find_names(const struct image *im, const ElfW(Phdr) *dynamic)
{
	ElfW(Phdr) part;
	ElfW(Dyn) d;

	for (uint64_t at = 0; at < dynamic->p_filesz; at += sizeof(d)) {
		if (!get(im, dynamic->p_offset + at, &d, sizeof(d)))
			break;
		if (d.d_tag == DT_STRTAB &&
		    get_part(im, PT_LOAD, d.d_un.d_ptr, &part))
			return d.d_un.d_ptr - part.p_vaddr + part.p_offset;
	}
	return NOWHERE;
}

/* One for another kind of machine is passed over by the loader. */
static bool
is_foreign(const char *path, const struct image *asking)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	ElfW(Ehdr) ours, head;
	const size_t n = offsetof(ElfW(Ehdr), e_version);
	bool is = false;

	if (fd < 0)
		return false;
	if (get(asking, 0, &ours, n) && pread(fd, &head, n, 0) == (ssize_t)n &&
	    !memcmp(head.e_ident, ELFMAG, SELFMAG))
		is = head.e_ident[EI_CLASS] != ours.e_ident[EI_CLASS] ||
		     head.e_machine != ours.e_machine;
	close(fd);
	return is;
}

static int
is_called(struct dl_phdr_info *info, size_t size, void *name)
{
	const char *slash = strrchr(info->dlpi_name, '/');

	(void)size;
	return slash && !strcmp(slash + 1, name);
}

/* What is in the process already is not looked for, as the C library. */
static bool
find_library(const Dl_serinfo *dirs, const struct image *asking,
	     char *name, char ret[PATH_MAX])
{
	int n;

	if (dl_iterate_phdr(is_called, name))
		return false;
	for (unsigned i = 0; i < dirs->dls_cnt; i++) {
		n = snprintf(ret, PATH_MAX, "%s/%s",
			     dirs->dls_serpath[i].dls_name, name);
		if (n > 0 && n < PATH_MAX && !access(ret, F_OK) &&
		    !is_foreign(ret, asking))
			return true;
	}
	return false;
}

static int
go(const struct walk *w, const char *path, int depth);

static int
go_on(const struct walk *w, const struct image *im, int depth)
{
	ElfW(Phdr) dynamic;
	char path[PATH_MAX];
	uint64_t names;
	ElfW(Dyn) d;
	int r = 0;

	if (!get_part(im, PT_DYNAMIC, 0, &dynamic))
		return 0;
	names = find_names(im, &dynamic);
	for (uint64_t at = 0; !r && at < dynamic.p_filesz; at += sizeof(d)) {
		uint64_t name;

		if (!get(im, dynamic.p_offset + at, &d, sizeof(d)))
			break;
		name = names + d.d_un.d_val;
		if (d.d_tag == DT_NEEDED && names < im->n && name < im->n &&
		    memchr(im->p + name, '\0', im->n - name) &&
		    find_library(w->dirs, im, (char *)im->p + name, path))
			r = go(w, path, depth + 1);
	}
	return r;
}

static int
go(const struct walk *w, const char *path, int depth)
{
	struct image im;
	int r = spw_whole(path, w->reason);

	if (r < 0) {
		(void)snprintf(w->which, PATH_MAX, "%s", path);
		return r;
	}
	if (depth == DEEP || !open_image(path, &im))
		return 0;
	r = go_on(w, &im, depth);
	(void)munmap(im.p, im.n);
	return r;
}

/* The directories that are searched for this program; NULL: not known. */
static Dl_serinfo *
get_dirs(void)
{
	void *self = dlopen(NULL, RTLD_LAZY);
	Dl_serinfo size, *dirs = NULL;

	if (!self)
		return NULL;
	if (!dlinfo(self, RTLD_DI_SERINFOSIZE, &size) &&
	    (dirs = malloc(size.dls_size)) &&
	    (dlinfo(self, RTLD_DI_SERINFOSIZE, dirs) ||
	     dlinfo(self, RTLD_DI_SERINFO, dirs))) {
		free(dirs);
		dirs = NULL;
	}
	dlclose(self);
	return dirs;
}

int
spw_needs_whole(const char *path, char ret_which[PATH_MAX],
		const char **ret_reason)
{
	struct walk w = { get_dirs(), ret_which, ret_reason };
	int r = go(&w, path, w.dirs ? 0 : DEEP);

	free(w.dirs);
	return r;
}
