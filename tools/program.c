/* SPDX-License-Identifier: BSD-3-Clause */
/* program.c -- can the loader put our library into this program? */
#include "tools/program.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#if defined(__x86_64__)
#define OUR_MACHINE EM_X86_64
#elif defined(__aarch64__)
#define OUR_MACHINE EM_AARCH64
#endif

enum { DEPTH = 5, PHDRS = 128, NOTES = 4096 };

static int
try(const char *dir, size_t n, const char *name, char *ret_path, size_t cap)
{
	struct stat st;
	int len = n ? snprintf(ret_path, cap, "%.*s/%s", (int)n, dir, name)
		    : snprintf(ret_path, cap, "%s", name);

	if (len < 0 || (size_t)len >= cap)
		return -ENAMETOOLONG;
	if (stat(ret_path, &st) < 0)
		return -errno;
	return S_ISREG(st.st_mode) && access(ret_path, X_OK) == 0 ? 0
								  : -EACCES;
}

int
spw_program_find(const char *name, char *ret_path, size_t cap)
{
	const char *path = getenv("PATH");
	int worst = -ENOENT;

	if (strchr(name, '/'))
		return try("", 0, name, ret_path, cap) == 0 ? 0
		       : access(name, F_OK) == 0 ? -EACCES : -ENOENT;
	if (!*name)
		return -ENOENT;
	for (path = path ? path : "/bin:/usr/bin"; path;) {
		size_t n = strcspn(path, ":");
		int r = n ? try(path, n, name, ret_path, cap)
			  : try(".", 1, name, ret_path, cap);

		if (r == 0)
			return 0;
		if (r == -EACCES)
			worst = r;
		path = path[n] ? path + n + 1 : NULL;
	}
	return worst;
}

static int
refuse(struct spw_diag *d, enum spw_code code, const char *path)
{
	spw_diag_begin(d, SPW_ERROR, code);
	spw_diag_subject(d, "%e", path);
	return -EINVAL;
}

/* The loader ignores LD_PRELOAD where rights are gained. */
static int
check_rights(int fd, const char *path, struct spw_diag *d)
{
	struct statvfs fs;
	struct stat st;
	bool set_id, caps;

	if (fstat(fd, &st) < 0 || fstatvfs(fd, &fs) < 0 ||
	    (fs.f_flag & ST_NOSUID))
		return 0;
	set_id = ((st.st_mode & S_ISUID) && st.st_uid != getuid()) ||
		 ((st.st_mode & (S_ISGID | S_IXGRP)) == (S_ISGID | S_IXGRP) &&
		  st.st_gid != getgid());
	caps = getuid() != 0 &&
	       fgetxattr(fd, "security.capability", NULL, 0) > 0;
	if (!set_id && !caps)
		return 0;
	refuse(d, SPW_E171, path);
	spw_diag_cause(d, "%s; the loader ignores LD_PRELOAD for it",
		       caps ? "has file capabilities"
		       : st.st_mode & S_ISUID ? "is set-uid" : "is set-gid");
	spw_diag_hint(d, "run the inner program through spillway instead, "
		      "or run it plainly: spillway run --disable -- ...");
	return -EINVAL;
}

struct image {				/* what the program headers tell */
	char interp[PATH_MAX];		/* "": none, it is static */
	bool is_go;
};

static bool
has_go_note(const char *p, size_t n)
{
	while (n >= sizeof(Elf64_Nhdr)) {
		Elf64_Nhdr h;
		size_t len;

		memcpy(&h, p, sizeof(h));
		if (h.n_namesz > NOTES || h.n_descsz > NOTES)
			return false;
		len = sizeof(h) + ((h.n_namesz + 3) & ~3u) +
		      ((h.n_descsz + 3) & ~3u);
		if (h.n_namesz == 4 && n >= sizeof(h) + 4 &&
		    !memcmp(p + sizeof(h), "Go\0", 4))
			return true;
		if (len > n)
			return false;
		p += len;
		n -= len;
	}
	return false;
}

static void
read_segment(int fd, const Elf64_Phdr *ph, struct image *ret)
{
	char notes[NOTES];
	ssize_t n;

	if (ph->p_type == PT_INTERP && ph->p_filesz < sizeof(ret->interp)) {
		n = pread(fd, ret->interp, ph->p_filesz, (off_t)ph->p_offset);
		ret->interp[n > 0 ? n : 0] = '\0';
	} else if (ph->p_type == PT_NOTE) {
		n = pread(fd, notes, ph->p_filesz < NOTES ? ph->p_filesz
							 : NOTES,
			  (off_t)ph->p_offset);
		if (n > 0)
			ret->is_go |= has_go_note(notes, (size_t)n);
	}
}

