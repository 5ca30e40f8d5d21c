/* SPDX-License-Identifier: BSD-3-Clause */
/* image.c -- whether what is to be executed will load us */
#include <elf.h>
#include <errno.h>

#include "interpose/process.h"
#include "interpose/real.h"
#include "shm/sys.h"

enum {
	HEAD_LEN = 1024,		/* of an image: header and its table */
	LOADER_LEN = 256,
	SCRIPTS = 4,			/* one started by the other */
};

/* Those of our libc are called so everywhere; others, as that of musl, cannot
 * load what was linked with ours. */
static enum spw_hearing
loader_hears(int fd, const Elf64_Phdr *ph)
{
	char path[LOADER_LEN] = "";
	const char *name;

	if (spw_sys_pread(fd, path, sizeof(path) - 1, ph->p_offset) <= 0)
		return SPW_DEAF;
	name = strrchr(path, '/');
	name = name ? name + 1 : path;
	return strncmp(name, "ld-linux", 8) == 0 ||
	       strncmp(name, "ld64.so", 7) == 0 ||
	       strncmp(name, "ld.so", 5) == 0 ? SPW_HEARS : SPW_FOREIGN;
}

/* A linked program names a loader; without one nobody loads us. */
static enum spw_hearing
program_hears(int fd, const unsigned char *head, int64_t n)
{
	const Elf64_Ehdr *elf = (const void *)head;

	if (n < (int64_t)sizeof(*elf) || memcmp(head, ELFMAG, SELFMAG) != 0)
		return SPW_HEARS;
	if (head[EI_CLASS] != ELFCLASS64 ||
	    elf->e_phentsize != sizeof(Elf64_Phdr))
		return SPW_FOREIGN;
	for (int i = 0; i < elf->e_phnum; i++) {
		uint64_t at = elf->e_phoff + i * sizeof(Elf64_Phdr);
		Elf64_Phdr ph;

		if (at > HEAD_LEN || at + sizeof(ph) > (uint64_t)n)
			return SPW_DEAF;	/* not seen: the safe answer */
		memcpy(&ph, head + at, sizeof(ph));
		if (ph.p_type == PT_INTERP)
			return loader_hears(fd, &ph);
	}
	return SPW_DEAF;
}

static enum spw_hearing hears(int dir, const char *path, int depth);

static enum spw_hearing
script_hears(char *line, int64_t n, int depth)
{
	char *end;

	line[n] = '\0';
	line += 2 + strspn(line + 2, " \t");
	end = line + strcspn(line, " \t\n");
	*end = '\0';
	return depth < SCRIPTS && *line ? hears(AT_FDCWD, line, depth + 1)
					: SPW_HEARS;
}

static enum spw_hearing
file_hears(int fd, int depth)
{
	_Alignas(8) unsigned char head[HEAD_LEN + 1];
	struct stat st;
	int64_t n = 0;

	if (spw_sys_fstat(fd, &st) == 0 && S_ISREG(st.st_mode))
		n = spw_sys_pread(fd, head, HEAD_LEN, 0);
	if (n < 2)
		return SPW_HEARS;	/* exec will say what is wrong */
	if (st.st_mode & (S_ISUID | S_ISGID))
		return SPW_DEAF;
	if (head[0] == '#' && head[1] == '!')
		return script_hears((char *)head, n, depth);
	return program_hears(fd, head, n);
}

static enum spw_hearing
hears(int dir, const char *path, int depth)
{
	enum spw_hearing r;
	int fd = spw_sys_openat(dir, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK,
				0);

	if (fd < 0)			/* may be executable all the same */
		return fd == -EACCES ? SPW_DEAF : SPW_HEARS;
	r = file_hears(fd, depth);
	spw_sys_close(fd);
	return r;
}

enum spw_hearing
spw_image_hears(int dir, const char *path)
{
	return hears(dir, path, 0);
}
