/* SPDX-License-Identifier: BSD-3-Clause */
/* clock.c -- finding the function that the kernel maps into each process */

/*
 * It lies in the vDSO, a small shared object at AT_SYSINFO_EHDR, together with
 * its own table of symbols. The linker script of the kernel puts .dynstr right
 * after .dynsym, on every architecture: there the symbols end. Where there is
 * no vDSO, as under valgrind, it is a system call each time.
 */
#include "shm/clock.h"

#include <link.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/syscall.h>

#include "shm/sys.h"

typedef int (*clock_fn)(clockid_t, struct timespec *);

static int
ask_kernel(clockid_t clock, struct timespec *ret_now)
{
	return (int)spw_syscall(SYS_clock_gettime, clock, (long)ret_now, 0, 0,
				0, 0);
}

clock_fn spw_clock = ask_kernel;

struct vdso {
	uintptr_t bias;			/* added to the addresses within */
	const ElfW(Dyn) *dynamic;
	const ElfW(Sym) *symbols, *end;
	const char *strings;
};

/* False: it is not as we know them. */
static bool
read_headers(uintptr_t at, struct vdso *v)
{
	const ElfW(Ehdr) *head = (const ElfW(Ehdr) *)at;
	const ElfW(Phdr) *part = (const ElfW(Phdr) *)(at + head->e_phoff);
	bool loaded = false;

	for (int i = 0; i < head->e_phnum; i++) {
		if (part[i].p_type == PT_LOAD && !loaded) {
			loaded = true;
			v->bias = at + part[i].p_offset - part[i].p_vaddr;
		} else if (part[i].p_type == PT_DYNAMIC) {
			v->dynamic = (const ElfW(Dyn) *)(at + part[i].p_offset);
		}
	}
	return loaded && v->dynamic;
}

static bool
read_dynamic(struct vdso *v)
{
	for (const ElfW(Dyn) *d = v->dynamic; d->d_tag != DT_NULL; d++) {
		uintptr_t at = v->bias + d->d_un.d_ptr;

		if (d->d_tag == DT_SYMTAB)
			v->symbols = (const ElfW(Sym) *)at;
		else if (d->d_tag == DT_STRTAB)
			v->strings = (const char *)at;
	}
	v->end = (const ElfW(Sym) *)(uintptr_t)v->strings;
	return v->symbols && v->symbols < v->end;
}

static clock_fn
find(const struct vdso *v)
{
	for (const ElfW(Sym) *s = v->symbols; s + 1 <= v->end; s++) {
		const char *name = v->strings + s->st_name;

		if (s->st_shndx != SHN_UNDEF &&
		    (strcmp(name, "__vdso_clock_gettime") == 0 ||
		     strcmp(name, "__kernel_clock_gettime") == 0))
			return (clock_fn)(v->bias + s->st_value);
	}
	return NULL;
}

static __attribute__((constructor)) void
find_clock(void)
{
	uintptr_t at = getauxval(AT_SYSINFO_EHDR);
	struct vdso v = { 0 };
	clock_fn found;

	if (!at || !read_headers(at, &v) || !read_dynamic(&v))
		return;
	found = find(&v);
	if (found)
		spw_clock = found;
}