static void
read_image(int fd, const Elf64_Ehdr *eh, struct image *ret)
{
	Elf64_Phdr ph;

	memset(ret, 0, sizeof(*ret));
	if (eh->e_phentsize != sizeof(ph))
		return;
	for (unsigned i = 0; i < eh->e_phnum && i < PHDRS; i++)
		if (pread(fd, &ph, sizeof(ph), (off_t)(eh->e_phoff +
			  i * sizeof(ph))) == sizeof(ph))
			read_segment(fd, &ph, ret);
}

static int
check_machine(const char *path, const Elf64_Ehdr *eh, struct spw_diag *d)
{
	if (eh->e_ident[EI_CLASS] == ELFCLASS64 &&
	    eh->e_machine == OUR_MACHINE)
		return 0;
	refuse(d, SPW_E174, path);
	spw_diag_cause(d, eh->e_ident[EI_CLASS] == ELFCLASS64
		       ? "is built for another processor than libspillway"
		       : "is a 32-bit program, libspillway is not");
	spw_diag_hint(d, "build it for this machine, or run it plainly: "
		      "spillway run --disable -- ...");
	return -EINVAL;
}

static int
check_elf(int fd, const char *path, const Elf64_Ehdr *eh, struct spw_diag *d)
{
	struct image image;
	int r = check_machine(path, eh, d);

	if (r < 0)
		return r;
	read_image(fd, eh, &image);
	if (!image.interp[0]) {
		refuse(d, SPW_E170, path);
		spw_diag_cause(d, "is statically linked; LD_PRELOAD cannot "
			       "reach it (no PT_INTERP)");
		spw_diag_hint(d, "relink without -static (Cray: export "
			      "CRAYPE_LINK_TYPE=dynamic), or run it plainly: "
			      "spillway run --disable -- ...");
		return -EINVAL;
	}
	if (strstr(image.interp, "ld-musl")) {
		refuse(d, SPW_E172, path);
		spw_diag_cause(d, "uses musl (%e), this libspillway is built "
			       "for glibc", image.interp);
		spw_diag_hint(d, "use a glibc image, or run it plainly: "
			      "spillway run --disable -- ...");
		return -EINVAL;
	}
	if (image.is_go) {
		spw_diag_begin(d, SPW_WARNING, SPW_W175);
		spw_diag_subject(d, "%e", path);
		spw_diag_cause(d, "is a Go program, which calls the kernel "
			       "by itself; its own I/O is not accelerated");
	}
	return 0;
}

static int check_path(const char *path, int depth, struct spw_diag *d);

/* "#!interpreter argument": the kernel starts the interpreter; env starts
 * what its argument names. */
static int
check_script(char *line, int depth, struct spw_diag *d)
{
	char path[PATH_MAX];
	char *save, *interp, *arg, *base;
	int r;

	line[strcspn(line, "\n")] = '\0';
	interp = strtok_r(line + 2, " \t", &save);
	if (!interp)
		return 0;
	arg = strtok_r(NULL, " \t", &save);
	if (arg && !strcmp(arg, "-S"))
		arg = strtok_r(NULL, " \t", &save);
	r = check_path(interp, depth + 1, d);
	base = strrchr(interp, '/');
	if (r < 0 || !arg || strcmp(base ? base + 1 : interp, "env") ||
	    *arg == '-' || strchr(arg, '=') ||
	    spw_program_find(arg, path, sizeof(path)) < 0)
		return r;
	return check_path(path, depth + 1, d);
}

/* What cannot be read or understood is left to exec to judge. */
static int
check_path(const char *path, int depth, struct spw_diag *d)
{
	union {
		Elf64_Ehdr eh;
		char line[256];
	} head = { .line = "" };
	int fd, r = 0;
	ssize_t n;

	if (depth > DEPTH)
		return 0;
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return 0;
	n = pread(fd, &head, sizeof(head) - 1, 0);
	if (n > 2 && head.line[0] == '#' && head.line[1] == '!') {
		r = check_script(head.line, depth, d);
	} else if (n >= (ssize_t)sizeof(head.eh) &&
		   !memcmp(head.eh.e_ident, ELFMAG, SELFMAG)) {
		r = check_rights(fd, path, d);
		if (r == 0)
			r = check_elf(fd, path, &head.eh, d);
	}
	close(fd);
	return r;
}

int
spw_program_check(const char *path, struct spw_diag *ret_diag)
{
	ret_diag->severity = SPW_SILENT;
	return check_path(path, 0, ret_diag);
}
